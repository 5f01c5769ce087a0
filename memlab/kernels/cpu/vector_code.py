"""Machine code with vectors of explicit width, written instruction by instruction.

A compiler that vectorises a loop chooses the width by itself; here the code says it. Indices count
values in flat arrays, and nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, NamedTuple

from memlab.free_memory import compiler
from memlab.kernels.cpu import compiled_table, llvm_modules
from memlab.kernels.cpu.llvm_modules import ir, types
from memlab.kernels.numba_private_api import data_pointer

Value = Any
"""Value in the code that is being written."""


class Width(NamedTuple):
    """Bits in a vector, number of vector registers, and the processor's feature that has them
    (empty if no feature is needed)."""

    bits: int
    registers: int
    feature: str


AVX512, AVX2, AVX = Width(512, 32, "avx512f"), Width(256, 16, "avx2"), Width(256, 16, "avx")
NEON, SSE2, OTHER = Width(128, 32, "neon"), Width(128, 16, "sse2"), Width(128, 16, "")
SIMD128 = Width(128, 16, "simd128")
"""WebAssembly's vectors, which a browser computes with those of its processor."""
WIDTHS = (AVX512, AVX2, AVX, NEON, SSE2, OTHER, SIMD128)
"""All vector widths that the kernels can be compiled for."""


def features() -> frozenset[str]:
    """Features of the processor that Numba compiles for.

    This is the present processor, without AVX if ``NUMBA_ENABLE_AVX=0``, unless
    ``NUMBA_CPU_FEATURES`` names another. Kernels that were compiled beforehand have those that
    their table names.
    """
    if not compiler():
        return compiled_table.table().features
    import numba
    from llvmlite import binding as llvm

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
    """Widest vectors of a processor with these features; ``triple`` is LLVM's name of its
    architecture."""
    if "simd128" in features:
        return SIMD128
    if "avx512f" in features:
        return AVX512
    if "avx" in features:
        return AVX2 if "avx2" in features else AVX
    if triple.startswith(("aarch64", "arm64")):
        return NEON
    return SSE2 if triple.startswith(("x86_64", "i686")) else OTHER


def _triple() -> str:
    """LLVM's name of the architecture that kernels are compiled for."""
    if not compiler():
        return compiled_table.table().triple
    from llvmlite import binding as llvm

    return str(llvm.get_process_triple())


FEATURES = features()
WIDTH = width(FEATURES, _triple())
BITS, REGISTERS = WIDTH.bits, WIDTH.registers
"""Bits of a vector, and number of vector registers, of the processor compiled for."""


def intrinsic(function: Callable[..., Any]) -> Any:
    """Make an intrinsic of a function: compiled code that calls it gets the instructions that the
    function writes."""
    return llvm_modules.intrinsic(function, literal=True)


def word(value: Value | int) -> Value:
    """Number as a 64-bit constant in the code; a value that is in the code already is returned
    unchanged."""
    return ir.Constant(ir.IntType(64), value) if isinstance(value, int) else value


def data_pointers(context: Any, builder: Any, *arrays: tuple[Any, Value]) -> list[Value]:
    """Pointers to the first values of several arrays, each given as Numba's type and the array in
    the code."""
    return [data_pointer(context, builder, kind, value) for kind, value in arrays]


def unpacked(builder: Any, values: Value) -> list[Value]:
    """Elements of a tuple in the code."""
    return [builder.extract_value(values, index) for index in range(len(values.type.elements))]


def declared_function(builder: Any, name: str, kind: Any) -> Any:
    """Function of another module, declared in the code by its name and LLVM's type of it."""
    module = builder.module
    return module.globals.get(name) or ir.Function(module, kind, name)


