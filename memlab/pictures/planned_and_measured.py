"""A run beside its plan: two bars on one axis, then every operation, and where the two differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memlab import strings, units
from memlab.errors import InputError, shorten
from memlab.ledger.ledger import LedgerRow
from memlab.pictures.draw import text as texts
from memlab.pictures.draw import theme
from memlab.pictures.draw.alternatives import LabelledBar, bars
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import PhaseBracket
from memlab.pictures.draw.marks import Area, Fact, Mark, Points, Rect, Rule, Stairs
from memlab.pictures.draw.page import Page, Still
from memlab.pictures.draw.scale import TIGHT, bytes_over, operations
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.theme import Paint
from memlab.pictures.memory.step_memory import band, phases
from memlab.pictures.values import number_text as figures
from memlab.runtime.run import Run

EACH = 30
"""Up to so many operations each has its line; more are summed up by phase."""
LISTED = 6
"""Operations with a residual that are named; the others are counted."""
BEHIND = 220
"""The operation of a peak takes so many pixels at most."""
FACTS = 200
"""Up to so many operations each says its bytes on hover."""
WEDGE = 8
"""The mark of an operation with a residual."""


# -- figures --------------------------------------------------------------------------------------


class PeakBar(NamedTuple):
    """Peak: the most bytes, how they are known, and the first operation that reaches them."""

    origin: str
    nbytes: int
    where: str

    @property
    def amount(self) -> str:
        """Return all digits, with a short form beside them from 1 kB on."""
        short = units.short(self.nbytes)
        return units.exact(self.nbytes) + ("" if self.nbytes < 1000 else f" = {short}")


class Moments(NamedTuple):
    """Bytes alive before an operation, the most inside it, and after it."""

    before: int
    inside: int
    after: int


@dataclass(frozen=True, slots=True)
class OperationBytes:
    """Operation with its planned and its measured bytes."""

    index: int
    row: LedgerRow
    planned: Moments
    measured: Moments

    @property
    def where(self) -> str:
        """Operation as text: ``'operation 4, backward of loss'``."""
        return strings.get("run.where", index=f"{self.index + 1:,}", name=self.row.name)

    @property
    def moment(self) -> int:
        """Index of the moment that differs most: before, inside or after; inside if all agree."""
        sizes = [abs(m - p) for p, m in zip(self.planned, self.measured, strict=True)]
        return sizes.index(max(sizes)) if any(sizes) else 1

    @property
    def residual(self) -> int:
        """Measured minus planned bytes at the moment where they differ most."""
        return self.measured[self.moment] - self.planned[self.moment]


@dataclass(frozen=True, repr=False)
class PlannedAndMeasured(Still):
    """Planned and measured bytes of a run, as bars and as a timeline. A notebook shows the picture,
    and ``print`` the text. ``peaks`` are planned and measured; ``seconds`` are written on
    request."""

    step: str
    batch: int
    peaks: tuple[PeakBar, PeakBar]
    operations: tuple[OperationBytes, ...]
    seconds: float

    @property
    def residual(self) -> int:
        """Largest absolute difference over all operations."""
        return max(abs(operation.residual) for operation in self.operations)

    @property
    def differing(self) -> list[OperationBytes]:
        """Operations whose measured bytes differ from the plan, in order."""
        return [operation for operation in self.operations if operation.residual]

    # -- in words

    @property
    def title(self) -> str:
        """Title: ``'Single linear layer, fp32, SGD, training, batch 4'``."""
        return f"{self.step}, {strings.get('memory.batch', batch=f'{self.batch:,}')}"

    @property
    def headline(self) -> str:
        """Return ``'Residual 0 B over 24 operations: before, inside, after.'``"""
        return strings.get(
            "run.residual",
            residual=units.exact(self.residual),
            count=f"{len(self.operations):,}",
            moments=", ".join(strings.get(f"run.moment.{name}") for name in Moments._fields),
        )

    def differences(self) -> list[str]:
        """Return one line for each operation with a residual, and one that counts
        those left out."""
        differing = self.differing
        listed = differing if len(differing) <= LISTED else differing[: LISTED - 1]
        more = len(differing) - len(listed)
        others = [strings.get("run.others", count=f"{more:,}")] if more else []
        return [self._difference(operation) for operation in listed] + others

    def _difference(self, operation: OperationBytes) -> str:
        return strings.get(
            "run.difference",
            index=f"{operation.index + 1:,}",
            name=operation.row.name,
            moment=strings.get(f"run.moment.{Moments._fields[operation.moment]}"),
            planned=units.exact(operation.planned[operation.moment]),
            measured=units.exact(operation.measured[operation.moment]),
            origin=origin(self.peaks[1].origin),
            change=_signed(operation.residual),
        )

    # -- the page

    def page(self, seconds: bool = False) -> Page:
        """Return the picture and the text. ``seconds`` adds the duration of the run to the text."""
        took = strings.get("run.seconds", seconds=f"{self.seconds:.3f}") if seconds else ""
        blocks: list[PageBlock] = [
            Paragraphs(self.headline, 16, bold=True),
            Paragraphs(took, drawn=False),
            self._bars(),
        ]
        if lines := self.differences():
            title = strings.get("run.differing")
            blocks.append(Table([""], [[line] for line in lines], title=title, indent="  ", gap=10))
        blocks += [self._key(), self._timeline(), self._table()]
        peaks = ", ".join(f"{origin(peak.origin)} {units.exact(peak.nbytes)}"
                          for peak in self.peaks)  # fmt: skip
        return Page(self.title, blocks, says=f"{self.title}. {peaks}. {self.headline}")

    def text(self, seconds: bool = False) -> str:
        """Return the text. ``seconds`` adds the duration of the run."""
        return self.page(seconds).text()

    def _table(self) -> Table:
        """Return a table with a line for every operation, or for every phase if there are many."""
        names, few = [origin(peak.origin) for peak in self.peaks], len(self.operations) <= EACH
        heads = [strings.get("run.table.operation" if few else "run.table.phase"), *names,
                 strings.get("run.table.residual")]  # fmt: skip
        wide = len(str(len(self.operations)))
        lines = [
            _line(f"{op.index + 1:>{wide}} {op.row.name}", [op]) for op in self.operations
        ] if few else [
            _line(band(phase, first, last), self.operations[first : last + 1])
            for phase, first, last in phases([op.row for op in self.operations])
        ]  # fmt: skip
        return Table(heads, lines, drawn=False)

    def _bars(self) -> Chart:
        """Return the plan and the measurement as bars, each with the operation that reaches it."""
        scale = bytes_over(max(peak.nbytes for peak in self.peaks), TIGHT)
        told = [[origin(peak.origin), peak.amount, peak.where] for peak in self.peaks]
        shown = [_bar(peak) for peak in self.peaks]
        return bars(shown, scale, 26, told=Table([""], told, "<><"), gap=8)

    def _key(self) -> SideBySide:
        """Return the legend of fill, dots and triangles."""
        planned, measured = (peak.origin for peak in self.peaks)
        entries: list[tuple[int | Paint | str, str]] = [
            (theme.origin(planned), origin(planned)), ("dot", origin(measured)),
        ]  # fmt: skip
        if self.differing:
            entries.append((WEDGE, strings.get("run.marked")))
        title = Paragraphs(strings.get("run.timeline"), bold=True, told=False)
        return SideBySide([(title, 1), (Key(entries), 2)], gap=12)

    def _timeline(self) -> Chart:
        """Return a chart of the planned bytes as filled steps, with the measured bytes as dots and
        differences marked."""
        planned = np.array([float(op.planned.inside) for op in self.operations])
        count = len(self.operations)
        scale = bytes_over(max(peak.nbytes for peak in self.peaks))
        dots = [(op.index + 0.5, float(op.measured.inside)) for op in self.operations]
        marks: list[Mark] = [
            Area(np.zeros_like(planned), planned, theme.PLANNED, edge=0),
            Stairs(planned, width=1.2),
            Points(dots, size=min(max(500 / count, 2.4), 6.0)),
            *(PhaseBracket(strings.get(f"phase.{phase}"), first, last + 1)
              for phase, first, last in phases([op.row for op in self.operations])),
            *(mark for op in self.differing for mark in _differing(op, scale.last)),
        ]  # fmt: skip
        if count <= FACTS:
            marks += [self._target(op, scale.last) for op in self.operations]
        return Chart(operations(count), scale, marks, 190, Axis(grid=False), Axis(), left=100,
                     above=32, name=strings.get("run.timeline"))  # fmt: skip

    def _target(self, operation: OperationBytes, top: float) -> Rect:
        """Return an area that shows the bytes inside an operation when the pointer is on it."""
        both = zip(self.peaks, (operation.planned, operation.measured), strict=True)
        said = ", ".join(f"{origin(peak.origin)} {units.exact(moments.inside)}"
                         for peak, moments in both)  # fmt: skip
        index, fact = operation.index, Fact(operation.where, more=said)
        return Rect(index, index + 1, 0, top, "target", fact=fact)


def origin(name: str) -> str:
    """Return where figures come from, in words: ``'planned'``, ``'measured
    here'``, ``'recorded'``."""
    return strings.get(f"run.origin.{name}")


