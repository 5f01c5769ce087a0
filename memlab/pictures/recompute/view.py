"""The waves of recomputation over the time of a step, and the peak of every k beside them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from memlab import strings, units
from memlab.arrays import Floats
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import Label, Name, Text, thickest
from memlab.pictures.draw.labels import Phase as Bracket
from memlab.pictures.draw.marks import (
    Area,
    Fact,
    Glyph,
    Line,
    Mark,
    Points,
    Rect,
    Rects,
    Rule,
    Stairs,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import TIGHT, Scale, bytes_over
from memlab.pictures.draw.table import Block, Table, Unnamed, Words
from memlab.pictures.draw.theme import PAINTS, Paint
from memlab.pictures.live.setting import Check, Choice, Number, Range, Setting, State
from memlab.pictures.live.view import Scene, View, maker
from memlab.pictures.mountain.stack_parts import Part
from memlab.pictures.recompute.waves import (
    FLOOR,
    PARTS,
    Schedules,
    Subject,
    Waves,
    say,
    schedules,
    subject,
)
from memlab.pictures.values.number_text import three
from memlab.step.op import Phase
from memlab.step.tensor import Role

NETWORKS = ("resnet50", "resnet200")
"""Without a U over k, and with one."""
TIME, GAP, BARS = 560, 90, 280
"""The parts of the picture, in equal columns: the waves, a gap, the bars of all k."""
WIDE = TIME + GAP + BARS
TALL, STRIP = 280, 10
"""Pixels."""
STOPS = 60
"""So many stops the slider of a budget has at most."""
MADE = Paint("#009E73", 0.10, "dots")
"""What is made again, or gone before backward."""
PAINT = {
    "parameter": PAINTS[Role.PARAMETER], "optimizer_state": PAINTS[Role.OPTIMIZER_STATE],
    "rest": PAINTS[Role.PARAMETER_GRADIENT], "kept": PAINTS[Role.FEATURE_MAP], "again": MADE,
    "gradient_map": PAINTS[Role.GRADIENT_MAP],
}  # fmt: skip
NAMED = {
    "parameter": Part(Role.PARAMETER, False), "optimizer_state": Part(Role.OPTIMIZER_STATE, False),
    "rest": Part(Role.PARAMETER_GRADIENT, False),
}  # fmt: skip
"""Name of the parts of the floor."""
SHADE, AGAIN = Paint("currentColor", 0.06), Paint("currentColor", 0.9)
"""Where operations run again: behind the waves, and on the strip below them."""
ANCHORS: tuple[tuple[str, float], ...] = ("middle", 0.0), ("start", -6.0)
"""Where a label stands above a bar."""


def _all(now: State) -> Schedules:
    return schedules(now.what, now.batch)


def stops(found: Schedules) -> list[int]:
    """The least possible peak, and round budgets from there up to the plain one."""
    plain, least = found.plain.peak, found.frontier[0].peak
    steps = (factor * 10**power for power in range(18) for factor in (1, 2, 5))
    step = next(each for each in steps if plain - least <= STOPS * each)
    return [least, *(step * at for at in range(least // step + 1, -(-plain // step) + 1))]


def _halfway(now: State) -> int:
    """A stop between the least peak and the plain one."""
    found = _all(now)
    middle = (found.frontier[0].peak + found.plain.peak) // 2
    return next(stop for stop in stops(found) if stop >= middle)


def of_subjects(**given: Any) -> Setting[Subject]:
    """The setting of what is recomputed."""
    return Setting(
        doc="a name of ``memlab.zoo``, a network or a step of yours",
        default="resnet50",
        check=subject,
        code="plain",
        write=lambda found: repr(found.name) if found.name else "step",
        **given,
    )


class Recompute(View[Waves]):
    """What recomputing a step saves, as waves over time, for every k or within a budget."""

    name, made_by, widest = "recompute", "recompute", 960
    positional = ("what", "k", "batch")
    presets: ClassVar = {
        "surprise": {"what": "resnet50", "k": 1},
        "break": {"what": "resnet200", "k": 1},
    }
    """The least that is the smallest k; a k that is too small."""

    what = of_subjects()
    network = Choice(
        NETWORKS,
        doc="the network, where it is one of these",
        argument=False,
        when=lambda now: now.what.name in NETWORKS,
        get=lambda now: now.what.name,
        put=lambda now, name: {"what": name},
    )
    k = Range(
        1,
        lambda now: max(_all(now).every),
        doc="every k-th stage is kept; by the rule, the root of their number, if not given",
        default=lambda now: min(_all(now).rule, max(_all(now).every)),
        follows=["what"],
        when=lambda now: now.budget is None,
        code="always",
    )
    budget = Range(
        doc="the most bytes of the peak, or ``'2 GB'``: then the fastest schedule of whole stages "
        "below it, in place of every k-th",
        default=None,
        check=units.parse,
        stops=lambda now: stops(_all(now)),
        follows=["what", "batch"],
        when=lambda now: now.budget is not None,
    )
    batch = Number(
        doc="the mini-batch size",
        default=32,
        place="more",
        code="always",
        brief=lambda now: say("batch", batch=f"{now.batch:,}"),
    )
    numbers = Check(
        doc="whether every k is listed with its bytes", argument=False, stays=True, key="KeyN"
    )

    def study(self, now: State) -> Waves:
        found = _all(now)
        wave = found.every[now.k] if now.budget is None else found.within(now.budget)
        return Waves(found, wave, now.budget)

    def described(self, now: State) -> object:
        return now.replace(numbers=False)

    def buttons(self, now: State) -> dict[str, str]:
        mode = "by_budget" if now.budget is None else "by_k"
        offered = self.presets if now.what.name in NETWORKS else ()
        return {"mode": mode, **{name: name for name in ("start", *offered, "copy")}}

    def do(self, now: State, name: str, value: object) -> State | None:
        if name == "mode":
            return self.changed(now, budget=_halfway(now) if now.budget is None else None)
        if name == "take":
            return self.changed(now, budget=value)
        return None

    def line(self, now: State) -> str:
        found = self.rows_of(now)
        return "|".join(map(str, (found.wave.k, found.budget, found.wave.peak, found.wave.cost)))

    def says(self, scene: Scene) -> str:
        found = self.rows_of(scene.now)
        return f"{found.all.subject}. {found.title}."

    def compose(self, scene: Scene) -> Page:
        found, listed = self.rows_of(scene.now), scene.now.numbers
        heads, *rows = found.rows()
        blocks: list[Block] = [
            Words(found.title, 20, bold=True, gap=3),
            Words(found.sentences[0], 13),
            _waves(found),
            _strip(found),
            Unnamed(list(_key(found)), gap=4),
            Words([found.exactly, *found.notes], drawn=listed, gap=10),
            Table(heads, rows, drawn=listed, gap=8),
        ]
        return Page(found.title, blocks, scene.width, self.says(scene), titled=False)


recompute = maker(Recompute)


# -- the waves, and the bars beside them -----------------------------------------------------------


def _waves(found: Waves) -> Chart:
    """Bytes over time on the left, the peaks of all k on the right, on one axis of bytes."""
    wave, all_ = found.wave, found.all
    edges, plain = (
        {name: _padded(edge) for name, edge in each.edges(all_.longest, TIME).items()}
        for each in (wave, all_.plain)
    )
    top, before, y = edges[PARTS[-1]], plain[PARTS[-1]], bytes_over(all_.plain.peak, TIGHT)
    peak = int(np.argmax(top))
    marks: list[Mark] = [
        *_again(found, y.last),
        *_areas(edges),
        Line(_steps(edges[FLOOR[-1]]), width=2.2),
        Stairs(top, "rule", ridge=True, width=1.2),
        Stairs(before, "before", ridge=True),
        *_names(edges, before, y.last),
        *_bars(found, y.last),
        Rule(y=wave.peak, span=(peak, _bar(found)[0]), look="rule", dashes="1.5 3", crossed=True),
        Points([(peak + 0.5, wave.peak)], "dot", 8),
        Text(TIME + GAP / 2, wave.peak, three(wave.peak), 13, "middle", dy=-7, bold=True),
        *_limit(found),
        *_phases(found, y.last),
    ]
    return Chart(Scale(0, WIDE), y, marks, TALL, y_axis=Axis(), left=62, right=6, above=26, gap=6)


def _limit(found: Waves) -> Iterator[Mark]:
    """The budget, level over both parts."""
    if found.budget is not None:
        yield Rule(y=found.budget, look="rule", width=1.6, crossed=True)
        places = [(2.0, found.budget, "start", 0.0, dy) for dy in (-6.0, 14.0)]
        yield Label(say("limit"), places, 12, bold=True, chip=True, kept=True)


def _key(found: Waves) -> Iterator[tuple[Paint, str]]:
    """The parts of the floor that can be seen, which has one name in the picture."""
    pixel = bytes_over(found.all.plain.peak, TIGHT).last / TALL
    for name, part in NAMED.items():
        if any(wave.parts[name] >= pixel for wave in found.others):
            yield PAINT[name], part.label


def _padded(curve: Floats) -> Floats:
    """A curve over the columns of time, and 0 over the others."""
    return np.concatenate((curve, np.zeros(WIDE - TIME)))


def _steps(curve: Floats) -> list[tuple[float, float]]:
    """The corners of a curve, up to where it ends."""
    end = int(np.flatnonzero(curve)[-1]) + 1
    jumps = [0, *(np.flatnonzero(np.diff(curve[:end])) + 1).tolist(), end]
    return [(x, float(curve[a])) for a, b in pairwise(jumps) for x in (a, b)]


def _areas(edges: dict[str, Floats]) -> Iterator[Mark]:
    low = np.zeros(WIDE)
    for name, high in edges.items():
        yield Area(low, high, PAINT[name], edge=0.6)
        low = high


def _names(edges: dict[str, Floats], plain: Floats, end: float) -> Iterator[Mark]:
    """The names of the parts where there is room for them."""
    low, top = edges[FLOOR[-1]], edges[PARTS[-1]]
    for name, label in (("kept", "kept"), ("again", "made")):
        high = edges[name]
        x = int(np.argmax(high - low))
        place = [(float(x), float((low[x] + high[x]) / 2), "middle", 0.0, 0.0)]
        yield Name(say(label), place, 12, chip=True, finders=[thickest(low, high)])
        low = high
    yield from _gradients(top, low, end)
    x = int(np.argmax(plain))
    places = [(float(x), float(plain[x]), "start", 8.0, dy) for dy in (-7.0, -16.0, 18.0)]
    yield Label(say("plain"), places, 12, chip=True)


def _gradients(top: Floats, low: Floats, end: float) -> Iterator[Mark]:
    """The name of the thin part on top, above the waves around it."""
    x = int(np.argmax(top - low))
    sky, peak = float(top[max(x - 60, 0) : x + 60].max()), float(top.max())
    sky, at = peak if sky > 0.8 * peak else sky, float(top[x] + low[x]) / 2
    up = TALL * (sky - at) / end
    places = [(float(x), at, "middle", dx, -up - dy) for dy in (12.0, 28.0, 44.0)
              for dx in (0.0, 25.0, -25.0, 50.0, -50.0)]  # fmt: skip
    yield Label(say("gradients"), places, 11, chip=True, leader=4)


def _again(found: Waves, high: float) -> Iterator[Mark]:
    """Where operations run again, as a faint column that says which."""
    for first, last, fact in _repeats(found):
        yield Rect(first, last, 0, high, SHADE, edge=0)
        yield Rect(first, last, 0, high, "target", fact=fact)


def _repeats(found: Waves) -> Iterator[tuple[float, float, Fact]]:
    """The segments in columns of time, and what each makes."""
    ends = _ends(found)
    for each in found.wave.segments:
        first, last = each.stages
        key = "segment_one" if first == last else "segment"
        fact = Fact(say(key, first=first, last=last, stage=first), nbytes=each.nbytes)
        yield float(ends[each.first]), float(ends[each.last + 1]), fact


def _ends(found: Waves) -> Floats:
    """The columns at which the operations end, after a 0."""
    return np.concatenate(([0], np.cumsum(found.wave.lives.times))) * (TIME / found.all.longest)


def _phases(found: Waves, high: float) -> Iterator[Mark]:
    """Brackets over forward and backward, and the head of the bars."""
    ends = _ends(found)
    begin = float(ends[found.wave.backward])
    yield Bracket(strings.get(f"phase.{Phase.FORWARD}"), 0, begin)
    yield Bracket(strings.get(f"phase.{Phase.BACKWARD}"), begin, float(ends[-1]))
    head = say("each" if found.budget is None else "each_budget")
    yield Text(TIME + GAP, high, head, 12, dy=-12, bold=True)


def _slots(found: Waves) -> list[tuple[float, float]]:
    """The left and the right end of every bar."""
    count = len(found.others)
    pitch = BARS / count
    return [
        (TIME + GAP + pitch * i + pitch * 0.1, TIME + GAP + pitch * (i + 0.9)) for i in range(count)
    ]


def _bar(found: Waves) -> tuple[float, float]:
    """That of the present one."""
    return _slots(found)[found.others.index(found.wave)]


def _bars(found: Waves, high: float) -> Iterator[Mark]:
    """A stack for each, the present one framed and the least one named."""
    slots, others = _slots(found), found.others
    low = np.zeros(len(others))
    for name in PARTS:
        top = low + np.array([float(wave.parts[name]) for wave in others])
        ends = zip(slots, low.tolist(), top.tolist(), strict=True)
        yield Rects([(*slot, a, b) for slot, a, b in ends], PAINT[name], edge=0.5)
        low = top
    yield Rule(y=found.all.plain.peak, span=(TIME + GAP, WIDE), look="before")
    left, right = _bar(found)
    yield Rect(left - 1.5, right + 1.5, 0, found.wave.peak, "limit")
    yield from _targets(found, high)
    best = min(others, key=lambda wave: wave.point)
    left, right = slots[others.index(best)]
    spots = [((left + right) / 2, best.peak, anchor, dx, dy) for dy in (-7.0, -22.0, -40.0, -60.0)
              for anchor, dx in ANCHORS]  # fmt: skip
    yield Label(say("least"), spots, 12, bold=True, chip=True)
    yield from _parts_named(found)


def _targets(found: Waves, high: float) -> Iterator[Mark]:
    """Each bar says its bytes and its time; a press takes its k, or its bytes as the budget."""
    for slot, wave in zip(_slots(found), found.others, strict=True):
        if found.budget is None:
            said, send = say("bar", k=wave.k), ("k", wave.k)
        else:
            said, send = say("bar_budget", peak=three(wave.peak)), ("take", wave.peak)
        fact = Fact(said, nbytes=wave.peak, more=say("time", more=found.all.more(wave)))
        yield Rect(*slot, 0, high, "target", fact=fact, send=send)


def _parts_named(found: Waves) -> Iterator[Mark]:
    """The names of floor and of what is kept, left of the bars, at their height in the first."""
    first = found.others[0].parts
    floor = sum(first[name] for name in FLOOR)
    yield Text(TIME + GAP, floor / 2, say("floor"), 11, "end", dx=-4, dy=4)
    yield Text(TIME + GAP, floor + first["kept"] / 2, say("kept"), 11, "end", dx=-4, dy=4)


# -- below them: what runs again, time, k ---------------------------------------------------------


def _strip(found: Waves) -> Chart:
    """What runs again, filled; the time that is added; the numbers of the bars."""
    all_, wave = found.all, found.wave
    end, plain = (TIME * each.cost / all_.longest for each in (wave, all_.plain))
    low = 34
    marks: list[Mark] = [
        Rects([(0, end, low, low + STRIP)], "rule"),
        Rects([(a, b, low, low + STRIP) for a, b, _ in _repeats(found)], AGAIN),
        Text(0, low, say("again"), 11, "end", dx=-6, dy=-1),
        Text(0, 4, say("axis"), 11, dim=True),
        Rule(x=plain, span=(6, low + STRIP + 6), look="before"),
        Rule(x=end, span=(6, low + STRIP + 6), look="rule"),
    ]
    if end - plain > 1:
        marks += [
            Rule(y=18, span=(plain, end), look="rule", width=1.4),
            Glyph(end, 18, "M0 0L-7-3.5V3.5Z", marker=">"),
            _more(say("time", more=all_.more(wave)), plain, end),
        ]
    marks += _numbers(found) if found.budget is None else ()
    told = f"{say('axis').rstrip(' →')}: {say('time', more=all_.more(wave))}"
    return Chart(Scale(0, WIDE), Scale(0, 46), marks, 46, left=62, right=6,
                 told=[told])  # fmt: skip


def _more(said: str, plain: float, end: float) -> Text:
    """The time that is added: below its arrow, or after a short one."""
    if end - plain < 130:
        return Text(end, 18, said, 12, dx=6, dy=4, bold=True)
    return Text((plain + end) / 2, 4, said, 12, "middle", bold=True)


def _numbers(found: Waves) -> Iterator[Mark]:
    """The first k, the last one, the present one and that of the rule."""
    slots = [(a + b) / 2 for a, b in _slots(found)]
    k, last = found.wave.k, len(slots)
    yield Text(slots[k - 1], 32, say("k", k=k), 12, "middle", bold=True, held=True)
    for each in (1, last):
        places = [(slots[each - 1], 32, "middle", 0.0, 0.0)]
        yield Label(f"{each}", places, 11, apart=5)
    if found.all.rule <= last:
        places = [(slots[found.all.rule - 1], 17, "middle", 0.0, 0.0)]
        yield Label(say("rule"), places, 11, dim=True)