class Writer:
    """Writer of vector instructions for one number format and one vector width."""

    def __init__(self, builder: Any, real: Any, bits: int) -> None:
        self.builder, self.bytes = builder, real.bitwidth // 8
        self.lanes = max(bits // real.bitwidth, 1)
        self.is_integer = real in types.integer_domain
        floating = ir.FloatType() if self.bytes == 4 else ir.DoubleType()
        self.real: Any = ir.IntType(real.bitwidth) if self.is_integer else floating
        self.suffix = f"v{self.lanes}{'i' if self.is_integer else 'f'}{real.bitwidth}"
        self.vector = ir.VectorType(self.real, self.lanes)
        self.mask = ir.VectorType(ir.IntType(1), self.lanes)
        self.word = ir.IntType(64)

    def call(self, name: str, result: Any, *operands: Value) -> Value:
        """Write a call of one of LLVM's own vector functions."""
        kind = ir.FunctionType(result, [operand.type for operand in operands])
        full = f"{name}.{self.suffix}"
        full += ".p0" if "masked" in name else ""
        function = declared_function(self.builder, full, kind)
        return self.builder.call(function, operands)

    def sum(self, *terms: Value | int) -> Value:
        """Write the sum of whole numbers."""
        total, *rest = (word(term) for term in terms)
        for term in rest:
            total = self.builder.add(total, term)
        return total

    def broadcast(self, value: Value, type: Any = None) -> Value:
        """Write a vector that holds one value in every lane."""
        type = type or self.vector
        first = ir.Constant(ir.IntType(32), 0)
        start = self.builder.insert_element(ir.Constant(type, ir.Undefined), value, first)
        order = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None)
        return self.builder.shuffle_vector(start, start, order)

    def multiply_add(self, a: Value, b: Value, total: Value) -> Value:
        """Write ``a * b + total``. LLVM's fmuladd is used, because its fma would call a library
        where the processor has no such instruction."""
        return self.call("llvm.fmuladd", self.vector, a, b, total)

    def add(self, a: Value, b: Value) -> Value:
        """Write ``a + b`` in each lane; whole numbers wrap around."""
        add = self.builder.add if self.is_integer else self.builder.fadd
        return add(a, b)

    def lane_sum(self, vector: Value) -> Value:
        """Write the sum of the lanes of a vector, in any order."""
        start = () if self.is_integer else (ir.Constant(self.real, 0),)
        kind = ir.FunctionType(self.real, [operand.type for operand in (*start, vector)])
        name = f"llvm.vector.reduce.{'add' if self.is_integer else 'fadd'}.{self.suffix}"
        function = declared_function(self.builder, name, kind)
        liberties = () if self.is_integer else ("reassoc",)
        return self.builder.call(function, [*start, vector], fastmath=liberties)

    def minimum(self, a: Value, b: Value) -> Value:
        """Write the smaller of two whole numbers."""
        return self.builder.select(self.builder.icmp_signed("<", a, b), a, b)

    def load(self, data: Value, index: Value, mask: Value = None) -> Value:
        """Write the load of a vector from ``index`` on. Lanes whose mask is off are not read and
        become 0."""
        place = self._place(data, index)
        if mask is None:
            return self.builder.load(place, align=self.bytes)
        zero = ir.Constant(self.vector, None)
        return self.call("llvm.masked.load", self.vector, place, self._align(), mask, zero)

    def strided_lanes(self, step: int, vectors: list[Value]) -> Value:
        """Write a vector of the lanes 0, ``step``, 2 ``step`` ... of one or two vectors."""
        order = list(range(0, step * self.lanes, step))
        places = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), order)
        return self.builder.shuffle_vector(vectors[0], vectors[-1], places)

    def store(self, value: Value, data: Value, index: Value, mask: Value = None) -> None:
        """Write the store of a vector, or only of those lanes whose mask is on."""
        place = self._place(data, index)
        if mask is None:
            self.builder.store(value, place, align=self.bytes)
        else:
            self.call("llvm.masked.store", ir.VoidType(), value, place, self._align(), mask)

    def mask_before(self, count: Value, vector: int) -> Value:
        """Write a mask of the lanes before ``count``, for vector number ``vector`` of several."""
        return self.mask_within(word(0), count, vector)

    def mask_within(self, left: Value, length: Value, vector: int) -> Value:
        """Write a mask of the lanes whose place lies in a row: 0 <= place < ``length``.

        The lanes of all vectors together have the places ``left``, ``left + 1``, ...; ``vector`` is
        the number of this vector.
        """
        small = ir.IntType(32)
        wide = ir.VectorType(small, self.lanes)
        lanes = [vector * self.lanes + lane for lane in range(self.lanes)]
        left, length = (self.broadcast(self.builder.trunc(n, small), wide) for n in (left, length))
        places = self.builder.add(left, ir.Constant(wide, lanes))
        return self.builder.icmp_unsigned("<", places, length)

    def mask_of_bits(self, bits: Value, vector: int) -> Value:
        """Write a mask for vector number ``vector`` from a word with a bit for every lane of
        several vectors."""
        moved = self.builder.lshr(bits, word(vector * self.lanes))
        narrow = self.builder.trunc(moved, ir.IntType(self.lanes)) if self.lanes < 64 else moved
        return self.builder.bitcast(narrow, self.mask)

    def _place(self, data: Value, index: Value) -> Value:
        """Write the pointer to the vector that begins at ``index``."""
        return self.builder.bitcast(self.builder.gep(data, [index]), self.vector.as_pointer())

    def _align(self) -> Value:
        """Alignment of vectors in memory, in bytes: that of a single value."""
        return ir.Constant(ir.IntType(32), self.bytes)
