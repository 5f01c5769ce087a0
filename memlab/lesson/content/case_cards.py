"""Cards of the running case, one for each lesson with a row: the step of ResNet-50 with 256 images
under the technique of the lesson. Lesson 00 has its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from math import isqrt, prod
from typing import Any

from memlab import hardware
from memlab.clocks import measured_rates, roofline
from memlab.clocks.roofline import Machine
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Truth, topic
from memlab.lesson.content import lesson_08
from memlab.lesson.content.lesson_03 import convolutions
from memlab.lesson.content.shared_truths import planned
from memlab.lesson.material.case_rows import (
    CARDS,
    HALVES,
    IMAGES,
    LANES,
    LEVEL,
    MACHINE,
    TECHNIQUES,
    CaseRow,
    link_rate,
    machine_name,
    plain,
    row,
)
from memlab.lesson.misconceptions import Mistake, rounded
from memlab.measure.budget.board import Switch
from memlab.measure.budget.levels import search_of
from memlab.pictures.values.number_text import percent, three_digits
from memlab.step.tensor import Role
from memlab.techniques.in_place import in_place
from memlab.techniques.no_reuse import no_reuse
from memlab.units import DECIMAL

BUDGET = CARDS[0] * DECIMAL["GB"]
"""Bytes of the card of the case."""
SAME = 5.0
"""Percent of added time, or of saved bytes, from which on a learner would see a difference."""
STOPS = ("1.0", "1.5", "2.0", "2.5", "3.0", "4.0", "5.0", "6.0", "8.0", "10", "20", "40", "80")

TruthOfNumbers = Callable[[Numbers], Truth]


def case_card(
    name: str, kind: AnswerKind, **more: Any
) -> Callable[[TruthOfNumbers], TruthOfNumbers]:
    """Register the decorated function as the truth of the case of a lesson.

    Args:
        name: the question, ``"08.case"``.
        kind: the form of the answer.
        more: further fields of ``Question``.
    """
    lesson = name.partition(".")[0]
    numbers = {"network": "resnet50", "batch": TECHNIQUES[lesson].images}
    return topic(name, kind, numbers, None, words=lambda n: _words(lesson), **more)


def _rows(lesson: str) -> tuple[CaseRow, CaseRow]:
    """Return the row of a lesson, and the one that it is compared with."""
    return row(lesson), row(TECHNIQUES[lesson].beside)


def _words(lesson: str) -> Numbers:
    """Values that a question names: what is known before its answer."""
    own, before = _rows(lesson)
    return {
        **(_moved() if lesson == "04" else {}),
        **(_batches() if lesson == "11" else {}),
        "images": IMAGES, "half": IMAGES // HALVES, "lanes": LANES, "card": CARDS[0],
        "machine": machine_name(), "link": link_rate(), "before": three_digits(before.peak),
        "space": three_digits(own.workspace),
    }  # fmt: skip


_TIMES_THE_IMAGES = {"same": 1.0, "few": 1.2, "twice": 2.1, "four": 4.1}
"""Options of 11.case: the images on the whole card over those on half of it."""


def _batches() -> Mapping[str, str]:
    """Return the images that options of 11.case name, in round numbers."""
    return {
        option: f"{round(IMAGES * times, -1):,.0f}" for option, times in _TIMES_THE_IMAGES.items()
    }


@cache
def _moved() -> Mapping[str, str]:
    """Return the bytes that the plain step moves, those without lowered copies, and those of the
    copies."""
    steps = plain(), TECHNIQUES["04"].make(plain(), IMAGES)
    moved, without = (sum(op.bytes_moved.at(IMAGES) for op in step.ops) for step in steps)
    sizes = {"moved": moved, "without": without, "copies": moved - without}
    return {key: three_digits(nbytes) for key, nbytes in sizes.items()}


def _seen(lesson: str) -> dict[str, object]:
    """Values that a finding names."""
    own, before = _rows(lesson)
    return {
        "peak": three_digits(own.peak), "time": own.time_size, "at": own.peak_at,
        "saved": percent(before.peak - own.peak, before.peak), "host": three_digits(own.host),
        "fits": f"{own.fits(CARDS[0]):,}", "most": f"{before.fits(CARDS[0]):,}",
    }  # fmt: skip


def _choice(lesson: str, option: str, **seen: object) -> Truth:
    return Truth(option, seen={**_seen(lesson), **seen})


def _times(lesson: str, *causes: Mistake, **seen: object) -> Truth:
    """Truth that is the bytes of the compared row over those of the lesson's own row."""
    own, before = _rows(lesson)
    ratio = Fraction(before.peak, own.peak)
    return Truth(ratio, (planned(ratio),), causes, {**_seen(lesson), **seen})


