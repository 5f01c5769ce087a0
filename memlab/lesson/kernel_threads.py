"""Threads of a kernel that is checked: they run one after the other, in Python, on any machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from memlab import strings
from memlab.errors import InputError

WARP = 32
"""Threads that run together."""


class Threads:
    """Stand-in for ``cuda`` in a kernel that is checked: the position of the running thread.

    The threads of a line of blocks run one after the other, on any machine: no thread can wait for
    another one here.
    """

    def __init__(self) -> None:
        self.blockDim = SimpleNamespace(x=WARP)
        self.gridDim = SimpleNamespace(x=1)
        self.blockIdx, self.threadIdx = SimpleNamespace(x=0), SimpleNamespace(x=0)

    def grid(self, axes: int) -> int:
        """Return the number of the running thread in the grid."""
        if axes != 1:
            raise InputError(f"this grid is a line of threads, got {axes} axes; try cuda.grid(1).")
        return int(self.blockIdx.x * WARP + self.threadIdx.x)

    def gridsize(self, axes: int) -> int:
        """Return the number of threads in the grid."""
        return int(self.gridDim.x * WARP)

    def each(self, values: int) -> Iterator[int]:
        """Yield the number of each thread, which becomes the running one: a thread for each value,
        rounded up to whole blocks, and one block more."""
        self.gridDim.x = -(-values // WARP) + 1
        for n in range(self.gridDim.x * WARP):
            self.blockIdx.x, self.threadIdx.x = divmod(n, WARP)
            yield n


cuda = Threads()


def on_threads(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of a kernel, with ``cuda`` replaced by these threads."""
    plain = getattr(function, "py_func", getattr(function, "fn", function))
    if not isinstance(plain, FunctionType):
        return function
    space = {**plain.__globals__, "cuda": cuda}
    return FunctionType(
        plain.__code__, space, plain.__name__, plain.__defaults__, plain.__closure__
    )


def launch(function: Callable[..., Any], a: dict[str, Any]) -> tuple[Any, list[int]] | None:
    """Run a kernel that fills ``lowered`` in all threads.

    Return ``lowered`` and the places that its first warp stored to, or None if the kernel stored
    nothing. Whether the values are right is another question, which another process may answer.
    """
    kernel, lowered, first = on_threads(function), a["lowered"], []
    for n in cuda.each(lowered.size):
        try:
            kernel(**a)
        except IndexError as error:
            raise InputError(_unguarded(n, lowered.size)) from error
        if n == WARP - 1:
            first = np.flatnonzero(~np.isnan(lowered)).tolist()
    return None if np.isnan(lowered).all() else (lowered, first)


def _unguarded(thread: int, count: int) -> str:
    """Sentence for a thread that indexes outside an array, such as one with a missing guard."""
    key = "outside" if thread < count else "guard"
    return strings.get(f"exercise.check.{key}", thread=thread, count=count)
