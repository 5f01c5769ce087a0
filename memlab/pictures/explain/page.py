"""The page of an explained model: bytes over time, modules, the card, and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

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
    Points,
    Rect,
    Rule,
    Stairs,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import (
    TIGHT,
    LinearScale,
    Operations,
    Scale,
    Steady,
    bytes_over,
    steady,
)  # fmt: skip
from memlab.pictures.draw.svg import PHONE, Box, Svg
from memlab.pictures.draw.table import PageBlock, Paragraphs, SideBySide, Table, Unnamed
from memlab.pictures.draw.theme import FREE, PAINTS, Paint
from memlab.pictures.explain.explained import FLOOR, Explained, memory_text
from memlab.pictures.explain.explained_changes import StepChange, text_of
from memlab.pictures.explain.explained_time import ModuleRun, ModuleSlab
from memlab.pictures.explain.explained_time import PlanColumns as Plan
from memlab.pictures.explain.modules import span_name
from memlab.pictures.mountain.layers import Curve, MountainLayer
from memlab.pictures.mountain.picture import DrawnLayer, Mountain
from memlab.pictures.values.number_text import percent, three_digits
from memlab.step.tensor import Role

COLUMNS = 640
"""Number of columns of the time axis."""
TALL, LEFT, ABOVE, BELOW = 180, 62, 30, 40
"""Pixels: height of the frame, and room left of it, above it and below it."""
ROW = 20
"""Pixels from one row of brackets above the frame to the next."""
NAME = 190
"""Largest width of the name of an outline in pixels."""
CLEAR = 20
"""Part of the axis of bytes by which an outline is clear of another curve."""
LATE = 0.85
"""Share of the time axis after which the name of a peak stands on its left."""
CROSS = "M-6.5-6.5L6.5 6.5M-6.5 6.5L6.5-6.5"
THIN = replace(PAINTS[Role.FEATURE_MAP], tint=0.30)
"""Fill of a slab, the feature maps of one module, which a line divides from its neighbours."""


# -- over time -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OverTime:
    """An explained step over time, and the marks that show it, on an axis that holds ``room``
    bytes."""

    explained: Explained
    room: int

    @cached_property
    def _columns(self) -> tuple[Plan, Plan]:
        """The step on display and the unchanged step, in columns of one time axis."""
        return self.explained.plan_columns(COLUMNS)

    @property
    def now(self) -> Plan:
        """The step on display."""
        return self._columns[0]

    @cached_property
    def slabs(self) -> dict[str, list[Entry]]:
        """The feature maps of every slab, by the name of its module."""
        return self.explained.slabs(self.now)

    @cached_property
    def y(self) -> LinearScale:
        """The scale of bytes."""
        return steady(bytes_over(self.room, TIGHT))

    @cached_property
    def mountain(self) -> Mountain:
        """The stack of bytes by role, and on top by module; while a change is on, with the
        unchanged step as a dashed line."""
        now, plain = self._columns
        layers = now.layers(self.slabs)
        floors = [layer.high for layer in layers if layer.part in FLOOR]
        ground = floors[-1] if floors else np.zeros(COLUMNS)
        before = None if now is plain else plain.total
        slices, ends_early = [*map(self._slice, layers)], before is not None
        return Mountain(slices, self.y.last, ground, before, time=ends_early)

    def _slice(self, layer: MountainLayer[Role | ModuleSlab]) -> DrawnLayer:
        """Return a layer of the mountain as it is drawn: a role, or one module's feature maps."""
        part, low, high = layer
        if isinstance(part, ModuleSlab):
            return DrawnLayer(low, high, THIN, fact=self._fact(part.module), edge=0.5)
        fact = Fact(text_of(f"role.{part}"), nbytes=int(layer.most))
        other = part is Role.FEATURE_MAP and bool(self.slabs)
        name = text_of("other_maps") if other else text_of(f"role.{part}")
        return DrawnLayer(low, high, PAINTS[part], name, fact)

    def _fact(self, name: str) -> Fact:
        """Return the fact of a slab: its bytes, and the share of the step that they wait."""
        entries = self.slabs[name]
        count = len(self.now.timeline)
        begin = min(max(entry.birth, 0) for entry in entries)
        last = max(min(entry.death, count - 1) for entry in entries)
        share = (self.now.end(last) - self.now.begin(begin)) / float(self.now.ends[-1])
        nbytes = sum(entry.size.at(self.now.micro_batch) for entry in entries)
        largest = max(entries, key=lambda entry: entry.size.at(self.now.micro_batch))
        formula = largest.formula(self.now.micro_batch) if len(entries) == 1 else ""
        return Fact(name or text_of("modules"), formula.partition(" = ")[0], nbytes,
                    more=text_of("waits", percent=round(100 * share)))  # fmt: skip

    # -- the chart --------------------------------------------------------------------------

    def chart(self, numbers: bool) -> Chart:
        """Return the chart of bytes over time; ``numbers`` adds ticks."""
        y, mountain = self.y, self.mountain
        nbytes = self.explained.peak.nbytes
        peak = text_of("peak_label", peak=three_digits(nbytes)) if numbers else text_of("peak_word")
        marks = [*self._phases(), *mountain.stack(), *self._outlines(), *self._spans(),
                 *self._peak(nbytes, peak), *self._card(), *self._cross(),
                 *mountain.was(self._before), *self._outline_names(), *self._names(),
                 *mountain.names()]  # fmt: skip
        row, x = ROW if self._steps else 0, Operations(0, COLUMNS)
        return Chart(
            x, y, marks, TALL - row, Axis(labels=False, grid=False, rule=False),
            Axis(ticks=None if numbers else [y.ticks[-1]]), left=LEFT, right=8, above=ABOVE + row,
            below=BELOW, previous=mountain.previous, told=self._chart_text(),
            name=self._title, gap=10,
        )  # fmt: skip

    @property
    def _before(self) -> str:
        """Label of the peak of the unchanged step."""
        peak = self.explained.subject.plain.peak(self.explained.batch)
        return text_of("before", peak=three_digits(peak))

    def _chart_text(self) -> list[str]:
        """Return the text twin of the chart: its labels, in one line."""
        lines = [text_of("peak_label", peak=three_digits(self.explained.peak.nbytes))]
        if self.mountain.before is not None:
            lines.append(self._before)
        if self.slabs:
            lines.append(" ".join(self._slab_name().split()))
        cross = self.explained.cross.replace("\n", " ")
        lines += [f"{cross[:1].upper()}{cross[1:]}"] if cross and not self.explained.chosen else []
        return [f"{self._title}: {'; '.join(lines)}."]

    def _phases(self) -> Iterator[Mark]:
        """Yield marks for the brackets over forward, backward and the update, and over them those
        of the training steps, with a rule where each begins."""
        for name, first, last in self.explained.phases(self.now):
            yield PhaseBracket(name, self.now.begin(first), self.now.end(last), -16, 6)
        for number, (name, first, last) in enumerate(self._steps):
            yield PhaseBracket(name, self.now.begin(first), self.now.end(last), -16 - ROW)
            if number:
                yield Rule(x=self.now.begin(first), look="rule faint", crossed=True)

    @cached_property
    def _steps(self) -> list[tuple[str, int, int]]:
        """Training steps of the plan, where it is of several."""
        return self.explained.steps(self.now)

    @property
    def _title(self) -> str:
        """Name of the chart."""
        count = len(self._steps)
        return text_of("mountain_steps", count=count) if count else text_of("mountain")

    @cached_property
    def _changed(self) -> list[tuple[str, Curve]]:
        """Names and curves of the changes that help; none while one is on."""
        shown = () if self.explained.chosen else self.explained.outlined
        return [(_short_title(change), self.explained.columns_of(change, COLUMNS).total)
                for change in shown]  # fmt: skip

    def _outlines(self) -> Iterator[Mark]:
        """Yield marks for the outlines of the changes that help, with a dot where a line from its
        name ends."""
        for number, (_, curve) in enumerate(self._changed):
            yield Stairs(curve, "rule", 0, width=1.2)
            yield Points([self._clearest(number)], "hollow", 5)

    def _outline_names(self) -> Iterator[Mark]:
        """Yield the name of each outline, with a line to its dot."""
        curves = [self.mountain.top, *(curve for _, curve in self._changed)]
        for number, (name, _) in enumerate(self._changed):
            x, y = self._clearest(number)
            place = x, y, "end", -4.0, -4.0
            yield PointedName(name, [place], 11, chip=True, finders=[near(x, y, curves)])

    def _clearest(self, number: int) -> tuple[float, float]:
        """Return the highest point of an outline that is clear of the other curves."""
        curve = self._changed[number][1]
        others = [other for at, (_, other) in enumerate(self._changed) if at != number]
        away = np.min([np.abs(curve - other) for other in (self.mountain.top, *others)], axis=0)
        clear = np.where(curve > 0, np.minimum(away, self.y.last / CLEAR), -1)
        column = int(np.where(clear == clear.max(), curve, -1).argmax())
        return column + 0.5, min(float(curve[column]), self.y.last)

    def _peak(self, nbytes: int, name: str) -> Iterator[Mark]:
        """Yield marks for the peak and its name, which stays inside the frame."""
        late = self.mountain.at(self.mountain.top) > LATE * COLUMNS
        for mark in self.mountain.peak(nbytes, name):
            if late and isinstance(mark, Label):
                mark = replace(mark, places=[spot for spot in mark.places if spot[2] == "end"])
            yield mark

    def _spans(self) -> Iterator[Mark]:
        """Yield marks for the brackets below the chart with the modules that run, and the axis
        name."""
        now = self.now
        yield Brackets(
            [(run, now.begin(run.begin), now.end(run.end)) for run in self.explained.spans(now)],
            [now.begin(begin) for _, begin, _ in self._steps],
        )
        axis = text_of("axis_steps", count=len(self._steps)) if self._steps else text_of("axis")
        yield ChartText(0, 0, axis, 11, dy=BELOW - 4, dim=True)

    def _card(self) -> Iterator[Mark]:
        """Yield marks for the line of the card's memory, or a label where it is above the axis."""
        memory = self.explained.memory
        key = "card_label" if self.explained.now.card else "memory_label"
        name = text_of(key, memory=memory_text(memory))
        if memory > self.y.last:
            yield Label(f"↑ {name}", [(COLUMNS, self.y.last, "end", -2, 14)], 12, bold=True)
            return
        yield from self.mountain.limits([(name, memory)], heavy=True)

    def _cross(self) -> Iterator[Mark]:
        """Yield marks for the cross at the operation at which the run fails, and the name of its
        module."""
        error, memory = self.explained.error, float(self.explained.memory)
        if error is None or self.explained.chosen or memory > self.y.last:
            return
        x = self.now.begin(error.at)
        yield Cross(x, memory, CROSS, "limit", marker="x", width=3)
        lines = self.explained.cross
        top, ground = self.mountain.top, self.mountain.ground
        assert ground is not None
        curves = [top, np.zeros(COLUMNS) + memory]
        spot = [(x, memory, "end", 0.0, 0.0)]
        sky = [flank(top, ground, self.mountain.at(top))]
        one_line, finders = self.explained.cross_in("error_one"), [near(x, memory, curves)]
        near_by = PointedName(one_line, spot, 12, chip=True, finders=finders)
        tall = self.explained.cross_in("error_tall")
        narrow = PointedName(tall, spot, 12, chip=True, finders=sky, instead=near_by)
        yield PointedName(lines, spot, 12, chip=True, finders=sky, instead=narrow)

    def _names(self) -> Iterator[Mark]:
        """Yield marks for the name of all slabs together, where there is room."""
        slabs = [drawn for drawn in self.mountain.slices if drawn.paint is THIN]
        if not slabs:
            return
        low, high = slabs[0].low, slabs[-1].high
        spot, find = [middle(low, high)], [thickest(low, high)]
        narrow = Name(self._slab_name("_tall"), spot, 12, bold=True, chip=True, finders=find)
        yield Name(self._slab_name(), spot, 12, bold=True, chip=True, finders=find,
                   instead=narrow)  # fmt: skip

    def _slab_name(self, form: str = "") -> str:
        """Return the name of all slabs together; with ``"_tall"`` in more lines."""
        names = [name or text_of("modules") for name in self.slabs]
        gone = "_gone" if self.explained.removed(self.now) else ""
        one = "_one" if len(names) == 1 else ""
        return text_of(f"slabs{gone}{one}{form}", first=names[0], last=names[-1])


