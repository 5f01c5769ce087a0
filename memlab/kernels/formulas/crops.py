"""Offsets of a random crop, and whether the image is mirrored, in plain Python that every device
compiles.

To shift an image by some pixels and cut it to its size is the same as a random crop of that image
with a black frame around it.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.formulas.random_numbers import number
from memlab.kernels.registry import KernelCall

_U = np.uint64
_DOWN, _RIGHT, _TURN = _U(1), _U(31), _U(63)


def row_shift(drawn: np.uint64, crop: int) -> np.int64:
    """Rows by which a random number shifts an image, from ``-crop`` to ``crop``."""
    return np.int64((drawn >> _DOWN) % _U(2 * crop + 1)) - crop


def column_shift(drawn: np.uint64, crop: int) -> np.int64:
    """Columns by which a random number shifts an image, from ``-crop`` to ``crop``."""
    return np.int64((drawn >> _RIGHT) % _U(2 * crop + 1)) - crop


def is_mirrored(drawn: np.uint64) -> bool:
    """True if a random number mirrors an image left to right: for every second number."""
    return bool(drawn >> _TURN)


def crop_of_image(
    seed: np.uint64, index: int, crop: int, flip: bool
) -> tuple[np.int64, np.int64, bool]:
    """Shift of an image by rows and by columns, and whether it is mirrored.

    Args:
        seed: the ``mix`` of a key.
        index: number of the image in its epoch.
        crop: largest shift in each direction, in pixels.
        flip: True if images may be mirrored.
    """
    drawn = number(seed, index)
    return row_shift(drawn, crop), column_shift(drawn, crop), flip and is_mirrored(drawn)


def settings(call: KernelCall) -> tuple[int, int, int, bool, float, float]:
    """Settings of an ``augment`` call: key, number of the first image, crop, flip, mean to subtract
    and scale to multiply by."""
    of = call.settings
    crop, flip = int(of["crop"]), bool(of["flip"])
    return call.key % 2**63, call.first, crop, flip, float(of["mean"]), float(of["scale"])
