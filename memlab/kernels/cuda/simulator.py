"""Parts of Numba's simulator of a GPU that are not public, which kernels need.

Shared arrays must really be shared, threads must take short turns, and an operand must be visible
as a line of values. The simulator's public names are those of ``numba.cuda``, which tell nothing of
its arrays and threads. Where a version works in another way, only runs on a simulated GPU are
refused.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from types import FrameType
from typing import Any

import numpy as np

from memlab.kernels.numba_private_api import NUMBA
from memlab.private_api import Internal

USE = "simulate a GPU"
SHARED = Internal(NUMBA, "numba.cuda.simulator.kernelapi", "FakeCUDAShared", USE)
"""Shared arrays of a block. Two threads that ask for one at the same moment can each get their own,
so memlab replaces the class."""
ALLOCATIONS = Internal(NUMBA, "numba.cuda.simulator.kernelapi.FakeCUDAShared", "_allocations", USE)
ARRAY = Internal(NUMBA, "numba.cuda.simulator.cudadrv.devicearray", "FakeCUDAArray", USE)
"""Device array, which wraps a NumPy array."""
VALUES = Internal(NUMBA, "numba.cuda.simulator.cudadrv.devicearray.FakeCUDAArray", "_ary", USE)
END = "end a simulated kernel"
THREAD = Internal(NUMBA, "numba.cuda.simulator.kernel", "BlockThread", END)
"""Thread of a kernel, which may wait for another one for ever."""
ABORT = Internal(NUMBA, "numba.cuda.simulator.kernel.BlockThread", "abort", END)
WAITING = Internal(NUMBA, "numba.cuda.simulator.kernel.BlockThread", "syncthreads_event", END)

_array_class = cache(ARRAY)

TURN = 1e-4
"""Seconds after which a thread lets another one run."""
DEVICE = "numba.cuda.simulator.cudadrv."
"""Modules that stand for the driver. Arrays that they allocate lie on the device, except those of
``HOST``."""
HOST = ("copy_to_host", "copy_to_device")
"""Functions of those modules that allocate on the host. Page-locked arrays, too, are reported to
the meter as the host's."""


@cache
def fix_shared_arrays() -> None:
    """Replace the simulator's shared arrays by arrays that all threads of a block share.

    Raises:
        InternalError: the simulator's own shared arrays work in another way.
    """
    base: Any = SHARED()
    ALLOCATIONS.of(base(0))

    class SharedArrays(base):  # type: ignore[misc]  # Numba's
        """Shared arrays of a block, each allocated once."""

        def __init__(self, size: int) -> None:
            super().__init__(size)
            self._lock = Lock()

        def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
            """Shared array of the source line that asks for it; with shape 0, the one that the
            launch provides."""
            if shape == 0:
                return super().array(shape, dtype)
            caller = sys._getframe(1)
            place = caller.f_code, caller.f_lineno
            with self._lock:
                if place not in self._allocations:
                    plain = isinstance(dtype, np.dtype | type)  # else Numba's, of the same name
                    array = np.empty(shape, dtype if plain else str(dtype))
                    self._allocations[place] = array
                return self._allocations[place]

    setattr(sys.modules[SHARED.home], SHARED.name, SharedArrays)


@contextmanager
def simulation() -> Iterator[None]:
    """Context in which a simulated kernel runs.

    Its threads take short turns, since they wait for each other, and numbers that leave their range
    cause no warning, as on a GPU.

    Raises:
        InternalError: this simulator works in another way.
    """
    fix_shared_arrays()
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        sys.setswitchinterval(before)


def device_array(values: np.ndarray[Any, Any]) -> Any:
    """Array of the simulated device over the memory of a NumPy array, without a copy."""
    return _array_class()(values)


def numpy_values(array: Any) -> Any:
    """NumPy array inside an array of the simulated device."""
    try:
        return array._ary
    except AttributeError:
        raise VALUES.missing() from None


def is_device_allocation(frame: FrameType) -> bool:
    """Return whether the function of a frame allocates on behalf of the simulated device."""
    module = str(frame.f_globals.get("__name__", ""))
    return module.startswith(DEVICE) and frame.f_code.co_name not in HOST


def stop_threads(patience: float) -> None:
    """End all simulated threads, which may wait for each other for ever; wait at most ``patience``
    seconds for each."""
    kind = THREAD()
    left = [thread for thread in threading.enumerate() if isinstance(thread, kind)]
    for thread in left:
        ABORT.replace(thread, True)
        WAITING.of(thread).set()
    for thread in left:
        thread.join(patience)
