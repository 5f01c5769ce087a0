"""Optimizers on small formats: every part of an update is widened, changed in fp32, rounded back.

Where a parameter has a master copy in fp32, the optimizer changes that one, and the parameter is
its rounding (Micikevicius et al. 2018). A state in 8 bits has a scale for every block (F3).
"""

from __future__ import annotations

import zlib
from dataclasses import replace

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.small.blockwise import narrow_blocks, widen_blocks
from memlab.kernels.cpu.small.conversions import narrow, widen
from memlab.kernels.cpu.small.staged import multiply, prepare
from memlab.kernels.registry import Array, Call, Kernel
from memlab.step.op import GRADIENT, PARAMETER, Op, Slot
from memlab.step.staging import OVERFLOW, SCALE, SUFFIX, TAKEN


class StagedUpdate:
    """What computes the update of some parameters with the optimizer's fp32 kernel."""

    def __init__(self, kernel: Kernel, op: Op) -> None:
        self.kernel, self.slots = kernel, op.slots
        self.tile: int = op.attributes["tile"]
        self.block: int = op.attributes.get("block", 0)
        self.operands = {**op.reads, **op.writes, **op.updates}
        prepare((each.format for each in self.operands.values()), blocks=self.block > 0)
        self.stochastic: frozenset[str] = op.attributes.get("stochastic", frozenset())

    def __call__(self, call: Call) -> None:
        """Nothing changes where a gradient overflowed, and no step is counted."""
        if OVERFLOW in call.arrays and call[OVERFLOW][()]:
            return
        call = _counted(call)
        factor = 1 / float(call[SCALE][()]) if SCALE in call.arrays else 1.0
        for slot in self.slots:
            for first in range(0, call[slot.gradient].size, self.tile):
                self._update(call, slot, first, factor)

    def _update(self, call: Call, slot: Slot, first: int, factor: float) -> None:
        """One tile of one parameter."""
        parts = slot.parts
        some = {part: self._some(call[name], first) for part, name in parts.items()}
        scales = {
            state: self._some(call[name], first, self.block) for state, name in slot.scales.items()
        }
        room = {
            part: call[part + SUFFIX][: values.size]
            for part, values in some.items()
            if part + SUFFIX in call.arrays and not (part == PARAMETER and slot.master)
        }
        for part, buffer in room.items():
            self._load(parts[part], some[part], scales.get(part), buffer)
        if factor != 1:
            multiply(room[GRADIENT], factor)
        if slot.master:
            room[PARAMETER] = self._some(call[slot.master], first)
        tile = {name: room.get(part, some[part]) for part, name in parts.items()}
        self.kernel(replace(call, arrays={**call.arrays, **tile}, slots=(slot,)))
        room.pop(GRADIENT, None)
        for part, buffer in room.items():
            key = zlib.crc32(f"{call.key} {parts[part]}".encode())
            drawn = key if part in self.stochastic else None
            self._store(parts[part], buffer, some[part], scales.get(part), drawn, first)

    def _some(self, values: Array, first: int, each: int = 1) -> Array:
        """The part of a tile; one for ``each`` of its values."""
        return values.reshape(-1)[first // each : -(-(first + self.tile) // each)]

    def _load(self, name: str, values: Array, scales: Array | None, buffer: Array) -> None:
        operand = self.operands[name]
        if scales is None:
            widen(values, buffer, operand.format)
            return
        widen_blocks(values, scales, buffer, operand.format, self.block)
        if operand.start.squares:
            _at_least(buffer, scales, operand.format.smallest, self.block)

    def _store(
        self, name: str, buffer: Array, values: Array, scales: Array | None, key: int | None,
        first: int,
    ) -> None:  # fmt: skip
        """Rounded, stochastically where there is a key to draw from."""
        format = self.operands[name].format
        if scales is None:
            narrow(buffer, values, format, key, first)
        else:
            narrow_blocks(buffer, values, scales, format, self.block, key, first)


def _counted(call: Call) -> Call:
    """With a loss scale, the step is that of the updates taken: as in PyTorch's ``GradScaler``, one
    that was left out does not count."""
    if TAKEN not in call.arrays:
        return call
    settings = {**call.settings, "step": float(call[TAKEN][()]) + 1}
    return replace(call, settings=settings)


@compiled
def _at_least(values: Array, scales: Array, least: float, block: int) -> None:
    """A square that was rounded to 0 is taken as the least that its block can hold: the
    optimizer divides by its root."""
    for i in range(values.size):
        values[i] = max(values[i], scales[i // block] * least)
