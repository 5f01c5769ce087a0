"""The running case of the course: a training step of ResNet-50, 256 images, on a card of 12 GB.

Each lesson has a technique, and each technique is applied to this one step alone, so that every row
shows the bytes that it saves by itself. In all rows but the first, each array is freed after its
last reader. Rows are planned, and their time is that of one card; ``measure`` runs the same
techniques on a network that is small enough for a lesson. The picture ends each lesson: a bar for
each technique, and the card that the step has to fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from memlab import hardware, strings, units
from memlab.assemble.step import training_step
from memlab.clocks import streams
from memlab.errors import known
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson import progress
from memlab.lesson.card_question import Purpose as Purpose
from memlab.lesson.card_question import topics
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
from memlab.pictures.values.number_text import percent, three_digits
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Role
from memlab.techniques import application_order
from memlab.techniques.registry import Applied, applied

if TYPE_CHECKING:
    from memlab.runtime.run import Run

IMAGES = 256
"""The mini-batch of the paper (He et al. 2015, arXiv 1512.03385, section 3.4)."""
LANES = 32
"""The mini-batch of lesson 05: each of 32 lanes has an image."""
HALVES = 2
"""Parts of the mini-batch of lesson 10."""
CARDS = (12, 24, 80)
"""Sizes of a card, in GB."""
SAME, ROUNDED, NORM, OTHER = "same", "rounded", "norm", "other"
"""Results of a row, beside the plain step: the same bit for bit, the same but for rounding, what
batch norm makes of a part at a time, or the step of another mini-batch."""
PIXELS, FEW = 64, 16
"""Pixels of an image, each way, and images of the small step."""
PITCH, BAR, ABOVE = 36, 22, 22
"""Pixels: from row to row, height of a bar, and room above the first row."""
NAMES, SIDE, EDGE = 176, 196, 78
"""Room for the names, for time and result where the page is not ``NARROW``, and where it is."""
NARROW = 700
TIMES, PLAIN = 12, 44
"""Pixels: from the end of the axis to the times, and that of the plain step."""
TWICE = 100
"""Most percent of added time that a bar has room for; a longer bar is torn, and its figure stands
in the title alone."""
FAINT, OWN = Paint("currentColor", 0.05), Paint("currentColor", 0.38)
"""The card; the bar of the own row where bars are images."""
BYTES, FITS = SHOWN = "bytes", "images"
MAPS = StackPart(Role.FEATURE_MAP, True)


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture with its values filled in."""
    return strings.get(f"case.{key}", **values)


# -- techniques, by the lesson that teaches them ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class CaseTechnique:
    """Technique of a lesson, applied to the plain step of the case.

    ``made_by`` returns the technique for a batch; None leaves the step plain. ``beside`` is the
    lesson whose row its bytes are compared with. The mini-batch has ``images``, which go through
    the network in ``parts``. ``runs`` is False for a technique without a kernel on a processor.
    """

    lesson: str
    made_by: Callable[[int], Applied] | None = None
    beside: str = "02"
    result: str = SAME
    images: int = IMAGES
    runs: bool = True
    parts: int = 1

    @property
    def batch(self) -> int:
        """Images in one part of the mini-batch, for which the step is planned."""
        return self.images // self.parts

    @property
    def call(self) -> str:
        """Line of code that applies the technique."""
        return self.made_by(self.batch).line() if self.made_by else "step"

    def make(self, step: Step, batch: int) -> Step:
        """Return the step with the technique applied, for a batch."""
        return self.made_by(batch)(step) if self.made_by else step


TECHNIQUES = {
    technique.lesson: technique
    for technique in (
        CaseTechnique("01", lambda _: applied("no_reuse"), ""),
        CaseTechnique("02", beside="01"),
        CaseTechnique("03", lambda _: applied("lowering", "im2col-batch")),
        CaseTechnique("04", lambda _: applied("lowering", "implicit-gemm"), runs=False),
        CaseTechnique("05", result=OTHER, images=LANES),
        CaseTechnique("06", lambda _: applied("precision", "mixed fp16"), result=ROUNDED),
        CaseTechnique("07", lambda _: applied("in_place")),
        CaseTechnique("08", lambda batch: applied("recompute", "chain", batch=batch)),
        CaseTechnique("09", lambda _: applied("offload", "all")),
        CaseTechnique("10", lambda _: applied("accumulate", HALVES), result=NORM, parts=HALVES),
    )
}
"""Techniques by lesson."""
ROWS = ("01", "02", "07", "06", "08", "09", "11")
"""The lessons of the rows from top to bottom, in the order of the course; each has its place."""
BESIDE = ("03", "04", "05", "10")
"""Lessons whose row comes last, in their own picture alone."""
LATER = ("11",)
"""Lessons that are not there yet."""
MACHINE = "rtx 4070"
"""Card of 12 GB whose time is given, with its link to the host as it is reached in practice."""
LESSONS = ("00", *sorted(TECHNIQUES))
ASKED_IN = {"01": "02"}
"""Rows that another lesson asks about: 02 asks for both of the first two, and 01 shows none."""
_NEEDED = {"00": (), "01": (), "07": ("01", "02", "07"), "08": ("01", "02", "07", "08"),
           "09": ("01", "02", "07", "08", "09")}  # fmt: skip


