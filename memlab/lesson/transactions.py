"""What memory moves when the threads of a GPU access it: sectors, not single values.

The 32 threads of a warp load or store together. As many transactions happen as there are sectors
of 32 B with one of their values in it, each once (CUDA C++ Best Practices Guide, "Coalesced Access
to Global Memory", compute capability 6.0 and later). 4 sectors make a line of 128 B.
"""

from __future__ import annotations

from collections.abc import Iterable

WARP = 32
"""Threads that access memory together."""
SECTOR, LINE = 32, 128
"""Bytes."""


def sectors(addresses: Iterable[int]) -> set[int]:
    """The sectors that values lie in: one each, for values of 4 or 8 B do not cross a border.

    ``addresses`` are bytes from the beginning of an array. CUDA lets it begin at a line.

    >>> len(sectors(range(0, 128, 4)))
    4
    """
    return {address // SECTOR for address in addresses}


def moved(addresses: Iterable[int]) -> int:
    """Bytes that move.

    >>> moved([0, 4, 40])
    64
    """
    return SECTOR * len(sectors(addresses))
