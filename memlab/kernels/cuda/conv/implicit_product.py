"""Convolution as a matrix product whose lowered operand exists only tile by tile (implicit GEMM).

It is the fast product of ``tiled_product`` with three index maps, which tell where in an image its
right operand lies. No workspace is needed: the tiles in shared memory are filled straight from the
image (Chetlur et al. 2014, arXiv 1410.0759, section 3). All channels under one tap (ky, kx) come
before the next tap, so that the padding is checked once per tap.
"""

from __future__ import annotations

from memlab.kernels.cuda.conv.tiled_product import ProductLayout, launch_tiles, tiled
from memlab.kernels.cuda.flat_arrays import line, pitch
from memlab.kernels.cuda.layers.linear import add_bias, sum_bias
from memlab.kernels.formulas.windows import inside, reader, source
from memlab.kernels.operands import ConvWindow, conv_window, convolution, weight_shape
from memlab.kernels.registry import KernelCall, kernel


@tiled
def _forward(column: int, tap: int, layout: ProductLayout, at: ConvWindow) -> tuple[int, int, int]:
    """Index map of forward: a column is an output place, and its values are the channels under a
    tap."""
    iy = source(column // at.columns, tap // at.kernel, at.stride, at.pad, at.dilation)
    ix = source(column % at.columns, tap % at.kernel, at.stride, at.pad, at.dilation)
    within = 0 <= iy < at.height and 0 <= ix < at.width
    return iy * at.width + ix, 0, layout.inner if within else 0


@tiled
def _input_gradient(
    column: int, tap: int, layout: ProductLayout, at: ConvWindow
) -> tuple[int, int, int]:
    """Index map of the input's gradient: a column is a place of the image, and its values are the
    maps of the output place that reads it under a tap."""
    oy = reader(column // at.width, tap // at.kernel, at.stride, at.pad, at.dilation)
    ox = reader(column % at.width, tap % at.kernel, at.stride, at.pad, at.dilation)
    within = 0 <= oy < at.rows and 0 <= ox < at.columns
    return oy * at.columns + ox, 0, layout.inner if within else 0


@tiled
def _weight_gradient(
    column: int, turn: int, layout: ProductLayout, at: ConvWindow
) -> tuple[int, int, int]:
    """Index map of the weights' gradient: a column is a weight (c, ky, kx), and its values are
    those that the places of an output row read under it.

    A turn is an output row of an image.
    """
    channel, tap = column // (at.kernel * at.kernel), column % (at.kernel * at.kernel)
    image, oy = turn // at.rows, turn % at.rows
    iy = source(oy, tap // at.kernel, at.stride, at.pad, at.dilation)
    left = source(0, tap % at.kernel, at.stride, at.pad, at.dilation)
    first, last = inside(at.width, at.columns, at.stride, left)
    start = image * layout.b_turn + (channel * at.height + iy) * at.width + left
    return start, first, last if 0 <= iy < at.height else first


@kernel("conv2d", "implicit-gemm")
def conv2d(call: KernelCall) -> None:
    """Compute ``Y = W L`` plus the bias, with every value of ``L`` read from its place in the
    image.

    Shapes: x (B, C, H, W), weight (K, C/g, k, k), bias (K,), y (B, K, Ho, Wo).
    """
    x, y, at, (groups, inner, outer) = call["x"], call["y"], conv_window(call), _sizes(call)
    taps, places, size = at.kernel**2, at.rows * at.columns, at.height * at.width
    layout = ProductLayout(
        rows=outer, columns=places, inner=inner, turns=taps, lines=1, images=len(x), groups=groups,
        a_row=inner * taps, a_inner=taps, a_image=0, a_group=outer * inner * taps, a_turn=1,
        a_line=0, b_inner=size, b_column=1, b_image=pitch(x), b_group=inner * size, b_turn=0,
        out_row=places, out_image=pitch(y), out_group=outer * places,
    )  # fmt: skip
    launch_tiles(_forward, line(call["weight"]), line(x), line(y), layout, at, False)
    add_bias(call, y)


@kernel("conv2d.backward", "implicit-gemm")
def conv2d_backward(call: KernelCall) -> None:
    """Compute ``dW = dY L^T``, ``dX`` from the output places that read each value, and the gradient
    of the bias.

    Shapes are those of ``conv2d``; each gradient has the shape of its tensor.
    """
    if call.learns:
        _make_weight_gradient(call)
    if "dx" in call.arrays:
        _make_input_gradient(call)
    sum_bias(call, call["dy"])


def _make_weight_gradient(call: KernelCall) -> None:
    """Compute the gradient of the weights."""
    x, dy, at, (groups, inner, outer) = call["x"], call["dy"], conv_window(call), _sizes(call)
    taps, places, size = at.kernel**2, at.rows * at.columns, at.height * at.width
    layout = ProductLayout(
        rows=outer, columns=inner * taps, inner=at.columns, turns=len(x) * at.rows, lines=at.rows,
        images=1, groups=groups, a_row=places, a_inner=1, a_image=0, a_group=outer * places,
        a_turn=pitch(dy), a_line=at.columns, b_inner=at.stride, b_column=0, b_image=0,
        b_group=inner * size, b_turn=pitch(x),
        out_row=inner * taps, out_image=0, out_group=outer * inner * taps,
    )  # fmt: skip
    dweight, adds = line(call["dweight"]), call.accumulate_weights
    launch_tiles(_weight_gradient, line(dy), line(x), dweight, layout, at, adds)


def _make_input_gradient(call: KernelCall) -> None:
    """Compute ``dx`` of a convolution from ``dy`` and the weights."""
    dx, dy, at, (groups, inner, outer) = call["dx"], call["dy"], conv_window(call), _sizes(call)
    taps, places, size = at.kernel**2, at.rows * at.columns, at.height * at.width
    layout = ProductLayout(
        rows=inner, columns=size, inner=outer, turns=taps, lines=1, images=len(dx), groups=groups,
        a_row=taps, a_inner=inner * taps, a_image=0, a_group=outer * inner * taps, a_turn=1,
        a_line=0, b_inner=places, b_column=1, b_image=pitch(dy), b_group=outer * places, b_turn=0,
        out_row=size, out_image=pitch(dx), out_group=inner * size,
    )  # fmt: skip
    weight, add = line(call["weight"]), call.accumulate
    launch_tiles(_input_gradient, weight, line(dy), line(dx), layout, at, add)


def _sizes(call: KernelCall) -> tuple[int, int, int]:
    """Number of groups, and the input and output maps of one group."""
    groups, (outer, inner, *_) = convolution(call).groups, weight_shape(call)
    return groups, inner, outer // groups
