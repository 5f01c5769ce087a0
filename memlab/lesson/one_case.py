"""The one case of the course: a training step of ResNet-50, 256 images, on a card of 12 GB.

Each lesson has a technique, and each technique makes this one step again, without the others: so
that every row shows what it takes away by itself. In all but the first row, what nobody reads again
is freed. Rows are planned, and their time is that of one card; ``small_case`` runs the same
techniques on a network that is small enough for a lesson.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from memlab import hardware, strings, units
from memlab.build.step import training_step
from memlab.clocks import streams
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.networks import zoo
from memlab.pictures.mountain.stack_parts import STACK, Part
from memlab.pictures.values.number_text import percent, three
from memlab.pictures.values.study import Study
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Role
from memlab.techniques import order
from memlab.techniques.registry import Use, use

IMAGES = 256
"""The mini-batch of the paper (He et al. 2015, arXiv 1512.03385, section 3.4)."""
LANES = 32
"""The mini-batch of lesson 05: each of 32 lanes has an image."""
HALVES = 2
"""Parts of the mini-batch of lesson 10."""
CARDS = (12, 24, 80)
"""Of memory on a card, in GB."""
SAME, ROUNDED, NORM, OTHER = "same", "rounded", "norm", "other"
"""What a row computes, beside the plain step: the same bit for bit, the same but for rounding, what
batch norm makes of a part at a time, or the step of another mini-batch."""


def say(key: str, **values: object) -> str:
    """A text of this picture."""
    return strings.get(f"case.{key}", **values)


# -- techniques, by the lesson that teaches them ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Technique:
    """What a lesson makes of the plain step, by a technique (``made_by``) or as it is. ``beside``
    is the lesson that its bytes are compared with. It has ``images`` in a mini-batch, which goes
    through the network in ``parts``. What has no kernel on a processor does not run (``runs``)."""

    lesson: str
    made_by: Callable[[int], Use] | None = None
    beside: str = "02"
    result: str = SAME
    images: int = IMAGES
    runs: bool = True
    parts: int = 1

    @property
    def batch(self) -> int:
        """Images of a part, for which the step is planned."""
        return self.images // self.parts

    @property
    def call(self) -> str:
        """How it is written."""
        return self.made_by(self.batch).line() if self.made_by else "step"

    def make(self, step: Step, batch: int) -> Step:
        """The step at a batch."""
        return self.made_by(batch)(step) if self.made_by else step


TECHNIQUES = {
    each.lesson: each
    for each in (
        Technique("01", lambda _: use("no_reuse"), ""),
        Technique("02", beside="01"),
        Technique("03", lambda _: use("lowering", "im2col-batch")),
        Technique("04", lambda _: use("lowering", "implicit-gemm"), runs=False),
        Technique("05", result=OTHER, images=LANES),
        Technique("06", lambda _: use("precision", "mixed fp16"), result=ROUNDED),
        Technique("07", lambda _: use("in_place")),
        Technique("08", lambda batch: use("recompute", "chain", batch=batch)),
        Technique("09", lambda _: use("offload", "all")),
        Technique("10", lambda _: use("accumulate", HALVES), result=NORM, parts=HALVES),
    )
}
"""By lesson."""
ROWS = ("01", "02", "07", "06", "08", "09", "11")
"""The lessons of the rows from top to bottom, in the order of the course; each has its place."""
BESIDE = ("03", "04", "05", "10")
"""Lessons whose row comes last, in their own picture alone."""
LATER = ("11",)
"""Lessons that are not there yet."""
MACHINE, LINK = "titan x", "12 GB/s"
"""Whose time is told: a card of that memory, and PCIe 3.0 with 16 lanes, as it is reached."""
LESSONS = ("00", *sorted(TECHNIQUES))
ASKED_IN = {"01": "02"}
"""Rows that another lesson asks about: 02 asks for both of the first two, and 01 shows none."""
_NEEDED = {"00": (), "01": (), "07": ("01", "02", "07"), "08": ("01", "02", "07", "08"),
           "09": ("01", "02", "07", "08", "09")}  # fmt: skip


def done(lesson: str) -> tuple[str, ...]:
    """The lessons whose rows are drawn at the end of one: its own, and what it needs."""
    return _NEEDED.get(lesson, tuple(dict.fromkeys(("01", "02", lesson))))


def passed(lesson: str) -> tuple[str, ...]:
    """Lessons that come before one by their number, and that it does not need: a reader may have
    had them, or not."""
    if lesson in BESIDE:
        return ()
    return tuple(each for each in ROWS if each < lesson and each not in done(lesson))


# -- one row ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A technique on the step, planned, in exact bytes.

    ``parts`` are the slices at the peak, in the order of a stack, and ``again`` those of their
    bytes that were made again. ``peak_at`` is the operation of the peak. ``extra`` is how much
    more time than the plain step it takes by the clock of ``MACHINE``, in percent. ``workspace``
    are the bytes of the largest workspace of an operation, ``host`` those that wait in the host's
    memory.
    """

    technique: Technique
    peak: int
    peak_at: str
    parts: dict[Part, int]
    again: int
    extra: float
    workspace: int
    host: int = 0

    @property
    def lesson(self) -> str:
        """The lesson that teaches it."""
        return self.technique.lesson

    @property
    def name(self) -> str:
        """``'recompute'``."""
        return say(f"technique.{self.lesson}")

    @property
    def time(self) -> str:
        """``'+32.8 %'``; empty for another mini-batch."""
        if self.technique.result == OTHER:
            return ""
        return f"{self.extra:+.{0 if self.extra >= 100 else 1}f} %"

    @property
    def result(self) -> str:
        """``'same'``."""
        return say(f"result.{self.technique.result}")

    def fits(self, card: int) -> int:
        """The most images that a card of so many GB holds; the batch of another mini-batch is
        given."""
        if self.technique.result == OTHER:
            return self.technique.images
        return largest(self.lesson, card)


