"""The rules of recurrent layers. A sigmoid counts as an exponential, an addition and a division."""

from __future__ import annotations

from collections.abc import Mapping

from memlab.layers.layer import Node
from memlab.layers.row import NOWHERE, Flops, Passes, Row
from memlab.step.storage import Size
from memlab.step.traits import Cut


def _view(node: Node) -> Flops:
    return Flops(Size())


def _lstm_state(node: Node) -> Flops:
    forward, backward = (10, 20) if len(node.inputs) == 2 else (5, 12)
    hidden = node.shape[0]
    return Flops(Size(0, forward * hidden), input=Size(0, backward * hidden))


def _lstm_output(node: Node) -> Flops:
    hidden = node.shape[0]
    return Flops(Size(0, 5 * hidden), input=Size(0, 12 * hidden))


SEQUENCE_RULES: Mapping[str, Row] = {
    "at": Row(
        cut=Cut.WHOLE,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_view,
        is_view=True,
        passes=Passes.SAME,
        keeps=(),
    ),
    "lstm_state": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_lstm_state,
        keeps=("x",),
        devices=("cpu",),
    ),
    "lstm_output": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_lstm_output,
        keeps=("x",),
        devices=("cpu",),
    ),
}
