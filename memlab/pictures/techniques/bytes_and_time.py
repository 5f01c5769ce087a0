"""Every technique on one step: bytes against time, the optimum of a chain and the lower bounds.

``memlab compare`` prints it, and the view of techniques draws it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from memlab import strings, units
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.hardware import Device
from memlab.pictures.values.number_text import columns, duration
from memlab.placement.placement import Placement
from memlab.step.step import Step
from memlab.techniques.registry import find

EXACT = ("technique", "bytes", "plain", "no_reuse", "again", "flops", "seconds", "extra")
RAN = ("measured", "residual", "run", "slower", "results")
SHORT = ("peak", "plain", "no_reuse", "again", "extra", "distance")
"""Columns of the text, of what runs used, and of a picture."""
BEST = ("within", "chain")
"""Techniques that are the best schedules of a chain."""


class Trade(NamedTuple):
    """The most bytes alive, and nanoseconds by the clock."""

    nbytes: int
    cost: int


class Floor(NamedTuple):
    """Bytes that no order of the operations can do without, and the operation that needs them."""

    nbytes: int
    operation: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What runs used: the peak, the largest difference from the plan, and seconds; and which
    results are not those of the plain step bit for bit, by key."""

    nbytes: int
    residual: int
    seconds: float
    other: tuple[str, ...] = ()


@dataclass(frozen=True)
class Technique:
    """One technique at the batch.

    ``call`` makes its ``step``. ``peak`` is the most bytes inside an operation; where everything
    that is born lies in one arena, that ``placement`` and what is there before the step. ``again``
    counts the operations that run again, and ``flops`` what they compute. ``cost`` is in
    nanoseconds by the clock. ``optimum`` is the fastest schedule of the stages of a chain within
    the same bytes, where there is one.
    """

    key: str
    call: str
    step: Step = field(repr=False)
    peak: int
    operations: int
    again: int
    flops: int
    cost: int
    floor: Floor
    placement: Placement | None = field(default=None, repr=False)
    optimum: Trade | None = None
    measured: Measured | None = None

    @property
    def point(self) -> Trade:
        """Bytes and nanoseconds."""
        return Trade(self.peak, self.cost)


