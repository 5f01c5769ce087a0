"""Winograd's F(2x2, 3x3): four outputs from 16 products instead of 36 (Lavin and Gray 2016).

A tile ``d`` of 4x4 values under a 3x3 kernel ``w`` gives 2x2 outputs::

    Y = A' [ (G w G') * (B' d B) ] A

The products are taken value by value, and summed over the channels: for each of the 16 places, one
matrix product over many tiles. The workspace holds 16 K C values of transformed weights, 16 T (C +
K) of the inputs and outputs of T tiles, as many as stay near the processor, and a padded row. A
fused kernel keeps all but the weights in registers (G5).

The gradients are the transposes. With ``dM = A dY A'``, ``dU = dM V'`` gives ``dw = G' dU G``, and
``dV = U' dM`` gives ``dd = B dV B'``; the ``dd`` of neighbouring tiles overlap and add up. A
``spread`` or ``gather`` is the transpose of a transform.

A row of tiles is read and written through one padded row, so that a tile at the edge needs no case
of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memlab.kernels.cpu.blas import gemm
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.layers.linear import add_bias, sum_bias
from memlab.kernels.operands import convolution
from memlab.kernels.registry import Array, KernelCall, kernel

_U = np.uint64


@kernel("conv2d", "winograd")
def conv2d(call: KernelCall) -> None:
    """Compute ``Y = A' [U * V] A`` plus the bias, some rows of tiles at a time.

    Shapes: x (B, C, H, W), weight (K, C, 3, 3), bias (K,), y (B, K, Ho, Wo).
    """
    pad, u = convolution(call).padding, call["transformed weights"]
    row, v, m = _buffers(call)
    transform_weights(call["weight"], u)
    for image, y in zip(call["x"], call["y"], strict=True):
        for first, down, across in _blocks(v, y):
            transform_input(image, row, v, first, down, across, pad)
            for place, near, far in _products(v, m, down * across):
                gemm(u[place], near, far)
            transform_output(m, y, first, down, across)
    if "bias" in call.arrays:
        add_bias(call["y"], call["bias"])


@kernel("conv2d.backward", "winograd")
def conv2d_backward(call: KernelCall) -> None:
    """Compute ``dw`` from ``dU = dM V'``, summed over all tiles, ``dx`` from ``dV = U' dM`` of each
    tile, and the gradient of the bias.

    Shapes are those of ``conv2d``; each gradient has the shape of its tensor.
    """
    if call.learns:
        _weight_gradients(call)
    if "dx" in call.arrays:
        _input_gradients(call)
    if "dbias" in call.arrays:
        sum_bias(call["dy"], call["dbias"], call.accumulate_weights)


def _weight_gradients(call: KernelCall) -> None:
    """Compute ``dw`` over all images from ``dU = dM V'``."""
    pad, u = convolution(call).padding, call["transformed weights"]
    row, v, m = _buffers(call)
    u.fill(0)
    for image, dy in zip(call["x"], call["dy"], strict=True):
        for first, down, across in _blocks(v, dy):
            transform_input(image, row, v, first, down, across, pad)
            spread_output(dy, row, m, first, down, across)
            for place, near, far in _products(v, m, down * across):
                gemm(far, near, u[place], accumulate=True, transpose_b=True)
    gather_weights(u, call["dweight"], call.accumulate_weights)


def _input_gradients(call: KernelCall) -> None:
    """Compute ``dx`` of all images from ``dV = U' dM``."""
    row, v, m = _buffers(call)
    u = call["transformed weights"]
    transform_weights(call["weight"], u)
    for dx, dy in zip(call["dx"], call["dy"], strict=True):
        if not call.accumulate:
            dx.fill(0)
        for first, down, across in _blocks(v, dy):
            spread_output(dy, row, m, first, down, across)
            for place, near, far in _products(v, m, down * across):
                gemm(u[place], far, near, transpose_a=True)
            spread_input(v, row, dx, first, down, across, convolution(call).padding)


def _buffers(call: KernelCall) -> list[Array]:
    """Workspace of the first thread: padded row, transformed inputs, transformed outputs."""
    buffers = [("padded row", 1), ("transformed inputs", 3), ("transformed outputs", 3)]
    return [call[name] if call[name].ndim == axes else call[name][0] for name, axes in buffers]