def _signed(nbytes: int) -> str:
    """Return a difference with its sign and all digits."""
    return f"{figures.signed(nbytes)[0] if nbytes else ''}{units.exact(abs(nbytes))}"


def _line(name: str, operations: Sequence[OperationBytes]) -> list[str]:
    """Return the table cells of several operations: the largest planned and measured bytes, and the
    largest residual."""
    most = [max(getattr(op, key).inside for op in operations) for key in ("planned", "measured")]
    residual = max((op.residual for op in operations), key=abs)
    return [name, *(f"{nbytes:,}" for nbytes in most), _signed(residual).removesuffix(" B")]


def _bar(peak: PeakBar) -> LabelledBar:
    label = [(peak.amount, True), (f" · {texts.shortened(peak.where, BEHIND)}", False)]
    name = origin(peak.origin)
    fact = Fact(name, nbytes=peak.nbytes, more=peak.where)
    return LabelledBar(peak.nbytes, peak.origin, label, fact, name)


def _differing(operation: OperationBytes, top: float) -> Iterator[Mark]:
    """Yield a mark at the top and a line down to the axis, so that no residual is too small to be
    seen."""
    x = operation.index + 0.5
    yield Rule(x=x, look="rule faint", dashes="3 3")
    yield Points([(x, top)], WEDGE)


