"""Lowering (im2col) and its way back (col2im) for a batch of images, with every argument checked.

The loops take one contiguous image. A batch of them is one with N times the channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from memlab import units
from memlab.errors import InputError
from memlab.free_memory import free_memory
from memlab.kernels.argument_checks import (
    Shape,
    check_array,
    check_lowered,
    check_out,
    image_shape,
    lowered_sizes,
)
from memlab.kernels.cpu.conv import im2col as one_image
from memlab.kernels.registry import Array

LARGE = 2**30
"""Bytes from which on a new result is held against the free memory."""


def im2col(
    x: Array, k: int, stride: int = 1, pad: int = 0, dilation: int = 1, groups: int = 1,
    out: Array | None = None,
) -> Array:  # fmt: skip
    """Every value that a k x k kernel covers, copied to where a matrix product wants it.

    ``x`` is (N, C, H, W), fp32 or fp64. The result is (N, C k k, Ho Wo), as of PyTorch's
    ``unfold``: row ``(c, ky, kx)`` holds for every output place what the kernel covers there, 0 in
    the padding. With ``groups`` g > 1 the same rows are seen as (N, g, C/g k k, Ho Wo), one matrix
    per group. It has k^2/s^2 times the bytes of ``x`` with same padding and stride s (claim A8).

    ``out`` is written and returned; without it the result is new memory, and filling that takes
    longer. An ``x`` that is not contiguous, or is read-only, is copied one image at a time.

    Raises:
        InputError: an argument is out of range, the kernel is wider than the padded image, ``out``
            has another shape, format or layout or overlaps ``x``, or the result does not fit.
    """
    _check_numpy("x", x, 4)
    sizes = lowered_sizes("im2col", x.shape, k, stride, pad, dilation, groups)
    out = _target(out, sizes.lowered, x)
    if x.size == 0:
        out.fill(0)
    elif out.size:
        for image, lowered in _images(x, out):
            one_image.im2col(_planes(image), lowered.reshape(sizes.planes), *sizes.settings)
    return out


def col2im(
    lowered: Array, shape: Sequence[int], k: int, stride: int = 1, pad: int = 0,
    dilation: int = 1, groups: int = 1, out: Array | None = None,
) -> Array:  # fmt: skip
    """Every lowered value added to the place that it was read from: the adjoint of ``im2col``.

    ``shape`` is that of the images, (N, C, H, W); ``lowered`` is what ``im2col`` gives for them,
    in shape and format, and stays as it is. For any x and y,
    ``sum(im2col(x) * y) == sum(x * col2im(y))`` but for rounding. As PyTorch's ``fold``.

    ``out`` is written and returned. A ``lowered`` that is not contiguous, or is read-only, is
    copied one image at a time.

    Raises:
        InputError: as for ``im2col``, or ``lowered`` has another shape than ``shape`` asks for.
    """
    images = image_shape(shape)
    sizes = lowered_sizes("col2im", images, k, stride, pad, dilation, groups)
    _check_numpy("lowered", lowered, len(sizes.lowered))
    check_lowered(lowered, images, sizes)
    out = _target(out, images, lowered)
    if lowered.size == 0:
        out.fill(0)
    elif out.size:
        for source, image in _images(lowered, out):
            one_image.col2im(source.reshape(sizes.planes), _planes(image), *sizes.settings, False)
    return out


def _check_numpy(name: str, array: Any, axes: int) -> None:
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        kind = type(array).__name__
        raise InputError(f"{name} must be a NumPy array without a mask, got {kind}; try np.array.")
    check_array(name, array, axes)


def _target(out: Array | None, shape: Shape, like: Array) -> Array:
    """A new array, or ``out`` once it is known to take the result."""
    if out is None:
        return _new(shape, like.dtype)
    _check_numpy("out", out, len(shape))
    check_out(out, shape, like)
    if not out.flags.carray:  # contiguous, aligned, writable
        raise InputError("out must be contiguous and writable; try np.empty with its shape.")
    if np.may_share_memory(like, out):
        raise InputError("out must lie outside the memory that is read; try a new array.")
    return out


def _new(shape: Shape, dtype: np.dtype[Any]) -> Array:
    nbytes = prod(shape) * dtype.itemsize
    try:
        if nbytes < LARGE or nbytes <= free_memory():
            return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        pass
    raise InputError(
        f"a result of shape {shape}, {units.both(nbytes)}, does not fit into what is free here; "
        "try fewer images at once."
    )


def _planes(images: Array) -> Array:
    return images.reshape(-1, *images.shape[-2:])


def _images(source: Array, target: Array) -> Iterator[tuple[Array, Array]]:
    """Source and target as they are, or image by image where the source must be copied."""
    if source.flags.carray:  # what the loops are compiled for
        yield source, target
    else:
        for image, part in zip(source, target, strict=True):
            yield np.require(image, requirements=("C", "A", "W")), part
