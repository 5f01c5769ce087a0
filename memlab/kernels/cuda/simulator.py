"""What kernels need of Numba's simulator beside what it does: shared arrays that are shared, and
threads that take short turns."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
from numba import types
from numba.cuda.simulator import kernelapi
from numba.np.numpy_support import as_dtype

TURN = 1e-4
"""Seconds after which a thread lets another one run."""


class SharedArrays(kernelapi.FakeCUDAShared):  # type: ignore[misc]  # numba ships no types
    """The shared arrays of a block, each made once.

    In Numba's own class, two threads that ask for an array at the same moment can each get one.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._lock = Lock()

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        """The array of the line that asks for it; of shape 0, the one that the launch brings."""
        if shape == 0:
            return super().array(shape, dtype)
        caller = sys._getframe(1)
        place = caller.f_code, caller.f_lineno
        with self._lock:
            if place not in self._allocations:
                plain = as_dtype(dtype) if isinstance(dtype, types.Type) else dtype
                self._allocations[place] = np.empty(shape, plain)
            return self._allocations[place]


kernelapi.FakeCUDAShared = SharedArrays


@contextmanager
def simulation() -> Iterator[None]:
    """Let threads take short turns, since they wait for each other; and warn of no number that
    leaves its range, as a GPU does not."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        sys.setswitchinterval(before)