@dataclass(frozen=True)
class Cross(Glyph):
    """A cross, which no label may cover."""

    def takes(self, pen: Pen) -> Iterator[Box]:
        x, y = pen.x(self.x), pen.y(self.y)
        yield Box(x - 8, y - 8, x + 8, y + 8)


def _short_title(change: StepChange) -> str:
    """Return the title of a change up to its first comma, no wider than a label may be; the number
    of parts stands in the sentence."""
    title = text_of("outline_parts") if change.key == "parts" else change.title
    return texts.shortened(title.partition(", ")[0], NAME, 11)


@dataclass(frozen=True, eq=False)
class PointedName(Name):
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
    """Brackets below the chart over runs of operations, each with the names of its modules.
    Neighbours without room for their names share one bracket, which ends where a training step
    begins."""

    runs: Sequence[tuple[ModuleRun, float, float]]
    steps: Sequence[float] = ()

    def draw(self, pen: Pen) -> None:
        for name, first, stop in self._merged(pen):
            left, right, y = pen.x(first) + 0.7, pen.x(stop) - 0.7, pen.box.bottom + 8
            pen.svg.path(f"M{left:.1f} {y - 4:g}V{y:g}H{right:.1f}V{y - 4:g}", class_="rule",
                         opacity=0.7)  # fmt: skip
            if self._has_room(pen, name, first, stop):
                pen.svg.text((left + right) / 2, y + 14, name, 11, "middle")

    def _merged(self, pen: Pen) -> list[tuple[str, float, float]]:
        """Return name, first and last column of the brackets, after neighbours are merged."""
        merged: list[tuple[ModuleRun, float, float]] = []
        small = False
        for bracket in self.runs:
            fits = self._fits(pen, bracket)
            joined = small and not fits and bracket[1] not in self.steps
            if merged and joined and merged[-1][0].back == bracket[0].back:
                before = merged.pop()
                merged.append((before[0]._replace(last=bracket[0].last), before[1], bracket[2]))
            else:
                merged.append(bracket)
            small = not fits
        return [(span_name([run.first, run.last]), first, stop) for run, first, stop in merged]

    def _fits(self, pen: Pen, bracket: tuple[ModuleRun, float, float]) -> bool:
        """True if the names of a bracket have room over it."""
        run, first, stop = bracket
        return self._has_room(pen, span_name([run.first, run.last]), first, stop)

    def _has_room(self, pen: Pen, name: str, first: float, stop: float) -> bool:
        """True if a name is narrower than the columns from ``first`` to ``stop``."""
        return texts.width(name, 11) <= float(pen.x(stop) - pen.x(first)) - 6

    def on(self, axes: Any) -> None:
        """Draw nothing: the page writes names, as it writes its words."""


