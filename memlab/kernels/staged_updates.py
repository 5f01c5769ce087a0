"""Optimizers on small formats: every part of an update is widened, changed in fp32, rounded back.

Where a parameter has a master copy in fp32, the optimizer changes that one, and the parameter is
its rounding (Micikevicius et al. 2018). A state in 8 bits has a scale for every block (F3).
"""

from __future__ import annotations

import zlib
from dataclasses import replace

from memlab.kernels.blockwise import narrow_blocks, widen_blocks
from memlab.kernels.compile import compiled
from memlab.kernels.conversions import narrow, widen
from memlab.kernels.registry import Array, Call, Kernel
from memlab.kernels.staged import Arrays, multiply, prepare, split
from memlab.step import staging
from memlab.step.op import Op
from memlab.step.staging import GRADIENT, MASTER, OVERFLOW, SCALE, SCALES, TAKEN


class StagedUpdate:
    """What computes the update of some parameters with the optimizer's fp32 kernel."""

    def __init__(self, kernel: Kernel, op: Op) -> None:
        self.kernel = kernel
        self.tile: int = op.attributes["tile"]
        self.block: int = op.attributes.get("block", 0)
        self.formats = {name: each.format for name, each in staging.operands(op).items()}
        self.parts = {name: staging.part_of(op, name) for name in self.formats}
        self.updated = frozenset(op.updates)
        prepare(self.formats.values(), blocks=self.block > 0)
        self.stochastic: frozenset[str] = op.attributes.get("stochastic", frozenset())

    def __call__(self, call: Call) -> None:
        """Nothing changes where a gradient overflowed, and no step is counted."""
        if OVERFLOW in call.arrays and call[OVERFLOW][()]:
            return
        call = _counted(call)
        arrays, buffers = split(call.arrays)
        factor = 1 / float(arrays[SCALE][()]) if SCALE in arrays else 1.0
        lines = {name: array.reshape(-1) for name, array in arrays.items() if array.ndim}
        for gradient in [name for name in lines if name.startswith(GRADIENT)]:
            own = gradient.removeprefix(GRADIENT)
            states = [name for name in lines if name.startswith(f"{own}.")]
            names = [own, gradient, *states]
            for first in range(0, lines[gradient].size, self.tile):
                some = {name: lines[name][self._some(name, first)] for name in names}
                self._update(call, own, some, buffers, first, factor)

    def _some(self, name: str, first: int) -> slice:
        """The part of a tile: of scales, those of its blocks."""
        each = self.block if name.endswith(SCALES) else 1
        return slice(first // each, -(-(first + self.tile) // each))

    def _update(
        self, call: Call, own: str, some: Arrays, buffers: Arrays, first: int, factor: float
    ) -> None:
        """One tile of one parameter."""
        size, master = some[own].size, own + MASTER
        room = {
            name: buffers[self.parts[name]][:size]
            for name in some
            if self.parts[name] in buffers and not (name == own and master in some)
        }
        for name, buffer in room.items():
            self._load(name, some, buffer)
        if factor != 1:
            multiply(room[GRADIENT + own], factor)
        arrays = {**some, **room}
        if master in some:
            arrays[own] = arrays.pop(master)
        self.kernel(replace(call, arrays=arrays))
        for name, buffer in room.items():
            if name in self.updated:
                self._store(call, name, some, buffer, first)
        if master in some:
            narrow(some[master], some[own], self.formats[own], self._key(call, own), first)

    def _load(self, name: str, some: Arrays, buffer: Array) -> None:
        scales, format = some.get(name + SCALES), self.formats[name]
        if scales is None:
            widen(some[name], buffer, format)
            return
        widen_blocks(some[name], scales, buffer, format, self.block)
        if self.parts[name] in staging.SQUARES:
            _at_least(buffer, scales, format.smallest, self.block)

    def _store(self, call: Call, name: str, some: Arrays, buffer: Array, first: int) -> None:
        scales, format = some.get(name + SCALES), self.formats[name]
        key = self._key(call, name)
        if scales is None:
            narrow(buffer, some[name], format, key, first)
        else:
            narrow_blocks(buffer, some[name], scales, format, self.block, key, first)

    def _key(self, call: Call, name: str) -> int | None:
        """What an operand's rounding draws from, where it is stochastic."""
        drawn = self.parts[name] in self.stochastic
        return zlib.crc32(f"{call.key} {name}".encode()) if drawn else None


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
