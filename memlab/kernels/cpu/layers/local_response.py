"""Local response normalisation: a value is divided by a power of its neighbours' squares.

With ``s = k + alpha / size * (sum of x^2 over the channels around c)``::

    y[c]  = x[c] s[c]^-beta
    dx[i] = dy[i] s[i]^-beta - 2 alpha beta / size x[i] (sum of t[c] over the channels that see i)
    t[c]  = dy[c] x[c] s[c]^(-beta - 1)
"""

from __future__ import annotations

from memlab.kernels.cpu.arrays import matrix
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.registry import Array, Call, kernel
from memlab.layers import LocalResponseNorm

Settings = tuple[int, float, float, float]
"""Size, alpha, beta, k."""


@kernel("local_response_norm")
def local_response_norm(call: Call) -> None:
    """``y = x s^-beta``; y holds ``s`` first."""
    for x, y in zip(call["x"], call["y"], strict=True):
        _forward(matrix(x), matrix(y), _settings(call))


@kernel("local_response_norm.backward")
def local_response_norm_backward(call: Call) -> None:
    """``dx`` of one image at a time; the workspace holds ``s``, then ``t``."""
    x, dy, dx, workspace = call["x"], call["dy"], call["dx"], call["workspace"]
    buffer = workspace if workspace.ndim == 3 else workspace[0]
    for b in range(len(x)):
        image = matrix(x[b]), matrix(dy[b]), matrix(dx[b])
        _backward(*image, matrix(buffer), _settings(call), call.accumulate)


def _settings(call: Call) -> Settings:
    layer = call.layer
    assert isinstance(layer, LocalResponseNorm)
    return layer.size, layer.alpha, layer.beta, layer.k


@compiled
def _forward(x: Array, y: Array, settings: Settings) -> None:
    beta = settings[2]
    for c in range(len(x)):
        _denominator(x, c, y[c], settings)
        source, target = x[c], y[c]
        for i in range(target.size):
            target[i] = source[i] * target[i] ** -beta


@compiled
def _backward(
    x: Array, dy: Array, dx: Array, t: Array, settings: Settings, accumulate: bool
) -> None:
    size, alpha, beta, _ = settings
    for c in range(len(x)):
        _denominator(x, c, t[c], settings)
        _spread(x[c], dy[c], dx[c], t[c], beta, accumulate)
    for i in range(len(x)):
        for c in range(max(0, i - (size - 1) // 2), min(len(x), i + size // 2 + 1)):
            _subtract(t[c], x[i], 2 * alpha * beta / size, dx[i])


@compiled
def _denominator(x: Array, c: int, s: Array, settings: Settings) -> None:
    """``s`` of one channel, from size // 2 channels before it to (size - 1) // 2 after it."""
    size, alpha, _, k = settings
    s[:] = k
    for j in range(max(0, c - size // 2), min(len(x), c + (size - 1) // 2 + 1)):
        row = x[j]
        for i in range(s.size):
            s[i] += alpha / size * row[i] * row[i]


@compiled
def _spread(x: Array, dy: Array, dx: Array, s: Array, beta: float, accumulate: bool) -> None:
    """The first term of ``dx``; ``t`` takes the place of ``s``."""
    for i in range(x.size):
        through = dy[i] * s[i] ** -beta
        s[i] = through * x[i] / s[i]
        dx[i] = (dx[i] if accumulate else 0) + through


@compiled
def _subtract(t: Array, x: Array, factor: float, dx: Array) -> None:
    for i in range(t.size):
        dx[i] -= factor * x[i] * t[i]
