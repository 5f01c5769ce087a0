"""The mountain of a step over time, with its modules, its card, and where the error comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from memlab.ledger.ledger import Entry
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import (
    Label,
    Name,
    Phase,
    Text,
    flank,
    middle,
    near,
    thickest,
)  # fmt: skip
from memlab.pictures.draw.marks import (
    Fact,
    Glyph,
    Mark,
    Pen,
)
from memlab.pictures.draw.scale import Linear, Operations, bytes_over, steady
from memlab.pictures.draw.svg import Box
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.explain.explained import FLOOR, Explained, amount
from memlab.pictures.explain.explained_changes import say
from memlab.pictures.explain.explained_time import Run, Slab
from memlab.pictures.explain.explained_time import Shown as Plan
from memlab.pictures.explain.modules import span
from memlab.pictures.mountain.layers import Layer
from memlab.pictures.mountain.picture import Mountain, Slice
from memlab.pictures.values.number_text import three
from memlab.step.tensor import Role

COLUMNS = 640
"""Of time."""
TALL, LEFT, ABOVE, BELOW = 280, 62, 30, 44
"""Pixels: of the frame, and around it."""
CROSS = "M-6.5-6.5L6.5 6.5M-6.5 6.5L6.5-6.5"
THIN = replace(PAINTS[Role.FEATURE_MAP], tint=0.30)
"""A slab: one module, told from its neighbours by a line."""


@dataclass(frozen=True, eq=False)
class OverTime:
    """An explained step over time, and the marks that show it, on an axis that holds ``room``
    bytes."""

    found: Explained
    room: int

    @cached_property
    def _shown(self) -> tuple[Plan, Plan]:
        return self.found.shown(COLUMNS)

    @property
    def now(self) -> Plan:
        """The step that is shown."""
        return self._shown[0]

    @cached_property
    def slabs(self) -> dict[str, list[Entry]]:
        """The blocks of every slab."""
        return self.found.slabs(self.now)

    @cached_property
    def y(self) -> Linear:
        """The scale of bytes."""
        return steady(bytes_over(self.room))

    @cached_property
    def mountain(self) -> Mountain:
        """Role by role, then module by module, the plain step dashed where a change is on."""
        now, plain = self._shown
        layers = now.layers(self.slabs)
        floors = [layer.high for layer in layers if layer.part in FLOOR]
        ground = floors[-1] if floors else np.zeros(COLUMNS)
        before = None if now is plain else plain.total
        slices, ends_early = [*map(self._slice, layers)], before is not None
        return Mountain(slices, self.y.last, ground, before, time=ends_early)

    def _slice(self, layer: Layer[Role | Slab]) -> Slice:
        part, low, high = layer
        if isinstance(part, Slab):
            return Slice(low, high, THIN, fact=self._fact(part.module), edge=0.5)
        fact = Fact(say(f"role.{part}"), nbytes=int(layer.most))
        other = part is Role.FEATURE_MAP and bool(self.slabs)
        name = say("other_maps") if other else say(f"role.{part}")
        return Slice(low, high, PAINTS[part], name, fact)

    def _fact(self, name: str) -> Fact:
        """What a slab says: its bytes, and for how long they wait."""
        entries = self.slabs[name]
        count = len(self.now.timeline)
        begin = min(max(each.birth, 0) for each in entries)
        last = max(min(each.death, count - 1) for each in entries)
        share = (self.now.end(last) - self.now.begin(begin)) / float(self.now.ends[-1])
        nbytes = sum(each.size.at(self.now.held) for each in entries)
        largest = max(entries, key=lambda each: each.size.at(self.now.held))
        formula = largest.formula(self.now.held) if len(entries) == 1 else ""
        return Fact(name or say("modules"), formula.partition(" = ")[0], nbytes,
                    more=say("waits", percent=round(100 * share)))  # fmt: skip

    # -- the chart --------------------------------------------------------------------------

    def chart(self, numbers: bool) -> Chart:
        """Bytes over time; ``numbers`` adds ticks."""
        y, mountain = self.y, self.mountain
        nbytes = self.found.peak.nbytes
        peak = say("peak_label", peak=three(nbytes)) if numbers else say("peak_word")
        marks = [*self._phases(), *mountain.stack(), *self._spans(), *mountain.peak(nbytes, peak),
                 *self._card(), *self._cross(), *mountain.was(self._before), *self._names(),
                 *mountain.names()]  # fmt: skip
        return Chart(
            Operations(0, COLUMNS), y, marks, TALL, Axis(labels=False, grid=False, rule=False),
            Axis(ticks=None if numbers else [y.ticks[-1]]), left=LEFT, right=8, above=ABOVE,
            below=BELOW, previous=mountain.previous, told=self._told(), name=say("mountain"),
            gap=10,
        )  # fmt: skip

    @property
    def _before(self) -> str:
        """The peak of the plain step."""
        return say("before", peak=three(self.found.subject.plain.peak(self.found.batch)))

    def _told(self) -> list[str]:
        """What the labels of the chart say."""
        said = [say("peak_label", peak=three(self.found.peak.nbytes))]
        if self.mountain.before is not None:
            said.append(self._before)
        if self.slabs:
            said.append(" ".join(self._slab_name().split()))
        cross = self.found.cross.replace("\n", " ")
        said += [f"{cross[:1].upper()}{cross[1:]}"] if cross and not self.found.chosen else []
        return [f"{say('mountain')}: {'; '.join(said)}."]

    def _phases(self) -> Iterator[Mark]:
        """Brackets over forward, backward and the optimizer."""
        for name, first, last in self.found.phases(self.now):
            yield Phase(name, self.now.begin(first), self.now.end(last), -16)

    def _spans(self) -> Iterator[Mark]:
        """Brackets below with the modules that run."""
        now = self.now
        yield Brackets(
            [(run, now.begin(run.begin), now.end(run.end)) for run in self.found.spans(now)]
        )
        yield Text(0, 0, say("axis"), 11, dy=BELOW - 4, dim=True)

    def _card(self) -> Iterator[Mark]:
        """The line of the card."""
        memory = self.found.memory
        name = say("card_label", memory=amount(memory))
        if memory > self.y.last:
            yield Label(f"↑ {name}", [(COLUMNS, self.y.last, "end", -2, 14)], 12, bold=True)
            return
        yield from self.mountain.limits([(name, memory)], heavy=True)

    def _cross(self) -> Iterator[Mark]:
        """Where the run dies, and in which module."""
        error, memory = self.found.error, float(self.found.memory)
        if error is None or self.found.chosen or memory > self.y.last:
            return
        x = self.now.begin(error.at)
        yield Glyph(x, memory, CROSS, "limit", marker="x", width=3)
        lines = self.found.cross
        top, ground = self.mountain.top, self.mountain.ground
        assert ground is not None
        curves = [top, np.zeros(COLUMNS) + memory]
        spot = [(x, memory, "end", 0.0, 0.0)]
        sky = [flank(top, ground, self.mountain.at(top))]
        near_by = Pointed(
            self.found.cross_in("error_one"), spot, 12, chip=True, finders=[near(x, memory, curves)]
        )
        tall = self.found.cross_in("error_tall")
        narrow = Pointed(tall, spot, 12, chip=True, finders=sky, instead=near_by)
        yield Pointed(lines, spot, 12, chip=True, finders=sky, instead=narrow)

    def _names(self) -> Iterator[Mark]:
        """The name of all slabs together, where there is room."""
        if not self.slabs:
            return
        slabs = self.mountain.slices[-len(self.slabs) :]
        low, high = slabs[0].low, slabs[-1].high
        spot, find = [middle(low, high)], [thickest(low, high)]
        narrow = Name(self._slab_name("_tall"), spot, 12, bold=True, chip=True, finders=find)
        yield Name(self._slab_name(), spot, 12, bold=True, chip=True, finders=find,
                   instead=narrow)  # fmt: skip

    def _slab_name(self, form: str = "") -> str:
        """What the slabs are; ``"_tall"`` in more lines."""
        names = [each or say("modules") for each in self.slabs]
        gone = "_gone" if self.found.removed(self.now) else ""
        one = "_one" if len(names) == 1 else ""
        return say(f"slabs{gone}{one}{form}", first=names[0], last=names[-1])


@dataclass(frozen=True, eq=False)
class Pointed(Name):
    """A name with a thin line to its place."""

    def _write(self, pen: Pen, box: Box, lines: list[str]) -> None:
        ((x, y, *_),) = self.places
        at, level = pen.x(x), pen.y(y)
        end = min(max(at, box.left + 4), box.right - 4)
        edge = box.bottom + 3 if box.bottom < level else box.top - 3
        pen.svg.line(end, edge, at, level + (-6 if box.bottom < level else 6), class_="rule faint")
        super()._write(pen, box, lines)


@dataclass(frozen=True, eq=False)
class Brackets(Mark):
    """Brackets below the chart over runs of operations, each with its modules. Neighbours without
    room for their names share one bracket."""

    runs: Sequence[tuple[Run, float, float]]

    def draw(self, pen: Pen) -> None:
        for name, first, stop in self._shared(pen):
            left, right, y = pen.x(first) + 0.7, pen.x(stop) - 0.7, pen.box.bottom + 8
            pen.svg.path(f"M{left:.1f} {y - 4:g}V{y:g}H{right:.1f}V{y - 4:g}", class_="rule",
                         opacity=0.7)  # fmt: skip
            if self._has_room(pen, name, first, stop):
                pen.svg.text((left + right) / 2, y + 14, name, 11, "middle")

    def _shared(self, pen: Pen) -> list[tuple[str, float, float]]:
        """Names with their ends."""
        found: list[tuple[Run, float, float]] = []
        small = False
        for each in self.runs:
            fits = self._fits(pen, each)
            if found and small and not fits and found[-1][0].back == each[0].back:
                before = found.pop()
                found.append((before[0]._replace(last=each[0].last), before[1], each[2]))
            else:
                found.append(each)
            small = not fits
        return [(span([run.first, run.last]), first, stop) for run, first, stop in found]

    def _fits(self, pen: Pen, each: tuple[Run, float, float]) -> bool:
        run, first, stop = each
        return self._has_room(pen, span([run.first, run.last]), first, stop)

    def _has_room(self, pen: Pen, name: str, first: float, stop: float) -> bool:
        return texts.width(name, 11) <= float(pen.x(stop) - pen.x(first)) - 6

    def on(self, axes: Any) -> None:
        """Nothing: the page writes names, as it writes its words."""
