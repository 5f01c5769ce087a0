"""All techniques on one step: bytes to the right, time upwards, the best trades as a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import ceil, floor, hypot, inf
from typing import Any, ClassVar

import numpy as np

from memlab import strings, units
from memlab.networks.graph import Network
from memlab.step.step import Step
from memlab.studies.compare import compare_techniques
from memlab.studies.figures import unit_of
from memlab.studies.techniques import RAN, SHORT, Technique, TechniqueStudy
from memlab.views.draw import text as texts
from memlab.views.draw.chart import Axis, Chart
from memlab.views.draw.labels import Label, Text
from memlab.views.draw.marks import Fact, Glyph, Line, Mark, Pen, Points, Rule
from memlab.views.draw.page import Page, Still
from memlab.views.draw.scale import Linear, Scale, Tick
from memlab.views.draw.stairs import Floats
from memlab.views.draw.svg import Box
from memlab.views.draw.table import Block, Table, Words
from memlab.views.draw.text import Runs

SYMBOLS = {
    "no_reuse": 4, "plain": 0, "in_place": 5, "placed": 1, "every": 6, "cheap": 9, "greedy": 8,
    "slots": 2, "within": 2, "chain": 2, "exact": 7, "combined": 3,
}  # fmt: skip
"""The mark of each technique: no two that stand together share shape and filling, but for two
schedules of one chain."""
FAR = 1.5
"""What takes so many times the bytes of all others is written at the edge."""
ROUND = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Distances of the lines of the axis of time, in percent."""


@dataclass(frozen=True, repr=False)
class Techniques(Still):
    """Techniques side by side; a notebook shows the picture, ``print`` the text, ``rows`` has the
    exact figures."""

    rows: TechniqueStudy

    def page(self) -> Page:
        found = self.rows
        calls = [
            Fact(found.name(row), more=f"{found.about(row)}: {row.call}") for row in found.rows
        ]
        blocks: list[Block] = [
            Words(found.headline, 14, bold=True),
            _chart(found),
            _table(found, *SHORT, facts=calls, gap=12),
            *([_table(found, *RAN, told=False, gap=8)] if found.measured else []),
            Words(found.table(), drawn=False, gap=1),
            Words(found.distances(), drawn=False, gap=1),
            Words(found.calls(), drawn=False, gap=1),
            Words(found.notes(), 11, dim=True, gap=10),
            Words(_say("note.text"), 11, dim=True, told=False),
        ]
        return Page(found.title, blocks, says=f"{found.title}. {found.headline}")


def _say(key: str, **values: object) -> str:
    return strings.get(f"techniques.{key}", **values)


def _table(found: TechniqueStudy, *keys: str, **others: Any) -> Table:
    """Some columns of the figures, behind the marks and the names of the techniques."""
    heads, *rows = found.cells("technique", *keys)
    looks = [SYMBOLS[row.key] for row in found.rows]
    align = "<" + ">" * (len(keys) - 1) + "<"
    return Table(heads, rows, align, looks=looks, lead=True, **others)


# -- chart --------------------------------------------------------------------------------------


def near(found: TechniqueStudy) -> list[Technique]:
    """The rows that are drawn as points; of the others there is one, no reuse, or none."""
    others = [row for row in found.rows if row.key != "no_reuse"]
    far = found.row("no_reuse").peak > FAR * max(row.peak for row in others)
    return others if far else list(found.rows)