@cache
def plain() -> Step:
    """The step of the case: ResNet-50 v1.5, SGD with momentum, fp32."""
    return training_step(zoo.resnet50(), "momentum")


@cache
def _made(lesson: str, batch: int) -> tuple[Step, Ledger]:
    step = TECHNIQUES[lesson].make(plain(), batch)
    return step, plan(step)


@cache
def row(lesson: str) -> Row:
    """The row of a lesson.

    Raises:
        KeyError: a lesson that has no technique.
    """
    technique = TECHNIQUES[lesson]
    batch = technique.batch
    step, ledger = _made(lesson, batch)
    peak = ledger.peak_at(batch)
    extra = 100 * (_seconds(step, batch) / _seconds(plain(), technique.images) - 1)
    spaces = (e.size.at(batch) for e in ledger.entries if e.role is Role.WORKSPACE)
    return Row(technique, peak.nbytes, peak.row.name, _parts(ledger, batch),
               _again(step, ledger, batch), extra, max(spaces, default=0),
               ledger.peak(batch, HOST))  # fmt: skip


def _seconds(step: Step, batch: int) -> float:
    return streams.clock(step, batch, MACHINE, LINK).seconds


def _parts(ledger: Ledger, batch: int) -> dict[Part, int]:
    """The slices of the stack that are there at the peak."""
    found = dict.fromkeys(STACK, 0)
    for entry in ledger.alive(ledger.peak_at(batch).index):
        found[Part(entry.role, False)] += entry.size.fixed
        found[Part(entry.role, True)] += entry.size.per_sample * batch
    return {part: nbytes for part, nbytes in found.items() if nbytes}


def _again(step: Step, ledger: Ledger, batch: int) -> int:
    """The bytes of feature maps at the peak that an operation has made again."""
    made = [order.AGAIN in op.attributes for op in step.ops]
    alive = ledger.alive(ledger.peak_at(batch).index)
    maps = (e for e in alive if e.role is Role.FEATURE_MAP and e.size.per_sample)
    return sum(e.size.at(batch) for e in maps if e.birth >= 0 and made[e.birth])


