"""What is left of a number in a format of fewer bits: whole arrays, and one number exactly.

>>> memlab.rounding.rounded([0.1, 2049], "fp16")
array([9.99755859e-02, 2.04800000e+03])
"""

from memlab.rounding.arrays import NEAREST, ROUNDINGS, STOCHASTIC, decode, encode, rounded
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
