"""Lowering (im2col) and its adjoint (col2im) on a GPU.

There are two ways to lower. **naive**: a thread computes by divisions which value of the lowered
matrix is its own. **coalesced**: a thread has its place by its position in the grid, and
neighbouring threads write neighbouring values, which the memory combines. In col2im a thread owns a
value of the image, and adds up all lowered values that were read from it, so no two threads add to
one place.
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
    """Return the lowered matrices (im2col) of a batch on the device: every value that a k x k
    kernel covers, copied to where a matrix product reads it.

    This is ``memlab.kernels.im2col`` for device arrays.

    Args:
        x: images on the device, (N, C, H, W), fp32 or fp64, contiguous.
        k: height and width of the kernel, in pixels.
        stride: distance between neighbouring kernel positions, in pixels.
        pad: rows and columns of zeros around each image.
        dilation: distance between neighbouring values of the kernel, in pixels.
        groups: number of groups of channels; it divides C.
        out: device array of the result's shape and format that is written and returned.
        way: ``"coalesced"``, or ``"naive"`` to see the slower kernel.

    Returns:
        Device array (N, C k k, Ho Wo), or with ``groups`` g > 1 (N, g, C/g k k, Ho Wo). The kernel
        may still be running when it is returned.

    Raises:
        InputError: an argument is out of range, the kernel is wider than the padded image, ``out``
            has another shape, format or layout or overlaps ``x``, or the result does not fit.

    >>> import numpy as np
    >>> from memlab.kernels.cuda import im2col
    >>> from numba import cuda
    >>> x = cuda.to_device(np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3))
    >>> im2col(x, k=2).copy_to_host()[0].tolist()
    [[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0], [3.0, 4.0, 6.0, 7.0], [4.0, 5.0, 7.0, 8.0]]
    """
    _check_device("x", x, 4)
    sizes = lowered_sizes("im2col", x.shape, k, stride, pad, dilation, groups)
    if way not in WAYS:
        raise unknown("way", way, WAYS)
    out = _result_array(out, sizes.lowered, x)
    if x.size and out.size:
        lower(x, out, _window(x.shape, sizes), way)
    elif out.size:  # padding alone
        out[:] = 0
    return out


def col2im(
    lowered: Any, shape: Sequence[int], k: int, stride: int = 1, pad: int = 0, dilation: int = 1,
    groups: int = 1, out: Any = None,
) -> Any:  # fmt: skip
    """Return images on the device in which every lowered value is added to the place that it was
    read from.

    This is ``memlab.kernels.col2im``, the adjoint of ``im2col``, for device arrays.

    Args:
        lowered: device array as ``im2col`` returns it, (N, C k k, Ho Wo), or (N, g, C/g k k, Ho Wo)
            with ``groups`` g > 1; fp32 or fp64, contiguous.
        shape: shape of the images, (N, C, H, W).
        k: height and width of the kernel, in pixels.
        stride: distance between neighbouring kernel positions, in pixels.
        pad: rows and columns of zeros around each image.
        dilation: distance between neighbouring values of the kernel, in pixels.
        groups: number of groups of channels; it divides C.
        out: device array of that shape and format that is written and returned.

    Returns:
        Device array of the given shape, (N, C, H, W). The kernel may still be running when it is
        returned.

    Raises:
        InputError: an argument is out of range, the kernel is wider than the padded image,
            ``lowered`` has another shape than these settings give, ``out`` has another shape,
            format or layout or overlaps ``lowered``, or the result does not fit.

    >>> import numpy as np
    >>> from memlab.kernels.cuda import col2im, im2col
    >>> from numba import cuda
    >>> ones = cuda.to_device(np.ones((1, 1, 3, 3), np.float32))
    >>> col2im(im2col(ones, k=2), (1, 1, 3, 3), k=2).copy_to_host()[0, 0].tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    images = image_shape(shape)
    sizes = lowered_sizes("col2im", images, k, stride, pad, dilation, groups)
    _check_device("lowered", lowered, len(sizes.lowered))
    check_lowered(lowered, images, sizes)
    out = _result_array(out, images, lowered)
    if lowered.size and out.size:
        fold(lowered, out, _window(images, sizes), accumulate=False)
    elif out.size:
        out[:] = 0
    return out


def lower(images: Any, lowered: Any, at: ConvWindow, way: str = "coalesced") -> None:
    """Lower images (N, C, H, W) into (N, C, k, k, Ho, Wo); the images may be slices of larger
    samples.

    ``way`` is ``"coalesced"`` or ``"naive"``.
    """
    if not contiguous(images):
        for image, target in zip(_samples(images), _samples(lowered), strict=True):
            lower(image, target, at, way)
        return
    count = images.size // (at.height * at.width)
    if way == "naive":
        launch(_naive, values(lowered.size), line(images), line(lowered), lowered.size, at)
    else:
        shape = planes(at.columns, at.rows, count, at.kernel)
        launch(_coalesced, shape, line(images), line(lowered), count, at)


def fold(lowered: Any, images: Any, at: ConvWindow, accumulate: bool) -> None:
    """Add lowered values (N, C, k, k, Ho, Wo) to their places in images (N, C, H, W), or to zeros.

    The images may be slices of larger samples.
    """
    if not contiguous(images):
        for source, image in zip(_samples(lowered), _samples(images), strict=True):
            fold(source, image, at, accumulate)
        return
    count = images.size // (at.height * at.width)
    shape = planes(at.width, at.height, count)
    launch(_fold, shape, line(lowered), line(images), count, at, accumulate)


def _samples(samples: Any) -> list[Any]:
    """Views of the samples, each as a batch of one."""
    return [samples[b : b + 1] for b in range(len(samples))]


def _check_device(name: str, array: Any, axes: int) -> None:
    """Refuse an array that is not on the device, has another number of axes or format, or is not
    contiguous."""
    if not getattr(array, "__cuda_ndarray__", False):
        kind = type(array).__name__
        raise InputError(f"{name} must be an array on the device, got {kind}; try cuda.to_device.")
    check_array(name, array, axes)
    if not contiguous(array):
        raise InputError(f"{name} must be contiguous; try np.ascontiguousarray before the copy.")


def _result_array(out: Any, shape: Shape, like: Any) -> Any:
    """New array for a result, or ``out`` once it is checked."""
    if out is None:
        return _new_array(shape, like.dtype)
    _check_device("out", out, len(shape))
    check_out(out, shape, like)
    if overlap(like, out):
        raise InputError("out must lie outside the memory that is read; try a new array.")
    return out


def _new_array(shape: Shape, dtype: Any) -> Any:
    """New device array; one that does not fit into the device's free memory is refused."""
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
    """Sizes and settings of a lowering, as kernels take them."""
    _, _, height, width = images
    _, kernel, _, rows, columns = sizes.planes
    return ConvWindow(height, width, rows, columns, kernel, *sizes.settings)


@compiled
def _naive(images: Values, lowered: Values, count: int, at: ConvWindow) -> None:
    """Lower images: a thread computes by divisions which value is its own."""
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
    """Lower images: neighbouring threads write neighbouring values."""
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
    """Write, or add, for each value of the images the sum of the lowered values that were read from
    it."""
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