# -- the page --------------------------------------------------------------------------------------

WIDE, SIDE, APART = 680, 0.29, 22
"""Least width of a page that has the modules beside the mountain, in pixels; their share of it, and
the gap between the two in pixels."""
PITCH, BAR = 34, 15
"""Pixels from one bar of a module to the next, and height of a bar."""
GREY = Paint("#777777", 0.55)
UNSURE = Paint("#777777", 0.2, "falling")
BESIDE = {"cublas": PAINTS[Role.WORKSPACE], "rounding": FREE, "fragments": FREE, "context": GREY}
"""Fills of the bytes that CUDA and the allocator add to a plan, by the name of the estimate."""
EDGES = 2, 12
"""Pixels left and right of the bar of the card."""
ENLARGED = 0.62
"""Share of the axis of the card that the enlarged bar takes."""
SEEN, POINTED, NAME_ROW = 3, 8, 15
"""Least pixels of a bar that is seen, and of one with a name; height of a row of names."""
LINES = 3
"""Largest number of lines of code that are drawn; all are in the text."""


def explained_page(
    explained: Explained, room: tuple[int, ...], width: float, numbers: bool, live: bool = False
) -> Page:
    """Return the whole page.

    Args:
        explained: the model at a batch and a memory.
        room: bytes that the axes hold: over time, by module, and on the card.
        width: pixels.
        numbers: True for ticks and tables.
        live: True where the lines to paste stand below the page, as text that can be copied.
    """
    over_time = OverTime(explained, room[0])
    chart, bars = over_time.chart(numbers), _by_module(explained, room[1], numbers)
    beside = [(s.look, s.name) for s in _segments(explained, room[2], width) if s.visible]
    mountain, visible = over_time.mountain, [*over_time.mountain.key(TALL / SEEN)]
    of_modules = {mark.look for mark in bars.marks if _is_visible_bar(mark, room[1])}
    layers = [layer for layer in mountain.key() if layer in visible or layer[0] in of_modules]
    key = Unnamed([*layers, *beside], gap=6)
    if width >= WIDE:
        evidence: list[PageBlock] = [SideBySide([(chart, 1 - SIDE), (bars, SIDE)], APART, 8)]
    else:
        evidence = [chart, bars]
    card = list(_card_blocks(explained, room[2], width)) if explained.now.card else []
    code = [CodeLines(explained.code)] if explained.code and not live else []
    blocks = [*_sentence_blocks(explained), *evidence, *card, key, *code,
              *_tables(explained, numbers)]  # fmt: skip
    says = " ".join([f"{explained.title}.", *explained.sentences])
    return Page(explained.title, blocks, width, says, titled=False)  # fmt: skip


