"""Picture of the running case: a training step of ResNet-50, 256 images, on a card of 12 GB.

It is shown under the answer of a card ``NN.case``: a bar for each lesson's technique, and the card
that the step has to fit. ``memlab.lesson.material.case_rows`` plans the rows; ``measure`` runs the
same techniques on a network that is small enough for a lesson.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from memlab import units
from memlab.assemble.step import training_step
from memlab.errors import known
from memlab.lesson import progress
from memlab.lesson.material.case_rows import (
    BESIDE,
    CARDS,
    IMAGES,
    LESSONS,
    OTHER,
    ROWS,
    TECHNIQUES,
    CaseRow,
    lessons_needed,
    link_rate,
    machine_name,
    row,
    text_of,
)
from memlab.networks import zoo
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Line, Mark, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale, over
from memlab.pictures.draw.table import PageBlock, Paragraphs, Table, Unnamed
from memlab.pictures.draw.theme import PLANNED, Paint, paint
from memlab.pictures.live.setting import Checkbox, Select, Setting, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.mountain.stack_parts import STACK, StackPart
from memlab.pictures.recompute import MADE
from memlab.pictures.values.number_text import three_digits
from memlab.step.tensor import Role

if TYPE_CHECKING:
    from memlab.runtime.run import Run

PIXELS, FEW = 64, 16
"""Pixels of an image, each way, and images of the small step."""
PITCH, BAR, ABOVE = 36, 22, 22
"""Pixels: from row to row, height of a bar, and room above the first row."""
NAMES, SIDE, EDGE = 176, 196, 78
"""Room for the names, for time and result where the page is not ``NARROW``, and where it is."""
NARROW = 700
TIMES, PLAIN = 12, 44
"""Pixels: from the end of the axis to the times, and that of the plain step."""
SEEN = 1
"""Fewest pixels of a slice whose role is named below the bars."""
TWICE = 100
"""Most percent of added time that a bar has room for; a longer bar is torn, and its figure stands
in the title alone."""
LAST = "10"
"""Lesson that is shown where none is named: the last one whose row needs no search."""
FAINT, OWN = Paint("currentColor", 0.05), Paint("currentColor", 0.38)
"""The card; the bar of the own row where bars are images."""
BYTES, FITS = SHOWN = "bytes", "images"
MAPS = StackPart(Role.FEATURE_MAP, True)


# -- what is drawn, in words -----------------------------------------------------------------------


def bytes_of(nbytes: int) -> str:
    """Return bytes with three digits and with all: ``'6.42 GB = 6,420,810,980 B'``."""
    return f"{three_digits(nbytes)} = {units.exact(nbytes)}"


@dataclass(frozen=True, eq=False)
class CourseCase:
    """Content of the picture at the end of a ``lesson``, for a ``card`` of so many GB.

    Its own row is drawn, with the row that it is compared with, and those of the lessons whose case
    the learner has ``answered``; where that is None, the rows of the lessons that it needs.
    """

    lesson: str
    card: int = CARDS[0]
    answered: frozenset[str] | None = None

    @property
    def lessons(self) -> tuple[str, ...]:
        """Lessons of all rows, drawn or not, from top to bottom."""
        return (*ROWS, *(lesson for lesson in BESIDE if lesson == self.lesson))

    @property
    def rows(self) -> dict[str, CaseRow]:
        """Rows that are drawn, by lesson."""
        known = lessons_needed(self.lesson) if self.answered is None else self.answered
        drawn = {self.lesson, TECHNIQUES[self.lesson].beside, *known}
        return {lesson: row(lesson) for lesson in self.lessons if lesson in drawn}

    @property
    def own(self) -> CaseRow:
        """Row of the lesson itself."""
        return row(self.lesson)

    @property
    def before(self) -> CaseRow | None:
        """Row that the lesson's own row is compared with; None without one."""
        beside = self.own.technique.beside
        return row(beside) if beside else None

    @property
    def budget(self) -> int:
        """Bytes of the card."""
        return self.card * units.DECIMAL["GB"]

    def cards(self, nbytes: int) -> str:
        """Return bytes as a multiple of the card: ``'1.84'``."""
        return f"{nbytes / self.budget:.{1 if nbytes > 3 * self.budget else 2}f}"

    def place(self, lesson: str) -> str:
        """Reason why a row is not drawn: ``'Predict it first in lesson 08.'``."""
        return text_of("place", lesson=lesson)

    # -- sentences

    @property
    def title(self) -> str:
        """Finding of the lesson's own row."""
        return text_of(f"title.{self.lesson}", **self._values)

    def sentence(self, in_bytes: bool) -> str:
        """Return the sentence on the costs of the lesson's own row and the images that fit; where
        bars are images, the sentence that explains them."""
        if in_bytes:
            return text_of(f"see.{self.lesson}", **self._values)
        return text_of("fit.see", card=self.card)

    def brief(self, in_bytes: bool) -> str:
        """Return the legend of the marks, for bars of bytes or of images."""
        dashed = [
            case_row.technique.beside for case_row in self.rows.values() if self.outline(case_row)
        ]
        name = text_of(f"technique.{dashed[0]}") if dashed else ""
        marks = {"few": True, "freed": len(self.rows) > 2, "together": "11" in self.rows,
                 "before": in_bytes and bool(dashed),
                 "again": in_bytes and "08" in self.rows, "torn": "09" in self.rows}  # fmt: skip
        values = {"name": name, "machine": machine_name()}
        return " ".join(text_of(f"note.{key}", **values) for key, shown in marks.items() if shown)

    def outline(self, case_row: CaseRow) -> int | None:
        """Return the bytes that a row is compared with, if they are drawn and more than its own;
        None otherwise. The row in which nothing is freed is compared with that of lesson 02 alone,
        in its picture."""
        compared = case_row.technique.beside
        if compared not in self.rows or (compared == "00" and self.lesson != "02"):
            return None
        return row(compared).peak if row(compared).peak > case_row.peak else None

    @property
    def notes(self) -> list[str]:
        """Notes on the plan and on the card whose time is given."""
        lines = [text_of("note.step", images=IMAGES, machine=machine_name())]
        lines += [text_of("note.chain")] if "08" in self.rows else []
        if "09" in self.rows:
            host = bytes_of(self.rows["09"].host)
            lines.append(text_of("note.link", link=link_rate(), host=host))
        return lines

    @property
    def fit_title(self) -> str:
        """Finding of the lesson's own row in images that fit."""
        most = f"{self.own.fits(self.card):,}"
        if self.own.technique.result == OTHER:
            return text_of("fit.other", images=self.own.technique.images, most=most)
        values = {"images": most, "card": self.card}
        before = f"{self.before.fits(self.card):,}" if self.before else ""
        alike = self.before and before == values["images"]
        key = "alike" if alike else "before" if before else "first"
        return text_of(f"fit.{key}", **values, before=before)

    @property
    def _values(self) -> dict[str, object]:
        own = self.own
        values: dict[str, object] = {
            "images": own.technique.images, "card": self.card, "peak": three_digits(own.peak),
            "fits": f"{own.fits(self.card):,}", "cards": self.cards(own.peak),
            "space": three_digits(own.workspace), "time": own.time_size,
        }  # fmt: skip
        if (before := self.before) is not None:
            values |= {"before": three_digits(before.peak), "at": before.peak_at,
                       "most": f"{before.fits(self.card):,}"}  # fmt: skip
        return values

    # -- cells

    def facts(self, case_row: CaseRow) -> list[str]:
        """Return a row in sentences, with exact bytes."""
        values = {"name": case_row.name, "bytes": bytes_of(case_row.peak), "card": self.card,
                  "cards": self.cards(case_row.peak), "call": case_row.technique.call,
                  "images": f"{case_row.fits(self.card):,}", "result": case_row.result,
                  "time": case_row.time}  # fmt: skip
        other = case_row.technique.result == OTHER
        lines = [text_of("row.bytes", **values)]
        lines += [text_of("row.time", **values)] if case_row.time else []
        return [*lines, text_of("row.other" if other else "row.fits", **values)]

    def slices(self, case_row: CaseRow) -> list[str]:
        """Return the bytes by role of a row at its peak: ``'feature maps 21,477,146,116 B'``."""
        return [f"{part.label} {units.exact(nbytes)}" for part, nbytes in case_row.parts.items()]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads and cells of a table with a line for each row that is drawn."""
        keys = ("technique", "lesson", "bytes", "fits", "time", "result")
        heads = [text_of(f"table.{key}") for key in keys]
        rows = [
            [case_row.name, lesson, f"{case_row.peak:,}",
             f"{case_row.fits(self.card):,}", case_row.time, case_row.result]
            for lesson, case_row in self.rows.items()
        ]  # fmt: skip
        return heads, rows

    def stack(self, most: int) -> Iterator[tuple[list[str], list[list[str]]]]:
        """Yield tables of the bytes by role at the peak, a column for each row that is drawn, at
        most ``most`` columns in one table."""
        drawn = list(self.rows.values())
        parts = [part for part in STACK if any(part in drawn_row.parts for drawn_row in drawn)]
        for first in range(0, len(drawn), most):
            some = drawn[first : first + most]
            heads = [text_of("table.bytes"), *(drawn_row.name for drawn_row in some)]
            cells = [[f"{drawn_row.parts.get(part, 0):,}" for drawn_row in some] for part in parts]
            yield heads, [[part.label, *row] for part, row in zip(parts, cells, strict=True)]


# -- at the size of a lesson -----------------------------------------------------------------------


@dataclass(frozen=True)
class SmallRun:
    """A technique run on the small step: planned and measured peak bytes, the largest residual, and
    whether the parameters are those of the plain step bit for bit (``same``)."""

    lesson: str
    planned: int
    measured: int
    residual: int
    same: bool


@dataclass(frozen=True)
class SmallRuns:
    """Runs of techniques on the small step."""

    network: str
    runs: tuple[SmallRun, ...]

    @property
    def held(self) -> bool:
        """True if every run used exactly the planned bytes."""
        return all(not small.residual and small.planned == small.measured for small in self.runs)

    def lines(self) -> list[str]:
        """Return a sentence on all runs, and a line for each."""
        key = "held" if self.held else "missed"
        head = text_of(f"small.{key}", network=self.network, pixels=PIXELS, images=FEW)
        return [head, *(_line(small) for small in self.runs)]


def _line(small_run: SmallRun) -> str:
    result = text_of(f"small.{'same' if small_run.same else 'unlike'}")
    planned, used = units.exact(small_run.planned), units.exact(small_run.measured)
    name = text_of(f"technique.{small_run.lesson}")
    return text_of("small.line", name=name, planned=planned, measured=used, result=result)


def measured(lessons: tuple[str, ...]) -> SmallRuns:
    """Run the techniques of some lessons on a small ResNet, and compare their bytes with their
    plans.

    Raises:
        DoesNotFitError: 250 MB are not free.
    """
    from memlab.runtime.run import run  # compiled code: who runs nothing needs none

    net = zoo.resnet((1, 1, 1, 1), image=PIXELS, classes=10)
    step = training_step(net, "momentum")
    chosen = [TECHNIQUES[lesson] for lesson in lessons if TECHNIQUES[lesson].runs]
    batches = {
        technique.lesson: FEW // (8 if technique.result == OTHER else technique.parts)
        for technique in chosen
    }
    steps = {
        technique.lesson: technique.make(step, batches[technique.lesson]) for technique in chosen
    }
    done = {lesson: run(steps[lesson], batches[lesson], progress=False) for lesson in steps}
    expected = _parameter_bytes(done.get("02") or run(step, FEW, progress=False))
    runs = (
        SmallRun(lesson, ran.planned.peak(ran.batch), ran.peak, ran.residual,
                 _parameter_bytes(ran) == expected)
        for lesson, ran in done.items()
    )  # fmt: skip
    return SmallRuns(net.label, tuple(runs))


def _parameter_bytes(done: Run) -> tuple[bytes, ...]:
    return tuple(parameter.tobytes() for parameter in done.parameters.values())


# -- the view --------------------------------------------------------------------------------------


class OneCase(View[CourseCase]):
    r"""Picture of the running case: the bytes of ResNet-50 with 256 images under each lesson's
    technique alone, beside one card.

    ``view.rows`` has the exact figures; ``view.measure()`` runs the same techniques on a network
    that is small enough for a lesson.

    >>> from memlab import views
    >>> views.case("02").rows.own.peak
    22049672420
    """

    name, made_by = "case", "case"
    positional = ("lesson",)
    picture_keys = ("KeyB",)

    lesson = Setting(
        doc="the lesson whose row is its own, from ``'00'`` to ``'11'``; ``'01'`` has none",
        default=LAST,
        check=lambda given: known("lesson", given, LESSONS),
        fixed=True,
        code="plain",
    )
    card = Select(CARDS, doc="the memory of the card in GB: 12, 24 or 80")
    show = Select(SHOWN, doc="``'bytes'`` of 256 images, or the most ``'images'`` that fit")
    numbers = Checkbox(doc="whether all numbers are shown", argument=False, stays=True, key="KeyN")
    answered = Setting[frozenset[str] | None](
        doc="the lessons whose case the learner has answered: their rows are drawn too",
        default=None,
        argument=False,
        stays=True,
    )
    done: Setting[SmallRuns | None] = Setting(
        doc="what the techniques used where they ran", argument=False
    )

    def reconcile(self, new: State, was: State | None) -> State:
        return new if was else new.replace(answered=answered())

    def study(self, now: State) -> CourseCase:
        return CourseCase(now.lesson, now.card, now.answered)

    def outline_key(self, now: State) -> object:
        return now.lesson  # its outlines are those of the course, not of what was chosen before

    def test_state(self, now: State) -> str:
        peaks = [f"{lesson}={row.peak}" for lesson, row in self.rows_of(now).rows.items()]
        return "|".join([now.lesson, str(now.card), now.show, *peaks])

    def says(self, scene: PageState) -> str:
        rows, in_bytes = self.rows_of(scene.now), scene.now.show == BYTES
        return f"{rows.title if in_bytes else rows.fit_title}. {rows.sentence(in_bytes)}"

    def buttons(self, now: State) -> Mapping[str, str]:
        return {"small": "small", "start": "start", "copy": "copy"}

    def on_action(self, now: State, name: str, value: object) -> State | None:
        if name == "small":
            return now.replace(done=measured(tuple(self.rows_of(now).rows)))
        if (name, value) == ("key", "KeyB"):
            return self.changed(now, show=SHOWN[now.show == BYTES])
        return None

    def measure(self) -> SmallRuns:
        """Run the techniques that are drawn on a small ResNet, and show planned and measured.

        Raises:
            DoesNotFitError: 250 MB are not free.
        """
        done = measured(tuple(self.rows.rows))
        self._set(done=done)
        return done

    def compose(self, scene: PageState) -> Page:
        now, rows, in_bytes = scene.now, self.rows_of(scene.now), scene.now.show == BYTES
        bars = CaseBars(rows, now.show, scene.width)
        blocks: list[PageBlock] = [
            Paragraphs(rows.title if in_bytes else rows.fit_title, 20, bold=True, gap=3),
            Paragraphs(rows.sentence(in_bytes), 14),
            bars.chart(),
            Unnamed(list(bars.key()), gap=4),
            Paragraphs(rows.brief(in_bytes), 12, dim=True),
            Paragraphs(_rows_in_words(rows), drawn=False, gap=8),
            Paragraphs(now.done.lines() if now.done else "", 12, gap=8),
            Paragraphs(rows.notes, 11, dim=True, drawn=now.numbers, gap=8),
            *_tables(rows, 5 if scene.width >= NARROW else 3, now.numbers),
        ]
        return Page(rows.title, blocks, scene.width, self.says(scene), titled=False)


case = maker(OneCase)


def answered() -> frozenset[str] | None:
    """Return the lessons whose case the learner has answered; None where no progress is stored."""
    if progress.file() is None:
        return None
    return progress.lessons({lesson: [f"{lesson}.case"] for lesson in LESSONS})


def _rows_in_words(course_case: CourseCase) -> list[str]:
    """Return every row in words: the facts of a drawn row, or the reason why a row is not drawn."""
    lines = []
    for lesson in course_case.lessons:
        if (row := course_case.rows.get(lesson)) is None:
            name = text_of(f"technique.{lesson}")
            lines.append(text_of("not_yet", name=name, place=course_case.place(lesson)))
            continue
        outline = course_case.outline(row)
        before = [text_of("plain", bytes=bytes_of(outline))] if outline else []
        lines.append(" ".join([f"{'; '.join(course_case.facts(row))}.", *before]))
    return lines


def _tables(course_case: CourseCase, most: int, drawn: bool) -> Iterator[Table]:
    """Yield the tables of all numbers: of the rows, and of the bytes by role at their peaks."""
    heads, cells = course_case.table()
    if cells:
        yield Table(heads, cells, "<<>>><", drawn=drawn, gap=8)
    for names, parts in course_case.stack(most):
        yield Table(names, parts, "<" + ">" * most, drawn=drawn, gap=8)


# -- the bars --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CaseBars:
    """Chart of the rows as bars, in bytes or in images; one unit of x is a byte, or an image."""

    course_case: CourseCase
    show: str
    width: float

    @property
    def wide(self) -> bool:
        """True if there is room for time and result."""
        return self.width >= NARROW

    @cached_property
    def last(self) -> float:
        """End of the axis: in bytes, room for the largest card, so that it is the same for all
        cards."""
        if self.show == BYTES:
            return 1.01 * max(CARDS) * units.DECIMAL["GB"]
        most = max(
            (row.fits(self.course_case.card) for row in self.course_case.rows.values()), default=0
        )
        return 1.2 * max(most, IMAGES)

    @cached_property
    def pixel(self) -> float:
        """Bytes or images per pixel."""
        return self.last / (self.width - NAMES - (SIDE if self.wide else EDGE))

    @property
    def mark(self) -> float:
        """Position of the line across all rows: the card's bytes, or the images of the paper."""
        return self.course_case.budget if self.show == BYTES else IMAGES

    def chart(self) -> Chart:
        """Return the whole chart."""
        count = len(self.course_case.lessons)
        marks = [*self._ground(count), *self._heads(), *self._rows(), *self._line(count)]
        return Chart(Scale(0, self.last), Scale(count, 0), marks, PITCH * count, left=NAMES,
                     right=SIDE if self.wide else EDGE, above=ABOVE, gap=12)  # fmt: skip

    # -- what stands behind

    def _ground(self, count: int) -> Iterator[Mark]:
        """Yield marks for the background: the card as a column, and a line for
        each further card."""
        if self.show == BYTES:
            yield Rect(0, self.mark, 0, count, FAINT, edge=0)
        step = int(self.mark) if self.show == BYTES else over(int(self.last))[1]
        for at in range(step, int(self.last) + 1, step):
            yield Rule(x=at, look="grid")

    def _line(self, count: int) -> Iterator[Mark]:
        """Yield marks for the lines over the rows, and the frame of the lesson's own row."""
        yield Rule(x=0, look="pole")
        yield Rule(x=self.mark, look="limit", above=4, crossed=True)
        if self.course_case.own is not None:
            at = self.course_case.lessons.index(self.course_case.lesson)
            left, right = 1 - NAMES, (self.width - NAMES) - 1
            yield Rect(left * self.pixel, right * self.pixel, at, at + 1, "limit", radius=5,
                       thick=PITCH - 2)  # fmt: skip

    def _heads(self) -> Iterator[Mark]:
        in_bytes = self.show == BYTES
        heading = (
            text_of("card", card=self.course_case.card)
            if in_bytes
            else text_of("paper", images=IMAGES)
        )
        anchor, dx = ("end", 1) if in_bytes or self.mark > self.last / 2 else ("start", -1)
        yield ChartText(self.mark, 0, heading, 12, anchor, dx=dx, dy=-9, bold=True)
        if self.wide:
            yield ChartText(self.last, 0, text_of("table.time"), 12, dx=TIMES, dy=-9, bold=True)
            yield ChartText(
                self.last, 0, text_of("table.result"), 12, "end", dx=SIDE - 10, dy=-9, bold=True
            )

    # -- rows

    def _rows(self) -> Iterator[Mark]:
        for at, lesson in enumerate(self.course_case.lessons):
            row = self.course_case.rows.get(lesson)
            yield from self._name(at, lesson, row)
            if row is None:
                yield from self._missing(at, lesson)
                continue
            yield from self._bar(at, row)
            yield self._value(at, row)
            if self.wide:
                yield from self._price(at, row)
            yield self._target(at, row)

    def _name(self, at: int, lesson: str, row: CaseRow | None) -> Iterator[Mark]:
        bold = lesson == self.course_case.lesson
        yield ChartText(0, at + 0.5, text_of(f"technique.{lesson}"), 13, dx=10 - NAMES, dy=4.5,
                   bold=bold, dim=row is None)  # fmt: skip

    def _missing(self, at: int, lesson: str) -> Iterator[Mark]:
        """Yield marks for a dotted line in the place of a row that is not drawn, and the lesson
        that will draw it."""
        end, start = self._stub
        reason = self.course_case.place(lesson)
        yield Line([(0, at + 0.5), (end, at + 0.5)], "before thin")
        yield ChartText(start, at + 0.5, reason, 12, dx=10, dy=4, dim=True, chip=True)

    @cached_property
    def _stub(self) -> tuple[float, float]:
        """End of the dotted lines, and start of their texts: behind the lines, or on them if there
        is no room."""
        first = CARDS[0] * units.DECIMAL["GB"]
        near = self.show == FITS or self.course_case.budget <= 2 * first
        end = self.mark if near else first
        missing = [
            lesson for lesson in self.course_case.lessons if lesson not in self.course_case.rows
        ]
        wide = max(
            (texts.width(self.course_case.place(lesson), 12) for lesson in missing), default=0
        )
        return end, end if end + (wide + 12) * self.pixel <= self.last else 0

    def _target(self, at: int, row: CaseRow) -> Mark:
        """Return the target that describes a row on hover and focus, as wide as the page."""
        more = [*self.course_case.facts(row)[1:], *self.course_case.slices(row)]
        fact = Fact(f"{row.name}: {bytes_of(row.peak)}", more="; ".join(more))
        left, right = -NAMES * self.pixel, (self.width - NAMES) * self.pixel
        return Rect(left, right, at, at + 1, "target", fact=fact)

    def _bar(self, at: int, row: CaseRow) -> Iterator[Mark]:
        """Yield marks for the bar of a row, by role or in images, and a dashed outline of the row
        it is compared with."""
        if self.show == FITS:
            look = OWN if row is self.course_case.own else PLANNED
            yield Rect(0, row.fits(self.course_case.card), at, at + 1, look, thick=BAR)
            return
        start = 0
        for part, nbytes in row.parts.items():
            plain_bytes = nbytes - row.again if part == MAPS else nbytes
            for size, look in ((plain_bytes, paint(part)), (nbytes - plain_bytes, MADE)):
                if size:
                    yield Rect(start, start + size, at, at + 1, look, thick=BAR)
                start += size
            yield from self._inside(at, part, start - nbytes, start)
        if (outline := self.course_case.outline(row)) is not None:
            yield Rect(row.peak, outline, at, at + 1, "before", thick=BAR)

    def key(self) -> Iterator[tuple[Paint, str]]:
        """Yield the colours and names of the roles that are wide enough to be told apart."""
        rows = self.course_case.rows.values() if self.show == BYTES else ()
        for part in dict.fromkeys(part for drawn in rows for part in drawn.parts):
            if any(drawn.parts.get(part, 0) >= SEEN * self.pixel for drawn in rows):
                yield paint(part), part.label

    def _inside(self, at: int, part: StackPart, start: int, end: int) -> Iterator[Mark]:
        """Yield marks for the name of a role inside its slice, clear of the line of the card, if
        there is room."""
        room = texts.width(part.label, 12) + 12
        sides = ((start, min(end, self.mark)), (max(start, self.mark), end))
        for left, right in sorted(sides, key=lambda side: side[0] - side[1])[:1]:
            if (right - left) / self.pixel >= room:
                yield ChartText(
                    (left + right) / 2, at + 0.5, part.label, 12, "middle", dy=4, chip=True
                )

    def _value(self, at: int, row: CaseRow) -> Mark:
        """Return the bytes or images of a row as text right of its bar, clear of lines and
        outlines."""
        in_bytes, fits = self.show == BYTES, row.fits(self.course_case.card)
        size = 16 if row is self.course_case.own else 13
        text, end = (three_digits(row.peak), row.peak) if in_bytes else (f"{fits:,}", fits)
        outline = self.course_case.outline(row) if in_bytes else None
        edges = [edge for edge in (self.mark, outline) if edge and edge > end]
        room = (texts.width(text, size, True) + 14) * self.pixel
        clear = [x for x in (end, *sorted(edges)) if not any(x < edge < x + room for edge in edges)]
        return ChartText(clear[0], at + 0.5, text, size, dx=8, dy=0.36 * size, bold=True,
                    chip=True)  # fmt: skip

    def _price(self, at: int, row: CaseRow) -> Iterator[Mark]:
        """Yield marks for the time of a row beside that of the plain step, and its result; only the
        lesson's own row has its time in digits."""
        own, first = row is self.course_case.own, self.last + TIMES * self.pixel
        if row.time:
            end = first + PLAIN * self.pixel
            fewer = end + PLAIN * self.pixel * min(row.extra, 0) / 100
            yield Rect(first, fewer, at, at + 1, "rule", thick=8)
            if fewer < end:
                yield Rect(fewer, end, at, at + 1, "before", thick=8)
            more = end + PLAIN * self.pixel * min(max(row.extra, 0), TWICE) / 100
            third = (more - end) / 3
            torn = [(end, end + 1.8 * third), (end + 2.2 * third, more)]
            for left, right in torn if row.extra > TWICE else [(end, more)]:
                if right > left:
                    yield Rect(left, right, at, at + 1, Paint("currentColor", 0.9), thick=8, edge=0)
            if own and round(row.extra, 1) and row.extra <= TWICE:
                yield ChartText(more, at + 0.5, row.time, 11, dx=6, dy=4, bold=True)
        yield ChartText(self.last, at + 0.5, row.result, 12, "end", dx=SIDE - 10, dy=4, bold=own)
