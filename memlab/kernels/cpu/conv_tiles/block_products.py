"""Inner loops of matrix products, written in vectors.

A block of sums, some rows by some vectors, stays in the processor's registers while the loop walks
along the inner extent, so that each value that is loaded takes part in several products. A block of
dot products works alike: some rows by some rows, summed along the lanes. ``bits`` is the width of a
vector. Indices count values in flat arrays, and nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memlab.kernels.cpu.llvm_modules import ir, types
from memlab.kernels.cpu.vector_code import (
    REGISTERS,
    Value,
    Writer,
    data_pointers,
    intrinsic,
    unpacked,
    word,
)

ZERO, BIAS, ADD = 0, 1, 2
"""Initial value of a sum: 0, a bias per row, or the value of the output."""

VECTORS = 3


def block(registers: int) -> tuple[int, tuple[int, int]]:
    """Rows of ``VECTORS`` sums, and rows by rows of dot products, that fill so many registers and
    leave some for the factors."""
    return (8, (4, 6)) if registers == 32 else (4, (3, 3))


ROWS, DOTS = block(REGISTERS)

Step = tuple[list[Value], list[Value]]
"""Vectors of a step, and the state of the next step."""
Stepper = Callable[[Writer, list[Value], list[Value], list[Value]], Step]
"""Function that writes a step, from the arrays and numbers of the product and the state of the
step."""


@intrinsic
def multiply_panel(
    typing: Any, bits: Any, rows: Any, vectors: Any, a: Any, a_at: Any, out: Any, out_at: Any,
    extent: Any, start: Any, bias: Any, panel: Any, panel_at: Any,
) -> Any:  # fmt: skip
    """Compute ``out = a panel`` for a block of ``rows`` rows and ``vectors`` vectors.

    Args:
        a_at: (first index, distance from row to row, from step to step) in ``a``.
        out_at: (first index, distance from row to row) in ``out``.
        extent: (rows, lanes, steps); rows and lanes beyond it are not written. At least one row and
            one step.
        start: (ZERO, BIAS or ADD, index of the bias of the first row).
        panel_at: (first index, distance from step to step) in ``panel``.
    """

    def step(write: Writer, data: list[Value], at: list[Value], state: list[Value]) -> Step:
        (place,) = state
        lanes = [
            write.load(data[0], write.sum(place, vector * write.lanes))
            for vector in range(vectors.literal_value)
        ]
        return lanes, [write.sum(place, at[1])]

    return _product((bits, rows, vectors), (a, out, bias), (panel,), 2, lambda at: at[:1], step)


@intrinsic
def multiply_offsets(
    typing: Any, bits: Any, rows: Any, vectors: Any, a: Any, a_at: Any, out: Any, out_at: Any,
    extent: Any, start: Any, bias: Any, image: Any, table: Any, image_at: Any,
) -> Any:  # fmt: skip
    """Compute ``out = a lowered`` for a block of rows and vectors, with the lowered values read
    from an image.

    Other arguments are as for ``multiply_panel``.

    Args:
        table: two numbers for each tap at which every channel is read: the distance of its lanes
            from the block's first place in that channel, and a bit for every lane that is inside
            the image.
        image_at: (first place, distance from channel to channel, number of taps).
    """

    def step(write: Writer, data: list[Value], at: list[Value], state: list[Value]) -> Step:
        builder, (entry, channel) = write.builder, state
        offset, chosen = (
            builder.load(builder.gep(data[1], [write.sum(entry, which)])) for which in (0, 1)
        )
        first = write.sum(channel, offset)
        lanes = [
            write.load(data[0], write.sum(first, v * write.lanes), write.mask_of_bits(chosen, v))
            for v in range(vectors.literal_value)
        ]
        following = write.sum(entry, 2)
        last = builder.icmp_signed("==", following, builder.shl(at[2], word(1)))
        onward = builder.select(last, at[1], word(0))
        return lanes, [builder.select(last, word(0), following), write.sum(channel, onward)]

    return _product(
        (bits, rows, vectors), (a, out, bias), (image, table), 3,
        lambda at: [word(0), at[0]], step,
    )  # fmt: skip


def _product(
    sizes: tuple[Any, Any, Any], arrays: tuple[Any, Any, Any], operands: tuple[Any, ...],
    numbers: int, initial: Callable[[list[Value]], list[Value]], step: Stepper,
) -> Any:  # fmt: skip
    """Signature and code of a block of sums, whose vectors are loaded by ``step``."""
    a, out, bias = arrays
    bits, rows, vectors = (size.literal_value for size in sizes)
    several = [types.UniTuple(types.int64, count) for count in (3, 2, 3, 2, numbers)]
    signature = types.void(*sizes, a, several[0], out, *several[1:4], bias, *operands, several[4])

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, _, a_, a_at, out_, out_at, extent, start, bias_, *rest, at = args
        kinds = (*arrays, *operands)
        data = data_pointers(context, builder, *zip(kinds, (a_, out_, bias_, *rest), strict=True))
        a_at, out_at, extent, start, at = (
            unpacked(builder, numbers) for numbers in (a_at, out_at, extent, start, at)
        )
        write = Writer(builder, a.dtype, bits)
        block = SumBlock(write, rows, vectors, extent)
        sums = block.starts(data[1], out_at, start, data[2])
        sums = block.loop(sums, data[0], a_at, initial(at), lambda s: step(write, data[3:], at, s))
        block.finish(sums, data[1], out_at)
        return context.get_dummy_value()

    return signature, code


Sums = list[list[Value]]


class SumBlock:
    """Writer of the code of a block of sums: initial values, loop, and store of the results."""

    def __init__(self, write: Writer, rows: int, vectors: int, extent: list[Value]) -> None:
        self.write, self.rows, self.vectors = write, rows, vectors
        last = write.builder.sub(extent[0], word(1))
        # rows beyond the last one repeat it, and write the same values again
        self.row = [write.minimum(word(row), last) for row in range(rows)]
        _, self.lanes, self.steps = extent
        self.masks = [write.mask_before(extent[1], vector) for vector in range(vectors)]

    def starts(self, out: Value, at: list[Value], start: list[Value], bias: Value) -> Sums:
        """Write the initial values of the sums: 0, the bias of each row, or the values of the
        output."""
        write, builder = self.write, self.write.builder
        kind, first = start
        biased = builder.icmp_signed("==", kind, word(BIAS))
        initial = []
        for row in self.row:
            index = builder.select(biased, write.sum(first, row), word(0))
            value = builder.load(builder.gep(bias, [index]))
            value = builder.select(biased, value, ir.Constant(write.real, 0))
            initial.append(write.broadcast(value))
        before = builder.block
        # a load whose mask is off waits for the memory too
        with builder.if_then(builder.icmp_signed("==", kind, word(ADD))):
            there = [
                [write.load(out, place, mask) for place, mask in self._places(row, at)]
                for row in self.row
            ]
            adding = builder.block
        sums = []
        for value, row in zip(initial, there, strict=True):
            sums.append([builder.phi(write.vector) for _ in row])
            for phi, old in zip(sums[-1], row, strict=True):
                phi.add_incoming(value, before)
                phi.add_incoming(old, adding)
        return sums

    def loop(
        self, sums: Sums, a: Value, at: list[Value], initial: list[Value],
        step: Callable[[list[Value]], Step],
    ) -> Sums:  # fmt: skip
        """Write the loop over all steps, and return the sums after it."""
        write, builder = self.write, self.write.builder
        first, between, apart = at
        rows = [builder.gep(a, [write.sum(first, builder.mul(row, between))]) for row in self.row]
        before, body = builder.block, builder.append_basic_block("sum")
        builder.branch(body)
        builder.position_at_end(body)
        left, place = builder.phi(write.word), builder.phi(write.word)
        state = [builder.phi(write.word) for _ in initial]
        running = [[builder.phi(write.vector) for _ in row] for row in sums]
        (vectors, next_state), following = step(state), []
        for row, totals in zip(rows, running, strict=True):
            value = write.broadcast(builder.load(builder.gep(row, [place])))
            following.append(
                [write.multiply_add(value, v, t) for v, t in zip(vectors, totals, strict=True)]
            )
        less = write.sum(left, -1)
        pairs = [(left, self.steps, less), (place, word(0), write.sum(place, apart))]
        pairs += zip(state, initial, next_state, strict=True)
        for phis, starts, ends in zip(running, sums, following, strict=True):
            pairs += zip(phis, starts, ends, strict=True)
        for phi, value, then in pairs:
            phi.add_incoming(value, before)
            phi.add_incoming(then, builder.block)
        end = builder.append_basic_block("summed")
        builder.cbranch(builder.icmp_signed(">", less, word(0)), builder.block, end)
        builder.position_at_end(end)
        return following

    def finish(self, sums: Sums, out: Value, at: list[Value]) -> None:
        """Write the store of the sums into the output."""
        write, builder = self.write, self.write.builder
        full = builder.icmp_signed(">=", self.lanes, word(self.vectors * write.lanes))
        # a store with a mask takes several cycles, even where all lanes are on
        with builder.if_else(full) as (plain, masked):
            for branch, all_lanes in ((plain, True), (masked, False)):
                with branch:
                    for row, totals in zip(self.row, sums, strict=True):
                        for total, (place, mask) in zip(totals, self._places(row, at), strict=True):
                            write.store(total, out, place, None if all_lanes else mask)

    def _places(self, row: Value, at: list[Value]) -> list[tuple[Value, Value]]:
        """First index of each vector in a row of the output, with the mask of its valid lanes."""
        write = self.write
        first = write.sum(at[0], write.builder.mul(row, at[1]))
        return [
            (write.sum(first, vector * write.lanes), mask) for vector, mask in enumerate(self.masks)
        ]


@intrinsic
def dot_rows(
    typing: Any, bits: Any, rows: Any, columns: Any, a: Any, a_at: Any, b: Any, b_at: Any,
    out: Any, out_at: Any, extent: Any, add: Any,
) -> Any:  # fmt: skip
    """Compute ``out = a b^T``, or add it to ``out``, for a block of rows of ``a`` and of ``b``.

    Args:
        a_at: (first index, distance from row to row) in ``a``; ``b_at`` and ``out_at`` likewise.
        extent: (rows of a, rows of b, lanes), with at least one row of each. Whatever is beyond is
            neither read nor written.
        add: True to add to ``out``.
    """
    sizes = bits.literal_value, rows.literal_value, columns.literal_value
    pair, triple = (types.UniTuple(types.int64, count) for count in (2, 3))

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        matrices = (a, *args[3:5]), (b, *args[5:7]), (out, *args[7:9])
        return write_dots(context, builder, sizes, matrices, args[9], args[10])

    signature = types.void(
        bits, rows, columns, a, pair, b, pair, out, pair, triple, types.boolean
    )  # fmt: skip
    return signature, code


def write_dots(
    context: Any, builder: Any, sizes: tuple[int, int, int],
    matrices: tuple[tuple[Any, Value, Value], ...], extent: Value, add: Value, scale: Value = None,
) -> Value:  # fmt: skip
    """Write the code of ``dot_rows``, whose products may be multiplied by a number.

    Args:
        context: Numba's context of the target.
        builder: llvmlite's builder of the code.
        sizes: bits of a vector, rows of ``a`` and rows of ``b``.
        matrices: ``a``, ``b`` and ``out``, each as Numba's type, the array in the code, and the
            pair of its numbers.
        extent: the numbers of ``dot_rows``.
        add: True in the code to add to ``out``.
        scale: factor of the products in the code; None for 1.
    """
    kinds, arrays, places = zip(*matrices, strict=True)
    a, b, out = data_pointers(context, builder, *zip(kinds, arrays, strict=True))
    a_at, b_at, out_at, extent = (unpacked(builder, numbers) for numbers in (*places, extent))
    write = Writer(builder, kinds[0].dtype, sizes[0])
    ours, theirs = (
        [write.minimum(word(row), write.sum(last, -1)) for row in range(count)]
        for count, last in zip(sizes[1:], extent, strict=False)
    )
    left = [write.sum(a_at[0], builder.mul(row, a_at[1])) for row in ours]
    right = [write.sum(b_at[0], builder.mul(row, b_at[1])) for row in theirs]
    totals = [write.lane_sum(total) for total in _dots(write, (a, left), (b, right), extent[2])]
    indices = [
        write.sum(out_at[0], builder.mul(row, out_at[1]), column)
        for row in ours
        for column in theirs
    ]
    before = [builder.load(builder.gep(out, [index])) for index in indices]
    zero = ir.Constant(write.real, 0)
    for total, old, index in zip(totals, before, indices, strict=True):
        total = total if scale is None else builder.fmul(total, scale)
        value = builder.fadd(total, builder.select(add, old, zero))
        builder.store(value, builder.gep(out, [index]))
    return context.get_dummy_value()


def _dots(
    write: Writer, ours: tuple[Value, list[Value]], theirs: tuple[Value, list[Value]],
    count: Value,
) -> list[Value]:  # fmt: skip
    """Vectors whose lanes add up to the inner products of all pairs of rows."""
    builder, before = write.builder, write.builder.block
    pairs = len(ours[1]) * len(theirs[1])
    full = builder.and_(count, word(-write.lanes))
    zeros = [ir.Constant(write.vector, None)] * pairs
    body, end = builder.append_basic_block("dot"), builder.append_basic_block("rest")
    builder.cbranch(builder.icmp_signed(">", full, word(0)), body, end)

    def products(place: Value, totals: list[Value], mask: Value = None) -> list[Value]:
        a, b = (
            [write.load(data, write.sum(row, place), mask) for row in rows]
            for data, rows in (ours, theirs)
        )
        totals_left = iter(totals)
        return [write.multiply_add(x, y, next(totals_left)) for x in a for y in b]

    builder.position_at_end(body)
    place = builder.phi(write.word)
    running = [builder.phi(write.vector) for _ in zeros]
    sums, onward = products(place, running), write.sum(place, write.lanes)
    for phi, first, then in zip((place, *running), (word(0), *zeros), (onward, *sums), strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, body)
    builder.cbranch(builder.icmp_signed("<", onward, full), body, end)
    builder.position_at_end(end)
    merged = [builder.phi(write.vector) for _ in zeros]
    for phi, first, then in zip(merged, zeros, sums, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, body)
    return products(full, merged, write.mask_before(builder.sub(count, full), 0))
