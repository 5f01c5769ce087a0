"""Parts of a ledger: operations, blocks of memory, events, peaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, overload

from memlab import formats
from memlab.axes import Dims
from memlab.step.lifetimes import BEFORE as BEFORE
from memlab.step.op import Phase
from memlab.step.paused_gc import paused
from memlab.step.storage import DEVICE, Size
from memlab.step.tensor import Role, formula

UNNAMED = "unnamed"
"""The name of every block that a run took and no plan has."""

Made = TypeVar("Made")


class LazyTuple(Sequence[Made]):
    """Tuple whose members are created only when they are accessed. The peak of a plan with 100,000
    blocks is needed more often than each block."""

    def __init__(self, given: Sequence[Any], make: Callable[[Any], Made]) -> None:
        self.given, self._make = given, make

    @cached_property
    def _all(self) -> tuple[Made, ...]:
        with paused():
            return tuple(map(self._make, self.given))

    def __len__(self) -> int:
        return len(self.given)

    def __iter__(self) -> Iterator[Made]:
        return iter(self._all)

    @overload
    def __getitem__(self, at: int) -> Made: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Made, ...]: ...
    def __getitem__(self, at: int | slice) -> Made | tuple[Made, ...]:
        if isinstance(at, slice) or "_all" in vars(self):
            return self._all[at]
        return self._make(self.given[at])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | LazyTuple) and self._all == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return repr(self._all)


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Operation as a ledger stores it."""

    name: str
    kind: str
    phase: Phase
    layer: str = ""
    stage: str = ""


class Tenant(NamedTuple):
    """Tensor that fills a block from one operation to another, both included."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Entry:
    """Block of memory that is alive in the operations ``birth`` to ``death``, both included.

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
        """Return the formula of the bytes: ``'B·C·H·W·4 B'``. With a batch, numbers and the result
        are shown."""
        format = formats.find(self.format)
        if not self.axes and self.size != Size(format.nbytes(1)):
            return _line(self.size, batch)
        text = formula(self.axes, format, batch)
        return text if batch is None else f"{text} = {self.size.at(batch):,} B"


def _line(size: Size, batch: int | None) -> str:
    """Return the formula of bytes that have no named axes: ``'16 B + B·4 B'``."""
    fixed = f"{size.fixed:,} B" if size.fixed or not size.per_sample else ""
    per_sample_text = (
        f"{'B' if batch is None else batch}·{size.per_sample:,} B" if size.per_sample else ""
    )
    text = " + ".join(filter(None, (fixed, per_sample_text)))
    return text if batch is None else f"{text} = {size.at(batch):,} B"


class Event(NamedTuple):
    """Allocation or release of a block: ``live`` and ``reserved`` are the bytes after it.

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
    """Operation inside which most bytes are alive: its number, its row, its bytes."""

    index: int
    row: LedgerRow
    nbytes: int
