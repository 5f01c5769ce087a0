"""NumPy's table of C functions, through which its allocator is exchanged.

NEP 49 lets extensions written in C do that (since NumPy 1.22); Python has no function for it. So
two slots of the table that every extension reads are called from here. A slot keeps its function
within a major version. The numbers are those of NumPy 2, and an unknown version of the table is
refused, because a wrong slot would crash the process. Without the table nothing can be measured,
and every plan still holds.
"""

from __future__ import annotations

import ctypes as c
from typing import Any

import numpy as np

from memlab.private_api import Internal, InternalError, Package

NUMPY = Package("numpy", "2.0.0", "2.5.5")
TABLE = Internal(
    NUMPY, "numpy._core._multiarray_umath", "_ARRAY_API", "see what arrays are allocated"
)
"""Capsule with NumPy's table of C functions, which every extension imports from there."""

SET, ABI, FEATURES = 304, 0, 211
"""Slots of ``PyDataMem_SetHandler``, and of the versions of the table and of its features."""
KNOWN_ABI = {0x01000009, 0x02000000}
SINCE = 0x0000000F

POINTER = c.c_void_p
MALLOC = c.CFUNCTYPE(POINTER, POINTER, c.c_size_t)
CALLOC = c.CFUNCTYPE(POINTER, POINTER, c.c_size_t, c.c_size_t)
REALLOC = c.CFUNCTYPE(POINTER, POINTER, POINTER, c.c_size_t)


class Handler(c.Structure):
    """Allocator and its name: ``PyDataMem_Handler`` of NumPy's headers.

    ``free`` is called with ``ctx``, an address and its bytes.
    """

    _fields_ = [
        ("name", c.c_char * 127),
        ("version", c.c_uint8),
        ("ctx", POINTER),
        ("malloc", MALLOC),
        ("calloc", CALLOC),
        ("realloc", REALLOC),
        ("free", POINTER),
    ]


def handler_setter() -> Any:
    """Function that makes a capsule of a ``Handler`` NumPy's allocator in this context, and returns
    the one before.

    Raises:
        InternalError: this NumPy has no table of a known version.
    """
    return c.PYFUNCTYPE(c.py_object, c.py_object)(_table()[SET])


def capsule(handler: Handler, name: Any) -> Any:
    """Capsule of a handler, as ``handler_setter``'s function takes it; handler and name must be
    kept while it is used."""
    new = c.pythonapi.PyCapsule_New
    new.restype, new.argtypes = c.py_object, [POINTER, POINTER, POINTER]
    return new(c.addressof(handler), c.addressof(name), None)


def _table() -> Any:
    """NumPy's table of C functions, after a check of its version."""
    get = c.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = POINTER, [c.py_object, c.c_char_p]
    table = c.cast(get(TABLE(), None), c.POINTER(POINTER))
    version = c.PYFUNCTYPE(c.c_uint)
    abi, features = version(table[ABI])(), version(table[FEATURES])()
    if abi not in KNOWN_ABI or features < SINCE:
        raise InternalError(
            f"NumPy {np.__version__} (ABI {abi:#x}) has no allocation hook that memlab knows; "
            "install numpy 2."
        )
    return table
