"""Number formats, a row each: how many bits a value takes, what it can hold, what stores it.

Kernels that convert, rounding, plans, views and tests follow the rows: a new one touches this file
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from memlab import strings
from memlab.errors import InputError, one_option, whole_number

if TYPE_CHECKING:
    import numpy as np


def packed(count: int, bits: int) -> int:
    """Return the bytes of ``count`` values of ``bits`` bits each, stored without gaps."""
    return -(-count * bits // 8)


_OTHERS = "ml_dtypes."


@cache
def _other_types() -> Any:
    """Return ``ml_dtypes``, or None where it is not installed; a web page has none."""
    try:
        return import_module(_OTHERS.rstrip("."))
    except ModuleNotFoundError:
        return None


class Beyond(StrEnum):
    """Values beyond the largest finite one of a format: infinity, NaN, or the largest again."""

    INFINITY = "infinity"
    """Infinity, then NaN: the largest exponent is theirs, as in IEEE 754."""
    NAN = "nan"
    """NaN, whose bits are all 1; there is no infinity, as the fn of fp8_e4m3fn says."""
    LARGEST = "largest"
    """Nothing: all codes are numbers, and larger numbers become the largest; NaN is refused."""


@dataclass(frozen=True, slots=True)
class Format:
    """Format in which a number is stored.

    ``bits`` is what a value takes in memory: tf32 takes 32 though it uses 19 of them. ``exponent``
    and ``mantissa`` count the bits of a floating-point format (0 for the others). ``stored_as`` is
    the type that stores it, NumPy's or one of ml_dtypes; where that is the type of a longer format
    its own bits are the highest, else the lowest.

    ``rounded``: the numbers of a network are rounded to it, as to all floating-point formats; those
    of at most 32 bits can also be that of a role (``memlab.precision``). ``whole``: all arrays of a
    step can have it. ``computed``: the kernels of every device compute in it.
    """

    name: str
    bits: int
    kind: str
    exponent: int = 0
    mantissa: int = 0
    beyond: Beyond = Beyond.LARGEST
    stored_as: str = ""
    rounded: bool = False
    whole: bool = False
    computed: bool = False
    signed: bool = True

    def nbytes(self, count: int) -> int:
        """Return the bytes of ``count`` values. Packed formats round up to a whole byte."""
        return packed(count, self.bits)

    def lanes(self, vector_bits: int) -> int:
        """Return the number of values that a vector register of ``vector_bits`` holds at once.

        Raises:
            InputError: no register has that width, or it is too narrow for one value.
        """
        width = whole_number("vector width in bits", vector_bits)
        if width.bit_count() != 1:
            raise InputError(f"a vector is 128, 256, 512 or another power of 2 of bits wide, "
                             f"got {width}; try {1 << width.bit_length()}.")  # fmt: skip
        if width < self.bits:
            raise InputError(f"a vector of {width} bits holds no {self.name} value of "
                             f"{self.bits} bits; try 128.")  # fmt: skip
        return width // self.bits

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next larger value (1 for integers)."""
        return 2.0**-self.mantissa if self.kind == "float" else 1.0

    @property
    def bias(self) -> int:
        """Number that is subtracted from the exponent bits to get the exponent; 0 for integers."""
        return 2 ** (self.exponent - 1) - 1 if self.kind == "float" else 0

    @property
    def unused(self) -> int:
        """Number of bits that a value takes in memory and does not use."""
        used = 1 + self.exponent + self.mantissa
        return self.bits - used if self.kind == "float" else 0

    @property
    def padding(self) -> int:
        """Number of low bits that are always 0, where the format is stored in the type of a longer
        one."""
        return 0 if self.stored_as.startswith(_OTHERS) else self.unused

    @property
    def as_bits(self) -> bool:
        """True if arrays of the format hold its bits here, as unsigned integers: NumPy has no type
        for it, and ``ml_dtypes``, which has one, is not installed."""
        return self.stored_as.startswith(_OTHERS) and _other_types() is None

    @property
    def bits_type(self) -> str:
        """Name of the NumPy type of the bits of a value: an unsigned integer."""
        return f"uint{8 * self.nbytes(1)}"

    @property
    def type_name(self) -> str:
        """Name of the NumPy type that stores values of the format."""
        return self.stored_as.removeprefix(_OTHERS)

    @property
    def top(self) -> int:
        """Exponent and mantissa bits of the largest finite value, as one integer."""
        codes = 1 << self.exponent + self.mantissa
        kept = {Beyond.INFINITY: 1 << self.mantissa, Beyond.NAN: 1, Beyond.LARGEST: 0}
        return codes - kept[self.beyond] - 1

    @property
    def largest(self) -> float:
        """Largest finite value of the format."""
        if self.kind != "float":
            return 2.0 ** (self.bits - self.signed) - 1 if self.kind == "int" else 1.0
        exponent, steps = divmod(self.top, 1 << self.mantissa)
        return (1 + steps * self.epsilon) * 2.0 ** (exponent - self.bias)

    @property
    def lowest(self) -> float:
        """Lowest (most negative) finite value of the format."""
        if self.kind == "float":
            return -self.largest
        return -self.largest - 1 if self.kind == "int" and self.signed else 0.0

    @property
    def smallest_normal(self) -> float:
        """Smallest positive normal value, which has the whole mantissa; 1 for integers."""
        return 2.0 ** (1 - self.bias) if self.kind == "float" else 1.0

    @property
    def smallest(self) -> float:
        """Smallest positive value, which is a subnormal, or 1 for integers."""
        return self.smallest_normal * self.epsilon

    @property
    def infinities(self) -> bool:
        """True if the format has infinities."""
        return self.beyond is Beyond.INFINITY

    @property
    def nan(self) -> bool:
        """True if the format has NaN."""
        return self.beyond is not Beyond.LARGEST

    def dtype(self) -> np.dtype[Any]:
        """NumPy type that stores the format: ``ml_dtypes`` has those of bf16, fp8 and int4; where
        it is not installed, it is that of their bits.

        Raises:
            InputError: no NumPy type stores single bits.
        """
        import numpy

        if not self.stored_as:
            raise InputError(f"NumPy stores no {self.name} values; pack them into uint8.")
        if self.stored_as.startswith(_OTHERS):
            if (others := _other_types()) is None:
                return numpy.dtype(self.bits_type)
            stored: type[Any] = getattr(others, self.type_name)
            return numpy.dtype(stored)
        return numpy.dtype(self.stored_as)

    def __str__(self) -> str:
        return self.name


