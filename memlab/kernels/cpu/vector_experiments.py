"""Loops of lesson 05 in vectors of explicit width: arithmetic in registers, and one pass over an
array.

In the first loop, vectors of a given number of lanes multiply and add, again and again. Many sums
that do not depend on each other keep the processor busy. The loop reads and writes no memory, so
its time is that of the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from memlab.errors import InputError, one_option, shorten, whole_number
from memlab.kernels.cpu.compile import exact
from memlab.kernels.cpu.llvm_modules import ir, types
from memlab.kernels.cpu.vector_code import (
    BITS,
    FEATURES,
    REGISTERS,
    Value,
    Writer,
    data_pointers,
    declared_function,
    intrinsic,
    unpacked,
    word,
)
from memlab.kernels.registry import Array

NARROWEST = 128
"""Bits of the narrowest vector that a dot product exists for."""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """NumPy types of the sum and of the factors of one instruction.

    ``needs`` are groups of processor features; the instruction exists if the processor has all
    features of one group.
    """

    sum: np.dtype[Any]
    factors: tuple[np.dtype[Any], ...]
    needs: tuple[frozenset[str], ...]

    @property
    def products(self) -> int:
        """Number of products that one instruction adds to a sum."""
        return self.sum.itemsize // self.factors[0].itemsize

    @property
    def bits(self) -> int:
        """Width in bits of one factor of the instruction's products."""
        return 8 * self.factors[0].itemsize

    @property
    def least(self) -> int:
        """Smallest number of lanes with which the instruction can be used."""
        return 1 if self.products == 1 else NARROWEST // self.bits

    @property
    def here(self) -> bool:
        """True if the processor that the code is compiled for has the instruction."""
        return any(group <= FEATURES for group in self.needs)


def _arithmetic(total: str, factors: str, *needs: set[str]) -> Arithmetic:
    """Arithmetic from names of NumPy types and groups of processor features."""
    groups = tuple(map(frozenset, needs)) or (frozenset[str](),)
    return Arithmetic(np.dtype(total), tuple(map(np.dtype, factors.split())), groups)


ARITHMETIC = {
    "fp64": _arithmetic("float64", "float64"),
    "fp32": _arithmetic("float32", "float32"),
    "bf16": _arithmetic("float32", "uint16 uint16", {"avx512bf16", "avx512vl"}),
    "int8": _arithmetic("int32", "uint8 int8", {"avx512vnni", "avx512vl"}, {"avxvnni"}),
}
"""Arithmetic by format. bf16 and int8 are dot products: of 2 values to an fp32 sum, of 4 to an
int32 sum."""


def available() -> tuple[str, ...]:
    """Names of the formats that this processor computes in vectors."""
    return tuple(name for name, arithmetic in ARITHMETIC.items() if arithmetic.here)


