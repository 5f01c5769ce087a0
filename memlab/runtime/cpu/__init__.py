"""Backend of the processor: NumPy arrays in this machine's memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np

from memlab import free_memory
from memlab.kernels.cpu.flat_arrays import bits
from memlab.kernels.registry import Array
from memlab.runtime.async_copies import PendingCopies
from memlab.runtime.backend import ArrayPart, Backend
from memlab.runtime.metering.meter import Reporting, process_hook
from memlab.thread_pools import thread_pools


class Cpu(Backend):
    """Backend of the processor, where device and host are one memory."""

    outside = ("panels that BLAS packs", "Python's own objects", "compiled code")
    one_memory = True
    compiling = "numba:compile"

    def hook(self) -> Reporting:
        return process_hook()

    def room(self) -> free_memory.Room:
        return free_memory.room()

    def block(self, nbytes: int) -> Array:
        return np.empty(nbytes, np.uint8)

    def view(self, block: Array, part: ArrayPart, start: int = 0) -> Array:
        return np.ndarray(part.shape, part.dtype, block, start + part.offset, part.strides)

    def fill(self, values: Array, write: Callable[[Array], None]) -> None:
        write(values)

    def read(self, values: Array) -> Array:
        return values

    def copy(self, source: Array, target: Array) -> None:
        bits(target)[...] = bits(source)

    def host_block(self, nbytes: int) -> Array:
        return np.empty(nbytes, np.uint8)

    def copies(self) -> PendingCopies:
        return PendingCopies()

    def to_host(self, source: Array, target: Array, stream: Any = None) -> None:
        np.copyto(target, source)

    from_host = to_host

    def kernel_context(self, threads: int) -> AbstractContextManager[object]:
        limit: AbstractContextManager[object] = blas().limit(limits=threads, user_api="blas")
        return limit


def backend() -> Backend:
    """New backend of this machine's processor."""
    return Cpu("cpu")


@cache
def blas() -> Any:
    """Control of the BLAS libraries that the kernels use; ``registry.load`` must have loaded them
    before. To find them takes milliseconds."""
    return thread_pools()
