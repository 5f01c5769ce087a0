"""Limits of a submission that is graded: seconds, memory, processes, files, disk."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Most that one submission may use.

    ``seconds`` are for one cell, and for the calls of one function. ``memory`` is in bytes, and so
    are ``disk``, the size of the empty folder that a submission may write to, and ``returned``, the
    plain values that it gives back. ``processes`` counts threads too.
    """

    seconds: float = 30
    memory: int = 2048 * MIB
    processes: int = 64
    files: int = 128
    disk: int = 64 * MIB
    returned: int = 32 * MIB
