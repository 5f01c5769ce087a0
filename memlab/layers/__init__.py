"""The layers, and the list of them all.

Nothing here knows of time or bytes; what a layer keeps for backward stands in ``rules.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from memlab.axes import Dims, Shape
from memlab.errors import InputError, flag, real
from memlab.layers.attention import (
    AttentionScores,
    AttentionSoftmax,
    AttentionValues,
    FusedAttention,
)
from memlab.layers.layer import Layer, Weights, bias_of, maps, settle, text, weight_of
from memlab.layers.recurrent import At, LstmOutput, LstmState
from memlab.layers.tokens import (
    GELU,
    ClassToken,
    Embedding,
    FirstToken,
    LayerNorm,
    Patches,
    Positions,
)
from memlab.layers.windows import AvgPool2d, Conv2d, MaxPool2d, window
from memlab.step.start import ONES, Start


@dataclass(frozen=True)
class Linear(Layer):
    """``y = x W^T + b`` on a vector of F values, or on each token of a sequence ``(T, F)``."""

    out_features: int
    bias: bool = True
    kind: ClassVar[str] = "linear"
    can_share: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle(self, "linear", "out_features")
        settle(self, "linear", "bias", flag)

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs[0]) > 2:
            raise InputError(f"linear needs a vector, got {text(inputs[0])}; try flatten() first.")
        return (*inputs[0][:-1], self.out_features)

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        weight = weight_of((("K", self.out_features), ("F", inputs[0][-1])))
        return (weight, *bias_of(self.out_features, self.bias))

    def describe(self) -> str:
        return f"to {self.out_features}" + ("" if self.bias else ", no bias")


@dataclass(frozen=True)
class BatchNorm(Layer):
    """Normalises each channel over the batch; learns scale and shift (Ioffe and Szegedy 2015)."""

    epsilon: float = 1e-5
    momentum: float = 0.1
    kind: ClassVar[str] = "batch_norm"

    def __post_init__(self) -> None:
        settle(self, "batch norm", "epsilon", real, usual=1e-5, least=0)
        settle(self, "batch norm", "momentum", real, usual=0.1, least=0)

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        channels = (("C", inputs[0][0]),)
        return Weights("weight", channels, ONES), Weights("bias", channels)

    def buffers(self, *inputs: Shape) -> tuple[Weights, ...]:
        channels = (("C", inputs[0][0]),)
        return Weights("running_mean", channels), Weights(
            "running_var", channels, Start(1.0, squares=True)
        )


@dataclass(frozen=True)
class LocalResponseNorm(Layer):
    """``y = x / (k + alpha/size * sum of x^2 over size neighbouring channels)^beta``."""

    size: int = 5
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0
    kind: ClassVar[str] = "local_response_norm"

    def __post_init__(self) -> None:
        settle(self, "local response norm", "size")
        for name, usual in (("alpha", 1e-4), ("beta", 0.75), ("k", 1.0)):
            settle(self, "local response norm", name, real, usual=usual, least=0)

    def output(self, *inputs: Shape) -> Shape:
        return maps("local response norm", inputs[0])

    def describe(self) -> str:
        return f"over {self.size} channels"


@dataclass(frozen=True)
class ReLU(Layer):
    """``max(x, 0)``."""

    kind: ClassVar[str] = "relu"


@dataclass(frozen=True)
class Tanh(Layer):
    """The hyperbolic tangent: the f of the single-layer example (A1)."""

    kind: ClassVar[str] = "tanh"


@dataclass(frozen=True)
class Dropout(Layer):
    """Sets each value to 0 with probability p and scales the others by 1 / (1 - p)."""

    p: float = 0.5
    kind: ClassVar[str] = "dropout"

    def __post_init__(self) -> None:
        settle(self, "dropout", "p", real, usual=0.5, least=0, below=1)

    def describe(self) -> str:
        return f"p {self.p:g}"


@dataclass(frozen=True)
class Add(Layer):
    """The sum of two or more inputs of one shape: where a shortcut joins."""

    kind: ClassVar[str] = "add"
    arity: ClassVar[int | None] = None

    def output(self, *inputs: Shape) -> Shape:
        if len(set(inputs)) > 1:
            shapes = " and ".join(text(shape) for shape in inputs)
            raise InputError(
                f"add needs inputs of one shape, got {shapes}; try a 1x1 convolution on one."
            )
        return inputs[0]


@dataclass(frozen=True)
class Concat(Layer):
    """Inputs of one map size side by side along the channels."""

    kind: ClassVar[str] = "concat"
    arity: ClassVar[int | None] = None

    def output(self, *inputs: Shape) -> Shape:
        if len({(len(shape), *shape[1:]) for shape in inputs}) > 1:
            shapes = " and ".join(text(shape) for shape in inputs)
            raise InputError(
                f"concat needs maps of one height and width, got {shapes}; try padding."
            )
        return (sum(shape[0] for shape in inputs), *inputs[0][1:])


@dataclass(frozen=True)
class Flatten(Layer):
    """A map read as a vector: no copy."""

    kind: ClassVar[str] = "flatten"

    def output(self, *inputs: Shape) -> Shape:
        return (prod(inputs[0]),)


@dataclass(frozen=True)
class SoftmaxCrossEntropy(Layer):
    """Softmax over the classes, then the mean of ``-log p[label]``; labels are int64, one for a
    sample or one for each token of a sequence ``(T, classes)``."""

    kind: ClassVar[str] = "softmax_cross_entropy"
    is_loss: ClassVar[bool] = True

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs[0]) > 2:
            raise InputError(
                f"cross entropy needs a vector, got {text(inputs[0])}; try flatten() and linear()."
            )
        return inputs[0]


@dataclass(frozen=True)
class SquaredError(Layer):
    """The mean over the batch of ``sum (y - t)^2``; the target t has the shape of y (A1)."""

    kind: ClassVar[str] = "squared_error"
    is_loss: ClassVar[bool] = True


LAYERS: dict[str, type[Layer]] = {
    layer.kind: layer
    for layer in (
        Linear, Conv2d, MaxPool2d, AvgPool2d, BatchNorm, LocalResponseNorm, ReLU, Tanh, Dropout,
        Add, Concat, Flatten, SoftmaxCrossEntropy, SquaredError,
        Embedding, Positions, LayerNorm, GELU, Patches, ClassToken, FirstToken,
        AttentionScores, AttentionSoftmax, AttentionValues, FusedAttention,
        At, LstmState, LstmOutput,
    )
}  # fmt: skip

__all__ = [
    "GELU", "LAYERS", "Add", "At", "AttentionScores", "AttentionSoftmax", "AttentionValues",
    "AvgPool2d", "BatchNorm", "ClassToken", "Concat", "Conv2d", "Dims", "Dropout", "Embedding",
    "FirstToken", "Flatten", "FusedAttention", "Layer", "LayerNorm", "Linear", "LocalResponseNorm",
    "LstmOutput", "LstmState", "MaxPool2d", "Patches", "Positions", "ReLU", "Shape",
    "SoftmaxCrossEntropy", "SquaredError", "Tanh", "Weights", "text", "window",
]  # fmt: skip
