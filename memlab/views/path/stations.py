"""The stations of the data path: the bytes that wait in each at a moment, and the pipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memlab import units
from memlab.step.tensor import Role
from memlab.studies.figures import three
from memlab.studies.streams.offload import speed
from memlab.studies.streams.path import CARD, PINNED, RAM, Held, letter, say
from memlab.views.draw import text as texts
from memlab.views.draw.chart import Chart
from memlab.views.draw.labels import Text
from memlab.views.draw.marks import Fact, Glyph, Mark, Rect, Rule
from memlab.views.draw.scale import Scale
from memlab.views.draw.theme import PAINTS, Paint
from memlab.views.path.shown import DARK, LARGEST, LIGHT, Shown, told

FULL = Paint("currentColor", 0.9)
INPUT = PAINTS[Role.INPUT]
TRIANGLE = "M-6-7L7 0L-6 7Z"
PER_GB, THIN, WIDE = 4.0, 1.2, 16
"""How thick a pipe is for each gigabyte in a second beside the largest batches, how thick at least,
and where it has a triangle."""


def stations(shown: Shown) -> Chart:
    """Disk, RAM, pinned memory and device, with pipes between them."""
    names = ("disk", RAM, PINNED, CARD)
    marks: list[Mark] = [*_pipes(shown)]
    for name, span in zip(names, shown.spans, strict=True):
        marks += _station(shown, name, span)
    words = [_words(shown, name) for name in names]
    return Chart(Scale(0, shown.width), Scale(shown.tall, 0), marks, shown.tall, left=0, right=0,
                 above=22, told=words, name=say("stations"), gap=8)  # fmt: skip


def _words(shown: Shown, name: str) -> str:
    """A station in words."""
    said = f"{say(name)}: {say(f'holds.{name}')}"
    return f"{said}." if name == "disk" else f"{said}, {texts.plain(_bytes_of(shown, name))}."


def _station(shown: Shown, name: str, span: tuple[float, float]) -> Iterator[Mark]:
    left, right = span
    yield Rect(left, right, 0.5, shown.tall - 0.5, "rule faint", radius=5)
    yield Text(left, 0, say(name), 13, dy=-7, bold=True)
    if note := _note(name, span):
        yield Text(left, 0, note, 11, dx=7, dy=16, dim=True)
    if name == "disk":
        yield from _on_disk(shown, span)
        return
    rows = _rows(shown, name)
    top = 22.0 if note else 8.0
    bottom = shown.tall - (24 if _one_line(shown, name, span) else 36)
    middles = _middles(shown, rows, top, bottom)
    yield from _squares(shown, rows, middles, span)
    if name == CARD:
        yield from _converted(shown, rows, middles, span)
        yield from _states(shown, rows[-1], middles[-1] + shown.side / 2, span)
    yield from _reserved(shown, name, span)


def _note(name: str, span: tuple[float, float]) -> str:
    """What a station is, where there is room for it."""
    note = say(f"holds.{name}")
    return note if texts.width(note, 11) < span[1] - span[0] - 12 else ""


def _bytes_of(shown: Shown, name: str) -> list[tuple[str, bool]]:
    return [(f"{_short(shown.found.reserved(name))} ", True), (say("reserved"), False)]


def _one_line(shown: Shown, name: str, span: tuple[float, float]) -> bool:
    """Whether the bytes of a station have room in one line."""
    return texts.measure(_bytes_of(shown, name), 12) < span[1] - span[0] - 10


def _reserved(shown: Shown, name: str, span: tuple[float, float]) -> Iterator[Mark]:
    """At the bottom of a station, in two lines where one is too long."""
    said = _bytes_of(shown, name)
    if _one_line(shown, name, span):
        yield Text(span[0], shown.tall, said, 12, dx=7, dy=-8)
        return
    (amount, _), (word, _) = said
    yield Text(span[0], shown.tall, amount.strip(), 12, dx=5, dy=-20, bold=True)
    yield Text(span[0], shown.tall, word, 11, dx=5, dy=-7, dim=True)


def _short(nbytes: int) -> str:
    """Three digits, and two of what is less than 100: ``'19 MB'``."""
    unit = three(nbytes).rpartition(" ")[2]
    value = nbytes / units.UNITS[unit]
    return f"{value:.0f} {unit}" if value >= 9.5 else f"{value:.2g} {unit}"


def _rows(shown: Shown, name: str) -> list[list[Held]]:
    """Places of one size beside each other, at most two in a row, the smaller ones above."""
    found: dict[str, list[Held]] = {}
    for held in shown.found.held(name, shown.now):
        found.setdefault(held.tensor.format.name, []).append(held)
    return [each[i : i + 2] for each in found.values() for i in range(0, len(each), 2)]


def _middles(
    shown: Shown, rows: Sequence[Sequence[Held]], top: float, bottom: float
) -> list[float]:
    """The height of each row of a station between two heights."""
    sizes = [shown.square(_bytes(shown, row[0])) for row in rows]
    gap = 8.0
    y, found = (top + bottom - sum(sizes) - gap * (len(sizes) - 1)) / 2, []
    for size in sizes:
        found.append(y + size / 2)
        y += size + gap
    return found


def _bytes(shown: Shown, held: Held) -> int:
    return held.tensor.storage.size.at(shown.found.batch)


def _across(shown: Shown, row: Sequence[Held], span: tuple[float, float]) -> list[float]:
    """The middle of each place of a row."""
    left, right = span
    pitch = min((right - left) / len(row), 1.7 * shown.side)
    first = (left + right) / 2 - pitch * (len(row) - 1) / 2
    return [first + pitch * index for index in range(len(row))]


def _squares(
    shown: Shown,
    rows: Sequence[Sequence[Held]],
    middles: Sequence[float],
    span: tuple[float, float],
) -> Iterator[Mark]:
    for row, y in zip(rows, middles, strict=True):
        for held, x in zip(row, _across(shown, row, span), strict=True):
            yield from _square(shown, held, x, y)


def _square(shown: Shown, held: Held, x: float, y: float) -> Iterator[Mark]:
    """A place: dashed where it is empty, filled from below, with a thick frame in use."""
    half = shown.square(_bytes(shown, held)) / 2
    place = x - half, x + half, y - half, y + half
    if held.batch is None:
        yield Rect(*place, "before")
        return
    fact, send = told(shown.found, held.batch, held.tensor), ("choose", letter(held.batch))
    if held.part < 1:
        yield Rect(*place, "before")
    top = y + half - 2 * half * held.part
    yield Rect(x - half, x + half, top, y + half, INPUT, fact=fact, send=send)
    yield from _frame(shown, held.batch, place, used=held.used)
    yield _name(held.batch, x, y, half)
    yield Rect(*place, "target", fact=fact, send=send)


def _frame(
    shown: Shown, batch: int, place: tuple[float, float, float, float], used: bool
) -> Iterator[Mark]:
    if used:
        yield Rect(*place, "limit")
    if batch == shown.chosen:
        yield Rect(*place, "rule", inset=-4, radius=3)


def _name(batch: int, x: float, y: float, half: float) -> Text:
    size = 13 if half > 11 else 11
    return Text(x, y, letter(batch), size, "middle", dy=0.36 * size, bold=True, chip=half > 11)


def _on_disk(shown: Shown, span: tuple[float, float]) -> Iterator[Mark]:
    """The next batches, as many as there is room for."""
    left, right = span
    raw = shown.found.station(RAM)[0]
    side = shown.square(raw.storage.size.at(shown.found.batch))
    pitch = side + 9
    across, down = min(max(int((right - left - 4) / pitch), 1), 3), 2
    waiting = shown.found.waiting_on_disk(shown.now)[: across * down]
    x0, y0 = (left + right - pitch * (across - 1)) / 2, shown.tall / 2 - pitch / 2
    for index, batch in enumerate(waiting):
        x, y = x0 + pitch * (index % across), y0 + pitch * (index // across)
        half, fact = side / 2, told(shown.found, batch, raw)
        place = x - half, x + half, y - half, y + half
        yield Rect(*place, INPUT, fact=fact, send=("choose", letter(batch)))
        yield from _frame(shown, batch, place, used=False)
        yield _name(batch, x, y, half)
    if waiting:
        yield Text((left + right) / 2, y0 + 1.5 * pitch, say("and_so_on"), 11, "middle", dy=12,
                   dim=True)  # fmt: skip


def _converted(
    shown: Shown,
    rows: Sequence[Sequence[Held]],
    middles: Sequence[float],
    span: tuple[float, float],
) -> Iterator[Mark]:
    """Beside what came in bytes, that it becomes fp32 here."""
    if len(rows) < 2:
        return
    x = (span[0] + span[1]) / 2 + shown.square(_bytes(shown, rows[0][0])) / 2 + 8
    for number, key in enumerate(("convert", "convert_more")):
        said = say(f"pipe.{key}")
        if texts.width(said, 11) < span[1] - x - 4:
            y = middles[0] - 3 + 13 * number
            yield Text(x, y, said, 11, dim=True)


def _states(
    shown: Shown, row: Sequence[Held], y: float, span: tuple[float, float]
) -> Iterator[Mark]:
    """Below the places of the device: which batch is in use, which is next, or that none is."""
    if shown.found.waiting(shown.now):
        middle = (span[0] + span[1]) / 2
        yield Text(middle, y, say("compute_waits"), 12, "middle", dy=16, bold=True)
        return
    for held, x in zip(row, _across(shown, row, span), strict=True):
        if held.used:
            yield Text(x, y, say("in_use"), 12, "middle", dy=16, bold=True)
        elif held.batch is not None and held.part >= 1:
            yield Text(x, y, say("next"), 12, "middle", dy=16)


# -- pipes ----------------------------------------------------------------------------------------


def _pipes(shown: Shown) -> Iterator[Mark]:
    """As thick as their rate; the one that a batch takes longest to pass in full ink."""
    found = shown.found
    rates = dict(zip(("disk", "host", "link"), found.pipes, strict=True))
    for index, (rate, kind) in enumerate(rates.items()):
        left, right = shown.spans[index][1], shown.spans[index + 1][0]
        yield from _pipe(shown, kind, found.rates[rate], (left, right))


def _pipe(shown: Shown, kind: str, rate: int, span: tuple[float, float]) -> Iterator[Mark]:
    slow = kind == shown.found.slowest
    x, y = sum(span) / 2, shown.tall / 2
    wanted = rate / 1e9 * PER_GB * shown.side / LARGEST
    thick = min(max(wanted, THIN), shown.tall - 66)
    fact = Fact(f"{say(f'pipe.{kind}')}, {speed(rate)}",
                more=say("pipe.takes", seconds=shown.found.took(kind)))  # fmt: skip
    if wanted > thick:  # it is thicker than the picture
        for edge in (y - thick / 2, y + thick / 2):
            yield Rule(y=edge, span=span, look="before thin", crossed=True)
    look = LIGHT if not slow else DARK if thick > WIDE else FULL
    yield Rect(*span, y - thick / 2, y + thick / 2, look, edge=0, fact=fact)
    if thick > WIDE:
        yield Glyph(x, y, TRIANGLE, marker=">")
    lines = _fits(speed(rate), span[1] - span[0] - 6, slow)
    for number, line in enumerate(reversed(lines)):
        yield Text(x, y - thick / 2, line, 12, "middle", dy=-7 - 14 * number, bold=slow)
    said = [say(f"pipe.{kind}"), *([say("pipe.convert_more")] if kind == "convert" else [])]
    for number, line in enumerate(said):
        yield Text(x, y + thick / 2, line, 11, "middle", dy=15 + 13 * number, dim=True)


def _fits(said: str, room: float, heavy: bool) -> list[str]:
    """In one line, or in one for the number and one for its unit."""
    return [said] if texts.width(said, 12, heavy) <= room else said.split(" ")