def lessons_drawn(lesson: str) -> tuple[str, ...]:
    """Return the lessons whose rows are drawn at the end of one: its own, and the
    lessons it needs."""
    return _NEEDED.get(lesson, tuple(dict.fromkeys(("01", "02", lesson))))


def lessons_passed(lesson: str) -> tuple[str, ...]:
    """Return earlier lessons that a lesson does not need: a reader may have done them, or not."""
    if lesson in BESIDE:
        return ()
    return tuple(
        earlier for earlier in ROWS if earlier < lesson and earlier not in lessons_drawn(lesson)
    )


# -- one row ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CaseRow:
    """A technique on the step of the case, planned, in exact bytes.

    ``parts`` are the bytes by role at the peak, in the order of a stack, and ``again`` the bytes of
    recomputed feature maps among them. ``peak_at`` is the operation of the peak. ``extra`` is the
    added time over the plain step by the clock of ``MACHINE``, in percent. ``workspace`` are the
    bytes of the largest workspace of an operation, ``host`` the peak bytes in the host's memory.
    """

    technique: CaseTechnique
    peak: int
    peak_at: str
    parts: dict[StackPart, int]
    again: int
    extra: float
    workspace: int
    host: int = 0

    @property
    def lesson(self) -> str:
        """Lesson that teaches the technique."""
        return self.technique.lesson

    @property
    def name(self) -> str:
        """Name of the technique: ``'recompute'``."""
        return text_of(f"technique.{self.lesson}")

    @property
    def time(self) -> str:
        """Added time over the plain step, ``'+32.8 %'``; empty for another mini-batch."""
        if self.technique.result == OTHER:
            return ""
        return f"{self.extra:+.{0 if self.extra >= 100 else 1}f} %"

    @property
    def result(self) -> str:
        """Result beside the plain step in a word: ``'same'``."""
        return text_of(f"result.{self.technique.result}")

    def fits(self, card: int) -> int:
        """Return the most images that a card of ``card`` GB holds; for another mini-batch, its own
        images."""
        if self.technique.result == OTHER:
            return self.technique.images
        return largest(self.lesson, card)


@cache
def plain() -> Step:
    """Return the step of the case: ResNet-50 v1.5, SGD with momentum, fp32."""
    return training_step(zoo.resnet50(), "momentum")


@cache
def _planned_step(lesson: str, batch: int) -> tuple[Step, Ledger]:
    step = TECHNIQUES[lesson].make(plain(), batch)
    return step, plan(step)


@cache
def row(lesson: str) -> CaseRow:
    """Return the row of a lesson.

    Raises:
        KeyError: the lesson has no technique.
    """
    technique = TECHNIQUES[lesson]
    batch = technique.batch
    step, ledger = _planned_step(lesson, batch)
    peak, parts, again = ledger.peak_at(batch), dict.fromkeys(STACK, 0), 0
    for entry in ledger.alive(peak.index):
        parts[StackPart(entry.role, False)] += entry.size.fixed
        parts[StackPart(entry.role, True)] += entry.size.per_sample * batch
        made_again = (
            entry.birth >= 0 and application_order.AGAIN in step.ops[entry.birth].attributes
        )
        if made_again and entry.role is Role.FEATURE_MAP and entry.size.per_sample:
            again += entry.size.at(batch)
    there = {part: nbytes for part, nbytes in parts.items() if nbytes}
    extra = 100 * (_seconds(step, batch) / _seconds(plain(), technique.images) - 1)
    spaces = (e.size.at(batch) for e in ledger.entries if e.role is Role.WORKSPACE)
    return CaseRow(technique, peak.nbytes, peak.row.name, there, again, extra,
                   max(spaces, default=0), ledger.peak(batch, HOST))  # fmt: skip


def _link_rate() -> str:
    """Return the bytes per second of the card's link as text: ``'25 GB/s'``."""
    return f"{hardware.find(MACHINE).wire.speed / units.DECIMAL['GB']:g} GB/s"


def _seconds(step: Step, batch: int) -> float:
    return streams.clock(step, batch, MACHINE).seconds


