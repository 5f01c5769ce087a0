"""Steps of one network side by side: what each keeps alive at its peak, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from memlab import strings, units
from memlab.errors import InputError, flag, shorten, whole
from memlab.planner.book import plan
from memlab.planner.ledger import Column, Ledger, Peak
from memlab.runtime import backend, guard
from memlab.runtime.run import run
from memlab.runtime.session import kernels_of
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role
from memlab.studies.figures import STACK, Part, Study
from memlab.studies.memory import StepMemory

STATE = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
"""The roles of the model state, which fact F1 counts in bytes per parameter."""
NAMED = 3
"""So many operations are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What runs used: the peak, the largest difference from the plan, and seconds; and which
    results are not those of the plain step bit for bit, where there is one, by key."""

    nbytes: int
    residual: int
    seconds: float
    other: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepRow:
    """One step at the batch.

    ``at_peak`` has the bytes of every slice of the stack inside the operation of the peak, and
    ``largest`` the most of each inside any operation. ``state`` is the model state, each role at
    its largest, of ``parameters`` numbers. ``more`` and ``fewer`` name the operations that the
    first step has not, and those that it alone has.
    """

    name: str
    description: str
    peak: Peak
    operations: int
    at_peak: Mapping[Part, int]
    largest: Mapping[Part, int]
    parameters: int
    state: int
    more: tuple[str, ...]
    fewer: tuple[str, ...]
    flops: int
    moved: int
    measured: Measured | None = None

    @property
    def per_parameter(self) -> str:
        """Bytes of model state for each parameter: ``'16.00'``; empty where nothing is learned."""
        return f"{self.state / self.parameters:,.2f}" if self.parameters else ""

    @property
    def changes(self) -> list[str]:
        """How the operations differ from those of the first step."""
        both = {"more": self.more, "fewer": self.fewer}
        return [_say(key, count=f"{len(of):,}", names=_few(of)) for key, of in both.items() if of]

    @property
    def facts(self) -> str:
        """Where its figures come from, its peak, its model state and its operations."""
        peak = {"index": f"{self.peak.index + 1:,}", "operation": self.peak.row.name}
        parts = [self._origin(), _say("at", **peak)]
        parts += [_say("state", bytes=self.per_parameter)] if self.parameters else []
        parts += [_say("operations", count=f"{self.operations:,}"), *self.changes]
        return " · ".join(parts)

    def _origin(self) -> str:
        """Planned alone, or measured here too."""
        if self.measured is None:
            return _say("planned")
        nbytes, residual = (
            units.exact(each) for each in (self.measured.nbytes, self.measured.residual)
        )
        seconds = _seconds(self.measured.seconds)
        return _say("measured", bytes=nbytes, residual=residual, seconds=seconds)


@dataclass(frozen=True)
class StepStudy(Study):
    """Steps of a network at a batch; the first row is what the others are divided by."""

    network: str
    batch: int
    rows: tuple[StepRow, ...]

    @property
    def first(self) -> StepRow:
        """What the others are compared with."""
        return self.rows[0]

    @property
    def lowest(self) -> StepRow:
        """The row with the lowest peak; of equal ones the first."""
        return min(self.rows, key=lambda row: row.peak.nbytes)

    @property
    def measured(self) -> bool:
        """Whether the steps have run, too."""
        return self.first.measured is not None

    @property
    def slices(self) -> list[Part]:
        """Those of the stack from its bottom up that any step has at its peak."""
        return [part for part in STACK if any(row.at_peak[part] for row in self.rows)]

    @property
    def title(self) -> str:
        """``'VGG-16, batch 32: bytes alive at the peak of one step, by role'``."""
        return _say("title", network=self.network, batch=f"{self.batch:,}")

    @property
    def headline(self) -> str:
        """Which step has the lowest peak."""
        least, first = self.lowest, self.first
        peak = units.short(least.peak.nbytes)
        if len(self.rows) == 1:
            return _say("alone", peak=peak)
        if least is first:
            return _say("lowest_first", first=first.name, peak=peak)
        return _say("lowest", peak=peak, name=least.name, ratio=self.ratio(least), first=first.name)

    def ratio(self, row: StepRow) -> str:
        """The peak of a row divided by the first one: ``'0.774'``."""
        return f"{row.peak.nbytes / self.first.peak.nbytes:,.3f}"

    @property
    def sentences(self) -> list[str]:
        """Which step has the lowest peak, and what each is."""
        return [
            self.headline,
            *(f"{row.name}: {row.description} · {row.facts}" for row in self.rows),
        ]

    @property
    def notes(self) -> list[str]:
        """What the model state is, and where the figures come from."""
        key = "twin.origin_measured" if self.measured else "twin.origin"
        return [_say("twin.state"), _say(key)]

    def against(self, row: StepRow) -> str:
        """``'0.774 × fp32'``; nothing for the first."""
        if row is self.first:
            return ""
        return _say("ratio", ratio=self.ratio(row), first=self.first.name)

    def table(self) -> list[list[str]]:
        """A line for every role and every total, a column for every step, in exact bytes."""
        rows, nothing = self.rows, [""] * (len(self.rows) + 1)
        runs = [row.measured for row in rows if row.measured]
        cells = [
            *_roles([row.at_peak for row in rows]),
            _line("peak", [row.peak.nbytes for row in rows]),
            [_say("table.ratio", first=self.first.name), *map(self.ratio, rows)],
            nothing,
            [_say("table.largest"), *nothing[1:]],
            *_roles([row.largest for row in rows]),
            nothing,
            _line("state", [row.state for row in rows]),
            [_say("table.parameter"), *(row.per_parameter for row in rows)],
            _line("operations", [row.operations for row in rows]),
            _line("flops", [row.flops for row in rows]),
            _line("moved", [row.moved for row in rows]),
        ]
        if runs:
            cells.append(_line("measured", [run.nbytes for run in runs]))
            cells.append(_line("residual", [run.residual for run in runs]))
            cells.append([_say("table.seconds"), *(_seconds(run.seconds) for run in runs)])
        return cells

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the peak and what it is made of by the names of the slices."""
        return super().as_dict() | {"rows": [_facts(row) for row in self.rows]}


