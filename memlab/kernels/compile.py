"""Compile loops to machine code, once per format, and keep it between sessions where possible.

Numba sees by a file's date whether its code changed, and looks at no other file: after a change in
``windows.py``, whose code others call, `make clean` removes what is stale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


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
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": liberties}
    try:
        kernel: F = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no cache folder is writable
        kernel = numba.njit(**options)(function)
    return kernel
