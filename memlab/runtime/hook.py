"""NumPy's data-allocation hook (NEP 49): every allocation and release of array data is seen.

NumPy keeps the current allocator in a context variable and offers two C functions to read and to
set it. The hook below passes every call on to the C library and reports it.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable
from typing import Any

import numpy as np

Report = Callable[[int, int, int], None]
"""Called with the address that is freed, the address that is new, and its bytes; 0 for none."""

SET, GET, ABI, FEATURES = 304, 305, 0, 211
"""Slots of NumPy's C API table: stable within a major version."""
KNOWN_ABI = {0x01000009, 0x02000000}
SINCE = 0x0000000F

_POINTER = c.c_void_p
_MALLOC = c.CFUNCTYPE(_POINTER, _POINTER, c.c_size_t)
_CALLOC = c.CFUNCTYPE(_POINTER, _POINTER, c.c_size_t, c.c_size_t)
_REALLOC = c.CFUNCTYPE(_POINTER, _POINTER, _POINTER, c.c_size_t)
_FREE = c.CFUNCTYPE(None, _POINTER, _POINTER, c.c_size_t)


class HookError(RuntimeError):
    """This NumPy cannot be measured."""


class _Handler(c.Structure):
    _fields_ = [
        ("name", c.c_char * 127),
        ("version", c.c_uint8),
        ("ctx", _POINTER),
        ("malloc", _MALLOC),
        ("calloc", _CALLOC),
        ("realloc", _REALLOC),
        ("free", _FREE),
    ]


class Hook:
    """The hook of this process. Arrays remember it, so it is never taken apart."""

    def __init__(self) -> None:
        self.report: Report | None = None
        self.set_handler = _api_function(SET, c.py_object, c.py_object)
        self._keep = self._callbacks()
        self.handler = _Handler(b"memlab", 1, None, *self._keep)
        self.name = c.create_string_buffer(b"mem_handler")
        new = c.pythonapi.PyCapsule_New
        new.restype, new.argtypes = c.py_object, [_POINTER, _POINTER, _POINTER]
        self.capsule: Any = new(c.addressof(self.handler), c.addressof(self.name), None)

    def _callbacks(self) -> tuple[Any, ...]:
        libc = c.CDLL(None)
        for name, arguments in (("malloc", 1), ("calloc", 2), ("realloc", 2), ("free", 1)):
            function = getattr(libc, name)
            function.restype = None if name == "free" else _POINTER
            function.argtypes = [c.c_size_t if name != "free" else _POINTER] * arguments
        libc.realloc.argtypes = [_POINTER, c.c_size_t]

        def tell(old: int | None, new: int | None, nbytes: int) -> int | None:
            if self.report is not None:
                self.report(old or 0, new or 0, nbytes)
            return new

        def realloc(_: int, old: int | None, nbytes: int) -> int | None:
            return tell(old, libc.realloc(old, nbytes), nbytes)

        def free(_: int, old: int | None, __: int) -> None:
            tell(old, None, 0)
            libc.free(old)

        return (
            _MALLOC(lambda _, nbytes: tell(None, libc.malloc(nbytes), nbytes)),
            _CALLOC(lambda _, count, size: tell(None, libc.calloc(count, size), count * size)),
            _REALLOC(realloc),
            _FREE(free),
        )

    def install(self) -> Any:
        """Make it NumPy's allocator in this context; returns the one before."""
        return self.set_handler(self.capsule)

    def restore(self, before: Any) -> None:
        """Give NumPy its earlier allocator back."""
        self.set_handler(before)


def _api_function(slot: int, result: Any, *arguments: Any) -> Any:
    table = _api_table()
    return c.PYFUNCTYPE(result, *arguments)(table[slot])


def _api_table() -> Any:
    """NumPy's table of C functions, once its version is known to have the slots.

    Raises:
        HookError: an unknown version: a wrong slot would crash the process.
    """
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]  # private
    get = c.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = _POINTER, [c.py_object, c.c_char_p]
    table = c.cast(get(capsule, None), c.POINTER(_POINTER))
    version = c.PYFUNCTYPE(c.c_uint)
    abi, features = version(table[ABI])(), version(table[FEATURES])()
    if abi not in KNOWN_ABI or features < SINCE:
        raise HookError(
            f"NumPy {np.__version__} (ABI {abi:#x}) has no allocation hook that memlab knows; "
            "install numpy 2."
        )
    return table
