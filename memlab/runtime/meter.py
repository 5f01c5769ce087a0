"""The meter: bytes of array data alive, and the most that was, as NumPy's allocator saw them.

It knows nothing of the plan. What does not pass through NumPy's allocator stands outside and is
named in ``OUTSIDE``.
"""

from __future__ import annotations

from ctypes import py_object, pythonapi
from dataclasses import dataclass, field
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np

from memlab.errors import InputError
from memlab.runtime.hook import Hook, HookError

OUTSIDE = ("panels that BLAS packs", "Python's own objects", "compiled code")
"""What the meter does not see."""


class BusyError(InputError):
    """A measurement inside another one."""


@dataclass(slots=True)
class Seen:
    """One block that the allocator gave out: bytes, label, operation of birth and of death."""

    nbytes: int
    label: str
    birth: int
    death: int | None = None


@dataclass
class Meter:
    """Measures inside a ``with`` block, in this thread.

    ``label`` names the blocks that are allocated next, ``op`` the operation that runs.
    """

    live: int = 0
    peak: int = 0
    op: int = -1
    label: str = ""
    seen: list[Seen] = field(default_factory=list)
    _where: dict[int, Seen] = field(default_factory=dict)
    _before: Any = None

    def __enter__(self) -> Meter:
        hook = the_hook()
        if hook.report is not None:
            raise BusyError("another measurement is running; wait until it has ended.")
        self._before = hook.install()
        hook.report = self._report
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        hook = the_hook()
        hook.report = None
        hook.restore(self._before)

    def start_peak(self) -> int:
        """Begin to look for a new peak; the bytes alive now."""
        self.peak = self.live
        return self.live

    def _report(self, old: int, new: int, nbytes: int) -> None:
        block = self._where.pop(old, None) if old else None
        if block is not None:
            self.live -= block.nbytes
            block.death = self.op
        if new:
            block = Seen(nbytes, self.label, self.op)
            self._where[new] = block
            self.seen.append(block)
            self.live += nbytes
            self.peak = max(self.peak, self.live)


@cache
def the_hook() -> Hook:
    """The hook, tried once before it is trusted.

    Raises:
        HookError: it does not see what it should.
    """
    hook, sizes = Hook(), list[int]()
    hook.report = lambda old, new, nbytes: sizes.append(nbytes if new else -1)
    pythonapi.Py_IncRef(py_object(hook))  # arrays may call it until the process ends
    before = hook.install()
    try:
        block = np.empty(1234, np.uint8)
        del block
    finally:
        hook.restore(before)
        hook.report = None
    if sizes != [1234, -1]:
        raise HookError(
            f"NumPy's allocation hook saw {sizes} instead of 1,234 bytes and a release."
        )
    return hook