def _pace(case_row: CaseRow) -> str:
    """Return ``"faster"`` or ``"slower"`` than the plain step, or the ``"same"`` for a learner."""
    if abs(case_row.extra) <= SAME:
        return "same"
    return "faster" if case_row.extra < 0 else "slower"


def _nearest(shares: Mapping[str, float], value: float) -> str:
    """Return the option whose share is nearest to a value."""
    return min(shares, key=lambda name: abs(shares[name] - value))


def _of_role(case_row: CaseRow, *roles: Role) -> int:
    return sum(nbytes for part, nbytes in case_row.parts.items() if part.role in roles)


def _floor(case_row: CaseRow) -> int:
    """Bytes at the peak that do not grow with the batch."""
    return sum(nbytes for part, nbytes in case_row.parts.items() if not part.grows)


@case_card("02.case", AnswerKind.TIMES, decimals=1, stops=STOPS[:9])
def freed(n: Numbers) -> Truth:
    """Answer of 02.case: the peak without reuse over the peak with each array freed after its last
    reader (D1)."""
    own, kept = row("02"), row("00")
    maps_wait = Fraction(kept.peak, kept.peak - _of_role(kept, Role.GRADIENT_MAP))
    less = {
        f"{role}s": three_digits(_of_role(kept, role) - _of_role(own, role))
        for role in (Role.GRADIENT_MAP, Role.FEATURE_MAP)
    }
    return _times("02", Mistake("all_wait", Fraction(1)), Mistake("maps_wait", maps_wait), **less)


@case_card("03.case", AnswerKind.CHOICE, options=("same", "less", "copy", "copies"),
           gives=("another operation", "not a byte more"))  # fmt: skip
def lowered_at_once(n: Numbers) -> Truth:
    """Answer of 03.case: the growth of the peak if all images are lowered at once."""
    own, before = _rows("03")
    more = own.peak - before.peak
    if abs(more) * 100 < SAME * before.peak:
        return _choice("03", "same")
    return _choice("03", "less" if more < own.workspace else
                   "copy" if more == own.workspace else "copies")  # fmt: skip


_SAVED_TIME = {"no": 0.0, "sixth": 1 / 6, "third": 1 / 3, "half": 0.5}


@case_card("04.case", AnswerKind.CHOICE, options=tuple(_SAVED_TIME), gives=("a sixth",))
def no_copy(n: Numbers) -> Truth:
    """Answer of 04.case: the share of the time that a step saves if no lowered copy is written."""
    option = _nearest(_SAVED_TIME, -row("04").extra / 100)
    return _choice("04", option, **_moved())


_FREE = {"none": 0.0, "quarter": 0.25, "half": 0.5, "three": 0.75}


@case_card("05.case", AnswerKind.CHOICE, options=tuple(_FREE),
           gives=("a quarter of the card", "three quarters"))  # fmt: skip
