"""Matrix products in compiled loops, where there is no BLAS library: in a web page.

The sums of some rows by some vectors stay in the processor's registers while the loop walks along
the inner extent (``conv_tiles.block_products`` has these blocks). What does not fill a block is
computed in single vectors, then value by value, so nothing beyond a matrix is read.
"""

from __future__ import annotations

from typing import Any

from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.conv_tiles.block_products import (
    DOTS,
    ROWS,
    VECTORS,
    Step,
    SumBlock,
    Sums,
    write_dots,
)
from memlab.kernels.cpu.llvm_modules import ir, types
from memlab.kernels.cpu.vector_code import (
    BITS,
    Value,
    Writer,
    data_pointers,
    intrinsic,
    unpacked,
    word,
)
from memlab.kernels.registry import Array

ALONE = 1
"""Bits of a vector that holds one value, whatever its format."""


def gemm(
    a: Array,
    b: Array,
    out: Array,
    accumulate: bool,
    transpose_a: bool,
    transpose_b: bool,
    scale: float,
) -> None:
    """Multiply two matrices, with the arguments of ``memlab.kernels.cpu.blas.gemm``."""
    if transpose_b:
        _rows_by_rows(a, b, out, accumulate, transpose_a, scale)
    else:
        _rows_by_columns(a, b, out, accumulate, transpose_a, scale)


@compiled
def _apart(matrix: Array) -> int:
    """Distance between the rows of a matrix, in values."""
    return matrix.strides[0] // matrix.itemsize if len(matrix) > 1 else matrix.shape[1]


@compiled
def _rows_by_columns(
    a: Array, b: Array, out: Array, accumulate: bool, transpose_a: bool, scale: float
) -> None:
    """Multiply by a matrix that is not transposed: its rows fill vectors."""
    (rows, columns), inner, lanes, j = out.shape, b.shape[0], BITS // (8 * out.itemsize), 0
    row, step = (1, _apart(a)) if transpose_a else (_apart(a), 1)
    down, across, wide = _apart(b), _apart(out), VECTORS * lanes
    while j < columns:  # some columns stay in the cache while all rows take part
        width = wide if j + wide <= columns else lanes if j + lanes <= columns else 1
        for i in range(0, rows, ROWS):
            left, at, extent = (i * row, row, step), (i * across + j, across), min(ROWS, rows - i)
            if width == wide:
                block(BITS, ROWS, VECTORS, a, left, b, (j, down), out, at, (extent, inner), scale,
                      accumulate)  # fmt: skip
            elif width > 1:
                block(BITS, ROWS, 1, a, left, b, (j, down), out, at, (extent, inner), scale,
                      accumulate)  # fmt: skip
            else:
                block(ALONE, ROWS, 1, a, left, b, (j, down), out, at, (extent, inner), scale,
                      accumulate)  # fmt: skip
        j += width


@compiled
def _rows_by_rows(
    a: Array, b: Array, out: Array, accumulate: bool, transpose_a: bool, scale: float
) -> None:
    """Multiply by the transpose of a matrix: inner products of its rows."""
    rows, columns = out.shape
    down, across = _apart(b), _apart(out)
    if transpose_a:
        apart = _apart(a)
        for i in range(0, rows, ROWS):
            some = min(ROWS, rows - i), b.shape[1]
            for j in range(columns):
                at = i * across + j, across
                block(ALONE, ROWS, 1, a, (i, 1, apart), b, (j * down, 1), out, at, some, scale,
                      accumulate)  # fmt: skip
        return
    apart = _apart(a)
    for i in range(0, rows, DOTS[0]):
        for j in range(0, columns, DOTS[1]):
            extent = min(DOTS[0], rows - i), min(DOTS[1], columns - j), b.shape[1]
            at = i * across + j, across
            dots(BITS, DOTS[0], DOTS[1], a, (i * apart, apart), b, (j * down, down), out, at,
                 extent, scale, accumulate)  # fmt: skip


