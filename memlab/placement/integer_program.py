"""HiGHS through SciPy, for the mixed-integer programs of placements and orders."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from memlab import free_memory
from memlab.errors import library

OTHER = 4
"""What SciPy says where HiGHS gives up for no reason of the program."""


def scipy(module: str, what: str) -> ModuleType:
    """Return a module of SciPy, which ``what`` needs.

    Raises:
        InputError: SciPy is not installed, or a limit leaves no room for it.
    """
    if module not in sys.modules:
        free_memory.require(f"{what} needs SciPy, which", free_memory.SCIPY)
    return library(module, what)


def milp(what: str, **program: Any) -> Any:
    """Return the result of ``scipy.optimize.milp`` for an integer program that ``what`` needs.

    HiGHS writes lines about its own search that no option turns off: they go nowhere.

    Raises:
        InputError: SciPy is not installed.
    """
    optimize = scipy("scipy.optimize", what)
    with _unheard():
        solution = optimize.milp(**program)
        if solution.status == OTHER:  # its presolve fails where most of an objective is 0
            plain = {**program.get("options", {}), "presolve": False}
            solution = optimize.milp(**{**program, "options": plain})
    return solution


@contextmanager
def _unheard() -> Iterator[None]:
    """Drop everything that compiled code writes to the standard output."""
    try:
        kept = os.dup(1)
    except OSError:  # closed
        yield
        return
    if sys.stdout is not None:
        sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