def one_image_a_lane(n: Numbers) -> Truth:
    """Answer of 05.case: the share of the card that stays free with one image for each lane."""
    option = _nearest(_FREE, 1 - row("05").peak / BUDGET)
    return _choice("05", option, updates=IMAGES // LANES, full=_least_full())


def _least_full() -> str:
    """Return the percent of the lanes that 1 image fills in the convolution that fills fewest."""
    columns = min(prod(node.shape[1:]) for node in convolutions("resnet50"))
    return f"{100 * columns / (-(-columns // LANES) * LANES):.0f}"


@case_card("06.case", AnswerKind.CHOICE, options=("faster", "same", "slower", "no"),
           gives=("it fits", "tensor cores"))  # fmt: skip
def in_16_bits(n: Numbers) -> Truth:
    """Answer of 06.case: whether the step fits in mixed fp16, and what becomes of its time."""
    own = row("06")
    return _choice("06", "no" if own.peak > BUDGET else _pace(own))


_SAVED_BYTES = {"hardly": 0.0, "tenth": 0.1, "third": 1 / 3, "half": 0.5}


@case_card("07.case", AnswerKind.CHOICE, options=tuple(_SAVED_BYTES), gives=("freed anyway",))
def overwritten(n: Numbers) -> Truth:
    """Answer of 07.case: the share of the peak that in place saves where arrays are freed early."""
    own, before = _rows("07")
    kept, less = row("00").peak, plan(no_reuse(in_place(plain()))).peak(IMAGES)
    return _choice(
        "07", _nearest(_SAVED_BYTES, 1 - own.peak / before.peak),
        kept=three_digits(kept), overwritten=three_digits(less), other=percent(kept - less, kept),
    )  # fmt: skip


@case_card("08.case", AnswerKind.AMOUNT)
def made_again(n: Numbers) -> Truth:
    """Answer of 08.case: the least peak by recompute (E1, E6)."""
    own, before = _rows("08")
    blocks = sum(op.kind == "add" for op in plain().ops)
    equal = Fraction(before.peak * 2 * isqrt(blocks), blocks)
    few = plan(TECHNIQUES["08"].make(plain(), LANES)).peak(LANES)
    causes = (
        Mistake("equal_blocks", equal),
        Mistake("floor_alone", Fraction(_floor(own))),
        *(Mistake("floor_too", rounded(few, digits) * IMAGES / LANES) for digits in (1, 2, 3)),
    )
    least, _ = lesson_08.extra("resnet50", LANES)
    kept = _of_role(own, Role.FEATURE_MAP) - own.again
    seen = {
        **_seen("08"), "least": f"{float(100 * least):.1f}", "inside": three_digits(own.again),
        "stage": own.peak_at.rpartition(".")[0],
        "kept": percent(kept, own.peak),
        "here": _without_convolutions(hardware.find(MACHINE)),
        "there": _without_convolutions(measured_rates.recorded()),
    }  # fmt: skip
    return Truth(Fraction(own.peak), (planned(own.peak),), causes, seen)


def _without_convolutions(machine: Machine) -> str:
    """Return the percent of the plain step's time that is not spent in convolutions."""
    others = [op for op in plain().ops if not op.kind.startswith("conv2d")]
    part = sum(roofline.seconds(op, IMAGES, machine) for op in others)
    return f"{100 * part / roofline.total(plain(), IMAGES, machine):.0f}"


@case_card("09.case", AnswerKind.TIMES, decimals=1, stops=STOPS)
def moved_away(n: Numbers) -> Truth:
    """Answer of 09.case: the plain peak over that with each feature map on the host (C5)."""
    own, before = _rows("09")
    half = before.peak - _of_role(before, Role.FEATURE_MAP) // 2
    causes = (
        Mistake("half_moved", Fraction(before.peak, half)),
        Mistake("floor_alone", Fraction(before.peak, _floor(own))),
    )
    return _times("09", *causes)


@case_card("11.case", AnswerKind.CHOICE, options=tuple(_TIMES_THE_IMAGES), seconds=8,
           gives=("twice the images", "twice as many images"))  # fmt: skip
def together(n: Numbers) -> Truth:
    """Answer of 11.case: the images that fit into the whole card with the choice that is the
    fastest in half of it."""
    fits = row("11").fits(CARDS[0])
    return _choice(
        "11", _nearest(_TIMES_THE_IMAGES, fits / IMAGES), fits=fits, images=IMAGES,
        plain_fits=row("02").fits(CARDS[0]),
        least=three_digits(search_of(LEVEL).smallest(without=Switch.HALF)),
    )  # fmt: skip


_TIMES = {"slower": "twice", "same": "same", "faster": "half"}
"""Options that say the time of a step that saves bytes."""


@case_card("10.case", AnswerKind.CHOICE, options=("twice", "same", "none", "half"),
           gives=("the same time", "batch norm sees"))  # fmt: skip
def two_halves(n: Numbers) -> Truth:
    """Answer of 10.case: what two halves do to the peak and to the time of a step."""
    own, before = _rows("10")
    less = 100 * (before.peak - own.peak) > SAME * before.peak
    return _choice("10", _TIMES[_pace(own)] if less else "none")