class ScaledBlock(SumBlock):
    """Writer of the code of a block of sums from 0, which are multiplied by a number when they are
    stored. Its lanes are all valid."""

    def zeros(self) -> Sums:
        """Write the initial values of the sums."""
        zero = ir.Constant(self.write.vector, None)
        return [[zero] * self.vectors for _ in self.row]

    def store(self, sums: Sums, out: Value, at: list[Value], scale: Value, add: Value) -> None:
        """Write the store of the sums, or of what they add up to with the values of the output."""
        write, builder = self.write, self.write.builder
        factor, zero = write.broadcast(scale), ir.Constant(write.vector, None)
        places = [
            write.sum(at[0], builder.mul(row, at[1]), vector * write.lanes)
            for row in self.row
            for vector in range(self.vectors)
        ]
        # every value is read before one is written: rows beyond the last one repeat it
        before = builder.block
        with builder.if_then(add):
            there = [write.load(out, place) for place in places]
            adding = builder.block
        phis = [builder.phi(write.vector) for _ in places]
        for phi, old in zip(phis, there, strict=True):
            phi.add_incoming(zero, before)
            phi.add_incoming(old, adding)
        totals = (total for row in sums for total in row)
        for total, phi, place in zip(totals, phis, places, strict=True):
            write.store(builder.fadd(builder.fmul(total, factor), phi), out, place)


@intrinsic
def block(
    typing: Any, bits: Any, rows: Any, vectors: Any, a: Any, a_at: Any, b: Any, b_at: Any,
    out: Any, out_at: Any, extent: Any, scale: Any, add: Any,
) -> Any:  # fmt: skip
    """Compute ``out = scale a b``, or add it to ``out``, for a block of ``rows`` rows and
    ``vectors`` vectors.

    Args:
        a_at: (first index, distance from row to row, from step to step) in ``a``.
        b_at: (first index, distance from step to step) in ``b``.
        out_at: (first index, distance from row to row) in ``out``.
        extent: (rows, steps), with at least one row; rows beyond it are not written.
        add: True to add to ``out``.
    """
    pair, triple = (types.UniTuple(types.int64, count) for count in (2, 3))
    sizes = [size.literal_value for size in (bits, rows, vectors)]

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, _, a_, a_at_, b_, b_at_, out_, out_at_, extent_, scale_, add_ = args
        a_, b_, out_ = data_pointers(context, builder, (a, a_), (b, b_), (out, out_))
        a_at_, b_at_, out_at_, (count, steps) = (
            unpacked(builder, numbers) for numbers in (a_at_, b_at_, out_at_, extent_)
        )
        write = Writer(builder, a.dtype, sizes[0])
        sums = ScaledBlock(write, sizes[1], sizes[2], [count, word(0), steps])

        def step(state: list[Value]) -> Step:
            lanes = [
                write.load(b_, write.sum(state[0], vector * write.lanes))
                for vector in range(sizes[2])
            ]
            return lanes, [write.sum(state[0], b_at_[1])]

        totals = sums.loop(sums.zeros(), a_, a_at_, b_at_[:1], step)
        scale_ = context.cast(builder, scale_, scale, a.dtype)
        sums.store(totals, out_, out_at_, scale_, add_)
        return context.get_dummy_value()

    return types.void(
        bits, rows, vectors, a, triple, b, pair, out, pair, pair, scale, types.boolean
    ), code  # fmt: skip


@intrinsic
def dots(
    typing: Any, bits: Any, rows: Any, columns: Any, a: Any, a_at: Any, b: Any, b_at: Any,
    out: Any, out_at: Any, extent: Any, scale: Any, add: Any,
) -> Any:  # fmt: skip
    """Compute ``out = scale a b^T``, or add it to ``out``, for a block of rows of ``a`` and of
    ``b``.

    Arguments are those of ``block_products.dot_rows``, and the number that products are multiplied
    by.
    """
    sizes = bits.literal_value, rows.literal_value, columns.literal_value
    pair, triple = (types.UniTuple(types.int64, count) for count in (2, 3))

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        matrices = (a, *args[3:5]), (b, *args[5:7]), (out, *args[7:9])
        factor = context.cast(builder, args[10], scale, a.dtype)
        return write_dots(context, builder, sizes, matrices, args[9], args[11], factor)

    signature = types.void(
        bits, rows, columns, a, pair, b, pair, out, pair, triple, scale, types.boolean
    )  # fmt: skip
    return signature, code
