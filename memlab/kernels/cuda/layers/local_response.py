"""Local response normalisation by the formulas of ``formulas.normalization``.

A thread computes one value. Backward computes one image at a time, because its workspace holds one
``t``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from memlab.kernels.cuda.compile import Values, compiled, inlined, launch
from memlab.kernels.cuda.flat_arrays import by_channel, line, pitch
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.normalization import divided_by_power, square_term
from memlab.kernels.formulas.windows import channels_around, channels_seeing
from memlab.kernels.registry import KernelCall, kernel
from memlab.layers import LocalResponseNorm

_U = np.uint64


@kernel("local_response_norm", device="cuda")
def local_response_norm(call: KernelCall) -> None:
    """Compute ``y = x s^-beta``.

    Shapes: x and y (B, C, H, W).
    """
    x, y = call["x"], call["y"]
    shape, extents = by_channel(x)
    launch(_forward, shape, line(x), pitch(x), line(y), pitch(y), *extents, *_settings(call))


@kernel("local_response_norm.backward", device="cuda")
def local_response_norm_backward(call: KernelCall) -> None:
    """Compute ``dx`` one image at a time, in two launches, because all of ``t`` must be there
    before it is summed.

    Shapes: x, dy and dx (B, C, H, W), workspace (C, H, W).
    """
    layer, settings, t = _layer(call), _settings(call), line(call["workspace"])
    factor = 2 * layer.alpha * layer.beta / layer.size
    for b in range(len(call["x"])):
        x, dy, dx = (call[name][b : b + 1] for name in ("x", "dy", "dx"))
        lines, (shape, (_, *extents)) = (line(x), line(dy), line(dx), t), by_channel(x)
        launch(_spread, shape, *lines, *extents, *settings, call.accumulate)
        launch(_subtract, shape, *lines, *extents, layer.size, factor)


def _layer(call: KernelCall) -> LocalResponseNorm:
    """Layer of a call that computes local response normalisation."""
    assert isinstance(call.layer, LocalResponseNorm)
    return call.layer


def _settings(call: KernelCall) -> tuple[int, float, float, float]:
    """Size of the window, factor of a square in ``s``, beta and k."""
    layer = _layer(call)
    return layer.size, layer.alpha / layer.size, layer.beta, layer.k


@inlined
def _denominator(
    x: Any, start: int, c: int, channels: int, plane: int, size: int, share: Any, k: Any
) -> Any:
    """Denominator ``s`` of one value: k plus the scaled squares of the channels around it."""
    total, (first, stop) = k, channels_around(c, channels, size)
    for j in range(first, stop):
        total += square_term(x[_U(start + j * plane)], share)
    return total


@compiled
def _forward(
    x: Values, x_pitch: int, y: Values, y_pitch: int, batch: int, channels: int, plane: int,
    size: int, share: float, beta: float, k: float,
) -> None:  # fmt: skip
    """Normalise every value."""
    number = x.dtype.type
    left, c, b = cuda.grid(3)
    across, down, along = cuda.gridsize(3)
    top = c
    while b < batch:
        c = top
        while c < channels:
            i = left
            while i < plane:
                start = b * x_pitch + i
                s = _denominator(x, start, c, channels, plane, size, number(share), number(k))
                value = divided_by_power(x[_U(start + c * plane)], s, number(beta))
                y[_U(b * y_pitch + c * plane + i)] = value
                i += across
            c += down
        b += along


@compiled
def _spread(
    x: Values, dy: Values, dx: Values, t: Values, channels: int, plane: int, size: int,
    share: float, beta: float, k: float, add: bool,
) -> None:  # fmt: skip
    """Write, or add, the first term of ``dx``, and write ``t``."""
    number = x.dtype.type
    left, c, _ = cuda.grid(3)
    across, down, _ = cuda.gridsize(3)
    while c < channels:
        i = left
        while i < plane:
            at = _U(c * plane + i)
            s = _denominator(x, i, c, channels, plane, size, number(share), number(k))
            through = divided_by_power(dy[at], s, number(beta))
            t[at] = through * x[at] / s
            write_or_add(dx, at, through, add)
            i += across
        c += down


@compiled
def _subtract(
    x: Values, dy: Values, dx: Values, t: Values, channels: int, plane: int, size: int,
    factor: float,
) -> None:  # fmt: skip
    """Subtract from ``dx`` the sum of ``t`` over the channels whose window contains the value."""
    number = x.dtype.type
    left, c, _ = cuda.grid(3)
    across, down, _ = cuda.gridsize(3)
    while c < channels:
        i = left
        while i < plane:
            total, (first, stop) = number(0), channels_seeing(c, channels, size)
            for j in range(first, stop):
                total += t[_U(j * plane + i)]
            at = _U(c * plane + i)
            dx[at] -= number(factor) * x[at] * total
            i += across
        c += down
