"""Rows of the running case of the course: a training step of ResNet-50, 256 images, under the
technique of each lesson.

Each technique is applied to this one step alone, so that every row shows the bytes that it saves by
itself; the last row has several of them together, as the board of lesson 11 puts them. In all rows
but the first, each array is freed after its last reader. Rows are planned, and their time is that
of one card.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from memlab import hardware, strings, units
from memlab.assemble.step import training_step
from memlab.clocks import streams
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.measure.budget.levels import search_of
from memlab.measure.budget.search import Optimum
from memlab.networks import zoo
from memlab.pictures.mountain.stack_parts import STACK, StackPart
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Role
from memlab.techniques import application_order
from memlab.techniques.registry import applied

IMAGES = 256
"""The mini-batch of the paper (He et al. 2015, arXiv 1512.03385, section 3.4)."""
LANES = 32
"""The mini-batch of lesson 05: each of 32 lanes has an image."""
HALVES = 2
"""Parts of the mini-batch of lesson 10."""
CARDS = (12, 24, 80)
"""Sizes of a card, in GB."""
MACHINE = "rtx 4070"
"""Card of 12 GB whose time is given, with its link to the host as it is reached in practice."""
MINUS = "−"
"""Sign of a number below 0, as wide as a plus."""
SAME, ROUNDED, NORM, OTHER = "same", "rounded", "norm", "other"
"""Results of a row, beside the plain step: the same bit for bit, the same but for rounding, what
batch norm makes of a part at a time, or the step of another mini-batch."""


def text_of(key: str, **values: object) -> str:
    """Return a text of the case with its values filled in."""
    return strings.get(f"case.{key}", **values)


# -- techniques, by the lesson that teaches them ---------------------------------------------------


class Rewrite(Protocol):
    """Technique of a row: it makes the step of the row from the plain step, and says its line of
    code."""

    def __call__(self, step: Step) -> Step: ...
    def line(self) -> str: ...


LEVEL = 1
"""Level of the board whose step is the case: half of the first card."""


@cache
def optimum() -> Optimum:
    """Return the fastest choice that fits the budget of the board with the case: a search of some
    seconds."""
    search = search_of(LEVEL)
    return search.within(search.board.level.budget)


class FastestThatFits:
    """The techniques of the fastest choice on the board with the case, all together."""

    def __call__(self, step: Step) -> Step:
        """Return the step of this choice; ``step`` is the plain one, which the board has too."""
        return search_of(LEVEL).board.step_of(optimum().rated.choice)

    def line(self) -> str:
        """Return the line of code: ``'memlab.views.budget(1, "half AK").step'``."""
        line = search_of(LEVEL).board.line(optimum().rated.choice)
        return f'memlab.views.budget({LEVEL}, "{line}").step'


@dataclass(frozen=True, slots=True)
class CaseTechnique:
    """Technique of a lesson, applied to the plain step of the case.

    ``made_by`` returns the technique for a batch; None leaves the step plain. ``beside`` is the
    lesson whose row its bytes are compared with. The mini-batch has ``images``, which go through
    the network in ``parts``. ``runs`` is False for what does not run small: a technique without a
    kernel on a processor, and a choice for the blocks of this one network.
    """

    lesson: str
    made_by: Callable[[int], Rewrite] | None = None
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
        CaseTechnique("00", lambda _: applied("no_reuse"), ""),
        CaseTechnique("02", beside="00"),
        CaseTechnique("03", lambda _: applied("lowering", "im2col-batch")),
        CaseTechnique("04", lambda _: applied("lowering", "implicit-gemm"), runs=False),
        CaseTechnique("05", result=OTHER, images=LANES),
        CaseTechnique("06", lambda _: applied("precision", "mixed fp16"), result=ROUNDED),
        CaseTechnique("07", lambda _: applied("in_place")),
        CaseTechnique(
            "08", lambda batch: applied("recompute", "chain", batch=batch, device=MACHINE)
        ),
        CaseTechnique("09", lambda _: applied("offload", "all")),
        CaseTechnique("10", lambda _: applied("accumulate", HALVES), result=NORM, parts=HALVES),
        CaseTechnique("11", lambda _: FastestThatFits(), result=ROUNDED, runs=False),
    )
}
"""Techniques by lesson."""
ROWS = ("00", "02", "07", "06", "08", "09", "11")
"""The lessons of the rows from top to bottom, in the order of the course; each has its place."""
BESIDE = ("03", "04", "05", "10")
"""Lessons whose row comes last, in their own picture alone."""
LESSONS = tuple(sorted(TECHNIQUES))
"""Lessons with a row; each asks for it with its card ``NN.case``."""
_SPINE = ("00", "02", "07", "08", "09", "11")
"""Lessons with a row, each of which needs those before it."""


def lessons_needed(lesson: str) -> tuple[str, ...]:
    """Return a lesson and the earlier ones that it needs, as far as they have rows."""
    if lesson in _SPINE:
        return _SPINE[: _SPINE.index(lesson) + 1]
    return (*_SPINE[:2], lesson)


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
        """Added time over the plain step, ``'+38.9 %'``; empty for another mini-batch."""
        if self.technique.result == OTHER:
            return ""
        return f"{self.extra:+.{0 if self.extra >= 100 else 1}f} %".replace("-", MINUS)

    @property
    def time_size(self) -> str:
        """Added time without its sign, for a sentence that says more or less: ``'38.9 %'``."""
        return self.time.lstrip(f"+{MINUS}")

    @property
    def result(self) -> str:
        """Result beside the plain step in a word: ``'same'``."""
        return text_of(f"result.{self.technique.result}")

    def fits(self, card: int) -> int:
        """Return the most images that a card of ``card`` GB holds."""
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


def machine_name() -> str:
    """Return the name of the card whose time is given: ``'GeForce RTX 4070'``."""
    return hardware.find(MACHINE).model


def link_rate() -> str:
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
