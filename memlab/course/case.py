"""The one case of the course, as the picture that ends each lesson: a bar for each technique, and
the card that the step has to fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from memlab import units
from memlab.errors import known
from memlab.lesson.one_case import CARDS, IMAGES, LESSONS, Case, Row, bytes_of, passed, say
from memlab.lesson.small_case import Measured, measured
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import Text
from memlab.pictures.draw.marks import Fact, Line, Mark, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale, over
from memlab.pictures.draw.table import Block, Table, Unnamed, Words
from memlab.pictures.draw.theme import PLANNED, Paint, paint
from memlab.pictures.live.setting import Check, Choice, Setting, State
from memlab.pictures.live.view import Scene, View, maker
from memlab.pictures.mountain.stack_parts import Part
from memlab.pictures.recompute import MADE
from memlab.pictures.values.number_text import three
from memlab.step.tensor import Role

PITCH, BAR, ABOVE = 36, 22, 22
"""Pixels: from row to row, a bar in it, and what stands above the first."""
NAMES, SIDE, EDGE = 176, 196, 78
"""Room for the names, for time and result where the page is not ``NARROW``, and where it is."""
NARROW = 700
TIMES, PLAIN = 12, 44
"""Pixels: from the end of the axis to the times, and that of the plain step."""
TWICE = 100
"""The most percent of added time that a bar has room for; a longer one is torn, and its figure
stands in the title alone."""
FAINT, OWN = Paint("currentColor", 0.05), Paint("currentColor", 0.38)
"""The card; the bar of the own row where bars are images."""
BYTES, FITS = SHOWN = "bytes", "images"
MAPS = Part(Role.FEATURE_MAP, True)


class OneCase(View[Case]):
    """ResNet-50, 256 images, on one card: what each lesson's technique takes of it, alone.

    ``view.rows`` has the exact figures; ``view.measure()`` runs the same techniques on a network
    that is small enough for a lesson.
    """

    name, made_by = "case", "case"
    positional = ("lesson",)
    picture_keys = ("KeyB",)

    lesson = Setting(
        doc="the lesson that it ends, from ``'00'`` to ``'10'``",
        default=LESSONS[-1],
        check=lambda given: known("lesson", given, LESSONS),
        fixed=True,
        code="plain",
    )
    card = Choice(CARDS, doc="the memory of the card in GB: 12, 24 or 80")
    show = Choice(SHOWN, doc="``'bytes'`` of 256 images, or the most ``'images'`` that fit")
    also = Check(
        doc="whether the rows of lessons are drawn too that come before, and that this one does "
        "not need: 06 at the end of 07 and 08",
        when=lambda now: bool({*passed(now.lesson)} - now.answered),
    )
    numbers = Check(doc="whether all numbers are shown", argument=False, stays=True, key="KeyN")
    answered = Setting[frozenset[str]](
        doc="the lessons whose predictions the learner has answered: their rows are drawn too",
        default=frozenset(),
        argument=False,
        stays=True,
        stored=False,
    )
    done: Setting[Measured | None] = Setting(
        doc="what the techniques used where they ran", argument=False, follows=["also"]
    )

    def settle(self, new: State, was: State | None) -> State:
        return new if was else new.replace(answered=answered())

    def study(self, now: State) -> Case:
        also = passed(now.lesson) if now.also else ()
        return Case(now.lesson, now.card, (*also, *sorted(now.answered)))

    def described(self, now: State) -> object:
        return now.lesson  # its outlines are those of the course, not of what was chosen before

    def line(self, now: State) -> str:
        found = [f"{lesson}={row.peak}" for lesson, row in self.rows_of(now).rows.items()]
        return "|".join([now.lesson, str(now.card), now.show, *found])

    def says(self, scene: Scene) -> str:
        found = self.rows_of(scene.now)
        return " ".join([f"{_title(found, scene.now.show)}.", _sentence(found, scene.now.show)])

    def buttons(self, now: State) -> Mapping[str, str]:
        return {"small": "small", "start": "start", "copy": "copy"}

    def do(self, now: State, name: str, value: object) -> State | None:
        if name == "small":
            return now.replace(done=self._measured(now))
        if (name, value) == ("key", "KeyB"):
            return self.changed(now, show=SHOWN[now.show == BYTES])
        return None

    def measure(self) -> Measured:
        """Run the techniques that are drawn on a small ResNet, and show planned and measured.

        Raises:
            DoesNotFitError: 250 MB are not free.
        """
        done = self._measured(self.state)
        self._set(done=done)
        return done

    def _measured(self, now: State) -> Measured:
        return measured(tuple(self.rows_of(now).rows))

    def compose(self, scene: Scene) -> Page:
        now, found = scene.now, self.rows_of(scene.now)
        bars = Bars(found, now.show, scene.width)
        blocks: list[Block] = [
            Words(_title(found, now.show), 20, bold=True, gap=3),
            Words(_sentence(found, now.show), 14),
            bars.chart(),
            Unnamed(list(bars.key()), gap=4),
            Words(found.brief(now.show == BYTES), 12, dim=True),
            Words(_told(found), drawn=False, gap=8),
            Words(now.done.lines() if now.done else "", 12, gap=8),
            Words(found.notes, 11, dim=True, drawn=now.numbers, gap=8),
            *_tables(found, 5 if scene.width >= NARROW else 3, now.numbers),
        ]
        return Page(found.title, blocks, scene.width, self.says(scene), titled=False)


case = maker(OneCase)


def answered() -> frozenset[str]:
    """The lessons whose predictions the learner has answered, by the file of progress."""
    from memlab.lesson import progress
    from memlab.lesson.card_question import Part, topics

    if progress.file() is None:
        return frozenset()
    cards: dict[str, list[str]] = {}
    for name, topic in topics().items():
        if topic.part is Part.PREDICT:
            cards.setdefault(name.partition(".")[0], []).append(name)
    return progress.lessons(cards)


def _title(found: Case, show: str) -> str:
    return found.title if show == BYTES else found.fit_title


def _sentence(found: Case, show: str) -> str:
    if show == BYTES or not found.rows:
        return found.sentences[0]
    return say("fit.see", card=found.card)


def _told(found: Case) -> list[str]:
    """Every row in words: what is drawn with whole bytes, and why another one is not."""
    lines = []
    for lesson in found.lessons:
        if (row := found.rows.get(lesson)) is None:
            name = say(f"technique.{lesson}")
            lines.append(say("not_yet", name=name, place=found.place(lesson)))
            continue
        outline = found.outline(row)
        before = [say("plain", bytes=bytes_of(outline))] if outline else []
        lines.append(" ".join([f"{'; '.join(found.facts(row))}.", *before]))
    return lines


def _tables(found: Case, most: int, drawn: bool) -> Iterator[Table]:
    """Every number: of each row, and of the slices at its peak."""
    heads, cells = found.table()
    if cells:
        yield Table(heads, cells, "<<>>><", drawn=drawn, gap=8)
    for names, parts in found.stack(most):
        yield Table(names, parts, "<" + ">" * most, drawn=drawn, gap=8)


# -- the bars --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bars:
    """The rows as bars, in bytes or in images; one x of the chart is a byte, or an image."""

    found: Case
    show: str
    width: float

    @property
    def wide(self) -> bool:
        """Whether there is room for time and result."""
        return self.width >= NARROW

    @cached_property
    def last(self) -> float:
        """The end of the axis: the largest card has room, so that it is the same for all."""
        if self.show == BYTES:
            return 1.01 * max(CARDS) * units.DECIMAL["GB"]
        most = max((row.fits(self.found.card) for row in self.found.rows.values()), default=0)
        return 1.2 * max(most, IMAGES)

    @cached_property
    def pixel(self) -> float:
        """What one pixel stands for."""
        return self.last / (self.width - NAMES - (SIDE if self.wide else EDGE))

    @property
    def mark(self) -> float:
        """Where the line is: the card, or the images of the paper."""
        return self.found.budget if self.show == BYTES else IMAGES

    def chart(self) -> Chart:
        """All of it."""
        count = len(self.found.lessons)
        marks = [*self._ground(count), *self._heads(), *self._rows(), *self._line(count)]
        return Chart(Scale(0, self.last), Scale(count, 0), marks, PITCH * count, left=NAMES,
                     right=SIDE if self.wide else EDGE, above=ABOVE, gap=12)  # fmt: skip

    # -- what stands behind

    def _ground(self, count: int) -> Iterator[Mark]:
        """The card as a column, and the further cards."""
        if self.show == BYTES:
            yield Rect(0, self.mark, 0, count, FAINT, edge=0)
        step = int(self.mark) if self.show == BYTES else over(int(self.last))[1]
        for at in range(step, int(self.last) + 1, step):
            yield Rule(x=at, look="grid")

    def _line(self, count: int) -> Iterator[Mark]:
        """The line over the rows, and the frame of the own row."""
        yield Rule(x=0, look="pole")
        yield Rule(x=self.mark, look="limit", above=4, crossed=True)
        if self.found.own is not None:
            at = self.found.lessons.index(self.found.lesson)
            left, right = 1 - NAMES, (self.width - NAMES) - 1
            yield Rect(left * self.pixel, right * self.pixel, at, at + 1, "limit", radius=5,
                       thick=PITCH - 2)  # fmt: skip

    def _heads(self) -> Iterator[Mark]:
        in_bytes = self.show == BYTES
        said = say("card", card=self.found.card) if in_bytes else say("paper", images=IMAGES)
        anchor, dx = ("end", 1) if in_bytes or self.mark > self.last / 2 else ("start", -1)
        yield Text(self.mark, 0, said, 12, anchor, dx=dx, dy=-9, bold=True)
        if self.wide and self.found.rows:
            yield Text(self.last, 0, say("table.time"), 12, dx=TIMES, dy=-9, bold=True)
            yield Text(self.last, 0, say("table.result"), 12, "end", dx=SIDE - 10, dy=-9, bold=True)

    # -- rows

    def _rows(self) -> Iterator[Mark]:
        for at, lesson in enumerate(self.found.lessons):
            row = self.found.rows.get(lesson)
            yield from self._name(at, lesson, row)
            if row is None:
                yield from self._missing(at, lesson)
                continue
            yield from self._bar(at, row)
            yield self._value(at, row)
            if self.wide:
                yield from self._price(at, row)
            yield self._target(at, row)

    def _name(self, at: int, lesson: str, row: Row | None) -> Iterator[Mark]:
        bold = lesson == self.found.lesson
        yield Text(0, at + 0.5, say(f"technique.{lesson}"), 13, dx=10 - NAMES, dy=4.5,
                   bold=bold, dim=row is None)  # fmt: skip

    def _missing(self, at: int, lesson: str) -> Iterator[Mark]:
        """A dotted line in the place of a bar, and where it will be drawn."""
        end, start = self._stub
        said = self.found.place(lesson)
        yield Line([(0, at + 0.5), (end, at + 0.5)], "before thin")
        yield Text(start, at + 0.5, said, 12, dx=10, dy=4, dim=True, chip=True)

    @cached_property
    def _stub(self) -> tuple[float, float]:
        """Where the dotted lines end, and where the texts begin: behind them, or on them where
        there is no room."""
        first = CARDS[0] * units.DECIMAL["GB"]
        near = self.show == FITS or self.found.budget <= 2 * first
        end = self.mark if near else first
        missing = [each for each in self.found.lessons if each not in self.found.rows]
        wide = max((texts.width(self.found.place(each), 12) for each in missing), default=0)
        return end, end if end + (wide + 12) * self.pixel <= self.last else 0

    def _target(self, at: int, row: Row) -> Mark:
        """What a row says on hover and focus, from one edge of the page to the other."""
        more = [*self.found.facts(row)[1:], *self.found.slices(row)]
        fact = Fact(f"{row.name}: {bytes_of(row.peak)}", more="; ".join(more))
        left, right = -NAMES * self.pixel, (self.width - NAMES) * self.pixel
        return Rect(left, right, at, at + 1, "target", fact=fact)

    def _bar(self, at: int, row: Row) -> Iterator[Mark]:
        """Its slices, or its images; and dashed what it is compared with."""
        if self.show == FITS:
            look = OWN if row is self.found.own else PLANNED
            yield Rect(0, row.fits(self.found.card), at, at + 1, look, thick=BAR)
            return
        start = 0
        for part, nbytes in row.parts.items():
            kept = nbytes - row.again if part == MAPS else nbytes
            for size, look in ((kept, paint(part)), (nbytes - kept, MADE)):
                if size:
                    yield Rect(start, start + size, at, at + 1, look, thick=BAR)
                start += size
            yield from self._inside(at, part, start - nbytes, start)
        if (outline := self.found.outline(row)) is not None:
            yield Rect(row.peak, outline, at, at + 1, "before", thick=BAR)

    def key(self) -> Iterator[tuple[Paint, str]]:
        """The roles whose slices can be seen."""
        rows = self.found.rows.values() if self.show == BYTES else ()
        for part in dict.fromkeys(part for row in rows for part in row.parts):
            if any(row.parts.get(part, 0) >= self.pixel for row in rows):
                yield paint(part), part.label

    def _inside(self, at: int, part: Part, start: int, end: int) -> Iterator[Mark]:
        """The name of a slice, beside the line of the card, where it has room."""
        room = texts.width(part.label, 12) + 12
        sides = ((start, min(end, self.mark)), (max(start, self.mark), end))
        for left, right in sorted(sides, key=lambda side: side[0] - side[1])[:1]:
            if (right - left) / self.pixel >= room:
                yield Text((left + right) / 2, at + 0.5, part.label, 12, "middle", dy=4, chip=True)

    def _value(self, at: int, row: Row) -> Mark:
        """Its bytes or images, right of the bar, across neither the line nor an outline."""
        in_bytes, fits = self.show == BYTES, row.fits(self.found.card)
        size = 16 if row is self.found.own else 13
        said, end = (three(row.peak), row.peak) if in_bytes else (f"{fits:,}", fits)
        outline = self.found.outline(row) if in_bytes else None
        edges = [edge for edge in (self.mark, outline) if edge and edge > end]
        room = (texts.width(said, size, True) + 14) * self.pixel
        clear = [x for x in (end, *sorted(edges)) if not any(x < edge < x + room for edge in edges)]
        return Text(clear[0], at + 0.5, said, size, dx=8, dy=0.36 * size, bold=True,
                    chip=True)  # fmt: skip

    def _price(self, at: int, row: Row) -> Iterator[Mark]:
        """Its time beside that of plain, and its result; the figure for the own row."""
        own, first = row is self.found.own, self.last + TIMES * self.pixel
        if row.time:
            end = first + PLAIN * self.pixel
            yield Rect(first, end, at, at + 1, "rule", thick=8)
            more = end + PLAIN * self.pixel * min(max(row.extra, 0), TWICE) / 100
            third = (more - end) / 3
            torn = [(end, end + 1.8 * third), (end + 2.2 * third, more)]
            for left, right in torn if row.extra > TWICE else [(end, more)]:
                if right > left:
                    yield Rect(left, right, at, at + 1, Paint("currentColor", 0.9), thick=8, edge=0)
            if own and round(row.extra, 1) and row.extra <= TWICE:
                yield Text(more, at + 0.5, row.time, 11, dx=6, dy=4, bold=True)
        yield Text(self.last, at + 0.5, row.result, 12, "end", dx=SIDE - 10, dy=4, bold=own)
