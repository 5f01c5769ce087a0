"""The rows that the picture and the text of a warp are both made from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from memlab.lesson.transactions import LINE, SECTOR, WARP, moved, sectors
from memlab.views.warp.state import State
from memlab.views.warp.threads import FP32, Thread

CELLS = LINE // FP32
"""Values of a line."""
MOST = WARP * SECTOR
"""Bytes that move for a warp where no 2 threads share a sector."""
LOAD, STORE = "load", "store"


@dataclass(frozen=True, slots=True)
class Line:
    """128 B of an array: the byte where they begin, and the threads by the cells they access."""

    start: int
    cells: dict[int, tuple[int, ...]]

    @property
    def sectors(self) -> tuple[int, ...]:
        """Which of its 4 sectors move."""
        return tuple(sorted({cell * FP32 // SECTOR for cell in self.cells}))

    @property
    def threads(self) -> tuple[int, ...]:
        """All threads that access it."""
        return tuple(sorted(thread for found in self.cells.values() for thread in found))


@dataclass(frozen=True, slots=True)
class Side:
    """The loads of a warp, or its stores: threads, and the byte that each of them accesses."""

    name: str
    accesses: tuple[tuple[int, int], ...]

    @property
    def addresses(self) -> list[int]:
        """The bytes alone, in the order of the threads."""
        return [address for _, address in self.accesses]

    @property
    def sectors(self) -> int:
        """How many sectors move."""
        return len(sectors(self.addresses))

    @property
    def moved(self) -> int:
        """Bytes that move."""
        return moved(self.addresses)

    @property
    def used(self) -> int:
        """Bytes of them that a thread asked for."""
        return FP32 * len(set(self.addresses))

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that are accessed, in the order of memory."""
        ordered = sorted((address, thread) for thread, address in self.accesses)
        return tuple(
            _line(number * LINE, list(found))
            for number, found in groupby(ordered, key=lambda access: access[0] // LINE)
        )


@dataclass(frozen=True)
class Rows:
    """Everything that is shown, in exact numbers."""

    state: State
    threads: tuple[Thread, ...]
    load: Side
    store: Side

    @property
    def sides(self) -> tuple[Side, Side]:
        """First the loads, then the stores."""
        return self.load, self.store


def rows(state: State) -> Rows:
    """The rows of a state."""
    threads = state.threads
    loads = tuple((t.number, t.load) for t in threads if t.load is not None)
    stores = tuple((t.number, t.store) for t in threads)
    return Rows(state, threads, Side(LOAD, loads), Side(STORE, stores))


def _line(start: int, accesses: list[tuple[int, int]]) -> Line:
    cells: dict[int, tuple[int, ...]] = {}
    for address, thread in accesses:
        cell = (address - start) // FP32
        cells[cell] = (*cells.get(cell, ()), thread)
    return Line(start, cells)
