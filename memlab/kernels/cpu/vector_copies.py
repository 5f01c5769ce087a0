"""Copy and add runs of values, some vectors at a time.

``bits`` is the width of a vector, ``vectors`` how many are moved. Indices count values in flat
arrays, and nothing is checked.
"""

from __future__ import annotations

from typing import Any

import numba

from memlab.kernels.cpu.vectors import Value, Writer, datas, unpacked, written

types: Any = numba.types


@written
def copy_lanes(
    typing: Any, bits: Any, vectors: Any, source: Any, start: Any, chosen: Any, target: Any, to: Any
) -> Any:
    """Copy some vectors; lanes whose bit in ``chosen`` is off become 0 and are not read."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, there, first, mask, here, place = args
        there, here = datas(context, builder, (source, there), (target, here))
        write = Writer(builder, source.dtype, bits.literal_value)
        for v in range(vectors.literal_value):
            lanes = write.load(there, write.sum(first, v * write.lanes), write.chosen(mask, v))
            write.store(lanes, here, write.sum(place, v * write.lanes))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(bits, vectors, source, whole, whole, target, whole), code


@written
def copy_run(
    typing: Any, bits: Any, vectors: Any, apart: Any, source: Any, row: Any, target: Any, to: Any,
    count: Any,
) -> Any:  # fmt: skip
    """Copy ``count`` values of a row that lie 1 or 2 ``apart``; those outside the row are 0.

    ``row`` = (index of its first value, its length, place of the first value to copy).
    """

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, _, there, row, here, place, count = args
        there, here = datas(context, builder, (source, there), (target, here))
        first, length, left = unpacked(builder, row)
        write, step = Writer(builder, source.dtype, bits.literal_value), apart.literal_value
        for v in range(vectors.literal_value):
            pieces = []
            for piece in range(v * step, (v + 1) * step):
                index = write.sum(first, left, piece * write.lanes)
                pieces.append(write.load(there, index, write.within(left, length, piece)))
            lanes = write.every(step, pieces)
            write.store(lanes, here, write.sum(place, v * write.lanes), write.before(count, v))
        return context.get_dummy_value()

    whole = types.int64
    at = types.UniTuple(whole, 3)
    return types.void(bits, vectors, apart, source, at, target, whole, whole), code


@written
def add_lanes(
    typing: Any, bits: Any, vectors: Any, source: Any, start: Any, target: Any, to: Any, chosen: Any
) -> Any:
    """Add some vectors to others, only the lanes whose bit in ``chosen`` is on."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, there, first, here, place, mask = args
        there, here = datas(context, builder, (source, there), (target, here))
        write = Writer(builder, source.dtype, bits.literal_value)
        for v in range(vectors.literal_value):
            where, chosen = write.sum(place, v * write.lanes), write.chosen(mask, v)
            lanes = write.load(there, write.sum(first, v * write.lanes))
            write.store(builder.fadd(lanes, write.load(here, where, chosen)), here, where, chosen)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(bits, vectors, source, whole, target, whole, whole), code
