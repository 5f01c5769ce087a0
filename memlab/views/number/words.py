"""The sentences about a number, for the picture and for its text."""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, Inexact
from fractions import Fraction
from math import isfinite, isnan

from memlab import rounding, strings
from memlab.views.number.rows import Kept, Number, Rows
from memlab.views.number.state import State

DIGITS = 20
"""As many tell any two values of fp64 apart."""


def say(key: str, /, **values: object) -> str:
    """A text of this view; an ellipsis ends a sentence too."""
    return strings.get(f"number.{key}", **values).replace("….", "…")


# -- numbers ------------------------------------------------------------------------------------


def shown(value: Number | None) -> str:
    """Every digit, or the first 20 and an ellipsis: ``'0.0999755859375'``."""
    return _written(value, _context(DIGITS, ROUND_DOWN))


def brief(value: Number | None, digits: int = 4) -> str:
    """A few digits: ``'−0.02441'``."""
    return _written(value, _context(digits, ROUND_HALF_EVEN)).replace("…", "")


def _context(digits: int, rounding: str) -> Context:
    return Context(digits, rounding, Emin=-(10**6), Emax=10**6, traps=[])


def _written(value: Number | None, context: Context) -> str:
    if value is None:
        return say("none")
    if isinstance(value, float) and not isfinite(value):
        return say("nan" if isnan(value) else "infinity" if value > 0 else "minus_infinity")
    if value == 0:
        return "−0" if str(value).startswith("-") else "0"
    number = Fraction(value)
    size = context.divide(Decimal(abs(number.numerator)), Decimal(number.denominator))
    cut = "…" if context.flags[Inexact] else ""
    size = size.normalize(context)
    sign = "−" if number < 0 else ""
    power = size.adjusted()
    if -6 <= power < DIGITS:
        return f"{sign}{size:f}{cut}"
    return f"{sign}{size.scaleb(-power, context):f}{cut}e{power}"


# -- sentences ----------------------------------------------------------------------------------


def subject(rows: Rows) -> str:
    """The number as it was typed, or the value that a walk has come to."""
    return shown(rows.number) if rows.state.step else _typed(rows.state)


def title(state: State) -> str:
    """``'0.1 in fp16: 16 bits, of them 1 sign, 5 exponent and 10 mantissa'``."""
    found = state.found
    way = "up" if state.step > 0 else "down"
    walked = say(f"walked.{way}", count=abs(state.step)) if state.step else ""
    parts = {"bits": found.bits, "exponent": found.exponent, "mantissa": found.mantissa}
    key = "tf32" if found.name == "tf32" else found.kind
    return say(f"title.{key}", number=_typed(state), walked=walked, format=found.name, **parts)


def headline(rows: Rows) -> str:
    """What becomes of the number: ``'0.1 becomes 0.0999755859375.'``"""
    end = rows.format.largest if rows.number > 0 else rows.format.lowest
    return say(
        f"fate.{rows.fate}",
        number=subject(rows),
        format=rows.format.name,
        held=shown(rows.held),
        end=brief(end, 6),
        smallest=brief(rows.format.smallest),
    )


def note(rows: Rows) -> str:
    """That two values are equally near, or that the value is subnormal."""
    smallest = brief(rows.format.smallest_normal)
    notes = [say("tie")] if rows.tie else []
    notes += [say("subnormal", smallest=smallest)] if rows.subnormal else []
    return " ".join(notes)


def fields(rows: Rows) -> list[tuple[str, str, str]]:
    """Each field with its bits and their meaning."""
    names = ("sign", "exponent", "mantissa") if rows.bits.exponent else ("top", "rest")
    found = zip(names, filter(None, rows.bits), strict=True)
    return [(name, bits, _meaning(name, bits, rows)) for name, bits in found]


def formula(rows: Rows) -> str:
    """The fields put together: ``'(−1)^0 · 2^(11 − 15) · (1 + 614/2^10) = 0.0999755859375'``."""
    if not isfinite(rows.held):
        return say(f"special.{_special(rows)}")
    value = shown(rows.held)
    if rows.format.kind == "int":
        top, rest = int(rows.bits.sign), int(rows.bits.mantissa, 2)
        return f"−{top} · {2 ** (rows.format.bits - 1)} + {rest} = {value}"
    power, lead, steps = _parts(rows)
    fraction = f"{lead} + {steps}/2^{rows.format.mantissa}"
    return f"(−1)^{rows.bits.sign} · 2^({power} − {rows.format.bias}) · ({fraction}) = {value}"


def error(rows: Rows) -> str:
    """How far the value is from the number."""
    if rows.error is None:
        return say("error.none")
    absolute, relative, ulps = rows.error
    if not absolute:
        return say("error.zero")
    step = rounding.ulp(rows.number, rows.format)
    values = {"relative": brief(100 * relative), "ulps": brief(ulps, 6), "step": brief(step)}
    return say("error.some", absolute=shown(absolute), **values)


def beside(rows: Rows) -> str:
    """The values on both sides."""
    if rows.line is None:
        return say("line.nowhere")
    low, high = rounding.neighbours(rows.number, rows.format)
    return say("line.beside", low=shown(low), high=shown(high))


def everywhere(rows: Rows) -> list[list[str]]:
    """The number in every format, below its heads: format, bits, value, error in percent."""
    heads = [say(f"head.{name}") for name in ("format", "bits", "held", "error")]
    return [heads, *map(_cells, rows.everywhere)]


def spoken(rows: Rows) -> str:
    """What a screen reader hears after a change."""
    return " ".join(filter(None, [f"{rows.format}.", headline(rows), note(rows), error(rows)]))


def _typed(state: State) -> str:
    return re.sub("^-", "−", state.typed.strip())


def _special(rows: Rows) -> str:
    """How the format writes what is no finite number."""
    if not isnan(rows.held):
        return "infinity"
    return "nan" if rows.format.infinities else "only_nan"


def _cells(kept: Kept) -> list[str]:
    error = "–" if kept.error is None else f"{brief(100 * kept.error.relative)} %"
    return [kept.format.name, str(kept.format.bits), shown(kept.held), error]


def _parts(rows: Rows) -> tuple[int, int, int]:
    """Exponent with its bias, leading digit, mantissa."""
    field = int(rows.bits.exponent, 2)
    return max(field, 1), min(field, 1), int(rows.bits.mantissa, 2)


def _meaning(name: str, bits: str, rows: Rows) -> str:
    if name in ("sign", "top"):
        return say(f"meaning.{name}_{bits}", worth=2 ** (rows.format.bits - 1))
    if name == "rest":
        return f"{int(bits, 2)}"
    if not isfinite(rows.held):
        return say("meaning.ones" if name == "exponent" else f"meaning.{_special(rows)}")
    power, lead, steps = _parts(rows)
    bias, digits = rows.format.bias, rows.format.mantissa
    if name == "exponent":
        key = "exponent" if lead else "exponent_0"
        power_ = f"{power} − {bias} = {power - bias}".replace("= -", "= −")
        return say(f"meaning.{key}", field=int(bits, 2), power=power_)
    return f"{lead} + {steps}/2^{digits} = {shown(lead + Fraction(steps, 2**digits))}"
