"""Bytes that follow from shapes, each with the values that people get who make a usual mistake.

A card takes the mistakes from here and its truth from a plan; a test compares the two values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import NamedTuple

from memlab.axes import Shape
from memlab.errors import InputError
from memlab.layers import Conv2d
from memlab.layers.layer import Node
from memlab.lesson.misconceptions import Mistake
from memlab.optimizers import OPTIMIZERS

FP32 = 4


class Quantity(NamedTuple):
    """A number of bytes, and the mistakes that lead to other numbers."""

    nbytes: int
    causes: tuple[Mistake, ...]


def feature_map(node: Node, batch: int, value_bytes: int = FP32) -> Quantity:
    """Bytes of the output of a layer for ``batch`` samples, ``value_bytes`` bytes per value, with
    the usual mistakes."""
    nbytes = batch * prod(node.shape) * value_bytes
    causes = [*_units(nbytes, value_bytes), *_batch(nbytes, batch), _cause("gradients", 2 * nbytes)]
    if isinstance(node.layer, Conv2d):
        channels, *size = node.shape
        (inner, *_), *_ = node.input_shapes
        causes.append(_cause("channels", nbytes * Fraction(inner, channels), channels=channels))
        for name, value, values in _places(node):
            causes.append(_cause(name, Fraction(nbytes * value, prod(size)), **values))
    return Quantity(nbytes, _wrong(nbytes, causes))


def lowered(node: Node, batch: int, value_bytes: int = FP32) -> Quantity:
    """Bytes of the lowered copy (im2col) of a convolution's input, with the usual mistakes:
    B·C·k²·Ho·Wo values (A8, G2).

    Raises:
        InputError: the layer is no convolution.
    """
    layer = _convolution(node)
    k, places = layer.kernel, prod(node.shape[1:])
    source = batch * prod(node.input_shapes[0]) * value_bytes
    nbytes = batch * node.input_shapes[0][0] * k * k * places * value_bytes
    causes = [
        *_units(nbytes, value_bytes),
        *_batch(nbytes, batch),
        _cause("one_k", Fraction(nbytes, k), k=k),
        _cause("not_lowered", source),
        _cause("lowered_twice", nbytes * k * k, squared=k * k),
    ]
    for name, value, values in _places(node):
        causes.append(_cause(name, Fraction(nbytes * value, places), **values))
    return Quantity(nbytes, _wrong(nbytes, causes))


def parameters(node: Node, value_bytes: int = FP32) -> Quantity:
    """Bytes of the weights and biases of a layer, with the usual mistakes.

    Raises:
        InputError: the layer has no parameters.
    """
    if not node.parameters:
        raise InputError(f"{node.name!r} has no parameters; take a convolution or a linear layer.")
    weight, *bias = (array.count for array in node.parameters)
    nbytes = (weight + sum(bias)) * value_bytes
    held = (("gradients", 2), ("momentum", 3), ("adam", 4))
    causes = [*_units(nbytes, value_bytes), *(_cause(name, times * nbytes) for name, times in held)]
    if bias:
        causes.append(_cause("bias", weight * value_bytes))
    if isinstance(node.layer, Conv2d):
        k, groups = node.layer.kernel, node.layer.groups
        channels = node.input_shapes[0][0]
        causes.append(_cause("one_k", (Fraction(weight, k) + sum(bias)) * value_bytes, k=k))
        whole = (weight * groups + sum(bias)) * value_bytes
        causes.append(_cause("groups", whole, inputs=channels // groups, channels=channels))
    return Quantity(nbytes, _wrong(nbytes, causes))


def model_state(count: int, optimizer: str, value_bytes: int = FP32) -> Quantity:
    """Bytes of ``count`` parameters, their gradients and the optimizer state, with the usual
    mistakes: 2, 3 or 4 arrays (B1, F1)."""
    arrays = OPTIMIZERS[optimizer].arrays
    nbytes = arrays * count * value_bytes
    forgotten = _cause(
        "one_array", (arrays - 1) * count * value_bytes, arrays=arrays, states=arrays - 2
    )
    causes = [*_units(nbytes, value_bytes), forgotten]
    if arrays == 4:
        causes.append(_cause("optimizer", 2 * count * value_bytes))
    return Quantity(nbytes, _wrong(nbytes, causes))


# -- mistakes -----------------------------------------------------------------------------------


def _cause(name: str, value: Fraction | int, **values: object) -> Mistake:
    return Mistake(name, Fraction(value), values)


def _wrong(nbytes: int, causes: list[Mistake]) -> tuple[Mistake, ...]:
    """Return the mistakes that change the result: with stride 1 nobody can forget the stride."""
    return tuple(cause for cause in causes if cause.value != nbytes)


def _units(nbytes: int, value_bytes: int) -> list[Mistake]:
    """Return the mistakes of counting bits, or values, instead of bytes."""
    values = _cause("values", Fraction(nbytes, value_bytes), bytes=value_bytes)
    return [_cause("bits", 8 * nbytes), values]


def _batch(nbytes: int, batch: int) -> list[Mistake]:
    return [_cause("batch", Fraction(nbytes, batch), batch=batch)]


def _places(node: Node) -> Iterator[tuple[str, int, dict[str, object]]]:
    """Yield the name of a mistake, the output places it leads to, and the values its text names: a
    forgotten stride, one counted in one direction, forgotten padding."""
    layer = _convolution(node)
    shape, places = node.input_shapes[0], prod(node.shape[1:])
    s = layer.stride
    yield "stride", _size(replace(layer, stride=1), shape), {"stride": s}
    yield "stride_once", places * s, {"squared": s * s}
    if min(shape[1:]) > layer.dilation * (layer.kernel - 1):
        yield "padding", _size(replace(layer, pad=0), shape), {}


def _size(layer: Conv2d, shape: Shape) -> int:
    return prod(layer.output(shape)[1:])


def _convolution(node: Node) -> Conv2d:
    if not isinstance(node.layer, Conv2d):
        raise InputError(f"{node.name!r} is {node.kind}, and a convolution is needed.")
    return node.layer
