"""Bytes against time of recompute schedules, in three stops.

First every k-th stage is kept; then only cheap maps are dropped; then the best schedules of whole
stages, as a line (fact E6). ``memlab compare`` has the other techniques beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from memlab import strings, units
from memlab.pictures.recompute import Schedules, Wave
from memlab.pictures.techniques.compare import TechniqueStudy
from memlab.pictures.values.number_text import change, three_digits
from memlab.techniques.recompute.methods import WAYS, RecomputeRequest

EVERY, CHEAP, LINE = STOPS = (1, 2, 3)
"""Stops of the picture: every k-th stage kept; cheap maps dropped too; and the line of best
schedules."""


@dataclass(frozen=True)
class FrontierPoint:
    """One named schedule in the picture, and the call that makes its step."""

    name: str
    wave: Wave
    call: str


@dataclass(frozen=True, eq=False)
class Frontier:
    """Recompute schedules of a step up to a stop, for the picture of bytes against time.

    With a ``budget`` in bytes the best schedule within it is chosen; ``others`` compares all
    techniques.

    Raises:
        InputError: no schedule fits into the budget, or the chain is too long for the search.
    """

    all: Schedules
    stop: int
    budget: int | None = None
    others: TechniqueStudy | None = None

    def __post_init__(self) -> None:
        if self.stop == LINE:
            self.all.within(self.budget or self.all.plain.peak)

    # -- figures ----------------------------------------------------------------------------

    def extra(self, wave: Wave) -> float:
        """Return by how many percent a schedule takes longer than the plain step."""
        return 100 * (wave.cost / self.all.plain.cost - 1)

    @cached_property
    def cheap(self) -> Wave:
        """Schedule that computes again only maps with little work for each byte they write."""
        wish = RecomputeRequest(self.all.step, None, (), self.all.batch, None)
        return self.all.wave(WAYS["cheap"].order(wish))

    @property
    def fastest(self) -> Wave:
        """Schedule of the k that takes the least time; of equal ones the one with
        the least bytes."""
        waves = self.all.every.values()
        return min(waves, key=lambda wave: (wave.cost, wave.peak))

    @property
    def least(self) -> Wave:
        """Schedule with the least peak on the line of best schedules."""
        return self.all.frontier[0]

    @property
    def middle(self) -> int:
        """Bytes halfway from the least peak of the line to the plain peak."""
        return (self.least.peak + self.all.plain.peak) // 2

    @property
    def half(self) -> Wave:
        """Fastest schedule of the line that saves at least half of the possible bytes."""
        return self.all.within(self.middle)

    @property
    def chosen(self) -> Wave | None:
        """Fastest schedule of the line within the budget; None without a budget."""
        return None if self.budget is None else self.all.within(self.budget)

    @property
    def ringed(self) -> Wave | None:
        """Schedule of the ring: the chosen one, otherwise that of half the saving on the line."""
        saves = self.stop == LINE and self.least.peak < self.all.plain.peak
        return self.chosen or (self.half if saves else None)

    @property
    def points(self) -> list[FrontierPoint]:
        """Schedules that have a name in the picture, the plain step first."""
        all_, batch = self.all, self.all.batch
        points = [FrontierPoint(text_of("plain"), all_.plain, "step")]
        if self.stop == EVERY:
            points += [self._every(wave) for wave in all_.every.values()]
        else:
            points.append(self._every(all_.best))
            points.append(
                FrontierPoint(text_of("cheap"), self.cheap, 'memlab.recompute(step, "cheap")')
            )
        if self.stop == LINE:
            call = f'memlab.recompute(step, "chain", batch={batch}'
            points.append(
                FrontierPoint(text_of("half"), self.half, f"{call}, budget={self.middle})")
            )
            points.append(FrontierPoint(text_of("whole"), self.least, f"{call})"))
        return points

    def _every(self, wave: Wave) -> FrontierPoint:
        """Return the named point of a schedule that keeps every k-th stage."""
        call = f'memlab.recompute(step, "every", k={wave.k})'
        return FrontierPoint(text_of("k", k=wave.k), wave, call)

    # -- in words -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return text_of(f"title.{self._case}", **self._values)

    @property
    def _case(self) -> str:
        """Key of the texts for this stop: its number, without a saving, or within a budget."""
        if self.stop < LINE:
            return str(self.stop)
        saves = self.least.peak < self.all.plain.peak
        return "one" if not saves else "3" if self.budget is None else "budget"

    @property
    def sentences(self) -> list[str]:
        return [text_of(f"see.{self._case}")]

    @property
    def _values(self) -> dict[str, object]:
        """Return the numbers that are filled into the title's template."""
        plain = self.all.plain.peak
        if self.stop < LINE:
            wave = self.all.best if self.stop == EVERY else self.cheap
            tenths = 0 if self.stop == EVERY else 1
            return {"saved": three_digits(plain - wave.peak), "more": self.percent(wave, tenths)}
        values: dict[str, object] = {"half": self.percent(self.half, 1)}
        values["whole"] = self.percent(self.least, 1)
        if self.chosen:
            peak, more = three_digits(self.chosen.peak), self.percent(self.chosen, 1)
            values |= {"limit": three_digits(self.budget or 0), "peak": peak, "more": more}
        return values

    def percent(self, wave: Wave, digits: int) -> str:
        """Return the extra time of a schedule as text: ``'6.7 %'``."""
        return f"{self.extra(wave):.{digits}f} %"

    def rows(self) -> list[list[str]]:
        """Return a table of all points with bytes, time and call, its heads first; at stop 3 with
        the line."""
        heads = [text_of(f"head.{key}") for key in ("name", "bytes", "time", "call")]
        rows = [[point.name, *self._figures(point.wave), point.call] for point in self.points]
        if self.stop == LINE:
            rows += [[text_of("best"), *self._figures(wave), ""] for wave in self.all.frontier]
        if self.chosen:
            call = f'memlab.recompute(step, "chain", batch={self.all.batch}, budget={self.budget})'
            rows.append([text_of("within"), *self._figures(self.chosen), call])
        return [heads, *rows]

    def _figures(self, wave: Wave) -> tuple[str, str]:
        """Return two texts: a schedule's peak in bytes, and its time relative to the plain step."""
        return units.exact(wave.peak), change(self.all.plain.cost, wave.cost)

    @property
    def notes(self) -> list[str]:
        notes = [f"{self.all.subject}.", self.all.planned]
        if self.stop == LINE:
            count = len(self.all.frontier)
            counted = {"count": count, "all": self.all.points, "stages": self.all.stages}
            notes.append(text_of("line", **counted))
        return notes


def text_of(key: str, /, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"frontier.{key}", **values)
