"""Kernels on tensors in small formats: tile by tile widened to fp32, computed, and rounded back.

``memlab.step.fp32_tiles`` says how an operation is cut, and which buffers it has for that.

In an update every part is widened, changed and rounded back. Where a parameter has a master copy in
fp32, the optimizer changes that copy, and the parameter is its rounding (Micikevicius et al. 2018).
A state in 8 bits has a scale for every block (F3).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np

from memlab.axes import BATCH
from memlab.formats import Format
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.flat_arrays import lines
from memlab.kernels.cpu.small_formats.blockwise import narrow_blocks, widen_blocks
from memlab.kernels.cpu.small_formats.conversions import narrow, widen
from memlab.kernels.registry import Array, Kernel, KernelCall
from memlab.step import fp32_tiles as staging
from memlab.step.fp32_tiles import ONE, OVERFLOW, SCALE, SUFFIX, TAKEN
from memlab.step.op import GRADIENT, PARAMETER, Op, UpdateSlot
from memlab.step.rewrite_traits import SplitAxis

Arrays = dict[str, Array]
"""Parts of operands, or buffers of widened values, by the names of the operands."""


class Staged:
    """Kernel of an operation on small formats, which calls the fp32 kernel on tiles."""

    def __init__(self, kernel: Kernel, op: Op) -> None:
        self.kernel = kernel
        self.cut: SplitAxis = op.attributes["cut"]
        self.tile: int = op.attributes["tile"]
        operands = {**op.reads, **op.writes, **op.updates}
        self.formats = {name: operand.format for name, operand in operands.items()}
        self.read = frozenset(op.reads) | frozenset(op.updates)
        self.written = frozenset(op.writes) | frozenset(op.updates)
        everything = {**operands, **op.workspace}
        self.batched = frozenset(name for name, t in everything.items() if BATCH in t.axes)
        self.buffers = {
            name: name.removesuffix(SUFFIX) for name in op.workspace if name.endswith(SUFFIX)
        }
        _prepare(self.formats.values())

    def __call__(self, call: KernelCall) -> None:
        """Split the operation as it says, and compute its tiles."""
        own = self.buffers
        parts = {name: array for name, array in call.arrays.items() if name not in own}
        buffers = {short: call.arrays[name] for name, short in own.items()}
        _LOOPS[self.cut](self, call, parts, buffers)

    def whole(self, call: KernelCall, parts: Arrays, buffers: Arrays) -> None:
        """Compute everything at once; the gradient of a loss is multiplied by the loss scale."""
        scale = parts.pop(SCALE, None)
        self._load(call, parts, buffers)
        arrays = {**parts, **buffers}
        self.kernel(replace(call, arrays=arrays))
        if scale is not None:
            for name in self.written:
                _multiply(arrays[name].reshape(-1), float(scale[()]))
        self._store(parts, buffers)

    def values(self, call: KernelCall, parts: Arrays, buffers: Arrays) -> None:
        """Compute some values of every array at a time."""
        start = 0
        for line in lines(*parts.values()):
            size = line[0].size
            for first in range(0, size, self.tile):
                some = slice(first, first + self.tile)
                cut = {name: values[some] for name, values in zip(parts, line, strict=True)}
                room = {name: buffer[: line[0][some].size] for name, buffer in buffers.items()}
                self._load(call, cut, room)
                self.kernel(replace(call, arrays={**cut, **room}, first=start + first))
                self._store(cut, room)
            start += size

    def samples(self, call: KernelCall, parts: Arrays, buffers: Arrays) -> None:
        """Compute one sample at a time. A result without a batch axis is a sum over the samples."""
        of_sample = {name: buffers.pop(name + ONE) for name in parts if name + ONE in buffers}
        unbatched = {name: part for name, part in parts.items() if name not in self.batched}
        widened = {name: buffers.pop(name) for name in unbatched if name in buffers}
        self._load(call, unbatched, widened)
        unbatched_fp32 = {**unbatched, **widened}
        batched = {name: part for name, part in parts.items() if name in self.batched}
        for b in range(len(next(iter(batched.values())))):
            cut = {name: part[b : b + 1] for name, part in batched.items()}
            room = {name: buffer[None] for name, buffer in buffers.items()}
            adding = of_sample if b else {}
            self._load(call, cut, room)
            self.kernel(replace(call, arrays={**unbatched_fp32, **adding, **cut, **room}))
            self._store(cut, room)
            for name, gradient in adding.items():
                _add(unbatched_fp32[name].reshape(-1), gradient.reshape(-1))
        self._store(unbatched, widened)

    def channels(self, call: KernelCall, parts: Arrays, buffers: Arrays) -> None:
        """Compute some channels of all samples at a time."""
        for some, room in self._tiles(parts["x"].shape[1]):
            cut, tile = self._across(parts, some), self._across(buffers, room)
            self._load(call, cut, tile)
            self.kernel(replace(call, arrays={**cut, **tile}))
            self._store(cut, tile)

    def outputs(self, call: KernelCall, parts: Arrays, buffers: Arrays) -> None:
        """Compute some outputs at a time; the gradient of the input is a sum over them."""
        uncut = {name: parts.pop(name) for name in list(parts) if name in ("x", "dx")}
        widened = {name: buffers.pop(name) for name in uncut if name in buffers}
        self._load(call, uncut, widened)
        for some, room in self._tiles(len(parts["weight" if "weight" in parts else "dweight"])):
            cut, tile = self._across(parts, some), self._across(buffers, room)
            self._load(call, cut, tile)
            arrays = {**uncut, **widened, **cut, **tile}
            adds = call.accumulate or some.start > 0
            self.kernel(replace(call, arrays=arrays, accumulate=adds))
            self._store(cut, tile)
        self._store(uncut, widened)

    def _tiles(self, extent: int) -> list[tuple[slice, slice]]:
        """Slices of all tiles of an extent, each with the slice of a buffer that has its size."""
        starts = range(0, extent, self.tile)
        return [
            (slice(first, first + self.tile), slice(0, min(self.tile, extent - first)))
            for first in starts
        ]

    def _across(self, arrays: Arrays, some: slice) -> Arrays:
        """Slice of arrays along channels or outputs: the second axis of arrays with a batch axis,
        the first of others."""
        return {
            name: array[:, some] if name in self.batched else array[some]
            for name, array in arrays.items()
        }

    def _load(self, call: KernelCall, parts: Arrays, buffers: Arrays) -> None:
        """Widen into the buffers all operands that are read, and a gradient that is added to."""
        for name, buffer in buffers.items():
            if name in self.read or (call.accumulate and name == "dx"):
                for stored, values in lines(parts[name], buffer):
                    widen(stored, values, self.formats[name])

    def _store(self, parts: Arrays, buffers: Arrays) -> None:
        """Round from the buffers all operands that were written."""
        for name, buffer in buffers.items():
            if name in self.written:
                for values, stored in lines(buffer, parts[name]):
                    narrow(values, stored, self.formats[name])


_LOOPS = {
    SplitAxis.WHOLE: Staged.whole,
    SplitAxis.VALUES: Staged.values,
    SplitAxis.SAMPLES: Staged.samples,
    SplitAxis.CHANNELS: Staged.channels,
    SplitAxis.OUTPUTS: Staged.outputs,
}


class StagedUpdate:
    """Kernel that updates some parameters in small formats, tile by tile, with the optimizer's fp32
    kernel."""

    def __init__(self, kernel: Kernel, op: Op) -> None:
        self.kernel, self.slots = kernel, op.slots
        self.tile: int = op.attributes["tile"]
        self.block: int = op.attributes.get("block", 0)
        self.operands = {**op.reads, **op.writes, **op.updates}
        _prepare((operand.format for operand in self.operands.values()), blocks=self.block > 0)
        self.stochastic: frozenset[str] = op.attributes.get("stochastic", frozenset())

    def __call__(self, call: KernelCall) -> None:
        """Update all parameters; if a gradient overflowed, change nothing and count no step."""
        if OVERFLOW in call.arrays and call[OVERFLOW][()]:
            return
        call = _with_steps_taken(call)
        factor = 1 / float(call[SCALE][()]) if SCALE in call.arrays else 1.0
        for slot in self.slots:
            for first in range(0, call[slot.gradient].size, self.tile):
                self._update(call, slot, first, factor)

    def _update(self, call: KernelCall, slot: UpdateSlot, first: int, factor: float) -> None:
        """Update one tile of one parameter."""
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
            _multiply(room[GRADIENT], factor)
        if slot.master:
            room[PARAMETER] = self._some(call[slot.master], first)
        tile = {name: room.get(part, some[part]) for part, name in parts.items()}
        self.kernel(replace(call, arrays={**call.arrays, **tile}, slots=(slot,)))
        room.pop(GRADIENT, None)
        for part, buffer in room.items():
            key = zlib.crc32(f"{call.key} {parts[part]}".encode())
            drawn = key if part in self.stochastic else None
            self._store(parts[part], buffer, some[part], scales.get(part), drawn, first)

    def _some(self, values: Array, first: int, per: int = 1) -> Array:
        """Values of the tile that begins at value ``first``, in an array with one entry for
        ``per`` values."""
        return values.reshape(-1)[first // per : -(-(first + self.tile) // per)]

    def _load(self, name: str, values: Array, scales: Array | None, buffer: Array) -> None:
        """Widen a tile of an operand into a buffer, with its scales if it has any."""
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
        """Round a buffer into a tile of an operand, stochastically if a key is given."""
        format = self.operands[name].format
        if scales is None:
            narrow(buffer, values, format, key, first)
        else:
            narrow_blocks(buffer, values, scales, format, self.block, key, first)


def _with_steps_taken(call: KernelCall) -> KernelCall:
    """Call whose step number counts only updates that were taken, if there is a loss scale.

    As in PyTorch's ``GradScaler``, an update that was skipped does not count.
    """
    if TAKEN not in call.arrays:
        return call
    settings = {**call.settings, "step": float(call[TAKEN][()]) + 1}
    return replace(call, settings=settings)


def _prepare(formats: Iterable[Format], blocks: bool = False) -> None:
    """Compile the conversions before a step is measured, because their constants are arrays that
    stay allocated."""
    for format in filter(staging.small, formats):
        _compile(format)
        if blocks and format.bits == 8:
            _compile_blocks(format)


@cache
def _compile(format: Format) -> None:
    """Compile the conversions of a format."""
    stored, values = np.zeros(1, format.dtype()), np.zeros(1, np.float32)
    widen(stored, values, format)
    for key in (None, 0):
        narrow(values, stored, format, key)


@cache
def _compile_blocks(format: Format) -> None:
    """Compile the conversions of a format in blocks."""
    stored, values, scales = np.zeros(1, format.dtype()), *np.zeros((2, 1), np.float32)
    widen_blocks(stored, scales, values, format, 1)
    narrow_blocks(values, stored, scales, format, 1, key=0)


@compiled
def _multiply(values: Array, factor: float) -> None:
    """Multiply all values by a factor, in place."""
    for i in range(values.size):
        values[i] *= factor


@compiled
def _add(total: Array, values: Array) -> None:
    """Add a line of values to another one."""
    for i in range(total.size):
        total[i] += values[i]


@compiled
def _at_least(values: Array, scales: Array, least: float, block: int) -> None:
    """Raise values below the least that their block can hold to that value.

    A square that was rounded to 0 becomes positive, because the optimizer divides by its root.
    """
    for i in range(values.size):
        values[i] = max(values[i], scales[i // block] * least)
