"""Memory manager that replaces Numba's while something is measured.

Each allocation and each release of device memory, and of page-locked memory of the host, goes to
the driver at once and is reported. The manager is an External Memory Manager plugin (NBEP 7), which
Numba lets allocate all device memory.
"""

from __future__ import annotations

import weakref
from functools import cache
from typing import Any

from memlab.kernels.cuda.driver import DRIVER, MANAGER, PINNED
from memlab.runtime.metering.numpy_hook import Report


class ManagerHook:
    """Hook that puts the memory manager into the current CUDA context.

    ``most`` is the largest rise of the device's own count of used bytes since then, read at every
    allocation.
    """

    def __init__(self) -> None:
        self.report: Report | None = None
        self.most = 0
        self._free = 0

    def install(self, report: Report) -> Any:
        """Replace the context's memory manager, and return the one before; every array is freed by
        the manager that allocated it."""
        from numba import cuda

        context = cuda.current_context()
        before = MANAGER.of(context)
        context.memory_manager = _manager_class()(context=context, hook=self)
        self._free, self.most, self.report = context.get_memory_info().free, 0, report
        return before

    def restore(self, before: Any) -> None:
        """Give the context its earlier manager back."""
        from numba import cuda

        self.report = None
        cuda.current_context().memory_manager = before

    def settle(self) -> None:
        """Do nothing: this hook reports everything at once."""

    def allocated(self, address: int, nbytes: int, free: int) -> None:
        """Report a new block; ``free`` is the number of bytes that the device says are free now."""
        self.most = max(self.most, self._free - free)
        if self.report is not None:
            self.report(0, address, nbytes)

    def freed(self, address: int) -> None:
        """Report that the block at an address is gone."""
        if self.report is not None:
            self.report(address, 0, 0)


@cache
def _manager_class() -> Any:
    """Class of the memory manager, made at the first use because its base exists only where
    ``numba.cuda`` runs on a GPU."""
    from numba import cuda

    driver, pinned = DRIVER(), PINNED()
    base: Any = cuda.HostOnlyCUDAMemoryManager

    class Manager(cuda.GetIpcHandleMixin, base):  # type: ignore[misc]  # numba ships no types
        """Memory manager that allocates with ``cuMemAlloc`` and frees with ``cuMemFree``, without a
        delay."""

        def __init__(self, *, context: Any, hook: ManagerHook) -> None:
            super().__init__(context=context)
            self.hook = hook

        def initialize(self) -> None:
            """Do nothing: the manager needs no preparation."""

        def memalloc(self, size: int) -> Any:
            pointer, hook = driver.cuMemAlloc(size), self.hook
            address = int(pointer)

            def free() -> None:
                driver.cuMemFree(pointer)
                hook.freed(address)

            hook.allocated(address, size, self.get_memory_info().free)
            return cuda.MemoryPointer(weakref.proxy(self.context), pointer, size, finalizer=free)

        def memhostalloc(
            self, size: int, mapped: bool = False, portable: bool = False, wc: bool = False
        ) -> Any:
            """Allocate page-locked bytes of the host, with ``cuMemHostAlloc`` and
            ``cuMemFreeHost``."""
            if mapped or portable or wc:
                return super().memhostalloc(size, mapped, portable, wc)
            pointer, hook = driver.cuMemHostAlloc(size, 0), self.hook
            address = int(pointer)

            def free() -> None:
                driver.cuMemFreeHost(pointer)
                hook.freed(address)

            hook.allocated(address, size, self.get_memory_info().free)
            return pinned(weakref.proxy(self.context), pointer, size, finalizer=free)

        def get_memory_info(self) -> Any:
            free, total = driver.cuMemGetInfo()
            return cuda.MemoryInfo(free=free, total=total)

        @property
        def interface_version(self) -> int:
            return 1

    return Manager
