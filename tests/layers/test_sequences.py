"""What the layers of sequences need in a training step, held against figures derived by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.kernels.registry import Array
from memlab.layers.attention import TILE
from memlab.step.op import Op
from memlab.step.storage import Size
from memlab.step.tensor import Role
from tests.kernels_by_case import CPU_ALONE, Case
from tests.operations_by_hand import Formula, Number, inner, line, numbers
from tests.rows import every_row

READS = {
    "embedding": "dy x",
    "positions": "dy",
    "layer_norm": "dy x mean inverse_deviation weight",
    "gelu": "dy x",
    "patches": "dy",
    "class_token": "dy",
    "first_token": "dy",
    "attention_scores": "dy x",
    "attention_softmax": "dy y",
    "attention_values": "dy x0 x1",
    "fused_attention": "dy x y log_sum_exp",
    "low_rank": "dy x1 weight",
}
"""What backward reads, by kind."""
CASES = [case for case in CPU_ALONE if case.layer.kind in READS]


def nothing(layer: Any, *given: Array) -> None:
    """Copies."""


def embedding_weights(layer: Any, x: Array, dy: Array) -> None:
    numbers(*dy.shape) + dy


def positions(layer: Any, x: Array) -> None:
    x + numbers(*x.shape[1:])


def positions_weights(layer: Any, x: Array, dy: Array) -> None:
    dy.sum(0, initial=0)


def class_token_weights(layer: Any, x: Array, dy: Array) -> None:
    dy[:, 0].sum(0, initial=0)


def layer_norm(layer: Any, x: Array) -> None:
    for row in rows(x):
        weight, bias = numbers(2, row.size)
        mean = row.sum(initial=0) / row.size
        centred = row - mean
        variance = inner(centred, centred) / row.size
        inverse_deviation = 1 / (variance + layer.epsilon).sqrt()
        (row - mean) * inverse_deviation * weight + bias


def layer_norm_weights(layer: Any, x: Array, dy: Array) -> None:
    for row, gradient in zip(rows(x), rows(dy), strict=True):
        dw, db = numbers(2, row.size)
        mean, inverse_deviation = Number(), Number()
        dw + gradient * ((row - mean) * inverse_deviation)
        db + gradient


def layer_norm_input(layer: Any, x: Array, dy: Array) -> None:
    """``(g - mean of g - n mean of g n) / deviation``, n the normalised x."""
    for row, gradient in zip(rows(x), rows(dy), strict=True):
        mean, inverse_deviation = Number(), Number()
        g = gradient * numbers(row.size)
        n = (row - mean) * inverse_deviation
        offset, lean = g.sum(initial=0) / row.size, inner(g, n) / row.size
        (g - offset - n * lean) * inverse_deviation


def rows(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])


def gelu(layer: L.GELU, x: Array) -> None:
    if layer.form == "exact":
        x * 0.5 * (1 + erf(x * 0.7))
    else:
        0.5 * x * (1 + np.tanh(0.8 * (x + 0.04 * (x * x * x))))


def gelu_input(layer: L.GELU, x: Array, dy: Array) -> None:
    if layer.form == "exact":
        below = 0.5 * (1 + erf(x * 0.7))
        dy * (below + x * (0.4 * np.exp(-0.5 * (x * x))))
    else:
        t = np.tanh(0.8 * (x + 0.04 * (x * x * x)))
        slope = 0.8 * (1 + 0.12 * (x * x))
        dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)


def erf(x: Array) -> Array:
    found: Array = np.exp(x)  # one operation for each value, as the error function counts
    return found


def heads_of(x: Array, heads: int) -> Array:
    """Queries, keys and values by head: (3, batch x heads, T, d)."""
    batch, tokens, columns = x.shape
    return numbers(3, batch * heads, tokens, columns // 3 // heads)


def product(a: Array, b: Array) -> Array:
    """The products of matrices, each from ``inner``."""
    found = numbers(len(a), a.shape[1], b.shape[2])
    for one, other in zip(a, b, strict=True):
        for row in one:
            for column in other.T:
                inner(row, column)
    return found


def turned(a: Array) -> Array:
    return a.transpose(0, 2, 1)


def scores(layer: Any, x: Array) -> None:
    q, k, _ = heads_of(x, layer.heads)
    product(q, turned(k)) * 0.5


def scores_input(layer: Any, x: Array, dy: Array) -> None:
    q, k, _ = heads_of(x, layer.heads)
    ds = dy.reshape(-1, *dy.shape[2:])
    product(ds, k) * 0.5
    product(turned(ds), q) * 0.5


def seen(layer: Any, x: Array) -> list[Array]:
    """The values of each row that a query sees."""
    width = x.shape[-1]
    return [row[: i % width + 1 if layer.causal else width] for i, row in enumerate(rows(x))]


def softmax(layer: Any, x: Array) -> None:
    for row in seen(layer, x):
        powers = np.exp(row - max(row))
        powers / powers.sum()


def softmax_input(layer: Any, x: Array, dy: Array) -> None:
    for y, gradient in zip(seen(layer, x), seen(layer, dy), strict=True):
        y * (gradient - inner(y, gradient))


def values(layer: Any, p: Array, x: Array) -> None:
    _, _, v = heads_of(x, layer.heads)
    product(p.reshape(-1, *p.shape[2:]), v)


def values_input(layer: Any, p: Array, dy: Array) -> None:
    gradient = heads_of(np.concatenate([dy] * 3, 2), layer.heads)[0]
    product(gradient, turned(gradient))
    product(turned(p.reshape(-1, *p.shape[2:])), gradient)


def changed(layer: Any, y: Array) -> list[Array]:
    """The parts of an output that have an adapter, each with a row for every token."""
    parts = np.split(rows(y), layer.of, 1)
    return [parts[number] for number in layer.parts]


def low_rank(layer: Any, x: Array, small: Array) -> None:
    for part in changed(layer, x):
        for value in part.ravel():
            value + 2 * inner(*numbers(2, layer.rank))


def low_rank_weights(layer: Any, x: Array, dy: Array) -> None:
    for part in changed(layer, dy):
        for column in part.T:
            for _ in range(layer.rank):
                2 * inner(column, numbers(len(column)))


def low_rank_input(layer: Any, x: Array, dy: Array) -> None:
    for part in changed(layer, dy):
        for row in part:
            for _ in range(layer.rank):
                2 * inner(row, numbers(len(row)))


FORWARD: dict[str, Formula] = {
    "embedding": nothing, "positions": positions, "layer_norm": layer_norm, "gelu": gelu,
    "patches": nothing, "class_token": nothing, "first_token": nothing,
    "attention_scores": scores, "attention_softmax": softmax, "attention_values": values,
    "low_rank": low_rank,
}  # fmt: skip
WEIGHTS: dict[str, Formula] = {
    "embedding": embedding_weights, "positions": positions_weights,
    "layer_norm": layer_norm_weights, "class_token": class_token_weights,
    "low_rank": low_rank_weights,
}  # fmt: skip
INPUT: dict[str, Formula] = {
    "layer_norm": layer_norm_input, "gelu": gelu_input, "attention_scores": scores_input,
    "attention_softmax": softmax_input, "attention_values": values_input,
    "low_rank": low_rank_input,
}  # fmt: skip


def backward_of(case: Case) -> Op:
    return case.ops("fp32")[1]


def output(case: Case) -> tuple[int, ...]:
    return case.layer.output(*case.shapes)


@every_row("case", CASES)
def test_backward_reads_what_the_layer_keeps(case: Case) -> None:
    assert list(backward_of(case).reads) == READS[case.layer.kind].split()


@every_row("case", [c for c in CASES if c.layer.kind in FORWARD])
def test_operations(case: Case) -> None:
    forward, backward = case.ops("fp32")
    kind, shapes = case.layer.kind, (case.shapes[0], output(case))
    assert forward.flops == Size(*line(FORWARD[kind], case.layer, *case.shapes))
    halves = [half[kind] for half in (WEIGHTS, INPUT) if kind in half]
    found = sum((Size(*line(formula, case.layer, *shapes)) for formula in halves), Size())
    assert backward.flops == found


@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention_does_what_its_parts_do_and_computes_scores_again(causal: bool) -> None:
    """Without a mask, forward is the sum of the parts; a causal one skips what no query sees."""
    tokens, features, heads = 6, 8, 2
    forward, backward = Case(L.FusedAttention(heads, causal), ((tokens, 3 * features),)).ops("fp32")
    pairs = sum(range(tokens + 1)) if causal else tokens**2
    multiplied = 2 * pairs * features
    softmax = heads * (5 * pairs - 2 * tokens)
    assert forward.flops == Size(0, 2 * multiplied + heads * pairs + softmax)
    assert backward.flops.per_sample > 5 * multiplied
    assert backward.flops.per_sample - 5 * multiplied == 5 * heads * pairs + 4 * tokens * features


@every_row("threads", [1, 3])
@every_row("tokens", [5, TILE, 3 * TILE + 1])
def test_fused_attention_has_tiles_for_each_thread(tokens: int, threads: int) -> None:
    case = Case(L.FusedAttention(2), ((tokens, 12),), threads=threads)
    forward, backward = case.ops("fp32")
    tile = min(tokens, TILE)
    for op, values_ in ((forward, tile * (tile + 2)), (backward, 2 * tile * tile)):
        (buffer,) = op.workspace.values()
        assert buffer.role is Role.WORKSPACE
        assert buffer.size == Size(4 * threads * values_)
    lse = forward.writes["log_sum_exp"]
    assert lse.size == Size(0, 4 * 2 * tokens)


def test_every_tile_of_scores_goes_through_the_workspace() -> None:
    tokens, heads = 3 * TILE, 2
    for causal, tiles in ((False, 9), (True, 6)):
        forward, _ = Case(L.FusedAttention(heads, causal), ((tokens, 12),)).ops("fp32")
        operands = 4 * (tokens * 12 + tokens * 4 + heads * tokens)
        assert forward.bytes_moved == Size(0, operands + 2 * heads * tiles * 4 * TILE * (TILE + 2))


def test_axes_are_named() -> None:
    forward, _ = Case(L.AttentionScores(2), ((5, 12),)).ops("fp32")
    assert forward.writes["y"].formula() == "B·h·T²·4 B"
    assert forward.reads["x"].formula(3) == "3·5·12·4 B"
