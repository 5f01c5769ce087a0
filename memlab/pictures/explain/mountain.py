"""The mountain of a step over time, with its modules, its card, and where the error comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from memlab.arrays import Floats
from memlab.ledger.ledger import Entry
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import (
    Label,
    Name,
    Phase,
    Text,
    beside,
    beyond,
    flank,
    middle,
    near,
    thickest,
)  # fmt: skip
from memlab.pictures.draw.marks import (
    Area,
    Fact,
    Glyph,
    Mark,
    OpenEdge,
    Pen,
    Points,
    Rule,
    Stairs,
)
from memlab.pictures.draw.scale import Linear, Operations, bytes_over, steady
from memlab.pictures.draw.staircases import runs
from memlab.pictures.draw.svg import Box
from memlab.pictures.draw.theme import PAINTS, Paint
from memlab.pictures.explain.explained import FLOOR, Explained, amount
from memlab.pictures.explain.explained_changes import say
from memlab.pictures.explain.explained_time import Run
from memlab.pictures.explain.explained_time import Shown as Plan
from memlab.pictures.explain.modules import span
from memlab.pictures.values.number_text import three
from memlab.step.tensor import Role

COLUMNS = 640
"""Of time."""
TALL, LEFT, ABOVE, BELOW = 280, 62, 30, 44
"""Pixels: of the frame, and around it."""
CROSS = "M-6.5-6.5L6.5 6.5M-6.5 6.5L6.5-6.5"
THIN = replace(PAINTS[Role.FEATURE_MAP], tint=0.30)
"""A slab: one module, told from its neighbours by a line."""


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Mountain:
    """The curves of an explained step, and the marks that show them, on an axis that holds
    ``room`` bytes."""

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
    def groups(self) -> dict[str, list[Entry]]:
        """The blocks of every slab."""
        return self.found.slabs(self.now)

    def _piled(
        self, low: Floats, groups: Mapping[T, Sequence[Entry]]
    ) -> list[tuple[T, Floats, Floats]]:
        """What each group with blocks has on the mountain, between two curves, from ``low`` up."""
        found = []
        for key, entries in groups.items():
            if entries:
                high = low + self.now.line(entries)
                found.append((key, low, high))
                low = high
        return found

    @cached_property
    def areas(self) -> list[tuple[Role, Floats, Floats]]:
        """Role by role from the bottom up, without what is in slabs."""
        on_top = {id(each) for of in self.groups.values() for each in of}
        below = [each for each in self.now.entries if id(each) not in on_top]
        roles = (*FLOOR, Role.INPUT, Role.FEATURE_MAP, Role.WORKSPACE, Role.GRADIENT_MAP)
        groups = {role: [each for each in below if each.role is role] for role in roles}
        return self._piled(np.zeros(COLUMNS), groups)

    @cached_property
    def floor(self) -> Floats:
        """The upper edge of what modules own."""
        edges = [high for role, _, high in self.areas if role in FLOOR]
        return edges[-1] if edges else np.zeros(COLUMNS)

    @cached_property
    def slabs(self) -> list[tuple[str, Floats, Floats]]:
        """Module by module on top, the first one lowest."""
        low = self.areas[-1][2] if self.areas else np.zeros(COLUMNS)
        return self._piled(low, self.groups)

    def _fact(self, name: str) -> Fact:
        """What a slab says: its bytes, and for how long they wait."""
        entries = self.groups[name]
        count = len(self.now.timeline)
        begin = min(max(each.birth, 0) for each in entries)
        last = max(min(each.death, count - 1) for each in entries)
        share = (self.now.end(last) - self.now.begin(begin)) / float(self.now.ends[-1])
        nbytes = sum(each.size.at(self.now.held) for each in entries)
        largest = max(entries, key=lambda each: each.size.at(self.now.held))
        formula = largest.formula(self.now.held) if len(entries) == 1 else ""
        return Fact(name or say("modules"), formula.partition(" = ")[0], nbytes,
                    more=say("waits", percent=round(100 * share)))  # fmt: skip

    @cached_property
    def top(self) -> Floats:
        """The highest edge."""
        return (self.slabs or self.areas)[-1][2]

    @cached_property
    def before(self) -> Floats | None:
        """That of the plain step, where a change is on."""
        now, plain = self._shown
        return None if now is plain else plain.line(plain.entries)

    # -- the chart --------------------------------------------------------------------------

    @cached_property
    def y(self) -> Linear:
        """The scale of bytes."""
        return steady(bytes_over(self.room))

    def chart(self, numbers: bool) -> Chart:
        """Bytes over time; ``numbers`` adds ticks."""
        y = self.y
        ticks = None if numbers else [y.ticks[-1]]
        below = [*self._phases(), *self._stack(), *self._spans()]
        marks = [*below, *self._peak(numbers), *self._card(), *self._cross(), *self._names()]
        before = [] if self.before is None else [Stairs(self.before, ridge=0)]
        return Chart(
            Operations(0, COLUMNS), y, marks, TALL, Axis(labels=False, grid=False, rule=False),
            Axis(ticks=ticks), left=LEFT, right=8, above=ABOVE, below=BELOW, previous=before,
            told=self._told(), name=say("mountain"), gap=10,
        )  # fmt: skip

    def _told(self) -> list[str]:
        """What the labels of the chart say."""
        said = [say("peak_label", peak=three(self.found.peak.nbytes))]
        if self.before is not None:
            said.append(say("before", peak=three(int(self.before.max()))))
        if self.slabs:
            said.append(" ".join(self._slab_name().split()))
        cross = self.found.cross.replace("\n", " ")
        said += [f"{cross[:1].upper()}{cross[1:]}"] if cross and not self.found.chosen else []
        return [f"{say('mountain')}: {'; '.join(said)}."]

    def _stack(self) -> Iterator[Mark]:
        """Roles, then slabs; the thick line lies over what modules own."""
        for role, low, high in self.areas:
            nbytes = int((high - low).max())
            name = say(f"role.{role}")
            yield Area(low, high, PAINTS[role], fact=Fact(name, nbytes=nbytes))
        for name, low, high in self.slabs:
            yield Area(low, high, THIN, edge=0.5, fact=self._fact(name))
        yield Stairs(self.top, opacity=0.75, width=0.9)
        yield from (OpenEdge(first, last) for first, last in runs(self.top > self.y.last))
        yield Stairs(self.floor, "limit", ridge=None if self.before is None else 0)

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
        yield Rule(y=memory, look="limit")
        curves = [self.top, *([] if self.before is None else [self.before])]
        yield Name(name, [(COLUMNS, memory, "end", -2, -6)], 12, bold=True, chip=True,
                   finders=[beside(memory, curves)])  # fmt: skip

    def _peak(self, numbers: bool) -> Iterator[Mark]:
        """A dot at the peak, and what it is; the peak before."""
        x, y = int(self.top.argmax()) + 0.5, float(self.top.max())
        if y > self.y.last:
            yield beyond(x, self.y.last, self.found.peak.nbytes)
        else:
            yield from self._dot(x, y, numbers)
        if self.before is not None:
            at = int(self.before.argmax())
            high = float(self.before[at])
            said = say("before", peak=three(int(high)))
            spots = [(at + 0.5, high, side, dx, dy) for dy in (-5.0, 14.0, 28.0)
                     for side, dx in (("start", 8.0), ("end", -8.0))]  # fmt: skip
            yield Label(said, spots, 12, chip=True)

    def _dot(self, x: float, y: float, numbers: bool) -> Iterator[Mark]:
        """On the peak, with its name."""
        yield Points([(x, y)], size=8)
        peak = three(self.found.peak.nbytes)
        said = say("peak_label", peak=peak) if numbers else say("peak_word")
        sides = (("start", 10.0), ("end", -10.0))
        spots = [(x, y, side, dx, dy) for dy in (-5.0, 10.0) for side, dx in sides]
        spots.append((x, y, "middle", 0.0, -12.0))
        yield Label(said, spots, 13, bold=True, chip=True, kept=True)

    def _cross(self) -> Iterator[Mark]:
        """Where the run dies, and in which module."""
        error, memory = self.found.error, float(self.found.memory)
        if error is None or self.found.chosen or memory > self.y.last:
            return
        x = self.now.begin(error.at)
        yield Glyph(x, memory, CROSS, "limit", marker="x", width=3)
        lines = self.found.cross
        curves = [self.top, np.zeros(COLUMNS) + memory]
        spot = [(x, memory, "end", 0.0, 0.0)]
        sky = [flank(self.top, self.floor, int(self.top.argmax()) + 0.5)]
        near_by = Pointed(
            self.found.cross_in("error_one"), spot, 12, chip=True, finders=[near(x, memory, curves)]
        )
        tall = self.found.cross_in("error_tall")
        narrow = Pointed(tall, spot, 12, chip=True, finders=sky, instead=near_by)
        yield Pointed(lines, spot, 12, chip=True, finders=sky, instead=narrow)

    def _names(self) -> Iterator[Mark]:
        """The names of the largest parts where there is room."""
        if self.slabs:
            low, high = self.slabs[0][1], self.slabs[-1][2]
            spot, find, name = [middle(low, high)], [thickest(low, high)], self._slab_name()
            narrow = Name(self._slab_name("_tall"), spot, 12, bold=True, chip=True, finders=find)
            yield Name(name, spot, 12, bold=True, chip=True, finders=find, instead=narrow)
        for role, low, high in self.areas:
            if role in (Role.FEATURE_MAP, Role.OPTIMIZER_STATE, Role.PARAMETER, Role.GRADIENT_MAP):
                name = self._role_name(role)
                yield Name(name, [middle(low, high)], 12, chip=True, finders=[thickest(low, high)])

    def _role_name(self, role: Role) -> str:
        """Name of a role below the slabs."""
        other = role is Role.FEATURE_MAP and bool(self.slabs)
        return say("other_maps") if other else say(f"role.{role}")

    def key(self) -> Iterator[tuple[Paint, str]]:
        """The roles that there are, in the mountain or in the bars beside it."""
        for role, _, _ in self.areas:
            yield PAINTS[role], self._role_name(role)

    def _slab_name(self, form: str = "") -> str:
        """What the slabs are; ``"_tall"`` in more lines."""
        names = [each or say("modules") for each in self.groups]
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
