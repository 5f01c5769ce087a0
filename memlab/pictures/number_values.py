"""A number in a format: its bits and what they mean, what is lost, and the values beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, Inexact
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, isinf, isnan, nan
from typing import Any, NamedTuple

from memlab import rounding, strings
from memlab.errors import InputError, shorten, whole
from memlab.formats import NUMBERS, Beyond, Format
from memlab.pictures.values.study import Study
from memlab.rounding import Bits, Error

STEPS = 16
"""How many values a walk goes up or down."""
LONGEST = 40
"""Characters of a number that is typed."""
DIGITS = 20
"""As many tell any two values of fp64 apart."""

Value = Fraction | float


class Stop(NamedTuple):
    """A point on the line of numbers, 0 at its left end and 1 at its right end. The value is None
    where the format has none any more."""

    where: float
    value: float | None


class Line(NamedTuple):
    """The values beside a number; ``solid`` is the part that is true to scale."""

    stops: tuple[Stop, ...]
    where: float
    solid: tuple[float, float]

    @property
    def dashed(self) -> list[tuple[float, float]]:
        """The parts that are not true to scale."""
        parts = (0.0, self.solid[0]), (self.solid[1], 1.0)
        return [(left, right) for left, right in parts if left < right]

    @property
    def middle(self) -> bool:
        """Whether the number lies between two values, so that half-way decides."""
        return len(self.stops) == 2 and self.solid == (0.0, 1.0)


class Field(NamedTuple):
    """Some of the bits, by the name of what they say: ``"exponent"``, its bits and meaning."""

    name: str
    bits: str
    meaning: str

    @property
    def label(self) -> str:
        """Its name for people."""
        return _say(f"field.{self.name}")


@dataclass(frozen=True)
class Number(Study):
    """A number as it was typed, and the name of a format. A ``step`` other than 0 goes so many
    values of the format up from there, or down.

    Raises:
        InputError: no number, no such format, a number that the format cannot say, or a step that
            is too far.
    """

    typed: str = "0.1"
    name: str = "fp16"
    step: int = 0

    def __post_init__(self) -> None:
        rounding.nearest(parse(self.typed), self.format)
        object.__setattr__(self, "step", whole("step", self.step, -STEPS, STEPS))

    # -- exact figures ----------------------------------------------------------------------

    @cached_property
    def format(self) -> Format:
        """The format."""
        return rounding.find(self.name)

    @cached_property
    def number(self) -> Value:
        """The number that is shown: what was typed, or where the walk has come to."""
        typed = parse(self.typed)
        return rounding.walk(typed, self.format, self.step) if self.step else typed

    @cached_property
    def held(self) -> float:
        """What the format makes of it."""
        return rounding.nearest(self.number, self.format)

    @cached_property
    def bits(self) -> Bits:
        """Sign, exponent and mantissa."""
        return rounding.bits(self.number, self.format)

    @cached_property
    def error(self) -> Error | None:
        """How far the value is from the number; None where one of them is not finite."""
        return rounding.error(self.number, self.format)

    @cached_property
    def beside(self) -> tuple[float | None, float | None]:
        """The values on both sides."""
        return rounding.neighbours(self.number, self.format)

    @cached_property
    def line(self) -> Line | None:
        """Its place between them; None for NaN."""
        return None if self.number != self.number else self._line()

    @property
    def fate(self) -> str:
        """What happened to the number."""
        if isnan(self.held):
            return "nan" if self.number != self.number else "lost"
        if self.number == self.held:
            return "exact"
        if isinf(self.held):
            return "infinity"
        if not self.format.lowest <= self.number <= self.format.largest:
            return "saturated" if self.format.beyond is Beyond.LARGEST else "rounded"
        return "rounded" if self.held else "zero"

    @property
    def tie(self) -> bool:
        """Whether two values are equally near."""
        between = self.line is not None and self.line.middle
        return between and self.error is not None and abs(self.error.ulps) == Fraction(1, 2)

    @property
    def subnormal(self) -> bool:
        """Whether the value has lost the leading 1 of its mantissa."""
        return self.format.kind == "float" and 0 < abs(self.held) < self.format.smallest_normal

    def _line(self) -> Line:
        """To scale where both neighbours are finite; else the number stands in the middle."""
        number = self.number
        low, high = (value is not None and isfinite(value) for value in self.beside)
        where, solid = 0.5, (0.5, 0.5)
        exact = self.held == number
        if low and high:
            below, above = (Fraction(value or 0) for value in self.beside)
            where, solid = float((Fraction(number) - below) / (above - below)), (0.0, 1.0)
        elif exact and isfinite(number):
            solid = (0.0, 0.5) if low else (0.5, 1.0)
        inner = (Stop(where, float(number)),) if exact else ()
        return Line((Stop(0.0, self.beside[0]), *inner, Stop(1.0, self.beside[1])), where, solid)

    # -- in words -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """``'0.1 in fp16: 16 bits, of them 1 sign, 5 exponent and 10 mantissa'``."""
        found = self.format
        way = "up" if self.step > 0 else "down"
        walked = _say(f"walked.{way}", count=abs(self.step)) if self.step else ""
        counts = ("bits", "exponent", "mantissa", "unused")
        parts = {name: getattr(found, name) for name in counts}
        key = "unused" if found.unused else found.kind
        return _say(f"title.{key}", number=self._typed, walked=walked, format=found.name, **parts)

    @property
    def subject(self) -> str:
        """The number as it was typed, or the value that a walk has come to."""
        return shown(self.number) if self.step else self._typed

    @property
    def headline(self) -> str:
        """What becomes of the number: ``'0.1 becomes 0.0999755859375.'``"""
        end = self.format.largest if self.number > 0 else self.format.lowest
        return _say(
            f"fate.{self.fate}",
            number=self.subject,
            format=self.format.name,
            held=shown(self.held),
            end=brief(end, 6),
            smallest=brief(self.format.smallest),
        )

    @property
    def note(self) -> str:
        """That two values are equally near, or that the value is subnormal."""
        smallest = brief(self.format.smallest_normal)
        notes = [_say("tie")] if self.tie else []
        notes += [_say("subnormal", smallest=smallest)] if self.subnormal else []
        return " ".join(notes)

    @property
    def fields(self) -> list[Field]:
        """Each field with its bits and their meaning."""
        names = ("sign", "exponent", "mantissa") if self.bits.exponent else ("top", "rest")
        found = zip(names, filter(None, self.bits), strict=True)
        return [Field(name, bits, self._meaning(name, bits)) for name, bits in found]

    @property
    def formula(self) -> str:
        """The fields together: ``'(−1)^0 · 2^(11 − 15) · (1 + 614/2^10) = 0.0999755859375'``."""
        if not isfinite(self.held):
            return _say(f"special.{self._special}")
        value = shown(self.held)
        if self.format.kind == "int":
            top, rest = int(self.bits.sign), int(self.bits.mantissa, 2)
            return f"−{top} · {2 ** (self.format.bits - 1)} + {rest} = {value}"
        power, lead, steps = self._parts
        fraction = f"{lead} + {steps}/2^{self.format.mantissa}"
        return f"(−1)^{self.bits.sign} · 2^({power} − {self.format.bias}) · ({fraction}) = {value}"

    @property
    def lost(self) -> str:
        """How far the value is from the number."""
        if self.error is None:
            return _say("error.none")
        absolute, relative, ulps = self.error
        if not absolute:
            return _say("error.zero")
        step = rounding.ulp(self.number, self.format)
        values = {"relative": brief(100 * relative), "ulps": brief(ulps, 6), "step": brief(step)}
        return _say("error.some", absolute=shown(absolute), **values)

    @property
    def neighbours(self) -> str:
        """The values on both sides."""
        if self.line is None:
            return _say("line.nowhere")
        low, high = self.beside
        return _say("line.beside", low=shown(low), high=shown(high))

    @property
    def sentences(self) -> list[str]:
        parts = (self.headline, self.note, self.formula, self.lost, self.neighbours)
        return [part for part in parts if part]

    @property
    def spoken(self) -> str:
        """What a screen reader hears after a change."""
        parts = [f"{self.format}.", self.headline, self.note, self.lost]
        return " ".join(part for part in parts if part)

    def everywhere(self) -> list[list[str]]:
        """The number in every format: format, bits, value, error in percent."""
        return [self._kept(other) for other in NUMBERS.values()]

    def as_dict(self) -> dict[str, Any]:
        bits = [[field.name, field.bits] for field in self.fields]
        return super().as_dict() | {"held": self.held, "fate": self.fate, "bits": bits}

    # -- inside -------------------------------------------------------------------------------

    @property
    def _typed(self) -> str:
        return re.sub("^-", "−", self.typed.strip())

    @property
    def _special(self) -> str:
        """How the format writes what is no finite number."""
        if not isnan(self.held):
            return "infinity"
        return "nan" if self.format.infinities else "only_nan"

    @property
    def _parts(self) -> tuple[int, int, int]:
        """Exponent with its bias, leading digit, mantissa."""
        field = int(self.bits.exponent, 2)
        return max(field, 1), min(field, 1), int(self.bits.mantissa, 2)

    def _meaning(self, name: str, bits: str) -> str:
        if name in ("sign", "top"):
            return _say(f"meaning.{name}_{bits}", worth=2 ** (self.format.bits - 1))
        if name == "rest":
            return f"{int(bits, 2)}"
        if not isfinite(self.held):
            return _say("meaning.ones" if name == "exponent" else f"meaning.{self._special}")
        power, lead, steps = self._parts
        bias, digits = self.format.bias, self.format.mantissa
        if name == "exponent":
            key = "exponent" if lead else "exponent_0"
            power_ = f"{power} − {bias} = {power - bias}".replace("= -", "= −")
            return _say(f"meaning.{key}", field=int(bits, 2), power=power_)
        return f"{lead} + {steps}/2^{digits} = {shown(lead + Fraction(steps, 2**digits))}"

    def _kept(self, other: Format) -> list[str]:
        """What a format makes of the number, and its error; no value where it cannot hold it."""
        if self.number != self.number and not other.nan:
            return [other.name, str(other.bits), shown(None), "–"]
        held, error = rounding.nearest(self.number, other), rounding.error(self.number, other)
        lost = "–" if error is None else f"{brief(100 * error.relative)} %"
        return [other.name, str(other.bits), shown(held), lost]


# -- numbers as text ------------------------------------------------------------------------------


def shown(value: Value | None) -> str:
    """Every digit, or the first 20 and an ellipsis: ``'0.0999755859375'``."""
    return _written(value, _context(DIGITS, ROUND_DOWN))


def brief(value: Value | None, digits: int = 4) -> str:
    """A few digits: ``'−0.02441'``."""
    return _written(value, _context(digits, ROUND_HALF_EVEN)).replace("…", "")


def _context(digits: int, rounding: str) -> Context:
    return Context(digits, rounding, Emin=-(10**6), Emax=10**6, traps=[])


def _written(value: Value | None, context: Context) -> str:
    if value is None:
        return _say("none")
    if isinstance(value, float) and not isfinite(value):
        return _say("nan" if isnan(value) else "infinity" if value > 0 else "minus_infinity")
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


def _say(key: str, /, **values: object) -> str:
    """A text of this study; an ellipsis ends a sentence too."""
    return strings.get(f"number.{key}", **values).replace("….", "…")


# -- numbers as people type them ------------------------------------------------------------------

_DECIMAL = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:e[+-]?\d{1,3})?")
_FRACTION = re.compile(r"(\d+)/(\d+)")
_POWER = re.compile(r"(2|10)\^([+-]?\d{1,4})")
_NAMED = {"inf": inf, "infinity": inf, "∞": inf, "nan": nan}


def parse(text: str) -> Value:
    """The number exactly, of 0.1, 70,000, 1e-8, 1/3, 2^-24, inf, nan; a float where it is infinite,
    NaN or a negative 0.

    Raises:
        InputError: it is no number.
    """
    plain = text.strip().lower().replace("−", "-").replace(" ", "")
    size = _size(plain.lstrip("+-")) if len(plain) <= LONGEST else None
    if size is None or not re.match(r"[+-]?[^+-]", plain):
        raise InputError(f"{shorten(text)} is no number to show; try 0.1, 1e-8, 1/3, -inf or nan.")
    if not plain.startswith("-"):
        return size
    return -size if size else -0.0


def _size(plain: str) -> Value | None:
    if plain in _NAMED:
        return _NAMED[plain]
    if found := _POWER.fullmatch(plain):
        return Fraction(int(found[1])) ** int(found[2])
    if found := _FRACTION.fullmatch(plain):
        return Fraction(int(found[1]), int(found[2])) if int(found[2]) else None
    if _DECIMAL.fullmatch(plain) and re.match(r"\.?\d", plain):
        return Fraction(plain.replace(",", ""))
    return None
