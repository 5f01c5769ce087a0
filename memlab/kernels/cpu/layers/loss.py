"""Losses, as means over the batch; their sums are kept in fp64."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from memlab.kernels.cpu.compile import compiled, summing
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.pointwise import cross_entropy_backward
from memlab.kernels.registry import Array, KernelCall, kernel


@kernel("softmax")
def softmax(call: KernelCall) -> None:
    """Compute ``y = exp(x) / sum of exp(x)`` over the classes.

    Shapes: x and y (B, classes) or (B, T, classes).
    """
    _softmax(_rows(call["x"]), _rows(call["y"]))


@kernel("softmax_cross_entropy")
def softmax_cross_entropy(call: KernelCall) -> None:
    """Compute the mean of ``-log p[label]``, and the probabilities where a backward will read them.

    Shapes: x and probabilities (B, classes) or (B, T, classes), labels (B,) or (B, T), loss ().
    """
    adds, count = "loss" in call.updates, call.mean_over(call["labels"].size)
    for labels, x in _lines(call["labels"], call["x"]):
        _cross_entropy(x, labels, call["loss"], count, adds)
        adds = True
    if "probabilities" in call.arrays:
        _softmax(_rows(call["x"]), _rows(call["probabilities"]))


@kernel("softmax_cross_entropy.backward")
def softmax_cross_entropy_backward(call: KernelCall) -> None:
    """Compute ``dx = (p - 1 at the label) / count``, with the number of all labels as ``count``.

    Shapes: probabilities and dx (B, classes) or (B, T, classes), labels (B,) or (B, T).
    """
    labels, probabilities, dx = call["labels"], call["probabilities"], call["dx"]
    count = call.mean_over(labels.size)
    if dx.ndim == 2:
        _cross_entropy_backward(labels, probabilities, dx, count, call.accumulate)
        return
    for sample in zip(labels, probabilities, dx, strict=True):
        _cross_entropy_backward(*sample, count, call.accumulate)


@kernel("squared_error")
def squared_error(call: KernelCall) -> None:
    """Compute the mean over the batch of ``sum (x - target)^2``.

    Shapes: x and labels (B, ...), loss ().
    """
    x, target = call["x"], call["labels"]
    count, adds = call.mean_over(len(x)), "loss" in call.updates
    _squared_error(x.reshape(-1), target.reshape(-1), call["loss"], count, adds)


def _lines(labels: Array, scores: Array) -> Iterator[tuple[Array, Array]]:
    """Yield labels and the matrix of their scores: all at once, or sample by sample where the
    labels are a slice of longer texts."""
    if labels.flags.c_contiguous:
        yield labels.reshape(-1), _rows(scores)
    else:
        yield from zip(labels, scores, strict=True)


def _rows(scores: Array) -> Array:
    """Scores of every sample, or of every token of every sample, as a matrix."""
    return scores.reshape(-1, scores.shape[-1])


@compiled
def _largest(values: Array) -> float:
    """Largest value of a line."""
    largest: float = values[0]
    for i in range(values.size):
        largest = max(largest, values[i])
    return largest


@summing
def _exponentials(values: Array, largest: float) -> float:
    """Sum of ``exp(x - largest)`` over a line."""
    total = 0.0
    for i in range(values.size):
        total += np.exp(np.float64(values[i]) - largest)
    return total


@compiled
def _softmax(x: Array, y: Array) -> None:
    """Compute the softmax of every row of logits."""
    for b in range(len(x)):
        scores, largest = x[b], _largest(x[b])
        total = _exponentials(scores, largest)
        for i in range(scores.size):
            y[b, i] = np.exp(np.float64(scores[i]) - largest) / total


@compiled
def _cross_entropy(x: Array, labels: Array, loss: Array, count: int, add: bool) -> None:
    """Write, or add, the cross-entropy of all rows divided by ``count``."""
    total = 0.0
    for b in range(len(x)):
        largest = _largest(x[b])
        total += np.log(_exponentials(x[b], largest)) + largest - x[b, labels[b]]
    write_or_add(loss, (), total / count, add)


@compiled
def _cross_entropy_backward(
    labels: Array, probabilities: Array, dx: Array, count: int, accumulate: bool
) -> None:
    """Write, or add, the gradient of the cross-entropy of all rows."""
    rows, classes = dx.shape
    for b in range(rows):
        for i in range(classes):
            expected = 1 if i == labels[b] else 0
            gradient = cross_entropy_backward(probabilities[b, i], expected, count)
            write_or_add(dx, (b, i), gradient, accumulate)


@summing
def _squared_error(x: Array, target: Array, loss: Array, count: int, add: bool) -> None:
    """Write, or add, the sum of squared differences divided by ``count``."""
    total = 0.0
    for i in range(x.size):
        total += (np.float64(x[i]) - target[i]) ** 2
    write_or_add(loss, (), total / count, add)
