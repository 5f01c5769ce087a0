"""The layers of a mountain: bytes of each part of a step, one on top of the other.

``memlab.arrays.bytes_by_part`` adds up blocks by role, or by whatever else they are told apart by;
here the sums are spread over time, and piled up. Nothing here draws: commands read it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, NamedTuple

import numpy as np

from memlab.arrays import Column, Floats, T

Curve = Floats
"""Bytes inside every moment of a step, for drawing only."""


class MountainLayer(NamedTuple, Generic[T]):
    """Layer of a stack: the bytes of a part between two curves."""

    part: T
    low: Curve
    high: Curve

    @property
    def most(self) -> float:
        """Most bytes at one moment."""
        return float((self.high - self.low).max(initial=0))


def pile(lines: Mapping[T, Column], low: Curve) -> list[MountainLayer[T]]:
    """Return the parts that have bytes, stacked above the lowest curve ``low``."""
    layers = list[MountainLayer[T]]()
    for part, line in lines.items():
        if line.any():
            layers.append(MountainLayer(part, low, low + line.astype(np.float64)))
            low = layers[-1].high
    return layers


def columns(ends: Column, nbytes: Column, count: int) -> Column:
    """Return the moment that represents each of ``count`` columns of time, which is the one with
    the most bytes; -1 after the last. ``ends`` are the ends of the moments, in columns."""
    first = np.concatenate(([0], ends[:-1])).astype(int)
    last = np.minimum(np.maximum(np.ceil(ends).astype(int), first + 1), count)
    shown = np.full(count, -1)
    lowest_first = np.lexsort((-np.arange(len(ends)), nbytes))
    for moment in lowest_first.tolist():
        shown[first[moment] : last[moment]] = moment
    return shown


def pile_over_time(lines: Mapping[T, Column], ends: Column, count: int) -> list[MountainLayer[T]]:
    """Return the parts stacked in ``count`` columns of time. ``ends`` are the ends
    of the moments."""
    nbytes = sum(lines.values(), np.zeros(len(ends), np.int64))
    shown = columns(ends, nbytes, count)
    return pile({part: over_time(line, shown) for part, line in lines.items()}, np.zeros(count))


def over_time(line: Column, shown: Column) -> Column:
    """Return the bytes in every column of time, taken from the moment that represents it."""
    return np.where(shown < 0, 0, line[shown])
