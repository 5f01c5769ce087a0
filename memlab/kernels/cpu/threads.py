"""Parts of a kernel's work on several Python threads: compiled code runs without Python's lock.

No part allocates an array. NumPy's allocation hook belongs to a context, and every part runs in a
copy of the caller's context, so that a meter would see an allocation. Where no thread can start, as
in a web page, parts run in turn, and so does all that a step does beside its kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from threading import Thread
from typing import TypeVar

from memlab.kernels.registry import Array

Workspace = TypeVar("Workspace")
NO_THREADS = "no thread can start here"
"""Reason that a text gives for work in turn."""


@cache
def threads_start() -> bool:
    """Return whether a thread can start here, which is tried once."""
    thread = Thread(target=_nothing)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


def _nothing() -> None:
    """Work of the thread that is tried."""


def run_on_threads(
    work: Callable[[Workspace, range], None], workspaces: Sequence[Workspace], units: int
) -> None:
    """Call ``work(workspace, units)`` on one thread per workspace, each with a range of
    neighbouring units.

    Together the ranges cover the units from 0 to before ``units``. The threads have ended when this
    returns, so nothing holds a view of an operand any more.

    Args:
        work: function of a workspace and a range of units.
        workspaces: one workspace for each thread.
        units: number of pieces of work.
    """
    pairs = zip(workspaces, shares(units, len(workspaces)), strict=True)
    parts = [partial(work, workspace, some) for workspace, some in pairs if some]
    if len(parts) < 2 or not threads_start():
        for part in parts:
            part()
        return
    here, *others = parts
    with ThreadPoolExecutor(len(others)) as pool:
        ends = [pool.submit(copy_context().run, other) for other in others]
        here()
    for end in ends:
        end.result()


def thread_workspaces(workspace: Array, extents: int) -> list[Array]:
    """Workspaces of the threads, as a list.

    Args:
        workspace: one thread's workspace, or those of several threads along a first axis of their
            own.
        extents: number of axes of one thread's workspace.
    """
    return [workspace] if workspace.ndim == extents else list(workspace)


def shares(units: int, count: int) -> list[range]:
    """Ranges of neighbouring units, ``count`` of them, whose lengths differ by at most one."""
    ends = [units * index // count for index in range(count + 1)]
    return [range(ends[index], ends[index + 1]) for index in range(count)]


def image_ranges(units: range, per_image: int) -> Iterator[tuple[int, int, int]]:
    """Yield a range of units image by image, as (image, first, stop) counted within the image.

    Args:
        units: range over the units of all images, one image after the other.
        per_image: number of units in an image.
    """
    for image in range(units.start // per_image, -(-units.stop // per_image)):
        start = image * per_image
        yield image, max(units.start - start, 0), min(units.stop - start, per_image)
