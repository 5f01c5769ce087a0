"""Losses, as means over the batch; their sums are kept in fp64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda

from memlab.kernels.cuda import block_sums
from memlab.kernels.cuda.block_sums import sum_differences
from memlab.kernels.cuda.compile import (
    THREADS,
    Labels,
    Values,
    compiled,
    inlined,
    launch,
    results,
    values,
)
from memlab.kernels.cuda.flat_arrays import line
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.pointwise import cross_entropy_backward
from memlab.kernels.registry import KernelCall, kernel

_U, _F = np.uint64, np.float64
add_up = inlined(block_sums.add_up, globals())


@kernel("softmax", device="cuda")
def softmax(call: KernelCall) -> None:
    """Compute ``y = exp(x) / sum of exp(x)`` over the classes.

    Shapes: x and y (B, classes).
    """
    _launch_softmax(call["x"], call["y"])


@kernel("softmax_cross_entropy", device="cuda")
def softmax_cross_entropy(call: KernelCall) -> None:
    """Compute the mean of ``-log p[label]``, and the probabilities where a backward will read them.

    Shapes: x and probabilities (B, classes), labels (B,), loss ().
    """
    x = call["x"]
    lines, adds = (line(x), line(call["labels"]), line(call["loss"])), "loss" in call.updates
    launch(_cross_entropy, results(1, THREADS), *lines, *x.shape, call.mean_over(len(x)), adds)
    if "probabilities" in call.arrays:
        _launch_softmax(x, call["probabilities"])


@kernel("softmax_cross_entropy.backward", device="cuda")
def softmax_cross_entropy_backward(call: KernelCall) -> None:
    """Compute ``dx = (p - 1 at the label) / count``, with the labels of all micro-batches as
    ``count``.

    Shapes: probabilities and dx (B, classes), labels (B,).
    """
    p, dx = call["probabilities"], call["dx"]
    batch, classes = dx.shape
    lines, count = (line(p), line(call["labels"]), line(dx)), call.mean_over(batch)
    shape = values(classes, batch)
    launch(_cross_entropy_backward, shape, *lines, batch, classes, count, call.accumulate)


@kernel("squared_error", device="cuda")
def squared_error(call: KernelCall) -> None:
    """Compute the mean over the batch of ``sum (x - target)^2``.

    Shapes: x and labels (B, ...), loss ().
    """
    x = call["x"]
    count, adds = call.mean_over(len(x)), "loss" in call.updates
    sum_differences(x, call["labels"], call["loss"], 1 / count, adds)


def _launch_softmax(x: Any, y: Any) -> None:
    """Run the softmax kernel with a block of threads for each sample."""
    batch, classes = x.shape
    launch(_softmax, results(batch, THREADS), line(x), line(y), classes)


@compiled
def _softmax(x: Values, y: Values, classes: int) -> None:
    """Softmax of the samples, with a block of threads for each."""
    largest = cuda.shared.array(THREADS, np.float64)
    totals = cuda.shared.array(THREADS, np.float64)
    start, thread = cuda.blockIdx.x * classes, cuda.threadIdx.x
    most = -math.inf
    i = thread
    while i < classes:
        most = max(most, _F(x[_U(start + i)]))
        i += THREADS
    largest[thread] = most
    cuda.syncthreads()
    half = THREADS >> 1
    while half > 0:
        if thread < half:
            largest[thread] = max(largest[thread], largest[thread + half])
        cuda.syncthreads()
        half >>= 1
    total = 0.0
    i = thread
    while i < classes:
        total += math.exp(_F(x[_U(start + i)]) - largest[0])
        i += THREADS
    totals[thread] = total
    add_up(totals, thread)
    i = thread
    while i < classes:
        y[_U(start + i)] = math.exp(_F(x[_U(start + i)]) - largest[0]) / totals[0]
        i += THREADS


@compiled
def _cross_entropy(
    x: Values, labels: Labels, loss: Values, batch: int, classes: int, count: int, add: bool
) -> None:
    """Write, or add, the cross-entropy with one block of threads; a thread takes samples at regular
    distances."""
    totals = cuda.shared.array(THREADS, np.float64)
    thread, total = cuda.threadIdx.x, 0.0
    b = thread
    while b < batch:
        start, most = b * classes, -math.inf
        for i in range(classes):
            most = max(most, _F(x[_U(start + i)]))
        powers = 0.0
        for i in range(classes):
            powers += math.exp(_F(x[_U(start + i)]) - most)
        total += math.log(powers) + most - _F(x[_U(start + labels[b])])
        b += THREADS
    totals[thread] = total
    add_up(totals, thread)
    if thread == 0:
        write_or_add(loss, 0, totals[0] / count, add)


@compiled
def _cross_entropy_backward(
    p: Values, labels: Labels, dx: Values, batch: int, classes: int, count: int, add: bool
) -> None:
    """Write, or add, the gradient of the cross-entropy."""
    number = dx.dtype.type
    b = cuda.blockIdx.y
    while b < batch:
        i = cuda.grid(1)
        while i < classes:
            at = _U(b * classes + i)
            expected = number(1) if i == labels[b] else number(0)
            write_or_add(dx, at, cross_entropy_backward(p[at], expected, number(count)), add)
            i += cuda.gridsize(1)
        b += cuda.gridDim.y
