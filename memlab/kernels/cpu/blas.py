"""Matrix products into arrays that are given, by the BLAS that SciPy brings.

SciPy's own wrappers copy a matrix whose rows lie apart, and NumPy's product cannot add to what is
there. A call by pointer does both without a copy. ``scipy.linalg.cython_blas`` offers the pointers
to code in Cython; Python finds them in the table that Cython leaves, each with its signature in C.
Without them no layer with a matrix product runs on the processor, and every plan still holds.
"""

from __future__ import annotations

import ctypes as c
from typing import Any

from memlab.kernels.registry import Array
from memlab.private_api import Internal, Package

SCIPY = Package("scipy", "1.13.0", "1.18.1")
USE = "multiply matrices"
TABLE = Internal(SCIPY, "scipy.linalg.cython_blas", "__pyx_capi__", USE)


def _capsule(name: str, result: Any, *arguments: Any) -> Any:
    return c.PYFUNCTYPE(result, *arguments)((name, c.pythonapi))


class _Routines(dict[str, tuple[Any, Any]]):
    """Products by the character of NumPy's format, each with how to give it a number; found when
    the first of a format is computed."""

    def __missing__(self, format: str) -> tuple[Any, Any]:
        """The product of a format.

        Raises:
            InternalError: this SciPy has none, or it counts in other integers.
        """
        name, real = ("sgemm", c.c_float) if format == "f" else ("dgemm", c.c_double)
        capsule = TABLE().get(name)
        shown = _capsule("PyCapsule_GetName", c.c_char_p, c.py_object)
        signature = shown(capsule) if capsule else b""
        if signature.count(b" int *") != 6:
            raise SCIPY.lacks(f"{name} that counts in 32 bits in {TABLE.home}.{TABLE.name}", USE)
        found = self[format] = _called(capsule, signature, real), lambda n: c.byref(real(n))
        return found


def _called(capsule: Any, signature: bytes, real: Any) -> Any:
    """The function in a capsule."""
    address = _capsule("PyCapsule_GetPointer", c.c_void_p, c.py_object, c.c_char_p)
    text, integer, value = c.c_char_p, c.POINTER(c.c_int), c.POINTER(real)
    types = (text, text, integer, integer, integer, value, c.c_void_p, integer, c.c_void_p,
             integer, value, c.c_void_p, integer)  # fmt: skip
    return c.CFUNCTYPE(None, *types)(address(capsule, signature))


_ROUTINES = _Routines()


def gemm(
    a: Array,
    b: Array,
    out: Array,
    accumulate: bool = False,
    transpose_a: bool = False,
    transpose_b: bool = False,
    scale: float = 1.0,
) -> None:
    """``out = scale a b``, or ``out += scale a b``, with ``a`` or ``b`` transposed.

    The matrices have one format, and rows that are contiguous and may lie apart.
    """
    inner = a.shape[0 if transpose_a else 1]
    rows, columns = out.shape
    multiply, number = _ROUTINES[out.dtype.char]
    # BLAS counts by columns, so it sees each matrix transposed: out' = b' a'
    multiply(
        _flag(transpose_b), _flag(transpose_a), _int(columns), _int(rows), _int(inner),
        number(scale), *_operand(b), *_operand(a), number(accumulate), *_operand(out),
    )  # fmt: skip


def _flag(transpose: bool) -> bytes:
    return b"T" if transpose else b"N"


def _int(value: int) -> Any:
    return c.byref(c.c_int(value))


def _operand(array: Array) -> tuple[int, Any]:
    """Where a matrix begins, and the distance between its rows in values."""
    assert array.strides[1] == array.itemsize or array.shape[1] == 1
    apart = array.strides[0] // array.itemsize if len(array) > 1 else 0
    return array.ctypes.data, _int(max(apart, array.shape[1]))
