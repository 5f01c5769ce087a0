"""Convolution by lowering, one image at a time or the whole batch, then matrix products.

With an image lowered to a matrix ``L`` of (C k k) by (Ho Wo), a convolution is ``Y = W L``. Its
gradients are ``dW = dY L^T``, added up over the images, and ``dL = W^T dY``, which col2im adds up
to the gradient of the image. One workspace holds ``L``, then ``dL``, of the images that are lowered
together. A pointwise convolution needs no workspace: its ``L`` is the image.
"""

from __future__ import annotations

from collections.abc import Iterator

from memlab.kernels.cpu.blas import gemm
from memlab.kernels.cpu.conv.im2col import col2im, im2col
from memlab.kernels.cpu.flat_arrays import matrix
from memlab.kernels.cpu.layers.linear import add_bias, sum_bias
from memlab.kernels.operands import convolution
from memlab.kernels.registry import Array, KernelCall, kernel
from memlab.layers import Conv2d


@kernel("conv2d", "im2col-image")
def conv2d(call: KernelCall, together: int = 1) -> None:
    """Compute ``Y = W L`` plus the bias, with ``together`` images lowered at a time.

    Shapes: x (B, C, H, W), weight (K, C/g, k, k), bias (K,), y (B, K, Ho, Wo).
    """
    x, y, layer = call["x"], call["y"], convolution(call)
    for images in _portions(len(x), together):
        for b, lowered in _lower(call, x, images):
            for w, rows, out in _groups(layer.groups, call["weight"], lowered, y[b]):
                gemm(w, rows, out)
    if "bias" in call.arrays:
        add_bias(y, call["bias"])


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
    dy, layer = call["dy"], convolution(call)
    for images in _portions(len(dy), together):
        if call.learns:
            _weight_gradients(call, images, layer)
        if "dx" in call.arrays:
            _input_gradients(call, images, layer)
    if "dbias" in call.arrays:
        sum_bias(dy, call["dbias"], call.accumulate_weights)


@kernel("conv2d.backward", "im2col-batch")
def conv2d_batch_backward(call: KernelCall) -> None:
    """Compute ``dW = dY L^T`` and ``dX`` from ``dL = W^T dY``, with all images lowered first."""
    conv2d_backward(call, len(call["dy"]))


def _weight_gradients(call: KernelCall, images: range, layer: Conv2d) -> None:
    """Add what some images contribute to ``dW = dY L^T``."""
    x, dy, dweight, adds = call["x"], call["dy"], call["dweight"], call.accumulate_weights
    for b, lowered in _lower(call, x, images):
        for dw, rows, out in _groups(layer.groups, dweight, lowered, dy[b]):
            gemm(out, rows, dw, accumulate=adds or b > 0, transpose_b=True)


def _input_gradients(call: KernelCall, images: range, layer: Conv2d) -> None:
    """Compute ``dX`` of some images from their ``dL = W^T dY``."""
    workspace, dx = _workspace(call), call["dx"]
    for b in images:
        target = dx[b] if workspace is None else workspace[b - images.start]
        adds = workspace is None and call.accumulate
        for w, rows, out in _groups(layer.groups, call["weight"], target, call["dy"][b]):
            gemm(w, out, rows, accumulate=adds, transpose_a=True)
    if workspace is not None:
        settings = layer.stride, layer.padding, layer.dilation
        for b in images:
            col2im(workspace[b - images.start], dx[b], *settings, call.accumulate)


def _portions(batch: int, together: int) -> Iterator[range]:
    """Yield ranges of the images that are lowered together."""
    for first in range(0, batch, together):
        yield range(first, min(first + together, batch))


def _lower(call: KernelCall, x: Array, images: range) -> list[tuple[int, Array]]:
    """Lower some images; return the index of each image with its lowered matrix."""
    workspace, layer = _workspace(call), convolution(call)
    if workspace is None:
        return [(b, x[b]) for b in images]
    for b in images:
        place = workspace[b - images.start]
        im2col(x[b], place, layer.stride, layer.padding, layer.dilation)
    return [(b, workspace[b - images.start]) for b in images]


def _groups(groups: int, weight: Array, lowered: Array, out: Array) -> list[tuple[Array, ...]]:
    """Kernels, lowered rows and output maps of each group, as matrices."""
    matrices = (matrix(weight), lowered.reshape(-1, out[0].size), matrix(out))
    parts = [[len(array) // groups * g for g in range(groups + 1)] for array in matrices]
    return [
        tuple(array[cut[g] : cut[g + 1]] for array, cut in zip(matrices, parts, strict=True))
        for g in range(groups)
    ]


def _workspace(call: KernelCall) -> Array | None:
    """Workspace for lowered images, (images, C, k, k, Ho, Wo); None for a pointwise convolution."""
    workspace = call.arrays.get("workspace")
    return workspace if workspace is None or workspace.ndim == 6 else workspace[None]
