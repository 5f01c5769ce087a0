"""Code with vectors of explicit width, written instruction by instruction.

A compiler that vectorises a loop decides by itself how wide. Here the width stands in the code.
Indices count values in flat arrays, and nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
import numba.extending
from llvmlite import ir

from memlab.kernels.numba_private_api import data

Value = Any
"""A value in the code that is being written."""


class Width(NamedTuple):
    """Bits in a vector, how many vectors the registers hold, and the feature of the processor that
    says so; empty where none does."""

    bits: int
    registers: int
    feature: str


AVX512, AVX2, AVX = Width(512, 32, "avx512f"), Width(256, 16, "avx2"), Width(256, 16, "avx")
NEON, SSE2, OTHER = Width(128, 32, "neon"), Width(128, 16, "sse2"), Width(128, 16, "")
WIDTHS = (AVX512, AVX2, AVX, NEON, SSE2, OTHER)
"""All that the kernels can be compiled for."""


def features() -> frozenset[str]:
    """What the processor can do that Numba compiles for: this one, but for AVX where
    ``NUMBA_ENABLE_AVX=0`` says so, unless ``NUMBA_CPU_FEATURES`` names another."""
    config: Any = numba.config
    if (chosen := getattr(config, "CPU_FEATURES", None)) is not None:
        return frozenset(name[1:] for name in chosen.split(",") if name.startswith("+"))
    try:
        here = llvm.get_host_cpu_features()
    except RuntimeError:  # LLVM knows none of this kind of processor
        return frozenset()
    without = () if config.ENABLE_AVX else ("avx",)
    return frozenset(name for name, has in here.items() if has and not name.startswith(without))


def width(features: Set[str], triple: str) -> Width:
    """The widest vectors of a processor with those features; ``triple`` is LLVM's name of its
    kind."""
    if "avx512f" in features:
        return AVX512
    if "avx" in features:
        return AVX2 if "avx2" in features else AVX
    if triple.startswith(("aarch64", "arm64")):
        return NEON
    return SSE2 if triple.startswith(("x86_64", "i686")) else OTHER


FEATURES = features()
WIDTH = width(FEATURES, llvm.get_process_triple())
BITS, REGISTERS = WIDTH.bits, WIDTH.registers
"""Of the processor that the code is compiled for."""


def written(function: Callable[..., Any]) -> Any:
    """What compiled code calls, and gets the code that the function writes instead."""
    return numba.extending.intrinsic(prefer_literal=True)(function)


def word(value: Value | int) -> Value:
    """A constant in the code, or what is a value of the code already."""
    return ir.Constant(ir.IntType(64), value) if isinstance(value, int) else value


def datas(context: Any, builder: Any, *arrays: tuple[Any, Value]) -> list[Value]:
    """Where the values of some arrays begin, each given by its type and itself."""
    return [data(context, builder, kind, value) for kind, value in arrays]


def unpacked(builder: Any, values: Value) -> list[Value]:
    """The values of a tuple."""
    return [builder.extract_value(values, index) for index in range(len(values.type.elements))]


def declared(builder: Any, name: str, kind: Any) -> Any:
    """A function of another module, by its name and LLVM's type of it."""
    module = builder.module
    return module.globals.get(name) or ir.Function(module, kind, name)


