"""The picture of the data path: stations with the bytes that wait in them, and below them what the
loader and the device do in time. Both show one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from memlab import units
from memlab.planner.streams import COMPUTE
from memlab.step.tensor import Role, Tensor
from memlab.studies.figures import three
from memlab.studies.offload import speed
from memlab.studies.path import CARD, PINNED, RAM, DataPath, Held, Job, letter, say
from memlab.views.draw import text as texts
from memlab.views.draw.chart import Chart
from memlab.views.draw.labels import Label, Text
from memlab.views.draw.marks import Fact, Glyph, Mark, Press, Rect, Rule
from memlab.views.draw.page import Page
from memlab.views.draw.scale import Scale
from memlab.views.draw.table import Block, Key, Table, Words
from memlab.views.draw.theme import PAINTS, WAIT, Paint
from memlab.views.offload.page import LEFT, RIGHT, Time, bold, named

TURNS = 4.2
"""The axis of time has room for so many batches, of which one follows the other."""
PLACE = 0.42
"""The share of the axis at which the moment stands that nobody has chosen."""
LIGHT, DARK, FULL = (Paint("currentColor", tint) for tint in (0.20, 0.36, 0.9))
INPUT = PAINTS[Role.INPUT]
KEYS: dict[str, Paint | str] = {"empty": "edge before", "read": LIGHT, "other": DARK, "wait": WAIT}
"""What looks mean that no word stands beside."""
TRIANGLE, DROP = "M-6-7L7 0L-6 7Z", "M-5-7h10l-5 8Z"

# -- where things stand ---------------------------------------------------------------------------

SHARES = (0.20, 0.17, 0.27, 0.36)
"""Of the disk, RAM, pinned memory and the device, in what the pipes leave."""
LEAST, MOST = 64, 96
"""How long a pipe is, in pixels."""
SIDE, LARGEST = 0.09, 62
"""The side of a batch in fp32: a share of what the pipes leave, and at most so many pixels."""
ROOM = 60
"""Pixels of a station above and below two rows of batches."""
PER_GB, THIN, WIDE = 4.0, 1.2, 16
"""How thick a pipe is for each gigabyte in a second beside the largest batches, how thick at least,
and where it has a triangle."""


@dataclass(frozen=True)
class Shown:
    """What the picture is made from; ``held`` is the state that its axis of time belongs to,
    ``before`` the one that was seen before this one."""

    found: DataPath
    held: DataPath
    before: DataPath | None
    chosen: int | None
    moment: float | None
    width: float

    @cached_property
    def time(self) -> Time:
        """The axis of time."""
        return Time([TURNS * self.held.turn], self.width)

    @property
    def now(self) -> float:
        """The second that is shown above."""
        last = self.time.x.last
        return PLACE * last if self.moment is None else min(self.moment, last)

    # -- stations, in pixels ----------------------------------------------------------------

    @property
    def pipe(self) -> float:
        """How long each of the three pipes is."""
        return min(max(0.095 * self.width, LEAST), MOST)

    @cached_property
    def spans(self) -> list[tuple[float, float]]:
        """The left and the right end of each station."""
        room, left, found = self.width - 3 * self.pipe - 1, 0.5, []
        for share in SHARES:
            found.append((left, left + share * room))
            left += share * room + self.pipe
        return found

    @property
    def side(self) -> float:
        """Of a batch as the device computes on it."""
        return min(SIDE * (self.width - 3 * self.pipe), LARGEST)

    @property
    def tall(self) -> float:
        """Of a station."""
        return 2 * self.side + ROOM

    def square(self, nbytes: int) -> float:
        """The side of a square of so many bytes: its area is as large."""
        most = max(each.storage.size.at(self.found.batch) for each in self.found.station(CARD))
        return self.side * sqrt(nbytes / most)


def page(shown: Shown, says: str) -> Page:
    """The stations, and the lanes below them."""
    found = shown.found
    heads, rows = found.table(shown.time.x.last)
    blocks: list[Block] = [
        Words([bold(found.finding)], 20),
        Words(_sentences(shown), 13, gap=3),
        stations(shown),
        lanes(shown),
        Key([(look, say(f"key.{name}")) for name, look in KEYS.items()], 11, gap=2),
        Words(found.notes, 11, dim=True, gap=6),
        Words(found.lines(shown.now), drawn=False, gap=1),
        Table(heads, rows, "<" * len(heads), drawn=False, gap=1),
    ]
    return Page(found.title, blocks, shown.width, says, titled=False)


def _sentences(shown: Shown) -> list[str]:
    """What there is to see: of the batch in focus, of the wait that was chosen, or of all."""
    found = shown.found
    if shown.chosen is not None:
        return [str(_fact(found, shown.chosen))]
    wait = found.waiting(shown.now) if shown.moment is not None else ""
    return [wait] if wait else found.sentences


def _fact(found: DataPath, batch: int, place: Tensor | None = None) -> Fact:
    """What a batch says: its bytes in a place, or as the device computes on it, and its times."""
    place = place or found.station(CARD)[-1]
    return Fact(say("batch", name=letter(batch)), place.formula(found.batch),
                place.storage.size.at(found.batch), more=found.fact(batch))  # fmt: skip


# -- stations -------------------------------------------------------------------------------------


def stations(shown: Shown) -> Chart:
    """Disk, RAM, pinned memory and device, with pipes between them."""
    names = ("disk", RAM, PINNED, CARD)
    marks: list[Mark] = [*_pipes(shown)]
    for name, span in zip(names, shown.spans, strict=True):
        marks += _station(shown, name, span)
    told = [_told(shown, name) for name in names]
    return Chart(Scale(0, shown.width), Scale(shown.tall, 0), marks, shown.tall, left=0, right=0,
                 above=22, told=told, name=say("stations"), gap=8)  # fmt: skip


def _told(shown: Shown, name: str) -> str:
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
    fact, send = _fact(shown.found, held.batch, held.tensor), ("choose", letter(held.batch))
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
        half, fact = side / 2, _fact(shown.found, batch, raw)
        place = x - half, x + half, y - half, y + half
        yield Rect(*place, INPUT, fact=fact, send=("choose", letter(batch)))
        yield from _frame(shown, batch, place, used=False)
        yield _name(batch, x, y, half)
    if waiting:
        yield Text((left + right) / 2, y0 + 1.5 * pitch, say("and_so_on"), 11, "middle", dy=12,
                   dim=True)  # fmt: skip


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


# -- lanes ----------------------------------------------------------------------------------------

TALL, APART, FOOT = 31, 15, 23
"""Pixels: of a lane, between both, and below them."""
HIGH = FOOT + 2 * TALL + APART
LOADER, WORK = (FOOT + TALL + APART, HIGH), (FOOT, FOOT + TALL)
LETTER = 13
"""Pixels that a letter needs."""


def lanes(shown: Shown) -> Chart:
    """What the loader does, what is copied, and what the device does."""
    x, found = shown.time.x, shown.found
    jobs = [job for job in found.jobs if job.start < x.last]
    marks: list[Mark] = [
        *(mark for job in jobs for mark in _job(shown, job)),
        *_waits(shown),
        *_outline(shown),
        *named((LOADER[0] + LOADER[1]) / 2, say("loader"), say("on_host")),
        *named((WORK[0] + WORK[1]) / 2, say("compute"), say("on_device")),
        Rule(x=shown.now, span=(FOOT - 6, HIGH), look="rule", width=2, above=10),
        Text(shown.now, HIGH, say("now"), 12, "middle", dy=-16, bold=True, held=True),
        Press("moment", 1000, (0, x.last, FOOT, HIGH)),
    ]
    return Chart(x, Scale(0, HIGH), marks, HIGH, shown.time.axis, left=LEFT, right=RIGHT, above=28,
                 name=say("lanes"), gap=4)  # fmt: skip


def _job(shown: Shown, job: Job) -> Iterator[Mark]:
    """A block with its letter, or an arrow for a copy over the link."""
    if job.kind == "link":
        if job.end <= shown.time.x.last:
            yield Rule(x=job.end, span=(WORK[1] + 3, LOADER[0] - 1), look="rule", width=1.6)
            yield Glyph(job.end, WORK[1] + 1, DROP, dy=-1)
            near = 6 * shown.time.pixel
            place = job.end - near, job.end + near, WORK[1], LOADER[0]
            yield Rect(*place, "target", fact=_fact(shown.found, job.batch))
        return
    low, high = WORK if job.lane == COMPUTE else LOADER
    end = min(job.end, shown.time.x.last)
    light = job.kind == "read"
    fact = _fact(shown.found, job.batch, shown.found.station(RAM)[0] if light else None)
    look, send = LIGHT if light else DARK, ("choose", letter(job.batch))
    yield Rect(job.start, end, low, high, look, inset=0.4, edge=0, fact=fact, send=send)
    if job.batch == shown.chosen:
        yield Rect(job.start, end, low, high, "limit")
    if job.kind in ("read", "compute"):
        yield from _lettered(shown, job, end, (low + high) / 2)


def _lettered(shown: Shown, job: Job, end: float, y: float) -> Iterator[Mark]:
    """The letter of a batch, where now does not run through it; of the first also what is done."""
    wide = (end - job.start) / shown.time.pixel
    name = letter(job.batch)
    if not job.batch and (texts.width(said := say(f"{job.kind}_first", batch=name), 12) < wide - 6):
        name = said
    if wide > LETTER:
        places = [(job.start + share * (end - job.start), y, "middle", 0.0, 4.0)
                  for share in (0.5, 0.25, 0.75)]  # fmt: skip
        yield Label(name, places, 12)


def _waits(shown: Shown) -> Iterator[Mark]:
    """Where compute stands still."""
    found, last = shown.found, shown.time.x.last
    for _, start, end in found.stalls:
        if start >= last:
            continue
        fact = Fact(found.waiting(start))
        end = min(end, last)
        yield Rect(start, end, *WORK, WAIT, edge=0, fact=fact)
        if end - start > 3 * shown.time.pixel:
            yield Rect(start, end, *WORK, "rule", inset=0.5)
    key = "waits_alone" if found.ceases else "waits_first"
    yield Text(0, FOOT, say(key, batch=letter(0)), 12, dy=15, bold=True)


def _outline(shown: Shown) -> Iterator[Mark]:
    """Where the last batch that both states have computed was done in the one before."""
    if shown.before is None:
        return
    last = shown.time.x.last
    done = [batch for batch, (one, other) in enumerate(
        zip(shown.found.by_batch, shown.before.by_batch, strict=False))
        if max(one["compute"].end, other["compute"].end) <= last]  # fmt: skip
    if not done:
        return
    job = shown.before.by_batch[done[-1]]["compute"]
    yield Rect(job.start, job.end, 2, FOOT - 6, "before thin")
    said = say("was", batch=letter(job.batch))
    places = [(job.end, 6.0, "start", 6.0, 0.0), (job.start, 6.0, "end", -6.0, 0.0)]
    yield Label(said, places, 11, dim=True)
