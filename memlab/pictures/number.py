"""A number in a format: its bits and what they mean, what was lost, and which values are next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, Inexact
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, isinf, isnan, nan
from typing import ClassVar, NamedTuple

from memlab import rounding, strings
from memlab.errors import InputError, printed, shorten
from memlab.formats import NUMBERS, Beyond, Format
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import Fact, Mark, Points, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.svg import PHONE
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, Table
from memlab.pictures.draw.theme import Paint
from memlab.pictures.live import setting
from memlab.pictures.live.setting import Checkbox, Range, Select, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.rounding import Bits, RoundingError

STEPS = 16
"""How many values a walk goes up or down."""
LONGEST = 40
"""Characters of a number that is typed."""
DIGITS = 20
"""As many tell any two values of fp64 apart."""

Value = Fraction | float


class NeighbourLine(NamedTuple):
    """Number line from the value below a number (0) to the value above it (1), and the position of
    the number. A value is None if the format ends there; ``solid`` is the part that is drawn to
    scale."""

    stops: tuple[tuple[float, float | None], ...]
    where: float
    solid: tuple[float, float]

    @property
    def dashed(self) -> list[tuple[float, float]]:
        """Parts of the line that are not drawn to scale."""
        parts = (0.0, self.solid[0]), (self.solid[1], 1.0)
        return [(left, right) for left, right in parts if left < right]

    @property
    def middle(self) -> bool:
        """True if the number lies between two values, so that the point half-way between them
        decides."""
        return len(self.stops) == 2 and self.solid == (0.0, 1.0)


class Field(NamedTuple):
    """Field of the bits of a number: its name, such as ``"exponent"``, its bits
    and their meaning."""

    name: str
    bits: str
    meaning: str

    @property
    def label(self) -> str:
        """Display name."""
        return _say(f"field.{self.name}")

    def in_lines(self, width: float) -> list[str]:
        """Return the bits in as many parts of equal length as a page of that width needs."""
        most = MANY if width < PHONE else len(self.bits)
        count = -(-len(self.bits) // most)
        size = -(-len(self.bits) // count)
        return [self.bits[at : at + size] for at in range(0, len(self.bits), size)]


@dataclass(frozen=True, eq=False)
class FormattedNumber:
    """Number as it was typed, and the name of a format. If ``step`` is not 0, the value lies that
    many values of the format above (or below) it.

    Raises:
        InputError: no number, no such format, or a number that the format cannot say.
    """

    typed: str
    name: str = "fp16"
    step: int = 0

    def __post_init__(self) -> None:
        rounding.nearest(parse(self.typed), self.format)

    # -- exact figures ----------------------------------------------------------------------

    @cached_property
    def format(self) -> Format:
        """Format in which the number is stored."""
        return rounding.find(self.name)

    @cached_property
    def number(self) -> Value:
        """Number that is shown: the typed number, or the value that a walk has reached."""
        typed = parse(self.typed)
        return rounding.walk(typed, self.format, self.step) if self.step else typed

    @cached_property
    def held(self) -> float:
        """Value in which the format stores the number."""
        return rounding.nearest(self.number, self.format)

    @cached_property
    def bits(self) -> Bits:
        """Sign, exponent and mantissa of the value."""
        return rounding.bits(self.number, self.format)

    @cached_property
    def error(self) -> RoundingError | None:
        """Rounding error: the distance of the value from the number; None where one of them is not
        finite."""
        return rounding.error(self.number, self.format)

    @cached_property
    def beside(self) -> tuple[float | None, float | None]:
        """Next smaller and next larger value of the format."""
        return rounding.neighbours(self.number, self.format)

    @cached_property
    def line(self) -> NeighbourLine | None:
        """Position of the number between its neighbours: to scale if both are finite, in the middle
        otherwise, and None for NaN."""
        number = self.number
        if number != number:
            return None
        low, high = (value is not None and isfinite(value) for value in self.beside)
        where, solid, exact = 0.5, (0.5, 0.5), self.held == number
        if low and high:
            below, above = (Fraction(value or 0) for value in self.beside)
            where, solid = float((Fraction(number) - below) / (above - below)), (0.0, 1.0)
        elif exact and isfinite(number):
            solid = (0.0, 0.5) if low else (0.5, 1.0)
        inner = ((where, float(number)),) if exact else ()
        return NeighbourLine(((0.0, self.beside[0]), *inner, (1.0, self.beside[1])), where, solid)

    @property
    def fate(self) -> str:
        """Key of the text that says what becomes of the number in the format."""
        if isnan(self.held):
            return "nan" if self.number != self.number else "lost"
        if self.number == self.held:
            return "exact"
        if isinf(self.held):
            return "infinity"
        if not self.format.lowest <= self.number <= self.format.largest:
            return "saturated" if self.format.beyond is Beyond.LARGEST else "rounded"
        return "rounded" if self.held else "zero"

    # -- in words -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Title: ``'0.1 in fp16: 16 bits, of them 1 sign, 5 exponent and 10 mantissa'``."""
        number_format = self.format
        way = "up" if self.step > 0 else "down"
        walked = _say(f"walked.{way}", count=abs(self.step)) if self.step else ""
        counts = ("bits", "exponent", "mantissa", "unused")
        parts = {name: getattr(number_format, name) for name in counts}
        key = "unused" if number_format.unused else number_format.kind
        return _say(
            f"title.{key}", number=self._typed, walked=walked, format=number_format.name, **parts
        )

    @property
    def subject(self) -> str:
        """Number as it was typed, or the value that a walk has reached, as text."""
        return shown(self.number) if self.step else self._typed

    @property
    def headline(self) -> str:
        """Return what becomes of the number: ``'0.1 becomes 0.0999755859375.'``"""
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
        """Return the note that the number lies half-way between two values, or is stored as a
        subnormal."""
        smallest, between = self.format.smallest_normal, self.line is not None and self.line.middle
        tie = between and self.error is not None and abs(self.error.ulps) == Fraction(1, 2)
        notes = [_say("tie")] if tie else []
        if self.format.kind == "float" and 0 < abs(self.held) < smallest:
            notes.append(_say("subnormal", smallest=brief(smallest)))
        return " ".join(notes)

    @property
    def fields(self) -> list[Field]:
        """Return each field with its bits and their meaning."""
        names = ("sign", "exponent", "mantissa") if self.bits.exponent else ("top", "rest")
        fields = zip(names, filter(None, self.bits), strict=True)
        return [Field(name, bits, self._meaning(name, bits)) for name, bits in fields]

    @property
    def formula(self) -> str:
        """Return the fields as a formula: ``'(−1)^0 · 2^(11 − 15) · (1 + 614/2^10) =
        0.0999755859375'``."""
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
        """Sentence on the distance of the value from the number."""
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
        """Return the neighbouring values in words."""
        if self.line is None:
            return _say("line.nowhere")
        low, high = self.beside
        return _say("line.beside", low=shown(low), high=shown(high))

    @property
    def spoken(self) -> str:
        """Return the words of a screen reader after a change."""
        parts = [f"{self.format}.", self.headline, self.note, self.lost]
        return " ".join(part for part in parts if part)

    def everywhere(self) -> list[list[str]]:
        """Return the number in every format: format, bits, value, error in percent."""
        return [self._kept(other) for other in NUMBERS.values()]

    # -- inside -------------------------------------------------------------------------------

    @property
    def _typed(self) -> str:
        return re.sub("^-", "−", self.typed.strip())

    @property
    def _special(self) -> str:
        """Sentence on how the format writes a value that is no finite number."""
        if not isnan(self.held):
            return "infinity"
        return "nan" if self.format.infinities else "only_nan"

    @property
    def _parts(self) -> tuple[int, int, int]:
        """Return the exponent with its bias, the leading digit, and the mantissa."""
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
        """Return the value of the number in another format, and its error. The value is empty if
        the format cannot hold the number."""
        if self.number != self.number and not other.nan:
            return [other.name, str(other.bits), shown(None), "–"]
        held, error = rounding.nearest(self.number, other), rounding.error(self.number, other)
        lost = "–" if error is None else f"{brief(100 * error.relative)} %"
        return [other.name, str(other.bits), shown(held), lost]


