"""Pictures under the answers of lesson 01."""

from __future__ import annotations

from memlab.assemble.step import training_step
from memlab.course.reveals import BARE, guessed_ratio, reveal
from memlab.ledger.plan import plan
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_01 import convolutions, single
from memlab.lesson.content.shared_truths import backward_begins
from memlab.pictures.memory.gradients_and_maps import GradientsAndMaps
from memlab.pictures.memory.view import Memory, memory
from memlab.step.tensor import Role


@reveal("01.peak")
def training(turn: Attempt) -> Memory:
    """Lifetimes of a training step of the single layer."""
    return memory("linear1", turn.numbers["batch"], "sgd", only=("batch",), largest=4, **BARE)


@reveal("01.gelu")
def other_function(turn: Attempt) -> Memory:
    """Lifetimes with GELU, with those of tanh as the dashed outlines."""
    n = dict(turn.numbers)
    tanh = single({**n, "act": "tanh"})
    view = memory(tanh, n["batch"], "sgd", only=("batch",), largest=4, **BARE)
    view.what = single(n)
    return view


@reveal("01.gradients")
def at_both_batches(turn: Attempt) -> GradientsAndMaps:
    """Bytes of all parameter gradients, and of the feature maps that are alive when backward
    begins, at batch 1 and at the larger batch."""
    batch = turn.numbers["batch"]
    ledger = plan(training_step(convolutions(turn.numbers["depth"]), "sgd"))
    waiting = [e for e in ledger.alive(backward_begins(ledger)) if e.size.per_sample]
    sizes = {
        role: [entry.size for entry in entries if entry.role is role]
        for role, entries in (
            (Role.PARAMETER_GRADIENT, ledger.entries),
            (Role.FEATURE_MAP, waiting),
        )
    }
    nbytes = {
        role: (sum(size.at(1) for size in both), sum(size.at(batch) for size in both))
        for role, both in sizes.items()
    }
    return GradientsAndMaps(batch, nbytes)


@reveal("01.prediction")
def with_learning(turn: Attempt) -> Memory:
    """Memory of a training step, with inference as the dashed outline."""
    network = convolutions(turn.numbers["depth"])
    view = memory(network, turn.numbers["batch"], "sgd", algorithm="direct", only=("batch",),
                  **BARE)  # fmt: skip
    view.training = False
    if ratio := guessed_ratio(turn):
        view.guess = round(view.peak * ratio)
    view.training = True
    return view
