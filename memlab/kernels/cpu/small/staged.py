"""Kernels on tensors in small formats: tile by tile widened, computed in fp32, rounded back.

How an operation is cut, and which buffers it has for that, stands in ``memlab.step.staging``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np

from memlab.axes import BATCH
from memlab.formats import Format
from memlab.kernels.cpu.arrays import lines
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.small.blockwise import narrow_blocks, widen_blocks
from memlab.kernels.cpu.small.conversions import narrow, widen
from memlab.kernels.registry import Array, Call, Kernel
from memlab.step import staging
from memlab.step.op import Op
from memlab.step.staging import ONE, SCALE, SUFFIX
from memlab.step.traits import Cut

Arrays = dict[str, Array]
"""Parts of operands by name, or the buffers that they are widened into."""


class Staged:
    """What computes a staged operation with its fp32 kernel."""

    def __init__(self, kernel: Kernel, op: Op) -> None:
        self.kernel = kernel
        self.cut: Cut = op.attributes["cut"]
        self.tile: int = op.attributes["tile"]
        operands = {**op.reads, **op.writes, **op.updates}
        self.formats = {name: each.format for name, each in operands.items()}
        self.read = frozenset(op.reads) | frozenset(op.updates)
        self.written = frozenset(op.writes) | frozenset(op.updates)
        everything = {**operands, **op.workspace}
        self.batched = frozenset(name for name, t in everything.items() if BATCH in t.axes)
        self.buffers = {
            name: name.removesuffix(SUFFIX) for name in op.workspace if name.endswith(SUFFIX)
        }
        prepare(self.formats.values())

    def __call__(self, call: Call) -> None:
        own = self.buffers
        parts = {name: array for name, array in call.arrays.items() if name not in own}
        buffers = {short: call.arrays[name] for name, short in own.items()}
        _LOOPS[self.cut](self, call, parts, buffers)

    def whole(self, call: Call, parts: Arrays, buffers: Arrays) -> None:
        """Everything at once; the gradient of a loss is multiplied by the loss scale."""
        scale = parts.pop(SCALE, None)
        self._load(call, parts, buffers)
        arrays = {**parts, **buffers}
        self.kernel(replace(call, arrays=arrays))
        if scale is not None:
            for name in self.written:
                multiply(arrays[name].reshape(-1), float(scale[()]))
        self._store(parts, buffers)

    def values(self, call: Call, parts: Arrays, buffers: Arrays) -> None:
        """Some values of every array at a time."""
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

    def samples(self, call: Call, parts: Arrays, buffers: Arrays) -> None:
        """One sample at a time; what is written and has no samples is a sum over them."""
        ones = {name: buffers.pop(name + ONE) for name in parts if name + ONE in buffers}
        whole = {name: part for name, part in parts.items() if name not in self.batched}
        widened = {name: buffers.pop(name) for name in whole if name in buffers}
        self._load(call, whole, widened)
        whole_now = {**whole, **widened}
        batched = {name: part for name, part in parts.items() if name in self.batched}
        for b in range(len(next(iter(batched.values())))):
            cut = {name: part[b : b + 1] for name, part in batched.items()}
            room = {name: buffer[None] for name, buffer in buffers.items()}
            adding = ones if b else {}
            self._load(call, cut, room)
            self.kernel(replace(call, arrays={**whole_now, **adding, **cut, **room}))
            self._store(cut, room)
            for name, one in adding.items():
                _add(whole_now[name].reshape(-1), one.reshape(-1))
        self._store(whole, widened)

    def channels(self, call: Call, parts: Arrays, buffers: Arrays) -> None:
        """Some channels of all samples at a time."""
        for some, room in self._tiles(parts["x"].shape[1]):
            cut, tile = self._across(parts, some), self._across(buffers, room)
            self._load(call, cut, tile)
            self.kernel(replace(call, arrays={**cut, **tile}))
            self._store(cut, tile)

    def outputs(self, call: Call, parts: Arrays, buffers: Arrays) -> None:
        """Some outputs at a time; the gradient of the input is a sum over them."""
        whole = {name: parts.pop(name) for name in list(parts) if name in ("x", "dx")}
        widened = {name: buffers.pop(name) for name in whole if name in buffers}
        self._load(call, whole, widened)
        for some, room in self._tiles(len(parts["weight" if "weight" in parts else "dweight"])):
            cut, tile = self._across(parts, some), self._across(buffers, room)
            self._load(call, cut, tile)
            arrays = {**whole, **widened, **cut, **tile}
            adds = call.accumulate or some.start > 0
            self.kernel(replace(call, arrays=arrays, accumulate=adds))
            self._store(cut, tile)
        self._store(whole, widened)

    def _tiles(self, extent: int) -> list[tuple[slice, slice]]:
        """Every tile of an extent, and as much of a buffer."""
        starts = range(0, extent, self.tile)
        return [
            (slice(first, first + self.tile), slice(0, min(self.tile, extent - first)))
            for first in starts
        ]

    def _across(self, arrays: Arrays, some: slice) -> Arrays:
        """Channels or outputs: the second axis where the first is that of the samples."""
        return {
            name: array[:, some] if name in self.batched else array[some]
            for name, array in arrays.items()
        }

    def _load(self, call: Call, parts: Arrays, buffers: Arrays) -> None:
        """Widen what is read, and a gradient that is added to."""
        for name, buffer in buffers.items():
            if name in self.read or (call.accumulate and name == "dx"):
                for stored, values in lines(parts[name], buffer):
                    widen(stored, values, self.formats[name])

    def _store(self, parts: Arrays, buffers: Arrays) -> None:
        """Round what was written."""
        for name, buffer in buffers.items():
            if name in self.written:
                for values, stored in lines(buffer, parts[name]):
                    narrow(values, stored, self.formats[name])


_LOOPS = {
    Cut.WHOLE: Staged.whole,
    Cut.VALUES: Staged.values,
    Cut.SAMPLES: Staged.samples,
    Cut.CHANNELS: Staged.channels,
    Cut.OUTPUTS: Staged.outputs,
}


def prepare(formats: Iterable[Format], blocks: bool = False) -> None:
    """Compile the conversions before a step is measured: their constants are arrays that stay."""
    for format in filter(staging.small, formats):
        _compile(format)
        if blocks and format.bits == 8:
            _compile_blocks(format)


@cache
def _compile(format: Format) -> None:
    stored, values = np.zeros(1, format.dtype()), np.zeros(1, np.float32)
    widen(stored, values, format)
    for key in (None, 0):
        narrow(values, stored, format, key)


@cache
def _compile_blocks(format: Format) -> None:
    stored, values, scales = np.zeros(1, format.dtype()), *np.zeros((2, 1), np.float32)
    widen_blocks(stored, scales, values, format, 1)
    narrow_blocks(values, stored, scales, format, 1, key=0)


@compiled
def multiply(values: Array, factor: float) -> None:
    """In place."""
    for i in range(values.size):
        values[i] *= factor


@compiled
def _add(total: Array, one: Array) -> None:
    for i in range(total.size):
        total[i] += one[i]
