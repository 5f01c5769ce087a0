"""A step as a card holds it: its plan, and the bytes that CUDA, cuDNN and the allocator add."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from memlab.ledger.entries import Peak
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.placement.caching_allocator import LARGE_SEGMENT, CardEstimate, estimates
from memlab.placement.cuda_cards import USUAL, CudaCard
from memlab.placement.cudnn import has_workspace, with_largest_workspace
from memlab.step.step import Step


@dataclass(frozen=True, eq=False)
class StepOnCard:
    """A step on a card, or on a processor where ``card`` is None. With ``expandable`` segments the
    allocator maps pages where they are needed, and gives those that are free back."""

    step: Step
    card: CudaCard | None = USUAL
    expandable: bool = False

    @cached_property
    def ledger(self) -> Ledger:
        """Ledger of the step."""
        return plan(self.step)

    @cached_property
    def _largest(self) -> Ledger | None:
        """Ledger of the step with the most workspace that cuDNN may take; None where it computes
        nothing."""
        return plan(with_largest_workspace(self.step)) if has_workspace(self.step) else None

    def estimates(self, batch: int) -> tuple[CardEstimate, ...]:
        """Return the bytes that CUDA and the allocator add to the plan: simulated, computed, or
        recorded on another machine; none on a processor."""
        if self.card is None:
            return ()
        rows = self._of(self.ledger, batch, self.card)
        if self._largest is None:
            return rows
        most = sum(row.nbytes for row in self._of(self._largest, batch, self.card))
        least = sum(row.nbytes for row in rows)
        more = most + self._largest.peak(batch) - least - self.ledger.peak(batch)
        return (*rows, CardEstimate("cudnn", 0, "unknown", "cuDNN sets no limit", max(more, 0)))

    def _of(self, ledger: Ledger, batch: int, card: CudaCard) -> tuple[CardEstimate, ...]:
        """Return the bytes beside a plan, without fragments where segments are expandable."""
        rows = estimates(ledger, batch, card)
        if not self.expandable:
            return rows
        return tuple(
            row._replace(nbytes=0, more=min(row.nbytes, LARGE_SEGMENT))
            if row.name == "fragments" else row
            for row in rows
        )  # fmt: skip

    def shown(self, batch: int, context: int | None = None) -> range:
        """Return the bytes that the card shows: ``start`` at least, ``stop`` at most. ``context``
        are those of CUDA's context where they are known."""
        rows = [row for row in self.estimates(batch) if context is None or row.name != "context"]
        least = self.ledger.peak(batch) + (context or 0) + sum(row.nbytes for row in rows)
        return range(least, least + sum(row.more for row in rows))

    def beside(self, batch: int) -> int:
        """Return the most bytes that CUDA and the allocator add to the plan."""
        return sum(row.nbytes + row.more for row in self.estimates(batch))

    def peak_at(self, batch: int) -> Peak:
        """Return the operation of the peak, with the most bytes that the card shows."""
        peak = self.ledger.peak_at(batch)
        return Peak(peak.index, peak.row, peak.nbytes + self.beside(batch))

    def fit(self, nbytes: int) -> int | None:
        """Return the largest batch that surely fits: 0 where not one sample does, None where all
        do. Workspace that is measured is an upper bound here.

        Fragments do not grow evenly with the batch: a smaller one may not fit.
        """
        ledger = self.ledger.at()
        answer = ledger.fit(max(nbytes, 1))
        if answer.batch is None:
            return None
        least = answer.valid.start if answer.valid else 1
        fits, over = least - 1, answer.batch + 1
        while over - fits > 1:
            batch = (fits + over) // 2
            if ledger.peak(batch) + self.beside(batch) <= nbytes:
                fits = batch
            else:
                over = batch
        return fits if fits >= least else 0
