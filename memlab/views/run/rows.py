"""What the picture of a run and its text show: bars, operations, and where the two differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from memlab import units
from memlab.errors import whole
from memlab.planner.ledger import Row
from memlab.runtime.run import Run
from memlab.step.op import Phase
from memlab.views.bars import GUESS

MOMENTS = ("before", "inside", "after")


class Bar(NamedTuple):
    """A peak, where it comes from, and the operation where it is first reached."""

    origin: str
    nbytes: int
    at: int | None = None
    name: str = ""


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


@dataclass(frozen=True, slots=True)
class Band:
    """Operations of one phase in a row, first and last counted."""

    phase: Phase
    operations: tuple[Operation, ...]

    @property
    def first(self) -> int:
        """The index of the first one."""
        return self.operations[0].index

    @property
    def last(self) -> int:
        """The index of the last one."""
        return self.operations[-1].index


@dataclass(frozen=True)
class Rows:
    """Everything that is drawn and written. ``seconds`` are written where they are asked for."""

    title: str
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
    def guess(self) -> Bar | None:
        """The guess, where one was made."""
        return self.bars[0] if self.bars[0].origin == GUESS else None

    @property
    def planned(self) -> Bar:
        """The planned peak."""
        return self.bars[-2]

    @property
    def bands(self) -> list[Band]:
        """The phases of the step."""
        phases = [operation.row.phase for operation in self.operations]
        turns = [i for i in range(1, len(phases)) if phases[i] is not phases[i - 1]]
        ends = pairwise([0, *turns, len(phases)])
        return [Band(phases[a], self.operations[a:b]) for a, b in ends]


def rows(run: Run, guess: int | str | None = None) -> Rows:
    """The rows of a run. ``guess`` is a guess at the peak, in bytes or as ``"1.4 GB"``.

    Raises:
        InputError: the guess is no amount of memory.
    """
    plan, batch = run.planned, run.batch
    planned = _moments(plan.before(batch), plan.timeline(batch), plan.after(batch))
    measured = _moments(run.before, run.inside, run.after)
    operations = tuple(
        Operation(index, row, due, seen)
        for index, (row, due, seen) in enumerate(zip(plan.rows, planned, measured, strict=True))
    )
    bars = [_peak(plan.origin, plan.rows, planned), _peak(run.measured.origin, plan.rows, measured)]
    if guess is not None:
        bars.insert(0, Bar(GUESS, _amount(guess)))
    return Rows(plan.describe(), batch, run.measured.origin, tuple(bars), operations, run.seconds)


def _amount(guess: int | str) -> int:
    return units.parse(guess) if isinstance(guess, str) else whole("guess", guess, least=0)


def _moments(*columns: Sequence[int]) -> list[Moments]:
    return [Moments(*moments) for moments in zip(*columns, strict=True)]


def _peak(origin: str, names: Sequence[Row], moments: Sequence[Moments]) -> Bar:
    inside = [moment.inside for moment in moments]
    index = inside.index(max(inside))
    return Bar(origin, inside[index], index, names[index].name)
