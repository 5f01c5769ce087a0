"""Batch and layer normalisation, with sums in fp64.

Batch normalisation takes mean and variance of a channel over batch and map; layer normalisation
takes those of a token over its features.
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.compile import callable_in_loops, compiled, summing
from memlab.kernels.cpu.elementwise_loops import loop_of_two_values
from memlab.kernels.cpu.flat_arrays import Span, span
from memlab.kernels.cpu.row_sums import inner, sum_products, sum_squares, sum_values
from memlab.kernels.formulas.accumulation import initial_sum, write_or_add
from memlab.kernels.formulas.normalization import normalized, normalized_backward
from memlab.kernels.registry import Array, KernelCall, kernel
from memlab.layers import BatchNorm, LayerNorm

Pair = tuple[Array, Array]

_input_gradient = loop_of_two_values(callable_in_loops(normalized_backward))


@kernel("batch_norm")
def batch_norm(call: KernelCall) -> None:
    """Compute ``y = (x - mean) / sqrt(variance + epsilon) * weight + bias``, per channel.

    Training computes mean and variance of the batch, keeps them for backward, and moves the running
    mean and variance. A recomputation reads the kept ones. Inference reads the running ones.

    Shapes: x and y (B, C, H, W); weight, bias, mean, inverse_deviation, running_mean and
    running_var (C,).
    """
    layer, x, y = call.layer, span(call["x"]), span(call["y"])
    assert isinstance(layer, BatchNorm)
    shape, learned = _shape(call["x"]), (call["weight"], call["bias"])
    if not call.training:
        running = call["running_mean"], call["running_var"]
        _normalize_by_running(x, y, shape, learned, running, layer.epsilon)
        return
    statistics = call["mean"], call["inverse_deviation"]
    if "running_mean" in call.arrays:
        running = call["running_mean"], call["running_var"]
        _normalize(x, y, shape, learned, statistics, running, layer.epsilon, layer.momentum)
    else:
        _normalize_by_statistics(x, y, shape, learned, statistics)


@kernel("batch_norm.backward")
def batch_norm_backward(call: KernelCall) -> None:
    """Compute the gradients of batch normalisation.

    With ``n`` the normalised x, ``db`` is the sum of dy, ``dw`` is the sum of dy n, and ``dx =
    weight / deviation (dy - mean of dy - n mean of dy n)``. Shapes are those of ``batch_norm``;
    each gradient has the shape of its tensor.
    """
    dx = span(call["dx"]) if "dx" in call.arrays else None
    statistics = call["mean"], call["inverse_deviation"]
    gradients = (call["dweight"], call["dbias"]) if call.learns else None
    shape, x, dy = _shape(call["x"]), span(call["x"]), span(call["dy"])
    adds = call.accumulate, call.accumulate_weights
    _backward(x, dy, dx, shape, call["weight"], statistics, gradients, adds)


@kernel("layer_norm")
def layer_norm(call: KernelCall) -> None:
    """Compute ``y = (x - mean) / sqrt(variance + epsilon) * weight + bias``, per token.

    Mean and inverse deviation are kept where a backward will read them. Shapes: x and y (B, T, F),
    weight and bias (F,), mean and inverse_deviation (B, T).
    """
    layer, weight = call.layer, call["weight"]
    assert isinstance(layer, LayerNorm)
    x, y = (call[name].reshape(-1, weight.size) for name in "xy")
    statistics = _token_statistics(call) if "mean" in call.arrays else None
    _normalize_tokens(x, y, weight, call["bias"], statistics, layer.epsilon)


@kernel("layer_norm.backward")
def layer_norm_backward(call: KernelCall) -> None:
    """Compute the gradients of layer normalisation.

    With ``n`` the normalised x and ``g = dy weight``, ``db`` is the sum of dy, ``dw`` is the sum of
    dy n, and ``dx = (g - mean of g - n mean of g n) / deviation``. Shapes are those of
    ``layer_norm``; each gradient has the shape of its tensor.
    """
    statistics, dy = _token_statistics(call), span(call["dy"])
    x = call["x"].reshape(-1, call["x"].shape[-1])
    tokens = len(x) // len(call["x"])
    if call.learns:
        gradients = call["dweight"], call["dbias"]
        _sum_tokens(x, dy, tokens, statistics, gradients, call.accumulate_weights)
    if "dx" in call.arrays:
        dx = span(call["dx"])
        _token_gradients(x, dy, dx, tokens, call["weight"], statistics, call.accumulate)


def _token_statistics(call: KernelCall) -> Pair:
    """Mean and inverse deviation of all tokens, each as one line."""
    return call["mean"].reshape(-1), call["inverse_deviation"].reshape(-1)


def _shape(x: Array) -> tuple[int, int, int]:
    """Samples, channels, and values of a map."""
    return len(x), x.shape[1], x[0, 0].size


@compiled
def _normalize(
    x_span: Span,
    y_span: Span,
    shape: tuple[int, int, int],
    learned: Pair,
    statistics: Pair,
    running: Pair,
    epsilon: float,
    momentum: float,
) -> None:
    """Compute the statistics of every channel, keep them, move the running ones, and normalise."""
    (batch, channels, plane), (x, pitch), (mean, inverse) = shape, x_span, statistics
    for c in range(channels):
        total = 0.0
        for b in range(batch):
            total += sum_values(x[b * pitch + c * plane :][:plane])
        centre = total / (batch * plane)
        squares = 0.0
        for b in range(batch):
            squares += sum_squares(x[b * pitch + c * plane :][:plane], centre)
        mean[c] = centre
        inverse[c] = 1 / np.sqrt(squares / (batch * plane) + epsilon)
        unbiased = squares / max(1, batch * plane - 1)
        running[0][c] += momentum * (centre - running[0][c])
        running[1][c] += momentum * (unbiased - running[1][c])
        scale = inverse[c] * learned[0][c]
        _scale_channel(x_span, y_span, batch, plane, c, mean[c], scale, learned[1][c])


@compiled
def _normalize_by_statistics(
    x: Span, y: Span, shape: tuple[int, int, int], learned: Pair, statistics: Pair
) -> None:
    """Normalise every channel with the statistics that an earlier forward kept."""
    batch, channels, plane = shape
    for c in range(channels):
        scale = statistics[1][c] * learned[0][c]
        _scale_channel(x, y, batch, plane, c, statistics[0][c], scale, learned[1][c])


@compiled
def _normalize_by_running(
    x: Span, y: Span, shape: tuple[int, int, int], learned: Pair, running: Pair, epsilon: float
) -> None:
    """Normalise every channel with the running statistics."""
    batch, channels, plane = shape
    for c in range(channels):
        scale = learned[0][c] / np.sqrt(running[1][c] + epsilon)
        centre, shift = running[0][c], learned[1][c]
        _scale_channel(x, y, batch, plane, c, centre, learned[0].dtype.type(scale), shift)


@compiled
def _scale_channel(
    x_span: Span,
    y_span: Span,
    batch: int,
    plane: int,
    c: int,
    centre: float,
    scale: float,
    shift: float,
) -> None:
    """Write ``(x - centre) scale + shift`` for channel ``c`` of all samples."""
    (x, x_pitch), (y, y_pitch) = x_span, y_span
    for b in range(batch):
        source, target = x[b * x_pitch + c * plane :], y[b * y_pitch + c * plane :]
        for i in range(plane):
            target[i] = normalized(source[i], centre, scale, shift)


@compiled
def _backward(
    x_span: Span,
    dy_span: Span,
    dx_span: Span | None,
    shape: tuple[int, int, int],
    weight: Array,
    statistics: Pair,
    gradients: Pair | None,
    adds: tuple[bool, bool],
) -> None:
    """Write, or add, the gradients of weight and bias, and of the input, where they are given."""
    (batch, channels, plane), (x, x_pitch), (dy, dy_pitch) = shape, x_span, dy_span
    for c in range(channels):
        mean, inverse = statistics[0][c], statistics[1][c]
        straight = products = 0.0
        for b in range(batch):
            values = dy[b * dy_pitch + c * plane :][:plane]
            straight += sum_values(values)
            products += sum_products(x[b * x_pitch + c * plane :], mean, values)
        if gradients is not None:
            write_or_add(gradients[0], c, products * inverse, adds[1])
            write_or_add(gradients[1], c, straight, adds[1])
        if dx_span is not None:
            dx, dx_pitch = dx_span
            count = batch * plane
            number = weight.dtype.type
            lean = number(products * inverse * inverse / count)
            offset, scale = number(straight / count), weight[c] * inverse
            for b in range(batch):
                source, values = x[b * x_pitch + c * plane :], dy[b * dy_pitch + c * plane :]
                target = dx[b * dx_pitch + c * plane :][:plane]
                _input_gradient(values, source, target, adds[0], (mean, lean, offset, scale))


@compiled
def _normalize_tokens(
    x: Array, y: Array, weight: Array, bias: Array, statistics: Pair | None, epsilon: float
) -> None:
    """Normalise every token; keep mean and inverse deviation if there is room for them."""
    number = y.dtype.type
    for r in range(len(x)):
        row, out = x[r], y[r]
        centre = sum_values(row) / row.size
        inverse = 1 / np.sqrt(sum_squares(row, centre) / row.size + epsilon)
        if statistics is not None:
            statistics[0][r], statistics[1][r] = centre, inverse
        mean, scale = number(centre), number(inverse)
        for i in range(row.size):
            out[i] = (row[i] - mean) * scale * weight[i] + bias[i]


@compiled
def _sum_tokens(
    x: Array, dy_span: Span, tokens: int, statistics: Pair, gradients: Pair, accumulate: bool
) -> None:
    """Write, or add, the gradients of weight and bias: sums over all tokens."""
    (dy, pitch), features = dy_span, x.shape[1]
    for i in range(features):
        straight = initial_sum(gradients[1], i, accumulate)
        products = initial_sum(gradients[0], i, accumulate)
        for r in range(len(x)):
            gradient = np.float64(dy[r // tokens * pitch + r % tokens * features + i])
            straight += gradient
            products += gradient * (x[r, i] - statistics[0][r]) * statistics[1][r]
        gradients[0][i] = products
        gradients[1][i] = straight


@compiled
def _token_gradients(
    x: Array,
    dy_span: Span,
    dx_span: Span,
    tokens: int,
    weight: Array,
    statistics: Pair,
    accumulate: bool,
) -> None:
    """Write, or add, the gradient of every token's input."""
    (dy, dy_pitch), (dx, dx_pitch), features = dy_span, dx_span, x.shape[1]
    number = weight.dtype.type
    for r in range(len(x)):
        b, start = r // tokens, r % tokens * features
        source, target = dy[b * dy_pitch + start :], dx[b * dx_pitch + start :][:features]
        mean, inverse = statistics[0][r], statistics[1][r]
        offset = number(inner(weight, source) / features)
        products = _products(x[r], mean, source, weight)
        lean = number(products * inverse * inverse / features)
        for i in range(features):
            through = source[i] * weight[i] - offset - (x[r, i] - mean) * lean
            target[i] = (target[i] if accumulate else 0) + through * inverse


@summing
def _products(x: Array, mean: float, dy: Array, weight: Array) -> float:
    """Sum of ``(x - mean) dy weight`` over the features of a token."""
    total = 0.0
    for i in range(weight.size):
        total += (x[i] - mean) * np.float64(dy[i]) * weight[i]
    return total
