"""The order of techniques (``registry.Place``), and what the operations of a step show of them."""

from __future__ import annotations

from memlab.errors import InputError, listed, shorten
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques import registry

AGAIN = "again"
"""The attribute of an operation that runs another time: how often it has run before."""
PART, PARTS = "part", "parts"
"""The attributes of an operation of one part of the batch: which one, from 1, and of how many."""


CHUNKS = "chunks"
"""The attribute of an operation on some tokens of a loss: all tokens divided by those of the chunk,
a ``Fraction``."""


def check(step: object, technique: str, but: tuple[str, ...] = ()) -> Step:
    """Return the step if ``technique`` may rewrite it: no later technique has, except those of
    ``but``.

    Raises:
        InputError: no step, or one that a later technique has rewritten.
    """
    if not isinstance(step, Step):
        raise InputError(
            f"{technique} rewrites a step, got {shorten(step)}; try memlab.training_step(network)."
        )
    for later in registry.later(technique):
        if later.shown and later.shown(step) and later.name not in but:
            raise InputError(
                f"{technique} comes before {later.name}, and this step has {later.name} already; "
                f"try memlab.{later.name}(memlab.{technique}(step, ...))."
            )
    return step


def check_updates(step: Step, what: str) -> None:
    """Refuse an operation that changes a parameter without saying what belongs to it.

    Raises:
        InputError: there is one.
    """
    for op in step.ops:
        for changed in op.updates.values():
            if changed.role is Role.PARAMETER and not op.slots:
                raise InputError(
                    f"{op.name} changes {changed.name} and does not say which gradient and states "
                    f"belong to it, so there are no {what} for it; give this Op its slots."
                )


def names(given: object, what: str = "layers") -> tuple[str, ...]:
    """Return the names of several layers, or of other things; one name stands for a list of one.

    Raises:
        InputError: what holds no names.
    """
    names = tuple(listed(what, given, "relu1"))
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{what} are several names, got {shorten(given)}; try ['relu1'].")
    return names


def done(step: Step) -> str:
    """Earlier techniques of a step that searches for a technique do not expect: ``'recomputes and
    is in place'``; empty for a step as ``training_step`` makes it."""
    rows = (row for row in registry.techniques().values() if row.shown and row.shown(step))
    return " and ".join(row.does for row in rows)


def recomputes(step: Step) -> bool:
    """Return whether an operation of the step runs more than once."""
    return any(AGAIN in op.attributes for op in step.ops)


def offloads(step: Step) -> bool:
    """Return whether maps are copied between two memories."""
    return any(op.phase is Phase.COPY for op in step.ops)


def chunks_loss(step: Step) -> bool:
    """Return whether the loss is computed for some tokens at a time."""
    return any(CHUNKS in op.attributes for op in step.ops)


def accumulates(step: Step) -> bool:
    """Return whether the step learns from its batch in parts."""
    return parts(step) > 1


def parts(step: Step) -> int:
    """Return the number of parts into which the batch is cut; 1 where it is whole."""
    return max((op.attributes.get(PARTS, 1) for op in step.ops), default=1)


def shares(step: Step) -> bool:
    """Return whether a block of memory holds several tensors one after another."""
    return bool(shared(step))


def shared(step: Step) -> set[str]:
    """Return the blocks that hold several tensors one after another."""
    return {name for name, life in step.lifetimes.items() if life.followers}
