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
from memlab.layers.row import GRADIENT, NOWHERE, OUTPUT, Extras, Flops, Passes, Reads, Row
from memlab.layers.sequence_rules import SEQUENCE_RULES
from memlab.step.storage import Size
from memlab.step.traits import Again, Cut

_STATISTICS = ("mean", "inverse_deviation")


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


def _batch_norm_again(node: Node) -> Again:
    """With the mean and the deviation of the batch, which are small and kept: the running ones must
    move once."""
    return Again(_STATISTICS, Size(node.shape[0], 3 * prod(node.shape)))


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
    return dict.fromkeys(_STATISTICS, (channels, format))


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


RULES: dict[str, Row] = {
    "linear": Row(
        cut=Cut.OUTPUTS,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_linear,
        keeps=("x",),
        backward_reads_weight=Reads.PASSING,
        vectors=("cuda",),
    ),
    "conv2d": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_conv,
        keeps=("x",),
        backward_reads_weight=Reads.PASSING,
    ),
    "batch_norm": Row(
        cut=Cut.CHANNELS,
        over=OUTPUT,
        backward_over=GRADIENT,
        cheap=True,
        flops=_batch_norm,
        keeps=("x",),
        extras=_statistics,
        backward_reads_weight=Reads.ALWAYS,
        again=_batch_norm_again,
        wide=True,
        apart=True,
        joins=True,
    ),
    "local_response_norm": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_local_response,
        keeps=("x",),
        backward_workspace=_one_image,
    ),
    "relu": Row(
        cut=Cut.VALUES,
        over=OUTPUT,
        backward_over=GRADIENT,
        cheap=True,
        flops=_per_value(1, 1),
        keeps=("y",),
    ),
    "tanh": Row(
        cut=Cut.VALUES,
        over=OUTPUT,
        backward_over=GRADIENT,
        cheap=True,
        flops=_per_value(1, 3),
        keeps=("y",),
    ),
    "max_pool2d": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=True,
        flops=_pool,
        extras=_indices,
        keeps=(),
    ),
    "avg_pool2d": Row(
        cut=Cut.SAMPLES, over=NOWHERE, backward_over=NOWHERE, cheap=True, flops=_pool, keeps=()
    ),
    "dropout": Row(
        cut=Cut.VALUES,
        over=OUTPUT,
        backward_over=GRADIENT,
        cheap=True,
        flops=_per_value(2, 2),
        identity_in_inference=True,
        keeps=(),
    ),
    "add": Row(
        cut=Cut.VALUES,
        over={"y": ("x0", "x1")},
        backward_over={"dx0": ("dy",)},
        cheap=False,
        flops=_add,
        passes=Passes.SAME,
        keeps=(),
    ),
    "concat": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_per_value(0, 0),
        passes=Passes.SLICES,
        moves=True,
        keeps=(),
    ),
    "flatten": Row(
        cut=Cut.WHOLE,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_per_value(0, 0),
        is_view=True,
        passes=Passes.SAME,
        keeps=(),
    ),
    "softmax_cross_entropy": Row(
        cut=Cut.WHOLE,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_cross_entropy,
        extras=_probabilities,
        keeps=(),
        vectors=("cuda",),
    ),
    "squared_error": Row(
        cut=Cut.WHOLE,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_per_value(3, 2, fixed=1),
        keeps=("x",),
    ),
    **SEQUENCE_RULES,
    **ATTENTION_RULES,
}
