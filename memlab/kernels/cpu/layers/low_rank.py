"""Low-rank adapters: what they add to the output of a linear layer."""

from __future__ import annotations

from collections.abc import Iterator

from memlab.kernels.cpu.blas import gemm
from memlab.kernels.cpu.elementwise_loops import apply_formula
from memlab.kernels.cpu.layers.linear import matrices
from memlab.kernels.formulas.pointwise import identity
from memlab.kernels.registry import Array, KernelCall, kernel
from memlab.layers.low_rank import LowRank


@kernel("low_rank")
def low_rank(call: KernelCall) -> None:
    """Compute ``y = x0 + scale x1 B^T`` for each part of ``x0`` that has an adapter.

    Shapes: x0 and y (B, F) or (B, T, F); x1 (B, n r) or (B, T, n r) for n parts and rank r; weight
    (n G, r), where G is the length of a part.
    """
    layer = _layer(call)
    apply_formula(identity, call["x0"], call["y"])
    for y, x in matrices(call["y"], call["x1"]):
        for outputs, values, weight in _parts(layer, y, x, call["weight"]):
            gemm(values, weight, outputs, accumulate=True, transpose_b=True, scale=layer.scale)


@kernel("low_rank.backward")
def low_rank_backward(call: KernelCall) -> None:
    """Compute ``dB = scale dy^T x1`` and ``dx1 = scale dy B``, part by part.

    Shapes are those of ``low_rank``; each gradient has the shape of its tensor. The gradient of
    ``x0`` is ``dy`` itself.
    """
    layer, adds = _layer(call), call.accumulate_weights
    if call.learns:
        for dy, x in matrices(call["dy"], call["x1"]):
            for outputs, values, gradient in _parts(layer, dy, x, call["dweight"]):
                gemm(outputs, values, gradient, adds, transpose_a=True, scale=layer.scale)
            adds = True
    if "dx1" in call.arrays:
        for dy, dx in matrices(call["dy"], call["dx1"]):
            for outputs, values, weight in _parts(layer, dy, dx, call["weight"]):
                gemm(outputs, weight, values, call.adds("dx1"), scale=layer.scale)


def _layer(call: KernelCall) -> LowRank:
    assert isinstance(call.layer, LowRank)
    return call.layer


def _parts(layer: LowRank, y: Array, x: Array, weight: Array) -> Iterator[tuple[Array, ...]]:
    """Yield, for each part with an adapter, its outputs, its values of rank r and its weights."""
    length, rank = y.shape[1] // layer.of, layer.rank
    for number, part in enumerate(layer.parts):
        yield (
            y[:, part * length : (part + 1) * length],
            x[:, number * rank : (number + 1) * rank],
            weight[number * length : (number + 1) * length],
        )
