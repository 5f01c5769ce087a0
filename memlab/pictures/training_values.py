"""What few bits do to a training: losses, gradients that vanish, sums of small values that stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from memlab import rounding, strings
from memlab.errors import InputError, real, shorten, whole
from memlab.formats import FORMATS, Format
from memlab.pictures.values.number_text import figure, raised, share
from memlab.pictures.values.study import Study
from memlab.runtime.run import Run
from memlab.runtime.training import History

TRAININGS, POINTS = 10, 60
"""How many are shown at most, and the points of the longest."""
COUNTS = ("already", "zero", "subnormal", "normal", "beyond")
"""0 before, 0 in the format, kept with fewer digits, kept, too large."""
LARGEST = 2**64
"""Of all scales of gradients."""
MOST = 65_536
"""Values of a sum."""
Given = Run | Mapping[str, npt.ArrayLike] | npt.ArrayLike
"""Gradients: those of a run, or arrays."""

# -- losses ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Training:
    """One training, its name, and how many steps are one point."""

    name: str
    history: History
    window: int

    @cached_property
    def points(self) -> list[tuple[float, float]]:
        """Middle and mean loss of so many steps each; none where a loss of them is no number."""
        losses, found = self.history.losses, []
        for first in range(0, len(losses), self.window):
            part = losses[first : first + self.window]
            if np.isfinite(part).all():
                found.append((first + (len(part) + 1) / 2, float(np.mean(part))))
        return found

    @property
    def level(self) -> float:
        """The loss of the last steps, or the last one that was a number."""
        return self.points[-1][1] if self.points else float("nan")

    @property
    def broken(self) -> tuple[float, float] | None:
        """Where the loss was no number for the first time: the step, and the loss before, NaN where
        there was none."""
        if not self.history.broken:
            return None
        first = self.history.broken[0]
        before = [loss for step, loss in self.points if step < first]
        return first, before[-1] if before else float("nan")

    @property
    def state(self) -> str:
        """How the loss ended, or that it was no number."""
        losses, broken = self.history.losses, self.history.broken
        if not broken:
            return strings.get("training.curves.loss", loss=figure(self.level))
        count = len(losses) - broken[0] + 1
        key = "training.curves." + ("broken" if count == len(broken) else "sometimes")
        figures = {"first": f"{broken[0]:,}", "count": f"{len(broken):,}"}
        return strings.get(key, **figures, steps=f"{len(losses):,}")


@dataclass(frozen=True)
class Losses(Study):
    """Several trainings on the same axes."""

    ways: tuple[Training, ...]

    @property
    def steps(self) -> int:
        """Of the longest training."""
        return max(len(way.history.losses) for way in self.ways)

    @property
    def title(self) -> str:
        window = self.ways[0].window
        means = strings.get("training.curves.means", steps=window) if window > 1 else ""
        return strings.get("training.curves.title", means=means)

    @property
    def sentences(self) -> list[str]:
        """The errors at the end, in the order that was asked for."""
        each = (
            strings.get("training.curves.with", name=way.name, error=share(way.history.error))
            for way in self.ways
        )
        return [strings.get("training.curves.headline", errors=", ".join(each))]

    @property
    def broken(self) -> list[str]:
        """Whose loss was no number, and when."""
        return [f"{way.name}: {way.state}." for way in self.ways if way.history.broken]

    @property
    def notes(self) -> list[str]:
        counts = sorted({(way.history.last, way.history.epochs) for way in self.ways})
        key = "training.curves.note"
        return [strings.get(key, last=last, epochs=epochs) for last, epochs in counts]


def losses(histories: object) -> Losses:
    """Names and trainings.

    Raises:
        InputError: none, too many, or something else.
    """
    if not isinstance(histories, Mapping) or not 0 < len(histories) <= TRAININGS:
        raise InputError(
            f"give 1 to {TRAININGS} trainings with names, got {shorten(histories)}; "
            'try {"fp32": memlab.train(network, data)}.'
        )
    for history in histories.values():
        if not isinstance(history, History):
            raise InputError(
                f"a training is shown, got {shorten(history)}; try memlab.train(network, data)."
            )
    longest = max(len(history.losses) for history in histories.values())
    window = max(1, longest // POINTS)
    ways = (Training(str(name), history, window) for name, history in histories.items())
    return Losses(tuple(ways))


# -- gradients ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tally:
    """Gradients times a scale in a format.

    ``counts`` are by the names of ``COUNTS``. ``powers`` holds, for every power of 2, how many
    gradients have a size from it up to the next one and are kept, and how many are not.
    """

    scale: float
    counts: Mapping[str, int]
    powers: Mapping[int, tuple[int, int]]

    @property
    def alive(self) -> int:
        """Gradients that are not 0."""
        return sum(self.counts.values()) - self.counts["already"]

    @property
    def name(self) -> str:
        """``'as they are'``, ``'times 1,024'``."""
        if self.scale == 1:
            return strings.get("training.gradients.as_they_are")
        return strings.get("training.gradients.times", scale=f"{self.scale:,.6g}")


@dataclass(frozen=True)
class Gradients(Study):
    """Gradients as they are and, where a scale is given, times that."""

    what: str
    format: Format
    tallies: tuple[Tally, ...]

    @property
    def title(self) -> str:
        total = sum(self.tallies[0].counts.values())
        of = strings.get("training.gradients.of", what=self.what) if self.what else ""
        return strings.get("training.gradients.title", what=of, total=f"{total:,}")

    @property
    def limits(self) -> list[tuple[float, str]]:
        """The limits of the format and their names."""
        found, key = self.format, "training.gradients.line"
        small, normal = (
            raised(floor(log2(value))) for value in (found.smallest, found.smallest_normal)
        )
        return [
            (found.smallest, strings.get(f"{key}.smallest", value=small)),
            (found.smallest_normal, strings.get(f"{key}.normal", value=normal)),
            (found.largest, strings.get(f"{key}.largest", value=figure(found.largest, 5))),
        ]

    @property
    def sentences(self) -> list[str]:
        """What vanishes, as they are and scaled."""
        return [self._sentence(tally) for tally in self.tallies]

    def _sentence(self, tally: Tally) -> str:
        lost = tally.counts["zero"]
        return strings.get(
            "training.gradients.plain" if tally.scale == 1 else "training.gradients.scaled",
            format=self.format,
            name=tally.name,
            alive=f"{tally.alive:,}",
            lost=f"{lost:,}",
            part=figure(100 * lost / max(1, tally.alive), 4),
            beyond=f"{tally.counts['beyond']:,}",
            what=self.fate("beyond"),
        )

    def fate(self, count: str) -> str:
        """What becomes of the gradients of a count: of too large ones it differs from format to
        format."""
        lost = count == "beyond" and not self.format.infinities
        return strings.get(f"training.gradients.{'not_a_number' if lost else count}")


def gradients(given: Given, format: str | Format, scale: object) -> Gradients:
    """Count what becomes of the gradients of a run, or of some arrays.

    Raises:
        InputError: no gradients, NaN or infinity in them, no floating-point format of at most 32
            bits, or a scale that is no number, too small or too large.
    """
    found = _floating("gradients", format)
    if not isinstance(scale, int | float) or not 1 / LARGEST <= scale <= LARGEST:
        raise InputError(f"scale must lie between 2^-64 and 2^64, got {shorten(scale)}; try 1024.")
    values = _values(given)
    scales = dict.fromkeys([1.0, float(scale)])
    what = f"{given.step.describe()}, batch {given.batch}" if isinstance(given, Run) else ""
    return Gradients(what, found, tuple(tally(values, found, each) for each in scales))


def tally(values: npt.NDArray[np.float32], format: Format, scale: float) -> Tally:
    """What becomes of fp32 values times a scale: multiplied in fp32, then rounded once."""
    with np.errstate(over="ignore", under="ignore"):
        sizes = np.abs(values * np.float32(scale))
    held = rounding.rounded(sizes, format)
    alive, gone = values != 0, held == 0
    beyond = ~np.isfinite(held)
    below = ~gone & (held < format.smallest_normal)
    masks = (~alive, gone & alive, below, ~gone & ~below & ~beyond, beyond)
    counts = {name: int(np.sum(mask)) for name, mask in zip(COUNTS, masks, strict=True)}
    return Tally(scale, counts, _by_power(values[alive], scale, (gone | beyond)[alive]))


def _by_power(
    values: npt.NDArray[np.float32], scale: float, lost: npt.NDArray[np.bool_]
) -> dict[int, tuple[int, int]]:
    powers = np.frexp(np.abs(values.astype(np.float64)) * scale)[1] - 1
    found = {}
    for power in range(int(powers.min()), int(powers.max()) + 1) if len(powers) else ():
        there = powers == power
        found[power] = (int(np.sum(there & ~lost)), int(np.sum(there & lost)))
    return found


def _values(given: Given) -> npt.NDArray[np.float32]:
    """All gradients in a row, in fp32."""
    arrays: Any = given.gradients if isinstance(given, Run) else given
    found = list(arrays.values()) if isinstance(arrays, Mapping) else [arrays]
    if not found:
        raise InputError(
            "this run has no gradients; try memlab.run(step, batch, keep='gradients')."
        )
    try:
        if any(np.iscomplexobj(a) for a in found):
            raise TypeError
        values = np.concatenate([np.asarray(a).astype(np.float32).reshape(-1) for a in found])
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"gradients are arrays of numbers, got {shorten(given)}; "
            "try memlab.run(step, batch, keep='gradients')."
        ) from None
    if not np.isfinite(values).all():
        raise InputError("the gradients hold NaN or infinity; try those of a run in fp32.")
    return values


# -- sums -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """One way to add: its name, the format of its sums, and the sum after 1, 2, ... values."""

    name: str
    format: Format
    sums: npt.NDArray[np.float64]

    @property
    def end(self) -> float:
        """The sum of all."""
        return float(self.sums[-1])

    @property
    def still(self) -> int:
        """After how many values the sum changes no more; 0 where the last one changed it."""
        changed = np.flatnonzero(self.sums[1:] != self.sums[:-1])
        after = int(changed[-1]) + 2 if len(changed) else 1
        return after if after < len(self.sums) else 0


@dataclass(frozen=True)
class Sums(Study):
    """``count`` times a value: as asked for, and as the format stores it."""

    format: Format
    count: int
    value: float
    stored: float
    ways: tuple[Way, ...]

    @property
    def exact(self) -> float:
        """The sum of the stored values without any rounding."""
        return float(self.count * Fraction(self.stored))

    @property
    def title(self) -> str:
        same = self.stored == self.value
        return strings.get(
            "training.sums.title" if same else "training.sums.title_stored",
            count=f"{self.count:,}",
            value=f"{self.value:.12g}",
            stored=f"{self.stored:.12g}",
            format=self.format,
        )

    @cached_property
    def sentences(self) -> list[str]:
        """Where the sum in the format stops and why, or how far off it is."""
        way = self.ways[0]
        values = {"format": self.format, "sum": total(way.end), "exact": total(self.exact)}
        if not np.isfinite(way.end):
            count = int(np.flatnonzero(~np.isfinite(way.sums))[0]) + 1
            return [strings.get("training.sums.beyond", **values, count=f"{count:,}")]
        if not way.still:
            return [strings.get("training.sums.off", **values, off=self.off(way))]
        step = rounding.walk(way.end, self.format, 1) - way.end
        stored = f"{self.stored:.6g}"
        return [
            strings.get("training.sums.still", **values, count=f"{way.still:,}"),
            strings.get("training.sums.why", **values, step=f"{step:g}", stored=stored),
        ]

    def as_dict(self) -> dict[str, Any]:
        """What is said, and where each way ends: after all values, or before."""
        ways = {way.name: {"sum": way.end, "still": way.still or None} for way in self.ways}
        return {"title": self.title, "sentences": self.sentences, "exact": self.exact, "ways": ways}

    def off(self, way: Way) -> str:
        """How far a way's sum is from the exact one, as a part of that."""
        if not np.isfinite(way.end):
            return figure(way.end)
        return share(abs(way.end - self.exact) / self.exact)


