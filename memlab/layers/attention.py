"""Self-attention (Vaswani et al. 2017), in parts or in one layer.

One tensor of shape ``(T, 3F)`` holds queries, keys and values side by side. Each of ``heads`` reads
its own ``d = F / heads`` columns of the three::

    scores = Q K^T / sqrt(d)      probabilities = softmax of each row      Y = probabilities V

In parts, matrices of ``(heads, T, T)`` are kept for backward; in one layer, no such matrix is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from memlab.axes import Dims, Shape, dims
from memlab.errors import InputError, true_or_false
from memlab.layers.layer import Layer, sequence, text, validate
from memlab.layers.layer_kind import IN_PLACE, Buffer, Buffers, Extras, Flops, LayerKind
from memlab.step.rewrite_traits import SplitAxis
from memlab.step.storage import Size

TILE = 128
"""The most queries, and keys, whose scores fused attention holds at a time."""
_MATRICES = ("h", "T", "T")


def attended(shape: Shape, heads: int) -> tuple[int, int]:
    """Return T and F of a tensor ``(T, 3F)``.

    Raises:
        InputError: it is none, or the heads do not divide F.
    """
    tokens, columns = sequence("attention", shape)
    if columns % (3 * heads):
        raise InputError(
            f"attention with {heads} heads needs (T, 3F) with F a multiple of {heads}, got "
            f"{text(shape)}; try linear({3 * heads * max(1, columns // (3 * heads))}) before it."
        )
    return tokens, columns // 3


@dataclass(frozen=True)
class _Heads(Layer):
    heads: int

    def __post_init__(self) -> None:
        validate(self, "attention", "heads")

    def describe(self) -> str:
        return f"{self.heads} heads"


@dataclass(frozen=True)
class AttentionScores(_Heads):
    """Attention scores ``Q K^T / sqrt(d)`` for each head: ``(T, 3F)`` to ``(heads, T, T)``."""

    kind: ClassVar[str] = "attention_scores"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x",), cut=SplitAxis.SAMPLES, cheap=False, axes=_MATRICES, devices=("cpu",)
    )

    def output(self, *inputs: Shape) -> Shape:
        tokens, _ = attended(inputs[0], self.heads)
        return self.heads, tokens, tokens

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        (heads, tokens, _), features = y, inputs[0][1] // 3
        products = Size(0, 2 * tokens**2 * features)
        scaled = Size(0, 2 * tokens * features)
        return Flops(products + Size(0, heads * tokens**2), input=2 * products + scaled)


@dataclass(frozen=True)
class AttentionSoftmax(Layer):
    """Softmax of every row of attention scores. With ``causal``, a token attends only to itself and
    earlier tokens, and its other probabilities are 0."""

    causal: bool = False
    kind: ClassVar[str] = "attention_softmax"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("y",),
        cut=SplitAxis.SAMPLES,
        cheap=False,
        over=IN_PLACE,
        axes=_MATRICES,
        devices=("cpu",),
    )

    def __post_init__(self) -> None:
        validate(self, "attention softmax", "causal", true_or_false)

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs[0]) != 3 or inputs[0][1] != inputs[0][2]:
            raise InputError(
                f"attention softmax needs scores (heads, T, T), got {text(inputs[0])}; "
                "try attention scores before it."
            )
        return inputs[0]

    def describe(self) -> str:
        return "causal" if self.causal else ""

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        heads, tokens, _ = y
        pairs = heads * _pairs(tokens, self.causal)
        return Flops(Size(0, 5 * pairs - 2 * heads * tokens), input=Size(0, 4 * pairs))


@dataclass(frozen=True)
class AttentionValues(_Heads):
    """Attention probabilities times V for each head: ``(heads, T, T)`` and ``(T, 3F)`` to ``(T,
    F)``."""

    kind: ClassVar[str] = "attention_values"
    arity: ClassVar[int | None] = 2
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x",), cut=SplitAxis.SAMPLES, cheap=False, devices=("cpu",)
    )

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs) != 2:
            raise InputError("attention values need two inputs; give the (T, 3F) as the second.")
        tokens, features = attended(inputs[1], self.heads)
        if inputs[0] != (self.heads, tokens, tokens):
            raise InputError(
                f"attention values need probabilities {text((self.heads, tokens, tokens))}, got "
                f"{text(inputs[0])}; try those of the same queries, keys and values."
            )
        return tokens, features

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        tokens, features = y
        products = Size(0, 2 * tokens**2 * features)
        return Flops(products, input=2 * products)


@dataclass(frozen=True)
class FusedAttention(_Heads):
    """Attention computed tile by tile in one operation, without storing the scores: ``(T, 3F)`` to
    ``(T, F)`` (Dao et al. 2022, F5)."""

    causal: bool = False
    kind: ClassVar[str] = "fused_attention"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x", "y"), cut=SplitAxis.SAMPLES, cheap=False, devices=("cpu",)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        validate(self, "attention", "causal", true_or_false)

    def output(self, *inputs: Shape) -> Shape:
        return attended(inputs[0], self.heads)

    def describe(self) -> str:
        return f"{self.heads} heads" + (", causal" if self.causal else "")

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        """Return two matrix products forward and five backward, because backward computes the
        scores again."""
        tokens, features = y
        flops = _pairs(tokens, self.causal)
        pairs, products = self.heads * flops, 2 * flops * features
        return Flops(
            forward=Size(0, 2 * products + 6 * pairs - 2 * self.heads * tokens),
            input=Size(0, 5 * products + 5 * pairs + 4 * tokens * features),
        )

    def extras(self, y: Shape, *inputs: Shape) -> Extras:
        batch, tokens, _ = dims(y)
        return {"log_sum_exp": ((batch, ("h", self.heads), tokens), None)}

    def workspace(self, backward: bool, y: Shape, *inputs: Shape) -> Buffers:
        """Return the scores of a tile, then the largest score and the sum of each of its rows; in
        backward, the probabilities and the gradient of the scores. With a causal mask, tiles
        that no query sees are skipped."""
        tile = min(TILE, y[0])
        axes: Dims = ("tile", tile), ("tile + 2", tile + 2)
        if backward:
            axes = ("2", 2), ("tile", tile), ("tile", tile)
        tiles = self.heads * _pairs(-(-y[0] // tile), self.causal)
        return {"workspace": Buffer(axes, fills=tiles)}


def _pairs(tokens: int, causal: bool) -> int:
    """Number of pairs of a query and a key that one head computes."""
    return tokens * (tokens + 1) // 2 if causal else tokens**2
