"""Self-attention in parts: scores, the softmax of their rows, and the weighted values.

Queries, keys and values lie side by side in one tensor; a head has ``d`` columns of each::

    S = Q K^T / sqrt(d)     dQ = dS K / sqrt(d)     dK = dS^T Q / sqrt(d)
    Y = P V                 dP = dY V^T             dV = P^T dY
"""

from __future__ import annotations

import numpy as np

from memlab.kernels.cpu.arrays import lines
from memlab.kernels.cpu.blas import gemm
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.layers.tokens import clear
from memlab.kernels.cpu.row_sums import inner, sum_values
from memlab.kernels.registry import Array, Call, kernel
from memlab.layers.attention import AttentionSoftmax


@kernel("attention_scores")
def attention_scores(call: Call) -> None:
    """``S`` of every head."""
    for x, y in zip(call["x"], call["y"], strict=True):
        for head, scores in enumerate(y):
            q, k, _ = parts(x, head, len(y))
            gemm(q, k, scores, transpose_b=True, scale=q.shape[1] ** -0.5)


@kernel("attention_scores.backward")
def attention_scores_backward(call: Call) -> None:
    """``dQ`` and ``dK`` of every head; the gradient of the values is 0."""
    adds = call.accumulate
    for x, dy, dx in zip(call["x"], call["dy"], call["dx"], strict=True):
        for head, dscores in enumerate(dy):
            (q, k, _), (dq, dk, dv) = parts(x, head, len(dy)), parts(dx, head, len(dy))
            scale = q.shape[1] ** -0.5
            gemm(dscores, k, dq, adds, scale=scale)
            gemm(dscores, q, dk, adds, transpose_a=True, scale=scale)
            if not adds:
                clear(dv)


@kernel("attention_softmax")
def attention_softmax(call: Call) -> None:
    """``exp(x) / sum of exp(x)`` over the keys that a query sees, 0 for the others."""
    width = call["x"].shape[-1]
    for x, y in lines(call["x"], call["y"]):
        _softmax(x.reshape(-1, width), y.reshape(-1, width), _is_causal(call))


@kernel("attention_softmax.backward")
def attention_softmax_backward(call: Call) -> None:
    """``y (dy - sum of y dy)``, row by row."""
    width = call["y"].shape[-1]
    for line in lines(call["y"], call["dy"], call["dx"]):
        y, dy, dx = (values.reshape(-1, width) for values in line)
        _softmax_backward(y, dy, dx, call.accumulate)


@kernel("attention_values")
def attention_values(call: Call) -> None:
    """``P V`` of every head, side by side."""
    for x, qkv, y in zip(call["x0"], call["x1"], call["y"], strict=True):
        for head, probabilities in enumerate(x):
            _, _, v = parts(qkv, head, len(x))
            gemm(probabilities, v, columns(y, head, len(x)))


@kernel("attention_values.backward")
def attention_values_backward(call: Call) -> None:
    """``dP`` and ``dV`` of every head; the gradients of queries and keys are 0."""
    probabilities, qkv, dy = call["x0"], call["x1"], call["dy"]
    heads = probabilities.shape[1]
    for b in range(len(dy)):
        for head in range(heads):
            gradient = columns(dy[b], head, heads)
            if "dx0" in call.arrays:
                _, _, v = parts(qkv[b], head, heads)
                gemm(gradient, v, call["dx0"][b, head], call.adds("dx0"), transpose_b=True)
            if "dx1" in call.arrays:
                dq, dk, dv = parts(call["dx1"][b], head, heads)
                adds = call.adds("dx1")
                gemm(probabilities[b, head], gradient, dv, adds, transpose_a=True)
                if not adds:
                    clear(dq)
                    clear(dk)


def parts(qkv: Array, head: int, heads: int) -> tuple[Array, Array, Array]:
    """The queries, keys and values of a head in a sample of shape (T, 3F): each (T, d)."""
    features = qkv.shape[1] // 3
    q, k, v = (qkv[:, part * features :][:, :features] for part in range(3))
    return columns(q, head, heads), columns(k, head, heads), columns(v, head, heads)


def columns(sample: Array, head: int, heads: int) -> Array:
    """What belongs to a head in a sample of shape (T, F)."""
    size = sample.shape[1] // heads
    return sample[:, head * size : (head + 1) * size]


def _is_causal(call: Call) -> bool:
    assert isinstance(call.layer, AttentionSoftmax)
    return call.layer.causal


@compiled
def _softmax(x: Array, y: Array, causal: bool) -> None:
    width = x.shape[1]
    for r in range(len(x)):
        seen = r % width + 1 if causal else width
        scores, out = x[r, :seen], y[r]
        largest = scores[0]
        for i in range(seen):
            largest = max(largest, scores[i])
        for i in range(seen):
            out[i] = np.exp(scores[i] - largest)
        share = y.dtype.type(1 / sum_values(out[:seen]))
        for i in range(seen):
            out[i] *= share
        for i in range(seen, width):
            out[i] = 0


@compiled
def _softmax_backward(y: Array, dy: Array, dx: Array, accumulate: bool) -> None:
    for r in range(len(y)):
        mean = y.dtype.type(inner(y[r], dy[r]))
        for i in range(y.shape[1]):
            gradient = y[r, i] * (dy[r, i] - mean)
            dx[r, i] = (dx[r, i] if accumulate else 0) + gradient
