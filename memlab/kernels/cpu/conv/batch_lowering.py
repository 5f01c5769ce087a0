"""Lowering (im2col) and its adjoint (col2im) for a batch of images, with every argument checked.

The loops of ``im2col`` take one contiguous image. A batch of contiguous images is passed to them as
one image with N times the channels.
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
"""Bytes from which on a new result is checked against the free memory."""


def im2col(
    x: Array, k: int, stride: int = 1, pad: int = 0, dilation: int = 1, groups: int = 1,
    out: Array | None = None,
) -> Array:  # fmt: skip
    """Return the lowered matrices (im2col) of a batch: every value that a k x k kernel covers,
    copied to where a matrix product reads it.

    Row ``(c, ky, kx)`` of a lowered matrix holds, for every output place, the value that this tap
    of the kernel covers there, and 0 in the padding, as in PyTorch's ``unfold``. The result has
    k^2/s^2 times the bytes of ``x`` with same padding and stride s (claim A8).

    Args:
        x: images, (N, C, H, W), fp32 or fp64. An ``x`` that is not contiguous, or is read-only, is
            copied one image at a time.
        k: height and width of the kernel, in pixels.
        stride: distance between neighbouring kernel positions, in pixels.
        pad: rows and columns of zeros around each image.
        dilation: distance between neighbouring values of the kernel, in pixels.
        groups: number of groups of channels; it divides C.
        out: array of the result's shape and format that is written and returned. Without it the
            result is new memory, which takes longer to fill.

    Returns:
        (N, C k k, Ho Wo), or with ``groups`` g > 1 the same values as (N, g, C/g k k, Ho Wo), one
        matrix per group. Ho and Wo are the output's height and width.

    Raises:
        InputError: an argument is out of range, the kernel is wider than the padded image, ``out``
            has another shape, format or layout or overlaps ``x``, or the result does not fit.

    >>> import numpy as np
    >>> from memlab.kernels import im2col
    >>> x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    >>> im2col(x, k=2)[0].tolist()  # one row for each tap, one column for each output place
    [[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 5.0], [3.0, 4.0, 6.0, 7.0], [4.0, 5.0, 7.0, 8.0]]
    """
    _check_numpy("x", x, 4)
    sizes = lowered_sizes("im2col", x.shape, k, stride, pad, dilation, groups)
    out = _result_array(out, sizes.lowered, x)
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
    """Return images in which every lowered value is added to the place that ``im2col`` read it
    from.

    This is the adjoint of ``im2col``: ``sum(im2col(x) * y) == sum(x * col2im(y))`` for any x and y,
    but for rounding. PyTorch calls it ``fold``.

    Args:
        lowered: lowered matrices as ``im2col`` returns them, (N, C k k, Ho Wo), or (N, g, C/g k k,
            Ho Wo) with ``groups`` g > 1; fp32 or fp64. They are not changed. An array that is not
            contiguous, or is read-only, is copied one image at a time.
        shape: shape of the images, (N, C, H, W).
        k: height and width of the kernel, in pixels.
        stride: distance between neighbouring kernel positions, in pixels.
        pad: rows and columns of zeros around each image.
        dilation: distance between neighbouring values of the kernel, in pixels.
        groups: number of groups of channels; it divides C.
        out: array of that shape and format that is written and returned, instead of new memory.

    Returns:
        Images of the given shape, (N, C, H, W), in the format of ``lowered``.

    Raises:
        InputError: an argument is out of range, the kernel is wider than the padded image,
            ``lowered`` has another shape than these settings give, ``out`` has another shape,
            format or layout or overlaps ``lowered``, or the result does not fit.

    >>> import numpy as np
    >>> from memlab.kernels import col2im, im2col
    >>> ones = np.ones((1, 1, 3, 3), np.float32)
    >>> col2im(im2col(ones, k=2), ones.shape, k=2)[0, 0].tolist()  # windows over each pixel
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    images = image_shape(shape)
    sizes = lowered_sizes("col2im", images, k, stride, pad, dilation, groups)
    _check_numpy("lowered", lowered, len(sizes.lowered))
    check_lowered(lowered, images, sizes)
    out = _result_array(out, images, lowered)
    if lowered.size == 0:
        out.fill(0)
    elif out.size:
        for source, image in _images(lowered, out):
            one_image.col2im(source.reshape(sizes.planes), _planes(image), *sizes.settings, False)
    return out


def _check_numpy(name: str, array: Any, axes: int) -> None:
    """Refuse what is no NumPy array of fp32 or fp64 with that many axes, and masked arrays."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        kind = type(array).__name__
        raise InputError(f"{name} must be a NumPy array without a mask, got {kind}; try np.array.")
    check_array(name, array, axes)


def _result_array(out: Array | None, shape: Shape, like: Array) -> Array:
    """New array for a result, or ``out`` once it is checked."""
    if out is None:
        return _new_array(shape, like.dtype)
    _check_numpy("out", out, len(shape))
    check_out(out, shape, like)
    if not out.flags.carray:  # contiguous, aligned, writable
        raise InputError("out must be contiguous and writable; try np.empty with its shape.")
    if np.may_share_memory(like, out):
        raise InputError("out must lie outside the memory that is read; try a new array.")
    return out


def _new_array(shape: Shape, dtype: np.dtype[Any]) -> Array:
    """New array of a shape and format; a large one is refused if it does not fit into the free
    memory."""
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
    """View of a batch of images as one image with all their channels."""
    return images.reshape(-1, *images.shape[-2:])


def _images(source: Array, target: Array) -> Iterator[tuple[Array, Array]]:
    """Yield source and target as they are, or image by image where the source must be copied."""
    if source.flags.carray:  # what the loops are compiled for
        yield source, target
    else:
        for image, part in zip(source, target, strict=True):
            yield np.require(image, requirements=("C", "A", "W")), part
