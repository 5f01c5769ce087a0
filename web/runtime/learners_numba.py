"""Numba's names for the cells of learners: a page has no compiler.

A function of a learner's own runs as it is, and one sentence says so; the kernels of memlab were
compiled beforehand and never come here. memlab itself does not find this module: it has no
``__spec__``, so that ``find_spec`` refuses it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

AS_IT_IS = (
    "Numba compiles nothing in a web page: {name} runs as plain Python here, which is slower. On a "
    "computer it is compiled."
)
ABSENT = "{name} needs numba, which no web page has; do it in the lab on a computer."


def numba_of_a_page() -> ModuleType:
    """Return the module that ``import numba`` gives in a cell. Kernels for a GPU can be written and
    read; a call of one says that it is not there."""
    module, cuda, config = _names("numba"), _names("numba.cuda"), ModuleType("numba.config")
    module.__path__ = []  # `import numba.cuda` looks for it
    vars(module).update(njit=njit, jit=njit, prange=range, cuda=cuda, config=config)
    vars(config).update(ENABLE_CUDASIM=False)
    vars(cuda).update(jit=GpuKernel, is_available=lambda: False)
    sys.modules.setdefault("numba.cuda", cuda)
    return module


class GpuKernel:
    """Kernel for a GPU, which a page cannot start."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.py_func = args[0] if args and callable(args[0]) else None

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self.py_func is None:  # it was made with options, and is a decorator
            return GpuKernel(*args)
        return _absent("numba.cuda")("jit")

    def __getitem__(self, shape: object) -> GpuKernel:
        return self


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
