"""Layers that normalise: over the batch, over neighbouring channels, over the values of a token."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from memlab.axes import Shape, dims
from memlab.errors import real_number
from memlab.layers.layer import Layer, Weights, maps, sequence, validate
from memlab.layers.layer_kind import IN_PLACE, Buffer, Buffers, Extras, Flops, LayerKind, by_value
from memlab.step.initial_values import ONES, InitialValue
from memlab.step.rewrite_traits import RerunRule, SplitAxis
from memlab.step.storage import Size

_STATISTICS = ("mean", "inverse_deviation")


@dataclass(frozen=True)
class BatchNorm(Layer):
    """Batch normalization: each channel is normalized over the batch, then scaled and shifted by
    learned values (Ioffe and Szegedy 2015)."""

    epsilon: float = 1e-5
    momentum: float = 0.1
    kind: ClassVar[str] = "batch_norm"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x", "weight"), cut=SplitAxis.CHANNELS, cheap=True, over=IN_PLACE,
        apart=True, joins=True, stem="norm",
    )  # fmt: skip

    def __post_init__(self) -> None:
        validate(self, "batch norm", "epsilon", real_number, usual=1e-5, least=0)
        validate(self, "batch norm", "momentum", real_number, usual=0.1, least=0)

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        channels = (("C", inputs[0][0]),)
        return Weights("weight", channels, ONES), Weights("bias", channels)

    def buffers(self, *inputs: Shape) -> tuple[Weights, ...]:
        channels = (("C", inputs[0][0]),)
        return Weights("running_mean", channels), Weights(
            "running_var", channels, InitialValue(1.0, squares=True)
        )

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        values, channels = prod(y), y[0]
        return Flops(
            forward=Size(11 * channels, 8 * values),
            weights=Size(0, 5 * values),
            input=Size(4 * channels, 5 * values),
            inference=Size(3 * channels, 4 * values),
        )

    def extras(self, y: Shape, *inputs: Shape) -> Extras:
        """Mean and inverse deviation of each channel."""
        return dict.fromkeys(_STATISTICS, (dims(y, batched=False)[:1], None))

    def again(self, y: Shape, *inputs: Shape) -> RerunRule:
        """Return the rule that recomputes the output from the mean and the deviation of the batch,
        which are small and kept. The running statistics must be updated only once."""
        return RerunRule(_STATISTICS, Size(y[0], 3 * prod(y)))


@dataclass(frozen=True)
class LocalResponseNorm(Layer):
    """Local response normalization: ``y = x / (k + alpha/size * sum of x^2 over size neighbouring
    channels)^beta``."""

    size: int = 5
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0
    kind: ClassVar[str] = "local_response_norm"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x",), cut=SplitAxis.SAMPLES, cheap=False, stem="norm"
    )

    def __post_init__(self) -> None:
        validate(self, "local response norm", "size")
        for name, usual in (("alpha", 1e-4), ("beta", 0.75), ("k", 1.0)):
            validate(self, "local response norm", name, real_number, usual=usual, least=0)

    def output(self, *inputs: Shape) -> Shape:
        return maps("local response norm", inputs[0])

    def describe(self) -> str:
        return f"over {self.size} channels"

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        return by_value(y, 2 * self.size + 3, 3 * self.size + 8)

    def workspace(self, backward: bool, y: Shape, *inputs: Shape) -> Buffers:
        return {"workspace": Buffer(dims(y, batched=False))} if backward else {}


@dataclass(frozen=True)
class LayerNorm(Layer):
    """Layer normalization: the F values of each token, or of a vector, are normalized, then scaled
    and shifted by learned values (Ba, Kiros and Hinton 2016)."""

    epsilon: float = 1e-5
    kind: ClassVar[str] = "layer_norm"
    row: ClassVar[LayerKind] = LayerKind(
        keeps=("x",), cut=SplitAxis.SAMPLES, cheap=True, over=IN_PLACE,
        to_pass_on=("weight",), devices=("cpu",),
    )  # fmt: skip

    def __post_init__(self) -> None:
        validate(self, "layer norm", "epsilon", real_number, usual=1e-5, least=0)

    def output(self, *inputs: Shape) -> Shape:
        return inputs[0] if len(inputs[0]) == 1 else sequence("layer norm", inputs[0])

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        features = (("F", inputs[0][-1]),)
        return Weights("weight", features, ONES), Weights("bias", features)

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        *rows, features = y
        tokens = prod(rows)
        return Flops(
            forward=Size(0, tokens * (8 * features + 5)),
            weights=Size(0, tokens * 5 * features),
            input=Size(0, tokens * (10 * features + 2)),
        )

    def extras(self, y: Shape, *inputs: Shape) -> Extras:
        """Mean and inverse deviation of each token."""
        return dict.fromkeys(_STATISTICS, (dims(y)[:-1], None))
