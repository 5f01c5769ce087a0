"""The formula of every layer, written out on numbers that only count what is done with them.

Whatever is done with a number counts one; a choice between two values is made by its comparison.
Zeros of the padding count. A sum of products and a sum over the batch start at 0, every other sum
at its first term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.axes import Shape
from memlab.layers.layer import Layer

Array = np.ndarray[Any, Any]
Formula = Callable[..., object]


class Number:
    """Has no value; every operation on it is counted and gives it back."""

    done = 0

    def one(self, *others: object) -> Any:
        if others and isinstance(others[0], np.ndarray):
            return NotImplemented  # the array comes back with one value at a time
        Number.done += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = one
    __truediv__ = __rtruediv__ = __pow__ = __gt__ = __abs__ = sqrt = exp = log = tanh = one


def numbers(*shape: int) -> Array:
    filled = np.empty(shape, object)
    filled.fill(Number())
    return filled


def count(formula: Formula, *given: object) -> int:
    """How many operations a formula takes."""
    Number.done = 0
    formula(*given)
    return Number.done


def inner(a: Array, b: Array) -> Any:
    return (a * b).sum(initial=0)


def linear(layer: L.Linear, x: Array) -> None:
    weight, bias = numbers(layer.out_features, x.shape[1]), Number()
    for sample in x:
        for row in weight:
            y = inner(row, sample)
            if layer.bias:
                y + bias


def linear_weights(layer: L.Linear, x: Array, dy: Array) -> None:
    dw, db = numbers(layer.out_features, x.shape[1]), numbers(layer.out_features)
    for b in range(len(x)):
        dw = dw + np.multiply.outer(dy[b], x[b])
        if layer.bias:
            db = db + dy[b]


def linear_input(layer: L.Linear, x: Array, dy: Array) -> None:
    for sample in dy:
        for column in numbers(x.shape[1], layer.out_features):
            inner(column, sample)


def places(size: int, kernel: int, stride: int, pad: int, dilation: int = 1) -> list[slice]:
    """The places of a window along a padded axis."""
    reach = dilation * (kernel - 1) + 1
    starts = range(0, size + 2 * pad - reach + 1, stride)
    return [slice(start, start + reach, dilation) for start in starts]


def patches(layer: L.Conv2d, x: Array) -> Iterator[tuple[int, Array]]:
    """The output channel and the padded input that each output value is made of."""
    (batch, channels, *size), pad = x.shape, layer.padding
    padded = numbers(batch, channels, *(extent + 2 * pad for extent in size))
    rows, columns = (
        places(extent, layer.kernel, layer.stride, pad, layer.dilation) for extent in size
    )
    for image in padded:
        for k in range(layer.out_channels):
            first = k * layer.groups // layer.out_channels * (channels // layer.groups)
            group = image[first : first + channels // layer.groups]
            for row in rows:
                for column in columns:
                    yield k, group[:, row, column]


def conv(layer: L.Conv2d, x: Array) -> None:
    for _, patch in patches(layer, x):
        y = inner(patch, numbers(*patch.shape))
        if layer.bias:
            y + Number()


def conv_weights(layer: L.Conv2d, x: Array, dy: Array) -> None:
    weight = numbers(layer.out_channels, x.shape[1] // layer.groups, layer.kernel, layer.kernel)
    bias = numbers(layer.out_channels)
    for k, patch in patches(layer, x):
        weight[k] = weight[k] + patch * Number()
        if layer.bias:
            bias[k] = bias[k] + Number()


def conv_input(layer: L.Conv2d, x: Array, dy: Array) -> None:
    for _, patch in patches(layer, x):
        patch[:] = patch + numbers(*patch.shape) * Number()


def batch_norm(layer: L.BatchNorm, x: Array) -> None:
    for values in by_channel(x):
        weight, bias, keep, share = (Number() for _ in range(4))
        mean = values.sum(initial=0) / values.size
        centred = values - mean
        variance = inner(centred, centred) / values.size
        inverse_deviation = 1 / (variance + layer.epsilon).sqrt()
        (values - mean) * inverse_deviation * weight + bias
        for statistic in (mean, variance):  # the share makes the variance an unbiased one
            Number() * keep + statistic * share


def batch_norm_in_inference(layer: L.BatchNorm, x: Array) -> None:
    for values in by_channel(x):
        mean, variance, weight, bias = (Number() for _ in range(4))
        inverse_deviation = 1 / (variance + layer.epsilon).sqrt()
        (values - mean) * inverse_deviation * weight + bias


def batch_norm_weights(layer: L.BatchNorm, x: Array, dy: Array) -> None:
    for values, gradient in zip(by_channel(x), by_channel(dy), strict=True):
        mean, inverse_deviation = Number(), Number()
        inner(gradient, (values - mean) * inverse_deviation)
        gradient.sum(initial=0)


def batch_norm_input(layer: L.BatchNorm, x: Array, dy: Array) -> None:
    """``weight / deviation (dy - mean of dy - n mean of dy n)``, n the normalised x."""
    for values, gradient in zip(by_channel(x), by_channel(dy), strict=True):
        mean, inverse_deviation, weight, dw, db = (Number() for _ in range(5))
        scale, offset = weight * inverse_deviation, db / values.size
        lean = dw / values.size * inverse_deviation
        (gradient - offset - (values - mean) * lean) * scale


def by_channel(x: Array) -> list[Array]:
    return [x[:, c].ravel() for c in range(x.shape[1])]


def local_response_norm(layer: L.LocalResponseNorm, x: Array) -> None:
    x * denominator(layer, x) ** -layer.beta


def denominator(layer: L.LocalResponseNorm, x: Array) -> Array:
    window = numbers(layer.size, *x.shape)  # beyond the first and the last channel lie zeros
    squares: Array = (window * window).sum(0)
    return squares * (layer.alpha / layer.size) + layer.k


def local_response_norm_input(layer: L.LocalResponseNorm, x: Array, dy: Array) -> None:
    """``dy s^-beta - 2 alpha beta / size x sum of (dy x s^(-beta - 1))`` over the window."""
    s = denominator(layer, x)
    each = dy * x * s ** (-layer.beta - 1)
    window = np.broadcast_to(each, (layer.size, *each.shape))
    factor = 2 * layer.alpha * layer.beta / layer.size
    dy * s**-layer.beta - x * window.sum(0) * factor


def pools(layer: L.MaxPool2d | L.AvgPool2d, x: Array) -> Iterator[Array]:
    """The window of each output value; those of the test cases do not hang over the edge."""
    *planes, height, width = x.shape
    if layer.kernel == "all":
        rows, columns, pad = [slice(0, height)], [slice(0, width)], 0
    else:
        stride, pad = layer.stride or layer.kernel, layer.pad
        rows, columns = (places(n, layer.kernel, stride, pad) for n in (height, width))
    for plane in numbers(prod(planes), height + 2 * pad, width + 2 * pad):
        for row in rows:
            for column in columns:
                yield plane[row, column].ravel()


def max_pool(layer: L.MaxPool2d, x: Array) -> None:
    for window in pools(layer, x):
        max(window)


def max_pool_input(layer: L.MaxPool2d, x: Array, dy: Array) -> None:
    for window in pools(layer, x):
        window[0] + Number()


def avg_pool(layer: L.AvgPool2d, x: Array) -> None:
    for window in pools(layer, x):
        window.sum() / window.size


def avg_pool_input(layer: L.AvgPool2d, x: Array, dy: Array) -> None:
    for window in pools(layer, x):
        window + Number() / window.size


def relu(layer: L.ReLU, x: Array) -> None:
    np.greater(x, 0)


def relu_input(layer: L.ReLU, y: Array, dy: Array) -> None:
    np.greater(y, 0)


def tanh(layer: L.Tanh, x: Array) -> None:
    np.tanh(x)


def tanh_input(layer: L.Tanh, y: Array, dy: Array) -> None:
    dy * (1 - y * y)


def dropout(layer: L.Dropout, x: Array) -> None:
    np.greater(numbers(*x.shape), layer.p)  # what is drawn
    x * (1 / (1 - layer.p))


def dropout_input(layer: L.Dropout, x: Array, dy: Array) -> None:
    dropout(layer, dy)


def add(layer: L.Add, *inputs: Array) -> None:
    first, *others = inputs
    for other in others:
        first + other


def softmax(layer: L.SoftmaxCrossEntropy, x: Array) -> None:
    for scores in x:
        powers = np.exp(scores - max(scores))
        powers / powers.sum()


def cross_entropy(layer: L.SoftmaxCrossEntropy, x: Array) -> None:
    softmax(layer, x)
    total: Any = 0
    for at_label in numbers(len(x)):
        total = total + at_label.log()
    total * (-1 / len(x))


def cross_entropy_input(layer: L.SoftmaxCrossEntropy, x: Array) -> None:
    for probabilities in numbers(*x.shape):
        probabilities[0] = probabilities[0] - 1
        probabilities / len(x)


def squared_error(layer: L.SquaredError, x: Array) -> None:
    inner(x - numbers(*x.shape), numbers(*x.shape)) / len(x)


def squared_error_input(layer: L.SquaredError, x: Array) -> None:
    (x - numbers(*x.shape)) * (2 / len(x))


def nothing(layer: Layer, *given: Array) -> None:
    """Copies and views."""


FORWARD: dict[str, Formula] = {
    "linear": linear,
    "conv2d": conv,
    "batch_norm": batch_norm,
    "local_response_norm": local_response_norm,
    "max_pool2d": max_pool,
    "avg_pool2d": avg_pool,
    "relu": relu,
    "tanh": tanh,
    "dropout": dropout,
    "add": add,
    "concat": nothing,
    "softmax_cross_entropy": cross_entropy,
    "squared_error": squared_error,
}
INFERENCE: dict[str, Formula] = {
    "batch_norm": batch_norm_in_inference,
    "softmax_cross_entropy": softmax,
}
"""Where it differs from forward."""
WEIGHTS: dict[str, Formula] = {
    "linear": linear_weights,
    "conv2d": conv_weights,
    "batch_norm": batch_norm_weights,
}
"""Backward for what a layer learns."""
INPUT: dict[str, Formula] = {
    "linear": linear_input,
    "conv2d": conv_input,
    "batch_norm": batch_norm_input,
    "local_response_norm": local_response_norm_input,
    "max_pool2d": max_pool_input,
    "avg_pool2d": avg_pool_input,
    "relu": relu_input,
    "tanh": tanh_input,
    "dropout": dropout_input,
    "softmax_cross_entropy": cross_entropy_input,
    "squared_error": squared_error_input,
}
"""Backward for its input."""


def line(formula: Formula, layer: Layer, *shapes: Shape) -> tuple[int, int]:
    """Operations of a formula on a batch: those that the batch takes once, those per sample."""
    two, three = (
        count(formula, layer, *(numbers(batch, *shape) for shape in shapes)) for batch in (2, 3)
    )
    return two - 2 * (three - two), three - two


# -- updates, for one parameter with gradient g -----------------------------------------------


def sgd(w: Number, g: Number, rate: float) -> None:
    w - rate * g


def momentum(w: Number, g: Number, v: Number, rate: float, keep: float) -> None:
    v = keep * v + g
    w - rate * v


def adagrad(w: Number, g: Number, s: Number, rate: float, epsilon: float) -> None:
    s = s + g * g
    w - rate * g / (s.sqrt() + epsilon)


def rmsprop(w: Number, g: Number, v: Number, rate: float, epsilon: float) -> None:
    keep = 0.99
    v = keep * v + (1 - keep) * g * g
    w - rate * g / (v.sqrt() + epsilon)


def adam(w: Number, g: Number, m: Number, v: Number, rate: float, epsilon: float) -> None:
    """In the order of Kingma and Ba 2015, end of section 2: the rate holds both corrections."""
    keep, keep_square = 0.9, 0.999
    m = keep * m + (1 - keep) * g
    v = keep_square * v + (1 - keep_square) * g * g
    w - rate * m / (v.sqrt() + epsilon)


UPDATES: dict[str, int] = {
    "sgd": count(sgd, Number(), Number(), 0.1),
    "momentum": count(momentum, Number(), Number(), Number(), 0.1, 0.9),
    "adagrad": count(adagrad, Number(), Number(), Number(), 0.1, 1e-10),
    "rmsprop": count(rmsprop, Number(), Number(), Number(), 0.1, 1e-8),
    "adam": count(adam, Number(), Number(), Number(), Number(), 0.1, 1e-8),
}
"""Operations per value."""
STATES = {"sgd": 0, "momentum": 1, "adagrad": 1, "rmsprop": 1, "adam": 2}
"""Arrays that stay of each parameter, beside itself: v; s; v; m and v."""
