"""Threads on which libraries of this process compute; a web page has neither such libraries nor the
package that finds them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

try:
    from threadpoolctl import ThreadpoolController
except ModuleNotFoundError:
    ThreadpoolController = None


def infos() -> list[dict[str, Any]]:
    """Return a description of each library that computes on threads, as threadpoolctl has it."""
    found: list[dict[str, Any]] = ThreadpoolController().info() if ThreadpoolController else []
    return found


def limited(threads: int) -> AbstractContextManager[object]:
    """Return a context in which all libraries that are loaded now use at most so many threads."""
    if ThreadpoolController is None:
        return nullcontext()
    limit: AbstractContextManager[object] = ThreadpoolController().limit(limits=threads)
    return limit


def limited_blas(threads: int) -> AbstractContextManager[object]:
    """Return a context in which BLAS, as it was loaded at the first call, uses at most so many
    threads."""
    if ThreadpoolController is None:
        return nullcontext()
    limit: AbstractContextManager[object] = _blas().limit(limits=threads, user_api="blas")
    return limit


@cache
def _blas() -> Any:
    """Control of the BLAS libraries that the kernels use; ``registry.load`` must have loaded them
    before. To find them takes milliseconds."""
    return ThreadpoolController()
