"""Shapes of launches: how many threads work, and on what.

Every kernel walks on by the size of its grid until nothing is left, so a grid may be smaller than
the work. In the simulator, where a thread takes 0.1 ms, it is.
"""

from __future__ import annotations

from memlab.kernels.cuda.compile import SIMULATED, Shape

THREADS = 4 if SIMULATED else 256
"""In a block."""
BLOCKS = 2 if SIMULATED else 2**11
"""At most, where a thread goes on to another value: several for every multiprocessor there is."""
WIDE, HIGH = (2, 2) if SIMULATED else (2**31 - 1, 2**16 - 1)
"""Blocks along the first axis of a grid, and along the two others, at most: CUDA's limits."""
DEEP = 2 if SIMULATED else 8
"""Threads of a block along its third axis, at most."""


def values(count: int, batch: int = 1) -> Shape:
    """For each sample of a batch, threads that take its ``count`` values in turns."""
    high = min(batch, HIGH)
    wide = min(-(-count // THREADS), max(1, BLOCKS // high))
    return (wide, high), (THREADS, 1)


def results(count: int, columns: int) -> Shape:
    """For each of ``count`` results, a block of THREADS threads that walks over rows."""
    return (count,), _lanes(columns, THREADS)


def planes(columns: int, rows: int, planes: int, deep: int = 1) -> Shape:
    """For each place of each plane, a thread, or ``deep`` of them; neighbours in one row."""
    z = min(deep, DEEP)
    x, y = _lanes(columns, 1 << (THREADS // z).bit_length() - 1)
    grid = min(-(-columns // x), WIDE), min(-(-rows // y), HIGH), min(planes, HIGH)
    return grid, (x, y, z)


def _lanes(columns: int, threads: int) -> tuple[int, int]:
    """A block of a power of two of threads: in one row, or in several where rows are short."""
    x = min(threads, 1 << (columns - 1).bit_length())
    return x, threads // x