def _say(key: str, **values: object) -> str:
    return strings.get(f"comparison.{key}", **values)


def _seconds(value: float) -> str:
    return f"{value:,.3f}"


def _few(names: Sequence[str]) -> str:
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return _say("others", names=", ".join(names[:NAMED]), count=f"{len(names) - NAMED:,}")


def _roles(steps: Sequence[Mapping[Part, int]]) -> list[list[str]]:
    """The slices of the stack from its bottom up: the usual ones, and what any step has."""
    shown = [part for part in STACK if part.usual or any(step[part] for step in steps)]
    return [[f"  {part.label}", *(f"{step[part]:,}" for step in steps)] for part in shown]


def _line(key: str, numbers: Sequence[int]) -> list[str]:
    return [_say(f"table.{key}"), *(f"{number:,}" for number in numbers)]


def _facts(row: StepRow) -> dict[str, Any]:
    """The figures of a step for JSON."""
    of = {"at_peak": row.at_peak, "largest": row.largest}
    named = {key: {part.label: n for part, n in each.items()} for key, each in of.items()}
    return asdict(row) | {"peak": row.peak.nbytes, "peak_operation": row.peak.row.name} | named


# -- made from steps ----------------------------------------------------------------------------


def compare_steps(
    steps: Mapping[str, Step], batch: int, measure: bool = False, progress: bool = True
) -> StepStudy:
    """The study of these steps, by the names that they are shown under; ``measure`` runs them.

    Raises:
        InputError: no steps, or of several networks; a name that is no text; a batch that a step
            does not hold for; what does not fit or has no kernel, before anything runs.
    """
    number, measure = whole("batch", batch), flag("measure", measure)
    _check(steps, number)
    if measure:
        refuse(steps.values(), number)
    first = next(iter(steps.values()))
    rows = []
    for name, step in steps.items():
        seen = _measured(step, number, progress) if measure else None
        rows.append(_row(name, step, first, number, seen))
    return StepStudy(_network(first), number, tuple(rows))


def refuse(steps: Iterable[Step], batch: int) -> None:
    """Nothing, where each of these steps can run on this machine.

    Raises:
        InputError: what does not fit (``DoesNotFitError``) or has no kernel.
    """
    room = backend.find("cpu").room()
    for step in steps:
        guard.check(plan(step), batch, room)
        kernels_of(step, "cpu")


def _network(step: Step) -> str:
    return step.label or step.network


def _check(steps: object, batch: int) -> None:
    if not isinstance(steps, Mapping) or not steps:
        raise InputError(
            f"steps are compared by their names, got {shorten(steps)}; try "
            "comparison({'fp32': step, 'mixed fp16': memlab.precision(step, 'mixed fp16')})."
        )
    for name, step in steps.items():
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"the name of a step must be text, got {shorten(name)}; try 'fp32'.")
        if not isinstance(step, Step):
            raise InputError(
                f"{name} must be a step, got {shorten(step)}; try memlab.training_step(network)."
            )
        if step.batches is not None and batch not in step.batches:
            held = f"{step.batches.start} to {step.batches.stop - 1}"
            raise InputError(f"{name} holds for batch {held}, got {batch}; plan it again for that.")
    networks = dict.fromkeys(map(_network, steps.values()))
    if len(networks) > 1:
        raise InputError(
            f"a comparison is of steps of one network, got {' and '.join(networks)}; "
            "try one comparison for each."
        )


def _measured(step: Step, batch: int, progress: bool) -> Measured:
    """The figures of a run; its arrays are given back before the next one."""
    done = run(step, batch, progress=progress)
    return Measured(done.peak, done.residual, done.seconds)


def _row(name: str, step: Step, first: Step, batch: int, measured: Measured | None) -> StepRow:
    ledger = plan(step)
    peak, lines = ledger.peak_at(batch), StepMemory(ledger).lines
    names, others = (dict.fromkeys(op.name for op in each.ops) for each in (step, first))
    times = {part: batch if part.grows else 1 for part in STACK}
    return StepRow(
        name=name,
        description=step.describe().removeprefix(f"{step.label}, "),
        peak=peak,
        operations=len(names),
        at_peak={part: times[part] * int(line[peak.index]) for part, line in lines.items()},
        largest={part: times[part] * int(line.max()) for part, line in lines.items()},
        parameters=_parameters(ledger),
        state=sum(_most(lines, role, batch) for role in STATE),
        more=tuple(each for each in names if each not in others),
        fewer=tuple(each for each in others if each not in names),
        flops=sum((op.flops for op in step.ops), Size()).at(batch),
        moved=sum((op.bytes_moved for op in step.ops), Size()).at(batch),
        measured=measured,
    )


def _most(lines: Mapping[Part, Column], role: Role, batch: int) -> int:
    """The most bytes of a role inside one operation."""
    both = zip(lines[Part(role, False)], lines[Part(role, True)], strict=True)
    return max(int(fixed) + batch * int(each) for fixed, each in both)


def _parameters(ledger: Ledger) -> int:
    """How many numbers are learned."""
    shapes = [entry.axes for entry in ledger.entries if entry.role is Role.PARAMETER]
    return sum(prod(extent for _, extent in axes) for axes in shapes)
