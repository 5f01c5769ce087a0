"""Batch normalisation: statistics per channel over batch and map, their sums in fp64."""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.arrays import Span, span, start
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.row_sums import sum_products, sum_squares, sum_values
from memlab.kernels.registry import Array, Call, kernel
from memlab.layers import BatchNorm

Pair = tuple[Array, Array]


@kernel("batch_norm")
def batch_norm(call: Call) -> None:
    """``y = (x - mean) / sqrt(variance + epsilon) * weight + bias``, per channel.

    Training takes mean and variance of the batch, keeps them for backward and moves the running
    ones; where it runs again, it takes the kept ones. Inference takes the running ones.
    """
    layer, x, y = call.layer, span(call["x"]), span(call["y"])
    assert isinstance(layer, BatchNorm)
    shape, learned = _shape(call["x"]), (call["weight"], call["bias"])
    if not call.training:
        running = call["running_mean"], call["running_var"]
        _normalize_by_running(x, y, shape, learned, running, layer.epsilon)
        return
    kept = call["mean"], call["inverse_deviation"]
    if "running_mean" in call.arrays:
        running = call["running_mean"], call["running_var"]
        _normalize(x, y, shape, learned, kept, running, layer.epsilon, layer.momentum)
    else:
        _normalize_by_kept(x, y, shape, learned, kept)


@kernel("batch_norm.backward")
def batch_norm_backward(call: Call) -> None:
    """With ``n`` the normalised x: ``db`` sums dy, ``dw`` sums dy n, and
    ``dx = weight / deviation (dy - mean of dy - n mean of dy n)``."""
    dx = span(call["dx"]) if "dx" in call.arrays else None
    kept, gradients = (call["mean"], call["inverse_deviation"]), (call["dweight"], call["dbias"])
    shape, x, dy = _shape(call["x"]), span(call["x"]), span(call["dy"])
    over = dx is not None and start(call["dx"]) == start(call["dy"])
    adds = call.accumulate, call.accumulate_weights
    _backward(x, dy, dx, shape, call["weight"], kept, gradients, adds, over)


def _shape(x: Array) -> tuple[int, int, int]:
    """Batch, channels, values of a map."""
    return len(x), x.shape[1], x[0, 0].size


@compiled
def _normalize(
    x_span: Span,
    y_span: Span,
    shape: tuple[int, int, int],
    learned: Pair,
    kept: Pair,
    running: Pair,
    epsilon: float,
    momentum: float,
) -> None:
    (batch, channels, plane), (x, pitch), (mean, inverse) = shape, x_span, kept
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
def _normalize_by_kept(
    x: Span, y: Span, shape: tuple[int, int, int], learned: Pair, kept: Pair
) -> None:
    batch, channels, plane = shape
    for c in range(channels):
        scale = kept[1][c] * learned[0][c]
        _scale_channel(x, y, batch, plane, c, kept[0][c], scale, learned[1][c])


@compiled
def _normalize_by_running(
    x: Span, y: Span, shape: tuple[int, int, int], learned: Pair, running: Pair, epsilon: float
) -> None:
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
    (x, x_pitch), (y, y_pitch) = x_span, y_span
    for b in range(batch):
        source, target = x[b * x_pitch + c * plane :], y[b * y_pitch + c * plane :]
        for i in range(plane):
            target[i] = (source[i] - centre) * scale + shift


@compiled
def _backward(
    x_span: Span,
    dy_span: Span,
    dx_span: Span | None,
    shape: tuple[int, int, int],
    weight: Array,
    kept: Pair,
    gradients: Pair,
    adds: tuple[bool, bool],
    over: bool,
) -> None:
    (batch, channels, plane), (x, x_pitch), (dy, dy_pitch) = shape, x_span, dy_span
    for c in range(channels):
        mean, inverse = kept[0][c], kept[1][c]
        straight = products = 0.0
        for b in range(batch):
            values = dy[b * dy_pitch + c * plane :][:plane]
            straight += sum_values(values)
            products += sum_products(x[b * x_pitch + c * plane :], mean, values)
        gradients[0][c] = (gradients[0][c] if adds[1] else 0) + products * inverse
        gradients[1][c] = (gradients[1][c] if adds[1] else 0) + straight
        if dx_span is not None:
            dx, dx_pitch = dx_span
            count = batch * plane
            number = weight.dtype.type
            lean = number(products * inverse * inverse / count)
            offset, scale = number(straight / count), weight[c] * inverse
            for b in range(batch):
                source, values = x[b * x_pitch + c * plane :], dy[b * dy_pitch + c * plane :]
                target = dx[b * dx_pitch + c * plane :][:plane]
                if over:
                    _replace_gradient(source, target, mean, lean, offset, scale)
                else:
                    _input_gradient(source, values, target, mean, lean, offset, scale, adds[0])


@compiled
def _input_gradient(
    x: Array,
    dy: Array,
    dx: Array,
    mean: float,
    lean: float,
    offset: float,
    scale: float,
    accumulate: bool,
) -> None:
    if accumulate:
        for i in range(dx.size):
            dx[i] += (dy[i] - offset - (x[i] - mean) * lean) * scale
    else:
        for i in range(dx.size):
            dx[i] = (dy[i] - offset - (x[i] - mean) * lean) * scale


@compiled
def _replace_gradient(
    x: Array, dx: Array, mean: float, lean: float, offset: float, scale: float
) -> None:
    """Where dy and dx are one array: told so, the compiler takes whole vectors."""
    for i in range(dx.size):
        dx[i] = (dx[i] - offset - (x[i] - mean) * lean) * scale
