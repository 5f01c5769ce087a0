"""The page of the board: the bar of the budget, the blocks, and the plane of bytes and time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from memlab import strings, units
from memlab.measure.budget.board import LETTERS, BlockState, Choice, RatedChoice
from memlab.pictures.budget.study import BudgetStudy, text_of
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import (
    UP,
    Fact,
    Glyph,
    Line,
    Mark,
    Points,
    Rect,
    Rule,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale, Steady
from memlab.pictures.draw.table import Below, Key, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.text import plain
from memlab.pictures.draw.theme import FREE, PAINTS, Paint
from memlab.pictures.mountain.stack_parts import role_name
from memlab.pictures.techniques.plane import Place, percent_ticks, staircase
from memlab.pictures.values.number_text import round_bytes, signed_percent, three_digits, unit_of
from memlab.step.tensor import Role

NARROW = 720
"""Width of a page from which the plane stands beside the board."""
BOARD, PLANE, APART = 0.61, 0.39, 28
"""Shares of the width, and the pixels between the two."""
LEFT, RIGHT = 58, 4
"""Pixels left of the board, for the names of its rows, and right of it."""
SEEN = 1
"""Fewest pixels of a part of the bar that is named below it."""
UP_PIXELS, DOWN_PIXELS = 132, 74
"""Pixels of the longest column of bytes, and of time."""
BOX, TILE = 16, 18
"""Pixels of a box below a column, and of a tile."""
GAP, FREE_SIDE = 0.4, 0.1
"""Room between two stages, and on each side of a column, in columns."""
TALL = 330
"""Pixels of the plane."""
KEPT = PAINTS[Role.FEATURE_MAP]
AGAIN = Paint(KEPT.colour, 0.10, "dots")
HOST = Paint(KEPT.colour, 0.0, "idle")
LOOKS = {BlockState.KEPT: KEPT, BlockState.AGAIN: AGAIN, BlockState.HOST: HOST}
"""Looks of what a block keeps, makes again, or has on the host."""
INK = Paint("currentColor", 0.92)
SHADE = Paint("currentColor", 0.055)
INSIDE = 0.8
"""Share of the plain bar from which the figure of the peak stands in its own bar."""
CLOSE = 10
"""Percent between two lines of the axis of time, at least."""
ROOMY = 0.65
"""Share of the axis of bytes up to which the name of a point stands on its right."""
TRIES = 10
"""Choices that leave a point on the plane."""


def page(study: BudgetStudy, width: float, chosen: int, says: str) -> Page:
    """Return the page of a choice, with block ``chosen`` in focus (-1 for none)."""
    board = BoardCharts(study, chosen)
    plane = PlaneChart(study)
    heads, *rows = study.rows()
    parts = Paragraphs(board.parts(_board_width(width)), 11, dim=True, left=LEFT)
    left = Below([board.bar(), parts, board.blocks(), Key(board.key(), 11)])
    blocks: list[PageBlock] = [
        Paragraphs(study.title, 20, bold=True, gap=3),
        Paragraphs(study.sentences, 13),
        *_beside(left, plane.chart(), width),
        Paragraphs(study.difference, 12, gap=3 * study.submitted, left=LEFT),
        Paragraphs([study.result, text_of("origin")], 11, dim=True, gap=3),
        Paragraphs([study.exactly, *study.switch_lines(), *study.notes], drawn=False, gap=8),
        Table(heads, rows, drawn=False, gap=8),
        Paragraphs(study.try_lines(), drawn=False, gap=8),
    ]
    return Page(study.title, blocks, width, says, titled=False)


def _board_width(width: float) -> float:
    """Return the pixels of the board on a page of a width."""
    return width if width < NARROW else BOARD * (width - APART)


def _beside(left: PageBlock, right: PageBlock, width: float) -> list[PageBlock]:
    if width < NARROW:
        return [left, right]
    return [SideBySide([(left, BOARD), (right, PLANE)], apart=APART, gap=4)]


def _part_name(role: Role) -> str:
    """Return the name of a part of the bar; labels are too few bytes to be seen."""
    return strings.get("role.input.one") if role is Role.INPUT else role_name(role)


def _told(marks: Iterable[Mark]) -> list[str]:
    """Return the words among some marks as one line."""
    words = (mark.content for mark in marks if isinstance(mark, ChartText | Label))
    return [", ".join(map(plain, words))]


# -- the bar and the board -------------------------------------------------------------------------


@dataclass(frozen=True)
class BoardCharts:
    """Charts of the bar of the budget and of the blocks, in one order of columns."""

    study: BudgetStudy
    chosen: int

    # -- the bar

    def bar(self) -> Chart:
        """Return the bar of the peak by role against the budget, plain dashed."""
        study = self.study
        marks: list[Mark] = [
            Rect(0, study.budget, 0, 1, SHADE, edge=0, thick=40),
            Rect(0, study.plain.peak, 0, 1, "before", thick=24),
            *self._roles(),
            Rule(x=study.budget, look="limit", above=10, below=2),
            *self._words(),
        ]
        return Chart(Scale(0, self._end), Scale(0, 1), marks, 38, left=LEFT, right=RIGHT, above=26,
                     gap=4, told=_told(self._words()))  # fmt: skip

    @property
    def _end(self) -> int:
        """Bytes at the right end of the bar's axis."""
        return max(self.study.plain.peak, self.study.peak, self.study.budget)

    def parts(self, width: float) -> str:
        """Return a sentence with the names of the bar's parts that can be seen on a board of a
        width; empty if none can."""
        least = SEEN * self._end / (width - LEFT - RIGHT)
        roles = self.study.rated.roles
        names = [_part_name(role) for role in PAINTS if roles.get(role, 0) >= least]
        if len(names) < 2:
            return "".join(text_of("part", name=name) for name in names)
        return text_of("parts", names=", ".join(names[:-1]), last=names[-1])

    def _roles(self) -> Iterator[Mark]:
        """Yield marks for the bytes at the peak, one part for each role."""
        low = 0
        for role, paint in PAINTS.items():
            if nbytes := self.study.rated.roles.get(role, 0):
                fact = Fact(role, nbytes=nbytes)
                yield Rect(low, low + nbytes, 0, 1, paint, thick=24, fact=fact)
                low += nbytes

    def _words(self) -> Iterator[Mark]:
        study = self.study
        peak = three_digits(study.peak)
        text = peak
        if not (study.fits or study.choice == study.board.plain):
            text = text_of("too_much", peak=peak, over=three_digits(study.over))
        last = max(study.peak, study.budget)
        beside = [(last, 0.5, "start", 9.0, 5.0), (study.peak, 0.5, "end", -9.0, 5.0)]
        places = beside if last < INSIDE * study.plain.peak else beside[::-1]
        budget = text_of("budget", bytes=round_bytes(study.budget))
        yield ChartText(study.budget, 1, budget, 12, "middle", dy=-15, bold=True, held=True)
        yield Label(text, places, 14, bold=True, chip=True, kept=True)
        if study.peak < INSIDE * study.plain.peak:
            plain = text_of("plain", bytes=three_digits(study.plain.peak))
            yield Label(plain, [(study.plain.peak, 0.5, "end", -8.0, 4.0)], 12, dim=True)

    # -- the columns

    @cached_property
    def places(self) -> list[float]:
        """Left end of every column, in columns; stages stand apart."""
        places, at = list[float](), 0.0
        for _, group in groupby(self.study.board.blocks, key=lambda block: block.stage):
            blocks = list(group)
            places += [at + number for number in range(len(blocks))]
            at += len(blocks) + (GAP if self._staged else 0)
        return places

    @property
    def _staged(self) -> bool:
        """True if a stage has several blocks."""
        blocks = self.study.board.blocks
        return len({block.stage for block in blocks}) < len(blocks)

    @property
    def foot(self) -> float:
        """Pixels below the columns of time."""
        names = 22 if self._staged else 8
        return BOX + 12 + names + (2 * (TILE + 6) + 8 if self.study.submitted else 0)

    def blocks(self) -> Chart:
        """Return the board: bytes upwards, time downwards, a box for each block."""
        low = -(DOWN_PIXELS + self.foot)
        y = Scale(low, UP_PIXELS)
        marks = [*self._columns(), *self._names(), *self._boxes(), *self._stages()]
        marks += self._tiles() if self.study.submitted else ()
        marks += self._targets(low)
        x = Scale(-FREE_SIDE, self.places[-1] + 1 + FREE_SIDE)
        return Chart(x, y, marks, UP_PIXELS - low, left=LEFT, right=RIGHT, above=28,
                     told=_told([*self._names(), *self._stages()]))  # fmt: skip

    def _columns(self) -> Iterator[Mark]:
        costs, states = self.study.costs, self.study.choice.states
        whole = self.study.plain_costs  # the axes of all choices
        pixels = UP_PIXELS / (max(cost.keeps for cost in whole) or 1)
        longest = max(time for cost in whole for time in (cost.again, cost.host)) or 1
        for number, (cost, state) in enumerate(zip(costs, states, strict=True)):
            x0, x1 = self._column(number)
            if cost.keeps < whole[number].keeps:
                yield Rect(x0, x1, 0, whole[number].keeps * pixels, "before")
            yield from self._bytes(number, pixels, state)
            times = {BlockState.AGAIN: cost.again, BlockState.HOST: cost.host}
            offered = [s for s in times if s in self.study.board.level.states]
            wide = (x1 - x0) / len(offered)
            for place, option in enumerate(offered):
                deep = max(times[option], 0.0) * DOWN_PIXELS / longest
                left = x0 + place * wide
                look = INK if option is state else "rule faint"
                yield Rect(left, left + wide, 0, -deep, look)
        yield Rule(y=0, look="rule", width=1.6, above=2, below=4)

    def _bytes(self, number: int, pixels: float, state: BlockState) -> Iterator[Mark]:
        """Yield the column of what a block keeps; of one on the host, what stays is below."""
        x0, x1 = self._column(number)
        tall = self.study.costs[number].keeps * pixels
        if state is not BlockState.HOST:
            yield Rect(x0, x1, 0, tall, LOOKS[state])
            return
        stays = tall - self.study.costs[number].frees * pixels
        yield Rect(x0, x1, 0, stays, KEPT)
        yield Rect(x0, x1, stays, tall, HOST)

    def _column(self, number: int) -> tuple[float, float]:
        return self.places[number] + FREE_SIDE, self.places[number] + 1 - FREE_SIDE

    def _middle(self, number: int) -> float:
        return self.places[number] + 0.5

    def _names(self) -> Iterator[Mark]:
        yield ChartText(0, UP_PIXELS, text_of("blocks"), 12, dy=-12, bold=True)
        for key, dy in (("bytes", -6), ("seconds", 15)):
            yield ChartText(-FREE_SIDE, 0, text_of(key), 12, "end", dx=-8, dy=dy)

    def _boxes(self) -> Iterator[Mark]:
        """Yield a box for each block, with the letter of its state, as in the line of a choice."""
        middle = -(DOWN_PIXELS + 10 + BOX / 2)
        yield ChartText(-FREE_SIDE, middle, text_of("states"), 12, "end", dx=-8, dy=4)
        half = 0.5 * BOX / self._pixels
        for number, state in enumerate(self.study.choice.states):
            x = self._middle(number)
            yield Rect(x - half, x + half, middle, middle, "rule faint", thick=BOX, radius=3)
            kept = state is BlockState.KEPT
            yield ChartText(x, middle, LETTERS[state], 11, "middle", dy=4, bold=not kept, dim=kept)

    @property
    def _pixels(self) -> float:
        """Pixels of one column, about: boxes are no wider."""
        return max(24.0, 470 / (self.places[-1] + 1))

    def _stages(self) -> Iterator[Mark]:
        """Yield a bracket with a name for each stage of several blocks."""
        if not self._staged:
            return
        y = -(DOWN_PIXELS + 10 + BOX + 7)
        numbered = enumerate(self.study.board.blocks)
        for stage, group in groupby(numbered, key=lambda pair: pair[1].stage):
            numbers = [number for number, _ in group]
            left, right = self._column(numbers[0])[0], self._column(numbers[-1])[1]
            yield Rule(y=y, span=(left, right), look="rule faint", crossed=True)
            yield Label(stage, [((left + right) / 2, y, "middle", 0.0, 14.0)], 11)

    def _tiles(self) -> Iterator[Mark]:
        """Yield two rows of tiles, the choice and the known one, framed where they differ."""
        study = self.study
        best = "best" if study.optimum.exact else "known"
        top = -(DOWN_PIXELS + self.foot) + 2 * (TILE + 6)
        rows = (("own", study.choice.states), (best, study.known.choice.states))
        for row, (key, states) in enumerate(rows):
            middle = top - TILE / 2 - row * (TILE + 6)
            yield ChartText(-FREE_SIDE, middle, text_of(key), 11, "end", dx=-8, dy=4, bold=row > 0)
            for number, state in enumerate(states):
                left, right = self._column(number)
                yield Rect(left, right, middle, middle, LOOKS[state], thick=TILE)
                if number in study.differing:
                    yield Rect(left, right, middle, middle, "limit", thick=TILE + 2, inset=-1)

    def _targets(self, low: float) -> Iterator[Mark]:
        """Yield a target over each column, which tells its block, and a frame around that in
        focus."""
        high = -(DOWN_PIXELS + 10 + BOX + 3)
        for number, block in enumerate(self.study.board.blocks):
            left, right = self.places[number], self.places[number] + 1
            name = f"{block.stage}, {block.name}" if self._staged else block.stage
            fact = Fact(name, more=self.study.block_fact(number))
            yield Rect(left, right, high, UP_PIXELS, "target", fact=fact, send=("block", number))
            if number == self.chosen:
                yield Rect(left, right, high, UP_PIXELS, "rule thin", radius=3)

    def key(self) -> list[tuple[Paint | str | Glyph, str]]:
        """Return the legend of the states that the board offers."""
        states = self.study.board.level.states
        entries: list[tuple[Paint | str | Glyph, str]] = []
        entries += [(LOOKS[state], text_of(f"key.{state}")) for state in states]
        return [*entries, (INK, text_of("key.time"))]


