"""Linear layers: two matrix products backward, and the bias that convolutions share."""

from __future__ import annotations

from memlab.kernels.arrays import span
from memlab.kernels.blas import gemm
from memlab.kernels.compile import compiled, summing
from memlab.kernels.registry import Array, Call, kernel


@kernel("linear")
def linear(call: Call) -> None:
    """``y = x W^T + b``."""
    gemm(call["x"], call["weight"], call["y"], transpose_b=True)
    if "bias" in call.arrays:
        add_bias(call["y"], call["bias"])


@kernel("linear.backward")
def linear_backward(call: Call) -> None:
    """``dW = dy^T x``, ``db`` the sum of ``dy``, ``dx = dy W``."""
    dy = call["dy"]
    gemm(dy, call["x"], call["dweight"], transpose_a=True)
    if "dbias" in call.arrays:
        sum_bias(dy, call["dbias"])
    if "dx" in call.arrays:
        gemm(dy, call["weight"], call["dx"], call.accumulate)


def add_bias(y: Array, bias: Array) -> None:
    """Add one number to each output, or to each channel."""
    values, pitch = span(y)
    _add_bias(values, pitch, len(y), y[0].size // bias.size, bias)


def sum_bias(dy: Array, dbias: Array) -> None:
    """The sum of ``dy`` over batch and map, per output or channel."""
    values, pitch = span(dy)
    _sum_bias(values, pitch, len(dy), dy[0].size // dbias.size, dbias)


@compiled
def _add_bias(y: Array, pitch: int, batch: int, plane: int, bias: Array) -> None:
    for b in range(batch):
        for k in range(bias.size):
            values = y[b * pitch + k * plane :][:plane]
            for i in range(plane):
                values[i] += bias[k]


@compiled
def _sum_bias(dy: Array, pitch: int, batch: int, plane: int, dbias: Array) -> None:
    for k in range(dbias.size):
        total = 0.0
        for b in range(batch):
            total += _sum(dy[b * pitch + k * plane :][:plane])
        dbias[k] = total


@summing
def _sum(values: Array) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total
