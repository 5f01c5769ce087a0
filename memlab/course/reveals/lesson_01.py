"""Pictures under the answers of lesson 01."""

from __future__ import annotations

from memlab.course.reveals import BARE, guessed_ratio, reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_01 import convolutions, single
from memlab.pictures.memory.view import Memory, memory


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