def planned_and_measured(run: Run) -> PlannedAndMeasured:
    """The peak of a run as planned and as measured side by side, and both over time.

    >>> step = memlab.training_step(memlab.zoo.mnist_cnn())
    >>> print(memlab.views.planned_and_measured(memlab.run(step, 2)).peaks[0].nbytes)
    81766652

    Args:
        run: a result of ``memlab.run``.

    Raises:
        InputError: no run.
    """
    if not isinstance(run, Run):
        raise InputError(f"a run is shown, got {shorten(run)}; try memlab.run(step, batch=4).")
    plan, batch = run.planned, run.batch
    planned = zip(plan.before(batch), plan.timeline(batch), plan.after(batch), strict=True)
    measured = zip(run.before, run.inside, run.after, strict=True)
    operations = tuple(
        OperationBytes(index, row, Moments(*due), Moments(*seen))
        for index, (row, due, seen) in enumerate(zip(plan.rows, planned, measured, strict=True))
    )
    planned_at = max(operations, key=lambda op: op.planned.inside)
    measured_at = max(operations, key=lambda op: op.measured.inside)
    peaks = (
        PeakBar(plan.origin, planned_at.planned.inside, planned_at.where),
        PeakBar(run.measured.origin, measured_at.measured.inside, measured_at.where),
    )
    return PlannedAndMeasured(plan.describe(), batch, peaks, operations, run.seconds)