# -- numbers as text ------------------------------------------------------------------------------


def shown(value: Value | None) -> str:
    """Return all digits of a value, or the first 20 and an ellipsis: ``'0.0999755859375'``."""
    return _written(value, _context(DIGITS, ROUND_DOWN))


def brief(value: Value | None, digits: int = 4) -> str:
    """Return a value with a few digits: ``'−0.02441'``."""
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
    """Return a text about a number, ended by a full stop unless it ends with an ellipsis."""
    return strings.get(f"number.{key}", **values).replace("….", "…")


# -- numbers as people type them ------------------------------------------------------------------

_DECIMAL = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:e[+-]?\d{1,3})?")
_FRACTION = re.compile(r"(\d+)/(\d+)")
_POWER = re.compile(r"(2|10)\^([+-]?\d{1,4})")
_NAMED = {"inf": inf, "infinity": inf, "∞": inf, "nan": nan}


def parse(text: str) -> Value:
    """Return the exact number of a text such as 0.1, 70,000, 1e-8, 1/3, 2^-24, inf or nan.
    Infinity, NaN and negative zero are returned as a float.

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
    if match := _POWER.fullmatch(plain):
        return Fraction(int(match[1])) ** int(match[2])
    if match := _FRACTION.fullmatch(plain):
        return Fraction(int(match[1]), int(match[2])) if int(match[2]) else None
    if _DECIMAL.fullmatch(plain) and re.match(r"\.?\d", plain):
        return Fraction(plain.replace(",", ""))
    return None


# -- the view ---------------------------------------------------------------------------------

PAINTS = {
    "sign": Paint("#D55E00", 0.34, "falling"),
    "exponent": Paint("#56B4E9", 0.30, "level"),
    "mantissa": Paint("#009E73", 0.38),
}
PAINTS |= {"top": PAINTS["sign"], "rest": PAINTS["mantissa"]}
GAP, TALL, BAND, WIDE = 16, 26, 8, 40
"""Pixels between fields, the heights of a box and of the band below it, a box where there is
room."""
MANY = 32
"""Most boxes in a line on a phone."""
POINTER = 8
"""The mark of the number on the line: a wedge that points down."""


class NumberBits(View[FormattedNumber]):
    r"""The bits of a number in a format, what they mean, and the values beside it.

    >>> view = memlab.views.number("0.1", "bf16")
    >>> print(str(view).split("\n")[0])
    0.1 in bf16: 16 bits, 1 for the sign, 8 for the exponent, 7 for the mantissa.
    """

    name, made_by, widest = "number", "number", 820
    positional = ("value", "format")
    presets: ClassVar = {
        "start": {"value": "0.1", "format": "fp16"},
        "surprise": {"value": "2049", "format": "fp16"},
        "break": {"value": "70000", "format": "fp16"},
    }
    """A number that is rounded; a whole number that is lost; one that is too large."""

    value = setting.TextBox(
        doc='the number as one would write it, ``"0.1"``, ``"1/3"``, ``"2^-24"``, ``"-inf"``; a '
        "number of Python is taken as ``print`` shows it",
        default="0.1",
        check=printed,
        code="plain",
    )
    format = Select(
        list(NUMBERS), doc="a name of ``memlab.formats.NUMBERS``", default="fp16", code="plain"
    )
    step = Range(
        -STEPS,
        STEPS,
        doc="how many values of the format to go up from there, or down; -16 to 16",
        default=0,
        follows=["value", "format"],
    )
    numbers = Checkbox(doc="whether every format is listed", argument=False, stays=True, key="KeyN")

    def study(self, now: State) -> FormattedNumber:
        return FormattedNumber(now.value, now.format, now.step)

    def test_state(self, now: State) -> str:
        rows = self.rows_of(now)
        return "|".join((now.value, now.format, str(now.step), rows.fate, "".join(rows.bits)))

    def says(self, scene: PageState) -> str:
        return self.rows_of(scene.now).spoken

    def compose(self, scene: PageState) -> Page:
        rows = self.rows_of(scene.now)
        return Page(rows.title, list(_blocks(rows, scene)), scene.width, rows.spoken)


number = maker(NumberBits)


def _blocks(number: FormattedNumber, scene: PageState) -> Iterator[PageBlock]:
    """Yield the parts of the page, from what becomes of the number to the number in every format,
    which is shown on demand."""
    yield Paragraphs(number.headline, 16, bold=True, gap=3)
    yield Paragraphs(number.note, 13)
    yield from (_boxes(fields, scene.width) for fields in _lines_of(number.fields, scene.width))
    for field in number.fields:
        bits = " ".join(field.in_lines(scene.width))
        said = [(field.label, True), (f"{bits}: {field.meaning}", False)]
        first = field is number.fields[0]
        yield Paragraphs([said], 13, mark=PAINTS[field.name], gap=10 if first else 0)
    yield Paragraphs(number.formula, 14, bold=True, gap=6)
    yield Paragraphs(number.lost, 13, gap=2)
    yield Paragraphs(number.neighbours, 13)
    if number.line is not None:
        below = 22 if scene.width < PHONE else 6
        yield Chart(Scale(0, 1), Scale(0, 40), list(_marks(number, number.line)), 40,
                    left=12, right=12, above=16, below=below, gap=6)  # fmt: skip
        yield Key(_key(number.line), 11, gap=10)
    rows = number.everywhere()
    here = [index for index, row in enumerate(rows) if row[0] == number.name]
    heads = [_say(f"head.{name}") for name in ("format", "bits", "held", "error")]
    yield Table(heads, rows, "<><>", _say("everywhere"), bold=here, gap=12,
                drawn=scene.now.numbers)  # fmt: skip


# -- bits ---------------------------------------------------------------------------------------


def _lines_of(fields: list[Field], width: float) -> Iterator[list[Field]]:
    """Yield the fields of each line of boxes: all of them or, on a phone that has no room for them,
    the short ones and then every part of a long one."""
    if all(len(field.in_lines(width)) == 1 for field in fields):
        yield fields
        return
    yield [field for field in fields if len(field.in_lines(width)) == 1]
    for field in fields:
        parts = field.in_lines(width)
        yield from ([field._replace(bits=bits)] for bits in parts if len(parts) > 1)


def _boxes(fields: list[Field], width: float) -> Chart:
    """Return a chart with a box for each bit, and the fields as bands below."""
    labels = {field.name: texts.width(field.label, 12, bold=True) for field in fields}
    short = sum(labels[field.name] for field in fields if len(field.bits) == 1)
    count = sum(len(field.bits) for field in fields)
    wide = min(WIDE, (width - GAP * (len(fields) - 1) - short) / count)
    marks: list[Mark] = []
    left = 0.0
    for field in fields:
        marks += _field(field, left, wide)
        left += max(wide * len(field.bits), labels[field.name]) + GAP
    tall = TALL + BAND + 2
    return Chart(Scale(0, width), Scale(0, tall), marks, tall, left=0, right=0, above=18, gap=4)


def _field(field: Field, left: float, wide: float) -> Iterator[Mark]:
    end, size = left + wide * len(field.bits), 14 if wide > 14 else 11
    yield ChartText(left, TALL + BAND + 2, field.label, 12, dy=-7, bold=True)
    for index, bit in enumerate(field.bits):
        x = left + wide * index
        yield Rect(x, x + wide, BAND + 2, TALL + BAND + 2, "rule faint")
        yield ChartText(x + wide / 2, BAND + 2 + TALL / 2, bit, size, "middle", dy=0.36 * size)
    yield Rect(left, end, 0, BAND, PAINTS[field.name])
    fact = Fact(field.label, field.bits, more=field.meaning)
    yield Rect(left, end, 0, TALL + BAND + 2, "target", fact=fact)


# -- the line of numbers --------------------------------------------------------------------------


def _marks(number: FormattedNumber, line: NeighbourLine) -> Iterator[Mark]:
    """Yield marks for the number above the line, the values of the format on it, and their names
    below it."""
    middle = _say("key.middle")
    yield ChartText(line.where, 40, number.subject, 12, "middle", dy=-4, bold=True, held=True)
    for part in line.dashed:
        yield Rule(y=20, span=part, look="before")
    yield Rule(y=20, span=line.solid, look="pole")
    if line.middle:
        yield Rule(x=0.5, span=(13, 27), look="pole")
        yield ChartText(0.5, 20, middle, 12, "middle", dy=22)
    ends = {0.0: ("start", -12.0), 1.0: ("end", 12.0)}
    for x, value in sorted(line.stops, key=lambda stop: stop[0] not in ends):
        anchor, dx = ends.get(x, ("middle", 0.0))
        places = [(x, 20, anchor, dx, dy) for dy in (22, 38)]
        yield Label(shown(value), places, kept=x in ends)
        if value is not None:
            held = value == number.held
            fact = Fact(shown(value), more=_say(f"key.{'held' if held else 'other'}"))
            yield Points([(x, 20)], "dot" if held else "hollow", 10, fact)
    yield Points([(line.where, 30)], POINTER, fact=Fact(number.subject, more=_say("key.number")))


def _key(line: NeighbourLine) -> list[tuple[int | Paint | str, str]]:
    """Return the legend of the marks."""
    looks: dict[str, int | Paint | str] = {"number": POINTER, "held": "dot", "other": "hollow"}
    looks |= {"scale": "before"} if line.dashed else {}
    return [(look, _say(f"key.{name}")) for name, look in looks.items()]
