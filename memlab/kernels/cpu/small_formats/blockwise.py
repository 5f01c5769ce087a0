"""8-bit values in blocks that have one fp32 scale each.

The states of 8-bit optimizers are stored like this (Dettmers et al. 2022): the largest value of a
block becomes the largest of the format, so that every block uses its whole range. Here a block
holds 8-bit floats; theirs holds indices of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from memlab.errors import InputError, whole_number
from memlab.formats import FORMATS, STORED, Format
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.small_formats.conversions import (
    as_words,
    layout,
    matching_lines,
    rounded,
    seed,
    widened,
)
from memlab.kernels.registry import Array

_F, _U = np.float32, np.uint32
_SIZE = _U(0x7FFFFFFF)


def widen_blocks(source: Array, scales: Array, target: Array, format: Format, block: int) -> None:
    """Write 8-bit floats, times the scale of their block, as fp32.

    Args:
        source: values in ``format``, contiguous, of any shape.
        scales: fp32, one for each block.
        target: fp32, contiguous, of the same number of values; it is written.
        format: an 8-bit float.
        block: number of values in a block; the last block may be shorter.

    Raises:
        InputError: arrays that do not fit, another format, or a block of no value.
    """
    stored, values = _blocks(source, target, scales, format, block)
    _widen(format)(as_words(stored), scales, values, int(block))


def narrow_blocks(
    source: Array,
    target: Array,
    scales: Array,
    format: Format,
    block: int,
    key: int | None = None,
    start: int = 0,
) -> None:
    """Write fp32 values as 8-bit floats and one scale for each block.

    A scale is the largest absolute value of its block divided by the largest of the format: 0 for a
    block of zeros. Values divided by their scale are rounded as ``conversions.narrow`` rounds. A
    NaN or an infinity makes its whole block NaN.

    Args:
        source: fp32, contiguous, of any shape.
        target: values in ``format``, contiguous, of the same number of values; it is written.
        scales: fp32, one for each block; it is written.
        format: an 8-bit float.
        block: number of values in a block; the last block may be shorter.
        key: seed of stochastic rounding; without it, values are rounded to the nearest.
        start: index of the first value, for the random numbers.

    Raises:
        InputError: arrays that do not fit, another format, or a block of no value.
    """
    stored, values = _blocks(target, source, scales, format, block)
    _narrow(format)(values, as_words(stored), scales, int(block), *seed(key, start))


def _blocks(
    stored: Array, values: Array, scales: Array, format: Format, block: int
) -> tuple[Array, Array]:
    """Stored and fp32 values as lines, once they are known to fit the blocks."""
    if format.bits != 8:
        known = " or ".join(name for name in STORED if FORMATS[name].bits == 8)
        raise InputError(f"blocks hold 8-bit floats, got {format}; try {known}.")
    lines = matching_lines(stored, values, format)
    count = -(-values.size // whole_number("block", block))
    if scales.shape != (count,) or scales.dtype != _F or not scales.flags.c_contiguous:
        raise InputError(
            f"{values.size} values in blocks of {block} need {count} float32 scales side by side, "
            f"got {scales.dtype} {scales.shape}."
        )
    return lines


@cache
def _widen(format: Format) -> Callable[..., None]:
    """Compiled loop from blocks of a format to fp32."""
    own = layout(format)

    @compiled
    def loop(stored: Array, scales: Array, values: Array, block: int) -> None:
        for number in range(scales.size):
            scale = scales[number]
            codes, line = stored[number * block :][:block], values[number * block :][:block]
            for i in range(line.size):
                line[i] = _U(widened(codes[i], own)).view(_F) * scale

    return loop


@cache
def _narrow(format: Format) -> Callable[..., None]:
    """Compiled loop from fp32 to blocks of a format."""
    own, largest = layout(format), format.largest

    @compiled
    def loop(
        values: Array, stored: Array, scales: Array, block: int, key: int | None, start: int
    ) -> None:
        most = _F(largest)
        for number in range(scales.size):
            codes, line = stored[number * block :][:block], values[number * block :][:block]
            scale = _F(_absmax(line) / most)
            scales[number] = scale
            divisor = scale if scale != 0 else _F(1)
            for i in range(line.size):
                value = _F(line[i] / divisor)
                value = most if value > most else -most if value < -most else value
                codes[i] = rounded(_F(value).view(_U), own, key, start + number * block + i)

    return loop


@compiled
def _absmax(line: Array) -> np.float32:
    """Largest absolute value of a line, or NaN if there is one. The bits of fp32 magnitudes are in
    this order."""
    bits, largest = line.view(_U), _U(0)
    for i in range(bits.size):
        largest = max(largest, _U(bits[i] & _SIZE))
    return _U(largest).view(_F)
