"""Convolution by Fourier transforms (Mathieu, Henaff and LeCun 2014).

A convolution is a product of spectra, place by place. With ``X``, ``W`` and ``Y`` for the
spectra of inputs, kernels and outputs, all padded to one size so that nothing wraps around::

    Y[k] = sum over c of X[c] conj(W[k, c])          dW[k, c] = sum over images of X[c] conj(dY[k])
    dX[c] = sum over k of dY[k] W[k, c]

Libraries keep tables and buffers of their own outside of every plan. This transform has none: it
goes back and forth between two planes of the workspace, one factor of the size at a time
(Stockham), so that its memory is planned and measured. Spectra are stored as a plane of real parts
and one of imaginary parts.
"""

from __future__ import annotations

from math import pi

import numpy as np

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.layers.linear import add_bias, sum_bias
from memlab.kernels.cpu.threads import thread_workspaces
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.operands import convolution
from memlab.kernels.registry import Array, KernelCall, kernel


@kernel("conv2d", "fft")
def conv2d(call: KernelCall) -> None:
    """Compute ``Y[k] = sum of X[c] conj(W[k, c])`` for every image, then y and the bias.

    Shapes: x (B, C, H, W), weight (K, C, k, k), bias (K,), y (B, K, Ho, Wo).
    """
    planes, pad = _planes(call)
    inputs, kernels, outputs = _spectra(call)
    _transform(call["x"], inputs, planes, pad)
    _transform(call["weight"], kernels, planes, 0)
    for x, y in zip(inputs, outputs, strict=True):
        _outputs(x, kernels, y)
    _restore(outputs, call["y"], planes, 0)
    if "bias" in call.arrays:
        add_bias(call["y"], call["bias"])


@kernel("conv2d.backward", "fft")
def conv2d_backward(call: KernelCall) -> None:
    """Compute ``dW[k, c] = sum of X[c] conj(dY[k])``, then ``dX[c] = sum of dY[k] W[k, c]``, and
    the gradient of the bias.

    Shapes are those of ``conv2d``; each gradient has the shape of its tensor.
    """
    planes, pad = _planes(call)
    inputs, kernels, outputs = _spectra(call)
    _transform(call["dy"], outputs, planes, 0)
    if call.learns:
        _transform(call["x"], inputs, planes, pad)
        kernels.fill(0)
        for x, dy in zip(inputs, outputs, strict=True):
            _add_kernels(x, kernels, dy)
        _restore(kernels, call["dweight"], planes, 0, call.accumulate_weights)
    if "dx" in call.arrays:
        _transform(call["weight"], kernels, planes, 0)
        for dx, dy in zip(inputs, outputs, strict=True):
            _inputs(dx, kernels, dy)
        _restore(inputs, call["dx"], planes, pad, call.accumulate)
    if "dbias" in call.arrays:
        sum_bias(call["dy"], call["dbias"], call.accumulate_weights)


def _planes(call: KernelCall) -> tuple[Array, int]:
    """Workspace of the first thread, two planes each of real and imaginary parts; and the layer's
    padding."""
    return thread_workspaces(call["planes"], 4)[0], convolution(call).padding


def _spectra(call: KernelCall) -> list[Array]:
    """Workspace for the spectra of inputs, kernels and outputs."""
    return [call[f"{name} spectra"] for name in ("input", "kernel", "output")]


def _transform(arrays: Array, spectra: Array, planes: Array, pad: int) -> None:
    """Write the spectra of maps (samples, maps, height, width), which begin at row and column
    ``pad``."""
    for maps, spectrum in zip(arrays, spectra, strict=True):
        _transform_maps(maps, spectrum, planes, pad)


def _restore(
    spectra: Array, arrays: Array, planes: Array, pad: int, accumulate: bool = False
) -> None:
    """Transform spectra back, and write or add the values from row and column ``pad`` on."""
    for spectrum, maps in zip(spectra, arrays, strict=True):
        _restore_maps(spectrum, maps, planes, pad, accumulate)


@compiled
def _transform_maps(maps: Array, spectra: Array, planes: Array, pad: int) -> None:
    """Transform the maps of one sample: first along all rows at once, then along the columns."""
    _, height, width = maps.shape
    _, _, rows, half = spectra.shape
    columns = planes.shape[3]
    lines = planes.reshape(2, 2, rows * columns)
    for c in range(len(maps)):
        lines[0, :, : columns * height] = 0
        for y in range(height):
            for x in range(width):
                lines[0, 0, (x + pad) * height + y] = maps[c, y, x]
        side = _fourier(lines, 0, columns, height, -1)
        source, target = lines[side], lines[1 - side]
        target[:, : rows * half] = 0
        for part in range(2):
            for y in range(height):
                for f in range(half):
                    target[part, (y + pad) * half + f] = source[part, f * height + y]
        side = _fourier(lines, 1 - side, rows, half, -1)
        for part in range(2):
            _copy(lines[side, part], spectra[c, part].reshape(rows * half))


