"""Matrix products into arrays that are given, by the BLAS that SciPy brings.

SciPy's own wrappers copy a matrix whose rows lie apart, and NumPy's product cannot add to what is
there. A call by pointer does both without a copy.
"""

from __future__ import annotations

import ctypes as c
from typing import Any

from scipy.linalg import cython_blas

from memlab.kernels.registry import Array


def _capsule(name: str, result: Any, *arguments: Any) -> Any:
    return c.PYFUNCTYPE(result, *arguments)((name, c.pythonapi))


def _routine(name: str, real: Any) -> tuple[Any, Any]:
    """A product of that name, and how to give it a number.

    Raises:
        ImportError: this SciPy counts in other integers.
    """
    capsule = cython_blas.__pyx_capi__[name]
    signature = _capsule("PyCapsule_GetName", c.c_char_p, c.py_object)(capsule)
    if signature.count(b" int *") != 6:
        raise ImportError(f"SciPy's {name} has the unknown signature {signature.decode()}")
    address = _capsule("PyCapsule_GetPointer", c.c_void_p, c.py_object, c.c_char_p)
    text, integer, value = c.c_char_p, c.POINTER(c.c_int), c.POINTER(real)
    types = (text, text, integer, integer, integer, value, c.c_void_p, integer, c.c_void_p,
             integer, value, c.c_void_p, integer)  # fmt: skip
    call = c.CFUNCTYPE(None, *types)(address(capsule, signature))
    return call, lambda number: c.byref(real(number))


_ROUTINES = {"f": _routine("sgemm", c.c_float), "d": _routine("dgemm", c.c_double)}
"""By the character of NumPy's format."""


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
