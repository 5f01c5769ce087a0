"""The rules of recurrent layers. A sigmoid counts as an exponential, an addition and a division."""

from __future__ import annotations

from collections.abc import Mapping

from memlab.layers.layer import Node
from memlab.layers.rule import Flops, Rule
from memlab.step.storage import Size


def _view(node: Node) -> Flops:
    return Flops(Size())


def _lstm_state(node: Node) -> Flops:
    forward, backward = (10, 20) if len(node.inputs) == 2 else (5, 12)
    hidden = node.shape[0]
    return Flops(Size(0, forward * hidden), input=Size(0, backward * hidden))


def _lstm_output(node: Node) -> Flops:
    hidden = node.shape[0]
    return Flops(Size(0, 5 * hidden), input=Size(0, 12 * hidden))


SEQUENCE_RULES: Mapping[str, Rule] = {
    "at": Rule(_view, is_view=True, gradient_is_view=True),
    "lstm_state": Rule(_lstm_state, keeps=("x",), devices=("cpu",)),
    "lstm_output": Rule(_lstm_output, keeps=("x",), devices=("cpu",)),
}
