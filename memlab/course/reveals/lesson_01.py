"""Pictures under the answers of lesson 01."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_01 import convolutions, single
from memlab.pictures.memory.view import Memory, memory


@reveal("01.peak")
def training(turn: Attempt) -> Memory:
    """Lifetimes of a training step of the single layer."""
    return memory("linear1", turn.numbers["batch"], "sgd", only=("inputs", "outputs"))


@reveal("01.gelu")
def other_function(turn: Attempt) -> Memory:
    """Lifetimes with GELU, with those of tanh as the dashed outlines."""
    numbers = dict(turn.numbers)
    view = memory(single({**numbers, "act": "tanh"}), numbers["batch"], "sgd", only=("batch",))
    view.what = single(numbers)
    return view


@reveal("01.prediction")
def with_learning(turn: Attempt) -> Memory:
    """Memory of a training step, with inference as the dashed outline."""
    network = convolutions(turn.numbers["depth"])
    view = memory(network, turn.numbers["batch"], "sgd", training=False, algorithm="direct",
                  budgets=(), free=False, only=("batch",))  # fmt: skip
    view.training = True
    view.fit()
    return view
