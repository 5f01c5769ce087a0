"""What a ledger is made of: operations, blocks of memory, events, peaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from memlab import formats
from memlab.axes import Dims
from memlab.step.op import Phase
from memlab.step.storage import DEVICE, Size
from memlab.step.tensor import Role, formula

BEFORE = -1
"""The birth of what is alive before the step."""
UNNAMED = "unnamed"
"""The name of every block that a run took and no plan has."""


@dataclass(frozen=True, slots=True)
class Row:
    """One operation, as a ledger knows it."""

    name: str
    kind: str
    phase: Phase
    layer: str = ""
    stage: str = ""


class Tenant(NamedTuple):
    """A tensor that fills a block from one operation to another, both counted."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One block of memory, alive inside the operations ``birth`` to ``death``, both counted.

    ``birth`` is -1 for what was there before the step, ``death`` the number of operations for what
    stays after it. The name, axes and format are those of the tensor that fills the block, of the
    first one where several do so one after another; then ``tenants`` are all of them.
    """

    name: str
    role: Role
    size: Size
    birth: int
    death: int
    axes: Dims = ()
    format: str = "uint8"
    layer: str = ""
    stage: str = ""
    memory: str = DEVICE
    tenants: tuple[Tenant, ...] = ()

    def formula(self, batch: int | None = None) -> str:
        """``'B·C·H·W·4 B'``; at a batch with numbers and the result."""
        text = formula(self.axes, formats.find(self.format), batch)
        return text if batch is None else f"{text} = {self.size.at(batch):,} B"


class Event(NamedTuple):
    """What happens to the memory: ``live`` and ``reserved`` are the bytes after it.

    ``reserved`` is the most that was live so far: what an allocator that never gives back holds.
    """

    op: int
    action: str
    entry: Entry
    nbytes: int
    live: int
    reserved: int


@dataclass(frozen=True, slots=True)
class Peak:
    """Where the most is alive: the number of the operation, its row, the bytes inside it."""

    index: int
    row: Row
    nbytes: int