def _blocks(v: Array, maps: Array) -> Iterator[tuple[int, int, int]]:
    """Yield the rows of tiles that are transformed together: first row, number of rows, tiles in a
    row."""
    rows, across = (-(-extent // 2) for extent in maps.shape[1:])
    together = v.shape[2] // across
    for first in range(0, rows, together):
        yield first, min(together, rows - first), across


def _products(v: Array, m: Array, tiles: int) -> Iterator[tuple[int, Array, Array]]:
    """Yield each of the 16 places with its matrices of inputs and of outputs, maps by tiles."""
    for place in range(16):
        yield place, v[place, :, :tiles], m[place, :, :tiles]


@compiled
def transform_weights(weight: Array, u: Array) -> None:
    """Write ``u = G w G'``.

    The rows of G are (1, 0, 0), (1/2, 1/2, 1/2), (1/2, -1/2, 1/2), (0, 0, 1). Shapes: weight (K, C,
    3, 3), u (16, K, C).
    """
    half = u.dtype.type(0.5)
    for i in range(4):
        for k in range(weight.shape[0]):
            for c in range(weight.shape[1]):
                a, b, d = _times_g(i, weight[k, c], half)
                u[4 * i, k, c] = a
                u[4 * i + 1, k, c] = half * (a + b + d)
                u[4 * i + 2, k, c] = half * (a - b + d)
                u[4 * i + 3, k, c] = d


@compiled
def _times_g(i: int, w: Array, half: float) -> tuple[float, float, float]:
    """Product of row ``i`` of G with the 3x3 kernel w."""
    if i == 0:
        return w[0, 0], w[0, 1], w[0, 2]
    if i == 3:
        return w[2, 0], w[2, 1], w[2, 2]
    sign = half if i == 1 else -half
    a = half * (w[0, 0] + w[2, 0]) + sign * w[1, 0]
    b = half * (w[0, 1] + w[2, 1]) + sign * w[1, 1]
    return a, b, half * (w[0, 2] + w[2, 2]) + sign * w[1, 2]


@compiled
def gather_weights(du: Array, dweight: Array, accumulate: bool) -> None:
    """Write, or add, ``dw = G' dU G``. Shapes: du (16, K, C), dweight (K, C, 3, 3)."""
    half = du.dtype.type(0.5)
    for k in range(dweight.shape[0]):
        if not accumulate:
            dweight[k] = 0
        for c in range(dweight.shape[1]):
            for j in range(3):
                column = du[:, k, c]
                a, b = _times_column(column, 0, j, half), _times_column(column, 1, j, half)
                d, e = _times_column(column, 2, j, half), _times_column(column, 3, j, half)
                dweight[k, c, 0, j] += a + half * (b + d)
                dweight[k, c, 1, j] += half * (b - d)
                dweight[k, c, 2, j] += half * (b + d) + e


@compiled
def _times_column(du: Array, i: int, j: int, half: float) -> float:
    """Product of row ``i`` of dU with column ``j`` of G."""
    sign, outer = (-half, du.dtype.type(0)) if j == 1 else (half, du[4 * i + 3 * (j // 2)])
    value: float = outer + half * du[4 * i + 1] + sign * du[4 * i + 2]
    return value


@compiled
def _row_of_b(i: int) -> tuple[int, int, int]:
    """Row ``i`` of B', which adds or subtracts two values: their places, and the sign of the
    second."""
    if i == 0:
        return 0, 2, -1
    if i == 1:
        return 1, 2, 1
    if i == 2:
        return 2, 1, -1
    return 1, 3, -1


@compiled
def _add_row(plane: Array, y: int, sign: int, pad: int, row: Array) -> None:
    """Add ``sign`` times row ``y`` of a plane to a padded row, if the plane has that row."""
    if sign != 0 and 0 <= y < plane.shape[0]:
        factor, source, target = row.dtype.type(sign), plane[y], row[pad:]
        for x in range(source.size):
            target[x] += factor * source[x]


@compiled
def _add_back(row: Array, sign: int, pad: int, plane: Array, y: int) -> None:
    """Add ``sign`` times a padded row to row ``y`` of a plane, if the plane has that row."""
    if 0 <= y < plane.shape[0]:
        factor, source, target = row.dtype.type(sign), row[pad:], plane[y]
        for x in range(target.size):
            target[x] += factor * source[x]


@compiled
def transform_input(
    image: Array, row: Array, v: Array, first: int, down: int, across: int, pad: int
) -> None:
    """Write ``V = B' d B`` of every tile in some rows of tiles.

    Args:
        image: the image, (C, H, W).
        row: the padded row.
        v: transformed inputs, (16, C, tiles).
        first: first row of tiles.
        down: number of rows of tiles.
        across: number of tiles in a row.
        pad: padding of the convolution.
    """
    for i in range(4):
        near, far, sign = _row_of_b(i)
        for c in range(v.shape[1]):
            v0, v1, v2, v3 = v[4 * i, c], v[4 * i + 1, c], v[4 * i + 2, c], v[4 * i + 3, c]
            for ty in range(down):
                top = 2 * (first + ty) - pad
                row[:] = 0
                _add_row(image[c], top + near, 1, pad, row)
                _add_row(image[c], top + far, sign, pad, row)
                for tx in range(across):
                    t, x = _U(ty * across + tx), _U(2 * tx)
                    a, b, d, e = row[x], row[x + _U(1)], row[x + _U(2)], row[x + _U(3)]
                    v0[t], v1[t], v2[t], v3[t] = a - d, b + d, d - b, b - e


@compiled
def spread_input(
    v: Array, row: Array, image: Array, first: int, down: int, across: int, pad: int
) -> None:
    """Add ``B dV B'`` of every tile to the image; neighbouring tiles share two rows and two
    columns.

    Arguments are those of ``transform_input``.
    """
    for i in range(4):
        near, far, sign = _row_of_b(i)
        for c in range(v.shape[1]):
            v0, v1, v2, v3 = v[4 * i, c], v[4 * i + 1, c], v[4 * i + 2, c], v[4 * i + 3, c]
            for ty in range(down):
                row[:] = 0
                for tx in range(across):
                    t, x = _U(ty * across + tx), _U(2 * tx)
                    row[x] += v0[t]
                    row[x + _U(1)] += v1[t] - v2[t] + v3[t]
                    row[x + _U(2)] = v1[t] + v2[t] - v0[t]
                    row[x + _U(3)] = -v3[t]
                top = 2 * (first + ty) - pad
                _add_back(row, 1, pad, image[c], top + near)
                _add_back(row, sign, pad, image[c], top + far)


@compiled
def transform_output(m: Array, y: Array, first: int, down: int, across: int) -> None:
    """Write ``Y = A' M A`` of every tile in some rows of tiles.

    The rows of A' are (1, 1, 1, 0) and (0, 1, -1, -1). Shapes: m (16, K, tiles), y (K, Ho, Wo).
    """
    _, height, width = y.shape
    for k in range(y.shape[0]):
        for oy in range(2 * first, min(2 * (first + down), height)):
            tiles, r = (oy // 2 - first) * across, oy % 2
            sign, row, last = m.dtype.type(1 - 2 * r), y[k, oy], 12 * r
            for tx in range(across):
                t = _U(tiles + tx)
                a = sign * (m[last, k, t] + m[8, k, t]) + m[4, k, t]
                b = sign * (m[last + 1, k, t] + m[9, k, t]) + m[5, k, t]
                d = sign * (m[last + 2, k, t] + m[10, k, t]) + m[6, k, t]
                row[2 * tx] = a + b + d
                if 2 * tx + 1 < width:
                    e = sign * (m[last + 3, k, t] + m[11, k, t]) + m[7, k, t]
                    row[2 * tx + 1] = b - d - e


@compiled
def spread_output(dy: Array, row: Array, m: Array, first: int, down: int, across: int) -> None:
    """Write ``dM = A dY A'`` of every tile in some rows of tiles.

    The rows of A are (1, 0), (1, 1), (1, -1), (0, -1). Shapes: dy (K, Ho, Wo), m (16, K, tiles).
    """
    for i in range(4):
        upper, lower = (0 if i == 3 else 1), (0 if i == 0 else 1 if i == 1 else -1)
        for k in range(m.shape[1]):
            m0, m1, m2, m3 = m[4 * i, k], m[4 * i + 1, k], m[4 * i + 2, k], m[4 * i + 3, k]
            for ty in range(down):
                row[:] = 0
                _add_row(dy[k], 2 * (first + ty), upper, 0, row)
                _add_row(dy[k], 2 * (first + ty) + 1, lower, 0, row)
                for tx in range(across):
                    t = _U(ty * across + tx)
                    a, b = row[_U(2 * tx)], row[_U(2 * tx + 1)]
                    m0[t], m1[t], m2[t], m3[t] = a, a + b, a - b, -b