def _sentence_blocks(explained: Explained) -> Iterator[PageBlock]:
    """Yield the title, the three sentences and, in the text, the lines to paste."""
    yield Paragraphs(f"{explained.title}.", drawn=False)
    sentences = list(explained.sentences)
    if explained.may_fit(explained.now):  # then the range and the card are the news
        sentences.insert(0, sentences.pop(1))
    for number, sentence in enumerate(sentences):
        yield Paragraphs(sentence, 14, bold=number == 0, gap=2)
    if explained.code:
        yield CodeText(explained.code)


class CodeText(PageBlock):
    """Lines of code to paste in the text, below the sentence on the change."""

    gap = 0

    def __init__(self, lines: tuple[str, ...]) -> None:
        self.lines = lines

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        return y

    def text(self) -> list[str]:
        return ["", *(f"    {line}" for line in self.lines), ""]


class CodeLines(PageBlock):
    """Lines of code to paste, beside a bar, below the charts; a picture has at most 3 of them."""

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
        return []


# -- by module -------------------------------------------------------------------------------------


def axis_bytes(explained: Explained) -> tuple[int, int, int]:
    """Return the bytes that the axes have to hold: over time, by module, and on the card, for which
    it is 0 without one."""
    plain, batch = explained.subject.plain, explained.batch
    return (
        max(explained.peak.nbytes, plain.peak(batch)),
        max(sum(parts.values()) for _, parts in _rows(explained)),
        max(explained.most, plain.most(batch)) if explained.now.card else 0,
    )


