"""The parts of a kernel's work side by side, on threads of Python: compiled code runs without its
lock.

No part makes an array. NumPy's hook belongs to a context, and every part runs in a copy of the
caller's, so that a meter sees what a part would make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from memlab.kernels.registry import Array

Workspace = TypeVar("Workspace")


def spread(
    work: Callable[[Workspace, range], None], workspaces: Sequence[Workspace], units: int
) -> None:
    """``work(workspace, some units)`` for all units from 0 on: as many threads as there are
    workspaces, each with its own and with neighbouring units.

    The threads have ended when it returns: nothing holds a view of an operand any more.
    """
    pairs = zip(workspaces, shares(units, len(workspaces)), strict=True)
    parts = [partial(work, workspace, some) for workspace, some in pairs if some]
    if len(parts) < 2:
        for part in parts:
            part()
        return
    here, *others = parts
    with ThreadPoolExecutor(len(others)) as pool:
        ends = [pool.submit(copy_context().run, other) for other in others]
        here()
    for end in ends:
        end.result()


def own(workspace: Array, extents: int) -> list[Array]:
    """The workspace of each thread, of so many extents; one thread's has no axis for them."""
    return [workspace] if workspace.ndim == extents else list(workspace)


def shares(units: int, count: int) -> list[range]:
    """Neighbouring units in ``count`` shares, whose sizes differ by one at most."""
    ends = [units * index // count for index in range(count + 1)]
    return [range(ends[index], ends[index + 1]) for index in range(count)]


def pieces(units: range, each: int) -> Iterator[tuple[int, int, int]]:
    """Units of which every image has ``each``, as (image, first, stop) within the image."""
    for image in range(units.start // each, -(-units.stop // each)):
        yield image, max(units.start - image * each, 0), min(units.stop - image * each, each)
