"""Questions to a ledger: why the peak is so high, what a layer holds, which batch fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memlab import units
from memlab.ledger.entries import Entry, Peak


@dataclass(frozen=True, slots=True)
class HeldBlock:
    """Block and its bytes at a batch, the operation that made it, and the last operation that needs
    it."""

    entry: Entry
    nbytes: int
    made_by: str
    needed_by: str


@dataclass(frozen=True)
class HeldBlocks:
    """Blocks of a ledger at one batch. Printing them shows each with its formula and lifetime."""

    heading: str
    batch: int
    blocks: tuple[HeldBlock, ...]

    @property
    def nbytes(self) -> int:
        """Sum of the bytes of all blocks."""
        return sum(block.nbytes for block in self.blocks)

    def text(self, most: int = 10) -> str:
        """Return the first ``most`` blocks as text, and the others as a sum."""
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
class Why(HeldBlocks):
    """Blocks that are alive at the peak, largest first."""

    peak: Peak


@dataclass(frozen=True)
class Fit:
    """Largest batch that fits into ``budget`` bytes.

    ``batch`` is 0 where not even one sample fits, and ``None`` where every batch fits. ``needs``
    are the bytes at that batch. ``peak`` is the peak of the next batch, which does not fit:
    ``fixed`` bytes and ``per_sample`` more for each sample; ``binds`` is the block that grows most
    there. ``valid`` are the batches that the plan holds for. The batch is that of each of ``parts``
    where a step accumulates. ``floor`` are the most bytes that are there at any batch.
    """

    batch: int | None
    budget: int
    needs: int
    peak: Peak | None
    fixed: int = 0
    per_sample: int = 0
    binds: Entry | None = None
    valid: range | None = None
    parts: int = 1
    floor: int = 0

    @property
    def fits(self) -> bool:
        """True if at least one sample fits."""
        return self.batch != 0

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        peak, binds = self.peak, self.binds
        return {
            "batch": self.batch,
            "budget_bytes": self.budget,
            "needs_bytes": self.needs,
            "next_peak_bytes": peak.nbytes if peak else None,
            "binds_at": {"index": peak.index, "op": peak.row.name} if peak else None,
            "fixed_bytes": self.fixed,
            "bytes_per_sample": self.per_sample,
            "tensor": binds.name if binds else None,
            "formula": binds.formula() if binds else None,
        }

    def __str__(self) -> str:
        budget, peak, batch = units.short(self.budget), self.peak, self.batch
        if peak is None or batch is None:
            limit = f"up to {batch}, for which this plan holds, " if batch else ""
            return f"Every batch {limit}fits into {budget}."
        more, least = units.short(peak.nbytes), self.valid.start if self.valid else 1
        if batch == 0:
            text = f"Not even batch {least} fits into {budget}: it takes {more}"
        else:
            needs = units.short(self.needs)
            part_text = f" in each of {self.parts} parts" if self.parts > 1 else ""
            text = (
                f"The largest batch that fits into {budget} is {batch}{part_text}: it takes "
                f"{needs}, and batch {batch + 1} takes {more}"
            )
        slope = f"{units.short(self.fixed)} + batch x {units.short(self.per_sample)}"
        binds = f" Largest there: {self.binds.name}, {self.binds.formula()}." if self.binds else ""
        return f"{text} = {slope} at {peak.row.name}.{binds}{self._below_the_floor}"

    __repr__ = __str__

    @property
    def _below_the_floor(self) -> str:
        if self.fits or self.floor <= self.budget:
            return ""
        floor = units.short(self.floor)
        return f" This memory is below the floor, {floor} at any batch, so it holds 0 images."


def _product(entry: Entry, batch: int) -> str:
    """Return the formula in symbols, in numbers, and the result. A block with a single value needs
    no product."""
    return f"{entry.formula()} = {entry.formula(batch)}" if entry.axes else entry.formula()
