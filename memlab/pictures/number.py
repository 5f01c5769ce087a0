"""The bits of one number in a format: what they mean, what was lost, and which values are next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from memlab import strings
from memlab.errors import printed
from memlab.formats import NUMBERS
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import Label, Text
from memlab.pictures.draw.marks import Fact, Mark, Points, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import Block, Key, Table, Words
from memlab.pictures.draw.theme import Paint
from memlab.pictures.live import setting
from memlab.pictures.live.setting import Check, Choice, Range, State
from memlab.pictures.live.view import Scene, View, maker
from memlab.pictures.number_values import STEPS, Field, Line, Number, shown

PAINTS = {
    "sign": Paint("#D55E00", 0.34, "falling"),
    "exponent": Paint("#56B4E9", 0.30, "level"),
    "mantissa": Paint("#009E73", 0.38),
}
PAINTS |= {"top": PAINTS["sign"], "rest": PAINTS["mantissa"]}
GAP, TALL, BAND, WIDE = 16, 26, 8, 40
"""Pixels between fields, the heights of a box and of the band below it, a box where there is
room."""
POINTER = 8
"""The mark of the number on the line: a wedge that points down."""


class NumberBits(View[Number]):
    """The bits of a number in a format, what they mean, and the values beside it."""

    name, made_by, widest = "number", "number", 820
    positional = ("value", "format")
    presets: ClassVar = {
        "start": {"value": "0.1", "format": "fp16"},
        "surprise": {"value": "2049", "format": "fp16"},
        "break": {"value": "70000", "format": "fp16"},
    }
    """A number that is rounded; a whole number that is lost; one that is too large."""

    value = setting.Text(
        doc='the number as one would write it, ``"0.1"``, ``"1/3"``, ``"2^-24"``, ``"-inf"``; a '
        "number of Python is taken as ``print`` shows it",
        default="0.1",
        check=printed,
        code="plain",
    )
    format = Choice(
        list(NUMBERS), doc="a name of ``memlab.formats.NUMBERS``", default="fp16", code="plain"
    )
    step = Range(
        -STEPS,
        STEPS,
        doc="how many values of the format to go up from there, or down; -16 to 16",
        default=0,
        follows=["value", "format"],
    )
    numbers = Check(doc="whether every format is listed", argument=False, stays=True, key="KeyN")

    def study(self, now: State) -> Number:
        return Number(now.value, now.format, now.step)

    def line(self, now: State) -> str:
        found = self.rows_of(now)
        return "|".join((now.value, now.format, str(now.step), found.fate, "".join(found.bits)))

    def says(self, scene: Scene) -> str:
        return self.rows_of(scene.now).spoken

    def compose(self, scene: Scene) -> Page:
        found = self.rows_of(scene.now)
        return Page(found.title, list(_blocks(found, scene)), scene.width, found.spoken)


number = maker(NumberBits)


def _blocks(found: Number, scene: Scene) -> Iterator[Block]:
    """From what becomes of the number to the same in every format, on demand."""
    yield Words(found.headline, 16, bold=True, gap=3)
    yield Words(found.note, 13)
    yield _boxes(found.fields, scene.width)
    for field in found.fields:
        said = [(field.label, True), (f"{field.bits}: {field.meaning}", False)]
        first = field is found.fields[0]
        yield Words([said], 13, mark=PAINTS[field.name], gap=10 if first else 0)
    yield Words(found.formula, 14, bold=True, gap=6)
    yield Words(found.lost, 13, gap=2)
    yield Words(found.neighbours, 13)
    if found.line is not None:
        yield Chart(Scale(0, 1), Scale(0, 40), list(_marks(found, found.line)), 40,
                    left=12, right=12, above=16, below=6, gap=6)  # fmt: skip
        yield Key(_key(found.line), 11, gap=10)
    rows = found.everywhere()
    here = [index for index, row in enumerate(rows) if row[0] == found.name]
    heads = [_say(f"head.{name}") for name in ("format", "bits", "held", "error")]
    yield Table(heads, rows, "<><>", _say("everywhere"), bold=here, gap=12,
                drawn=scene.now.numbers)  # fmt: skip


# -- bits ---------------------------------------------------------------------------------------


def _boxes(fields: list[Field], width: float) -> Chart:
    """A box for each bit; a band in the look of its field lies below."""
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
    yield Text(left, TALL + BAND + 2, field.label, 12, dy=-7, bold=True)
    for index, bit in enumerate(field.bits):
        x = left + wide * index
        yield Rect(x, x + wide, BAND + 2, TALL + BAND + 2, "rule faint")
        yield Text(x + wide / 2, BAND + 2 + TALL / 2, bit, size, "middle", dy=0.36 * size)
    yield Rect(left, end, 0, BAND, PAINTS[field.name])
    fact = Fact(field.label, field.bits, more=field.meaning)
    yield Rect(left, end, 0, TALL + BAND + 2, "target", fact=fact)


# -- the line of numbers --------------------------------------------------------------------------


def _marks(found: Number, line: Line) -> Iterator[Mark]:
    """The number above the line, the values of the format on it and below it."""
    middle = _say("key.middle")
    yield Text(line.where, 40, found.subject, 12, "middle", dy=-4, bold=True, held=True)
    for part in line.dashed:
        yield Rule(y=20, span=part, look="before")
    yield Rule(y=20, span=line.solid, look="pole")
    if line.middle:
        yield Rule(x=0.5, span=(13, 27), look="pole")
        yield Text(0.5, 20, middle, 12, "middle", dy=22)
    ends = {0.0: ("start", -12.0), 1.0: ("end", 12.0)}
    for stop in sorted(line.stops, key=lambda stop: stop.where not in ends):
        anchor, dx = ends.get(stop.where, ("middle", 0.0))
        yield Label(shown(stop.value), [(stop.where, 20, anchor, dx, 22)], kept=stop.where in ends)
        if stop.value is not None:
            held = stop.value == found.held
            fact = Fact(shown(stop.value), more=_say(f"key.{'held' if held else 'other'}"))
            yield Points([(stop.where, 20)], "dot" if held else "hollow", 10, fact)
    yield Points([(line.where, 30)], POINTER, fact=Fact(found.subject, more=_say("key.number")))


def _key(line: Line) -> list[tuple[int | Paint | str, str]]:
    """What the marks are."""
    looks: dict[str, int | Paint | str] = {"number": POINTER, "held": "dot", "other": "hollow"}
    looks |= {"scale": "before"} if line.dashed else {}
    return [(look, _say(f"key.{name}")) for name, look in looks.items()]


def _say(key: str) -> str:
    return strings.get(f"number.{key}")
