"""Meter: bytes of array data that are alive, and their peak, as the allocator saw them.

The meter knows nothing of the plan. A hook reports every allocation and release to it: NumPy's
hook, or that of a device. Memory that does not pass through the allocator is not seen; each backend
names it.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import py_object, pythonapi
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from memlab.errors import BusyError
from memlab.runtime.metering.numpy_hook import Hook, HookError, Report
from memlab.step.storage import DEVICE

TRIAL = 1234
"""Bytes of the block that a hook is tried with."""


class Reporting(Protocol):
    """Interface of a hook: it calls ``report`` for every allocation and release while it is
    installed."""

    @property
    def report(self) -> Report | None:
        """Function that the hook calls; None if it is not installed."""

    def settle(self) -> None:
        """Report what has happened so far, where that was not done at once."""

    def install(self, report: Report) -> Any:
        """Begin to report allocations, and return the earlier allocator for ``restore``."""

    def restore(self, before: Any) -> None:
        """Make the allocator that was in use before the hook the current one again."""


@cache
def process_hook() -> Hook:
    """NumPy's allocation hook, tried once before it is trusted.

    NumPy loads its random numbers when they are first asked for, with tables that stay. So they are
    loaded before: a step that draws them would be measured with 16 bytes too much.

    Raises:
        HookError: it does not see what it should.
    """
    import_module("numpy.random")
    hook = Hook()
    pythonapi.Py_IncRef(py_object(hook))  # arrays may call it until the process ends
    try_hook(hook, lambda nbytes: np.empty(nbytes, np.uint8))
    return hook


def try_hook(hook: Reporting, allocate: Callable[[int], object]) -> None:
    """Try a hook with one block that is dropped at once.

    Raises:
        BusyError: the hook is in use.
        HookError: it saw anything else than this block and its release.
    """
    with Meter(hook=hook) as meter:
        allocate(TRIAL)
    if meter.seen != [MeteredBlock(TRIAL, "", -1, death=-1)]:
        raise HookError(
            f"the allocation hook saw {meter.seen} instead of {TRIAL:,} bytes and a release."
        )


@dataclass(slots=True)
class MeteredBlock:
    """Block that the allocator gave out: its bytes, its label, the operations of its birth and
    death, and the memory that it stands for."""

    nbytes: int
    label: str
    birth: int
    death: int | None = None
    memory: str = DEVICE


class Meter:
    """Measurement of this thread's allocations inside a ``with`` block: NumPy's arrays, or what
    ``hook`` sees.

    Attributes:
        label: name of the blocks that are allocated next.
        memory: memory that these blocks stand for.
        peak: most bytes alive on the device since the last ``begin``.
    """

    def __init__(self, hook: Reporting | None = None) -> None:
        self.hook = process_hook() if hook is None else hook
        self.label, self.memory, self.peak = "", DEVICE, 0
        self._op, self._live = -1, 0
        self._seen: list[MeteredBlock] = []
        self._where: dict[int, MeteredBlock] = {}
        self._before: Any = None

    @property
    def op(self) -> int:
        """Number of the operation that runs now, to which births and deaths are recorded."""
        return self._op

    @op.setter
    def op(self, number: int) -> None:
        self.hook.settle()
        self._op = number

    @property
    def live(self) -> int:
        """Bytes that are alive on the device now."""
        self.hook.settle()
        return self._live

    @property
    def seen(self) -> list[MeteredBlock]:
        """Every block that was allocated."""
        self.hook.settle()
        return self._seen

    def __enter__(self) -> Meter:
        if self.hook.report is not None:
            raise BusyError("another measurement is running; wait until it has ended.")
        self._before = self.hook.install(self.report)
        return self

    def __exit__(self, *error: object) -> None:
        self.hook.restore(self._before)

    def begin(self, number: int) -> int:
        """Begin an operation and a new peak, and return the bytes that are alive."""
        self.hook.settle()
        self._op, self.peak = number, self._live
        return self._live

    def report(self, old: int, new: int, nbytes: int) -> None:
        """Record a new block, the end of an old one, or both.

        The hook calls this, and so does the owner of blocks that the hook does not see, such as
        files.

        Args:
            old: address of the block that ends; 0 for none.
            new: address of the new block; 0 for none.
            nbytes: bytes of the new block.
        """
        block = self._where.pop(old, None) if old else None
        if block is not None:
            self._live -= block.nbytes if block.memory == DEVICE else 0
            block.death = self._op
        if new:
            self._where[new] = block = MeteredBlock(
                nbytes, self.label, self._op, memory=self.memory
            )
            self._seen.append(block)
            self._live += nbytes if block.memory == DEVICE else 0
            self.peak = max(self.peak, self._live)
