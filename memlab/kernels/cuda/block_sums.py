"""Sums of many values, each by one block of threads, always in the same order.

A thread adds up values at regular distances. Then the sums of the threads are added in pairs, half
as many at every turn, in shared memory. All sums are kept in fp64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from memlab.kernels.cuda.compile import THREADS, Values, compiled, inlined, launch, results
from memlab.kernels.cuda.flat_arrays import line, pitch
from memlab.kernels.formulas.accumulation import write_or_add

_U, _F = np.uint64, np.float64


def add_up(sums: Any, thread: int) -> None:
    """Add the values of all threads of a block to the value of the first thread.

    Every thread calls this once its own value is written, and may read the sum, ``sums[0]``,
    afterwards.
    """
    cuda.syncthreads()
    half = len(sums) >> 1
    while half > 0:
        if thread < half:
            sums[thread] += sums[thread + half]
        cuda.syncthreads()
        half >>= 1


_add_up = inlined(add_up)


def summed(term: Callable[[Any, Any, Any, Any], Any]) -> Any:
    """Kernel for ``out = scale * sum of term(x, y, a, b)`` over batch and map, per channel.

    ``a`` and ``b`` are numbers of the channel. With ``accumulate`` the sum is added to ``out``.
    """
    value = inlined(term)

    def loop(
        x: Values, x_pitch: int, y: Values, y_pitch: int, a: Values, b: Values, out: Values,
        batch: int, plane: int, scale: float, accumulate: bool,
    ) -> None:  # fmt: skip
        sums = cuda.shared.array(THREADS, np.float64)
        c, total = cuda.blockIdx.x, 0.0
        n = cuda.threadIdx.y
        while n < batch:
            i = cuda.threadIdx.x
            while i < plane:
                at = c * plane + i
                x_value, y_value = x[_U(n * x_pitch + at)], y[_U(n * y_pitch + at)]
                total += value(_F(x_value), _F(y_value), _F(a[c]), _F(b[c]))
                i += cuda.blockDim.x
            n += cuda.blockDim.y
        thread = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        sums[thread] = total
        _add_up(sums, thread)
        if thread == 0:
            total = sums[0] * scale
            write_or_add(out, c, total, accumulate)

    return compiled(loop, term)


@summed
def _values(x: Any, y: Any, a: Any, b: Any) -> Any:
    """Term ``x`` of a sum over a block of threads."""
    return x


@summed
def _squares(x: Any, y: Any, a: Any, b: Any) -> Any:
    """Term ``(x - a)^2`` of a sum over a block of threads."""
    return (x - a) * (x - a)


@summed
def _products(x: Any, y: Any, a: Any, b: Any) -> Any:
    """Term ``(x - a) b y``."""
    return (x - a) * b * y


@summed
def _differences(x: Any, y: Any, a: Any, b: Any) -> Any:
    """Term ``(x - y)^2``."""
    return (x - y) * (x - y)


def sum_values(x: Any, out: Any, scale: float = 1.0, accumulate: bool = False) -> None:
    """Write ``scale`` times the sum of x over batch and map into ``out``, or add it to ``out``.

    ``x`` is (B, C, ...); ``out`` has one value for each channel.
    """
    _launch(_values, x, x, x, x, out, scale, accumulate)


def sum_squares(x: Any, centre: Any, out: Any, scale: float) -> None:
    """Write ``scale`` times the sum of ``(x - centre)^2`` over batch and map.

    ``x`` is (B, C, ...); ``centre`` and ``out`` have one value for each channel.
    """
    _launch(_squares, x, x, centre, x, out, scale)


def sum_products(x: Any, y: Any, centre: Any, factor: Any, out: Any) -> None:
    """Write the sum of ``(x - centre) factor y`` over batch and map.

    ``x`` and ``y`` are (B, C, ...); ``centre``, ``factor`` and ``out`` have one value for each
    channel.
    """
    _launch(_products, x, y, centre, factor, out, 1.0)


def sum_differences(x: Any, y: Any, out: Any, scale: float, accumulate: bool) -> None:
    """Write ``scale`` times the sum of ``(x - y)^2`` over all values into ``out``, a single value,
    or add it."""
    _launch(_differences, x, y, x, x, out, scale, accumulate)


def _launch(
    kernel: Any, x: Any, y: Any, a: Any, b: Any, out: Any, scale: float, accumulate: bool = False
) -> None:
    """Run a sum kernel; where its term does not name ``y``, ``a`` or ``b``, any array may stand for
    it."""
    batch, plane = len(x), x.size // len(x) // out.size
    spans = line(x), pitch(x), line(y), pitch(y), line(a), line(b)
    launch(kernel, results(out.size, plane), *spans, line(out), batch, plane, scale, accumulate)
