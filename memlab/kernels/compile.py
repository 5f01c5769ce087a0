"""Compile loops to machine code, once per format, and keep it between sessions where possible."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

F = TypeVar("F", bound=Callable[..., Any])
UNREADABLE = (OSError, EOFError, pickle.UnpicklingError)


def compiled(function: F) -> F:
    """Machine code for a function of arrays and numbers, made at its first call per format.

    A product and a sum may fuse. Division by zero gives infinity instead of an exception.
    """
    return _compile(function, {"contract"})


def summing(function: F) -> F:
    """The same for a function that adds up many values: their order is free, so that they fill
    vectors. NaN and infinity stay what they are."""
    return _compile(function, {"contract", "nsz", "reassoc"})


def _compile(function: F, liberties: set[str]) -> F:
    kernel: Any = numba.njit(nogil=True, error_model="numpy", fastmath=liberties)(function)
    with suppress(OSError, RuntimeError):  # no cache folder is writable: compiled in each session
        kernel._cache = KernelCache(function)
    result: F = kernel
    return result


class KernelCache(FunctionCache):
    """Numba's cache of a function, stale as soon as any file of this folder changes.

    Numba looks at the function's own file, but a kernel also holds the code of those it calls.
    A folder that can no longer be read or written is no error: the kernel is compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]  # Numba's
        stamp = (self._impl.locator.get_source_stamp(), sources())
        self._cache_file = IndexDataCacheFile(self.cache_path, self._impl.filename_base, stamp)

    def _guard_against_spurious_io_errors(self) -> Any:
        """Around every load and save."""
        return suppress(*UNREADABLE)


@cache
def sources() -> str:
    """A digest of every file of this folder."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