# -- the plane -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlaneChart:
    """Plane of bytes and time: what was tried, what is chosen, and after Submit the best choices.

    Its axes belong to the level and never follow a choice: what lies beyond stands at the edge.
    """

    study: BudgetStudy

    @cached_property
    def x(self) -> Steady:
        """Scale of bytes, to twice the budget."""
        budget = self.study.budget
        unit = unit_of(2 * budget)
        return Steady(0, 2 * budget, budget, unit, units.UNITS[unit])

    @cached_property
    def ticks(self) -> list[tuple[float, str]]:
        """Ticks of the axis of time, from the fastest choice to all blocks made again in fp32."""
        board = self.study.board
        again = (BlockState.AGAIN,) * len(board.blocks)
        most = board.rated(Choice(states=again))
        least = self.study.search.floor / self.study.plain.seconds
        low = min(100 * (least - 1), 0.0) - CLOSE  # a name has room below the fastest choice
        return percent_ticks(max(board.slower(most), 1.0), low, CLOSE)

    @cached_property
    def y(self) -> Steady:
        """Scale of time, in percent."""
        low, high = self.ticks[0][0], self.ticks[-1][0]
        return Steady(low, high, high - low)

    def chart(self) -> Chart:
        """Return the plane."""
        low, high = self.y.first, self.y.last
        budget = self.study.budget
        marks: list[Mark] = [
            Rect(budget, 2 * budget, low, high, FREE, edge=0),
            *(Rule(y=at) for at, _ in self.ticks if at not in (low, 0, high)),
            *self._line(),
            *self._path(),
            Rule(x=budget, look="limit", above=8, below=6),
            *self._best(),
            *self._now(),
            Label(text_of("no_fit"), [(1.5 * budget, high, "middle", 0.0, 16.0)], 12, chip=True),
        ]
        ends = [tick for tick in self.x.ticks if tick[0] != budget]
        x_axis = Axis(text_of("plane_bytes"), grid=False, ticks=ends)
        named = [tick for tick in self.ticks if tick[0] in (low, 0, high)]
        y_axis = Axis(text_of("plane_time"), ticks=named)
        return Chart(self.x, self.y, marks, TALL, x_axis, y_axis, left=56, right=14,
                     told=_told([*self._path(), *self._now(), *self._best()]))  # fmt: skip

    def place(self, rated: RatedChoice) -> Place:
        """Return the point of a choice on the plane."""
        return rated.peak, self.study.board.slower(rated)

    def _path(self) -> Iterator[Mark]:
        """Yield the choices that were tried as hollow points, joined by a dotted line."""
        board = self.study.board
        tried = [board.rated(choice) for choice in self.study.tries[-TRIES:]]
        places = [self.place(rated) for rated in (*tried, self.study.rated)]
        for one, other in pairwise(places):
            yield Line([one, other], "before")
        for rated in tried:
            fact = Fact(board.line(rated.choice), nbytes=rated.peak,
                        more=signed_percent(board.slower(rated)))  # fmt: skip
            yield Points([self.place(rated)], "hollow", 8, fact=fact)
            x, y = self.place(rated)
            spots = [(min(x, self.x.last), y, side, dx, dy) for dy in (4.0, 18.0, -12.0)
                     for side, dx in (("end", -9.0), ("start", 9.0))]  # fmt: skip
            if name := self.study.try_name(rated.choice):
                yield Label(name, spots, 11, chip=True)
        if self.study.plain.peak > self.x.last and self.study.plain in tried:
            text = text_of("plain_point")
            spots = [(self.x.last, 0.0, "end", -6.0, dy) for dy in (-12.0, 22.0, -26.0, 36.0)]
            yield Label(text, spots, 11, chip=True)

    def _now(self) -> Iterator[Mark]:
        """Yield the point of the choice with its name."""
        study = self.study
        x, y = self.place(study.rated)
        key = "own_point" if study.submitted else "now_point"
        text = text_of(key, time=signed_percent(study.slower))
        if study.choice == study.board.plain:
            text = text_of("plain_now")
        yield Points([(x, y)], "dot", 12, fact=Fact(text, nbytes=study.peak))
        below = (4.0, 20.0) if not study.submitted or study.is_known else ()
        sides = (("start", 11.0), ("end", -11.0))
        places = [(x, y, side, dx, dy) for dy in (*below, -10.0, -24.0)
                  for side, dx in (sides if x < ROOMY * self.x.last else sides[::-1])]  # fmt: skip
        yield Label(text, places, 13, bold=True, chip=True, kept=True)

    # -- after Submit

    def _line(self) -> Iterator[Mark]:
        """Yield the line of the best choices."""
        if not self.study.submitted:
            return
        corners = staircase(self.study.line)
        if len(corners) > 1:
            yield Line(corners, width=2.6)
        x, y = corners[0]
        text = text_of("exact_line" if self.study.optimum.exact else "found_line")
        places = [
            (x, y, "start", 6.0, -8.0),
            (x, y, "middle", 0.0, -8.0),
            (x, y, "start", 10.0, -22.0),
        ]
        yield Label(text, places, 11, chip=True)

    def _best(self) -> Iterator[Mark]:
        """Yield the known choice with its name, and the distance to it as a bracket."""
        study = self.study
        if not study.submitted or study.is_known:
            return
        x, y = self.place(study.known)
        yield Glyph(x, y, UP, marker="^")
        key = "best_point" if study.optimum.exact else "known_point"
        text = text_of(key, time=signed_percent(y))
        places = [(x, y, "end", -11.0, dy) for dy in (18.0, 32.0)]
        places += [(x, y, "start", 11.0, dy) for dy in (18.0, 32.0)]
        yield Label(text, places, 13, bold=True, chip=True, kept=True)
        yield from self._bracket(x, y)

    def _bracket(self, x: float, y: float) -> Iterator[Mark]:
        """Yield the bracket between the choice and the known one, left of both."""
        own_x, own_y = self.place(self.study.rated)
        at = min(x, own_x) - 0.30 * self.study.budget
        for end, level in ((own_x, own_y), (x, y)):
            yield Rule(y=level, span=(at, end), look="rule", dashes="1.5 3", crossed=True)
        yield Rule(x=at, span=(own_y, y), look="rule", width=1.6)
        text = f"{self.study.points:.1f}"
        yield Label(text, [(at, (own_y + y) / 2, "end", -7.0, 5.0)], 14, bold=True, kept=True)