def sums(format: str | Format, count: int, value: object) -> Sums:
    """Add a value many times.

    Raises:
        InputError: no floating-point format of at most 32 bits, no whole number of values or too
            many, or a value that is not above 0 or is 0 in the format.
    """
    found = _floating("sums", format)
    number, each = whole("count", count, most=MOST), real("value", value, usual=1.0, above=0)
    stored = rounding.nearest(each, found)
    if not 0 < stored < np.inf:
        raise InputError(f"{each:g} is {stored:g} in {found}; try 1.0.")
    wide = FORMATS["fp64" if found.bits == 32 else "fp32"]
    one, pairs = "training.sums.one", "training.sums.pairs"
    ways = (
        Way(strings.get(one, format=found), found, _one_by_one(stored, number, found)),
        Way(strings.get(one, format=wide), wide, _one_by_one(stored, number, wide)),
        Way(strings.get(pairs, format=found), found, _in_pairs(stored, number, found)),
    )
    return Sums(found, number, each, stored, ways)


def total(value: float) -> str:
    """Every digit of a sum, up to ten."""
    return f"{value:,.10g}" if np.isfinite(value) else figure(value)


def _one_by_one(value: float, count: int, format: Format) -> npt.NDArray[np.float64]:
    """Each value is added to the sum so far, which is rounded."""
    found, so_far = np.empty(count), 0.0
    for index in range(count):
        so_far = _rounded(so_far + value, format)
        found[index] = so_far
    return found


def _in_pairs(value: float, count: int, format: Format) -> npt.NDArray[np.float64]:
    """The sum of n values is that of the first half and of the second, rounded."""
    found = np.empty(count + 1)
    found[:2] = 0, value
    for n in range(2, count + 1):
        found[n] = _rounded(found[n // 2] + found[n - n // 2], format)
    return found[1:]


def _rounded(value: float, format: Format) -> float:
    return float(rounding.rounded(value, format))


def _floating(what: str, format: str | Format) -> Format:
    """A floating-point format of at most 32 bits."""
    found = rounding.find(format)
    if found.kind != "float" or found.bits > 32:
        raise InputError(
            f"{what} need a floating-point format of at most 32 bits, got {found}; try fp16."
        )
    return found
