"""A run beside its plan: two bars on one axis, then both over the operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from memlab import strings, units
from memlab.pictures.draw import text as texts
from memlab.pictures.draw import theme
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import Phase
from memlab.pictures.draw.marks import Area, Fact, Mark, Points, Rect, Rule, Stairs
from memlab.pictures.draw.page import Page, Still
from memlab.pictures.draw.scale import TIGHT, bytes_over, operations
from memlab.pictures.draw.table import Beside, Block, Key, Table, Words
from memlab.pictures.draw.text import Runs
from memlab.pictures.draw.theme import Paint
from memlab.pictures.draw.ways import Bar, bars
from memlab.pictures.memory.step_memory import phases
from memlab.pictures.planned_and_run import Bar as Peak
from memlab.pictures.planned_and_run import Operation, RunStudy, origin, study_run
from memlab.runtime.run import Run

BEHIND = 220
"""The operation of a peak takes so many pixels at most."""
FACTS = 200
"""Up to so many operations each says its bytes on hover."""
WEDGE = 8
"""The mark of an operation with a residual."""


@dataclass(frozen=True, repr=False)
class PlannedAndMeasured(Still):
    """A run as bars and as a timeline; a notebook shows the picture, ``print`` the text, ``rows``
    has the exact figures."""

    rows: RunStudy

    def page(self, seconds: bool = False) -> Page:
        """Picture and text; ``seconds`` adds to the text how long the run took."""
        found = self.rows
        took = strings.get("run.seconds", seconds=f"{found.seconds:.3f}") if seconds else ""
        blocks: list[Block] = [
            Words(found.headline, 16, bold=True),
            Words(took, drawn=False),
            peaks(found),
        ]
        if lines := found.differences():
            title = strings.get("run.differing")
            blocks.append(Table([""], [[line] for line in lines], title=title, indent="  ", gap=10))
        heads, *cells = found.table()
        blocks += [_key(found), timeline(found), Table(heads, cells, drawn=False)]
        spoken = ", ".join(f"{origin(bar.origin)} {units.exact(bar.nbytes)}" for bar in found.bars)
        return Page(found.title, blocks, says=f"{found.title}. {spoken}. {found.headline}")

    def text(self, seconds: bool = False) -> str:
        """The same in words; ``seconds`` adds how long the run took."""
        return self.page(seconds).text()


def peaks(found: RunStudy) -> Chart:
    """Plan and measurement as bars, each with the operation where it is reached."""
    scale = bytes_over(max(bar.nbytes for bar in found.bars), TIGHT)
    told = [[origin(bar.origin), bar.amount, bar.where] for bar in found.bars]
    shown = [
        Bar(
            bar.nbytes, bar.origin, _label(bar), Fact(name, nbytes=bar.nbytes, more=bar.where), name
        )
        for bar, (name, *_) in zip(found.bars, told, strict=True)
    ]
    return bars(shown, scale, 26, told=Table([""], told, "<><"), gap=8)


def _label(bar: Peak) -> Runs:
    return [(bar.amount, True), (f" · {texts.shortened(bar.where, BEHIND)}", False)]


def _key(found: RunStudy) -> Beside:
    """What fill, dots and triangles are."""
    entries: list[tuple[int | Paint | str, str]] = [
        (theme.origin(found.planned.origin), origin(found.planned.origin)),
        ("dot", origin(found.origin)),
    ]
    if found.differing:
        entries.append((WEDGE, strings.get("run.marked")))
    title = Words(strings.get("run.timeline"), bold=True, told=False)
    return Beside([(title, 1), (Key(entries), 2)], gap=12)


def timeline(found: RunStudy) -> Chart:
    """Planned as a filled staircase, measured as dots on top of it, differences marked."""
    planned = np.array([float(op.planned.inside) for op in found.operations])
    count = len(found.operations)
    scale = bytes_over(max(bar.nbytes for bar in found.bars))
    dots = [(op.index + 0.5, float(op.measured.inside)) for op in found.operations]
    marks: list[Mark] = [
        Area(np.zeros_like(planned), planned, theme.PLANNED, edge=0),
        Stairs(planned, width=1.2),
        Points(dots, size=min(max(500 / count, 2.4), 6.0)),
        *_phases(found),
        *(mark for op in found.differing for mark in _differing(op, scale.last)),
    ]
    if count <= FACTS:
        marks += [_target(found, op, scale.last) for op in found.operations]
    return Chart(
        operations(count), scale, marks, 190, Axis(grid=False), Axis(), left=100,
        above=32,
        name=strings.get("run.timeline"),
    )  # fmt: skip


def _phases(found: RunStudy) -> Iterator[Phase]:
    for phase, first, last in phases([op.row for op in found.operations]):
        yield Phase(strings.get(f"phase.{phase}"), first, last + 1)


def _differing(operation: Operation, top: float) -> Iterator[Mark]:
    """A mark at the top and a line down to the axis: no residual is too small to be seen."""
    x = operation.index + 0.5
    yield Rule(x=x, look="rule faint", dashes="3 3")
    yield Points([(x, top)], WEDGE)


def _target(found: RunStudy, operation: Operation, top: float) -> Rect:
    """What takes the pointer, and says the bytes inside an operation."""
    name = strings.get("run.where", index=f"{operation.index + 1:,}", name=operation.row.name)
    both = ((found.planned.origin, operation.planned), (found.origin, operation.measured))
    said = ", ".join(f"{origin(of)} {units.exact(moments.inside)}" for of, moments in both)
    index = operation.index
    return Rect(index, index + 1, 0, top, "target", fact=Fact(name, more=said))


def planned_and_measured(run: Run) -> PlannedAndMeasured:
    """The peak of a run as planned and as measured side by side, and both over time.

    Args:
        run: what ``memlab.run`` gave back.

    Raises:
        InputError: no run.
    """
    return PlannedAndMeasured(study_run(run))
