"""Lowering (im2col) and its way back (col2im) on a GPU.

Two ways to lower. **naive**: a thread finds out by divisions which value of the lowered matrix is
its own. **coalesced**: a thread has its place by where it stands in the grid, and neighbours write
neighbouring values, which the memory takes together. col2im turns the question around: which
lowered values were read from this value of the image? So no two threads add to one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numba import cuda

from memlab import units
from memlab.errors import InputError, unknown
from memlab.kernels.argument_checks import (
    Shape,
    Sizes,
    check_array,
    check_lowered,
    check_out,
    image_shape,
    lowered_sizes,
)
from memlab.kernels.cuda.compile import Values, compiled, launch, planes, values
from memlab.kernels.cuda.flat_arrays import contiguous, line, overlap
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.windows import reader, source
from memlab.kernels.operands import ConvWindow

_U = np.uint64
WAYS = ("coalesced", "naive")


def im2col(
    x: Any, k: int, stride: int = 1, pad: int = 0, dilation: int = 1, groups: int = 1,
    out: Any = None, way: str = "coalesced",
) -> Any:  # fmt: skip
    """As ``memlab.kernels.im2col``, of a contiguous array on the device.

    ``x`` is (N, C, H, W), fp32 or fp64, and the result (N, C k k, Ho Wo), or with ``groups`` g > 1
    (N, g, C/g k k, Ho Wo). ``way`` is ``"coalesced"`` or ``"naive"``. ``out`` is written and
    returned; it may still be in the making.

    Raises:
        InputError: an argument is out of range, the kernel is wider than the padded image, ``out``
            has another shape, format or layout or overlaps ``x``, or the result does not fit.
    """
    _check_device("x", x, 4)
    sizes = lowered_sizes("im2col", x.shape, k, stride, pad, dilation, groups)
    if way not in WAYS:
        raise unknown("way", way, WAYS)
    out = _target(out, sizes.lowered, x)
    if x.size and out.size:
        lower(x, out, _window(x.shape, sizes), way)
    elif out.size:  # padding alone
        out[:] = 0
    return out


def col2im(
    lowered: Any, shape: Sequence[int], k: int, stride: int = 1, pad: int = 0, dilation: int = 1,
    groups: int = 1, out: Any = None,
) -> Any:  # fmt: skip
    """As ``memlab.kernels.col2im``, of a contiguous array on the device: every lowered value added
    to the place of the (N, C, H, W) images that it was read from.

    Raises:
        InputError: as for ``im2col``, or ``lowered`` has another shape than ``shape`` asks for.
    """
    images = image_shape(shape)
    sizes = lowered_sizes("col2im", images, k, stride, pad, dilation, groups)
    _check_device("lowered", lowered, len(sizes.lowered))
    check_lowered(lowered, images, sizes)
    out = _target(out, images, lowered)
    if lowered.size and out.size:
        fold(lowered, out, _window(images, sizes), accumulate=False)
    elif out.size:
        out[:] = 0
    return out


def lower(images: Any, lowered: Any, at: ConvWindow, way: str = "coalesced") -> None:
    """Lower images into (N, C, k, k, Ho, Wo); they may be slices of larger samples."""
    if not contiguous(images):
        for image, target in zip(_each(images), _each(lowered), strict=True):
            lower(image, target, at, way)
        return
    count = images.size // (at.height * at.width)
    if way == "naive":
        launch(_naive, values(lowered.size), line(images), line(lowered), lowered.size, at)
    else:
        shape = planes(at.columns, at.rows, count, at.kernel)
        launch(_coalesced, shape, line(images), line(lowered), count, at)


def fold(lowered: Any, images: Any, at: ConvWindow, accumulate: bool) -> None:
    """Add (N, C, k, k, Ho, Wo) back up to images, or to zeros; these may be slices of larger
    samples."""
    if not contiguous(images):
        for source, image in zip(_each(lowered), _each(images), strict=True):
            fold(source, image, at, accumulate)
        return
    count = images.size // (at.height * at.width)
    shape = planes(at.width, at.height, count)
    launch(_fold, shape, line(lowered), line(images), count, at, accumulate)


def _each(samples: Any) -> list[Any]:
    return [samples[b : b + 1] for b in range(len(samples))]


def _check_device(name: str, array: Any, axes: int) -> None:
    if not getattr(array, "__cuda_ndarray__", False):
        kind = type(array).__name__
        raise InputError(f"{name} must be an array on the device, got {kind}; try cuda.to_device.")
    check_array(name, array, axes)
    if not contiguous(array):
        raise InputError(f"{name} must be contiguous; try np.ascontiguousarray before the copy.")


def _target(out: Any, shape: Shape, like: Any) -> Any:
    """A new array, or ``out`` once it is known to take the result."""
    if out is None:
        return _new(shape, like.dtype)
    _check_device("out", out, len(shape))
    check_out(out, shape, like)
    if overlap(like, out):
        raise InputError("out must lie outside the memory that is read; try a new array.")
    return out


def _new(shape: Shape, dtype: Any) -> Any:
    nbytes = prod(shape) * dtype.itemsize
    free, _ = cuda.current_context().get_memory_info()
    try:
        if nbytes <= free:
            return cuda.device_array(shape, dtype)
    except (MemoryError, ValueError):  # the simulator's, which takes the host's memory
        pass
    raise InputError(
        f"a result of shape {shape}, {units.both(nbytes)}, does not fit into what is free on the "
        "device; try fewer images at once."
    )


def _window(images: Shape, sizes: Sizes) -> ConvWindow:
    _, _, height, width = images
    _, kernel, _, rows, columns = sizes.planes
    return ConvWindow(height, width, rows, columns, kernel, *sizes.settings)


@compiled
def _naive(images: Values, lowered: Values, count: int, at: ConvWindow) -> None:
    zero = images.dtype.type(0)
    i = cuda.grid(1)
    while i < count:
        ox, rest = i % at.columns, i // at.columns
        oy, rest = rest % at.rows, rest // at.rows
        kx, rest = rest % at.kernel, rest // at.kernel
        ky, plane = rest % at.kernel, rest // at.kernel
        iy = source(oy, ky, at.stride, at.pad, at.dilation)
        ix = source(ox, kx, at.stride, at.pad, at.dilation)
        inside = 0 <= iy < at.height and 0 <= ix < at.width
        place = (plane * at.height + iy) * at.width + ix
        lowered[_U(i)] = images[_U(place)] if inside else zero
        i += cuda.gridsize(1)


@compiled
def _coalesced(images: Values, lowered: Values, count: int, at: ConvWindow) -> None:
    zero, size = images.dtype.type(0), at.rows * at.columns
    left, top, _ = cuda.grid(3)
    across, down, _ = cuda.gridsize(3)
    plane = cuda.blockIdx.z
    while plane < count:
        ky = cuda.threadIdx.z
        while ky < at.kernel:
            oy = top
            while oy < at.rows:
                iy = source(oy, ky, at.stride, at.pad, at.dilation)
                row = (plane * at.height + iy) * at.width
                ox = left
                while ox < at.columns:
                    to = (plane * at.kernel + ky) * at.kernel * size + oy * at.columns + ox
                    kx = 0
                    while kx < at.kernel:
                        ix = source(ox, kx, at.stride, at.pad, at.dilation)
                        inside = 0 <= iy < at.height and 0 <= ix < at.width
                        lowered[_U(to)] = images[_U(row + ix)] if inside else zero
                        to += size
                        kx += 1
                    ox += across
                oy += down
            ky += cuda.blockDim.z
        plane += cuda.gridDim.z


@compiled
def _fold(lowered: Values, images: Values, count: int, at: ConvWindow, add: bool) -> None:
    size = at.rows * at.columns
    left, top, _ = cuda.grid(3)
    across, down, _ = cuda.gridsize(3)
    plane = cuda.blockIdx.z
    while plane < count:
        iy = top
        while iy < at.height:
            ix = left
            while ix < at.width:
                total = images.dtype.type(0)
                for ky in range(at.kernel):
                    oy = reader(iy, ky, at.stride, at.pad, at.dilation)
                    if 0 <= oy < at.rows:
                        row = (plane * at.kernel + ky) * at.kernel * size + oy * at.columns
                        for kx in range(at.kernel):
                            ox = reader(ix, kx, at.stride, at.pad, at.dilation)
                            if 0 <= ox < at.columns:
                                total += lowered[_U(row + kx * size + ox)]
                to = _U((plane * at.height + iy) * at.width + ix)
                write_or_add(images, to, total, add)
                ix += across
            iy += down
        plane += cuda.gridDim.z