@cache
def largest(lesson: str, card: int) -> int:
    """Return the most images whose step fits into a card of ``card`` GB. A plan that holds for one
    batch only is made again, until one batch fits and the next does not."""
    budget, parts = card * units.DECIMAL["GB"], TECHNIQUES[lesson].parts
    _, ledger = _planned_step(lesson, IMAGES // parts)
    if ledger.batches is None:
        return parts * (ledger.fit(budget).batch or 0)
    low, high = 0, units.UNITS["TB"]
    guess = _batch_if_plan_held(ledger, budget)
    while high - low > 1:
        _, ledger = _planned_step(lesson, guess)
        low, high = (guess, high) if ledger.peak(guess) <= budget else (low, guess)
        guess = min(max(_batch_if_plan_held(ledger, budget), low + 1), high - 1)
    return low


def _batch_if_plan_held(ledger: Ledger, budget: int) -> int:
    """Return the most images that fit if this plan held for every batch."""
    lines = zip(*(column.tolist() for column in ledger.line()), strict=True)
    most = min((budget - fixed) // per_sample for fixed, per_sample in lines if per_sample)
    return max(1, int(most))


def bytes_of(nbytes: int) -> str:
    """Return bytes with three digits and with all: ``'6.42 GB = 6,420,810,980 B'``."""
    return f"{three_digits(nbytes)} = {units.exact(nbytes)}"


# -- what is drawn, in words -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CourseCase:
    """Content of the picture at the end of a ``lesson``, for a ``card`` of so many GB; ``also`` are
    further lessons whose rows are drawn."""

    lesson: str
    card: int = CARDS[0]
    also: tuple[str, ...] = ()

    @property
    def lessons(self) -> tuple[str, ...]:
        """Lessons of all rows, drawn or not, from top to bottom."""
        return (*ROWS, *(lesson for lesson in BESIDE if lesson == self.lesson))

    @property
    def rows(self) -> dict[str, CaseRow]:
        """Rows that are drawn, by lesson."""
        drawn = {*lessons_drawn(self.lesson), *self.also}
        return {lesson: row(lesson) for lesson in self.lessons if lesson in drawn}

    @property
    def own(self) -> CaseRow | None:
        """Row of the lesson itself; None if it has none."""
        return self.rows.get(self.lesson)

    @property
    def before(self) -> CaseRow | None:
        """Row that the lesson's own row is compared with; None without one."""
        return row(self.own.technique.beside) if self.own and self.own.technique.beside else None

    @property
    def budget(self) -> int:
        """Bytes of the card."""
        return self.card * units.DECIMAL["GB"]

    def cards(self, nbytes: int) -> str:
        """Return bytes as a multiple of the card: ``'1.84'``."""
        return f"{nbytes / self.budget:.{1 if nbytes > 3 * self.budget else 2}f}"

    def place(self, lesson: str) -> str:
        """Reason why a row is not drawn: ``'predict first, in lesson 08'``."""
        if lesson in LATER:
            return text_of("place.later")
        return text_of("place.first", lesson=ASKED_IN.get(lesson, lesson))

    # -- sentences

    @property
    def title(self) -> str:
        """Finding of the lesson's own row."""
        return text_of(f"title.{self.lesson}", **self._values)

    def sentence(self, in_bytes: bool) -> str:
        """Return the sentence on the costs of the lesson's own row and the images that fit; where
        bars are images, the sentence that explains them."""
        if in_bytes or not self.rows:
            return text_of(f"see.{self.lesson}", **self._values)
        return text_of("fit.see", card=self.card)

    def brief(self, in_bytes: bool) -> str:
        """Return the legend of the marks, for bars of bytes or of images."""
        dashed = [
            case_row.technique.beside for case_row in self.rows.values() if self.outline(case_row)
        ]
        name = text_of(f"technique.{dashed[0]}") if dashed else ""
        marks = {"few": bool(self.rows), "freed": len(self.rows) > 2,
                 "before": in_bytes and bool(dashed),
                 "again": in_bytes and "08" in self.rows,
                 "torn": "09" in self.rows}  # fmt: skip
        machine = hardware.find(MACHINE).title.partition(",")[0]
        return " ".join(
            text_of(f"note.{key}", name=name, machine=machine)
            for key, shown in marks.items()
            if shown
        )

    def outline(self, case_row: CaseRow) -> int | None:
        """Return the bytes that a row is compared with, if they are more than its own; None
        otherwise. The row in which nothing is freed is compared with lesson 02 alone, in its own
        picture."""
        compared = case_row.technique.beside
        if not compared or (compared == "01" and self.lesson != "02"):
            return None
        return row(compared).peak if row(compared).peak > case_row.peak else None

    @property
    def notes(self) -> list[str]:
        """Notes on the plan and on the card whose time is given."""
        lines = [text_of("note.step", images=IMAGES, machine=hardware.find(MACHINE).title)]
        lines += [text_of("note.chain")] if "08" in self.rows else []
        if "09" in self.rows:
            lines.append(
                text_of("note.link", link=_link_rate(), host=bytes_of(self.rows["09"].host))
            )
        return lines

    @property
    def fit_title(self) -> str:
        """Finding of the lesson's own row in images that fit."""
        if not self.own:
            return self.title
        values = {"images": f"{self.own.fits(self.card):,}", "card": self.card}
        if self.own.technique.result == OTHER:
            return text_of("fit.other", **values, most=f"{row('02').fits(self.card):,}")
        before = f"{self.before.fits(self.card):,}" if self.before else ""
        alike = self.before and before == values["images"]
        key = "alike" if alike else "before" if before else "first"
        return text_of(f"fit.{key}", **values, before=before)

    @property
    def _values(self) -> dict[str, object]:
        values: dict[str, object] = {"images": IMAGES, "card": self.card}
        if (own := self.own) is None:
            return values
        values |= {"peak": three_digits(own.peak), "fits": f"{own.fits(self.card):,}",
                   "cards": self.cards(own.peak), "space": three_digits(own.workspace),
                   "time": own.time.lstrip("+-"), "lanes": LANES}  # fmt: skip
        if (before := self.before) is not None:
            saved = percent(before.peak - own.peak, before.peak)
            values |= {"before": three_digits(before.peak), "saved": saved,
                       "most": f"{before.fits(self.card):,}", "at": before.peak_at}  # fmt: skip
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
        doc="the lesson that it ends, from ``'00'`` to ``'10'``",
        default=LESSONS[-1],
        check=lambda given: known("lesson", given, LESSONS),
        fixed=True,
        code="plain",
    )
    card = Select(CARDS, doc="the memory of the card in GB: 12, 24 or 80")
    show = Select(SHOWN, doc="``'bytes'`` of 256 images, or the most ``'images'`` that fit")
    also = Checkbox(
        doc="whether the rows of lessons are drawn too that come before, and that this one does "
        "not need: 06 at the end of 07 and 08",
        when=lambda now: bool({*lessons_passed(now.lesson)} - now.answered),
    )
    numbers = Checkbox(doc="whether all numbers are shown", argument=False, stays=True, key="KeyN")
    answered = Setting[frozenset[str]](
        doc="the lessons whose predictions the learner has answered: their rows are drawn too",
        default=frozenset(),
        argument=False,
        stays=True,
        stored=False,
    )
    done: Setting[SmallRuns | None] = Setting(
        doc="what the techniques used where they ran", argument=False, follows=["also"]
    )

    def reconcile(self, new: State, was: State | None) -> State:
        return new if was else new.replace(answered=answered())

    def study(self, now: State) -> CourseCase:
        also = lessons_passed(now.lesson) if now.also else ()
        return CourseCase(now.lesson, now.card, (*also, *sorted(now.answered)))

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


def answered() -> frozenset[str]:
    """Return the lessons whose predictions the learner has answered, by the progress file."""
    if progress.file() is None:
        return frozenset()
    cards: dict[str, list[str]] = {}
    for name, topic in topics().items():
        if topic.part is Purpose.PREDICT:
            cards.setdefault(name.partition(".")[0], []).append(name)
    return progress.lessons(cards)


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
        if self.wide and self.course_case.rows:
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
        """Yield the colours and names of the roles that are wide enough to be seen."""
        rows = self.course_case.rows.values() if self.show == BYTES else ()
        for part in dict.fromkeys(part for row in rows for part in row.parts):
            if any(row.parts.get(part, 0) >= self.pixel for row in rows):
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
            yield Rect(first, end, at, at + 1, "rule", thick=8)
            more = end + PLAIN * self.pixel * min(max(row.extra, 0), TWICE) / 100
            third = (more - end) / 3
            torn = [(end, end + 1.8 * third), (end + 2.2 * third, more)]
            for left, right in torn if row.extra > TWICE else [(end, more)]:
                if right > left:
                    yield Rect(left, right, at, at + 1, Paint("currentColor", 0.9), thick=8, edge=0)
            if own and round(row.extra, 1) and row.extra <= TWICE:
                yield ChartText(more, at + 0.5, row.time, 11, dx=6, dy=4, bold=True)
        yield ChartText(self.last, at + 0.5, row.result, 12, "end", dx=SIDE - 10, dy=4, bold=own)
