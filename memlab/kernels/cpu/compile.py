"""Compilation of loops to machine code, once per format, kept on disk between sessions where
possible."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.extending

from memlab.kernels.formulas import called
from memlab.kernels.numba_private_api import keep_on_disk
from memlab.private_api import InternalError

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Machine code for a function of arrays and numbers, compiled at its first call per format.

    A product and a sum may fuse into one instruction. Division by zero gives infinity instead of an
    exception. Functions of ``memlab.kernels.formulas`` that it calls are compiled with it.
    """
    return _compile(function, {"contract"})


def summing(function: F) -> F:
    """Machine code, as ``compiled`` makes it, for a function that adds up many values.

    The compiler may change the order of the additions, so that they fill vectors. NaN and infinity
    are kept.
    """
    return _compile(function, {"contract", "nsz", "reassoc"})


def _compile(function: F, liberties: set[str]) -> F:
    """Compile a function with some of LLVM's fast-math flags, and keep it on disk where that is
    possible."""
    for formula in called(function).values():
        callable_in_loops(formula)
    kernel: Any = numba.njit(nogil=True, error_model="numpy", fastmath=liberties)(function)
    try:
        keep_on_disk(kernel, function, sources())
    except InternalError as error:
        warnings.warn(f"{error} Until then kernels are compiled in every session.", stacklevel=2)
    except (OSError, RuntimeError):  # no cache folder is writable: compiled in each session
        pass
    result: F = kernel
    return result


@cache
def callable_in_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled code call a plain function, which is then compiled with the fast-math flags of
    its caller."""
    for formula in called(function).values():
        callable_in_loops(formula)
    numba.extending.register_jitable(function)
    return function


@cache
def sources() -> str:
    """SHA-256 digest of all Python files of ``memlab.kernels``."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


@compiled
def nothing(number: int) -> int:
    """Return the number unchanged: the first compiled function that is called makes Numba load its
    own tables."""
    return number
