"""Backend of Numba's CUDA simulator.

Its device arrays are NumPy arrays of this process, so NumPy's hook sees them, together with all
that the host allocates. A block counts as the device's if the simulated device asked for it.
"""

from __future__ import annotations

import gc
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import Any

import numpy as np

from memlab import free_memory
from memlab.kernels.cuda import simulator
from memlab.kernels.registry import Array
from memlab.runtime.backend import ArrayPart
from memlab.runtime.cuda.arrays import DeviceArrays
from memlab.runtime.metering import meter, numpy_hook
from memlab.runtime.metering.numpy_hook import Hook, Report

SOON = 5.0
"""Seconds within which a simulated thread that was told to stop should have ended."""


class SimulatorHook:
    """NumPy's hook, restricted to the blocks of the simulated device.

    The simulator's launches, NumPy's own functions and memlab allocate on the host, as they would
    beside a GPU. The simulated threads are Python threads, which NumPy's hook does not see: their
    arrays stand for shared and local memory.
    """

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    @property
    def report(self) -> Report | None:
        """Function that gets the device's new blocks, and the releases of all blocks."""
        return self.hook.report

    def settle(self) -> None:
        """Report every release of memory that has been seen but not reported yet."""
        self.hook.settle()

    def install(self, report: Report) -> Any:
        """Make the hook NumPy's allocator in this context, and return the one before."""
        return self.hook.install(partial(_pass_on, report))

    def restore(self, before: Any) -> None:
        """Give NumPy its earlier allocator back."""
        self.hook.restore(before)


def _pass_on(report: Report, old: int, new: int, nbytes: int) -> None:
    """Report a release, and a new block if the device asked for it."""
    report(old, new if new and _asked_by_device() else 0, nbytes)


def _asked_by_device() -> bool:
    """Return whether the innermost function that belongs neither to NumPy nor to the hook stands
    for the device."""
    frame = sys._getframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] != "numpy" and module not in (__name__, numpy_hook.__name__):
            return simulator.is_device_allocation(frame)
        frame = frame.f_back  # type: ignore[assignment]  # the outermost has none
    return False


class Simulator(DeviceArrays):
    """Backend of a simulated GPU: exact in values and bytes, and slow."""

    simulated = True
    outside = (
        "shared and local arrays of the simulated threads",
        "arrays of the host",
        "Python's own objects",
    )

    @cached_property
    def _hook(self) -> SimulatorHook:
        hook = SimulatorHook(meter.process_hook())
        meter.try_hook(hook, self.block)
        return hook

    def hook(self) -> SimulatorHook:
        return self._hook

    def room(self) -> free_memory.Room:
        return free_memory.room()

    def block(self, nbytes: int) -> Any:
        return self.cuda.device_array(nbytes, np.uint8)

    def view(self, block: Any, part: ArrayPart, start: int = 0) -> Array:
        data, first = np.asarray(block), start + part.offset
        values = np.ndarray(part.shape, part.dtype, data, first, part.strides)
        view: Array = simulator.device_array(values)
        return view

    def kernel_context(self, threads: int) -> AbstractContextManager[object]:
        return nullcontext()

    def drop_references(self, error: BaseException) -> None:
        super().drop_references(error)
        simulator.stop_threads(SOON)
        gc.collect()  # their errors are kept in cycles
