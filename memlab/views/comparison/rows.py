"""What the picture of a comparison and its text show: one row for every step, in exact bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from memlab.errors import InputError, flag, shorten, whole
from memlab.planner.book import plan
from memlab.planner.ledger import Ledger, Peak
from memlab.runtime import backend, guard
from memlab.runtime.run import run
from memlab.runtime.session import kernels_of
from memlab.step.step import Step
from memlab.step.storage import DEVICE, Size
from memlab.step.tensor import Role
from memlab.views.network.source import Source
from memlab.views.roles import STACK, Look

STATE = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
"""The roles of the model state, which fact F1 counts in bytes per parameter."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run used: its peak, the largest difference from the plan, and its seconds."""

    nbytes: int
    residual: int
    seconds: float


@dataclass(frozen=True)
class Row:
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
    at_peak: Mapping[Look, int]
    largest: Mapping[Look, int]
    parameters: int
    state: int
    more: tuple[str, ...]
    fewer: tuple[str, ...]
    flops: int
    moved: int
    measured: Measured | None = None


@dataclass(frozen=True)
class Rows:
    """Everything that is drawn and written; the first row is what the others are divided by."""

    network: str
    batch: int
    rows: tuple[Row, ...]

    @property
    def first(self) -> Row:
        """What the others are compared with."""
        return self.rows[0]

    @property
    def lowest(self) -> Row:
        """The row with the lowest peak; of equal ones the first."""
        return min(self.rows, key=lambda row: row.peak.nbytes)

    @property
    def measured(self) -> bool:
        """Whether the steps have run, too."""
        return self.first.measured is not None

    def ratio(self, row: Row) -> float:
        """The peak of a row divided by the first one."""
        return row.peak.nbytes / self.first.peak.nbytes


def rows(steps: Mapping[str, Step], batch: int, measure: bool, progress: bool) -> Rows:
    """The rows of these steps; ``measure`` runs every one of them.

    Raises:
        InputError: no steps, or of several networks; a name that is no text; a batch that a step
            does not hold for; what does not fit or has no kernel, before anything runs.
    """
    number, measure = whole("batch", batch), flag("measure", measure)
    _check(steps, number)
    ledgers = {name: plan(step) for name, step in steps.items()}
    runs = _run(steps, ledgers, number, progress) if measure else {}
    first = next(iter(steps.values()))
    found = [
        _row(name, step, first, ledgers[name], number, runs.get(name))
        for name, step in steps.items()
    ]
    return Rows(_network(first), number, tuple(found))


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


def _run(
    steps: Mapping[str, Step], ledgers: Mapping[str, Ledger], batch: int, progress: bool
) -> dict[str, Measured]:
    """Run one after the other; refused before the first where one of them cannot run."""
    room = backend.find("cpu").room()
    for name, step in steps.items():
        guard.check(ledgers[name], batch, room)
        kernels_of(step, "cpu")
    return {name: _measured(step, batch, progress) for name, step in steps.items()}


def _measured(step: Step, batch: int, progress: bool) -> Measured:
    """The figures of a run; its arrays are given back before the next one."""
    done = run(step, batch, progress=progress)
    return Measured(done.peak, done.residual, done.seconds)


def _row(
    name: str, step: Step, first: Step, ledger: Ledger, batch: int, measured: Measured | None
) -> Row:
    peak, lines = ledger.peak_at(batch), Source(ledger).lines
    names, others = (dict.fromkeys(op.name for op in each.ops) for each in (step, first))
    times = {look: batch if look.grows else 1 for look in STACK}
    return Row(
        name=name,
        description=step.describe().removeprefix(f"{step.label}, "),
        peak=peak,
        operations=len(names),
        at_peak={look: times[look] * int(line[peak.index]) for look, line in lines.items()},
        largest={look: times[look] * int(line.max()) for look, line in lines.items()},
        parameters=_parameters(ledger),
        state=sum(_most(ledger, role, batch) for role in STATE),
        more=tuple(each for each in names if each not in others),
        fewer=tuple(each for each in others if each not in names),
        flops=sum((op.flops for op in step.ops), Size()).at(batch),
        moved=sum((op.bytes_moved for op in step.ops), Size()).at(batch),
        measured=measured,
    )


def _parameters(ledger: Ledger) -> int:
    """How many numbers are learned."""
    shapes = [entry.axes for entry in ledger.entries if entry.role is Role.PARAMETER]
    return sum(prod(extent for _, extent in axes) for axes in shapes)


def _most(ledger: Ledger, role: Role, batch: int) -> int:
    """The most bytes of a role inside one operation."""
    if (DEVICE, role) not in ledger.role_lines:
        return 0
    fixed, each = ledger.role_lines[DEVICE, role]
    return max(int(a) + batch * int(b) for a, b in zip(fixed, each, strict=True))
