"""Numba's names for the cells of learners: a page has no compiler.

A function of a learner's own runs as it is, and one sentence says so; the kernels of memlab were
compiled beforehand and never come here. memlab itself does not find this module: it has no
``__spec__``, so that ``find_spec`` refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

AS_IT_IS = (
    "Numba compiles nothing in a web page: {name} runs as plain Python here, which is slower. On a "
    "computer it is compiled."
)
ABSENT = "{name} needs numba, which no web page has; do it in the lab on a computer."


def numba_of_a_page() -> ModuleType:
    """Return the module that ``import numba`` gives in a cell."""
    module = ModuleType("numba", __doc__)
    module.__spec__ = None
    module.__getattr__ = _absent("numba")  # type: ignore[method-assign]  # of this module alone
    vars(module).update(njit=njit, jit=njit, prange=range, cuda=_names("numba.cuda"))
    return module


def njit(*args: Any, **options: Any) -> Any:
    """Return a function as it is, after a sentence that says so; without one, a decorator."""
    if args and callable(args[0]):
        print(AS_IT_IS.format(name=args[0].__name__))
        return args[0]
    return njit


def _names(name: str) -> ModuleType:
    """Return a module each of whose names says that it is not there."""
    module = ModuleType(name)
    module.__spec__ = None
    module.__getattr__ = _absent(name)  # type: ignore[method-assign]  # of this module alone
    return module


def _absent(module: str) -> Callable[[str], Any]:
    def absent(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from memlab.errors import AbsentInPageError

        raise AbsentInPageError(ABSENT.format(name=f"{module}.{name}"))

    return absent
