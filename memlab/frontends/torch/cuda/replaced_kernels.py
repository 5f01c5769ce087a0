"""Kernels in PyTorch's dispatcher that are replaced while a step is recorded for a card.

The dispatcher is one for all threads. So each kernel here asks whether the thread that calls it
records a step for a card; in any other it runs PyTorch's own.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

import torch

from memlab.frontends.torch.cuda.attention import Capability
from memlab.frontends.torch.torch_private_api import DISPATCH_KEY, KEYS_AFTER, REGISTRATIONS

AUTOCAST, AUTOGRAD = "AutocastCPU", "AutogradCPU"
"""Dispatch keys under which kernels are replaced."""
Kernel = Callable[..., Any]
"""Function that runs in the place of an operator; its first argument runs PyTorch's own kernel."""


class Recorded(threading.local):
    """Card that this thread records a step for, by its compute capability; None without one."""

    capability: Capability | None = None


RECORDED = Recorded()


class Shared:
    """Context that is entered by the first who needs it and left by the last, in any threads."""

    def __init__(self, make: Callable[[], AbstractContextManager[None]]) -> None:
        self.make, self.users = make, 0
        self._lock, self._stack = threading.Lock(), ExitStack()

    @contextmanager
    def used(self) -> Iterator[None]:
        """Have the context while this one lasts."""
        with self._lock:
            if not self.users:
                self._stack.enter_context(self.make())
            self.users += 1
        try:
            yield
        finally:
            with self._lock:
                self.users -= 1
                if not self.users:
                    self._stack.close()


_EXPECTED = (
    ".*meta parameter.*no-op",
    "Warning only once for all operators",
    ".*verriding a previously registered kernel",
    ".*global hooks on modules",
)
"""Warnings of PyTorch about what a recording does on purpose."""


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Ignore the warnings that a recording causes inside the context."""
    with warnings.catch_warnings():
        for message in _EXPECTED:
            warnings.filterwarnings("ignore", message=f"(?s){message}")
        yield


WITHOUT_WARNINGS = Shared(_without_warnings)
"""Context of all threads that record: filters of warnings are those of the process, and one thread
alone would give back those of another."""


class Library:
    """Kernels that are in the dispatcher while this context lasts."""

    def __enter__(self) -> Library:
        self._library = torch.library.Library("aten", "IMPL")
        self._autocast = registered(AUTOCAST)
        return self

    def __exit__(self, *error: object) -> None:
        self._library._destroy()

    def replace(self, name: str, key: str, kernel: Kernel | None) -> None:
        """Put a kernel in the place of an operator's under a dispatch key; None goes past the
        key."""
        past = _past(name, key)
        untreated = key == AUTOCAST and name not in self._autocast
        plain = past if untreated else plain_kernel(name, key)

        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            if RECORDED.capability is None:
                return plain(keys, *args, **kwargs)
            if kernel is None:
                return past(keys, *args, **kwargs)
            return kernel(partial(plain, keys), *args, **kwargs)

        self.put(name, key, run)

    def put(self, name: str, key: str, kernel: Kernel) -> None:
        """Put a kernel, whose first argument are the dispatch keys, in for all threads."""
        with WITHOUT_WARNINGS.used():
            self._library.impl(name, kernel, key, with_keyset=True)


def operator(name: str) -> Any:
    """Return an operator of ATen by its name, ``"softmax.int"``."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def registered(key: str) -> set[str]:
    """Return the names of the operators that have a kernel under a dispatch key."""
    return {name.removeprefix("aten::") for name in REGISTRATIONS()(key)}


def plain_kernel(name: str, key: str) -> Kernel:
    """Return what runs an operator under a dispatch key now; its first argument are the keys."""
    kernel: Kernel = torch.library.get_kernel(f"aten::{name}", key).call_boxed
    return kernel


def _past(name: str, key: str) -> Kernel:
    """Return what runs an operator past a dispatch key."""
    redispatch, after = operator(name).redispatch, KEYS_AFTER()(getattr(DISPATCH_KEY(), key))

    def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
        return redispatch(keys & after, *args, **kwargs)

    return run
