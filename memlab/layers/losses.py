"""Losses: layers that compare the output of a network with its target."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from memlab.axes import Dims, Shape, dims
from memlab.errors import InputError
from memlab.formats import FORMATS, Format
from memlab.layers.layer import Layer, text
from memlab.layers.layer_kind import IN_PLACE, Extras, Flops, LayerKind, by_value
from memlab.step.rewrite_traits import SplitAxis, Traits
from memlab.step.storage import Size

Target = tuple[str, Dims, Format | None]
"""The name, axes and format of a tensor; ``None`` for the format of the step."""


@dataclass(frozen=True)
class Loss(Layer):
    """Base of all losses."""

    predicts: ClassVar[tuple[str, Traits] | None] = None
    """The kind and the traits of the operation that makes a prediction of what the loss reads;
    ``None`` where that is the prediction."""

    def target(self, y: Shape) -> Target:
        """Target that the loss compares the output with: its axes and its format."""
        return "target", dims(y), None


@dataclass(frozen=True)
class SoftmaxCrossEntropy(Loss):
    """Softmax over the classes, then the mean of ``-log p[label]``. Labels are int64, one per
    sample, or one per token of a sequence ``(T, classes)``."""

    kind: ClassVar[str] = "softmax_cross_entropy"
    row: ClassVar[LayerKind] = LayerKind(keeps=(), cut=SplitAxis.WHOLE, cheap=False, by_step=True)
    predicts: ClassVar[tuple[str, Traits] | None] = "softmax", Traits(IN_PLACE.forward)

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs[0]) > 2:
            raise InputError(
                f"cross entropy needs a vector, got {text(inputs[0])}; try flatten() and linear()."
            )
        return inputs[0]

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        *tokens, classes = y
        rows = prod(tokens)
        return Flops(
            forward=Size(1, 5 * classes * rows),
            input=Size(0, (classes + 1) * rows),
            inference=Size(0, (5 * classes - 2) * rows),
        )

    def extras(self, y: Shape, *inputs: Shape) -> Extras:
        return {"probabilities": (dims(y), None)}

    def target(self, y: Shape) -> Target:
        return "labels", dims(y)[:-1], FORMATS["int64"]


@dataclass(frozen=True)
class SquaredError(Loss):
    """Mean over the batch of ``sum (y - t)^2``, where the target t has the shape of y (A1)."""

    kind: ClassVar[str] = "squared_error"
    row: ClassVar[LayerKind] = LayerKind(keeps=("x",), cut=SplitAxis.WHOLE, cheap=False)

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, 3, 2, fixed=1)
