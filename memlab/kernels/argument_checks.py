"""What the public functions of every device ask of their arguments, before a kernel runs."""

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
"""Of a setting, so that no index overflows."""


class Sizes(NamedTuple):
    """The shape of lowered images, as it is seen and as (C, k, k, Ho, Wo), and stride, padding,
    dilation."""

    lowered: Shape
    planes: Shape
    settings: tuple[int, int, int]


def check_array(name: str, array: Any, axes: int) -> None:
    """Refuse an array of another number of axes, or of a format that no kernel computes in.

    Raises:
        InputError: it is one.
    """
    if array.ndim != axes:
        raise InputError(f"{name} must have {axes} axes, got shape {array.shape}; try reshape.")
    if array.dtype not in FORMATS:
        hint = "try .astype(np.float32)"
        raise InputError(f"{name} must be fp32 or fp64, got {array.dtype.str}; {hint}.")


def check_lowered(lowered: Any, images: Shape, sizes: Sizes) -> None:
    """Refuse a lowered array that images of that shape do not give.

    Raises:
        InputError: it has another shape.
    """
    if tuple(lowered.shape) != sizes.lowered:
        raise InputError(
            f"lowered has shape {tuple(lowered.shape)}, and images {images} give {sizes.lowered}; "
            "try the settings that it was lowered with."
        )


def check_out(out: Any, shape: Shape, like: Any) -> None:
    """Refuse an array that cannot take a result.

    Raises:
        InputError: it has another shape or format.
    """
    if tuple(out.shape) != shape or out.dtype != like.dtype:
        raise InputError(
            f"out is {out.dtype} of shape {tuple(out.shape)}, and the result is {like.dtype} of "
            f"shape {shape}; try np.empty({shape}, np.{like.dtype})."
        )


def image_shape(given: Any) -> Shape:
    """(N, C, H, W) as whole numbers.

    Raises:
        InputError: it is none.
    """
    if not isinstance(given, Sequence) or len(given) != 4:
        raise InputError(f"shape must be (N, C, H, W), got {shorten(given)}; try x.shape.")
    return tuple(_number("shape", n, 0) for n in given)


def lowered_sizes(
    what: str, shape: Shape, k: int, stride: int, pad: int, dilation: int, groups: int
) -> Sizes:
    """The sizes of images of that shape once they are lowered.

    Raises:
        InputError: a setting is out of range, or the kernel is wider than the padded image.
    """
    k, groups = _number("k", k), _number("groups", groups)
    settings = _number("stride", stride), _number("pad", pad, 0), _number("dilation", dilation)
    batch, channels, height, width = shape
    if channels % groups:
        raise InputError(f"{groups} groups do not divide {channels} channels; try a divisor.")
    rows, columns = window(what, height, k, *settings), window(what, width, k, *settings)
    matrix = (channels // groups * k * k, rows * columns)
    lowered = (batch, *matrix) if groups == 1 else (batch, groups, *matrix)
    return Sizes(lowered, (-1, k, k, rows, columns), settings)


def _number(name: str, given: Any, least: int = 1) -> int:
    if type(given) is int and least <= given <= LARGEST:  # as nearly always
        return given
    value = whole_number(name, given, least)
    if value > LARGEST:
        raise InputError(f"{name} must be at most {LARGEST:,}, got {value:,}; try {max(least, 1)}.")
    return value
