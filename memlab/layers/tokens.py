"""Layers of sequences: a sample is T tokens of F values each, of shape ``(T, F)``."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from memlab.axes import Shape
from memlab.layers.layer import Layer, Weights, maps, sequence, weight_of
from memlab.layers.layer_kind import IN_PLACE, Flops, InPlacePairs, LayerKind
from memlab.step.rewrite_traits import SplitAxis
from memlab.step.storage import Size


@dataclass(frozen=True)
class Positions(Layer):
    """Learned vector that is added to each place of a sequence."""

    kind: ClassVar[str] = "positions"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(),
        cut=SplitAxis.SAMPLES,
        cheap=False,
        over=InPlacePairs(IN_PLACE.forward),
        devices=("cpu",),
    )

    def output(self, *inputs: Shape) -> Shape:
        return sequence("positions", inputs[0])

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        tokens, features = inputs[0]
        return (weight_of((("T", tokens), ("F", features))),)

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return Flops(Size(0, prod(y)), Size(0, prod(y)))


@dataclass(frozen=True)
class Patches(Layer):
    """Map ``(C, H, W)`` as a sequence with one token for each place and one feature for each
    channel."""

    kind: ClassVar[str] = "patches"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.SAMPLES, cheap=False, devices=("cpu",)
    )

    def output(self, *inputs: Shape) -> Shape:
        channels, height, width = maps("patches", inputs[0])
        return height * width, channels

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return Flops()


@dataclass(frozen=True)
class ClassToken(Layer):
    """Learned token that is put before all others."""

    kind: ClassVar[str] = "class_token"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.SAMPLES, cheap=False, devices=("cpu",)
    )

    def output(self, *inputs: Shape) -> Shape:
        tokens, features = sequence("class token", inputs[0])
        return tokens + 1, features

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        return (Weights("token", (("F", inputs[0][-1]),)),)

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return Flops(weights=Size(0, y[1]))


@dataclass(frozen=True)
class FirstToken(Layer):
    """First token of a sequence, as a vector."""

    kind: ClassVar[str] = "first_token"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.SAMPLES, cheap=False, devices=("cpu",)
    )

    def output(self, *inputs: Shape) -> Shape:
        return sequence("first token", inputs[0])[1:]

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return Flops()
