"""Memory-efficient convolution (MEC): lowered along the width alone (Cho and Brand 2017).

im2col copies a value once for each of the ``k k`` places that a kernel covers it with. Here it is
copied for the ``k`` columns alone, with every row of the padded image once::

    lowered[row, c, kx, ox] = image[c, row - pad, ox * stride + kx - pad]

The ``k`` rows under one output row lie side by side, so they are a matrix as they stand, and the
next output row begins ``stride`` rows further down: ``Y[:, oy] = W L[oy stride : oy stride + k]``.
The paper stores the channels last; with them in the middle the output needs no other order. The
weights do: by rows, then channels, as the lowered rows are. They are copied once per pass.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memlab.kernels.arrays import matrix
from memlab.kernels.blas import gemm
from memlab.kernels.compile import compiled
from memlab.kernels.linear import add_bias, sum_bias
from memlab.kernels.operands import convolution
from memlab.kernels.registry import Array, Call, kernel
from memlab.kernels.windows import inside

_U = np.uint64


@kernel("conv2d", "mec")
def conv2d(call: Call) -> None:
    """Lower every image, then one matrix product per output row."""
    _order(call, call["weight"])
    _lower(call)
    for b, y in enumerate(call["y"]):
        for weights, rows, out in _row_products(call, b, y):
            gemm(weights, rows, out)
    if "bias" in call.arrays:
        add_bias(call["y"], call["bias"])


@kernel("conv2d.backward", "mec")
def conv2d_backward(call: Call) -> None:
    """``dW`` adds up over images and rows; then ``dL = W^T dY``, row after row, adds up to the
    gradient of the image."""
    _lower(call)
    ordered = call["ordered weights"]
    if call.accumulate_weights:
        _order(call, call["dweight"])
    else:
        ordered.fill(0)
    for b, dy in enumerate(call["dy"]):
        for dweights, rows, out in _row_products(call, b, dy):
            gemm(out, rows, dweights, accumulate=True, transpose_b=True)
    np.copyto(call["dweight"], ordered.transpose(0, 2, 1, 3))
    if "dx" in call.arrays:
        _order(call, call["weight"])
        _input_gradients(call)
    if "dbias" in call.arrays:
        sum_bias(call["dy"], call["dbias"], call.accumulate_weights)


def _input_gradients(call: Call) -> None:
    lowered, layer = call["workspace"], convolution(call)
    lowered.fill(0)
    for b, (dx, dy) in enumerate(zip(call["dx"], call["dy"], strict=True)):
        for weights, rows, out in _row_products(call, b, dy):
            gemm(weights, out, rows, accumulate=True, transpose_a=True)
        _raise_image(_grouped(call, b), dx, layer.stride, layer.padding, call.accumulate)


def _order(call: Call, weight: Array) -> None:
    """The weights by rows, then channels."""
    np.copyto(call["ordered weights"].transpose(0, 2, 1, 3), weight)


def _lower(call: Call) -> None:
    layer = convolution(call)
    for b, image in enumerate(call["x"]):
        _lower_image(image, _grouped(call, b), layer.stride, layer.padding)


def _grouped(call: Call, b: int) -> Array:
    """The lowered image as (groups, rows, C / groups, k, Wo): each group has its rows together."""
    rows, channels, *rest = call["workspace"].shape[1:]
    groups = convolution(call).groups
    image: Array = call["workspace"][b]
    return image.reshape(groups, rows, channels // groups, *rest)


def _row_products(call: Call, b: int, maps: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Per group and output row: its weights, the lowered rows under it, its row of the maps."""
    layer, lowered = convolution(call), _grouped(call, b)
    weights = matrix(call["ordered weights"])
    count = len(weights) // layer.groups
    for g, image in enumerate(lowered):
        kernels = slice(g * count, (g + 1) * count)
        for oy in range(maps.shape[1]):
            top = oy * layer.stride
            rows = image[top : top + layer.kernel].reshape(-1, image.shape[-1])
            yield weights[kernels], rows, maps[kernels, oy]


@compiled
def _lower_image(image: Array, lowered: Array, stride: int, pad: int) -> None:
    groups, rows, channels, kernel, columns = lowered.shape
    for g in range(groups):
        for row in range(rows):
            y = row - pad
            for c in range(channels):
                for kx in range(kernel):
                    target, left = lowered[g, row, c, kx], kx - pad
                    start, stop = inside(image.shape[2], columns, stride, left)
                    if y < 0 or y >= image.shape[1]:
                        start, stop = columns, columns
                    for ox in range(start):
                        target[ox] = 0
                    source = image[g * channels + c, min(max(y, 0), image.shape[1] - 1)]
                    for ox in range(start, stop):
                        target[_U(ox)] = source[_U(ox * stride + left)]
                    for ox in range(stop, columns):
                        target[ox] = 0


@compiled
def _raise_image(lowered: Array, image: Array, stride: int, pad: int, accumulate: bool) -> None:
    """Add every lowered value to the place that it was read from."""
    groups, _, channels, kernel, columns = lowered.shape
    if not accumulate:
        image[:] = 0
    for g in range(groups):
        for y in range(image.shape[1]):
            for c in range(channels):
                for kx in range(kernel):
                    source, left = lowered[g, y + pad, c, kx], kx - pad
                    start, stop = inside(image.shape[2], columns, stride, left)
                    target = image[g * channels + c, y]
                    for ox in range(start, stop):
                        target[_U(ox * stride + left)] += source[_U(ox)]
