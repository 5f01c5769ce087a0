"""Read an array once, in vectors, and add up what it holds."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir

from memlab.errors import InputError
from memlab.kernels.cpu.vectors import BITS, Value, Writer, datas, word, written
from memlab.kernels.registry import Array

types: Any = numba.types

VECTORS = 8
"""Sums that do not wait for each other."""
BLOCK = VECTORS * BITS // 8
"""Bytes that are read at a time."""


def total(values: Array) -> Any:
    """The sum of an array in its own format, in any order; whole numbers wrap around.

    Raises:
        InputError: the array has gaps, is empty or no multiple of ``BLOCK`` bytes.
    """
    fits = values.flags.c_contiguous and values.nbytes and values.nbytes % BLOCK == 0
    if not fits:
        raise InputError(
            f"an array without gaps, of some times {BLOCK} bytes, is read; got shape "
            f"{values.shape} of {values.dtype}; try numpy.ones({BLOCK}, '{values.dtype}')."
        )
    return values.dtype.type(_total(values.reshape(-1)))


@numba.njit(nogil=True)
def _total(values: Array) -> Any:
    return _add_lanes(BITS, VECTORS, values, np.int64(values.size))


@written
def _add_lanes(typing: Any, bits: Any, vectors: Any, values: Any, count: Any) -> Any:
    """The sum of ``count`` values, whole blocks of them; at least one block."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, values_, count_ = args
        (data,) = datas(context, builder, (values, values_))
        write, before = Writer(builder, values.dtype, bits.literal_value), builder.block
        body, end = builder.append_basic_block("add"), builder.append_basic_block("added")
        builder.branch(body)
        builder.position_at_end(body)
        place = builder.phi(write.word)
        sums = [builder.phi(write.vector) for _ in range(vectors.literal_value)]
        following = [
            write.added(sum_, write.load(data, write.sum(place, n * write.lanes)))
            for n, sum_ in enumerate(sums)
        ]
        onward = write.sum(place, len(sums) * write.lanes)
        zero = ir.Constant(write.vector, None)
        for phi, first, then in zip(
            (place, *sums), (word(0), *[zero] * len(sums)), (onward, *following), strict=True
        ):
            phi.add_incoming(first, before)
            phi.add_incoming(then, body)
        builder.cbranch(builder.icmp_signed("<", onward, count_), body, end)
        builder.position_at_end(end)
        first, *rest = following
        for each in rest:
            first = write.added(first, each)
        return write.total(first)

    return values.dtype(bits, vectors, values, types.int64), code
