"""What PyTorch was recorded to hold in the same step, beside the plan and the arena."""

from __future__ import annotations

from functools import lru_cache

from memlab import strings
from memlab.bench import torch_memory
from memlab.bench.torch_memory import BATCH, FILE, NETWORK, VARIANT, Beside
from memlab.step.step import Step
from memlab.views.addresses.rows import Rows
from memlab.views.addresses.scale import amount
from memlab.views.addresses.source import Source
from memlab.views.addresses.words import say


def beside(rows: Rows) -> Beside | None:
    """The peak of the step on display beside the recorded one; None where none was recorded."""
    return _beside(rows.source) if rows.state.batch == BATCH else None


def _same(step: Step) -> bool:
    """Whether it is the step that was recorded, in place or not."""
    settings = (step.network, step.optimizer, step.format, step.training)
    others = set(step.notes) - {"in place"}
    return settings == (NETWORK, "momentum", "fp32", True) and VARIANT in step.label and not others


@lru_cache(maxsize=8)
def _beside(source: Source) -> Beside | None:
    step = source.step
    if step is None or not FILE.exists() or not _same(step):
        return None
    return torch_memory.beside(step)


def sentence(rows: Rows, found: Beside) -> str:
    """Both sums, the placed one, and the role that differs most."""
    role = max(found.recorded, key=lambda role: abs(found.recorded[role] - found.planned[role]))
    before = rows.source.before(rows.state.batch)
    return say(
        "rival",
        theirs=amount(sum(found.recorded.values())),
        ours=amount(sum(found.planned.values())),
        placed=amount(before + rows.packed.arena),
        role=strings.get(f"torch_memory.role.{role}"),
        planned=amount(found.planned[role]),
        recorded=amount(found.recorded[role]),
    )
