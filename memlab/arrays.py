"""Arrays of figures, one for each operation, block or pixel: types, and exact sums of bytes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]
T = TypeVar("T", bound=Hashable)


def column(numbers: Sequence[int]) -> Column:
    """Return the whole numbers, each at least 0, as an array whose sums are exact: int64, or Python
    integers where int64 is too small."""
    return np.array(numbers, np.int64 if sum(numbers) < 2**63 else object)


def alive(sizes: Column, births: Column, deaths: Column, moments: int) -> Column:
    """Return the bytes that are alive at each moment, of shape (moments,). Each block has a size, a
    birth and a death.

    Each of the ``sizes``, a ``column``, is alive from its birth to its death, both counted; one
    born before moment 0 is there from then on, one that dies after the last is there until then.
    """
    change = np.zeros(moments + 1, sizes.dtype if len(sizes) else np.int64)
    np.add.at(change, np.maximum(births, 0), sizes)
    np.subtract.at(change, np.minimum(deaths + 1, moments), sizes)
    return np.cumsum(change[:-1])


def bytes_by_part(
    parts: Sequence[T], sizes: Column, births: Column, deaths: Column, moments: int
) -> dict[T, Column]:
    """Return the bytes of each part at each moment. A part is whatever ``parts`` names for each
    block, for example its role.

    Every block is of one of the ``parts``; its size, its birth and its death are as in ``alive``.
    """
    groups: dict[T, list[int]] = {}
    for number, part in enumerate(parts):
        groups.setdefault(part, []).append(number)
    return {
        part: alive(sizes[blocks], births[blocks], deaths[blocks], moments)
        for part, blocks in groups.items()
    }


def most(line: Floats, span: int, at: Integers) -> Floats:
    """Return, for each place, the largest of the ``span`` figures that begin there; of shape
    (places,)."""
    return _windows(np.maximum, line, span, at)


def least(line: Floats, span: int, at: Integers) -> Floats:
    """Return, for each place, the smallest of the ``span`` figures that begin there; of shape
    (places,)."""
    return _windows(np.minimum, line, span, at)


def _windows(best: np.ufunc, line: Floats, span: int, at: Integers) -> Floats:
    """Return the best of every window of ``span`` figures. The array is reduced in place, because
    copying the windows takes twenty times as long."""
    ends = np.empty(2 * len(at), np.intp)
    ends[::2], ends[1::2] = at, at + span
    floats: Floats = best.reduceat(np.append(line, line[-1:]), ends)[::2]
    return floats
