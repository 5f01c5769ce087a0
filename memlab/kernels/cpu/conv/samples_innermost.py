"""Convolution of a batch whose samples are neighbours in memory, so that the lanes of a vector are
samples.

Arrays are (C, H, W, B). At one output place, a tap (c, ky, kx) multiplies B neighbouring values by
one weight. ``samples`` fills vectors with them: with fewer samples than lanes, the other lanes are
off. ``loop`` leaves the choice of vectors to the compiler, and ``one-lane`` uses none. No step uses
these kernels: all others fill their lanes from the places of one sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from memlab.errors import InputError, one_option
from memlab.kernels.argument_checks import check_array, check_out, lowered_sizes
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.conv_tiles.block_products import ROWS, ZERO, multiply_offsets
from memlab.kernels.cpu.llvm_modules import types
from memlab.kernels.cpu.vector_code import BITS, Value, Writer, data_pointers, intrinsic
from memlab.kernels.formulas.windows import inside
from memlab.kernels.operands import ConvWindow
from memlab.kernels.registry import Array

SAMPLES, LOOP, ONE_LANE = "samples", "loop", "one-lane"
WAYS = (SAMPLES, LOOP, ONE_LANE)


def conv2d(
    x: Array, weight: Array, out: Array, stride: int = 1, pad: int = 0, way: str = SAMPLES
) -> None:
    """Compute ``out = weight * x``, a convolution with samples innermost.

    Args:
        x: images, (C, H, W, B), fp32 or fp64.
        weight: kernels, (K, C, k, k), of the same format.
        out: output maps, (K, Ho, Wo, B), of the same format; it is written.
        stride: distance between neighbouring kernel positions, in pixels.
        pad: rows and columns of zeros around each image.
        way: ``"samples"`` for vectors of samples, ``"loop"`` for the compiler's choice,
            ``"one-lane"`` for one sample at a time.

    Raises:
        InputError: there is no such ``way``, or arrays and settings do not fit each other.
    """
    one_option("way", way, dict.fromkeys(WAYS))
    at = _window(x, weight, out, stride, pad)
    if way == SAMPLES:
        _vectors(x, weight, out, np.empty(2 * at.kernel**2, np.int64), at)
    else:
        _loops(x, weight, out, at, way == ONE_LANE)


def _window(x: Array, weight: Array, out: Array, stride: int, pad: int) -> ConvWindow:
    """Sizes and settings of the convolution, once all shapes are known to fit.

    Raises:
        InputError: shapes, formats or layouts do not fit.
    """
    for name, array in (("x", x), ("weight", weight), ("out", out)):
        check_array(name, array, 4)
        if not array.flags.c_contiguous:
            raise InputError(f"{name} must be contiguous; try np.ascontiguousarray({name}).")
    if not out.flags.writeable or np.may_share_memory(x, out):
        raise InputError("out must be writable and lie outside of x; try a new array.")
    (channels, height, width, batch), (outputs, inner, kernel, across) = x.shape, weight.shape
    if inner != channels or kernel != across or weight.dtype != x.dtype or not x.size:
        raise InputError(
            f"weight is {weight.dtype} of shape {weight.shape}, and x is {x.dtype} of shape "
            f"{x.shape}; try one format, and shapes (K, C, k, k) and (C, H, W, B)."
        )
    sizes = lowered_sizes("conv2d", (batch, channels, height, width), kernel, stride, pad, 1, 1)
    rows, columns = sizes.planes[3:]
    check_out(out, (outputs, rows, columns, batch), x)
    return ConvWindow(height, width, rows, columns, kernel, *sizes.settings)


@compiled
def _vectors(x: Array, weight: Array, y: Array, table: Array, at: ConvWindow) -> None:
    """Convolve with one vector of samples at a time."""
    batch, lanes = x.shape[3], BITS // (8 * x.itemsize)
    for place in range(at.rows * at.columns):
        for first in range(0, batch, lanes):
            count = min(lanes, batch - first)
            _fill_table(table, at, place, batch, count)
            _multiply(x, weight, y, table, at, place, first, count)


@compiled
def _fill_table(table: Array, at: ConvWindow, place: int, batch: int, count: int) -> None:
    """Fill a table for one output place: for every tap, the index of its samples in a channel, and
    a bit for each of ``count`` samples, off in the padding."""
    up = place // at.columns * at.stride - at.pad
    left = place % at.columns * at.stride - at.pad
    for tap in range(at.kernel * at.kernel):
        iy, ix = up + tap // at.kernel, left + tap % at.kernel
        there = 0 <= iy < at.height and 0 <= ix < at.width
        table[2 * tap] = (iy * at.width + ix) * batch
        table[2 * tap + 1] = (1 << count) - 1 if there else 0


@compiled
def _multiply(
    x: Array,
    weight: Array,
    y: Array,
    table: Array,
    at: ConvWindow,
    place: int,
    first: int,
    count: int,
) -> None:
    """Compute all output maps at one place, for ``count`` samples from ``first`` on."""
    a, out, image, depth = weight.reshape(-1), y.reshape(-1), x.reshape(-1), weight[0].size
    batch, places, plane = x.shape[3], at.rows * at.columns, at.height * at.width
    taps = at.kernel * at.kernel
    for k in range(0, len(weight), ROWS):
        multiply_offsets(
            BITS, ROWS, 1, a, (k * depth, depth, 1),
            out, ((k * places + place) * batch + first, places * batch),
            (min(ROWS, len(weight) - k), count, depth), (ZERO, k), a, image, table,
            (first, plane * batch, taps),
        )  # fmt: skip


@compiled
def _loops(x: Array, weight: Array, y: Array, at: ConvWindow, one_lane: bool) -> None:
    """Convolve by the loops of the definition, with the loop over the samples innermost."""
    for k in range(len(weight)):
        for oy in range(at.rows):
            up = oy * at.stride - at.pad
            upper, lower = inside(at.height, at.kernel, 1, up)
            for ox in range(at.columns):
                left = ox * at.stride - at.pad
                begin, end = inside(at.width, at.kernel, 1, left)
                out = y[k, oy, ox]
                out[:] = 0
                for c in range(len(x)):
                    for ky in range(upper, lower):
                        for kx in range(begin, end):
                            w, samples = weight[k, c, ky, kx], x[c, up + ky, left + kx]
                            if one_lane:
                                add_in_one_lane(out, w, samples)
                            else:
                                add(out, w, samples)


@compiled
def add(out: Array, weight: float, samples: Array) -> None:
    """Add ``out += weight * samples``; the compiler chooses whether to use vectors."""
    for b in range(out.size):
        out[b] += weight * samples[b]


@compiled
def add_in_one_lane(out: Array, weight: float, samples: Array) -> None:
    """Add ``out += weight * samples``, one sample after the other."""
    for b in range(out.size):
        _add_vector(1, out, b, weight, samples)


@intrinsic
def _add_vector(typing: Any, bits: Any, out: Any, at: Any, weight: Any, samples: Any) -> Any:
    """Write the code of ``out += weight * samples`` for one vector from index ``at`` on; it has at
    least one lane."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, there, place, w, here = args
        there, here = data_pointers(context, builder, (out, there), (samples, here))
        write = Writer(builder, out.dtype, bits.literal_value)
        total = write.multiply_add(
            write.broadcast(w), write.load(here, place), write.load(there, place)
        )
        write.store(total, there, place)
        return context.get_dummy_value()

    return types.void(bits, out, types.int64, out.dtype, samples), code
