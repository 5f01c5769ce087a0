"""Bytes that PyTorch takes at most in the fourth step of a loop; what is there before is counted
from before its models exist.

Nothing here shares code with ``memlab.frontends.torch``. Each function runs the loop once.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from torch.autograd.profiler import record_function
from torch.profiler import ProfilerActivity, profile

from memlab.step.paused_gc import paused
from tests.oracles.torch_peak import Count

STEADY = "steady step"
BEFORE = 3
"""Number of steps before the one that counts."""


def run(make: Callable[[], Any], begin: Callable[[], None], end: Callable[[], None]) -> None:
    """Run four steps, without collections of garbage in the last."""
    step, batch = make()
    for _ in range(BEFORE):
        step(batch)
    with paused():
        gc.collect()
        begin()
        step(batch)
        end()


def live_bytes(make: Callable[[], Any]) -> int:
    """Return the bytes of all live storages (T)."""
    counted = Count()

    def begin() -> None:
        counted.settle()
        counted.most = sum(nbytes for nbytes, _ in counted.alive.values())

    with counted:
        run(make, begin, counted.settle)
    return counted.most


def allocated_bytes(make: Callable[[], Any]) -> int:
    """Return the bytes that the allocator of a processor has handed out (A)."""
    mark = record_function(STEADY)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run(make, mark.__enter__, lambda: mark.__exit__(None, None, None))
    events = profiler.profiler.kineto_results.events()
    (begin,) = (event.start_ns() for event in events if event.name() == STEADY)
    (end,) = (event.end_ns() for event in events if event.name() == STEADY)
    pairs = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    levels = [*zip((at for at, _ in pairs), accumulate(n for _, n in pairs), strict=True)]
    before = [level for at, level in levels if at < begin][-1:]
    return int(max([*before, *(level for at, level in levels if begin <= at <= end)]))
