"""What every layer answers: the shape it makes of its inputs, the arrays it owns.

A shape is per sample, without the batch: ``(C, H, W)`` for maps, ``(F,)`` for vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from memlab.axes import Dims, Shape
from memlab.errors import InputError, whole
from memlab.step.start import ZEROS, Start, he

VALUES = 10**24
"""The most values of one array: no memory holds as many, and what follows from it stays in the
range of floats."""


@dataclass(frozen=True, slots=True)
class Weights:
    """One array that a layer owns, trained (a parameter) or only kept (a buffer), and how it
    begins."""

    name: str
    dims: Dims
    start: Start = ZEROS

    @property
    def count(self) -> int:
        """How many values it holds."""
        return prod(extent for _, extent in self.dims)


@dataclass(frozen=True)
class Layer:
    """What every layer answers. ``kind`` keys the registries of rules and kernels."""

    kind: ClassVar[str] = ""
    arity: ClassVar[int | None] = 1
    """The most inputs that it takes; ``None``: two or more."""
    is_loss: ClassVar[bool] = False
    of_input: ClassVar[bool] = False
    """Whether it reads the input of the network alone, and so hands no gradient back."""
    can_share: ClassVar[bool] = False
    """Whether several layers may use its parameters."""

    def output(self, *inputs: Shape) -> Shape:
        """The shape per sample that comes out.

        Raises:
            InputError: the inputs do not fit this layer.
        """
        return inputs[0]

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        """The arrays that training changes."""
        return ()

    def buffers(self, *inputs: Shape) -> tuple[Weights, ...]:
        """The arrays that a step changes without a gradient."""
        return ()

    def describe(self) -> str:
        """The settings in a few words, for tables."""
        return ""


@dataclass(frozen=True, slots=True)
class Node:
    """One layer in its place. Shapes are per sample.

    ``shares`` names the layer whose parameters it uses; then it has none of its own.
    """

    name: str
    layer: Layer
    inputs: tuple[str, ...]
    input_shapes: tuple[Shape, ...]
    shape: Shape
    stage: str = ""
    parameters: tuple[Weights, ...] = ()
    buffers: tuple[Weights, ...] = ()
    shares: str = ""

    @property
    def kind(self) -> str:
        """The kind of its layer."""
        return self.layer.kind

    @property
    def settings(self) -> str:
        """Those of its layer in a few words, for tables."""
        described = self.layer.describe()
        return f"{described}, parameters of {self.shares}" if self.shares else described


def text(shape: Shape) -> str:
    """A shape as people write it: ``64x112x112``."""
    return "x".join(str(extent) for extent in shape)


def maps(what: str, shape: Shape) -> tuple[int, int, int]:
    """The shape of a map, or the error that ``what`` needs one."""
    if len(shape) != 3:
        raise InputError(
            f"{what} needs a map (C, H, W), got {text(shape)}; try it before flatten()."
        )
    return shape


def weight_of(dims: Dims) -> Weights:
    """The weight of a layer, one row for each output."""
    return Weights("weight", dims, he(dims))


def bias_of(count: int, wanted: bool) -> tuple[Weights, ...]:
    """The bias of a layer, where it has one."""
    return (Weights("bias", (("K", count),)),) if wanted else ()


def countable(what: str, *counts: int) -> None:
    """Refuse arrays of more values than any memory holds."""
    if max(counts) > VALUES:
        raise InputError(
            f"{what} makes an array of {max(counts):,} values; try at most {VALUES:,}."
        )


def settle(
    layer: Layer, what: str, name: str, check: Callable[..., object] = whole, **bounds: Any
) -> None:
    """Store a setting as it was checked: a size as ``int``, for 3.0 and NumPy's integers would
    reach the byte counts."""
    object.__setattr__(layer, name, check(f"{what}: {name}", getattr(layer, name), **bounds))
