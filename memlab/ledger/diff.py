"""Difference of the peaks of two ledgers, by role and by block."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from memlab import units
from memlab.errors import InputError, shorten, whole_number
from memlab.ledger.ledger import Ledger, Peak
from memlab.step.op import plain
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role


@dataclass(frozen=True)
class PeakDifference:
    """Two peaks of a memory side by side. ``roles`` and ``blocks`` hold the bytes after minus the
    bytes before, at each peak; blocks with the same name are compared."""

    titles: tuple[str, str]
    batches: tuple[int, int]
    peaks: tuple[Peak, Peak]
    roles: dict[Role, int]
    blocks: dict[str, int]
    memory: str = DEVICE

    @property
    def change(self) -> int:
        """Bytes by which the peak grew; negative where it fell."""
        return self.peaks[1].nbytes - self.peaks[0].nbytes

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as plain values for JSON."""
        sides = zip(self.titles, self.batches, self.peaks, strict=True)
        return {
            "schema": "memlab.diff/1",
            "memory": self.memory,
            "change_bytes": self.change,
            "sides": [
                {
                    "title": title,
                    "batch": batch,
                    "peak_bytes": peak.nbytes,
                    "peak_at": {"index": peak.index, "op": peak.row.name, "phase": peak.row.phase},
                }
                for title, batch, peak in sides
            ],
            "roles": {str(role): change for role, change in self.roles.items()},
            "blocks": self.blocks,
        }

    def text(self, most: int = 10) -> str:
        """Return the change as text: both peaks, the change by role, and the ``most`` blocks that
        changed most."""
        sides = zip(("before:", "after: "), self.titles, self.batches, self.peaks, strict=True)
        lines = [
            f"{sign} {title}, batch {batch}: {_said(peak)}" for sign, title, batch, peak in sides
        ]
        where = "" if self.memory == DEVICE else f" on the {self.memory}"
        if not self.change and not self.blocks:
            return "\n".join([*lines, f"Nothing changed at the peak{where}."])
        share = f"{self.change / self.peaks[0].nbytes:+.1%}" if self.peaks[0].nbytes else "new"
        lines.append(f"The peak{where} changes by {_signed(self.change)} ({share}).")
        for what, changes in (("by role", self.roles), ("by block", self.blocks)):
            moved = [(str(name), change) for name, change in changes.items() if change]
            lines += [what, *(f"  {_signed(change):>18}  {name}" for name, change in moved[:most])]
            rest = sum(change for _, change in moved[most:])
            lines += [f"  {_signed(rest):>18}  {len(moved) - most} others"] if moved[most:] else []
        return "\n".join(lines)

    __str__ = __repr__ = text


def diff(
    before: Ledger, after: Ledger, batch: int, batch_after: int | None = None, memory: str = DEVICE
) -> PeakDifference:
    """Compare two ledgers at their peaks. A block of a later part of the batch is the same one as
    in the first.

    >>> step = memlab.training_step(memlab.zoo.mnist_cnn(), "adam")
    >>> change = memlab.diff(memlab.plan(step), memlab.plan(memlab.in_place(step)), batch=32)
    >>> change.change
    -4231680

    Args:
        before: a ledger.
        after: another one.
        batch: samples of a step of the first, and of the second unless ``batch_after`` is given.
        batch_after: samples of a step of the second.
        memory: the memory whose peaks are compared, ``"device:0"`` or ``"host"``.

    Raises:
        InputError: no ledgers, or a batch or a memory that one of them does not have.
    """
    first = whole_number("batch", batch)
    batches = (first, first if batch_after is None else whole_number("batch", batch_after))
    peaks, roles, blocks = [], Counter[Role](), Counter[str]()
    for sign, ledger, size in ((-1, before, batches[0]), (1, after, batches[1])):
        if not isinstance(ledger, Ledger):
            raise InputError(
                f"two ledgers are compared, got {shorten(ledger)}; try memlab.plan(step)."
            )
        peak = ledger.peak_at(size, memory)
        peaks.append(peak)
        for role, nbytes in ledger.roles(size, peak.index, memory).items():
            roles[role] += sign * nbytes
        for entry in ledger.at(size).alive(peak.index, memory):
            blocks[plain(entry.name)] += sign * entry.size.at(size)
    changed = {name: change for name, change in blocks.items() if change}
    return PeakDifference(
        (before.describe(), after.describe()),
        batches,
        (peaks[0], peaks[1]),
        dict(sorted(roles.items(), key=lambda item: -abs(item[1]))),
        dict(sorted(changed.items(), key=lambda item: -abs(item[1]))),
        memory,
    )


def _said(peak: Peak) -> str:
    return f"{units.both(peak.nbytes)} at {peak.row.name}" if peak.nbytes else "nothing"


def _signed(nbytes: int) -> str:
    return f"{'+' if nbytes > 0 else ''}{units.short(nbytes)}"