@dataclass(frozen=True)
class MicroKernel:
    """Loop over ``sums`` vectors of ``lanes`` values each, which do not depend on each other."""

    format: str
    lanes: int
    sums: int
    code: Callable[..., None]

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the array of sums: number of vectors by values in each. A dot product has fewer
        sums than lanes."""
        return self.sums, self.lanes // ARITHMETIC[self.format].products

    def __call__(self, start: Array, factors: Sequence[Array], steps: int) -> Array:
        """Return the sums after ``steps`` steps.

        A step is ``sum + sum * x`` in fp64 and fp32, with one value x. It is ``sum + x . y`` with 2
        values each in bf16 (their bits as uint16), and with 4 in int8 (uint8 by int8).

        Args:
            start: initial sums, of the loop's ``shape``.
            factors: the arrays x and, for a dot product, y.
            steps: number of steps, from 1 on.

        Raises:
            InputError: an array has another shape or type, or there is no step.
        """
        kind, steps = ARITHMETIC[self.format], whole_number("steps", steps)
        wanted = [(self.shape, kind.sum), *(((kind.products,), dtype) for dtype in kind.factors)]
        passed = [(array.shape, array.dtype) for array in (start, *factors)]
        if passed != wanted:
            listed = ", ".join(f"{dtype} {shape}" for shape, dtype in wanted)
            raise InputError(f"{self.format} in {self.lanes} lanes takes arrays {listed}, got "
                             f"{shorten(passed)}; try run(steps).")  # fmt: skip
        out = np.empty(self.shape, kind.sum)
        as_one = kind.sum if kind.products == 1 else np.dtype("int32")
        words = tuple(np.ascontiguousarray(array).view(as_one)[0] for array in factors)
        self.code(np.ascontiguousarray(start).reshape(-1), out.reshape(-1), words, steps)
        return out

    def run(self, steps: int) -> int:
        """Run ``steps`` steps on prepared values and return the number of operations: a product and
        an addition per lane."""
        kind = ARITHMETIC[self.format]
        # factors of 0: the sums stay far from infinity and from what is slow below normal
        factors = [np.zeros(kind.products, dtype) for dtype in kind.factors]
        self(np.ones(self.shape, kind.sum), factors, steps)
        return 2 * self.lanes * self.sums * steps


def micro_kernel(format: str, lanes: int) -> MicroKernel:
    """Return the loop for vectors of ``lanes`` values of a format.

    Vectors that are wider than those of the processor become several. The loop is compiled at its
    first call, and kept.

    Args:
        format: ``"fp64"``, ``"fp32"``, ``"bf16"`` or ``"int8"``.
        lanes: a power of two, at most 64.

    Raises:
        InputError: there is no such format, this processor does not compute it, or the number of
            lanes is not allowed.
    """
    kind = one_option("format of vectors", format, ARITHMETIC)
    if not kind.here:
        known = ", ".join(available())
        raise InputError(f"this processor has no {format} dot product; try one of {known}.")
    allowed = [2**power for power in range(7) if 2**power >= kind.least]
    if isinstance(lanes, bool) or lanes not in allowed:
        listed = ", ".join(map(str, allowed))
        raise InputError(f"lanes of {format} must be one of {listed}, got {shorten(lanes)}; "
                         f"try {allowed[-1]}.")  # fmt: skip
    return _compiled(format, int(lanes))


@cache
def _compiled(format: str, lanes: int) -> MicroKernel:
    """Loop for a format and a number of lanes that are known to be allowed."""
    kind = ARITHMETIC[format]
    # the operands, and what the compiler needs, take the other registers
    sums = max(1, 3 * REGISTERS // 4 // max(1, lanes * kind.bits // BITS))
    products = kind.products

    def code(start: Array, out: Array, factors: Any, steps: int) -> None:
        _repeat(products, lanes, sums, start, out, factors, steps)

    return MicroKernel(format, lanes, sums, exact(code))


@intrinsic
def _repeat(
    typing: Any, products: Any, lanes: Any, sums: Any, start: Any, out: Any, factors: Any,
    steps: Any,
) -> Any:  # fmt: skip
    """Write the code that takes ``sums`` vectors through ``steps`` steps; there is at least one
    step."""
    real, per_sum = start.dtype, products.literal_value
    bits = lanes.literal_value // per_sum * real.bitwidth
    # a dot product is an instruction, and there is none for more than a vector
    pieces = 1 if per_sum == 1 else max(1, bits // BITS)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        *_, start_, out_, factors_, steps_ = args
        start_, out_ = data_pointers(context, builder, (start, start_), (out, out_))
        write = Writer(builder, real, bits // pieces)
        places = [word(n * write.lanes) for n in range(sums.literal_value * pieces)]
        step = (_fused_step if per_sum == 1 else _dot_step)(write, unpacked(builder, factors_))
        first = [write.load(start_, place) for place in places]
        for place, total in zip(places, _loop(write, first, steps_, step), strict=True):
            write.store(total, out_, place)
        return context.get_dummy_value()

    signature = types.void(products, lanes, sums, start, out, factors, types.int64)
    return signature, code


def _fused_step(write: Writer, factors: list[Value]) -> Callable[[Value], Value]:
    """Step ``total * factor + total``. The changing value is both factor and addend, because ARM
    adds in place, and so that no product can be kept from one step to the next."""
    factor = write.broadcast(factors[0])
    return lambda total: write.multiply_add(total, factor, total)


def _dot_step(write: Writer, factors: list[Value]) -> Callable[[Value], Value]:
    """Step that is one dot-product instruction of the processor, whose operands are words of 32
    bits in each lane."""
    words = ir.VectorType(ir.IntType(32), write.lanes)
    pair = [write.broadcast(factor, words) for factor in factors]
    name = "avx512.vpdpbusd" if write.is_integer else "avx512bf16.dpbf16ps"
    kind = ir.FunctionType(write.vector, [write.vector, words, words])
    full = f"llvm.x86.{name}.{32 * write.lanes}"
    function = declared_function(write.builder, full, kind)
    return lambda total: write.builder.call(function, [total, *pair])


def _loop(
    write: Writer, first: list[Value], steps: Value, step: Callable[[Value], Value]
) -> list[Value]:
    """Write a loop of ``steps`` steps, and return the changed sums."""
    builder, before = write.builder, write.builder.block
    body, end = builder.append_basic_block("step"), builder.append_basic_block("done")
    builder.branch(body)
    builder.position_at_end(body)
    left, *running = [builder.phi(write.word), *(builder.phi(write.vector) for _ in first)]
    following, less = [step(total) for total in running], write.sum(left, -1)
    for phi, initial, then in zip(
        (left, *running), (steps, *first), (less, *following), strict=True
    ):
        phi.add_incoming(initial, before)
        phi.add_incoming(then, body)
    builder.cbranch(builder.icmp_signed(">", less, word(0)), body, end)
    builder.position_at_end(end)
    return following


# -- an array, read once in vectors --------------------------------------------------------------


VECTORS = 8
"""Number of sums that do not depend on each other."""
BLOCK = VECTORS * BITS // 8
"""Bytes that are read at a time."""


def total(values: Array) -> Any:
    """Return the sum of an array in its own format, added in any order; whole numbers wrap around.

    Raises:
        InputError: the array has gaps, is empty, or is no multiple of ``BLOCK`` bytes.
    """
    fits = values.flags.c_contiguous and values.nbytes and values.nbytes % BLOCK == 0
    if not fits:
        raise InputError(
            f"an array without gaps, of some times {BLOCK} bytes, is read; got shape "
            f"{values.shape} of {values.dtype}; try numpy.ones({BLOCK}, '{values.dtype}')."
        )
    return values.dtype.type(_total(values.reshape(-1)))


@exact
def _total(values: Array) -> Any:
    """Sum of the values of a line of whole blocks, compiled."""
    return _add_lanes(BITS, VECTORS, values, np.int64(values.size))


@intrinsic
def _add_lanes(typing: Any, bits: Any, vectors: Any, values: Any, count: Any) -> Any:
    """Write the code for the sum of ``count`` values, which fill at least one block and only whole
    blocks."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Value:
        _, _, values_, count_ = args
        (data,) = data_pointers(context, builder, (values, values_))
        write, before = Writer(builder, values.dtype, bits.literal_value), builder.block
        body, end = builder.append_basic_block("add"), builder.append_basic_block("added")
        builder.branch(body)
        builder.position_at_end(body)
        place = builder.phi(write.word)
        sums = [builder.phi(write.vector) for _ in range(vectors.literal_value)]
        following = [
            write.add(sum_, write.load(data, write.sum(place, n * write.lanes)))
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
        for vector in rest:
            first = write.add(first, vector)
        return write.lane_sum(first)

    return values.dtype(bits, vectors, values, types.int64), code
