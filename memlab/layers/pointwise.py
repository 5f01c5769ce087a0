"""Layers that compute each value of the output from the value in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from memlab.axes import Shape
from memlab.errors import known, real_number
from memlab.layers.layer import Layer, validate
from memlab.layers.layer_kind import IN_PLACE, Flops, LayerKind, by_value
from memlab.step.rewrite_traits import SplitAxis

FORMS = ("exact", "tanh")
"""Of a GELU."""


@dataclass(frozen=True)
class ReLU(Layer):
    """Rectified linear unit ``max(x, 0)``."""

    kind: ClassVar[str] = "relu"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("y",), cut=SplitAxis.VALUES, cheap=True, over=IN_PLACE
    )

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, 1, 1)


@dataclass(frozen=True)
class Tanh(Layer):
    """Hyperbolic tangent, the f of the single-layer example (A1)."""

    kind: ClassVar[str] = "tanh"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("y",), cut=SplitAxis.VALUES, cheap=True, over=IN_PLACE
    )

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, 1, 3)


@dataclass(frozen=True)
class GELU(Layer):
    """Gaussian error linear unit ``x Phi(x)``, where Phi is the normal distribution function, or
    GPT-2's approximation with ``tanh`` (Hendrycks and Gimpel 2016)."""

    form: Literal["exact", "tanh"] = "exact"
    kind: ClassVar[str] = "gelu"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x",), cut=SplitAxis.VALUES, cheap=True, over=IN_PLACE, devices=("cpu",)
    )

    def __post_init__(self) -> None:
        known("form of GELU", self.form, FORMS)

    def describe(self) -> str:
        return self.form

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, *((5, 11) if self.form == "exact" else (9, 19)))


@dataclass(frozen=True)
class Dropout(Layer):
    """Dropout: each value becomes 0 with probability p, and the others are scaled
    by 1 / (1 - p)."""

    p: float = 0.5
    kind: ClassVar[str] = "dropout"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.VALUES, cheap=True, over=IN_PLACE, identity_in_inference=True
    )

    def __post_init__(self) -> None:
        validate(self, "dropout", "p", real_number, usual=0.5, least=0, below=1)

    def describe(self) -> str:
        return f"p {self.p:g}"

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, 2, 2)
