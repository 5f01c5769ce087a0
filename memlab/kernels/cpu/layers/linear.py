"""Linear layers, and the bias that they share with convolutions."""

from __future__ import annotations

from collections.abc import Iterator

from memlab.kernels.cpu.blas import gemm
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.flat_arrays import span
from memlab.kernels.cpu.row_sums import sum_values
from memlab.kernels.formulas.accumulation import initial_sum
from memlab.kernels.registry import Array, KernelCall, kernel


@kernel("linear")
def linear(call: KernelCall) -> None:
    """Compute ``y = x W^T + b``.

    Shapes: x (B, F) or (B, T, F), weight (G, F), bias (G,), y (B, G) or (B, T, G).
    """
    for x, y in matrices(call["x"], call["y"]):
        gemm(x, call["weight"], y, transpose_b=True)
        if "bias" in call.arrays:
            add_bias(y, call["bias"])


@kernel("linear.backward")
def linear_backward(call: KernelCall) -> None:
    """Compute ``dW = dy^T x``, ``db`` as the sum of ``dy``, and ``dx = dy W``; of these, those that
    the call has room for.

    Shapes are those of ``linear``; each gradient has the shape of its tensor.
    """
    if call.learns:
        _weight_gradients(call)
    if "dx" in call.arrays:
        for dy, dx in matrices(call["dy"], call["dx"]):
            gemm(dy, call["weight"], dx, call.accumulate)


def _weight_gradients(call: KernelCall) -> None:
    """Compute ``dW`` and the gradient of the bias."""
    adds = call.accumulate_weights
    for dy, x in matrices(call["dy"], call["x"]):
        gemm(dy, x, call["dweight"], adds, transpose_a=True)
        if "dbias" in call.arrays:
            sum_bias(dy, call["dbias"], adds)
        adds = True


def matrices(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Yield arrays of one batch as matrices with a row for each sample, or for each token.

    There is one tuple of whole matrices, or one tuple per sample if any of the arrays is a slice of
    larger samples.
    """
    if arrays[0].ndim == 2:
        yield arrays
    elif all(array.flags.c_contiguous for array in arrays):
        yield tuple(array.reshape(-1, array.shape[-1]) for array in arrays)
    else:
        yield from zip(*arrays, strict=True)


def add_bias(y: Array, bias: Array) -> None:
    """Add the bias to each output y (B, G), or to each channel of y (B, G, H, W)."""
    values, pitch = span(y)
    _add_bias(values, pitch, len(y), y[0].size // bias.size, bias)


def sum_bias(dy: Array, dbias: Array, accumulate: bool = False) -> None:
    """Write, or add, the gradient of the bias: the sum of ``dy`` over batch and map, per output or
    channel."""
    values, pitch = span(dy)
    _sum_bias(values, pitch, len(dy), dy[0].size // dbias.size, dbias, accumulate)


@compiled
def _add_bias(y: Array, pitch: int, batch: int, plane: int, bias: Array) -> None:
    """Add the bias to values whose samples lie ``pitch`` values apart."""
    for b in range(batch):
        for k in range(bias.size):
            values = y[b * pitch + k * plane :][:plane]
            for i in range(plane):
                values[i] += bias[k]


@compiled
def _sum_bias(
    dy: Array, pitch: int, batch: int, plane: int, dbias: Array, accumulate: bool
) -> None:
    """Sum values over batch and map, with samples that lie ``pitch`` values apart."""
    for k in range(dbias.size):
        total = initial_sum(dbias, k, accumulate)
        for b in range(batch):
            total += sum_values(dy[b * pitch + k * plane :][:plane])
        dbias[k] = total
