"""Layers with a matrix of weights: the fully connected one, and a table of vectors for tokens."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from memlab.axes import Shape
from memlab.errors import InputError, true_or_false
from memlab.layers.layer import Layer, Weights, bias_of, text, validate, weight_of
from memlab.layers.layer_kind import Flops, LayerKind
from memlab.step.rewrite_traits import SplitAxis
from memlab.step.storage import Size


@dataclass(frozen=True)
class Linear(Layer):
    """Fully connected layer ``y = x W^T + b`` on a vector of F values, or on each token of a
    sequence ``(T, F)``."""

    out_features: int
    bias: bool = True
    kind: ClassVar[str] = "linear"
    can_share: ClassVar[bool] = True
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.OUTPUTS, cheap=False, to_learn=("x",),
        to_pass_on=("weight",), by_step=True, stem="fc",
    )  # fmt: skip

    def __post_init__(self) -> None:
        validate(self, "linear", "out_features")
        validate(self, "linear", "bias", true_or_false)

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs[0]) > 2:
            raise InputError(f"linear needs a vector, got {text(inputs[0])}; try flatten() first.")
        return (*inputs[0][:-1], self.out_features)

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        weight = weight_of((("K", self.out_features), ("F", inputs[0][-1])))
        return (weight, *bias_of(self.out_features, self.bias))

    def describe(self) -> str:
        return f"to {self.out_features}" + ("" if self.bias else ", no bias")

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        products = Size(0, 2 * prod(y) * inputs[0][-1])
        bias = Size(0, prod(y) if self.bias else 0)
        return Flops(products + bias, products + bias, products)


@dataclass(frozen=True)
class Embedding(Layer):
    """Embedding: one row of a table for each of T tokens, which are whole numbers below
    ``vocabulary``."""

    vocabulary: int
    features: int
    kind: ClassVar[str] = "embedding"
    of_tokens: ClassVar[bool] = True
    can_share: ClassVar[bool] = True
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.WHOLE, cheap=False, to_learn=("x",), devices=("cpu",)
    )

    def __post_init__(self) -> None:
        validate(self, "embedding", "vocabulary")
        validate(self, "embedding", "features")

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs[0]) != 1:
            raise InputError(
                f"embedding needs T tokens, got {text(inputs[0])}; "
                "try network('name', tokens=T, vocabulary=V)."
            )
        return inputs[0][0], self.features

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        return (weight_of((("V", self.vocabulary), ("F", self.features))),)

    def describe(self) -> str:
        return f"{self.vocabulary} to {self.features}"

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return Flops(weights=Size(0, prod(y)))