class Writer:
    """Writes vector code of one format and width."""

    def __init__(self, builder: Any, real: Any, bits: int) -> None:
        self.builder, self.bytes = builder, real.bitwidth // 8
        self.lanes = max(bits // real.bitwidth, 1)
        self.whole = real in numba.types.integer_domain
        floating = ir.FloatType() if self.bytes == 4 else ir.DoubleType()
        self.real: Any = ir.IntType(real.bitwidth) if self.whole else floating
        self.suffix = f"v{self.lanes}{'i' if self.whole else 'f'}{real.bitwidth}"
        self.vector = ir.VectorType(self.real, self.lanes)
        self.mask = ir.VectorType(ir.IntType(1), self.lanes)
        self.word = ir.IntType(64)

    def call(self, name: str, result: Any, *operands: Value) -> Value:
        """One of LLVM's own functions."""
        kind = ir.FunctionType(result, [operand.type for operand in operands])
        full = f"{name}.{self.suffix}"
        full += ".p0" if "masked" in name else ""
        function = declared(self.builder, full, kind)
        return self.builder.call(function, operands)

    def sum(self, *terms: Value | int) -> Value:
        total, *rest = (word(term) for term in terms)
        for term in rest:
            total = self.builder.add(total, term)
        return total

    def spread(self, value: Value, type: Any = None) -> Value:
        """One value in every lane."""
        type = type or self.vector
        first = ir.Constant(ir.IntType(32), 0)
        one = self.builder.insert_element(ir.Constant(type, ir.Undefined), value, first)
        order = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None)
        return self.builder.shuffle_vector(one, one, order)

    def fused(self, one: Value, other: Value, total: Value) -> Value:
        """``one * other + total``: llvm.fma would call a library where no instruction does it."""
        return self.call("llvm.fmuladd", self.vector, one, other, total)

    def added(self, one: Value, other: Value) -> Value:
        """``one + other`` in each lane; whole numbers wrap around."""
        add = self.builder.add if self.whole else self.builder.fadd
        return add(one, other)

    def total(self, vector: Value) -> Value:
        """The sum of its lanes, in any order."""
        start = () if self.whole else (ir.Constant(self.real, 0),)
        kind = ir.FunctionType(self.real, [each.type for each in (*start, vector)])
        name = f"llvm.vector.reduce.{'add' if self.whole else 'fadd'}.{self.suffix}"
        function = declared(self.builder, name, kind)
        liberties = () if self.whole else ("reassoc",)
        return self.builder.call(function, [*start, vector], fastmath=liberties)

    def least(self, one: Value, other: Value) -> Value:
        """The smaller of two whole numbers."""
        return self.builder.select(self.builder.icmp_signed("<", one, other), one, other)

    def load(self, data: Value, index: Value, mask: Value = None) -> Value:
        """A vector from ``index`` on. Where the mask is off, nothing is read and 0 is taken."""
        place = self._place(data, index)
        if mask is None:
            return self.builder.load(place, align=self.bytes)
        zero = ir.Constant(self.vector, None)
        return self.call("llvm.masked.load", self.vector, place, self._align(), mask, zero)

    def every(self, step: int, vectors: list[Value]) -> Value:
        """The lanes 0, ``step``, 2 ``step`` ... of one or two vectors."""
        order = list(range(0, step * self.lanes, step))
        places = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), order)
        return self.builder.shuffle_vector(vectors[0], vectors[-1], places)

    def store(self, value: Value, data: Value, index: Value, mask: Value = None) -> None:
        """Write a vector, or its lanes where the mask is on."""
        place = self._place(data, index)
        if mask is None:
            self.builder.store(value, place, align=self.bytes)
        else:
            self.call("llvm.masked.store", ir.VoidType(), value, place, self._align(), mask)

    def before(self, count: Value, vector: int) -> Value:
        """A mask of the lanes before ``count``, where this is one vector of several."""
        return self.within(word(0), count, vector)

    def within(self, left: Value, length: Value, vector: int) -> Value:
        """A mask of the lanes whose place, ``left`` and counted on, is from 0 to before
        ``length``."""
        small = ir.IntType(32)
        wide = ir.VectorType(small, self.lanes)
        lanes = [vector * self.lanes + lane for lane in range(self.lanes)]
        left, length = (self.spread(self.builder.trunc(n, small), wide) for n in (left, length))
        places = self.builder.add(left, ir.Constant(wide, lanes))
        return self.builder.icmp_unsigned("<", places, length)

    def chosen(self, bits: Value, vector: int) -> Value:
        """A mask from a word that has a bit for every lane of several vectors."""
        moved = self.builder.lshr(bits, word(vector * self.lanes))
        narrow = self.builder.trunc(moved, ir.IntType(self.lanes)) if self.lanes < 64 else moved
        return self.builder.bitcast(narrow, self.mask)

    def _place(self, data: Value, index: Value) -> Value:
        return self.builder.bitcast(self.builder.gep(data, [index]), self.vector.as_pointer())

    def _align(self) -> Value:
        return ir.Constant(ir.IntType(32), self.bytes)