def _by_module(explained: Explained, most: int, numbers: bool) -> Chart:
    """Return the chart of the peak by module, the most first, with the bytes that modules own."""
    rows = _rows(explained)
    marks: list[Mark] = [ChartText(0, len(rows), text_of("by_module"), 13, dy=-4, bold=True)]
    for index, (name, parts) in enumerate(rows):
        at, peak = len(rows) - 1 - index, explained.peak.nbytes
        marks += _module_bar(at, name, parts, most, peak, numbers)
    sums = [(name, sum(parts.values())) for name, parts in rows]
    lines = [f"{name}: {three_digits(nbytes)}" for name, nbytes in sums if numbers or nbytes > most]
    return Chart(Scale(0, most), Scale(0, len(rows)), marks, PITCH * len(rows), left=2, right=6,
                 above=18, told=lines, name=text_of("by_module"), gap=8)  # fmt: skip


def _is_visible_bar(mark: Mark, most: int) -> TypeGuard[Rect]:
    """True if a mark is a bar of a module that is wide enough to be seen on an axis of ``most``
    bytes."""
    return isinstance(mark, Rect) and mark.x1 - mark.x0 > most / 100


def _rows(explained: Explained) -> list[tuple[str, dict[Role, int]]]:
    """Return names of rows and their bytes by role, the most first; small modules come last."""
    rows = [(explained.row_name(row), {Role.FEATURE_MAP: row.nbytes}) for row in explained.rows]
    floor = {role: nbytes for role, nbytes in explained.floor.items() if nbytes}
    rows.append((explained.floor_name, floor or {FLOOR[0]: 0}))
    others = {explained.row_name(row) for row in explained.rows if not row.name}
    return sorted(rows, key=lambda row: (row[0] in others, -sum(row[1].values())))


