"""Base class of all layers: the shape of the output, the arrays that a layer owns, and its costs.

A shape is per sample, without the batch: ``(C, H, W)`` for maps, ``(F,)`` for vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from memlab.axes import Dims, Shape
from memlab.errors import InputError, whole_number
from memlab.layers.layer_kind import Buffers, Extras, Flops, LayerKind
from memlab.moved import old_names
from memlab.step.initial_values import ZEROS, InitialValue, he
from memlab.step.rewrite_traits import RerunRule
from memlab.step.tensor import Tensor

VALUES = 10**24
"""The most values of one array: no memory holds as many, and what follows from it stays in the
range of floats."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Array that a layer owns, either trained (a parameter) or only updated (a buffer), and its
    initial values."""

    name: str
    dims: Dims
    start: InitialValue = ZEROS

    @property
    def count(self) -> int:
        """Number of values of the array."""
        return prod(extent for _, extent in self.dims)


LAYERS: dict[str, type[Layer]] = {}
"""Every kind of layer: the classes with a row, by their kind."""


@dataclass(frozen=True)
class Layer:
    """Base of all layers. Its class has a ``kind``, which keys the kernels, and a ``row``, which
    holds for all layers of that kind.

    ``y`` is the shape of its output and ``inputs`` are those of its inputs.
    """

    kind: ClassVar[str] = ""
    row: ClassVar[LayerKind]
    arity: ClassVar[int | None] = 1
    """The most inputs that it takes; ``None``: two or more."""
    of_input: ClassVar[bool] = False
    """Whether it reads the input of the network alone, and so hands no gradient back."""
    of_tokens: ClassVar[bool] = False
    """Whether it reads whole numbers below the vocabulary of a network, and nothing else."""
    can_share: ClassVar[bool] = False
    """Whether several layers may use its parameters."""

    def __init_subclass__(cls) -> None:
        """Register a subclass that has a row as a kind of layer.

        Raises:
            InputError: another class has its kind.
        """
        super().__init_subclass__()
        if "row" in vars(cls):
            known = LAYERS.setdefault(cls.kind, cls)
            if known.__qualname__ != cls.__qualname__:
                raise InputError(
                    f"{cls.__name__} is of the kind {cls.kind!r}, which {known.__name__} is "
                    "already; give it a kind of its own."
                )
            LAYERS[cls.kind] = cls

    def output(self, *inputs: Shape) -> Shape:
        """Return the output shape per sample.

        Raises:
            InputError: the inputs do not fit this layer.
        """
        return inputs[0]

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        """Return the arrays that training changes."""
        return ()

    def buffers(self, *inputs: Shape) -> tuple[Weights, ...]:
        """Return the arrays that a step updates without a gradient."""
        return ()

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        """Return the operations of arithmetic of the layer."""
        raise NotImplementedError(f"{type(self).__name__} says nothing of its operations")

    def extras(self, y: Shape, *inputs: Shape) -> Extras:
        """Arrays that forward writes for backward alone."""
        return {}

    def workspace(self, backward: bool, y: Shape, *inputs: Shape) -> Buffers:
        """Buffers that the operation of the layer, forward or backward, needs
        beside its operands."""
        return {}

    def choose(self, way: str, backward: bool, y: Shape, *inputs: Shape) -> tuple[str, Buffers]:
        """Return the algorithm that computes the operation where ``way`` is requested, and its
        workspace. The name is empty for a layer with a single algorithm."""
        return "", self.workspace(backward, y, *inputs)

    def again(self, y: Shape, *inputs: Shape) -> RerunRule | None:
        """Rule by which forward runs another time where it updates buffers; ``None``: it may run
        once."""
        return None

    def view(self, name: str, axes: Dims, x: Tensor) -> Tensor:
        """Return the output as a view of the input: all of it under another name and shape, or a
        part of it."""
        return x.view(name, axes)

    def describe(self) -> str:
        """Return the settings of the layer in a few words, for tables."""
        return ""


@dataclass(frozen=True)
class Node:
    """Layer in its place in a network. Shapes are per sample.

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
    def owner(self) -> str:
        """Name of the layer whose parameters it uses: its own, or the one it shares them with."""
        return self.shares or self.name

    @property
    def kind(self) -> str:
        """Name of the kind of its layer."""
        return self.layer.kind

    @property
    def row(self) -> LayerKind:
        """Row of the kind of its layer."""
        return self.layer.row

    @cached_property
    def flops(self) -> Flops:
        """Return the operations of arithmetic of its layer."""
        return self.layer.flops(self.shape, *self.input_shapes)

    @property
    def settings(self) -> str:
        """Settings of the layer in a few words, for tables."""
        described = self.layer.describe()
        return f"{described}, parameters of {self.shares}" if self.shares else described


def text(shape: Shape) -> str:
    """Return a shape as text: ``64x112x112``."""
    return "x".join(str(extent) for extent in shape)


def maps(what: str, shape: Shape) -> tuple[int, int, int]:
    """Return the shape of a map as C, H, W; raise an error that ``what`` needs a map otherwise."""
    if len(shape) != 3:
        raise InputError(
            f"{what} needs a map (C, H, W), got {text(shape)}; try it before flatten()."
        )
    return shape


def sequence(what: str, shape: Shape) -> tuple[int, int]:
    """Return the shape of a sequence as T, F; raise an error that ``what`` needs a sequence
    otherwise."""
    if len(shape) != 2:
        raise InputError(
            f"{what} needs a sequence (T, F), got {text(shape)}; "
            "try embedding() on tokens, or patches() on a map."
        )
    return shape


def window(
    what: str, size: int, kernel: int, stride: int, pad: int, dilation: int = 1, ceil: bool = False
) -> int:
    """Return the number of places of a sliding window along one axis (Dumoulin and Visin 2016,
    section 4).

    Raises:
        InputError: the kernel is wider than the padded input.
    """
    room = size + 2 * pad - dilation * (kernel - 1) - 1
    places = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (places - 1) * stride >= size + pad:
        places -= 1
    if places < 1 or (room < 0 and not ceil):
        reach = dilation * (kernel - 1) + 1
        raise InputError(
            f"{what}: a kernel that reaches over {reach} does not fit into {size} + 2 x {pad} "
            "of padding; try a larger image, a smaller kernel or more padding."
        )
    return places


def weight_of(dims: Dims) -> Weights:
    """Return the weight of a layer, with one row for each output."""
    return Weights("weight", dims, he(dims))


def bias_of(count: int, wanted: bool) -> tuple[Weights, ...]:
    """Return the bias of a layer, or nothing where it is not wanted."""
    return (Weights("bias", (("K", count),)),) if wanted else ()


def countable(what: str, *counts: int) -> None:
    """Raise an error for arrays with more values than any memory holds."""
    if max(counts) > VALUES:
        raise InputError(
            f"{what} makes an array of {max(counts):,} values; try at most {VALUES:,}."
        )


def validate(
    layer: Layer, what: str, name: str, check: Callable[..., object] = whole_number, **bounds: Any
) -> None:
    """Check a setting and store the checked value. A size becomes an ``int``, because 3.0 and
    NumPy's integers would otherwise reach the byte counts."""
    object.__setattr__(layer, name, check(f"{what}: {name}", getattr(layer, name), **bounds))


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
