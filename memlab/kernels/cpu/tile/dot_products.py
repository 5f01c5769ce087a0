"""The inner loop of a product of rows with rows: sums along the lanes of vectors.

A block of dot products stays in the processor's registers. ``bits`` is the width of a vector.
Indices count values in flat arrays, and nothing is checked.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir

from memlab.kernels.cpu.vectors import Value, Writer, datas, unpacked, word, written

types: Any = numba.types


@written
def dot_rows(
    typing: Any, bits: Any, rows: Any, columns: Any, a: Any, a_at: Any, b: Any, b_at: Any,
    out: Any, out_at: Any, extent: Any, add: Any,
) -> Any:  # fmt: skip
    """``out = a b^T``, or added to it, for a block of some rows of ``a`` and of ``b``.

    All ``.._at`` = (first index, from row to row). ``extent`` = (rows of a, rows of b, lanes): at
    least one row of each; what is beyond is neither read nor written.
    """
    sizes = bits.literal_value, rows.literal_value, columns.literal_value
    pair, triple = (types.UniTuple(types.int64, count) for count in (2, 3))

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, _, a_, a_at, b_, b_at, out_, out_at, extent, add = args
        a_, b_, out_ = datas(context, builder, (a, a_), (b, b_), (out, out_))
        a_at, b_at, out_at, extent = (
            unpacked(builder, each) for each in (a_at, b_at, out_at, extent)
        )
        write = Writer(builder, a.dtype, sizes[0])
        ours, theirs = (
            [write.least(word(row), write.sum(last, -1)) for row in range(count)]
            for count, last in zip(sizes[1:], extent, strict=False)
        )
        left = [write.sum(a_at[0], builder.mul(row, a_at[1])) for row in ours]
        right = [write.sum(b_at[0], builder.mul(row, b_at[1])) for row in theirs]
        sums = _dots(write, (a_, left), (b_, right), extent[2])
        places = [
            write.sum(out_at[0], builder.mul(row, out_at[1]), column)
            for row in ours
            for column in theirs
        ]
        before = [builder.load(builder.gep(out_, [place])) for place in places]
        zero = ir.Constant(write.real, 0)
        for total, old, place in zip(sums, before, places, strict=True):
            value = builder.fadd(write.total(total), builder.select(add, old, zero))
            builder.store(value, builder.gep(out_, [place]))
        return context.get_dummy_value()

    signature = types.void(
        bits, rows, columns, a, pair, b, pair, out, pair, triple, types.boolean
    )  # fmt: skip
    return signature, code


def _dots(
    write: Writer, ours: tuple[Value, list[Value]], theirs: tuple[Value, list[Value]],
    count: Value,
) -> list[Value]:  # fmt: skip
    """Vectors whose lanes add up to the product of each row with each."""
    builder, before = write.builder, write.builder.block
    pairs = len(ours[1]) * len(theirs[1])
    whole = builder.and_(count, word(-write.lanes))
    zeros = [ir.Constant(write.vector, None)] * pairs
    body, end = builder.append_basic_block("dot"), builder.append_basic_block("rest")
    builder.cbranch(builder.icmp_signed(">", whole, word(0)), body, end)

    def products(place: Value, totals: list[Value], mask: Value = None) -> list[Value]:
        a, b = (
            [write.load(data, write.sum(row, place), mask) for row in rows]
            for data, rows in (ours, theirs)
        )
        each = iter(totals)
        return [write.fused(x, y, next(each)) for x in a for y in b]

    builder.position_at_end(body)
    place = builder.phi(write.word)
    running = [builder.phi(write.vector) for _ in zeros]
    sums, onward = products(place, running), write.sum(place, write.lanes)
    for phi, first, then in zip((place, *running), (word(0), *zeros), (onward, *sums), strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, body)
    builder.cbranch(builder.icmp_signed("<", onward, whole), body, end)
    builder.position_at_end(end)
    merged = [builder.phi(write.vector) for _ in zeros]
    for phi, first, then in zip(merged, zeros, sums, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, body)
    return products(whole, merged, write.before(builder.sub(count, whole), 0))