def _module_bar(
    at: int, name: str, parts: dict[Role, int], most: int, peak: int, numbers: bool
) -> Iterator[Mark]:
    """Yield the marks of one row: its name and its bar, part by part."""
    nbytes, start = sum(parts.values()), 0
    low, high = at + 0.5 - (BAR + 4) / PITCH, at + 0.5 - 4 / PITCH
    share = text_of("share_of", percent=percent(nbytes, peak))
    label = f"{name}: {three_digits(nbytes)}" if numbers else name
    yield ChartText(0, at + 0.5, label, 12, dy=-2, room=most)
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


def _card_blocks(explained: Explained, room: int, width: float) -> Iterator[PageBlock]:
    """Yield the chart of the card; on a phone its title is a paragraph."""
    chart = _card(explained, room, width)
    if width < PHONE:
        yield Paragraphs(explained.card, 13, bold=True, gap=10)
        chart = replace(chart, marks=chart.marks[1:], told=(), above=22, gap=0)
    yield chart


def _card(explained: Explained, room: int, width: float) -> Chart:
    """Return the chart of the plan and the bytes that CUDA and the allocator add, up to the line of
    the card's memory; below it the added bytes, enlarged."""
    memory, total, peak = explained.memory, explained.most, explained.peak.nbytes
    most = _card_end(explained, room)
    segments = _segments(explained, room, width)
    marks: list[Mark] = [ChartText(0, 100, explained.card, 13, dy=-8, bold=True)]
    parts = [(PAINTS[r], n) for r, n in explained.floor.items()]
    parts.append((PAINTS[Role.FEATURE_MAP], peak - sum(explained.floor.values())))
    start = 0
    for paint, nbytes in parts:
        if nbytes:
            marks.append(Rect(min(start, most), min(start + nbytes, most), 70, 100, paint))
            start += nbytes
    marks.append(
        ChartText(
            min(start, most) / 2, 72, text_of("the_plan"), 12, "middle", dy=-9, chip=True, held=True
        )
    )
    marks += _enlarged_estimates(segments, start, most)
    if total > most:
        beyond = strings.get("draw.after", amount=explained.total_text(explained.now))
        marks.append(OpenEdge(70, 100, side="right"))
        marks.append(ChartText(most, 85, beyond, 12, "end", -10, 4, chip=True))
    marks.append(Rule(x=memory, span=(66, 106), look="limit"))
    spots = [(memory, 106, side, dx, -9.0) for side, dx in (("middle", 0.0), ("end", 2.0))]
    spots += [(memory, 66, side, dx, 12.0) for side, dx in (("end", -4.0), ("start", 4.0))]
    spots += [(memory, 86, side, dx, 4.0) for side, dx in (("start", 8.0), ("end", -8.0))]
    marks.append(Label(text_of("card_word"), spots, 12, bold=True, chip=True))
    lines = [explained.card]
    outside = sum(segment.named and not segment.holds_name for segment in segments)
    return Chart(Steady(0, most, most), Scale(0, 100), marks, 68, left=EDGES[0], right=EDGES[1],
                 above=24, below=4 + NAME_ROW * max(outside, 1), told=lines,
                 name=text_of("sums_title"), gap=10)  # fmt: skip


def _card_end(explained: Explained, room: int) -> float:
    """Return the bytes at which the axis of the card ends."""
    return max(explained.memory, room) * 1.02


def _estimates(explained: Explained) -> list[tuple[str, int, Paint, str]]:
    """Return name, bytes, fill and origin of the bytes that CUDA and the allocator add; last those
    that there may be more."""
    rows = explained.now.card_estimates(explained.batch)
    drawn = [(text_of(f"row.{row.name}"), row.nbytes, BESIDE[row.name],
              text_of(f"origin.{row.origin}")) for row in rows if row.nbytes]  # fmt: skip
    more = sum(row.more for row in rows)
    if not more:
        return drawn
    names = [text_of(f"row.{row.name}") for row in sorted(rows, key=lambda r: -r.more) if row.more]
    return [*drawn, (text_of("row.more", name=names[0]), more, UNSURE, ", ".join(names))]


