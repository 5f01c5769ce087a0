"""The rules of sequences and of self-attention: what backward reads, and what it all costs."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from memlab.axes import Dims, dims
from memlab.formats import Format
from memlab.layers.attention import AttentionSoftmax, FusedAttention
from memlab.layers.layer import Node
from memlab.layers.row import GRADIENT, NOWHERE, OUTPUT, Extras, Flops, Reads, Row
from memlab.layers.tokens import GELU
from memlab.step.storage import Size
from memlab.step.traits import Cut

TILE = 128
"""The most queries, and keys, whose scores fused attention holds at a time."""

NOTHING = Flops(Size())
CPU = ("cpu",)


def _per_value(forward: int, weights: int) -> Callable[[Node], Flops]:
    def flops(node: Node) -> Flops:
        values = prod(node.shape)
        return Flops(Size(0, forward * values), Size(0, weights * values))

    return flops


def _class_token(node: Node) -> Flops:
    return Flops(Size(), Size(0, node.shape[1]))


def _layer_norm(node: Node) -> Flops:
    *rows, features = node.shape
    tokens = prod(rows)
    return Flops(
        forward=Size(0, tokens * (8 * features + 5)),
        weights=Size(0, tokens * 5 * features),
        input=Size(0, tokens * (10 * features + 2)),
    )


def _gelu(node: Node) -> Flops:
    assert isinstance(node.layer, GELU)
    forward, backward = (5, 11) if node.layer.form == "exact" else (9, 19)
    values = prod(node.shape)
    return Flops(Size(0, forward * values), input=Size(0, backward * values))


def _scores(node: Node) -> Flops:
    (heads, tokens, _), features = node.shape, node.input_shapes[0][1] // 3
    products = Size(0, 2 * tokens**2 * features)
    scaled = Size(0, 2 * tokens * features)
    return Flops(products + Size(0, heads * tokens**2), input=2 * products + scaled)


def _softmax(node: Node) -> Flops:
    layer, (heads, tokens, _) = node.layer, node.shape
    assert isinstance(layer, AttentionSoftmax)
    pairs = heads * _pairs(tokens, layer.causal)
    return Flops(Size(0, 5 * pairs - 2 * heads * tokens), input=Size(0, 4 * pairs))


def _values(node: Node) -> Flops:
    tokens, features = node.shape
    products = Size(0, 2 * tokens**2 * features)
    return Flops(products, input=2 * products)


def _fused(node: Node) -> Flops:
    """Two products of matrices forward, five backward, where the scores are computed again."""
    layer, (tokens, features) = node.layer, node.shape
    assert isinstance(layer, FusedAttention)
    each = _pairs(tokens, layer.causal)
    pairs, products = layer.heads * each, 2 * each * features
    return Flops(
        forward=Size(0, 2 * products + 6 * pairs - 2 * layer.heads * tokens),
        input=Size(0, 5 * products + 5 * pairs + 4 * tokens * features),
    )


def _pairs(tokens: int, causal: bool) -> int:
    """How many keys all queries of a head see."""
    return tokens * (tokens + 1) // 2 if causal else tokens**2


def _token_statistics(node: Node, format: Format) -> Extras:
    rows = dims(node.shape)[:-1]
    return {"mean": (rows, format), "inverse_deviation": (rows, format)}


def _log_sum_exp(node: Node, format: Format) -> Extras:
    assert isinstance(node.layer, FusedAttention)
    batch, tokens, _ = dims(node.shape)
    return {"log_sum_exp": ((batch, ("h", node.layer.heads), tokens), format)}


def _tile(node: Node) -> int:
    return min(TILE, node.shape[0])


def _tile_and_rows(node: Node) -> Dims:
    """The scores of a tile; then for each of its rows the largest one, and the sum."""
    return ("tile", _tile(node)), ("tile + 2", _tile(node) + 2)


def _tiles(node: Node) -> int:
    """How many tiles of scores all heads have; a causal one skips those that no query sees."""
    layer, each = node.layer, -(-node.shape[0] // _tile(node))
    assert isinstance(layer, FusedAttention)
    return layer.heads * _pairs(each, layer.causal)


def _two_tiles(node: Node) -> Dims:
    """Probabilities, and the gradient of the scores."""
    return ("2", 2), ("tile", _tile(node)), ("tile", _tile(node))


ATTENTION_RULES: dict[str, Row] = {
    "embedding": Row(
        cut=Cut.WHOLE,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_per_value(0, 1),
        keeps=("x",),
        devices=CPU,
    ),
    "positions": Row(
        cut=Cut.SAMPLES,
        over=OUTPUT,
        backward_over=NOWHERE,
        cheap=False,
        flops=_per_value(1, 1),
        devices=CPU,
        keeps=(),
    ),
    "layer_norm": Row(
        cut=Cut.SAMPLES,
        over=OUTPUT,
        backward_over=GRADIENT,
        cheap=True,
        flops=_layer_norm,
        keeps=("x",),
        extras=_token_statistics,
        backward_reads_weight=Reads.PASSING,
        devices=CPU,
    ),
    "gelu": Row(
        cut=Cut.VALUES,
        over=OUTPUT,
        backward_over=GRADIENT,
        cheap=True,
        flops=_gelu,
        keeps=("x",),
        devices=CPU,
    ),
    "patches": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=lambda node: NOTHING,
        devices=CPU,
        keeps=(),
    ),
    "class_token": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_class_token,
        devices=CPU,
        keeps=(),
    ),
    "first_token": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=lambda node: NOTHING,
        devices=CPU,
        keeps=(),
    ),
    "attention_scores": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_scores,
        keeps=("x",),
        axes=("h", "T", "T"),
        devices=CPU,
    ),
    "attention_softmax": Row(
        cut=Cut.SAMPLES,
        over=OUTPUT,
        backward_over=GRADIENT,
        cheap=False,
        flops=_softmax,
        keeps=("y",),
        axes=("h", "T", "T"),
        devices=CPU,
    ),
    "attention_values": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_values,
        keeps=("x",),
        devices=CPU,
    ),
    "fused_attention": Row(
        cut=Cut.SAMPLES,
        over=NOWHERE,
        backward_over=NOWHERE,
        cheap=False,
        flops=_fused,
        keeps=("x", "y"),
        extras=_log_sum_exp,
        forward_workspace=_tile_and_rows,
        backward_workspace=_two_tiles,
        fills=_tiles,
        devices=CPU,
    ),
}
