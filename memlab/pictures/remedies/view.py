"""View of the remedies for a step that does not fit its card: bars in bytes, extra time, and
demands.

The line of the card's memory bulges where a remedy moves the limit instead of the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from memlab import units
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Glyph, Line, Mark, OpenEdge, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.svg import PHONE
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, Table
from memlab.pictures.draw.text import emphasized
from memlab.pictures.draw.theme import IDLE, PAINTS, PLANNED, Paint
from memlab.pictures.live.fixed_axes import Needs, SteadyView
from memlab.pictures.live.setting import Select, Setting, State
from memlab.pictures.live.view import PageState, maker
from memlab.pictures.mountain.stack_parts import ROLES
from memlab.pictures.offload.streams import speed
from memlab.pictures.offload.view import (
    of_batches,
    of_devices,
    of_links,
    of_memories,
    of_networks,
    of_optimizers,
)
from memlab.pictures.remedies.remedies import SORTS, Remedies, Remedy, card, role_name, text_of
from memlab.pictures.remedies.remedies import remedies as planned_remedies
from memlab.pictures.values.number_text import exact_text, three_digits

BAR, PITCH, TALL, TALLEST = 21, 36, 52, 70
"""Pixels: a bar, a row, a row with a line of words below its bar, and one with its name above the
bar."""
NARROW, SIDE, EDGE = 880, 392, 96
"""Pixels: width of a page from which the words have a column, width of both columns there,
and width of the column of time."""
NAMES, WORDS = 132, 108
"""Pixels: room for the names, and start of the column of words."""
MOST = 66
"""Pixels: the longest bar of time."""
APART = 9
"""Pixels from the line of the card to the bytes in host memory."""
KEYS = ("ArrowUp", "ArrowDown", "KeyS", "Escape", *(f"Digit{n}" for n in range(1, 9)))
DOWN = "M-4.5-4h9l-4.5 7.5Z"


class ComparedRemedies(SteadyView[Remedies]):
    """Remedies for a step that does not fit its card: bytes, extra time, and what each demands.

    ``view.rows["recompute"]`` is a row with its exact figures.

    >>> view = memlab.views.remedies("vgg16", batch=256)
    >>> view.rows["plain"].trains, view.rows["offload"].trains
    (False, True)
    """

    name, made_by = "remedies", "remedies"
    positional = ("network", "batch")
    picture_keys = KEYS
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"break": {"link": "3 GB/s"}}
    """A link that is too slow: another remedy comes last."""

    network = of_networks()
    batch = of_batches(256)
    budget = of_memories(
        show=card, write=lambda nbytes: repr(exact_text(card(nbytes), nbytes)), code="always"
    )  # fmt: skip
    sort = Select(SORTS, doc="``'time'`` or ``'peak'``: what comes first among those that fit")
    link = of_links("to host memory", place="more")
    device = of_devices(place="more", brief=lambda now: "")
    optimizer = of_optimizers()
    chosen: Setting[str] = Setting(
        doc="the row that is in focus", default="", argument=False, code="never"
    )

    def study(self, now: State) -> Remedies:
        return planned_remedies(now.network, now.batch, device=now.device, link=now.link,
                       budget=now.budget, optimizer=now.optimizer)  # fmt: skip

    def needs(self, now: State, rows: Remedies) -> Needs:
        remedies = [rows.plain, *map(rows.__getitem__, rows.sorted(now.sort))]
        ends = [
            rows.budget,
            *(nbytes for remedy in remedies for nbytes in (remedy.peak, remedy.limit) if nbytes),
        ]
        return (max(*ends, *(rows.budget + remedy.host for remedy in remedies)),)

    def question(self, now: State) -> object:
        return now.network, now.device, now.optimizer, now.budget

    def values(self, now: State) -> Mapping[str, object]:
        return {"link": speed(now.link), "batch": f"{now.batch:,}"}

    def outline_key(self, now: State) -> object:
        return now.replace(chosen="")

    def test_state(self, now: State) -> str:
        compared = self.rows_of(now)
        keys_and_peaks = (f"{key}={compared[key].peak}" for key in compared.sorted(now.sort))
        return "|".join([now.network.name, str(now.batch), str(now.budget), *keys_and_peaks])

    def says(self, scene: PageState) -> str:
        remedies, chosen = self.rows_of(scene.now), scene.now.chosen
        if chosen and not scene.news:
            return remedies[chosen].fact()
        return f"{remedies.title}. {remedies.sentences[0]}"

    def fact(self, scene: PageState) -> str:
        return f"choose:{scene.now.chosen}" if scene.now.chosen else ""

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        keys = ["plain", *self.rows_of(now).sorted(now.sort)]
        if name == "choose" and value in keys:
            return now.replace(chosen="" if value == now.chosen else value)
        if name != "key":
            return None
        if value == "KeyS":
            return self.changed(now, sort=SORTS[now.sort == SORTS[0]])
        return now.replace(chosen=_next(keys, now.chosen, str(value)))

    def compose(self, scene: PageState) -> Page:
        now, rows = scene.now, self.rows_of(scene.now)
        old = self.rows_of(scene.previous) if scene.dragging and scene.previous else rows
        chosen = now.chosen
        bars = RemedyBars(rows, old.sorted(now.sort), now.sort, chosen, scene.width, now.room[0])
        heads, cells = rows.table(now.sort)
        blocks: list[PageBlock] = [
            Paragraphs([emphasized(rows.finding)], 20),
            Paragraphs(rows[chosen].fact() if chosen else rows.sentences[0], 13, gap=3),
            Key(list(bars.key()), gap=10),
            bars.chart(),
            Paragraphs(" ".join(rows.others), 12, gap=4),
            Paragraphs(rows.notes, 11, dim=True, gap=6),
            Paragraphs(rows.lines, drawn=False, gap=1),
            Table(heads, cells, "<>><><", drawn=False, gap=1),
            Paragraphs(rows.calls, drawn=False, gap=1),
        ]
        return Page(rows.title, blocks, scene.width, self.says(scene), titled=False)


remedies = maker(ComparedRemedies)


def _next(keys: list[str], here: str, key: str) -> str:
    """Return the key of the row that a pressed key leads to."""
    if key == "Escape":
        return ""
    if key.startswith("Digit"):
        at = int(key.removeprefix("Digit")) - 1
    elif here not in keys:
        at = 0
    else:
        at = keys.index(here) + (-1 if key == "ArrowUp" else 1)
    return keys[min(max(at, 0), len(keys) - 1)]


# -- the bars --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RemedyBars:
    """Remedies as bars, in the order of their keys; one unit of x is a byte, up to
    ``last`` bytes."""

    study: Remedies
    order: list[str]
    sort: str
    chosen: str
    width: float
    last: int

    @property
    def wide(self) -> bool:
        """True if the page has room for a column with what each remedy demands."""
        return self.width >= NARROW

    @property
    def phone(self) -> bool:
        """True if the names stand above the bars."""
        return self.width < PHONE

    @property
    def names(self) -> float:
        """Width of the column of names, in pixels."""
        return 4 if self.phone else NAMES

    @property
    def right(self) -> float:
        """Width of the columns right of the bars, in pixels."""
        return SIDE if self.wide else EDGE

    @cached_property
    def rows(self) -> list[Remedy]:
        """Rows from top to bottom."""
        return [self.study.plain, *map(self.study.__getitem__, self.order)]

    @cached_property
    def room(self) -> float:
        """Width of the bars, in pixels."""
        return self.width - self.names - self.right

    @property
    def pitch(self) -> float:
        """Distance from row to row, in pixels."""
        return PITCH if self.wide else TALLEST if self.phone else TALL

    @cached_property
    def pixel(self) -> float:
        """Bytes of one pixel."""
        return self.last / self.room

    def key(self) -> Iterator[tuple[Paint | Glyph, str]]:
        """Yield a legend entry for each role that is at least a pixel long in some row."""
        for role in ROLES:
            if max((row.roles or {}).get(role, 0) for row in self.rows) > self.pixel:
                yield PAINTS[role], role_name(role, self.study.optimizer)

    def chart(self) -> Chart:
        """Return the chart of all rows, with heads, line of the card, and columns."""
        count = len(self.rows)
        marks = [*self._heads(), *self._rows(), *self._limit(), *self._between(), *self._demands()]
        return Chart(Scale(0, self._x_of(self.right)), Scale(count, 0), marks, self.pitch * count,
                     left=self.names, right=0, above=26, below=20, gap=6)  # fmt: skip

    # -- columns

    def _x_of(self, pixels: float) -> float:
        """Return the x of a point that lies some pixels right of the bars."""
        return self.last + pixels * self.pixel

    def _heads(self) -> Iterator[Mark]:
        """Yield marks for the heads of the columns, with a triangle at the one
        that sorts the rows."""
        yield ChartText(0, 0, text_of("peak"), 12, dy=-12, bold=True)
        yield ChartText(self._x_of(0), 0, text_of("time"), 12, dx=0, dy=-12, bold=True)
        at, word = (self._x_of(0), "time") if self.sort == "time" else (0, "peak")
        end = at + (texts.width(text_of(word), 12, True) + 13) * self.pixel
        yield Glyph(end, -16 / self.pitch, DOWN)
        if self.wide:
            yield ChartText(self._x_of(WORDS), 0, text_of("asks_for"), 12, dx=12, dy=-12, bold=True)

    def _between(self) -> Iterator[Mark]:
        """Yield lines below the plain step, and between remedies that train and
        those that do not."""
        groups = [0, *(1 if row.trains else 2 for row in self.rows[1:])]
        for at, (above, below) in enumerate(pairwise(groups), 1):
            if above != below:
                yield Rule(y=at, look="grid", below=self.names)

    # -- the line of the card

    def _limit(self) -> Iterator[Mark]:
        """Yield marks for the line of the card's memory from top to bottom, around the bar
        of a larger card."""
        budget, count = self.study.budget, len(self.rows)
        points: list[tuple[float, float]] = [(budget, -0.1)]
        for at, row in enumerate(self.rows):
            if row.limit != budget and not row.refused:
                limit = min(row.limit, self.last)
                points += [(budget, at + 0.08), (limit, at + 0.08), (limit, at + 0.92),
                           (budget, at + 0.92)]  # fmt: skip
        text = text_of("fact.card", bytes=units.exact(budget), binary=units.both(budget))
        yield Line([*points, (budget, count)], "limit", fact=Fact(text))
        name = text_of("card", bytes=self.study.card)
        yield ChartText(budget, count, name, 12, "middle", dy=16, bold=True, held=True)

    # -- rows

    def _rows(self) -> Iterator[Mark]:
        """Yield the marks of every row."""
        for at, row in enumerate(self.rows):
            yield from self._target(at, row)
            yield self._name(at, row)
            yield from self._bar(at, row)
            yield from self._beyond(at, row)
            yield from self._extra_time(at, row)

    def _name(self, at: int, row: Remedy) -> ChartText:
        """Return the name of a row, left of its bar or above it."""
        bold = row.key != "plain"
        if self.phone:
            return ChartText(0, at, row.name, 13, dy=16, bold=bold, chip=True)
        return ChartText(0, self._middle(at), row.name, 13, "end", dx=-12, dy=4.5, bold=bold)

    def _middle(self, at: int) -> float:
        """Return the y of a bar's middle; it is higher where words stand below the bar."""
        return at + (0.5 if self.wide else 0.52 if self.phone else 0.37)

    def _rect(self, at: int, left: float, right: float, look: Paint | str, more: float = 0) -> Rect:
        """Return the bar of a row from x to x, ``more`` pixels thicker than usual."""
        middle, half = self._middle(at), (BAR + more) / 2 / self.pitch
        return Rect(left, right, middle - half, middle + half, look)

    def _open_edge(self, at: int) -> OpenEdge:
        """Return the torn edge of a bar that is longer than the axis."""
        middle, half = self._middle(at), BAR / 2 / self.pitch
        return OpenEdge(middle - half, middle + half, "right", self.last)

    def _beside_end(self, at: int, end: float, text: str) -> ChartText:
        """Return words after the end of a bar, or inside it where there is no room."""
        wide = texts.width(text, 12, True) + 20
        free = self._beside if not at else 0
        if (self.last - end) / self.pixel + free >= wide:
            return ChartText(end, self._middle(at), text, 12, dx=12, dy=4, bold=True)
        return ChartText(min(end, self.last), self._middle(at), text, 12, "end", dx=-12, dy=4,
                    bold=True,
                    chip=True)  # fmt: skip

    def _target(self, at: int, row: Remedy) -> Iterator[Mark]:
        """Yield marks for the target that tells a row on hover and focus, and the frame of
        the row in focus."""
        ends = -self.names * self.pixel, self._x_of(self.right)
        yield Rect(*ends, at, at + 1, "target", fact=Fact(row.fact()), send=("choose", row.key))
        if row.key == self.chosen:
            inside = ends[0] + self.pixel, ends[1] - 2 * self.pixel
            yield Rect(*inside, at + 0.02, at + 0.98, "rule", radius=5)

    def _bar(self, at: int, row: Remedy) -> Iterator[Mark]:
        """Yield marks for the roles at the peak, and hatched beyond the line the bytes in host
        memory."""
        start = 0
        for role in ROLES:
            if nbytes := (row.roles or {}).get(role, 0):
                ends = min(start, self.last), min(start + nbytes, self.last)
                yield self._rect(at, *ends, PAINTS[role])
                start += nbytes
        if start > self.last:
            yield self._open_edge(at)
        if row.host:
            left = self.study.budget + APART * self.pixel
            right = min(left + row.host, self.last)
            yield self._rect(at, left, right, IDLE)
            if left + row.host > self.last:
                yield self._open_edge(at)
            if texts.width(text_of("host"), 12) + 10 < row.host / self.pixel:
                middle = (left + right) / 2
                yield ChartText(
                    middle, self._middle(at), text_of("host"), 12, "middle", dy=4, chip=True
                )

    def _beyond(self, at: int, row: Remedy) -> Iterator[Mark]:
        """Yield marks for the frame of the bytes beyond the line with a word, or the name of
        a larger card."""
        if row.refused:
            yield self._beside_end(at, self.study.budget, self._word(row))
        elif not row.trains:
            yield self._rect(at, row.limit, min(row.peak, self.last), "rule chosen", more=6)
            yield self._beside_end(at, row.peak, self._word(row))
        elif row.limit != self.study.budget:
            yield from self._larger(at, row)

    def _larger(self, at: int, row: Remedy) -> Iterator[Mark]:
        """Yield marks for the name of the larger card, inside the bulge of the line where it has
        room."""
        limit, text = min(row.limit, self.last), text_of("card", bytes=card(row.limit))
        wide = texts.width(text, 12, True) + 18
        inside = (limit - row.peak) / self.pixel >= wide or limit < row.limit
        anchor, dx = ("end", -9) if inside else ("start", 9)
        yield ChartText(limit, self._middle(at), text, 12, anchor, dx=dx, dy=4, bold=True)

    def _word(self, row: Remedy) -> str:
        """Return the word that a row does not fit, for some rows with the bytes."""
        exact = row.key == "plain" or row.peak > self.last
        return f"{row.fits}, {three_digits(row.peak)}" if exact else row.fits

    # -- time, and what it asks for

    def _extra_time(self, at: int, row: Remedy) -> Iterator[Mark]:
        """Yield marks for the bar of the extra time with its percentage."""
        middle = self._middle(at)
        if row.time and row.key != "plain":
            most = max(row.extra or 0.0 for row in self.rows)
            percent = min(4.2, MOST / (100 * most)) if most > 0 else 4.2  # pixels of a percent
            long = max(row.extra or 0.0, 0.0) * 100 * percent
            yield replace(
                self._rect(at, self._x_of(0), self._x_of(long), PLANNED, more=-8),
                edge=0,
            )
            span = at + 0.2, at + 0.8 if self.wide or self.phone else at + 0.6
            yield Rule(x=self._x_of(0), span=span, look="rule faint")
            has_room = long + texts.width(row.time, 12) < self._beside
            dx = long + 6 if has_room else 6
            yield ChartText(self._x_of(0), middle, row.time, 12, dx=dx, dy=4, chip=not has_room)

    def _demands(self) -> Iterator[Mark]:
        """Yield what each remedy demands: in a column, or below the bars."""
        for at, row in enumerate(self.rows[1:], 1):
            middle = self._middle(at)
            if self.wide:
                room = (SIDE - WORDS - 14) * self.pixel
                yield ChartText(self._x_of(WORDS), middle, row.asks, 12, dx=12, dy=4, room=room)
            else:
                room = (self.width - self.names - 8) * self.pixel
                yield ChartText(
                    0, middle, row.asks, 11, dy=BAR / 2 + 15, dim=True, chip=True, room=room
                )

    @property
    def _beside(self) -> float:
        """Width of the column of time, in pixels."""
        return WORDS if self.wide else EDGE - 4
