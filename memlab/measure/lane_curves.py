"""Operations per second by the lanes of a vector, and where twice the lanes stop to pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from memlab.errors import pick
from memlab.measure.timing import Machine

GAIN = 1.4
"""Twice the lanes are worth it while they give at least so many times the operations."""
BEYOND = 15
"""Per cent: what is gained beyond the width, at most."""


@dataclass(frozen=True, slots=True)
class Point:
    """Samples of one loop in seconds, and the operations done in each."""

    lanes: int
    operations: int
    samples: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Operations per second, of the best sample."""
        return self.operations / min(self.samples)


@dataclass(frozen=True, slots=True)
class Curve:
    """The loops of one format, each with twice the lanes of the one before."""

    format: str
    bits: int
    points: tuple[Point, ...]

    @property
    def knee(self) -> Point:
        """The widest loop up to which every doubling is worth it."""
        for one, other in pairwise(self.points):
            if other.rate < GAIN * one.rate:
                return one
        return self.points[-1]

    @property
    def ends(self) -> bool:
        """Whether wider loops were measured, so that the knee is one."""
        return self.knee.lanes < self.points[-1].lanes

    @property
    def width(self) -> int:
        """Bits that are computed at a time, by this measurement."""
        return self.bits * self.knee.lanes

    def linear(self, lanes: int) -> float:
        """The rate if each lane added as much as those of the first loop."""
        first = self.points[0]
        return first.rate * lanes / first.lanes

    @property
    def deviation(self) -> float:
        """The largest distance from linear up to the knee, as a part of linear."""
        inner = [each for each in self.points if each.lanes <= self.knee.lanes]
        return max(abs(each.rate / self.linear(each.lanes) - 1) for each in inner)

    @property
    def falls(self) -> bool:
        """Whether a wider loop loses as much as the aim allows to gain."""
        knee = self.knee
        wider = [each.rate for each in self.points if each.lanes > knee.lanes]
        return bool(wider) and min(wider) < (1 - BEYOND / 100) * knee.rate

    @property
    def gain(self) -> float:
        """The most that any wider loop gains, as a part of the knee's rate."""
        knee = self.knee
        beyond = [each.rate / knee.rate - 1 for each in self.points if each.lanes > knee.lanes]
        return max(0.0, *beyond) if beyond else 0.0


@dataclass(frozen=True)
class Measured:
    """Curves of several formats on one processor.

    Its registers hold ``registers`` vectors of ``bits`` bits, as ``feature`` says. ``target`` is
    the older processor that was compiled for, or empty. ``missing`` are formats that were asked for
    and that it does not compute. ``chosen`` counts the registers in the assembly of an ordinary
    loop, which the compiler made vectors of; the widest has ``chosen_bits``.
    """

    curves: tuple[Curve, ...]
    bits: int
    registers: int
    feature: str
    target: str
    missing: tuple[str, ...]
    chosen: Mapping[str, int]
    chosen_bits: int
    clock: str
    machine: Machine

    def curve(self, format: str) -> Curve:
        """That of one format.

        Raises:
            InputError: it was not measured.
        """
        return pick("measured format", format, {each.format: each for each in self.curves})


def read(facts: dict[str, Any]) -> Measured:
    """What ``dataclasses.asdict`` made of a measurement, after JSON."""
    curves = [
        Curve(
            each["format"], each["bits"],
            tuple(Point(p["lanes"], p["operations"], tuple(p["samples"])) for p in each["points"]),
        )
        for each in facts["curves"]
    ]  # fmt: skip
    others = {
        "curves": tuple(curves),
        "missing": tuple(facts["missing"]),
        "machine": Machine(**facts["machine"]),
    }
    return Measured(**(facts | others))


def ratios(found: Measured) -> dict[str, float]:
    """The rate of each format at its knee, by that of the first."""
    first = found.curves[0].knee.rate
    return {each.format: each.knee.rate / first for each in found.curves}
