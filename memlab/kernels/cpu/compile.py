"""Compilation of loops to machine code, once per format, kept on disk between sessions where
possible.

Numba compiles. Where it is not installed, as in a web page, kernels come from a table of code that
was compiled beforehand (``compiled_table``); no kernel is ever interpreted.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from memlab.free_memory import compiler
from memlab.kernels.cpu import compiled_table
from memlab.kernels.formulas import called
from memlab.kernels.numba_private_api import keep_on_disk
from memlab.private_api import InternalError

F = TypeVar("F", bound=Callable[..., Any])
Maker = Callable[[Callable[..., Any], AbstractSet[str], bool], Any]
"""Function that makes a kernel of a Python function, with some of LLVM's fast-math flags. The last
argument is True for a kernel that is kept on disk."""


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


def exact(function: F) -> F:
    """Machine code, as ``compiled`` makes it, that does every operation as it is written, and is
    compiled in each session."""
    return _compile(function, frozenset(), keep=False)


def _compile(function: F, liberties: AbstractSet[str], keep: bool = True) -> F:
    """Make a kernel of a function by what compiles here."""
    result: F = maker()(function, liberties, keep)
    return result


@cache
def maker() -> Maker:
    """Function that makes kernels: by Numba where it is installed, else from the table."""
    return _by_numba if compiler() else _from_table


def _from_table(function: Callable[..., Any], liberties: AbstractSet[str], keep: bool) -> Any:
    """Return a kernel of the table, in which the flags are compiled already."""
    return compiled_table.TableKernel(function)


def _by_numba(function: Callable[..., Any], liberties: AbstractSet[str], keep: bool) -> Any:
    """Compile a function with some of LLVM's fast-math flags, and keep it on disk where that is
    possible."""
    import numba

    for formula in called(function).values():
        callable_in_loops(formula)
    kernel: Any = numba.njit(**options(liberties))(function)
    if not keep:
        return kernel
    try:
        keep_on_disk(kernel, function, sources())
    except InternalError as error:
        warnings.warn(f"{error} Until then kernels are compiled in every session.", stacklevel=2)
    except (OSError, RuntimeError):  # no cache folder is writable: compiled in each session
        pass
    return kernel


def options(liberties: AbstractSet[str]) -> dict[str, Any]:
    """Options that Numba compiles a kernel with, given its fast-math flags."""
    return {"nogil": True, "error_model": "numpy", "fastmath": set(liberties)}


@cache
def callable_in_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled code call a plain function, which is then compiled with the fast-math flags of
    its caller."""
    if compiler():
        import numba.extending

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