@dataclass(frozen=True)
class TechniqueStudy:
    """All techniques on one step at a batch, in exact bytes.

    ``budget`` is that of the chain, ``given`` by the reader or halfway. ``trades`` are what some of
    the ``schedules`` take that are the best of a chain of ``stages``, none where it is too long.
    ``left_out`` has the keys of techniques that are not there.
    """

    network: str
    batch: int
    rows: tuple[Technique, ...]
    budget: int | None = None
    given: bool = False
    stages: int = 0
    trades: tuple[Trade, ...] = ()
    schedules: int = 0
    left_out: tuple[str, ...] = ()
    machine: Machine | None = None

    # -- figures

    def row(self, key: str) -> Technique:
        """The row of a technique."""
        return next(row for row in self.rows if row.key == key)

    @property
    def plain(self) -> Technique:
        """The step as it was given."""
        return self.row("plain")

    @property
    def least(self) -> Technique:
        """The row of the least peak; of equal ones the fastest, then the first."""
        return min(self.rows, key=lambda row: row.point)

    @property
    def floor(self) -> Floor:
        """What no order of the operations of any row can do without."""
        return min((row.floor for row in self.rows), key=lambda each: each.nbytes)

    @property
    def measured(self) -> bool:
        """Whether the rows have run, too."""
        return self.plain.measured is not None

    @property
    def held(self) -> bool:
        """Whether every run used what was planned, with the results of the plain step."""
        runs = [row.measured for row in self.rows if row.measured]
        return not any(run.residual or run.other for run in runs)

    def ratio(self, row: Technique, key: str = "plain") -> str:
        """The peak of a row divided by that of another one: ``'0.552'``."""
        return f"{row.peak / self.row(key).peak:,.3f}"

    def extra(self, cost: int) -> float:
        """How much longer than the plain step so many nanoseconds are, in percent."""
        return 100 * (cost / self.plain.cost - 1) if self.plain.cost else 0.0

    def slower(self, row: Technique) -> float | None:
        """How much longer than the plain step its run took, in percent; negative: less long."""
        if row.measured is None or self.plain.measured is None:
            return None
        return 100 * (row.measured.seconds / self.plain.measured.seconds - 1)

    # -- sentences

    @property
    def title(self) -> str:
        """``'ResNet-50 v1.5, batch 8: techniques for one step, bytes against time'``."""
        return _say("title", network=self.network, batch=f"{self.batch:,}")

    @property
    def headline(self) -> str:
        """Which technique takes the least bytes, and what it costs."""
        row = self.least
        ratios = {key: self.ratio(row, key) for key in ("plain", "no_reuse")}
        values = {"name": self.name(row), "peak": units.short(row.peak)}
        return _say("least", **values, **ratios, extra=self.time(row))

    def name(self, row: Technique) -> str:
        """``'chain, 697 MB'``."""
        budget = "" if self.budget is None else units.short(self.budget)
        own = strings.has(f"techniques.name.{row.key}")
        return _say(f"name.{row.key}", budget=budget) if own else find(row.key).label

    def about(self, row: Technique) -> str:
        """What it does: ``'outputs overwrite inputs that die'``."""
        own = strings.has(f"techniques.about.{row.key}")
        return _say(f"about.{row.key}") if own else find(row.key).note

    def time(self, row: Technique) -> str:
        """Its time by the clock beside the plain step: ``'+20.2 %'``."""
        return _percent(self.extra(row.cost))

    def distance(self, row: Technique) -> str:
        """How far it is from what is proved: the optimum where it is known, else a lower bound."""
        if row.placement is not None:
            if row.placement.how == "exact" or not row.placement.waste:
                return _say("distance.proved")
            return _say("distance.arena", bytes=units.short(row.placement.waste))
        if row.key in (*BEST, "exact"):
            return _say("distance.exact" if row.key == "exact" else "distance.optimum")
        if row.optimum is not None:
            later = self.extra(row.cost) - self.extra(row.optimum.cost)
            key = "alike" if abs(later) < 0.05 else "more" if later > 0 else "less"
            return _say(f"distance.{key}", time=_percent(abs(later)).removeprefix("+"))
        return _say("distance.floor", ratio=f"{row.peak / self.floor.nbytes:,.2f}")

    def notes(self) -> list[str]:
        """What the line and the bound are, where the budget comes from, what is left out."""
        operations = self.plain.operations
        numbers = {"stages": self.stages, "all": self.schedules, "operations": operations}
        lines = []
        if self.trades:
            key = "line" if len(self.trades) > 1 else "one"
            lines.append(_say(f"note.{key}", count=len(self.trades), **numbers))
        lines.append(_say("note.floor", operation=self.floor.operation))
        if self.budget is not None:
            key = "given" if self.given else "halfway"
            lines.append(_say(f"note.{key}", budget=units.exact(self.budget)))
        lines += [_say(f"note.{key}", **numbers) for key in self.left_out]
        lines.append(self._clock())
        return [*lines, _say("note.measured")] if self.measured else lines

    def _clock(self) -> str:
        """Whose seconds are planned."""
        on = self.machine or roofline.rates()
        if isinstance(on, Device):
            return _say("note.figures", machine=on.title)
        key = "planned_here" if on.here else "planned"
        return _say(f"note.{key}", machine=on.processor, date=on.machine["date"])

    # -- text

    def text(self) -> str:
        """The techniques in words, with every byte."""
        head = [f"{self.title}.", self.headline]
        parts = [head, self.table(), self.distances(), self.calls(), self.notes()]
        return "\n\n".join("\n".join(part) for part in parts)

    def cells(self, *keys: str) -> list[list[str]]:
        """The heads of some columns, then their cells for each technique."""
        heads = {key: _say(f"table.{key}") for key in (*EXACT, *RAN, *SHORT)}
        return [[told[name] for name in keys] for told in (heads, *map(self.told, self.rows))]

    def told(self, row: Technique) -> dict[str, str]:
        """Its figures as texts, by column: short ones and exact ones; those of its runs, too."""
        found = {
            "technique": self.name(row),
            "peak": units.short(row.peak),
            "bytes": f"{row.peak:,}",
            "plain": self.ratio(row),
            "no_reuse": self.ratio(row, "no_reuse"),
            "again": f"{row.again:,}",
            "flops": f"{row.flops:,}",
            "seconds": _seconds(row.cost),
            "extra": self.time(row),
            "distance": self.distance(row),
        }
        if (seen := row.measured) is not None:
            found |= {
                "measured": f"{seen.nbytes:,}",
                "residual": f"{seen.residual:,}",
                "run": duration(seen.seconds),
                "slower": _percent(self.slower(row) or 0.0),
                "results": _results(seen),
            }
        return found

    def table(self) -> list[str]:
        """A line for every technique, its figures in exact bytes."""
        keys = EXACT + (RAN if self.measured else ())
        return columns(self.cells(*keys), align="<" + ">" * (len(EXACT) + len(RAN) - 2) + "<")

    def distances(self) -> list[str]:
        """How far each row is from what is proved, and what is proved, in exact bytes."""
        lines = [f"{self.name(row)}: {self._exact_distance(row)}." for row in self.rows]
        floor = self.floor
        both = {"bytes": f"{floor.nbytes:,}", "short": units.short(floor.nbytes)}
        lines.append(_say("twin.floor", **both, operation=floor.operation))
        if len(self.trades) > 1:
            first, last = (_trade(trade) for trade in (self.trades[0], self.trades[-1]))
            lines.append(_say("twin.trades", first=first, last=last))
        return lines

    def _exact_distance(self, row: Technique) -> str:
        placement, distance = row.placement, self.distance(row)
        if placement is not None:
            values = {
                "arena": placement.arena,
                "there": row.peak - placement.arena,
                "bound": placement.lower_bound,
                "waste": placement.waste,
            }
            digits = {key: f"{nbytes:,}" for key, nbytes in values.items()}
            return _say("twin.placed", distance=distance, **digits)
        if row.optimum is not None:
            return _say("twin.within", distance=distance, best=_trade(row.optimum))
        return distance

    def calls(self) -> list[str]:
        """What each technique is, and the call that makes it."""
        lines = [_say("twin.calls")]
        for row in self.rows:
            lines += [f"{self.name(row)}: {self.about(row)}", f"    {row.call}"]
        return lines

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        trades = [{"bytes": t.nbytes, "planned_seconds": t.cost / 1e9} for t in self.trades]
        return {
            "batch": self.batch,
            "budget_bytes": self.budget,
            "lower_bound_bytes": self.floor.nbytes,
            "stages": self.stages,
            "trades": trades,
            "left_out": list(self.left_out),
            "techniques": [self._facts(row) for row in self.rows],
        }

    def _facts(self, row: Technique) -> dict[str, Any]:
        """The figures of a row for JSON."""
        placement = row.placement
        return {
            "technique": row.key,
            "name": self.name(row),
            "call": row.call,
            "peak_bytes": row.peak,
            "ratio_to_plain": row.peak / self.plain.peak,
            "ratio_to_no_reuse": row.peak / self.row("no_reuse").peak,
            "arena_bytes": placement and placement.arena,
            "arena_lower_bound_bytes": placement and placement.lower_bound,
            "optimum_bytes": row.optimum and row.optimum.nbytes,
            "operations": row.operations,
            "runs_again": row.again,
            "runs_again_flops": row.flops,
            "planned_seconds": row.cost / 1e9,
            "measured": row.measured and asdict(row.measured),
        }


def _say(key: str, **values: object) -> str:
    return strings.get(f"techniques.{key}", **values)


def _percent(value: float) -> str:
    """``'+20.2 %'``, ``'−3.1 %'``, ``'+0.0 %'``."""
    return f"{'−' if value < -0.05 else '+'}{abs(value):,.1f} %"


def _seconds(cost: int) -> str:
    """Nanoseconds as seconds: ``'2.592430455'``."""
    return f"{cost / 10**9:,.9f}"


def _trade(trade: Trade) -> str:
    return _say("twin.trade", bytes=f"{trade.nbytes:,}", seconds=_seconds(trade.cost))


def _results(seen: Measured) -> str:
    """Whether they are those of the plain step."""
    if not seen.other:
        return _say("alike")
    return _say("unlike", names=", ".join(_say(f"result.{each}") for each in seen.other))
