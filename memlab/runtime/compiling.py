"""How long Numba compiled, so that it is not taken for running time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def compile_times() -> Iterator[list[float]]:
    """The seconds of every compilation inside the ``with`` block, as they happen."""
    from numba.core.event import install_timer

    seconds: list[float] = []
    with install_timer("numba:compile", seconds.append):
        yield seconds
