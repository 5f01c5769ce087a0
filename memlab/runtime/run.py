"""``memlab.run``: one step on real arrays, planned beside measured."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy.typing as npt

from memlab import units
from memlab.kernels.registry import Array
from memlab.planner.book import plan
from memlab.planner.ledger import BEFORE, Entry, Ledger
from memlab.runtime import guard
from memlab.runtime.compiling import compile_times
from memlab.runtime.meter import OUTSIDE, Meter, Seen
from memlab.runtime.session import Session, kernels_of
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role


@dataclass(frozen=True)
class Run:
    """What a step gave back, what was planned for it, and what it used.

    ``before``, ``inside`` and ``after`` are measured bytes per operation; ``seconds`` leaves out
    the ``compile_seconds`` that Numba took for kernels it met for the first time.
    """

    step: Step
    batch: int
    planned: Ledger
    measured: Ledger
    before: list[int]
    inside: list[int]
    after: list[int]
    seconds: float
    compile_seconds: float
    resident_set: int
    loss: float | None
    output: Array | None = None
    parameters: Mapping[str, Array] = field(default_factory=dict, repr=False)
    gradients: Mapping[str, Array] = field(default_factory=dict, repr=False)

    @property
    def residuals(self) -> list[int]:
        """Per operation, the difference of largest size between measured and planned bytes:
        before, inside or after."""
        pairs = zip(
            zip(self.before, self.inside, self.after, strict=True),
            zip(
                self.planned.before(self.batch),
                self.planned.timeline(self.batch),
                self.planned.after(self.batch),
                strict=True,
            ),
            strict=True,
        )
        return [
            max((m - p for m, p in zip(seen, due, strict=True)), key=abs) for seen, due in pairs
        ]

    @property
    def residual(self) -> int:
        """The largest absolute difference over all operations; 0 means that the plan held."""
        return max(map(abs, self.residuals))

    @property
    def peak(self) -> int:
        """The most bytes that were alive, measured."""
        return max(self.inside)

    def text(self) -> str:
        """Planned, measured, residual, seconds, and what the measurement does not see."""
        planned = self.planned.peak_at(self.batch)
        where = f"at operation {planned.index + 1} of {len(self.inside)}, {planned.row.name}"
        lines = [
            f"{self.step.describe()}, batch {self.batch}",
            f"planned   {units.exact(planned.nbytes):>20}  {units.both(planned.nbytes)} {where}",
            f"measured  {units.exact(self.peak):>20}  {units.both(self.peak)}",
            f"residual  {units.exact(self.residual):>20}  over {len(self.inside)} operations: "
            "before, inside, after",
            f"seconds   {self.seconds:>18.3f} s",
            f"outside   {'; '.join(OUTSIDE)}",
            f"{'':10}the operating system counted at most {units.both(self.resident_set)}",
        ]
        return "\n".join(lines)

    __str__ = text

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "planned_peak_bytes": self.planned.peak(self.batch),
            "measured_peak_bytes": self.peak,
            "residual_bytes": self.residual,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "resident_set_bytes": self.resident_set,
            "loss": self.loss,
        }


def run(
    step: Step,
    batch: int,
    x: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    parameters: Mapping[str, npt.ArrayLike] | None = None,
    seed: int = 0,
    settings: Mapping[str, float] | None = None,
    keep: str | None = None,
    progress: bool = False,
) -> Run:
    """Run a step once, allocating and freeing exactly when its plan says, and measure it.

    ``x`` has the shape (batch, ...) of the network's input and ``labels`` are int64; what is not
    given is drawn from ``seed``. ``keep='gradients'`` keeps the parameters' gradients, in the plan
    too. ``settings`` are the optimizer's.

    Raises:
        DoesNotFitError: the plan needs more than is free; nothing was allocated.
        InputError: an input of another shape or format, or with NaN or infinity in it.
    """
    step = step.keep(keep) if keep else step
    planned = plan(step)
    guard.check(planned, batch)
    kernels_of(step)  # loads their modules, whose own arrays are no part of the step
    with compile_times() as compiling, Meter() as meter:
        session = Session(step, batch, seed, parameters, settings, meter)
        begin = time.perf_counter()
        counts = session.step(x, labels, progress)
        seconds = time.perf_counter() - begin
        measured = _ledger(planned, meter.seen, batch)
    before, inside, after = (list(column) for column in zip(*counts, strict=True))
    live = {tensor.name: session.value(tensor) for tensor in step.live_out}
    outputs = [t for t in step.live_out if t.role is Role.FEATURE_MAP]
    return Run(
        step,
        batch,
        planned,
        measured,
        before,
        inside,
        after,
        seconds - sum(compiling),
        sum(compiling),
        resident_set(),
        loss=float(live[outputs[0].name][()]) if step.training else None,
        output=None if step.training else live[outputs[0].name],
        parameters={
            t.name: live[t.name] for t in step.live_out if t.role in (Role.PARAMETER, Role.BUFFER)
        },
        gradients={
            t.name: live[t.name] for t in step.live_out if t.role is Role.PARAMETER_GRADIENT
        },
    )


def resident_set() -> int:
    """The most bytes that the operating system has counted for this process: shown beside a
    measurement, and no measure of a plan."""
    import psutil

    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def _ledger(planned: Ledger, seen: list[Seen], batch: int) -> Ledger:
    """What the meter saw as a ledger: blocks that memlab asked for under their names."""
    roles = {entry.name: entry for entry in planned.entries}
    operations = len(planned.rows)
    entries = []
    for block in seen:
        if block.death == BEFORE:
            continue  # drawing the first values took it; it is no part of the step
        death = operations if block.death is None else block.death
        known = roles.get(block.label)
        if known is None:
            entry = Entry("unnamed", Role.WORKSPACE, Size(block.nbytes), block.birth, death)
        else:
            entry = replace(known, size=Size(block.nbytes), birth=block.birth, death=death)
        entries.append(entry)
    return replace(
        planned, entries=tuple(entries), origin="measured", batches=range(batch, batch + 1)
    )
