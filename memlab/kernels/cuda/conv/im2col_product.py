"""Convolution by lowering, one image at a time or the whole batch, then matrix products.

The products are those of the CPU's kernels: with images lowered to matrices ``L``, ``Y = W L``,
``dW = dY L^T`` added up over the images, and ``dL = W^T dY``, which col2im adds up. A pointwise
convolution needs no workspace: its ``L`` is the image.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from memlab.kernels.cuda.conv.im2col import fold, lower
from memlab.kernels.cuda.conv.matrix_product import Operand, multiply
from memlab.kernels.cuda.flat_arrays import line, pitch
from memlab.kernels.cuda.layers.linear import add_bias, sum_bias
from memlab.kernels.operands import conv_window, convolution, weight_shape
from memlab.kernels.registry import KernelCall, kernel


@kernel("conv2d", "im2col-image")
def conv2d(call: KernelCall, together: int = 1) -> None:
    """Compute ``Y = W L`` plus the bias, with ``together`` images lowered at a time.

    Shapes: x (B, C, H, W), weight (K, C/g, k, k), bias (K,), y (B, K, Ho, Wo).
    """
    weight, groups = _weight(call, "weight"), convolution(call).groups
    for images in _portions(call, together):
        x, y = _part(call["x"], images), _part(call["y"], images)
        lowered, out = _lower(call, x), _maps(call, y)
        multiply(weight, lowered, out, _extents(call, y), images=len(x), groups=groups)
    add_bias(call, call["y"])


@kernel("conv2d", "im2col-batch")
def conv2d_batch(call: KernelCall) -> None:
    """Compute ``Y = W L`` plus the bias, with all images lowered first."""
    conv2d(call, len(call["x"]))


@kernel("conv2d.backward", "im2col-image")
def conv2d_backward(call: KernelCall, together: int = 1) -> None:
    """Compute ``dW = dY L^T`` over all images, and ``dX`` from ``dL = W^T dY``, with ``together``
    images lowered at a time.

    Shapes are those of ``conv2d``; each gradient has the shape of its tensor.
    """
    for images in _portions(call, together):
        dy = _part(call["dy"], images)
        if call.learns:
            _add_weight_gradient(call, dy, images)
        if "dx" in call.arrays:
            _input_gradient(call, dy, _part(call["dx"], images))
    sum_bias(call, call["dy"])


@kernel("conv2d.backward", "im2col-batch")
def conv2d_batch_backward(call: KernelCall) -> None:
    """Compute ``dW = dY L^T`` and ``dX`` from ``dL = W^T dY``, with all images lowered first."""
    conv2d_backward(call, len(call["dy"]))


def _add_weight_gradient(call: KernelCall, dy: Any, images: range) -> None:
    """Add what some images contribute to ``dW = dY L^T``."""
    x, adds = _part(call["x"], images), call.accumulate_weights or images.start > 0
    right, (outer, places, inner) = _lower(call, x).transposed, _extents(call, dy)
    multiply(
        _maps(call, dy), right, _weight(call, "dweight"), (outer, inner, places), adds,
        images=len(x), groups=convolution(call).groups, summed=True,
    )  # fmt: skip


def _input_gradient(call: KernelCall, dy: Any, dx: Any) -> None:
    """Compute ``dX`` of some images from their ``dL = W^T dY``."""
    weight, groups = _weight(call, "weight").transposed, convolution(call).groups
    outer, places, inner = _extents(call, dy)
    pointwise = "workspace" not in call.arrays
    target = _maps(call, dx) if pointwise else _lowered(call)
    multiply(
        weight, _maps(call, dy), target, (inner, places, outer), pointwise and call.accumulate,
        images=len(dy), groups=groups,
    )  # fmt: skip
    if not pointwise:
        fold(call["workspace"], dx, conv_window(call), call.accumulate)


def _portions(call: KernelCall, together: int) -> Iterator[range]:
    """Yield ranges of the images that are lowered together."""
    batch = len(call["x" if "x" in call.arrays else "dy"])
    for first in range(0, batch, together):
        yield range(first, first + together)


def _part(array: Any, images: range) -> Any:
    """View of some images; the array itself if these are all."""
    return array if len(images) == len(array) else array[images.start : images.stop]


def _extents(call: KernelCall, maps: Any) -> tuple[int, int, int]:
    """Output maps of a group, places of a map, and values under a kernel of a group."""
    outer, *inner = weight_shape(call)
    return outer // convolution(call).groups, prod(maps.shape[2:]), prod(inner)


def _weight(call: KernelCall, name: str) -> Operand:
    """All weights, or their gradient, as matrices with a row for each output map."""
    array, inner = call[name], prod(call[name].shape[1:])
    return Operand(line(array), inner, group=len(array) // convolution(call).groups * inner)


def _maps(call: KernelCall, maps: Any) -> Operand:
    """Maps of some images, as matrices with a row for each map."""
    channels, places = maps.shape[1], prod(maps.shape[2:])
    group = channels // convolution(call).groups * places
    return Operand(line(maps), places, image=pitch(maps), group=group)


def _lower(call: KernelCall, x: Any) -> Operand:
    """Lower some images into the workspace; without a workspace, the images are their own lowered
    matrices."""
    if "workspace" not in call.arrays:
        return _maps(call, x)
    lower(x, call["workspace"], conv_window(call))
    return _lowered(call)


def _lowered(call: KernelCall) -> Operand:
    """Workspace as matrices with a row for each value under a kernel."""
    at, groups, inner = conv_window(call), convolution(call).groups, prod(weight_shape(call)[1:])
    group = inner * at.rows * at.columns
    return Operand(line(call["workspace"]), at.rows * at.columns, image=groups * group, group=group)
