"""Whether a rewritten step gives what the plain one gives, bit for bit, as planned to the byte."""

from __future__ import annotations

from typing import Any

import memlab
from memlab.runtime.run import Run
from memlab.step.step import Step


def differences(plain: Run, other: Run) -> list[str]:
    """What is not the same: the loss, gradients and parameters by name, the residual."""
    found = [] if repr(plain.loss) == repr(other.loss) else ["loss"]  # NaN is NaN
    for one, two in ((plain.gradients, other.gradients), (plain.parameters, other.parameters)):
        assert one.keys() == two.keys()
        found += [name for name in one if one[name].tobytes() != two[name].tobytes()]
    return found + ([f"residual of {other.residual} B"] if other.residual else [])


def ran(step: Step, batch: int, **options: Any) -> Run:
    """A run that keeps its gradients."""
    return memlab.run(step, batch, keep="gradients", **options)
