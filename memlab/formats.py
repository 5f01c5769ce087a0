"""Number formats: how many bits a value takes, what it can hold, how many fit into a vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memlab import strings
from memlab.errors import InputError, pick, whole

if TYPE_CHECKING:
    import numpy as np


def packed(count: int, bits: int) -> int:
    """Bytes of so many values of so many bits, side by side."""
    return -(-count * bits // 8)


@dataclass(frozen=True, slots=True)
class Format:
    """A way to store one number.

    ``bits`` is what a value takes in memory; tf32 takes 32 though it uses 19 of them.
    ``exponent`` and ``mantissa`` count the bits of a floating-point format (0 for the others);
    ``largest`` is the largest finite value.
    """

    name: str
    bits: int
    kind: str
    largest: float
    exponent: int = 0
    mantissa: int = 0
    stored_as: str = ""

    def nbytes(self, count: int) -> int:
        """Bytes of ``count`` values stored side by side; packed formats round up to a byte."""
        return packed(count, self.bits)

    def lanes(self, vector_bits: int) -> int:
        """How many values a vector register of ``vector_bits`` holds at once.

        Raises:
            InputError: no register has that width, or it is too narrow for one value.
        """
        width = whole("vector width in bits", vector_bits)
        if width.bit_count() != 1:
            raise InputError(f"a vector is 128, 256, 512 or another power of 2 of bits wide, "
                             f"got {width}; try {1 << width.bit_length()}.")  # fmt: skip
        if width < self.bits:
            raise InputError(f"a vector of {width} bits holds no {self.name} value of "
                             f"{self.bits} bits; try 128.")  # fmt: skip
        return width // self.bits

    @property
    def epsilon(self) -> float:
        """The step from 1 to the next larger value (1 for integers)."""
        return 2.0**-self.mantissa if self.kind == "float" else 1.0

    @property
    def bias(self) -> int:
        """What is taken from the exponent bits to get the exponent; 0 for integers."""
        return 2 ** (self.exponent - 1) - 1 if self.kind == "float" else 0

    @property
    def lowest(self) -> float:
        """The lowest finite value."""
        if self.kind == "float":
            return -self.largest
        return -self.largest - 1 if self.name.startswith("int") else 0.0

    @property
    def smallest_normal(self) -> float:
        """The smallest value above 0 with the whole mantissa; 1 for integers."""
        return 2.0 ** (1 - self.bias) if self.kind == "float" else 1.0

    @property
    def smallest(self) -> float:
        """The smallest value above 0, which is the step there: a subnormal, or 1 for integers."""
        return self.smallest_normal * self.epsilon

    @property
    def infinities(self) -> bool:
        """Whether it holds them; the fn of fp8_e4m3fn says that all its numbers are finite."""
        return self.kind == "float" and not self.name.endswith("fn")

    @property
    def nan(self) -> bool:
        """Whether it holds NaN."""
        return self.kind == "float"

    def dtype(self) -> np.dtype[Any]:
        """The NumPy type that stores it (``ml_dtypes`` for bf16, fp8 and int4).

        Raises:
            InputError: no NumPy type stores single bits.
        """
        import numpy

        if not self.stored_as:
            raise InputError(f"NumPy stores no {self.name} values; pack them into uint8.")
        if self.stored_as.startswith("ml_dtypes."):
            import ml_dtypes

            stored: type[Any] = getattr(ml_dtypes, self.stored_as.removeprefix("ml_dtypes."))
            return numpy.dtype(stored)
        return numpy.dtype(self.stored_as)

    def __str__(self) -> str:
        return self.name


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format("fp64", 64, "float", (2 - 2.0**-52) * 2.0**1023, 11, 52, "float64"),
        Format("fp32", 32, "float", (2 - 2.0**-23) * 2.0**127, 8, 23, "float32"),
        Format("tf32", 32, "float", (2 - 2.0**-10) * 2.0**127, 8, 10, "float32"),
        Format("fp16", 16, "float", 65504.0, 5, 10, "float16"),
        Format("bf16", 16, "float", (2 - 2.0**-7) * 2.0**127, 8, 7, "ml_dtypes.bfloat16"),
        Format("fp8_e4m3fn", 8, "float", 448.0, 4, 3, "ml_dtypes.float8_e4m3fn"),
        Format("fp8_e5m2", 8, "float", 57344.0, 5, 2, "ml_dtypes.float8_e5m2"),
        Format("int64", 64, "int", 2.0**63 - 1, stored_as="int64"),
        Format("int32", 32, "int", 2.0**31 - 1, stored_as="int32"),
        Format("int8", 8, "int", 127.0, stored_as="int8"),
        Format("int4", 4, "int", 7.0, stored_as="ml_dtypes.int4"),
        Format("uint8", 8, "int", 255.0, stored_as="uint8"),
        Format("bool", 8, "bool", 1.0, stored_as="bool"),
        Format("bit", 1, "bool", 1.0),
    )
}

_ROUNDED = (
    "fp64", "fp32", "tf32", "fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2", "int8", "int4",
)  # fmt: skip
NUMBERS = {name: FORMATS[name] for name in _ROUNDED}
"""The formats that the numbers of a network are rounded to."""


def find(name: str | Format) -> Format:
    """The format of that name.

    Raises:
        InputError: no such format.
    """
    return name if isinstance(name, Format) else pick("format", name, FORMATS)


_HEADS = ("format", "bits", "exponent", "mantissa", "largest", "smallest", "epsilon")


def table(vectors: Sequence[int] = (128, 256, 512, 1024)) -> str:
    """The formats of ``NUMBERS`` as text to print, with the lanes in vectors of so many bits.

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
