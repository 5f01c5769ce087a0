"""Limits of a submission that is graded: seconds, memory, processes, files, disk."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Most that one submission may use.

    ``seconds`` are for one cell, and for the calls of one function; ``whole`` for all of them.
    ``memory`` is in bytes, and so are ``disk``, the size of the empty folder that a submission may
    write to, and ``returned``, what it gives back at a time. ``processes`` counts threads too.
    After ``restarts`` new starts without what looped, the rest is not marked.
    """

    seconds: float = 30
    memory: int = 2048 * MIB
    processes: int = 64
    files: int = 128
    disk: int = 64 * MIB
    returned: int = 4 * MIB
    restarts: int = 3

    @property
    def whole(self) -> float:
        """Seconds for everything that runs for one notebook."""
        return 6 * self.seconds
