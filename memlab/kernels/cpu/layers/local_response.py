"""Local response normalisation, channel by channel, by ``formulas.normalization``."""

from __future__ import annotations

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.flat_arrays import matrix
from memlab.kernels.cpu.threads import thread_workspaces
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.normalization import divided_by_power, square_term
from memlab.kernels.formulas.windows import channels_around, channels_seeing
from memlab.kernels.registry import Array, KernelCall, kernel
from memlab.layers import LocalResponseNorm

Settings = tuple[int, float, float, float]
"""Size, alpha, beta, k."""


@kernel("local_response_norm")
def local_response_norm(call: KernelCall) -> None:
    """Compute ``y = x s^-beta``; y holds ``s`` at first.

    Shapes: x and y (B, C, H, W).
    """
    for x, y in zip(call["x"], call["y"], strict=True):
        _forward(matrix(x), matrix(y), _settings(call))


@kernel("local_response_norm.backward")
def local_response_norm_backward(call: KernelCall) -> None:
    """Compute ``dx`` one image at a time; the workspace holds ``s``, then ``t``.

    Shapes: x, dy and dx (B, C, H, W), workspace (C, H, W).
    """
    buffer = matrix(thread_workspaces(call["workspace"], 3)[0])
    for x, dy, dx in zip(call["x"], call["dy"], call["dx"], strict=True):
        _backward(matrix(x), matrix(dy), matrix(dx), buffer, _settings(call), call.accumulate)


def _settings(call: KernelCall) -> Settings:
    """Size, alpha, beta and k of the layer."""
    layer = call.layer
    assert isinstance(layer, LocalResponseNorm)
    return layer.size, layer.alpha, layer.beta, layer.k


@compiled
def _forward(x: Array, y: Array, settings: Settings) -> None:
    """Normalise one image, (C, values of a map)."""
    beta = settings[2]
    for c in range(len(x)):
        _denominator(x, c, y[c], settings)
        source, target = x[c], y[c]
        for i in range(target.size):
            target[i] = divided_by_power(source[i], target[i], beta)


@compiled
def _backward(
    x: Array, dy: Array, dx: Array, t: Array, settings: Settings, accumulate: bool
) -> None:
    """Write, or add, the gradient of one image, (C, values of a map)."""
    size, alpha, beta, _ = settings
    for c in range(len(x)):
        _denominator(x, c, t[c], settings)
        _spread(x[c], dy[c], dx[c], t[c], beta, accumulate)
    for i in range(len(x)):
        first, stop = channels_seeing(i, len(x), size)
        for c in range(first, stop):
            _subtract(t[c], x[i], 2 * alpha * beta / size, dx[i])


@compiled
def _denominator(x: Array, c: int, s: Array, settings: Settings) -> None:
    """Write the denominator ``s`` of channel ``c``: k plus the scaled squares of the channels
    around it."""
    size, alpha, _, k = settings
    s[:] = k
    first, stop = channels_around(c, len(x), size)
    for j in range(first, stop):
        row = x[j]
        for i in range(s.size):
            s[i] += square_term(row[i], alpha / size)


@compiled
def _spread(x: Array, dy: Array, dx: Array, s: Array, beta: float, accumulate: bool) -> None:
    """Write, or add, the first term of ``dx`` of one channel, and replace ``s`` by ``t``."""
    for i in range(x.size):
        through = divided_by_power(dy[i], s[i], beta)
        s[i] = through * x[i] / s[i]
        write_or_add(dx, i, through, accumulate)


@compiled
def _subtract(t: Array, x: Array, factor: float, dx: Array) -> None:
    """Subtract ``factor x t`` from ``dx``."""
    for i in range(t.size):
        dx[i] -= factor * x[i] * t[i]
