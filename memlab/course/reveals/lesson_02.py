"""Pictures under the answers of lesson 02."""

from __future__ import annotations

from memlab.course.reveals import BARE, guessed_ratio, reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_02 import one_convolution
from memlab.pictures.memory.view import Memory, memory


@reveal("02.output")
def lifetimes(turn: Attempt) -> Memory:
    """Lifetimes of the arrays around the convolution."""
    network = one_convolution(turn.numbers)
    return memory(network, turn.numbers["batch"], "sgd", only=("batch",), **BARE)


@reveal("02.halve", "02.resnet")
def half_a_batch(turn: Attempt) -> Memory:
    """Memory of the step at half the batch, with the whole batch as the dashed outline."""
    n = turn.numbers
    view = memory(n["network"], n["batch"], n["optimizer"], only=("batch", "optimizer"), **BARE)
    if ratio := guessed_ratio(turn):
        view.guess = round(view.peak / ratio)
    view.batch = n["batch"] // 2
    return view
