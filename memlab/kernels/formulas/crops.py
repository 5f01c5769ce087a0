"""How far a random crop moves an image, and whether it is turned, in plain Python, for whoever
compiles it.

An image that is moved by some pixels and cut to its size is a random crop of that image with a
black frame around it.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.formulas.random_numbers import number
from memlab.kernels.registry import KernelCall

_U = np.uint64
_DOWN, _RIGHT, _TURN = _U(1), _U(31), _U(63)


def down(drawn: np.uint64, crop: int) -> np.int64:
    """Rows, from ``-crop`` to ``crop``."""
    return np.int64((drawn >> _DOWN) % _U(2 * crop + 1)) - crop


def right(drawn: np.uint64, crop: int) -> np.int64:
    """Columns, from ``-crop`` to ``crop``."""
    return np.int64((drawn >> _RIGHT) % _U(2 * crop + 1)) - crop


def turned(drawn: np.uint64) -> bool:
    """Whether left and right change places: every second time."""
    return bool(drawn >> _TURN)


def moved(seed: np.uint64, index: int, crop: int, flip: bool) -> tuple[np.int64, np.int64, bool]:
    """Rows, columns and whether it is turned, of the image with that number."""
    drawn = number(seed, index)
    return down(drawn, crop), right(drawn, crop), flip and turned(drawn)


def settings(call: KernelCall) -> tuple[int, int, int, bool, float, float]:
    """Key, number of the first image, crop and flip, and what is subtracted and multiplied."""
    of = call.settings
    crop, flip = int(of["crop"]), bool(of["flip"])
    return call.key % 2**63, call.first, crop, flip, float(of["mean"]), float(of["scale"])