def _chart(found: TechniqueStudy) -> Chart:
    """Points where they lie, and the staircase of the best trades."""
    points = near(found)
    sizes = [found.floor.nbytes, *(row.peak for row in points)]
    sizes += [row.measured.nbytes for row in points if row.measured]
    times = [0.0, *(found.extra(row.cost) for row in points)]
    times += [slower for row in points if (slower := found.slower(row)) is not None]
    x, (y, ticks) = _bytes(min(sizes), max(sizes)), _percents(times)
    corners = [(t.nbytes, found.extra(t.cost)) for t in found.trades if len(found.trades) > 1]
    marks: list[Mark] = [Rule(y=0, look="rule faint")]
    marks += [Line(_staircase(corners), width=1.8)] if corners else []
    marks += _bounds(found, points, x, y)
    for row in reversed(points):
        marks += [*_measured(found, row), _point(found, row)]
    entries = [
        (*_place(found, row), _name(found, row))
        for row in sorted(points, key=lambda row: row.point)
    ]
    marks.append(Names(entries))
    marks += [Names([(*corners[len(corners) // 2], _say("line"))], 60)] if corners else []
    return Chart(
        x, y, marks, 340 if len(ticks) > 1 else 240,
        Axis(_say("bytes"), _say("cut") if x.first else ""), Axis(_say("time"), ticks=ticks),
        left=60, right=28, gap=14,
    )  # fmt: skip


def _bytes(low: int, high: int) -> Linear:
    """The round ends around two amounts, with at most seven ticks or so."""
    steps = (factor * 10**power for power in range(30) for factor in (1, 2, 5))
    step = next(each for each in steps if high - low <= 6 * each)
    first, last = low // step * step, (high // step + 1) * step
    unit = unit_of(last)
    return Linear(first, last, step, unit, units.UNITS[unit])


def _percents(times: Sequence[float]) -> tuple[Scale, list[Tick]]:
    """The axis of time around all of them, and its round percents."""
    low, high = min(times), max(times)
    step = next((each for each in ROUND if max(high - low, 1.0) / each <= 6), ROUND[-1])
    first, last = floor(low / step), ceil(high / step)
    ticks = [(step * index, _tick(step * index)) for index in range(first, last + 1)]
    return Scale(step * (first - 0.5), step * (last + 0.25)), ticks


def _tick(extra: float) -> str:
    sign = "−" if extra < -1e-9 else "+" if extra > 1e-9 else ""
    return f"{sign}{abs(extra):,.4g} %"


def _staircase(corners: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Within so many bytes, no less time."""
    return [corners[0], *chain(*(((x, above), (x, y)) for (_, above), (x, y) in pairwise(corners)))]


def _bounds(
    found: TechniqueStudy, points: Sequence[Technique], x: Scale, y: Scale
) -> Iterator[Mark]:
    """No reuse where it lies beyond the edge, and the lower bound as a line."""
    row, bound = found.row("no_reuse"), found.floor
    if row not in points:
        said = _say("beyond", name=found.name(row), bytes=units.short(row.peak))
        yield Text(x.last, y.last, said, anchor="end", dx=-4, dy=14, bold=True, chip=True)
    said = _say("floor", bytes=units.short(bound.nbytes))
    fact = Fact(said, more=_say("note.floor", operation=bound.operation))
    yield Rule(x=bound.nbytes, look="before", fact=fact)
    sides = (("start", 6.0), ("end", -6.0))
    places = [
        (bound.nbytes, y.last, side, dx, dy) for side, dx in sides for dy in range(12, 90, 18)
    ]
    yield Label(said, places, 11, chip=True)


def _place(found: TechniqueStudy, row: Technique) -> tuple[float, float]:
    return row.peak, found.extra(row.cost)


def _point(found: TechniqueStudy, row: Technique) -> Points:
    said = f"{_say('table.extra')} {found.time(row)}; {found.distance(row)}"
    fact = Fact(found.name(row), nbytes=row.peak, more=said)
    return Points([_place(found, row)], SYMBOLS[row.key], fact=fact)


def _measured(found: TechniqueStudy, row: Technique) -> Iterator[Mark]:
    """A cross: what its runs took; a line leads to it from what was planned."""
    slower = found.slower(row)
    if row.measured is not None and slower is not None:
        place = row.measured.nbytes, slower
        yield Line([_place(found, row), place], "before thin")
        told = found.told(row)
        more = ", ".join(told[key] for key in ("run", "slower", "results"))
        fact = Fact(found.name(row), nbytes=row.measured.nbytes, more=more)
        yield Glyph(*place, "M-4-4L4 4M-4 4L4-4", "rule", "x", width=1.6, fact=fact)


def _name(found: TechniqueStudy, row: Technique) -> Runs:
    """A name and its figures beside a point."""
    more = f", {found.time(row)}" if row.again else ""
    return [(found.name(row), True), (f" {units.short(row.peak)}{more}", False)]


# -- names --------------------------------------------------------------------------------------

LINE, TOUCH, BESIDE = 15, 14, 16
"""From line to line of names; points touch that are nearer, and a name is beside its point."""
Entry = tuple[float, float, Runs]


@dataclass(frozen=True, eq=False)
class Names(Mark):
    """Names of points ``(x, y, name)``, each at the nearest free place, with a line to one that is
    not beside its point. The names of points that touch stand together. A name that has no place
    within ``reach`` pixels is left out."""

    entries: Sequence[Entry]
    reach: float = inf
    late: ClassVar[bool] = True

    def draw(self, pen: Pen) -> None:
        found = _groups([(pen.x(x), pen.y(y), name) for x, y, name in self.entries])
        placed = [(b, names) for x, y, names in found if (b := self._place(pen, x, y, names))]
        for box, names in placed:  # over the lines to all of them
            for index, name in enumerate(names):
                pen.svg.text(box.left, box.top + 11 + LINE * index, name, chip=True)

    def _place(self, pen: Pen, x: float, y: float, names: Sequence[Runs]) -> Box | None:
        wide, tall = max(map(texts.measure, names)), float(LINE * len(names))
        lefts = _along(x, wide, pen.box.left, pen.box.right)
        tops = _along(y, tall, pen.box.top, pen.box.bottom)
        apart = np.hypot(_aside(y, tops, tall)[:, None], _aside(x, lefts, wide))
        box = pen.board.cheapest(pen.frame, (lefts, tops), (wide, tall), apart, margin=4)
        if box is None:
            return None
        end = min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)
        far = hypot(end[0] - x, end[1] - y)
        if BESIDE < far <= self.reach:
            pen.svg.line(x, y, *end, class_="rule faint")
        return box if far <= self.reach else None

    def on(self, axes: Any) -> None:
        pixels = axes.transData.transform
        for x, y, names in _groups([(*pixels((x, y)), name) for x, y, name in self.entries]):
            place = axes.transData.inverted().transform((x, y))
            said = "\n".join(map(texts.plain, names))
            axes.annotate(said, place, (8, 4), textcoords="offset points", fontsize=10)


def _groups(entries: Sequence[Entry]) -> list[tuple[float, float, list[Runs]]]:
    """Entries whose points touch, at the first of them."""
    groups: list[list[Entry]] = []
    for each in entries:
        touching = (group for group in groups if any(_touch(each, other) for other in group))
        group = next(touching, None)
        groups.append([each]) if group is None else group.append(each)
    return [(*group[0][:2], [name for _, _, name in group]) for group in groups]


def _touch(one: Entry, other: Entry) -> bool:
    return abs(one[0] - other[0]) < TOUCH and abs(one[1] - other[1]) < TOUCH


def _along(at: float, long: float, low: float, high: float) -> Floats:
    """Where a name that long may begin between two edges: beside a point, in line with it, or at
    any eighth pixel."""
    best = [at + 10, at - 10 - long, at - long / 2]
    found = np.array([*best, *np.arange(low + 3, high - long - 3, 8)])
    return found[(found >= low + 3) & (found + long <= high - 3)]


def _aside(at: float, starts: Floats, long: float) -> Floats:
    """How far names that long are from a point."""
    return np.maximum(np.maximum(starts - at, at - starts - long), 0)


# -- the view -----------------------------------------------------------------------------------


def techniques(
    network: str | Network | Step,
    batch: int = 8,
    budget: int | str | None = None,
    measure: bool = False,
    *,
    progress: bool = True,
) -> Techniques:
    """What each technique saves on one training step and what it costs, beside what is proved: no
    reuse, plain, in place, placed, ways to recompute, and all of them together.

    >>> techniques("resnet50", batch=8)

    Args:
        network: a name of ``memlab.zoo``, a network of yours, or a step without techniques.
        batch: the mini-batch size.
        budget: the most bytes of the peak, or ``'2GB'``, for the fastest schedule of a chain below
            it; without it, halfway from the least peak of the chain to the plain one.
        measure: also run each on this machine, for bytes and seconds, and to compare its results
            with those of the plain step bit for bit.
        progress: show how far a run is, where it takes more than a second.

    Raises:
        InputError: no network or step, one that has techniques in it, a batch that it does not
            hold for, or a budget below the least peak; with ``measure``, more bytes than are free
            (``DoesNotFitError``) or an operation without a kernel, before anything runs.
    """
    return Techniques(compare_techniques(network, batch, budget, measure, progress))