_IEEE = Beyond.INFINITY

FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format("fp64", 64, "float", 11, 52, _IEEE, "float64", whole=True, computed=True),
        Format("fp32", 32, "float", 8, 23, _IEEE, "float32", whole=True, computed=True),
        Format("tf32", 32, "float", 8, 10, _IEEE, "float32"),
        Format("fp16", 16, "float", 5, 10, _IEEE, "float16", whole=True),
        Format("bf16", 16, "float", 8, 7, _IEEE, "ml_dtypes.bfloat16", whole=True),
        Format("fp8_e4m3fn", 8, "float", 4, 3, Beyond.NAN, "ml_dtypes.float8_e4m3fn"),
        Format("fp8_e5m2", 8, "float", 5, 2, _IEEE, "ml_dtypes.float8_e5m2"),
        Format("int64", 64, "int", stored_as="int64"),
        Format("int32", 32, "int", stored_as="int32"),
        Format("int8", 8, "int", stored_as="int8", rounded=True),
        Format("int4", 4, "int", stored_as="ml_dtypes.int4", rounded=True),
        Format("uint8", 8, "int", stored_as="uint8", signed=False),
        Format("bool", 8, "bool", stored_as="bool"),
        Format("bit", 1, "bool"),
    )
}

FLOATS = {
    name: number_format for name, number_format in FORMATS.items() if number_format.kind == "float"
}
NUMBERS = {
    name: number_format
    for name, number_format in FORMATS.items()
    if name in FLOATS or number_format.rounded
}
"""The formats that the numbers of a network are rounded to."""
_SHORTER = [
    number_format for number_format in FLOATS.values() if number_format.bits <= FORMATS["fp32"].bits
]
STORED = tuple(
    number_format.name
    for number_format in sorted(
        _SHORTER, key=lambda candidate: (-candidate.bits, candidate.name == "fp16")
    )
)
"""Those that a role can be stored in: they are computed with in fp32. The longest stand first, and
bf16, which has the range of fp32, before fp16."""
PADDED = frozenset(name for name, number_format in FLOATS.items() if number_format.padding)
"""Those that lie in the type of a longer format, with bits of 0 below their own."""
WHOLE = tuple(name for name, number_format in FORMATS.items() if number_format.whole)
"""Those that all arrays of a step can have."""


def find(name: str | Format) -> Format:
    """Return the format of that name.

    Raises:
        InputError: no such format.
    """
    return name if isinstance(name, Format) else one_option("format", name, FORMATS)


_HEADS = ("format", "bits", "exponent", "mantissa", "largest", "smallest", "epsilon")


def table(vectors: Sequence[int] = (128, 256, 512, 1024)) -> str:
    """Return the formats of ``NUMBERS`` as a text table, with the lanes of vectors of the given
    bits.

    Raises:
        InputError: a width that no vector has.
    """
    heads = [strings.get(f"formats.{name}") for name in _HEADS]
    heads += [strings.get("formats.lanes", bits=bits) for bits in vectors]
    rows = [heads, *(_row(entry, vectors) for entry in NUMBERS.values())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _row(entry: Format, vectors: Sequence[int]) -> list[str]:
    parts = [entry.exponent, entry.mantissa] if entry.kind == "float" else ["-", "-"]
    values = [f"{value:.5g}" for value in (entry.largest, entry.smallest, entry.epsilon)]
    lanes = [entry.lanes(bits) for bits in vectors]
    return [entry.name, *map(str, [entry.bits, *parts, *values, *lanes])]
