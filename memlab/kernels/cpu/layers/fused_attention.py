"""Self-attention in one layer, tile by tile: no matrix of T x T (Dao et al. 2022, F5).

Forward goes over the keys with the largest score ``m`` so far of every query and the sum ``l`` of
``exp(S - m)``; a larger m makes what was added up before smaller. It leaves ``m + log l``, from
which backward computes the probabilities ``P = exp(S - m - log l)`` again::

    dV += P^T dY    dS = P (dY V^T - sum of dY Y)    dQ += dS K / sqrt(d)    dK += dS^T Q / sqrt(d)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from memlab.kernels.cpu.blas import gemm
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.layers.attention import columns, parts
from memlab.kernels.cpu.layers.tokens import clear
from memlab.kernels.cpu.row_sums import inner, sum_values
from memlab.kernels.cpu.threads import own, spread
from memlab.kernels.registry import Array, Call, kernel
from memlab.layers.attention import FusedAttention


@kernel("fused_attention")
def fused_attention(call: Call) -> None:
    """The weighted values of every head, and the logarithm of every row's sum where a backward
    will read it."""
    units = len(call["x"]) * _layer(call).heads
    spread(partial(_forward, call), own(call["workspace"], 2), units)


@kernel("fused_attention.backward")
def fused_attention_backward(call: Call) -> None:
    """The gradients of queries, keys and values."""
    units = len(call["x"]) * _layer(call).heads
    spread(partial(_backward, call), own(call["workspace"], 3), units)


def _layer(call: Call) -> FusedAttention:
    assert isinstance(call.layer, FusedAttention)
    return call.layer


def _forward(call: Call, workspace: Array, units: range) -> None:
    layer, tile = _layer(call), len(workspace)
    largest, total = workspace[:, tile], workspace[:, tile + 1]
    for b, head in (divmod(unit, layer.heads) for unit in units):
        q, k, v = parts(call["x"][b], head, layer.heads)
        y = columns(call["y"][b], head, layer.heads)
        for rows in _tiles(len(q), tile):
            count = rows.stop - rows.start
            clear(y[rows])
            _begin(largest, total)
            for keys in _tiles(rows.stop if layer.causal else len(k), tile):
                scores = workspace[:count, : keys.stop - keys.start]
                gemm(q[rows], k[keys], scores, transpose_b=True, scale=q.shape[1] ** -0.5)
                seen = _seen(layer, rows, keys)
                _exponentials(scores, y[rows], largest, total, seen)
                gemm(scores, v[keys], y[rows], accumulate=True)
            _divide(y[rows], total)
            if "log_sum_exp" in call.arrays:
                _keep(call["log_sum_exp"][b, head, rows], largest, total)


def _backward(call: Call, workspace: Array, units: range) -> None:
    layer, tile = _layer(call), workspace.shape[1]
    for b, head in (divmod(unit, layer.heads) for unit in units):
        q, k, v = parts(call["x"][b], head, layer.heads)
        dq, dk, dv = parts(call["dx"][b], head, layer.heads)
        y, dy = (columns(call[name][b], head, layer.heads) for name in ("y", "dy"))
        kept, scale = call["log_sum_exp"][b, head], q.shape[1] ** -0.5
        if not call.accumulate:
            for gradient in (dq, dk, dv):
                clear(gradient)
        for rows in _tiles(len(q), tile):
            for keys in _tiles(rows.stop if layer.causal else len(k), tile):
                p, ds = workspace[:, : rows.stop - rows.start, : keys.stop - keys.start]
                gemm(q[rows], k[keys], p, transpose_b=True, scale=scale)
                gemm(dy[rows], v[keys], ds, transpose_b=True)
                _gradients(p, ds, y[rows], dy[rows], kept[rows], _seen(layer, rows, keys))
                gemm(p, dy[rows], dv[keys], accumulate=True, transpose_a=True)
                gemm(ds, k[keys], dq[rows], accumulate=True, scale=scale)
                gemm(ds, q[rows], dk[keys], accumulate=True, transpose_a=True, scale=scale)


def _tiles(extent: int, tile: int) -> Iterator[slice]:
    for start in range(0, extent, tile):
        yield slice(start, min(start + tile, extent))


def _seen(layer: FusedAttention, rows: slice, keys: slice) -> int:
    """How many keys of a tile its first query sees; each query after it sees one more."""
    return rows.start - keys.start + 1 if layer.causal else int(keys.stop)


@compiled
def _begin(largest: Array, total: Array) -> None:
    for i in range(total.size):
        largest[i], total[i] = -np.inf, 0


@compiled
def _exponentials(scores: Array, y: Array, largest: Array, total: Array, first: int) -> None:
    """Put ``exp(S - m)`` in place of the scores, with the m so far."""
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
    for r in range(y.shape[0]):
        for i in range(y.shape[1]):
            y[r, i] /= total[r]


@compiled
def _keep(kept: Array, largest: Array, total: Array) -> None:
    for r in range(kept.size):
        kept[r] = largest[r] + np.log(total[r])


@compiled
def _gradients(p: Array, ds: Array, y: Array, dy: Array, kept: Array, first: int) -> None:
    """Probabilities in place of the scores, and their gradient in place of that of the
    probabilities."""
    rows, width = p.shape
    for r in range(rows):
        seen, mean = min(first + r, width), p.dtype.type(inner(y[r], dy[r]))
        for i in range(width):
            p[r, i] = np.exp(p[r, i] - kept[r]) if i < seen else 0
            ds[r, i] = p[r, i] * (ds[r, i] - mean)
