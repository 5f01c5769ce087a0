"""What the kernels of every device read from a call: operands in order, and a layer's settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memlab.kernels.registry import Array, KernelCall
from memlab.layers import AvgPool2d, Conv2d, Dropout, MaxPool2d
from memlab.step.op import GRADIENT, PARAMETER


class ConvWindow(NamedTuple):
    """How a convolution's kernel moves over an image: sizes of image and output, and the layer's
    settings."""

    height: int
    width: int
    rows: int
    columns: int
    kernel: int
    stride: int
    pad: int
    dilation: int


class Geometry(NamedTuple):
    """Of a pooling: height and width of input, output and window, then stride and padding."""

    height: int
    width: int
    rows: int
    columns: int
    high: int
    wide: int
    stride: int
    pad: int


def inputs(call: KernelCall) -> list[Array]:
    """``x0, x1, ...`` in order."""
    count = sum(name[0] == "x" and name[1:].isdigit() for name in call.arrays)
    return [call[f"x{i}"] for i in range(count)]


def parameters(call: KernelCall, *states: str) -> Iterator[tuple[Array, ...]]:
    """Each parameter of an update with its gradient and its states."""
    for slot in call.slots:
        yield tuple(call[slot.parts[part]] for part in (PARAMETER, GRADIENT, *states))


def dropout_settings(call: KernelCall) -> tuple[int, int, float]:
    """The key, the least number for which a value is kept, and what that is multiplied by."""
    assert isinstance(call.layer, Dropout)
    p = float(call.layer.p)
    # 63 bits: a Python int then has one type in compiled code, and NumPy makes no scalar
    return call.key % 2**63, int(p * 2**63), 1 / (1 - p)


def convolution(call: KernelCall) -> Conv2d:
    """The layer of a convolution."""
    assert isinstance(call.layer, Conv2d)
    return call.layer


def weight_shape(call: KernelCall) -> tuple[int, ...]:
    """Of a convolution: (K, C/g, k, k). The first layer's backward reads no weights, and writes
    their gradient."""
    return tuple(call["weight" if "weight" in call.arrays else "dweight"].shape)


def window(call: KernelCall) -> ConvWindow:
    """That of a convolution."""
    layer, output = convolution(call), "y" if "y" in call.arrays else "dy"
    (height, width), (rows, columns) = call["x"].shape[2:], call[output].shape[2:]
    settings = layer.kernel, layer.stride, layer.padding, layer.dilation
    return ConvWindow(height, width, rows, columns, *settings)


def geometry(call: KernelCall, x: Array, y: Array) -> Geometry:
    """That of a pooling from maps like ``x`` to maps like ``y``."""
    assert isinstance(call.layer, MaxPool2d | AvgPool2d)
    _, channels, height, width = x.shape
    pool = call.layer.geometry((channels, height, width))
    return Geometry(height, width, y.shape[2], y.shape[3], *pool)
