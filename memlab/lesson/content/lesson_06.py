"""Lesson 06, precision: a sum in few bits, bytes of the model state, a scale for a gradient."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

import numpy as np

from memlab import formats, rounding, strings
from memlab.formats import Format
from memlab.lesson import digits
from memlab.lesson.content.lesson_02 import FP32
from memlab.lesson.content.tools import measured, planned
from memlab.lesson.misconceptions import Cause, distinct
from memlab.lesson.question import Kind, Numbers, Truth, topic
from memlab.planner.ledger import Ledger
from memlab.step.build import training_step
from memlab.step.rules import TITLES, UPDATES
from memlab.step.tensor import Role
from memlab.techniques.precision import precision

# -- one more -----------------------------------------------------------------------------------

_ONE = {"format": "fp16", "start": 2048}
_ROUNDED = ("fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2")


def _draw_one(chance: Random) -> Numbers:
    """Where steps are 1, or where they are 2 and the sum lies half-way."""
    found = formats.find(chance.choice(_ROUNDED))
    first = 2 ** (found.mantissa + chance.choice((0, 1, 1)))
    return {"format": found.name, "start": first + 2 * chance.randint(0, 1)}


def _one_words(n: Numbers) -> Numbers:
    found, start = formats.find(n["format"]), n["start"]
    power = 2 ** (start.bit_length() - 1)
    return {
        **n, "sum": start + 1, "next": start + 2, "mantissa": found.mantissa,
        "largest": f"{found.largest:,.15g}", "step": f"{float(rounding.ulp(start, found)):g}",
        "power": power, "double": 2 * power,
    }  # fmt: skip


@topic("06.one", Kind.CHOICE, _ONE, _draw_one, options=("exact", "same", "next", "beyond"),
       words=_one_words)  # fmt: skip
def one(n: Numbers) -> Truth:
    """What a format stores of a number and 1, rounded from the exact sum."""
    start = n["start"]
    held = rounding.nearest(start + 1, n["format"])
    found = {start: "same", start + 1: "exact", start + 2: "next"}.get(held, "beyond")
    return Truth(found, seen={"why": _one_why(n, held)})


def _one_why(n: Numbers, held: float) -> str:
    """That the format holds the sum, or between which numbers it lies half-way."""
    if held == n["start"] + 1:
        return strings.get("ask.06.one.holds", **_one_words(n))
    low, high = rounding.neighbours(n["start"] + 1, n["format"])
    sides = {"low": f"{low:g}", "high": f"{high:g}", "held": f"{held:g}"}
    return strings.get("ask.06.one.half_way", **_one_words(n), **sides)


# -- the model state ----------------------------------------------------------------------------

MODEL_STATE = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
"""What training keeps for each parameter (F1)."""


def _draw_state(chance: Random) -> Numbers:
    return {"format": chance.choice(("fp16", "bf16")), "optimizer": chance.choice([*UPDATES])}


def _state_words(n: Numbers) -> Numbers:
    states, _ = UPDATES[n["optimizer"]]
    return {**n, "title": TITLES[n["optimizer"]], "states": len(states)}


def per_parameter(ledger: Ledger) -> Fraction:
    """Bytes of the model state over the number of parameters, without those of a loss scale."""
    entries = [entry for entry in ledger.entries if entry.role in MODEL_STATE and entry.axes]
    shapes = [entry.axes for entry in entries if entry.role is Role.PARAMETER]
    count = sum(prod(extent for _, extent in axes) for axes in shapes)
    return Fraction(sum(entry.size.fixed for entry in entries), count)


def _state_causes(due: Fraction, half: int) -> list[Cause]:
    return [
        Cause("bits", 8 * due),
        Cause("all_small", due / 2, {"half": half}),
        Cause("four_missing", due - FP32),
        Cause("two_missing", due - half),
        Cause("wide_gradient", due + FP32 - half),
        Cause("both_wide", due + 2 * (FP32 - half)),
    ]


@topic("06.state", Kind.AMOUNT, {"format": "fp16", "optimizer": "adam"}, _draw_state,
       words=_state_words)  # fmt: skip
def state(n: Numbers) -> Truth:
    """Bytes per parameter of mixed precision, planned and measured in a small network (F1)."""
    from memlab.runtime.run import run

    full = training_step(digits.dim_network(), n["optimizer"])
    done = run(precision(full, f"mixed {n['format']}"), 1)
    due = per_parameter(done.planned)
    half, (states, _) = formats.find(n["format"]).nbytes(1), UPDATES[n["optimizer"]]
    causes = distinct(due, _state_causes(due, half))
    told: dict[str, object] = {
        "parts": " + ".join(map(str, (half, half, FP32, *[FP32] * len(states)))),
        "plain": " + ".join(map(str, (FP32, FP32, *[FP32] * len(states)))),
        "nbytes": due,
        "whole": FP32 * (2 + len(states)),
    }
    figures = planned(due), measured(per_parameter(done.measured))
    return Truth(due, figures, tuple(causes), told)


# -- a scale for a gradient ---------------------------------------------------------------------

_POWERS = tuple(str(2**power) for power in range(21))
_SMALL = {"format": "fp16", "gradient": "1e-8"}


def _draw_small(chance: Random) -> Numbers:
    """A gradient below half of the smallest value, by a factor of at most 3,000."""
    name, first = chance.choice((("fp16", 9), ("fp8_e5m2", 6)))
    digit, power = chance.choice((1, 2, 3, 5, 7)), chance.randint(first, first + 2)
    return {"format": name, "gradient": f"{digit}e-{power}"}


def _small_words(n: Numbers) -> Numbers:
    return {**n, "smallest": _short(formats.find(n["format"]).smallest)}


def _short(value: Fraction | float) -> str:
    """``"5.96e-8"``: 3 digits, the exponent as people type it."""
    return f"{float(value):.3g}".replace("e-0", "e-")


def _first_power(least: Fraction) -> int:
    """The smallest power of 2 from 1 on that is at least so large."""
    power = 1
    while power < least:
        power *= 2
    return power


def _stored_from(gradient: str, found: Format) -> int:
    """The power that keeps a gradient, by trying: multiplied in fp32, stored, and looked at."""
    power = 1
    while not rounding.encode(np.float32(gradient) * np.float32(power), found):
        power *= 2
    return power


def _small_causes(gradient: Fraction, found: Format) -> list[Cause]:
    limits = {"whole_step": found.smallest, "all_digits": found.smallest_normal}
    return [
        *(Cause(k, Fraction(_first_power(Fraction(v) / gradient))) for k, v in limits.items()),
        Cause("no_scale", Fraction(1)),
    ]


@topic("06.scale", Kind.TIMES, _SMALL, _draw_small, stops=_POWERS, words=_small_words)
def scale(n: Numbers) -> Truth:
    """The smallest power of 2 that keeps a gradient from becoming 0: by the format's smallest
    value, and by storing it."""
    gradient, found = Fraction(n["gradient"]), formats.find(n["format"])
    due = _first_power(Fraction(found.smallest) / 2 / gradient)  # no decimal is that half exactly
    causes = distinct(due, _small_causes(gradient, found))
    told: dict[str, object] = {
        "power": f"{due:,}",
        "product": _short(due * gradient),
        "held": _short(rounding.nearest(due * gradient, found)),
        "half": _short(found.smallest / 2),
    }
    figures = planned(due), measured(_stored_from(n["gradient"], found))
    return Truth(Fraction(due), figures, tuple(causes), told)
