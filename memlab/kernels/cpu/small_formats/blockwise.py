"""8 bits a value, in blocks that have one fp32 scale each.

The states of 8-bit optimizers lie like this (Dettmers et al. 2022): the largest value of a block
becomes the largest of the format, so that every block uses its whole range. Here a block holds
8-bit floats; theirs holds places in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from memlab.errors import InputError, whole_number
from memlab.formats import FORMATS, STORED, Format
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.small_formats.conversions import (
    layout,
    pair,
    rounded,
    seed,
    widened,
    words,
)
from memlab.kernels.registry import Array

_F, _U = np.float32, np.uint32
_SIZE = _U(0x7FFFFFFF)


def widen_blocks(source: Array, scales: Array, target: Array, format: Format, block: int) -> None:
    """``source``, in an 8-bit float, times the scale of its block, as fp32.

    Source and target are contiguous and of one size, in any shape; the last of their blocks may
    be shorter. ``scales`` is fp32, one for each block.

    Raises:
        InputError: other arrays, another format, or a block of no value.
    """
    stored, values = _blocks(source, target, scales, format, block)
    _widen(format)(words(stored), scales, values, int(block))


def narrow_blocks(
    source: Array,
    target: Array,
    scales: Array,
    format: Format,
    block: int,
    key: int | None = None,
    start: int = 0,
) -> None:
    """``source``, in fp32, as 8-bit floats and one scale for each block.

    A scale is the largest absolute value of its block over that of the format: 0 for a block of
    zeros. Values over their scale are rounded as ``conversions.narrow`` rounds, with a ``key``
    stochastically; ``start`` counts values, for the random numbers only. A NaN or an infinity
    makes its whole block NaN.

    Raises:
        InputError: other arrays, another format, or a block of no value.
    """
    stored, values = _blocks(target, source, scales, format, block)
    _narrow(format)(values, words(stored), scales, int(block), *seed(key, start))


def _blocks(
    stored: Array, values: Array, scales: Array, format: Format, block: int
) -> tuple[Array, Array]:
    """The arrays as lines, once they fit the blocks."""
    if format.bits != 8:
        known = " or ".join(name for name in STORED if FORMATS[name].bits == 8)
        raise InputError(f"blocks hold 8-bit floats, got {format}; try {known}.")
    lines = pair(stored, values, format)
    count = -(-values.size // whole_number("block", block))
    if scales.shape != (count,) or scales.dtype != _F or not scales.flags.c_contiguous:
        raise InputError(
            f"{values.size} values in blocks of {block} need {count} float32 scales side by side, "
            f"got {scales.dtype} {scales.shape}."
        )
    return lines


@cache
def _widen(format: Format) -> Callable[..., None]:
    own = layout(format)

    @compiled
    def loop(stored: Array, scales: Array, values: Array, block: int) -> None:
        for each in range(scales.size):
            scale = scales[each]
            codes, line = stored[each * block :][:block], values[each * block :][:block]
            for i in range(line.size):
                line[i] = _U(widened(codes[i], own)).view(_F) * scale

    return loop


@cache
def _narrow(format: Format) -> Callable[..., None]:
    own, largest = layout(format), format.largest

    @compiled
    def loop(
        values: Array, stored: Array, scales: Array, block: int, key: int | None, start: int
    ) -> None:
        most = _F(largest)
        for each in range(scales.size):
            codes, line = stored[each * block :][:block], values[each * block :][:block]
            scale = _F(_absmax(line) / most)
            scales[each] = scale
            divisor = scale if scale != 0 else _F(1)
            for i in range(line.size):
                value = _F(line[i] / divisor)
                value = most if value > most else -most if value < -most else value
                codes[i] = rounded(_F(value).view(_U), own, key, start + each * block + i)

    return loop


@compiled
def _absmax(line: Array) -> np.float32:
    """The largest absolute value; NaN where there is one. The bits of fp32 lie in this order."""
    bits, largest = line.view(_U), _U(0)
    for i in range(bits.size):
        largest = max(largest, _U(bits[i] & _SIZE))
    return _U(largest).view(_F)
