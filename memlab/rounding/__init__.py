"""What is left of a number in a format of fewer bits: whole arrays, and one number exactly.

>>> memlab.rounding.rounded([0.1, 2049], "fp16")
array([9.99755859e-02, 2.04800000e+03])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memlab.errors import library
from memlab.rounding.exact import (
    Bits,
    Error,
    bits,
    error,
    find,
    nearest,
    neighbours,
    ulp,
    walk,
)

if TYPE_CHECKING:
    from memlab.rounding.arrays import NEAREST, ROUNDINGS, STOCHASTIC, decode, encode, rounded

_OF_ARRAYS = ("NEAREST", "ROUNDINGS", "STOCHASTIC", "decode", "encode", "rounded")

__all__ = [
    "NEAREST",
    "ROUNDINGS",
    "STOCHASTIC",
    "Bits",
    "Error",
    "bits",
    "decode",
    "encode",
    "error",
    "find",
    "nearest",
    "neighbours",
    "rounded",
    "ulp",
    "walk",
]


def __getattr__(name: str) -> Any:
    """What rounds arrays, loaded when first asked for: one number needs no NumPy."""
    if name not in _OF_ARRAYS:
        raise AttributeError(f"memlab.rounding has no {name!r}; it has {', '.join(__all__)}.")
    library("numpy", "rounding an array")
    value = globals()[name] = getattr(import_module("memlab.rounding.arrays"), name)
    return value


def __dir__() -> list[str]:
    return __all__
