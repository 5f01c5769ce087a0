"""Batch normalisation: statistics per channel over batch and map, then value by value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from memlab.kernels.cuda.block_sums import sum_products, sum_squares, sum_values
from memlab.kernels.cuda.compile import Values, compiled, inlined, launch, values
from memlab.kernels.cuda.elementwise_loops import apply_formula
from memlab.kernels.cuda.flat_arrays import by_channel, line, pitch
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.normalization import normalized, normalized_backward
from memlab.kernels.formulas.pointwise import identity
from memlab.kernels.registry import KernelCall, kernel
from memlab.layers import BatchNorm
from memlab.step.op import OF_PART

_U = np.uint64


@kernel("batch_norm", device="cuda")
def batch_norm(call: KernelCall) -> None:
    """Compute ``y = (x - mean) / sqrt(variance + epsilon) * weight + bias``, per channel.

    Training computes mean and variance of the batch, keeps them for backward, and moves the running
    mean and variance. A recomputation reads the kept ones. Inference reads the running ones.

    Shapes: x and y (B, C, H, W); weight, bias, mean, inverse_deviation, running_mean and
    running_var (C,).
    """
    layer = call.layer
    assert isinstance(layer, BatchNorm)
    if call.training and "running_mean" in call.arrays:
        _take_statistics(call, layer)
    names = ("mean", "inverse_deviation") if call.training else ("running_mean", "running_var")
    mean, spread = (call[name] for name in names)
    x, y, learned = call["x"], call["y"], (call["weight"], call["bias"])
    lines = (line(array) for array in (mean, spread, *learned))
    normalize, (shape, extents) = _by_batch if call.training else _by_running, by_channel(x)
    spans = line(x), pitch(x), line(y), pitch(y)
    launch(normalize, shape, *spans, *lines, *extents, layer.epsilon)


def _take_statistics(call: KernelCall, layer: BatchNorm) -> None:
    """Compute mean and inverse deviation of the batch, and move the running statistics.

    The inverse deviation takes the place of the variance.
    """
    x, mean, inverse = call["x"], call["mean"], call["inverse_deviation"]
    count = x.size // mean.size
    sum_values(x, mean, 1 / count)
    sum_squares(x, mean, inverse, 1 / count)
    lines = (line(call[name]) for name in ("running_mean", "running_var"))
    launch(
        _finish_statistics, values(mean.size), line(mean), line(inverse), *lines, mean.size,
        layer.epsilon, layer.momentum, count / max(1, count - 1),
    )  # fmt: skip


@kernel("batch_norm.backward", device="cuda")
def batch_norm_backward(call: KernelCall) -> None:
    """Compute the gradients of batch normalisation.

    With ``n`` the normalised x, ``db`` is the sum of dy, ``dw`` is the sum of dy n, and ``dx =
    weight / deviation (dy - mean of dy - n mean of dy n)``. If gradients of earlier micro-batches
    are there already, or the layer is frozen, the sums of this one are workspace. Shapes are those
    of ``batch_norm``; each gradient has the shape of its tensor.
    """
    x, dy, mean, inverse = (call[name] for name in ("x", "dy", "mean", "inverse_deviation"))
    dweight, dbias = own = [
        call[n + OF_PART if n + OF_PART in call.arrays else n] for n in ("dweight", "dbias")
    ]
    sum_values(dy, dbias)
    sum_products(x, dy, mean, inverse, dweight)
    if "dx" in call.arrays:
        shape, extents = by_channel(x)
        spans = (part for array in (x, dy, call["dx"]) for part in (line(array), pitch(array)))
        lines = (line(array) for array in (mean, inverse, call["weight"], dweight, dbias))
        launch(_backward, shape, *spans, *lines, *extents, call.accumulate)
    if call.accumulate_weights:
        for sums_of_part, name in zip(own, ("dweight", "dbias"), strict=True):
            apply_formula(identity, sums_of_part, call[name], add=True)


@compiled
def _finish_statistics(
    mean: Values, spread: Values, running_mean: Values, running_var: Values, count: int,
    epsilon: float, momentum: float, unbiased: float,
) -> None:  # fmt: skip
    """Replace the variance by the inverse deviation, and move the running statistics."""
    c = cuda.grid(1)
    while c < count:
        variance = spread[c]
        spread[c] = 1 / math.sqrt(variance + epsilon)
        running_mean[c] += momentum * (mean[c] - running_mean[c])
        running_var[c] += momentum * (variance * unbiased - running_var[c])
        c += cuda.gridsize(1)


def normalizing(inverse: Callable[[Any, Any], Any]) -> Any:
    """Kernel for ``y = (x - mean) inverse(spread, epsilon) weight + bias``, per channel."""
    of = inlined(inverse)

    def loop(
        x: Values, x_pitch: int, y: Values, y_pitch: int, mean: Values, spread: Values,
        weight: Values, bias: Values, batch: int, channels: int, plane: int, epsilon: float,
    ) -> None:  # fmt: skip
        number = x.dtype.type
        left, top, b = cuda.grid(3)
        across, down, along = cuda.gridsize(3)
        while b < batch:
            c = top
            while c < channels:
                centre, shift = mean[c], bias[c]
                scale = number(of(spread[c], epsilon) * weight[c])
                i = left
                while i < plane:
                    at = c * plane + i
                    value = normalized(x[_U(b * x_pitch + at)], centre, scale, shift)
                    y[_U(b * y_pitch + at)] = value
                    i += across
                c += down
            b += along

    return compiled(loop, inverse)


@normalizing
def _by_batch(inverse_deviation: Any, epsilon: Any) -> Any:
    """Inverse deviation of the batch, as it was kept."""
    return inverse_deviation


@normalizing
def _by_running(variance: Any, epsilon: Any) -> Any:
    """Inverse deviation from the running variance."""
    return 1 / math.sqrt(variance + epsilon)


@compiled
def _backward(
    x: Values, x_pitch: int, dy: Values, dy_pitch: int, dx: Values, dx_pitch: int, mean: Values,
    inverse: Values, weight: Values, dweight: Values, dbias: Values, batch: int, channels: int,
    plane: int, add: bool,
) -> None:  # fmt: skip
    """Write, or add, the gradient of the input of batch normalisation."""
    number = x.dtype.type
    left, top, b = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    count = number(batch * plane)
    while b < batch:
        c = top
        while c < channels:
            centre, scale, offset = mean[c], weight[c] * inverse[c], dbias[c] / count
            lean = dweight[c] * inverse[c] / count
            i = left
            while i < plane:
                at = c * plane + i
                source, gradient = x[_U(b * x_pitch + at)], dy[_U(b * dy_pitch + at)]
                value = normalized_backward(gradient, source, centre, lean, offset, scale)
                write_or_add(dx, _U(b * dx_pitch + at), value, add)
                i += across
            c += down
        b += along