@cache
def largest(lesson: str, card: int) -> int:
    """The most images whose step fits into a card of so many GB. A plan that holds for one batch
    is made again, until one fits and the next does not."""
    budget, parts = card * units.DECIMAL["GB"], TECHNIQUES[lesson].parts
    _, ledger = _made(lesson, IMAGES // parts)
    if ledger.batches is None:
        return parts * (ledger.fit(budget).batch or 0)
    low, high = 0, units.UNITS["TB"]
    guess = _guess(ledger, budget)
    while high - low > 1:
        _, ledger = _made(lesson, guess)
        low, high = (guess, high) if ledger.peak(guess) <= budget else (low, guess)
        guess = min(max(_guess(ledger, budget), low + 1), high - 1)
    return low


def _guess(ledger: Ledger, budget: int) -> int:
    """The most images if this plan held for every batch."""
    lines = zip(*(each.tolist() for each in ledger.line()), strict=True)
    most = min((budget - fixed) // each for fixed, each in lines if each)
    return max(1, int(most))


def bytes_of(nbytes: int) -> str:
    """``'6.42 GB = 6,420,810,980 B'``."""
    return f"{three(nbytes)} = {units.exact(nbytes)}"


# -- the picture -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case(Study):
    """The case at the end of a ``lesson``, on a ``card`` of so many GB; ``also`` are further
    lessons whose rows are drawn."""

    lesson: str
    card: int = CARDS[0]
    also: tuple[str, ...] = ()

    @property
    def lessons(self) -> tuple[str, ...]:
        """Of all rows, drawn or not, from top to bottom."""
        return (*ROWS, *(each for each in BESIDE if each == self.lesson))

    @property
    def rows(self) -> dict[str, Row]:
        """Those that are drawn, by lesson."""
        drawn = {*done(self.lesson), *self.also}
        return {each: row(each) for each in self.lessons if each in drawn}

    @property
    def own(self) -> Row | None:
        """That of the lesson."""
        return self.rows.get(self.lesson)

    @property
    def before(self) -> Row | None:
        """What the own row is compared with."""
        return row(self.own.technique.beside) if self.own and self.own.technique.beside else None

    @property
    def budget(self) -> int:
        """The bytes of the card."""
        return self.card * units.DECIMAL["GB"]

    def cards(self, nbytes: int) -> str:
        """``'1.84'``."""
        return f"{nbytes / self.budget:.{1 if nbytes > 3 * self.budget else 2}f}"

    def place(self, lesson: str) -> str:
        """Why a row is not drawn, and where it will be: ``'predict first, in lesson 08'``."""
        if lesson in LATER:
            return say("place.later")
        return say("place.first", lesson=ASKED_IN.get(lesson, lesson))

    # -- sentences

    @property
    def title(self) -> str:
        """What the own row shows."""
        return say(f"title.{self.lesson}", **self._values)

    @property
    def sentences(self) -> list[str]:
        """What it costs, and how many images fit."""
        return [say(f"see.{self.lesson}", **self._values)]

    def brief(self, in_bytes: bool) -> str:
        """What the marks are, where bars are bytes or images."""
        dashed = [each.technique.beside for each in self.rows.values() if self.outline(each)]
        name = say(f"technique.{dashed[0]}") if dashed else ""
        marks = {"few": bool(self.rows), "freed": len(self.rows) > 2,
                 "before": in_bytes and bool(dashed),
                 "again": in_bytes and "08" in self.rows, "slow": "06" in self.rows,
                 "torn": "09" in self.rows}  # fmt: skip
        return " ".join(say(f"note.{key}", name=name) for key, shown in marks.items() if shown)

    def outline(self, found: Row) -> int | None:
        """The bytes that a row is compared with, where they are more than its own. Those of what
        is never freed stand beside lesson 02 alone in its own picture."""
        beside = found.technique.beside
        if not beside or (beside == "01" and self.lesson != "02"):
            return None
        return row(beside).peak if row(beside).peak > found.peak else None

    @property
    def notes(self) -> list[str]:
        """What is planned, and whose time is told."""
        lines = [say("note.step", images=IMAGES, machine=hardware.find(MACHINE).title)]
        lines += [say("note.chain")] if "08" in self.rows else []
        if "09" in self.rows:
            lines.append(say("note.link", link=LINK, host=bytes_of(self.rows["09"].host)))
        return lines

    @property
    def fit_title(self) -> str:
        """The same asked the other way: how many images fit."""
        if not self.own:
            return self.title
        found = {"images": f"{self.own.fits(self.card):,}", "card": self.card}
        if self.own.technique.result == OTHER:
            return say("fit.other", **found, most=f"{row('02').fits(self.card):,}")
        before = f"{self.before.fits(self.card):,}" if self.before else ""
        alike = self.before and before == found["images"]
        key = "alike" if alike else "before" if before else "first"
        return say(f"fit.{key}", **found, before=before)

    @property
    def _values(self) -> dict[str, object]:
        values: dict[str, object] = {"images": IMAGES, "card": self.card}
        if (own := self.own) is None:
            return values
        values |= {"peak": three(own.peak), "fits": f"{own.fits(self.card):,}",
                   "cards": self.cards(own.peak), "space": three(own.workspace),
                   "time": own.time.removeprefix("+"), "lanes": LANES}  # fmt: skip
        if (before := self.before) is not None:
            saved = percent(before.peak - own.peak, before.peak)
            values |= {"before": three(before.peak), "saved": saved,
                       "most": f"{before.fits(self.card):,}", "at": before.peak_at}  # fmt: skip
        return values

    # -- cells

    def facts(self, found: Row) -> list[str]:
        """A row in sentences, with whole bytes."""
        values = {"name": found.name, "bytes": bytes_of(found.peak), "card": self.card,
                  "cards": self.cards(found.peak), "call": found.technique.call,
                  "images": f"{found.fits(self.card):,}", "result": found.result,
                  "time": found.time}  # fmt: skip
        other = found.technique.result == OTHER
        lines = [say("row.bytes", **values)]
        lines += [say("row.time", **values)] if found.time else []
        return [*lines, say("row.other" if other else "row.fits", **values)]

    def slices(self, found: Row) -> list[str]:
        """The slices of a row at its peak: ``'feature maps 21,477,146,116 B'``."""
        return [f"{part.label} {units.exact(nbytes)}" for part, nbytes in found.parts.items()]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Heads and cells: a row for each that is drawn."""
        keys = ("technique", "lesson", "bytes", "fits", "time", "result")
        heads = [say(f"table.{key}") for key in keys]
        rows = [
            [found.name, lesson, f"{found.peak:,}",
             f"{found.fits(self.card):,}", found.time, found.result]
            for lesson, found in self.rows.items()
        ]  # fmt: skip
        return heads, rows

    def stack(self, most: int) -> Iterator[tuple[list[str], list[list[str]]]]:
        """Heads and cells: a row for each slice, with its whole bytes at the peak of each row that
        is drawn, at most so many of them beside each other."""
        drawn = list(self.rows.values())
        parts = [part for part in STACK if any(part in each.parts for each in drawn)]
        for first in range(0, len(drawn), most):
            some = drawn[first : first + most]
            heads = [say("table.bytes"), *(each.name for each in some)]
            cells = [[f"{each.parts.get(part, 0):,}" for each in some] for part in parts]
            yield heads, [[part.label, *row] for part, row in zip(parts, cells, strict=True)]

    def as_dict(self) -> dict[str, Any]:
        figures = {
            lesson: {"bytes": found.peak, "images": found.fits(self.card), "extra": found.extra,
                     "result": found.technique.result, "call": found.technique.call}
            for lesson, found in self.rows.items()
        }  # fmt: skip
        said = {"title": self.title, "sentences": self.sentences, "notes": self.notes}
        return {**said, "lesson": self.lesson, "card": self.card, "rows": figures}
