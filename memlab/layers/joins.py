"""Layers that compute nothing or little: outputs that meet, and outputs in another shape."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from memlab.axes import Shape
from memlab.errors import InputError
from memlab.layers.layer import Layer, text
from memlab.layers.layer_kind import VIEW, Flops, InPlacePairs, LayerKind, Passes, by_value
from memlab.step.rewrite_traits import SplitAxis


@dataclass(frozen=True)
class Add(Layer):
    """Sum of two or more inputs of the same shape, as at the end of a residual block."""

    kind: ClassVar[str] = "add"
    arity: ClassVar[int | None] = None
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.VALUES, cheap=False, passes=Passes.SAME,
        over=InPlacePairs({"y": ("x0", "x1")}, {"dx0": ("dy",)}),
    )  # fmt: skip

    def output(self, *inputs: Shape) -> Shape:
        if len(set(inputs)) > 1:
            shapes = " and ".join(text(shape) for shape in inputs)
            raise InputError(
                f"add needs inputs of one shape, got {shapes}; try a 1x1 convolution on one."
            )
        return inputs[0]

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, len(inputs) - 1, 0)


@dataclass(frozen=True)
class Concat(Layer):
    """Concatenation of inputs with the same map size along the channels."""

    kind: ClassVar[str] = "concat"
    arity: ClassVar[int | None] = None
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.SAMPLES, cheap=False, passes=Passes.SLICES, moves=True
    )

    def output(self, *inputs: Shape) -> Shape:
        if len({(len(shape), *shape[1:]) for shape in inputs}) > 1:
            shapes = " and ".join(text(shape) for shape in inputs)
            raise InputError(
                f"concat needs maps of one height and width, got {shapes}; try padding."
            )
        return (sum(shape[0] for shape in inputs), *inputs[0][1:])

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return Flops()


@dataclass(frozen=True)
class Flatten(Layer):
    """Map read as a vector, without a copy."""

    kind: ClassVar[str] = "flatten"
    row: ClassVar[LayerKind] = VIEW

    def output(self, *inputs: Shape) -> Shape:
        return (prod(inputs[0]),)
