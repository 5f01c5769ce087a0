"""Questions to a ledger: why is the peak so high, what does a layer hold, what batch fits?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memlab import units
from memlab.errors import InputError, unknown

if TYPE_CHECKING:
    from memlab.planner.ledger import Entry, Ledger, Peak


@dataclass(frozen=True, slots=True)
class Block:
    """A block and its bytes at a batch, the operation that made it, the last that needs it."""

    entry: Entry
    nbytes: int
    made_by: str
    needed_by: str


@dataclass(frozen=True)
class Blocks:
    """Some blocks of a ledger at one batch; printed, each with its formula and its lifetime."""

    heading: str
    batch: int
    blocks: tuple[Block, ...]

    @property
    def nbytes(self) -> int:
        """All of them together."""
        return sum(block.nbytes for block in self.blocks)

    def text(self, most: int = 10) -> str:
        """The first ``most`` of them; the others as a sum."""
        lines = [self.heading]
        for block in self.blocks[:most]:
            entry = block.entry
            lines += [
                f"{units.short(block.nbytes):>9}  {entry.name}: {_product(entry, self.batch)}",
                f"{'':11}lives from {block.made_by} to {block.needed_by}",
            ]
        others = self.blocks[most:]
        rest = units.short(sum(block.nbytes for block in others))
        return "\n".join(lines + ([f"{rest:>9}  {len(others)} others"] if others else []))

    __str__ = __repr__ = text


@dataclass(frozen=True, repr=False)
class Why(Blocks):
    """What is alive at the peak, largest first."""

    peak: Peak


@dataclass(frozen=True)
class Fit:
    """The largest batch that fits into ``budget`` bytes.

    ``batch`` is 0 where not even one sample fits, and ``None`` where the peak does not grow with
    the batch. ``peak`` is where the budget runs out, ``binds`` the block that grows most there.
    """

    batch: int | None
    budget: int
    peak: Peak
    binds: Entry | None
    floor: int
    per_sample: int

    @property
    def fits(self) -> bool:
        """At least one sample fits."""
        return self.batch != 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "batch": self.batch,
            "budget_bytes": self.budget,
            "binds_at": {"index": self.peak.index, "op": self.peak.row.name},
            "fixed_bytes": self.floor,
            "bytes_per_sample": self.per_sample,
            "tensor": self.binds.name if self.binds else None,
            "formula": self.binds.formula() if self.binds else None,
        }

    def __str__(self) -> str:
        budget, where = units.short(self.budget), self.peak.row.name
        if self.batch is None:
            return f"Every batch fits into {budget}: the peak does not grow with the batch."
        sizes = f"{units.short(self.floor)} + batch x {units.short(self.per_sample)} at {where}"
        if self.batch == 0:
            return f"Not even batch 1 fits into {budget}: it takes {sizes}."
        binds = f" {self.binds.name} ({self.binds.formula()}) is largest." if self.binds else ""
        return f"The largest batch that fits into {budget} is {self.batch}: {sizes}.{binds}"

    __repr__ = __str__


def why(ledger: Ledger, batch: int, memory: str) -> Why:
    """See ``Ledger.why``."""
    peak = ledger.peak_at(batch, memory)
    blocks = _blocks(ledger, ledger.alive(peak.index, memory), batch)
    heading = (
        f"{ledger.describe()}, batch {batch}: {units.both(peak.nbytes)} at operation "
        f"{peak.index + 1} of {len(ledger.rows)}, {peak.row.name}."
    )
    return Why(heading, batch, tuple(sorted(blocks, key=lambda block: -block.nbytes)), peak)


def of(ledger: Ledger, layer: str, batch: int) -> Blocks:
    """See ``Ledger.of``."""
    layers = dict.fromkeys(row.layer for row in ledger.rows)
    if layer not in layers:
        raise unknown("layer", layer, layers)
    blocks = _blocks(ledger, [e for e in ledger.entries if e.layer == layer], batch)
    return Blocks(f"{layer} in {ledger.describe()}, batch {batch}:", batch, tuple(blocks))


def _product(entry: Entry, batch: int) -> str:
    """The formula in symbols, in numbers, and the result; a single value needs no product."""
    return f"{entry.formula()} = {entry.formula(batch)}" if entry.axes else entry.formula()


def _blocks(ledger: Ledger, entries: list[Entry], batch: int) -> list[Block]:
    return [
        Block(entry, entry.size.at(batch), ledger.made_by(entry), ledger.needed_by(entry))
        for entry in entries
    ]


def fit(ledger: Ledger, nbytes: int, memory: str) -> Fit:
    """See ``Ledger.fit``: the minimum over the operations of ``floor((M - a) / b)``.

    Raises:
        InputError: a negative budget.
    """
    from memlab.planner.ledger import Peak

    if nbytes < 0:
        raise InputError(f"a budget cannot be negative, got {nbytes}; try 12GB.")
    fixed, each = (line.tolist() for line in ledger.line(memory))
    room = [
        (max((nbytes - a) // b, 0), index) if b else (0, index) if a > nbytes else (None, index)
        for index, (a, b) in enumerate(zip(fixed, each, strict=True))
    ]
    bound = [(batch, index) for batch, index in room if batch is not None]
    batch, index = min(bound) if bound else (None, ledger.peak_at(1, memory).index)
    growing = [entry for entry in ledger.alive(index, memory) if entry.size.per_sample]
    binds = max(growing, key=lambda entry: entry.size.per_sample, default=None)
    peak = Peak(index, ledger.rows[index], fixed[index] + (batch or 0) * each[index])
    return Fit(batch, nbytes, peak, binds, fixed[index], each[index])