class Segment(NamedTuple):
    """Bytes that CUDA or the allocator adds, as a part of the enlarged bar from ``left`` to
    ``right`` pixels."""

    name: str
    nbytes: int
    look: Paint
    origin: str
    left: float
    right: float

    @property
    def visible(self) -> bool:
        """True if it is wide enough to be seen."""
        return self.right - self.left >= SEEN

    @property
    def named(self) -> bool:
        """True if it is wide enough for a name of its own, in it or below it."""
        return self.right - self.left >= POINTED

    @property
    def holds_name(self) -> bool:
        """True if its name has room in it."""
        return texts.width(self.name, 12) + 10 <= self.right - self.left


def _segments(explained: Explained, room: int, width: float) -> list[Segment]:
    """Return the parts of the enlarged bar on a page ``width`` pixels wide."""
    estimates = _estimates(explained) if explained.now.card else []
    total = sum(nbytes for _, nbytes, *_ in estimates)
    left, segments = 0.0, []
    for name, nbytes, look, origin in estimates:
        right = left + nbytes / total * ENLARGED * (width - sum(EDGES))
        segments.append(Segment(name, nbytes, look, origin, left, right))
        left = right
    return segments


def _enlarged_estimates(segments: Sequence[Segment], start: int, most: float) -> Iterator[Mark]:
    """Yield marks for the bytes that CUDA and the allocator add: at their place on the card, and
    enlarged below. A name stands in its part or below it, each in a row of its own."""
    if not segments:
        return
    per_pixel = ENLARGED * most / segments[-1].right
    here, row = float(start), 0
    for segment in segments:
        name, nbytes = segment.name, segment.nbytes
        left, right = segment.left * per_pixel, segment.right * per_pixel
        fact = Fact(name, nbytes=nbytes, more=segment.origin)
        yield Rect(min(here, most), min(here + nbytes, most), 70, 100, segment.look, fact=fact)
        yield Rect(left, right, 2, 32, segment.look, fact=fact)
        here += nbytes
        if not segment.named:
            continue
        if segment.holds_name:
            yield ChartText((left + right) / 2, 2, name, 12, "middle", dy=-6, chip=True, held=True)
            continue
        low = 16.0 + NAME_ROW * row
        row += 1
        spots = [((left + right) / 2, "middle"), (left, "start"), (right, "end")]
        places = [(x, 2, anchor, 0.0, low) for x, anchor in spots]
        yield Label(name, places, 12, chip=True, kept=True, apart=1)
    for a, b in ((min(start, most), 0.0), (min(here, most), ENLARGED * most)):
        yield Line([(a, 70), (b, 32)], "rule faint")


# -- exact -----------------------------------------------------------------------------------------


def _tables(explained: Explained, numbers: bool) -> Iterator[PageBlock]:
    """Yield the tables of modules, sums and changes; without ``numbers``, in the text only."""
    keys = ("module", "bytes", "share", "mib", "origin", "change", "card", "time")
    gap = 12 if numbers else 0
    head = {key: text_of(f"head.{key}") for key in keys}
    yield Table([head["module"], head["bytes"], head["share"]], explained.table(), "<>>",
                text_of("modules_title"), drawn=numbers, gap=gap)  # fmt: skip
    yield Table(["", head["bytes"], head["mib"], head["origin"]], explained.sums(), "<>><",
                text_of("sums_title"), drawn=numbers, gap=gap)  # fmt: skip
    if rows := explained.change_rows():
        yield Table([head["change"], head["card"], head["time"], ""], rows, "<>><",
                    text_of("changes_title"), drawn=numbers, gap=gap)  # fmt: skip
    yield Paragraphs(text_of("code_alone") if explained.alone else "", drawn=False, gap=1)
    yield Paragraphs(explained.notes, 11, dim=True, drawn=numbers, gap=8 if numbers else 1)
