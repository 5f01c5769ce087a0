"""Layer normalisation: the statistics of each token over its features, their sums in fp64."""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.arrays import Span, span
from memlab.kernels.cpu.compile import compiled, summing
from memlab.kernels.cpu.row_sums import sum_squares, sum_values
from memlab.kernels.registry import Array, Call, kernel
from memlab.layers import LayerNorm

Pair = tuple[Array, Array]


@kernel("layer_norm")
def layer_norm(call: Call) -> None:
    """``y = (x - mean) / sqrt(variance + epsilon) * weight + bias``, per token; mean and inverse
    deviation where a backward will read them."""
    layer, weight = call.layer, call["weight"]
    assert isinstance(layer, LayerNorm)
    x, y = (call[name].reshape(-1, weight.size) for name in "xy")
    kept = _kept(call) if "mean" in call.arrays else None
    _normalize(x, y, weight, call["bias"], kept, layer.epsilon)


@kernel("layer_norm.backward")
def layer_norm_backward(call: Call) -> None:
    """With ``n`` the normalised x and ``g = dy weight``: ``db`` sums dy, ``dw`` sums dy n, and
    ``dx = (g - mean of g - n mean of g n) / deviation``."""
    dweight, kept, dy = call["dweight"], _kept(call), span(call["dy"])
    x = call["x"].reshape(-1, dweight.size)
    tokens = len(x) // len(call["x"])
    _sum_tokens(x, dy, tokens, kept, (dweight, call["dbias"]), call.accumulate_weights)
    if "dx" in call.arrays:
        dx = span(call["dx"])
        _input_gradients(x, dy, dx, tokens, call["weight"], kept, call.accumulate)


def _kept(call: Call) -> Pair:
    """Mean and inverse deviation of all tokens, each in one line."""
    return call["mean"].reshape(-1), call["inverse_deviation"].reshape(-1)


@compiled
def _normalize(
    x: Array, y: Array, weight: Array, bias: Array, kept: Pair | None, epsilon: float
) -> None:
    number = y.dtype.type
    for r in range(len(x)):
        row, out = x[r], y[r]
        centre = sum_values(row) / row.size
        inverse = 1 / np.sqrt(sum_squares(row, centre) / row.size + epsilon)
        if kept is not None:
            kept[0][r], kept[1][r] = centre, inverse
        mean, scale = number(centre), number(inverse)
        for i in range(row.size):
            out[i] = (row[i] - mean) * scale * weight[i] + bias[i]


@compiled
def _sum_tokens(
    x: Array, dy_span: Span, tokens: int, kept: Pair, gradients: Pair, accumulate: bool
) -> None:
    (dy, pitch), features = dy_span, x.shape[1]
    for i in range(features):
        straight = float(gradients[1][i]) if accumulate else 0.0
        products = float(gradients[0][i]) if accumulate else 0.0
        for r in range(len(x)):
            gradient = np.float64(dy[r // tokens * pitch + r % tokens * features + i])
            straight += gradient
            products += gradient * (x[r, i] - kept[0][r]) * kept[1][r]
        gradients[0][i] = products
        gradients[1][i] = straight


@compiled
def _input_gradients(
    x: Array, dy_span: Span, dx_span: Span, tokens: int, weight: Array, kept: Pair, accumulate: bool
) -> None:
    (dy, dy_pitch), (dx, dx_pitch), features = dy_span, dx_span, x.shape[1]
    number = weight.dtype.type
    for r in range(len(x)):
        b, start = r // tokens, r % tokens * features
        source, target = dy[b * dy_pitch + start :], dx[b * dx_pitch + start :][:features]
        mean, inverse = kept[0][r], kept[1][r]
        offset = number(_weighted(source, weight) / features)
        products = _products(x[r], mean, source, weight)
        lean = number(products * inverse * inverse / features)
        for i in range(features):
            through = source[i] * weight[i] - offset - (x[r, i] - mean) * lean
            target[i] = (target[i] if accumulate else 0) + through * inverse


@summing
def _weighted(dy: Array, weight: Array) -> float:
    total = 0.0
    for i in range(weight.size):
        total += dy[i] * np.float64(weight[i])
    return total


@summing
def _products(x: Array, mean: float, dy: Array, weight: Array) -> float:
    total = 0.0
    for i in range(weight.size):
        total += (x[i] - mean) * np.float64(dy[i]) * weight[i]
    return total
