"""Matrix products into arrays that are given, by the BLAS library that comes with SciPy.

SciPy's own wrappers copy a matrix whose rows lie apart, and NumPy's product cannot add to an array.
A call by pointer does both without a copy. ``scipy.linalg.cython_blas`` offers the pointers to code
in Cython; Python finds them in the table that Cython leaves, each with its signature in C. Without
them no layer with a matrix product runs on the processor, and every plan still holds.

Where kernels were compiled beforehand, as for a web page, products are such kernels too
(``loop_products``).
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable
from functools import cache
from typing import Any

from memlab.free_memory import compiler
from memlab.kernels.registry import Array
from memlab.private_api import Internal, Package

SCIPY = Package("scipy", "1.13.0", "1.18.1")
USE = "multiply matrices"
TABLE = Internal(SCIPY, "scipy.linalg.cython_blas", "__pyx_capi__", USE)


def _capsule_function(name: str, result: Any, *arguments: Any) -> Any:
    """Function ``name`` of Python's C interface, with the given types of result and arguments."""
    return c.PYFUNCTYPE(result, *arguments)((name, c.pythonapi))


class _MatrixProducts(dict[str, tuple[Any, Any]]):
    """Matrix products of BLAS by the character of NumPy's format, each with the function that
    passes it a number; looked up when a format is first computed."""

    def __missing__(self, format: str) -> tuple[Any, Any]:
        """Look up the matrix product of a format (``"f"`` or ``"d"``) and keep it.

        Raises:
            InternalError: this version of SciPy has none, or counts in other integers.
        """
        name, real = ("sgemm", c.c_float) if format == "f" else ("dgemm", c.c_double)
        capsule = TABLE().get(name)
        name_of = _capsule_function("PyCapsule_GetName", c.c_char_p, c.py_object)
        signature = name_of(capsule) if capsule else b""
        if signature.count(b" int *") != 6:
            raise SCIPY.lacks(f"{name} that counts in 32 bits in {TABLE.home}.{TABLE.name}", USE)
        routine = self[format] = (
            _blas_function(capsule, signature, real),
            lambda n: c.byref(real(n)),
        )
        return routine


def _blas_function(capsule: Any, signature: bytes, real: Any) -> Any:
    """Function of a capsule, with the arguments of BLAS's matrix product."""
    address = _capsule_function("PyCapsule_GetPointer", c.c_void_p, c.py_object, c.c_char_p)
    text, integer, value = c.c_char_p, c.POINTER(c.c_int), c.POINTER(real)
    types = (text, text, integer, integer, integer, value, c.c_void_p, integer, c.c_void_p,
             integer, value, c.c_void_p, integer)  # fmt: skip
    return c.CFUNCTYPE(None, *types)(address(capsule, signature))


_MATRIX_PRODUCTS = _MatrixProducts()


def gemm(
    a: Array,
    b: Array,
    out: Array,
    accumulate: bool = False,
    transpose_a: bool = False,
    transpose_b: bool = False,
    scale: float = 1.0,
) -> None:
    """Multiply two matrices: ``out = scale a b``, or ``out += scale a b``.

    The rows of each matrix are contiguous; between rows there may be a gap.

    Args:
        a: (rows, inner), or (inner, rows) if it is transposed; fp32 or fp64.
        b: (inner, columns), or (columns, inner) if it is transposed; of the same format.
        out: (rows, columns), of the same format.
        accumulate: True to add to ``out``.
        transpose_a: True to multiply by the transpose of ``a``.
        transpose_b: True to multiply by the transpose of ``b``.
        scale: factor of the product.
    """
    product()(a, b, out, accumulate, transpose_a, transpose_b, scale)


@cache
def product() -> Callable[..., None]:
    """Function that multiplies here, with all the arguments of ``gemm``: BLAS's, or compiled
    loops."""
    if compiler():
        return _by_blas
    from memlab.kernels.cpu import loop_products

    return loop_products.gemm


def _by_blas(
    a: Array,
    b: Array,
    out: Array,
    accumulate: bool,
    transpose_a: bool,
    transpose_b: bool,
    scale: float,
) -> None:
    """Multiply two matrices by BLAS."""
    inner = a.shape[0 if transpose_a else 1]
    rows, columns = out.shape
    multiply, number = _MATRIX_PRODUCTS[out.dtype.char]
    # BLAS counts by columns, so it sees each matrix transposed: out' = b' a'
    multiply(
        _flag(transpose_b), _flag(transpose_a), _int(columns), _int(rows), _int(inner),
        number(scale), *_operand(b), *_operand(a), number(accumulate), *_operand(out),
    )  # fmt: skip


def _flag(transpose: bool) -> bytes:
    """BLAS's character for a matrix that is transposed or is not."""
    return b"T" if transpose else b"N"


def _int(value: int) -> Any:
    """Pointer to a 32-bit integer."""
    return c.byref(c.c_int(value))


def _operand(array: Array) -> tuple[int, Any]:
    """Address of a matrix, and a pointer to the distance between its rows, in values."""
    assert array.strides[1] == array.itemsize or array.shape[1] == 1
    apart = array.strides[0] // array.itemsize if len(array) > 1 else 0
    return array.ctypes.data, _int(max(apart, array.shape[1]))
