"""Operands of a call and settings of its layer, as the kernels of every device read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memlab.kernels.registry import Array, KernelCall
from memlab.layers import AvgPool2d, Conv2d, Dropout, MaxPool2d
from memlab.step.op import GRADIENT, PARAMETER


class ConvWindow(NamedTuple):
    """Sizes of a convolution: height and width of the image, rows and columns of the output, size
    of the kernel, then stride, padding and dilation."""

    height: int
    width: int
    rows: int
    columns: int
    kernel: int
    stride: int
    pad: int
    dilation: int


class Geometry(NamedTuple):
    """Sizes of a pooling: height and width of the input, rows and columns of the output, height
    (``high``) and width (``wide``) of the window, then stride and padding."""

    height: int
    width: int
    rows: int
    columns: int
    high: int
    wide: int
    stride: int
    pad: int


def inputs(call: KernelCall) -> list[Array]:
    """Inputs ``x0, x1, ...`` of a call, in order."""
    count = sum(name[0] == "x" and name[1:].isdigit() for name in call.arrays)
    return [call[f"x{i}"] for i in range(count)]


def parameters(call: KernelCall, *states: str) -> Iterator[tuple[Array, ...]]:
    """Yield, for each parameter of an update, a tuple of the parameter, its gradient and the named
    states."""
    for slot in call.slots:
        yield tuple(call[slot.parts[part]] for part in (PARAMETER, GRADIENT, *states))


def dropout_settings(call: KernelCall) -> tuple[int, int, float]:
    """Key of the random numbers, the least of them for which a value is kept, and the factor of
    kept values."""
    assert isinstance(call.layer, Dropout)
    p = float(call.layer.p)
    # 63 bits: a Python int then has one type in compiled code, and NumPy makes no scalar
    return call.key % 2**63, int(p * 2**63), 1 / (1 - p)


def convolution(call: KernelCall) -> Conv2d:
    """Layer of a call that computes a convolution."""
    assert isinstance(call.layer, Conv2d)
    return call.layer


def weight_shape(call: KernelCall) -> tuple[int, ...]:
    """Shape of a convolution's weights: (K, C/g, k, k).

    It is read from the gradient of the weights where a call has no weights: the backward of a first
    layer.
    """
    return tuple(call["weight" if "weight" in call.arrays else "dweight"].shape)


def conv_window(call: KernelCall) -> ConvWindow:
    """Sizes and settings of the convolution that a call computes. The backward of a frozen one has
    no input, only its gradient."""
    layer, output = convolution(call), "y" if "y" in call.arrays else "dy"
    image = "x" if "x" in call.arrays else "dx"
    (height, width), (rows, columns) = call[image].shape[2:], call[output].shape[2:]
    settings = layer.kernel, layer.stride, layer.padding, layer.dilation
    return ConvWindow(height, width, rows, columns, *settings)


def pool_geometry(call: KernelCall, x: Array, y: Array) -> Geometry:
    """Sizes and settings of the pooling that a call computes.

    Args:
        call: a call whose layer is a pooling.
        x: the input or its gradient, (B, C, H, W).
        y: the output or its gradient, (B, C, Ho, Wo).
    """
    assert isinstance(call.layer, MaxPool2d | AvgPool2d)
    _, channels, height, width = x.shape
    pool = call.layer.geometry((channels, height, width))
    return Geometry(height, width, y.shape[2], y.shape[3], *pool)
