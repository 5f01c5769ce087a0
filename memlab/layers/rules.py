"""What each kind of layer needs in a training step: what backward reads, and what it all costs.

One row per kind. ``keeps`` says which of its own input ``x`` and output ``y`` backward reads;
``extras`` are small arrays that forward writes for backward alone. The counts of operations are
those of the formula, whichever algorithm computes it; an addition, a product, a comparison, a
root, an exponential and a power count as one each.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from memlab.axes import Dims
from memlab.axes import dims as dims
from memlab.formats import FORMATS, Format
from memlab.layers import AvgPool2d, Conv2d, Linear, LocalResponseNorm, MaxPool2d
from memlab.layers.attention_rules import ATTENTION_RULES
from memlab.layers.layer import Node
from memlab.layers.rule import Extras as Extras
from memlab.layers.rule import Flops as Flops
from memlab.layers.rule import Rule as Rule
from memlab.layers.sequence_rules import SEQUENCE_RULES
from memlab.step.storage import Size


def _linear(node: Node) -> Flops:
    out, inner = prod(node.shape), node.input_shapes[0][-1]
    products = Size(0, 2 * out * inner)
    assert isinstance(node.layer, Linear)
    bias = Size(0, out if node.layer.bias else 0)
    return Flops(products + bias, products + bias, products)


def _conv(node: Node) -> Flops:
    layer = node.layer
    assert isinstance(layer, Conv2d)
    out = prod(node.shape)
    products = Size(0, 2 * out * (node.input_shapes[0][0] // layer.groups) * layer.kernel**2)
    bias = Size(0, out if layer.bias else 0)
    return Flops(products + bias, products + bias, products)


def _batch_norm(node: Node) -> Flops:
    values, channels = prod(node.shape), node.shape[0]
    return Flops(
        forward=Size(11 * channels, 8 * values),
        weights=Size(0, 5 * values),
        input=Size(4 * channels, 5 * values),
        inference=Size(3 * channels, 4 * values),
    )


def _local_response(node: Node) -> Flops:
    layer = node.layer
    assert isinstance(layer, LocalResponseNorm)
    values, size = prod(node.shape), layer.size
    return Flops(Size(0, (2 * size + 3) * values), input=Size(0, (3 * size + 8) * values))


def _pool(node: Node) -> Flops:
    layer = node.layer
    assert isinstance(layer, (MaxPool2d, AvgPool2d))
    kh, kw, _, _ = layer.geometry(node.input_shapes[0])
    values = prod(node.shape)
    if isinstance(layer, MaxPool2d):
        return Flops(Size(0, (kh * kw - 1) * values), input=Size(0, values))
    return Flops(Size(0, kh * kw * values), input=Size(0, (kh * kw + 1) * values))


def _per_value(forward: int, backward: int, fixed: int = 0) -> Callable[[Node], Flops]:
    def flops(node: Node) -> Flops:
        values = prod(node.shape)
        return Flops(Size(fixed, forward * values), input=Size(0, backward * values))

    return flops


def _add(node: Node) -> Flops:
    return Flops(Size(0, (len(node.inputs) - 1) * prod(node.shape)))


def _cross_entropy(node: Node) -> Flops:
    *tokens, classes = node.shape
    rows = prod(tokens)
    return Flops(
        forward=Size(1, 5 * classes * rows),
        input=Size(0, (classes + 1) * rows),
        inference=Size(0, (5 * classes - 2) * rows),
    )


def _statistics(node: Node, format: Format) -> Extras:
    channels = dims(node.shape, batched=False)[:1]
    return {"mean": (channels, format), "inverse_deviation": (channels, format)}


def _indices(node: Node, format: Format) -> Extras:
    layer = node.layer
    assert isinstance(layer, MaxPool2d)
    kh, kw, _, _ = layer.geometry(node.input_shapes[0])
    width = FORMATS["uint8" if kh * kw <= 256 else "int32"]
    return {"indices": (dims(node.shape), width)}


def _probabilities(node: Node, format: Format) -> Extras:
    return {"probabilities": (dims(node.shape), format)}


def _one_image(node: Node) -> Dims:
    return dims(node.shape, batched=False)


RULES: dict[str, Rule] = {
    "linear": Rule(_linear, keeps=("x",), backward_reads_weight=True),
    "conv2d": Rule(_conv, keeps=("x",), backward_reads_weight=True),
    "batch_norm": Rule(_batch_norm, keeps=("x",), extras=_statistics, backward_reads_weight=True),
    "local_response_norm": Rule(_local_response, keeps=("x",), backward_workspace=_one_image),
    "relu": Rule(_per_value(1, 1), keeps=("y",)),
    "tanh": Rule(_per_value(1, 3), keeps=("y",)),
    "max_pool2d": Rule(_pool, extras=_indices),
    "avg_pool2d": Rule(_pool),
    "dropout": Rule(_per_value(2, 2), identity_in_inference=True),
    "add": Rule(_add, gradient_is_view=True),
    "concat": Rule(_per_value(0, 0), gradient_is_view=True),
    "flatten": Rule(_per_value(0, 0), is_view=True, gradient_is_view=True),
    "softmax_cross_entropy": Rule(_cross_entropy, extras=_probabilities),
    "squared_error": Rule(_per_value(3, 2, fixed=1), keeps=("x",)),
    **SEQUENCE_RULES,
    **ATTENTION_RULES,
}
