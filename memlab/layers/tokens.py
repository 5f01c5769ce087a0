"""Layers of sequences: a sample is T tokens of F values each, of shape ``(T, F)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from memlab.axes import Shape
from memlab.errors import InputError, known, real
from memlab.layers.layer import Layer, Weights, maps, settle, text, weight_of
from memlab.step.start import ONES

FORMS = ("exact", "tanh")


def sequence(what: str, shape: Shape) -> tuple[int, int]:
    """The shape of a sequence, or the error that ``what`` needs one."""
    if len(shape) != 2:
        raise InputError(
            f"{what} needs a sequence (T, F), got {text(shape)}; "
            "try embedding() on tokens, or patches() on a map."
        )
    return shape


@dataclass(frozen=True)
class Embedding(Layer):
    """A row of a table for each of T tokens, which are whole numbers below ``vocabulary``."""

    vocabulary: int
    features: int
    kind: ClassVar[str] = "embedding"
    can_share: ClassVar[bool] = True

    def __post_init__(self) -> None:
        settle(self, "embedding", "vocabulary")
        settle(self, "embedding", "features")

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


@dataclass(frozen=True)
class Positions(Layer):
    """Adds a learned vector to each place of a sequence."""

    kind: ClassVar[str] = "positions"

    def output(self, *inputs: Shape) -> Shape:
        return sequence("positions", inputs[0])

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        tokens, features = inputs[0]
        return (weight_of((("T", tokens), ("F", features))),)


@dataclass(frozen=True)
class LayerNorm(Layer):
    """Normalises the F values of each token, or of a vector; learns scale and shift
    (Ba, Kiros and Hinton 2016)."""

    epsilon: float = 1e-5
    kind: ClassVar[str] = "layer_norm"

    def __post_init__(self) -> None:
        settle(self, "layer norm", "epsilon", real, usual=1e-5, least=0)

    def output(self, *inputs: Shape) -> Shape:
        return inputs[0] if len(inputs[0]) == 1 else sequence("layer norm", inputs[0])

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        features = (("F", inputs[0][-1]),)
        return Weights("weight", features, ONES), Weights("bias", features)


@dataclass(frozen=True)
class GELU(Layer):
    """``x Phi(x)`` with the normal distribution function Phi, or GPT-2's ``tanh`` in place of it
    (Hendrycks and Gimpel 2016)."""

    form: Literal["exact", "tanh"] = "exact"
    kind: ClassVar[str] = "gelu"

    def __post_init__(self) -> None:
        known("form of GELU", self.form, FORMS)

    def describe(self) -> str:
        return self.form


@dataclass(frozen=True)
class Patches(Layer):
    """A map ``(C, H, W)`` as a sequence: a token for each place, a feature for each channel."""

    kind: ClassVar[str] = "patches"

    def output(self, *inputs: Shape) -> Shape:
        channels, height, width = maps("patches", inputs[0])
        return height * width, channels


@dataclass(frozen=True)
class ClassToken(Layer):
    """One learned token before all others."""

    kind: ClassVar[str] = "class_token"

    def output(self, *inputs: Shape) -> Shape:
        tokens, features = sequence("class token", inputs[0])
        return tokens + 1, features

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        return (Weights("token", (("F", inputs[0][-1]),)),)


@dataclass(frozen=True)
class FirstToken(Layer):
    """The first token of a sequence, as a vector."""

    kind: ClassVar[str] = "first_token"

    def output(self, *inputs: Shape) -> Shape:
        return sequence("first token", inputs[0])[1:]
