"""Memory that PyTorch holds at the peak of a training step, role by role, beside memlab's plan.

A figure of PyTorch was recorded once; `python -m benchmarks torch-memory` measures it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memlab import strings, units
from memlab.ledger.plan import plan
from memlab.measure import recorded_figures
from memlab.measure.recorded_figures import FOLDER, RecordedFigures
from memlab.step.step import Step
from memlab.step.tensor import Role

BATCH = 16
COMMAND = "python -m benchmarks torch-memory"
FILE = FOLDER / "pytorch_memory.json"
"""What was recorded for the lessons."""


@dataclass(frozen=True)
class PeakByRole:
    """Bytes of every role at two peaks: that of a plan, and the recorded one."""

    planned: Mapping[Role, int]
    recorded: Mapping[Role, int]
    where: str

    def text(self) -> str:
        """Text with one line for each role, and the sums, in MiB; then the place
        of the recording."""
        rows = [
            (_say(f"role.{role}"), self.planned[role], self.recorded[role])
            for role in Role
            if self.planned[role] or self.recorded[role]
        ]
        sums = sum(self.planned.values()), sum(self.recorded.values())
        lines = [_line(*row) for row in [*rows, (_say("sum"), *sums)]]
        return "\n".join([_say("head"), *lines, _say("where", where=self.where)])

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


def beside(step: Step, figures: RecordedFigures | None = None) -> PeakByRole:
    """Compare the planned peak of a step at batch 16, role by role, with PyTorch's recorded one.

    Raises:
        InputError: no recorded figures.
    """
    figures = recorded_figures.load(FILE) if figures is None else figures
    theirs = {Role(line.name): int(line.value) for line in figures.result.lines}
    return PeakByRole(plan(step).roles(BATCH), theirs, figures.where)


def _line(name: str, planned: int, theirs: int) -> str:
    amounts = (_mib(nbytes) for nbytes in (planned, theirs, theirs - planned))
    return f"{name:26}" + "".join(f"{amount:>14}" for amount in amounts)


def _mib(nbytes: int) -> str:
    return units.in_unit(nbytes, "MiB", 1).replace("-0.0 ", "0.0 ")


def _say(key: str, **values: object) -> str:
    return strings.get(f"torch_memory.{key}", **values)
