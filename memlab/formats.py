"""Number formats: how many bits a value takes, what it can hold, how many fit into a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError, pick, whole

if TYPE_CHECKING:
    import numpy as np


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
        return -(-count * self.bits // 8)

    def lanes(self, vector_bits: int) -> int:
        """How many values a vector register of ``vector_bits`` holds at once."""
        return whole("vector width in bits", vector_bits) // self.bits

    @property
    def epsilon(self) -> float:
        """The step from 1 to the next larger value (1 for integers)."""
        return 2.0**-self.mantissa if self.kind == "float" else 1.0

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


def find(name: str | Format) -> Format:
    """The format of that name.

    Raises:
        InputError: no such format.
    """
    return name if isinstance(name, Format) else pick("format", name, FORMATS)
