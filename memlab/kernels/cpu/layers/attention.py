"""Self-attention, in parts or in one layer.

Queries, keys and values lie side by side in one tensor; a head has ``d`` columns of each::

    S = Q K^T / sqrt(d)     dQ = dS K / sqrt(d)     dK = dS^T Q / sqrt(d)
    Y = P V                 dP = dY V^T             dV = P^T dY

The one layer works tile by tile, and no matrix is T x T (Dao et al. 2022, F5). Forward goes over
the keys with, for every query, the largest score ``m`` so far and the sum ``l`` of ``exp(S -
m)``; when m grows, the sums so far are scaled down. It leaves ``m + log l``, from which backward
computes the probabilities ``P = exp(S - m - log l)`` again::

    dV += P^T dY    dS = P (dY V^T - sum of dY Y)    dQ += dS K / sqrt(d)    dK += dS^T Q / sqrt(d)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from memlab.kernels.cpu.blas import gemm
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.flat_arrays import lines
from memlab.kernels.cpu.layers.tokens import clear
from memlab.kernels.cpu.row_sums import inner, sum_values
from memlab.kernels.cpu.threads import run_on_threads, thread_workspaces
from memlab.kernels.registry import Array, KernelCall, kernel
from memlab.layers.attention import AttentionSoftmax, FusedAttention


@kernel("attention_scores")
def attention_scores(call: KernelCall) -> None:
    """Compute the scores ``S = Q K^T / sqrt(d)`` of every head.

    Shapes: x (B, T, 3F), y (B, heads, T, T).
    """
    for x, y in zip(call["x"], call["y"], strict=True):
        for head, scores in enumerate(y):
            q, k, _ = parts(x, head, len(y))
            gemm(q, k, scores, transpose_b=True, scale=q.shape[1] ** -0.5)


@kernel("attention_scores.backward")
def attention_scores_backward(call: KernelCall) -> None:
    """Compute ``dQ`` and ``dK`` of every head; the gradient of the values is 0.

    Shapes: dy (B, heads, T, T), dx (B, T, 3F).
    """
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
def attention_softmax(call: KernelCall) -> None:
    """Compute ``exp(x) / sum of exp(x)`` over the keys that a query sees, and 0 for the other keys.

    Shapes: x and y (B, heads, T, T).
    """
    width = call["x"].shape[-1]
    for x, y in lines(call["x"], call["y"]):
        _softmax(x.reshape(-1, width), y.reshape(-1, width), _is_causal(call))


@kernel("attention_softmax.backward")
def attention_softmax_backward(call: KernelCall) -> None:
    """Compute the gradient of the softmax, ``y (dy - sum of y dy)``, row by row.

    Shapes: y, dy and dx (B, heads, T, T).
    """
    width = call["y"].shape[-1]
    for line in lines(call["y"], call["dy"], call["dx"]):
        y, dy, dx = (values.reshape(-1, width) for values in line)
        _softmax_backward(y, dy, dx, call.accumulate)


@kernel("attention_values")
def attention_values(call: KernelCall) -> None:
    """Compute ``P V`` of every head, the heads side by side.

    Shapes: probabilities x0 (B, heads, T, T), queries, keys and values x1 (B, T, 3F), y (B, T, F).
    """
    for x, qkv, y in zip(call["x0"], call["x1"], call["y"], strict=True):
        for head, probabilities in enumerate(x):
            _, _, v = parts(qkv, head, len(x))
            gemm(probabilities, v, columns(y, head, len(x)))


@kernel("attention_values.backward")
def attention_values_backward(call: KernelCall) -> None:
    """Compute ``dP`` and ``dV`` of every head; the gradients of queries and keys are 0.

    Shapes: dy (B, T, F), dx0 (B, heads, T, T), dx1 (B, T, 3F).
    """
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
    """Queries, keys and values of a head in a sample of shape (T, 3F), each as (T, d)."""
    features = qkv.shape[1] // 3
    q, k, v = (qkv[:, part * features :][:, :features] for part in range(3))
    return columns(q, head, heads), columns(k, head, heads), columns(v, head, heads)


def columns(sample: Array, head: int, heads: int) -> Array:
    """Columns of a head in a sample of shape (T, F), as (T, d)."""
    size = sample.shape[1] // heads
    return sample[:, head * size : (head + 1) * size]


def _is_causal(call: KernelCall) -> bool:
    """True if a query sees only the keys up to its own position."""
    assert isinstance(call.layer, AttentionSoftmax)
    return call.layer.causal


@compiled
def _softmax(x: Array, y: Array, causal: bool) -> None:
    """Softmax of every row of scores; with ``causal``, row r of each head sees its first r + 1
    keys."""
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
    """Gradient of the softmax of every row, written or added."""
    for r in range(len(y)):
        mean = y.dtype.type(inner(y[r], dy[r]))
        for i in range(y.shape[1]):
            gradient = y[r, i] * (dy[r, i] - mean)
            dx[r, i] = (dx[r, i] if accumulate else 0) + gradient


# -- in one layer, tile by tile -----------------------------------------------------------------


@kernel("fused_attention")
def fused_attention(call: KernelCall) -> None:
    """Compute the attention of every head, and the logarithm of every row's sum where a backward
    will read it.

    Shapes: x (B, T, 3F), y (B, T, F), log_sum_exp (B, heads, T).
    """
    units = len(call["x"]) * _layer(call).heads
    run_on_threads(partial(_forward, call), thread_workspaces(call["workspace"], 2), units)


@kernel("fused_attention.backward")
def fused_attention_backward(call: KernelCall) -> None:
    """Compute the gradients of queries, keys and values.

    Shapes: x and dx (B, T, 3F), y and dy (B, T, F), log_sum_exp (B, heads, T).
    """
    units = len(call["x"]) * _layer(call).heads
    run_on_threads(partial(_backward, call), thread_workspaces(call["workspace"], 3), units)


def _layer(call: KernelCall) -> FusedAttention:
    """Layer of a call that computes fused attention."""
    assert isinstance(call.layer, FusedAttention)
    return call.layer


def _forward(call: KernelCall, workspace: Array, units: range) -> None:
    """Compute the attention of some pairs of a sample and a head."""
    layer, tile = _layer(call), len(workspace)
    largest, total = workspace[:, tile], workspace[:, tile + 1]
    for b, head in (divmod(unit, layer.heads) for unit in units):
        q, k, v = parts(call["x"][b], head, layer.heads)
        y = columns(call["y"][b], head, layer.heads)
        for rows in _tiles(len(q), tile):
            count = rows.stop - rows.start
            clear(y[rows])
            _start_sums(largest, total)
            for keys in _tiles(rows.stop if layer.causal else len(k), tile):
                scores = workspace[:count, : keys.stop - keys.start]
                gemm(q[rows], k[keys], scores, transpose_b=True, scale=q.shape[1] ** -0.5)
                seen = _visible_keys(layer, rows, keys)
                _exponentials(scores, y[rows], largest, total, seen)
                gemm(scores, v[keys], y[rows], accumulate=True)
            _divide(y[rows], total)
            if "log_sum_exp" in call.arrays:
                _write_log_sums(call["log_sum_exp"][b, head, rows], largest, total)


def _backward(call: KernelCall, workspace: Array, units: range) -> None:
    """Compute the gradients of some pairs of a sample and a head."""
    layer, tile = _layer(call), workspace.shape[1]
    for b, head in (divmod(unit, layer.heads) for unit in units):
        q, k, v = parts(call["x"][b], head, layer.heads)
        dq, dk, dv = parts(call["dx"][b], head, layer.heads)
        y, dy = (columns(call[name][b], head, layer.heads) for name in ("y", "dy"))
        log_sum_exp, scale = call["log_sum_exp"][b, head], q.shape[1] ** -0.5
        if not call.accumulate:
            for gradient in (dq, dk, dv):
                clear(gradient)
        for rows in _tiles(len(q), tile):
            for keys in _tiles(rows.stop if layer.causal else len(k), tile):
                p, ds = workspace[:, : rows.stop - rows.start, : keys.stop - keys.start]
                gemm(q[rows], k[keys], p, transpose_b=True, scale=scale)
                gemm(dy[rows], v[keys], ds, transpose_b=True)
                _gradients(
                    p, ds, y[rows], dy[rows], log_sum_exp[rows], _visible_keys(layer, rows, keys)
                )
                gemm(p, dy[rows], dv[keys], accumulate=True, transpose_a=True)
                gemm(ds, k[keys], dq[rows], accumulate=True, scale=scale)
                gemm(ds, q[rows], dk[keys], accumulate=True, transpose_a=True, scale=scale)


def _tiles(extent: int, tile: int) -> Iterator[slice]:
    """Yield slices of at most ``tile`` rows that cover an extent."""
    for start in range(0, extent, tile):
        yield slice(start, min(start + tile, extent))


def _visible_keys(layer: FusedAttention, rows: slice, keys: slice) -> int:
    """Number of keys of a tile that its first query sees; each query after it sees one more."""
    return rows.start - keys.start + 1 if layer.causal else int(keys.stop)


@compiled
def _start_sums(largest: Array, total: Array) -> None:
    """Start the running maximum at -infinity and the running sum at 0."""
    for i in range(total.size):
        largest[i], total[i] = -np.inf, 0


@compiled
def _exponentials(scores: Array, y: Array, largest: Array, total: Array, first: int) -> None:
    """Replace scores by ``exp(S - m)``, with m the largest score so far, and update maximum, sum
    and output."""
    rows, width = scores.shape
    for r in range(rows):
        seen, most = min(first + r, width), largest[r]
        for i in range(seen):
            most = max(most, scores[r, i])
        for i in range(width):
            scores[r, i] = np.exp(scores[r, i] - most) if i < seen else 0
        smaller = np.exp(largest[r] - most)
        total[r] = total[r] * smaller + sum_values(scores[r])
        largest[r] = most
        for i in range(y.shape[1]):
            y[r, i] *= smaller


@compiled
def _divide(y: Array, total: Array) -> None:
    """Divide every row of the output by its sum."""
    for r in range(y.shape[0]):
        for i in range(y.shape[1]):
            y[r, i] /= total[r]


@compiled
def _write_log_sums(log_sum_exp: Array, largest: Array, total: Array) -> None:
    """Write ``m + log l`` of every row, for backward."""
    for r in range(log_sum_exp.size):
        log_sum_exp[r] = largest[r] + np.log(total[r])


@compiled
def _gradients(p: Array, ds: Array, y: Array, dy: Array, log_sum_exp: Array, first: int) -> None:
    """Replace scores by probabilities, and the probabilities' gradient by that of the scores."""
    rows, width = p.shape
    for r in range(rows):
        seen, mean = min(first + r, width), p.dtype.type(inner(y[r], dy[r]))
        for i in range(width):
            p[r, i] = np.exp(p[r, i] - log_sum_exp[r]) if i < seen else 0
            ds[r, i] = p[r, i] * (ds[r, i] - mean)