@compiled
def _restore_maps(spectra: Array, maps: Array, planes: Array, pad: int, accumulate: bool) -> None:
    """Transform the spectra of one sample back: first along the columns, then along the rows that
    are needed.

    The missing half of a row's spectrum mirrors the stored half, because the row's values are real.
    """
    _, height, width = maps.shape
    _, _, rows, half = spectra.shape
    columns = planes.shape[3]
    lines = planes.reshape(2, 2, rows * columns)
    scale = maps.dtype.type(1 / (rows * columns))
    for c in range(len(maps)):
        for part in range(2):
            _copy(spectra[c, part].reshape(rows * half), lines[0, part, : rows * half])
        side = _fourier(lines, 0, rows, half, 1)
        source, target = lines[side], lines[1 - side]
        for part in range(2):
            for f in range(columns):
                near = min(f, columns - f)
                sign = maps.dtype.type(-1 if part == 1 and near != f else 1)
                for y in range(height):
                    target[part, f * height + y] = sign * source[part, (y + pad) * half + near]
        values = lines[_fourier(lines, 1 - side, columns, height, 1), 0]
        for y in range(height):
            for x in range(width):
                value = scale * values[(x + pad) * height + y]
                write_or_add(maps, (c, y, x), value, accumulate)


@compiled
def _copy(source: Array, target: Array) -> None:
    """Copy a line of values."""
    for i in range(target.size):
        target[i] = source[i]


@compiled
def _fourier(lines: Array, side: int, size: int, lanes: int, sign: int) -> int:
    """Transform ``lanes`` interleaved rows of ``size`` values; return the plane (0 or 1) that holds
    the result."""
    length, run = size, lanes
    while length > 1:
        factor = 2 if length % 2 == 0 else 3 if length % 3 == 0 else 5
        _split(lines[side], lines[1 - side], length, run, factor, sign)
        length, run, side = length // factor, run * factor, 1 - side
    return side


@compiled
def _split(source: Array, target: Array, length: int, run: int, factor: int, sign: int) -> None:
    """Split each transform of ``length`` values into ``factor`` transforms of ``length / factor``
    values."""
    part = length // factor
    for p in range(part):
        for j in range(factor):
            place = run * (factor * p + j)
            re, im = target[0, place : place + run], target[1, place : place + run]
            for i in range(factor):
                angle = sign * 2 * pi * (j * (p + i * part) % length) / length
                cos, sin = re.dtype.type(np.cos(angle)), re.dtype.type(np.sin(angle))
                first = run * (p + i * part)
                _rotate(source[0, first:], source[1, first:], cos, sin, i > 0, re, im)


@compiled
def _rotate(
    a: Array, b: Array, cos: float, sin: float, accumulate: bool, re: Array, im: Array
) -> None:
    """Multiply complex values ``a + i b`` by ``cos + i sin``, and write or add the products."""
    if accumulate:
        for q in range(re.size):
            re[q] += cos * a[q] - sin * b[q]
            im[q] += cos * b[q] + sin * a[q]
    else:
        for q in range(re.size):
            re[q] = cos * a[q] - sin * b[q]
            im[q] = cos * b[q] + sin * a[q]


@compiled
def _outputs(x: Array, w: Array, y: Array) -> None:
    """Spectra of one sample's outputs, from those of its inputs and of the kernels."""
    y[:] = 0
    for k in range(len(y)):
        for c in range(len(x)):
            _add_product(x[c], w[k, c], y[k], 1)


@compiled
def _add_kernels(x: Array, dw: Array, dy: Array) -> None:
    """Add one sample's products to the spectra of the kernels' gradient."""
    for k in range(len(dy)):
        for c in range(len(x)):
            _add_product(x[c], dy[k], dw[k, c], 1)


@compiled
def _inputs(dx: Array, w: Array, dy: Array) -> None:
    """Spectra of the gradient of one sample's inputs."""
    dx[:] = 0
    for c in range(len(dx)):
        for k in range(len(dy)):
            _add_product(dy[k], w[k, c], dx[c], -1)


@compiled
def _add_product(a: Array, b: Array, out: Array, conjugate: int) -> None:
    """Add ``a conj(b)`` to ``out``, or ``a b`` where ``conjugate`` is -1."""
    size = out[0].size
    s = out.dtype.type(conjugate)
    a0, a1 = a[0].reshape(size), a[1].reshape(size)
    b0, b1 = b[0].reshape(size), b[1].reshape(size)
    re, im = out[0].reshape(size), out[1].reshape(size)
    for f in range(size):
        re[f] += a0[f] * b0[f] + s * a1[f] * b1[f]
        im[f] += a1[f] * b0[f] - s * a0[f] * b1[f]
