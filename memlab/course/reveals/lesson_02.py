"""Pictures under the answers of lesson 02."""

from __future__ import annotations

from memlab.assemble.step import training_step
from memlab.course.reveals import BARE, guessed_ratio, reveal
from memlab.ledger.plan import plan
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.shared_truths import backward_begins
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.pictures.memory.view import Memory, memory
from memlab.step.step import Step
from memlab.strings import gettext as _
from memlab.techniques.accumulate import accumulate


@reveal("02.output")
def lifetimes(turn: Attempt) -> Memory:
    """Lifetimes of the arrays around the convolution, with few others beside them, and the frame
    where backward begins."""
    n = turn.numbers
    x = network("one", image=(n["channels"], n["size"], n["size"]), title=_("One convolution"))
    x = x.conv(n["kernels"], n["k"], n["stride"], n["pad"], name="conv").relu(name="relu")
    loss = x.max_pool("all").flatten().cross_entropy()
    begins = backward_begins(plan(training_step(loss, "sgd")))
    return memory(loss, n["batch"], "sgd", cursor=begins + 1, only=("batch",), **BARE)


@reveal("02.halve", "02.resnet")
def half_a_batch(turn: Attempt) -> Memory:
    """Memory of the step at half the batch, with the whole batch as the dashed outline."""
    n = turn.numbers
    view = memory(n["network"], n["batch"], n["optimizer"], only=("batch", "optimizer"), **BARE)
    if ratio := guessed_ratio(turn):
        view.guess = round(view.peak / ratio)
    view.batch = n["batch"] // 2
    return view


@reveal("02.accumulate")
def two_parts(turn: Attempt) -> Memory:
    """Memory of the step in two parts, with a step of the images of one part as the dashed outline
    of each; **Batch** is the size of a part, and all parts together have the same images."""
    n, half = turn.numbers, turn.numbers["batch"] // 2
    step = training_step(zoo.build(n["network"]), n["optimizer"])

    def in_parts(batch: int) -> Step:
        return accumulate(step, n["batch"] // batch)

    view = memory(step, half, only=("batch",), largest=half, **BARE)
    view.what = in_parts
    return view
