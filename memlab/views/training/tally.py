"""What becomes of gradients in a number format: how many are kept, how many vanish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, log2
from typing import Any

import numpy as np
import numpy.typing as npt

from memlab import rounding
from memlab.errors import InputError, shorten
from memlab.formats import Format
from memlab.runtime.run import Run
from memlab.studies.figures import columns
from memlab.views.training import words

Floats = npt.NDArray[np.float32]
Given = Run | Mapping[str, npt.ArrayLike] | npt.ArrayLike

COUNTS = ("already", "zero", "subnormal", "normal", "beyond")
"""0 before, 0 in the format, kept with fewer digits, kept, too large."""
LARGEST = 2**64
"""Of all scales."""


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
            return words.say("gradients.as_they_are")
        return words.say("gradients.times", scale=f"{self.scale:,.15g}")


@dataclass(frozen=True)
class Gradients:
    """Gradients as they are and, where a scale is given, times that."""

    what: str
    format: Format
    tallies: tuple[Tally, ...]

    @property
    def total(self) -> int:
        """All gradients."""
        return sum(self.tallies[0].counts.values())

    @property
    def title(self) -> str:
        """What is counted."""
        of = words.say("gradients.of", what=self.what) if self.what else ""
        return words.say("gradients.title", what=of, total=f"{self.total:,}")

    @property
    def lines(self) -> list[tuple[float, str]]:
        """The limits of the format and their names."""
        found = self.format
        limits = {"smallest": found.smallest, "normal": found.smallest_normal}
        named = [
            (value, words.say(f"gradients.line.{key}", value=words.raised(floor(log2(value)))))
            for key, value in limits.items()
        ]
        largest = words.say("gradients.line.largest", value=words.figure(found.largest, 5))
        return [*named, (found.largest, largest)]

    @property
    def sentences(self) -> list[str]:
        """What vanishes, as they are and scaled."""
        return [self._sentence(tally) for tally in self.tallies]

    @property
    def table(self) -> list[list[str]]:
        """A head, and a line for every tally."""
        heads = ["", *(words.say(f"gradients.{self._key(name)}") for name in COUNTS)]
        rows = [[t.name, *(f"{t.counts[name]:,}" for name in COUNTS)] for t in self.tallies]
        return [heads, *rows]

    def text(self) -> str:
        """The twin."""
        limits = [name for _, name in self.lines]
        parts = (
            [f"{self.title}.", *self.sentences],
            columns(self.table),
            [words.say("gradients.limits", format=self.format, limits="; ".join(limits))],
            *(self._powers(tally) for tally in self.tallies),
        )
        return "\n\n".join("\n".join(part) for part in parts)

    def _sentence(self, tally: Tally) -> str:
        lost = tally.counts["zero"]
        key = "plain" if tally.scale == 1 else "scaled"
        return words.say(
            f"gradients.{key}",
            format=self.format,
            name=tally.name,
            alive=f"{tally.alive:,}",
            lost=f"{lost:,}",
            part=words.figure(100 * lost / max(1, tally.alive), 4),
            beyond=f"{tally.counts['beyond']:,}",
            what=words.say(f"gradients.{self._key('beyond')}"),
        )

    def _powers(self, tally: Tally) -> list[str]:
        heads = [words.say(f"gradients.head.{head}") for head in ("size", "kept", "lost")]
        rows = [
            [words.raised(power), f"{kept:,}", f"{lost:,}"]
            for power, (kept, lost) in tally.powers.items()
        ]
        return [f"{tally.name}:", *columns([heads, *rows])]

    def _key(self, name: str) -> str:
        """What becomes of too large a value differs from format to format."""
        return "not_a_number" if name == "beyond" and not self.format.infinities else name


def gradients(given: Given, format: str | Format, scale: object) -> Gradients:
    """Count what becomes of the gradients of a run, or of some arrays.

    Raises:
        InputError: no gradients, NaN or infinity in them, no floating-point format of at most 32
            bits, or a scale that is no number, too small or too large.
    """
    found = rounding.find(format)
    if found.kind != "float" or found.bits > 32:
        raise InputError(
            f"gradients need a floating-point format of at most 32 bits, got {found}; try fp16."
        )
    if not isinstance(scale, int | float) or not 1 / LARGEST <= scale <= LARGEST:
        raise InputError(f"scale must lie between 2^-64 and 2^64, got {shorten(scale)}; try 1024.")
    values = _values(given)
    scales = dict.fromkeys([1.0, float(scale)])
    what = f"{given.step.describe()}, batch {given.batch}" if isinstance(given, Run) else ""
    return Gradients(what, found, tuple(tally(values, found, each) for each in scales))


def tally(values: Floats, format: Format, scale: float) -> Tally:
    """What becomes of fp32 values times a scale: multiplied in fp32, then rounded once."""
    with np.errstate(over="ignore", under="ignore"):
        sizes = np.abs(values * np.float32(scale))
    held = rounding.rounded(sizes, format)
    alive, gone = values != 0, held == 0
    beyond = ~np.isfinite(held)
    below = ~gone & (held < format.smallest_normal)
    counts = {
        "already": int(np.sum(~alive)),
        "zero": int(np.sum(gone & alive)),
        "subnormal": int(np.sum(below)),
        "normal": int(np.sum(~gone & ~below & ~beyond)),
        "beyond": int(np.sum(beyond)),
    }
    return Tally(scale, counts, _by_power(values[alive], scale, (gone | beyond)[alive]))


def _by_power(
    values: Floats, scale: float, lost: npt.NDArray[np.bool_]
) -> dict[int, tuple[int, int]]:
    powers = np.frexp(np.abs(values.astype(np.float64)) * scale)[1] - 1
    found = {}
    for power in range(int(powers.min()), int(powers.max()) + 1) if len(powers) else ():
        there = powers == power
        found[power] = (int(np.sum(there & ~lost)), int(np.sum(there & lost)))
    return found


def _values(given: Given) -> Floats:
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
