"""Checks of the arguments of public functions, on every device, before a kernel runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from memlab.errors import InputError, shorten, whole_number
from memlab.kernels.registry import DTYPES
from memlab.layers import window

Shape = tuple[int, ...]

FORMATS = frozenset(np.dtype(dtype) for dtype in DTYPES.values())
LARGEST = 2**31 - 1
"""Largest value of a setting, so that no index overflows."""


class Sizes(NamedTuple):
    """Shapes and settings of a lowering.

    ``lowered`` is the shape of the result as callers see it: (N, C k k, Ho Wo), or (N, g, C/g k k,
    Ho Wo) for g groups. ``planes`` is (-1, k, k, Ho, Wo), the shape to which kernels reshape it.
    ``settings`` are stride, padding and dilation.
    """

    lowered: Shape
    planes: Shape
    settings: tuple[int, int, int]


def check_array(name: str, array: Any, axes: int) -> None:
    """Refuse an array with the wrong number of axes, or of a format that no kernel computes in.

    Args:
        name: the argument's name, for the message.
        array: an array of any device.
        axes: the number of axes that it must have.

    Raises:
        InputError: the array has another number of axes, or is neither fp32 nor fp64.
    """
    if array.ndim != axes:
        raise InputError(f"{name} must have {axes} axes, got shape {array.shape}; try reshape.")
    if array.dtype not in FORMATS:
        hint = "try .astype(np.float32)"
        raise InputError(f"{name} must be fp32 or fp64, got {array.dtype.str}; {hint}.")


def check_lowered(lowered: Any, images: Shape, sizes: Sizes) -> None:
    """Refuse a lowered array whose shape is not the one that lowering these images gives.

    Args:
        lowered: the lowered array.
        images: shape of the images, (N, C, H, W).
        sizes: the shapes that ``lowered_sizes`` returned for these images.

    Raises:
        InputError: ``lowered`` has another shape.
    """
    if tuple(lowered.shape) != sizes.lowered:
        raise InputError(
            f"lowered has shape {tuple(lowered.shape)}, and images {images} give {sizes.lowered}; "
            "try the settings that it was lowered with."
        )


def check_out(out: Any, shape: Shape, like: Any) -> None:
    """Refuse an output array that cannot take a result of this shape and of the format of ``like``.

    Raises:
        InputError: ``out`` has another shape or another format.
    """
    if tuple(out.shape) != shape or out.dtype != like.dtype:
        raise InputError(
            f"out is {out.dtype} of shape {tuple(out.shape)}, and the result is {like.dtype} of "
            f"shape {shape}; try np.empty({shape}, np.{like.dtype})."
        )


def image_shape(given: Any) -> Shape:
    """Return a shape (N, C, H, W) as a tuple of four whole numbers.

    Raises:
        InputError: it is no sequence of four whole numbers from 0 on.
    """
    if not isinstance(given, Sequence) or len(given) != 4:
        raise InputError(f"shape must be (N, C, H, W), got {shorten(given)}; try x.shape.")
    return tuple(_setting("shape", n, 0) for n in given)


def lowered_sizes(
    what: str, shape: Shape, k: int, stride: int, pad: int, dilation: int, groups: int
) -> Sizes:
    """Return the shapes that images have once they are lowered (im2col), and the checked settings.

    Args:
        what: name of the calling function, for messages.
        shape: shape of the images, (N, C, H, W).
        k: height and width of the kernel, in pixels.
        stride: distance between neighbouring kernel positions, in pixels.
        pad: rows and columns of zeros around each image.
        dilation: distance between neighbouring values of the kernel, in pixels.
        groups: number of groups of channels; it divides C.

    Raises:
        InputError: a setting is out of range, or the kernel is wider than the padded image.
    """
    k, groups = _setting("k", k), _setting("groups", groups)
    settings = _setting("stride", stride), _setting("pad", pad, 0), _setting("dilation", dilation)
    batch, channels, height, width = shape
    if channels % groups:
        raise InputError(f"{groups} groups do not divide {channels} channels; try a divisor.")
    rows, columns = window(what, height, k, *settings), window(what, width, k, *settings)
    matrix = (channels // groups * k * k, rows * columns)
    lowered = (batch, *matrix) if groups == 1 else (batch, groups, *matrix)
    return Sizes(lowered, (-1, k, k, rows, columns), settings)


def _setting(name: str, given: Any, least: int = 1) -> int:
    """Return a setting as a whole number from ``least`` to ``LARGEST``, or raise InputError."""
    if type(given) is int and least <= given <= LARGEST:  # the usual case
        return given
    value = whole_number(name, given, least)
    if value > LARGEST:
        raise InputError(f"{name} must be at most {LARGEST:,}, got {value:,}; try {max(least, 1)}.")
    return value
