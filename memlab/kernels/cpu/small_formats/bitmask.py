"""One bit for each value: all that the backward of a ReLU needs to know of it.

Every sample starts on a new byte. Its first value is the lowest bit of its first byte, and the bits
after its last value are 0.
"""

from __future__ import annotations

import numpy as np

from memlab.errors import InputError
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.flat_arrays import span
from memlab.kernels.registry import Array

_U = np.uint32
_0, _1 = _U(0), _U(1)


def pack_positive(y: Array, mask: Array) -> None:
    """Set the bits of a mask for all values above 0, and for NaN; clear the others.

    The samples of each array are contiguous; between samples there may be a gap.

    Args:
        y: values, (B, ...), fp32 or fp64.
        mask: (B, values of a sample / 8, rounded up) in uint8; it is written.

    Raises:
        InputError: the mask has another shape or type.
    """
    _check(mask, y)
    _pack(*span(y), *span(mask), len(y), y[0].size)


def relu_backward_masked(dy: Array, mask: Array, dx: Array, accumulate: bool) -> None:
    """Write, or add, ``dx``: ``dy`` where the bit of a value is set, else 0.

    Args:
        dy: gradient of the output, (B, ...), of the shape that was packed.
        mask: (B, values of a sample / 8, rounded up) in uint8.
        dx: gradient of the input, of the same shape.
        accumulate: True to add to ``dx``.

    Raises:
        InputError: the mask has another shape or type, or ``dy`` and ``dx`` differ in shape.
    """
    _check(mask, dx)
    if dy.shape != dx.shape:
        raise InputError(f"dy and dx have one shape, got {dy.shape} and {dx.shape}.")
    _backward(*span(dy), *span(mask), *span(dx), len(dx), dx[0].size, accumulate)


def _check(mask: Array, array: Array) -> None:
    """Refuse a mask that does not have one bit for each value of an array."""
    shape = len(array), -(-array[0].size // 8)
    if mask.shape != shape or mask.dtype != np.uint8:
        raise InputError(
            f"the mask of an array of shape {array.shape} is uint8 {shape}, "
            f"got {mask.dtype} {mask.shape}."
        )


@compiled
def _pack(y: Array, y_pitch: int, mask: Array, pitch: int, samples: int, values: int) -> None:
    """Pack the bits of all samples, 32 values at a time."""
    for sample in range(samples):
        line, row = y[sample * y_pitch :][:values], mask[sample * pitch :][: (values + 7) // 8]
        for first in range(0, values, 32):
            word, some, four = _0, line[first:][:32], row[first // 8 :][:4]
            for i in range(some.size):
                word = _U(word | (_0 if some[i] <= 0 else _U(_1 << _U(i))))
            for byte in range(four.size):
                four[byte] = np.uint8(word >> _U(8 * byte))


@compiled
def _backward(
    dy: Array, dy_pitch: int, mask: Array, pitch: int, dx: Array, dx_pitch: int,
    samples: int, values: int, accumulate: bool,
) -> None:  # fmt: skip
    """Write, or add, the gradients of all samples, 32 values at a time."""
    zero = dx.dtype.type(0)
    for sample in range(samples):
        source, target = dy[sample * dy_pitch :][:values], dx[sample * dx_pitch :][:values]
        row = mask[sample * pitch :][: (values + 7) // 8]
        for first in range(0, values, 32):
            word, four = _0, row[first // 8 :][:4]
            for byte in range(four.size):
                word = _U(word | _U(_U(four[byte]) << _U(8 * byte)))
            gradients, results = source[first:][:32], target[first:][:32]
            if accumulate:
                for i in range(results.size):
                    results[i] += gradients[i] if _U(word >> _U(i)) & _1 else zero
            else:
                for i in range(results.size):
                    results[i] = gradients[i] if _U(word >> _U(i)) & _1 else zero
