"""The page of the data path: the stations at a moment, and below them the lanes: what the loader
and the device do in time, and when compute waits."""

from __future__ import annotations

from collections.abc import Iterator

from memlab.clocks.streams import COMPUTE
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import Label, Text
from memlab.pictures.draw.marks import Fact, Glyph, Mark, Press, Rect, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import Block, Key, Table, Words
from memlab.pictures.draw.text import emphasized
from memlab.pictures.draw.theme import WAIT, Paint
from memlab.pictures.offload.page import LEFT, RIGHT, named
from memlab.pictures.path.stations import DARK, LIGHT, Shown, stations, told
from memlab.pictures.path.values import RAM, Job, letter, say

KEYS: dict[str, Paint | str] = {"empty": "edge before", "read": LIGHT, "other": DARK, "wait": WAIT}
"""What looks mean that no word stands beside."""
DROP = "M-5-7h10l-5 8Z"
TALL, APART, FOOT = 31, 15, 23
"""Pixels: of a lane, between both, and below them."""
HIGH = FOOT + 2 * TALL + APART
LOADER, WORK = (FOOT + TALL + APART, HIGH), (FOOT, FOOT + TALL)
LETTER = 13
"""Pixels that a letter needs."""


def page(shown: Shown, says: str) -> Page:
    """The stations, and the lanes below them."""
    found = shown.found
    heads, rows = found.table(shown.time.x.last)
    blocks: list[Block] = [
        Words([emphasized(found.finding)], 20),
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
        return [str(told(found, shown.chosen))]
    wait = found.waiting(shown.now) if shown.moment is not None else ""
    return [wait] if wait else found.sentences


# -- the lanes -------------------------------------------------------------------------------------


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
            yield Rect(*place, "target", fact=told(shown.found, job.batch))
        return
    low, high = WORK if job.lane == COMPUTE else LOADER
    end = min(job.end, shown.time.x.last)
    light = job.kind == "read"
    fact = told(shown.found, job.batch, shown.found.station(RAM)[0] if light else None)
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
