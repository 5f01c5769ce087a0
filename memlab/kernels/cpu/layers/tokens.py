"""Kernels of sequences: embeddings of tokens, learned positions, patches of an image, and the class
token."""

from __future__ import annotations

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.elementwise_loops import apply_formula
from memlab.kernels.cpu.flat_arrays import matrix, span
from memlab.kernels.cpu.layers.linear import sum_bias
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.formulas.pointwise import identity
from memlab.kernels.registry import Array, KernelCall, kernel


@kernel("embedding")
def embedding(call: KernelCall) -> None:
    """Look up the row of the table for each token.

    Shapes: tokens x (B, T), weight (vocabulary, F), y (B, T, F).
    """
    weight = call["weight"]
    _look_up(call["x"].reshape(-1), weight, call["y"].reshape(-1, weight.shape[1]))


@kernel("embedding.backward")
def embedding_backward(call: KernelCall) -> None:
    """Compute the gradient of the table: each row gets the sum of ``dy`` over its tokens.

    Shapes: x (B, T), dy (B, T, F), dweight (vocabulary, F).
    """
    if not call.accumulate_weights:
        clear(call["dweight"])
    _add_rows(call["x"], *span(call["dy"]), call["dweight"])


@kernel("positions")
def positions(call: KernelCall) -> None:
    """Add the same learned positions p to every sample, ``y = x + p``.

    Shapes: x and y (B, T, F), weight (T, F).
    """
    weight = call["weight"].reshape(-1)
    for x, y in zip(call["x"], call["y"], strict=True):
        _add(x.reshape(-1), weight, y.reshape(-1))


@kernel("positions.backward")
def positions_backward(call: KernelCall) -> None:
    """Compute ``dp``, the sum of ``dy`` over the batch, and ``dx = dy``.

    Shapes: dy and dx (B, T, F), dweight (T, F).
    """
    if call.learns:
        sum_bias(call["dy"], call["dweight"].reshape(-1), call.accumulate_weights)
    if "dx" in call.arrays:
        apply_formula(identity, call["dy"], call["dx"], add=call.accumulate)


@kernel("patches")
def patches(call: KernelCall) -> None:
    """Transpose each map, from channels by places to places by channels.

    Shapes: x (B, C, H, W), y (B, H W, C).
    """
    for x, y in zip(call["x"], call["y"], strict=True):
        _transpose(matrix(x), y, accumulate=False)


@kernel("patches.backward")
def patches_backward(call: KernelCall) -> None:
    """Transpose the gradient back, from places by channels to channels by places.

    Shapes: dy (B, H W, C), dx (B, C, H, W).
    """
    for dy, dx in zip(call["dy"], call["dx"], strict=True):
        _transpose(dy, matrix(dx), call.accumulate)


@kernel("class_token")
def class_token(call: KernelCall) -> None:
    """Put the learned class token in front of the tokens of every sample.

    Shapes: x (B, T, F), token (F,), y (B, T + 1, F).
    """
    token = call["token"]
    for x, y in zip(call["x"], call["y"], strict=True):
        apply_formula(identity, token, y[0])
        apply_formula(identity, x, y[1:])


@kernel("class_token.backward")
def class_token_backward(call: KernelCall) -> None:
    """Compute the gradient of the class token, a sum over the batch, and copy that of the other
    tokens.

    Shapes: dy (B, T + 1, F), dtoken (F,), dx (B, T, F).
    """
    adds = call.adds("dtoken")
    for b, dy in enumerate(call["dy"]):
        if "dtoken" in call.arrays:
            apply_formula(identity, dy[0], call["dtoken"], add=adds or b > 0)
        if "dx" in call.arrays:
            apply_formula(identity, dy[1:], call["dx"][b], add=call.accumulate)


@kernel("first_token")
def first_token(call: KernelCall) -> None:
    """Copy the first token of each sample.

    Shapes: x (B, T, F), y (B, F).
    """
    for x, y in zip(call["x"], call["y"], strict=True):
        apply_formula(identity, x[0], y)


@kernel("first_token.backward")
def first_token_backward(call: KernelCall) -> None:
    """Compute ``dx``: ``dy`` for the first token, 0 for all others.

    Shapes: dy (B, F), dx (B, T, F).
    """
    for dy, dx in zip(call["dy"], call["dx"], strict=True):
        apply_formula(identity, dy, dx[0], add=call.accumulate)
        if not call.accumulate:
            clear(dx[1:])


@compiled
def clear(values: Array) -> None:
    """Write 0 into all values of a matrix, whose rows may lie apart."""
    for r in range(values.shape[0]):
        row = values[r]
        for i in range(row.size):
            row[i] = 0


@compiled
def _look_up(tokens: Array, weight: Array, y: Array) -> None:
    """Copy the table's row of every token."""
    for r in range(tokens.size):
        row, out = weight[tokens[r]], y[r]
        for i in range(out.size):
            out[i] = row[i]


@compiled
def _add_rows(tokens: Array, dy: Array, pitch: int, dweight: Array) -> None:
    """Add each token's gradient to its row of the table's gradient."""
    features = dweight.shape[1]
    for b in range(tokens.shape[0]):
        for t in range(tokens.shape[1]):
            row, values = dweight[tokens[b, t]], dy[b * pitch + t * features :]
            for i in range(features):
                row[i] += values[i]


@compiled
def _add(x: Array, p: Array, y: Array) -> None:
    """Write ``y = x + p`` for one sample."""
    for i in range(y.size):
        y[i] = x[i] + p[i]


@compiled
def _transpose(source: Array, target: Array, accumulate: bool) -> None:
    """Write, or add, the transpose of a matrix."""
    for r in range(target.shape[0]):
        row = target[r]
        for i in range(row.size):
            write_or_add(row, i, source[i, r], accumulate)
