"""The page of an explained model: its mountain over time, its modules, its card, its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from memlab import strings
from memlab.ledger.ledger import Entry
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import (
    ChartText,
    Label,
    Name,
    PhaseBracket,
    flank,
    middle,
    near,
    thickest,
)  # fmt: skip
from memlab.pictures.draw.marks import (
    Fact,
    Glyph,
    Line,
    Mark,
    OpenEdge,
    Pen,
    Rect,
    Rule,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import LinearScale, Operations, Scale, Steady, bytes_over, steady
from memlab.pictures.draw.svg import Box, Svg
from memlab.pictures.draw.table import PageBlock, Paragraphs, SideBySide, Table, Unnamed
from memlab.pictures.draw.theme import FREE, PAINTS, Paint
from memlab.pictures.explain.explained import FLOOR, Explained, amount
from memlab.pictures.explain.explained_changes import text_of
from memlab.pictures.explain.explained_time import ModuleRun, ModuleSlab
from memlab.pictures.explain.explained_time import PlanColumns as Plan
from memlab.pictures.explain.modules import span
from memlab.pictures.mountain.layers import MountainLayer
from memlab.pictures.mountain.picture import DrawnLayer, Mountain
from memlab.pictures.values.number_text import percent, three_digits
from memlab.step.tensor import Role

COLUMNS = 640
"""Columns of time."""
TALL, LEFT, ABOVE, BELOW = 280, 62, 30, 44
"""Pixels: of the frame, and around it."""
CROSS = "M-6.5-6.5L6.5 6.5M-6.5 6.5L6.5-6.5"
THIN = replace(PAINTS[Role.FEATURE_MAP], tint=0.30)
"""A slab: one module, told from its neighbours by a line."""


# -- over time -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OverTime:
    """An explained step over time, and the marks that show it, on an axis that holds ``room``
    bytes."""

    found: Explained
    room: int

    @cached_property
    def _shown(self) -> tuple[Plan, Plan]:
        return self.found.shown(COLUMNS)

    @property
    def now(self) -> Plan:
        """The step that is shown."""
        return self._shown[0]

    @cached_property
    def slabs(self) -> dict[str, list[Entry]]:
        """The blocks of every slab."""
        return self.found.slabs(self.now)

    @cached_property
    def y(self) -> LinearScale:
        """The scale of bytes."""
        return steady(bytes_over(self.room))

    @cached_property
    def mountain(self) -> Mountain:
        """Role by role, then module by module, the plain step dashed where a change is on."""
        now, plain = self._shown
        layers = now.layers(self.slabs)
        floors = [layer.high for layer in layers if layer.part in FLOOR]
        ground = floors[-1] if floors else np.zeros(COLUMNS)
        before = None if now is plain else plain.total
        slices, ends_early = [*map(self._slice, layers)], before is not None
        return Mountain(slices, self.y.last, ground, before, time=ends_early)

    def _slice(self, layer: MountainLayer[Role | ModuleSlab]) -> DrawnLayer:
        part, low, high = layer
        if isinstance(part, ModuleSlab):
            return DrawnLayer(low, high, THIN, fact=self._fact(part.module), edge=0.5)
        fact = Fact(text_of(f"role.{part}"), nbytes=int(layer.most))
        other = part is Role.FEATURE_MAP and bool(self.slabs)
        name = text_of("other_maps") if other else text_of(f"role.{part}")
        return DrawnLayer(low, high, PAINTS[part], name, fact)

    def _fact(self, name: str) -> Fact:
        """What a slab says: its bytes, and for how long they wait."""
        entries = self.slabs[name]
        count = len(self.now.timeline)
        begin = min(max(each.birth, 0) for each in entries)
        last = max(min(each.death, count - 1) for each in entries)
        share = (self.now.end(last) - self.now.begin(begin)) / float(self.now.ends[-1])
        nbytes = sum(each.size.at(self.now.held) for each in entries)
        largest = max(entries, key=lambda each: each.size.at(self.now.held))
        formula = largest.formula(self.now.held) if len(entries) == 1 else ""
        return Fact(name or text_of("modules"), formula.partition(" = ")[0], nbytes,
                    more=text_of("waits", percent=round(100 * share)))  # fmt: skip

    # -- the chart --------------------------------------------------------------------------

    def chart(self, numbers: bool) -> Chart:
        """Bytes over time; ``numbers`` adds ticks."""
        y, mountain = self.y, self.mountain
        nbytes = self.found.peak.nbytes
        peak = text_of("peak_label", peak=three_digits(nbytes)) if numbers else text_of("peak_word")
        marks = [*self._phases(), *mountain.stack(), *self._spans(), *mountain.peak(nbytes, peak),
                 *self._card(), *self._cross(), *mountain.was(self._before), *self._names(),
                 *mountain.names()]  # fmt: skip
        return Chart(
            Operations(0, COLUMNS), y, marks, TALL, Axis(labels=False, grid=False, rule=False),
            Axis(ticks=None if numbers else [y.ticks[-1]]), left=LEFT, right=8, above=ABOVE,
            below=BELOW, previous=mountain.previous, told=self._told(), name=text_of("mountain"),
            gap=10,
        )  # fmt: skip

    @property
    def _before(self) -> str:
        """The peak of the plain step."""
        return text_of("before", peak=three_digits(self.found.subject.plain.peak(self.found.batch)))

    def _told(self) -> list[str]:
        """What the labels of the chart say."""
        said = [text_of("peak_label", peak=three_digits(self.found.peak.nbytes))]
        if self.mountain.before is not None:
            said.append(self._before)
        if self.slabs:
            said.append(" ".join(self._slab_name().split()))
        cross = self.found.cross.replace("\n", " ")
        said += [f"{cross[:1].upper()}{cross[1:]}"] if cross and not self.found.chosen else []
        return [f"{text_of('mountain')}: {'; '.join(said)}."]

    def _phases(self) -> Iterator[Mark]:
        """Brackets over forward, backward and the optimizer."""
        for name, first, last in self.found.phases(self.now):
            yield PhaseBracket(name, self.now.begin(first), self.now.end(last), -16)

    def _spans(self) -> Iterator[Mark]:
        """Brackets below with the modules that run."""
        now = self.now
        yield Brackets(
            [(run, now.begin(run.begin), now.end(run.end)) for run in self.found.spans(now)]
        )
        yield ChartText(0, 0, text_of("axis"), 11, dy=BELOW - 4, dim=True)

    def _card(self) -> Iterator[Mark]:
        """The line of the card."""
        memory = self.found.memory
        name = text_of("card_label", memory=amount(memory))
        if memory > self.y.last:
            yield Label(f"↑ {name}", [(COLUMNS, self.y.last, "end", -2, 14)], 12, bold=True)
            return
        yield from self.mountain.limits([(name, memory)], heavy=True)

    def _cross(self) -> Iterator[Mark]:
        """Where the run dies, and in which module."""
        error, memory = self.found.error, float(self.found.memory)
        if error is None or self.found.chosen or memory > self.y.last:
            return
        x = self.now.begin(error.at)
        yield Glyph(x, memory, CROSS, "limit", marker="x", width=3)
        lines = self.found.cross
        top, ground = self.mountain.top, self.mountain.ground
        assert ground is not None
        curves = [top, np.zeros(COLUMNS) + memory]
        spot = [(x, memory, "end", 0.0, 0.0)]
        sky = [flank(top, ground, self.mountain.at(top))]
        near_by = Pointed(
            self.found.cross_in("error_one"), spot, 12, chip=True, finders=[near(x, memory, curves)]
        )
        tall = self.found.cross_in("error_tall")
        narrow = Pointed(tall, spot, 12, chip=True, finders=sky, instead=near_by)
        yield Pointed(lines, spot, 12, chip=True, finders=sky, instead=narrow)

    def _names(self) -> Iterator[Mark]:
        """The name of all slabs together, where there is room."""
        slabs = [each for each in self.mountain.slices if each.paint is THIN]
        if not slabs:
            return
        low, high = slabs[0].low, slabs[-1].high
        spot, find = [middle(low, high)], [thickest(low, high)]
        narrow = Name(self._slab_name("_tall"), spot, 12, bold=True, chip=True, finders=find)
        yield Name(self._slab_name(), spot, 12, bold=True, chip=True, finders=find,
                   instead=narrow)  # fmt: skip

    def _slab_name(self, form: str = "") -> str:
        """What the slabs are; ``"_tall"`` in more lines."""
        names = [each or text_of("modules") for each in self.slabs]
        gone = "_gone" if self.found.removed(self.now) else ""
        one = "_one" if len(names) == 1 else ""
        return text_of(f"slabs{gone}{one}{form}", first=names[0], last=names[-1])


@dataclass(frozen=True, eq=False)
class Pointed(Name):
    """A name with a thin line to its place."""

    def _write_at(self, pen: Pen, box: Box, lines: list[str]) -> None:
        ((x, y, *_),) = self.places
        at, level = pen.x(x), pen.y(y)
        end = min(max(at, box.left + 4), box.right - 4)
        edge = box.bottom + 3 if box.bottom < level else box.top - 3
        pen.svg.line(end, edge, at, level + (-6 if box.bottom < level else 6), class_="rule faint")
        super()._write_at(pen, box, lines)


@dataclass(frozen=True, eq=False)
class Brackets(Mark):
    """Brackets below the chart over runs of operations, each with its modules. Neighbours without
    room for their names share one bracket."""

    runs: Sequence[tuple[ModuleRun, float, float]]

    def draw(self, pen: Pen) -> None:
        for name, first, stop in self._shared(pen):
            left, right, y = pen.x(first) + 0.7, pen.x(stop) - 0.7, pen.box.bottom + 8
            pen.svg.path(f"M{left:.1f} {y - 4:g}V{y:g}H{right:.1f}V{y - 4:g}", class_="rule",
                         opacity=0.7)  # fmt: skip
            if self._has_room(pen, name, first, stop):
                pen.svg.text((left + right) / 2, y + 14, name, 11, "middle")

    def _shared(self, pen: Pen) -> list[tuple[str, float, float]]:
        """Names with their ends."""
        found: list[tuple[ModuleRun, float, float]] = []
        small = False
        for each in self.runs:
            fits = self._fits(pen, each)
            if found and small and not fits and found[-1][0].back == each[0].back:
                before = found.pop()
                found.append((before[0]._replace(last=each[0].last), before[1], each[2]))
            else:
                found.append(each)
            small = not fits
        return [(span([run.first, run.last]), first, stop) for run, first, stop in found]

    def _fits(self, pen: Pen, each: tuple[ModuleRun, float, float]) -> bool:
        run, first, stop = each
        return self._has_room(pen, span([run.first, run.last]), first, stop)

    def _has_room(self, pen: Pen, name: str, first: float, stop: float) -> bool:
        return texts.width(name, 11) <= float(pen.x(stop) - pen.x(first)) - 6

    def on(self, axes: Any) -> None:
        """Nothing: the page writes names, as it writes its words."""


# -- the page --------------------------------------------------------------------------------------

WIDE, SIDE, APART = 800, 230, 22
"""From this width on the modules stand beside the mountain; so wide are they, and so far away."""
PITCH, BAR = 44, 18
"""Of the bars by module: from one to the next, and how high each is."""
GREY = Paint("#777777", 0.55)
BESIDE = {"cublas": PAINTS[Role.WORKSPACE], "rounding": FREE, "fragments": FREE, "context": GREY}
"""How what lies beside the plan is filled."""
LINES = 6
"""So many lines of code are drawn at most; all are in the text."""


def page(found: Explained, room: tuple[int, ...], width: float, numbers: bool) -> Page:
    """The whole page at a width in pixels; its axes hold so many bytes: over time, and by
    module."""
    over_time = OverTime(found, room[0])
    chart, bars = over_time.chart(numbers), _by_module(found, room[1], numbers)
    beside = [(BESIDE[row.name], text_of(f"row.{row.name}"))
              for row in found.now.beside(found.batch) if row.nbytes]  # fmt: skip
    key = Unnamed([*over_time.mountain.key(), *beside], gap=6)
    if width >= WIDE:
        evidence: list[PageBlock] = [
            SideBySide([(chart, width - SIDE - APART), (bars, SIDE)], APART, 8)
        ]
    else:
        evidence = [chart, bars]
    blocks = [*_said(found), *evidence, _card(found, room[0]), key, *_exact(found, numbers)]
    return Page(found.title, blocks, width, " ".join([f"{found.title}.", *found.sentences]),
                titled=False)  # fmt: skip


def _said(found: Explained) -> Iterator[PageBlock]:
    """The three sentences and the lines to paste."""
    yield Paragraphs(f"{found.title}.", drawn=False)
    for number, sentence in enumerate(found.sentences):
        yield Paragraphs(sentence, 14, bold=number == 0, gap=2)
    if found.code:
        yield Code(found.code)


class Code(PageBlock):
    """Lines to paste, on a strip of their own."""

    gap = 6

    def __init__(self, lines: tuple[str, ...]) -> None:
        self.lines = lines

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        few = self.lines[:LINES]
        tall = 17 * len(few) + 12
        svg.path(f"M{x + 2} {y}V{y + tall}", class_="limit")
        for number, line in enumerate(few):
            more = " …" if number == LINES - 1 and len(self.lines) > LINES else ""
            indent = 10 + 6 * (len(line) - len(line.lstrip()))
            words = Paragraphs(f"{line.strip()}{more}", 12, cut=True, left=indent)
            words.draw(svg, x, y + 5 + 17 * number, width - 10)
        return y + tall

    def text(self) -> list[str]:
        return ["", *(f"    {line}" for line in self.lines), ""]


# -- by module -------------------------------------------------------------------------------------


def needs(found: Explained) -> tuple[int, int]:
    """The bytes that both axes have to hold."""
    plain = found.subject.plain.total(found.batch)
    return max(found.total, plain), max(sum(parts.values()) for _, parts in _rows(found))


def _by_module(found: Explained, most: int, numbers: bool) -> Chart:
    """The peak by module, the most first, and what the modules own."""
    rows = _rows(found)
    marks: list[Mark] = [ChartText(0, len(rows), text_of("by_module"), 13, dy=-4, bold=True)]
    for index, (name, parts) in enumerate(rows):
        marks += _bar(len(rows) - 1 - index, name, parts, most, found.peak.nbytes, numbers)
    told = (
        [f"{name}: {three_digits(sum(parts.values()))}" for name, parts in rows] if numbers else ()
    )
    return Chart(Scale(0, most), Scale(0, len(rows)), marks, PITCH * len(rows), left=2, right=6,
                 above=18, told=told, name=text_of("by_module"), gap=8)  # fmt: skip


def _rows(found: Explained) -> list[tuple[str, dict[Role, int]]]:
    """Names with bytes by role, the most first."""
    rows = [(found.row_name(row), {Role.FEATURE_MAP: row.nbytes}) for row in found.rows]
    rows.append((found.floor_name, {r: n for r, n in found.floor.items() if n} or {FLOOR[0]: 0}))
    others = {found.row_name(row) for row in found.rows if not row.name}
    return sorted(rows, key=lambda row: (row[0] in others, -sum(row[1].values())))


def _bar(
    at: int, name: str, parts: dict[Role, int], most: int, peak: int, numbers: bool
) -> Iterator[Mark]:
    nbytes, start = sum(parts.values()), 0
    low, high = at + 0.5 - (BAR + 4) / PITCH, at + 0.5 - 4 / PITCH
    share = text_of("share_of", percent=percent(nbytes, peak))
    said = f"{name}: {three_digits(nbytes)}" if numbers else name
    yield ChartText(0, at + 0.5, said, 12, dy=-2, room=most)
    for role, part in parts.items():
        fact = Fact(name, nbytes=part, more=share)
        ends = min(start, most), min(start + part, most)
        yield Rect(*ends, low, high, PAINTS[role], fact=fact)
        start += part
    if nbytes > most:
        yield OpenEdge(low, high, side="right")
        beyond = strings.get("draw.after", amount=three_digits(nbytes))
        yield ChartText(most, (low + high) / 2, beyond, 12, "end", -10, 4, chip=True)


# -- why the card shows more -----------------------------------------------------------------------


def _card(found: Explained, room: int) -> Chart:
    """The plan and what lies beside it up to the line of the card; below it what lies beside,
    enlarged."""
    memory, total, peak = found.memory, found.total, found.peak.nbytes
    most = max(memory, room) * 1.02
    marks: list[Mark] = [ChartText(0, 100, found.card, 13, dy=-8, bold=True)]
    parts = [(PAINTS[r], n) for r, n in found.floor.items()]
    parts.append((PAINTS[Role.FEATURE_MAP], peak - sum(found.floor.values())))
    start = 0
    for paint, nbytes in parts:
        if nbytes:
            marks.append(Rect(start, start + nbytes, 72, 100, paint))
            start += nbytes
    marks.append(
        ChartText(
            min(start, most) / 2, 72, text_of("the_plan"), 12, "middle", dy=-9, chip=True, held=True
        )
    )
    marks += _loupe(found, start, total, most)
    if total > most:
        marks.append(OpenEdge(72, 100, side="right"))
    marks.append(Rule(x=memory, span=(66, 106), look="limit"))
    spots = [(memory, 106, side, dx, -9.0) for side, dx in (("middle", 0.0), ("end", 2.0))]
    spots += [(memory, 66, side, dx, 12.0) for side, dx in (("end", -4.0), ("start", 4.0))]
    spots += [(memory, 86, side, dx, 4.0) for side, dx in (("start", 8.0), ("end", -8.0))]
    marks.append(Label(text_of("card_word"), spots, 12, bold=True, chip=True))
    told = [found.card]
    return Chart(Steady(0, most, most), Scale(0, 100), marks, 108, left=2, right=12, above=26,
                 below=22, told=told, name=text_of("sums_title"), gap=14)  # fmt: skip


def _loupe(found: Explained, start: int, total: int, most: float) -> Iterator[Mark]:
    """What lies beside the plan: where it is, and enlarged."""
    rows = [row for row in found.now.beside(found.batch) if row.nbytes]
    beside, end = total - start, most * 0.62
    at, here = 0.0, float(start)
    for row in rows:
        look = BESIDE[row.name]
        wide = row.nbytes / beside * end
        name, origin = text_of(f"row.{row.name}"), text_of(f"origin.{row.origin}")
        fact = Fact(name, nbytes=row.nbytes, more=origin)
        yield Rect(here, here + row.nbytes, 72, 100, look, fact=fact)
        yield Rect(at, at + wide, 12, 40, look, fact=fact)
        if wide * 100 < most:
            continue
        yield Label(name, [(at + wide / 2, 12, "middle", 0.0, -9.0), (at, 12, "start", 0.0, 16.0)],
                    12, chip=True, apart=1)  # fmt: skip
        at, here = at + wide, here + row.nbytes
    for a, b in ((start, 0.0), (here, at)):
        yield Line([(a, 72), (b, 40)], "rule faint")


# -- exact -----------------------------------------------------------------------------------------


def _exact(found: Explained, numbers: bool) -> Iterator[PageBlock]:
    """The tables: modules, sums, changes. On the first level they are in the text alone."""
    keys = ("module", "bytes", "share", "mib", "origin", "change", "card", "time")
    head = {key: text_of(f"head.{key}") for key in keys}
    yield Table([head["module"], head["bytes"], head["share"]], found.table(), "<>>",
                text_of("modules_title"), drawn=numbers, gap=12)  # fmt: skip
    yield Table(["", head["bytes"], head["mib"], head["origin"]], found.sums(), "<>><",
                text_of("sums_title"), drawn=numbers, gap=12)  # fmt: skip
    if rows := found.listed():
        yield Table([head["change"], head["card"], head["time"], ""], rows, "<>><",
                    text_of("changes_title"), drawn=numbers, gap=12)  # fmt: skip
    yield Paragraphs(text_of("code_alone") if found.alone else "", drawn=False, gap=1)
    yield Paragraphs(found.notes, 11, dim=True, drawn=numbers, gap=8)
