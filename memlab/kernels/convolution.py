"""Convolution by lowering one image at a time, then matrix products.

With the image lowered to a matrix ``L`` of (C k k) by (Ho Wo), a convolution is ``Y = W L``. Its
gradients are ``dW = dY L^T``, added up over the images, and ``dL = W^T dY``, which col2im adds up
to the gradient of the image. One workspace holds ``L``, then ``dL``. A pointwise convolution needs
none: its ``L`` is the image.
"""

from __future__ import annotations

from memlab.kernels.arrays import matrix
from memlab.kernels.blas import gemm
from memlab.kernels.linear import add_bias, sum_bias
from memlab.kernels.lowering import col2im, im2col
from memlab.kernels.registry import Array, Call, kernel
from memlab.networks.windows import Conv2d

ALGORITHM = "im2col-image"


@kernel("conv2d", ALGORITHM)
def conv2d(call: Call) -> None:
    """``Y = W L`` for every image."""
    x, weight, y = call["x"], call["weight"], call["y"]
    layer, workspace = _layer(call), _workspace(call)
    for b in range(len(x)):
        lowered = _lower(x[b], workspace, layer)
        for w, rows, out in _groups(layer.groups, weight, lowered, y[b]):
            gemm(w, rows, out)
    if "bias" in call.arrays:
        add_bias(y, call["bias"])


@kernel("conv2d.backward", ALGORITHM)
def conv2d_backward(call: Call) -> None:
    """``dW = dY L^T`` over all images, and ``dX`` of every image from ``dL = W^T dY``."""
    x, dy, dweight = call["x"], call["dy"], call["dweight"]
    layer, workspace = _layer(call), _workspace(call)
    for b in range(len(x)):
        lowered = _lower(x[b], workspace, layer)
        for dw, rows, out in _groups(layer.groups, dweight, lowered, dy[b]):
            gemm(out, rows, dw, accumulate=b > 0, transpose_b=True)
        if "dx" in call.arrays:
            _input_gradient(call, b, layer, workspace)
    if "dbias" in call.arrays:
        sum_bias(dy, call["dbias"])


def _input_gradient(call: Call, b: int, layer: Conv2d, workspace: Array | None) -> None:
    """``dX`` of one image from ``dL = W^T dY``."""
    dx = call["dx"][b]
    pointwise = workspace is None
    target = dx if workspace is None else workspace
    for w, rows, out in _groups(layer.groups, call["weight"], target, call["dy"][b]):
        gemm(w, out, rows, accumulate=pointwise and call.accumulate, transpose_a=True)
    if workspace is not None:
        col2im(workspace, dx, layer.stride, layer.padding, layer.dilation, call.accumulate)


def _lower(image: Array, workspace: Array | None, layer: Conv2d) -> Array:
    if workspace is None:
        return image
    im2col(image, workspace, layer.stride, layer.padding, layer.dilation)
    return workspace


def _groups(groups: int, weight: Array, lowered: Array, out: Array) -> list[tuple[Array, ...]]:
    """Per group, its kernels, its lowered rows and its output maps, each as a matrix."""
    whole = (matrix(weight), lowered.reshape(-1, out[0].size), matrix(out))
    parts = [[len(array) // groups * g for g in range(groups + 1)] for array in whole]
    return [
        tuple(array[cut[g] : cut[g + 1]] for array, cut in zip(whole, parts, strict=True))
        for g in range(groups)
    ]


def _layer(call: Call) -> Conv2d:
    assert isinstance(call.layer, Conv2d)
    return call.layer


def _workspace(call: Call) -> Array | None:
    """The buffer of one thread, as (C, k, k, Ho, Wo)."""
    workspace = call.arrays.get("workspace")
    return workspace if workspace is None or workspace.ndim == 5 else workspace[0]
