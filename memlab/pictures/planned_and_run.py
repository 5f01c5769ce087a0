"""A run beside its plan: peaks, every operation, and where the two differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memlab import strings, units
from memlab.errors import InputError, shorten
from memlab.ledger.ledger import Row
from memlab.pictures.memory.step_memory import band, phases
from memlab.pictures.values import number_text as figures
from memlab.pictures.values.study import Study
from memlab.runtime.run import Run

EACH = 30
"""Up to so many operations each has its line; more are summed up by phase."""
LISTED = 6
"""Operations with a residual that are named; the others are counted."""


class Bar(NamedTuple):
    """A peak, where it comes from, and the operation where it is first reached."""

    origin: str
    nbytes: int
    at: int
    name: str

    @property
    def where(self) -> str:
        """The operation of the peak."""
        return strings.get("run.where", index=f"{self.at + 1:,}", name=self.name)

    @property
    def amount(self) -> str:
        """Every digit, and a short form beside it from 1 kB on."""
        short = units.short(self.nbytes)
        return units.exact(self.nbytes) + ("" if self.nbytes < 1000 else f" = {short}")


class Moments(NamedTuple):
    """Bytes alive when an operation begins, at most inside it, and when it has ended."""

    before: int
    inside: int
    after: int


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation with its planned and its measured bytes."""

    index: int
    row: Row
    planned: Moments
    measured: Moments

    @property
    def moment(self) -> int:
        """Which of before, inside and after differs most; inside where all agree."""
        sizes = [abs(m - p) for p, m in zip(self.planned, self.measured, strict=True)]
        return sizes.index(max(sizes)) if any(sizes) else 1

    @property
    def residual(self) -> int:
        """Measured less planned bytes where they differ most."""
        return self.measured[self.moment] - self.planned[self.moment]


@dataclass(frozen=True)
class RunStudy(Study):
    """A run at a batch: ``bars`` are the planned and the measured peak, ``origin`` says where the
    measurement comes from. ``seconds`` are written where asked for."""

    step: str
    batch: int
    origin: str
    bars: tuple[Bar, ...]
    operations: tuple[Operation, ...]
    seconds: float

    @property
    def residual(self) -> int:
        """The largest absolute difference over all operations."""
        return max(abs(operation.residual) for operation in self.operations)

    @property
    def differing(self) -> list[Operation]:
        """The operations with a residual, in their order."""
        return [operation for operation in self.operations if operation.residual]

    @property
    def planned(self) -> Bar:
        """The planned peak."""
        return self.bars[0]

    @property
    def title(self) -> str:
        """What has run: ``'Single linear layer, fp32, SGD, training, batch 4'``."""
        return f"{self.step}, {strings.get('memory.batch', batch=f'{self.batch:,}')}"

    @property
    def headline(self) -> str:
        """``'Residual 0 B over 24 operations: before, inside, after.'``"""
        return strings.get(
            "run.residual",
            residual=units.exact(self.residual),
            count=f"{len(self.operations):,}",
            moments=", ".join(strings.get(f"run.moment.{name}") for name in Moments._fields),
        )

    @property
    def sentences(self) -> list[str]:
        """The residual."""
        return [self.headline]

    def differences(self) -> list[str]:
        """One line for each operation with a residual, and one that counts those left out."""
        found = self.differing
        listed = found if len(found) <= LISTED else found[: LISTED - 1]
        more = len(found) - len(listed)
        others = [strings.get("run.others", count=f"{more:,}")] if more else []
        return [self._difference(operation) for operation in listed] + others

    def _difference(self, operation: Operation) -> str:
        return strings.get(
            "run.difference",
            index=f"{operation.index + 1:,}",
            name=operation.row.name,
            moment=strings.get(f"run.moment.{Moments._fields[operation.moment]}"),
            planned=units.exact(operation.planned[operation.moment]),
            measured=units.exact(operation.measured[operation.moment]),
            origin=origin(self.origin),
            change=_signed(operation.residual),
        )

    def table(self) -> list[list[str]]:
        """Heads, and a line for every operation, or for every phase where they are many: the most
        bytes inside one operation, planned and measured, and the residual."""
        each = len(self.operations) <= EACH
        origins = [origin(bar.origin) for bar in self.bars]
        first = strings.get("run.table.operation" if each else "run.table.phase")
        lines = self._each() if each else self._phases()
        return [[first, *origins, strings.get("run.table.residual")], *lines]

    def _each(self) -> list[list[str]]:
        wide = len(str(len(self.operations)))
        return [_line(f"{op.index + 1:>{wide}} {op.row.name}", [op]) for op in self.operations]

    def _phases(self) -> list[list[str]]:
        found = phases([operation.row for operation in self.operations])
        return [
            _line(band(phase, first, last), self.operations[first : last + 1])
            for phase, first, last in found
        ]


def origin(name: str) -> str:
    """Where figures come from: ``'planned'``, ``'measured here'``, ``'recorded'``."""
    return strings.get(f"run.origin.{name}")


def _signed(nbytes: int) -> str:
    """A difference with its sign and every digit."""
    return f"{figures.signed(nbytes)[0] if nbytes else ''}{units.exact(abs(nbytes))}"


def _line(name: str, operations: Sequence[Operation]) -> list[str]:
    """Of some operations: the most planned and measured inside one, and the largest residual."""
    most = [max(getattr(op, key).inside for op in operations) for key in ("planned", "measured")]
    residual = max((op.residual for op in operations), key=abs)
    return [name, *(f"{nbytes:,}" for nbytes in most), _signed(residual).removesuffix(" B")]


def study_run(run: Run) -> RunStudy:
    """The study of a run.

    Raises:
        InputError: no run.
    """
    if not isinstance(run, Run):
        raise InputError(f"a run is shown, got {shorten(run)}; try memlab.run(step, batch=4).")
    plan, batch = run.planned, run.batch
    planned = _moments(plan.before(batch), plan.timeline(batch), plan.after(batch))
    measured = _moments(run.before, run.inside, run.after)
    rows = enumerate(zip(plan.rows, planned, measured, strict=True))
    operations = tuple(Operation(index, row, due, seen) for index, (row, due, seen) in rows)
    title, origin = plan.describe(), run.measured.origin
    bars = _peak(plan.origin, plan.rows, planned), _peak(origin, plan.rows, measured)
    return RunStudy(title, batch, origin, bars, operations, run.seconds)


def _moments(*columns: Sequence[int]) -> list[Moments]:
    return [Moments(*moments) for moments in zip(*columns, strict=True)]


def _peak(origin: str, names: Sequence[Row], moments: Sequence[Moments]) -> Bar:
    inside = [moment.inside for moment in moments]
    index = inside.index(max(inside))
    return Bar(origin, inside[index], index, names[index].name)
