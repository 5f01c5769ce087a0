"""How long Numba compiled, so that it is not taken for running time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any


class CompileClock:
    """Counts the ``seconds`` that Numba compiles inside a ``with`` block."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._timer: AbstractContextManager[Any] | None = None

    def __enter__(self) -> CompileClock:
        from numba.core.event import install_timer

        self._timer = install_timer("numba:compile", self._add)
        self._timer.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._timer is not None
        self._timer.__exit__(kind, error, trace)

    def _add(self, seconds: float) -> None:
        self.seconds += seconds
