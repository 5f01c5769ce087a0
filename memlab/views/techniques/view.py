"""All techniques on one step: a picture that stands still, and its text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from memlab import units
from memlab.networks.graph import Network
from memlab.step.step import Step
from memlab.views.comparison.view import Comparison, comparison
from memlab.views.still import Still
from memlab.views.techniques import picture, twin, words
from memlab.views.techniques.rows import Row, Rows
from memlab.views.techniques.rows import rows as made


@dataclass(frozen=True, repr=False)
class Techniques(Still):
    """Techniques side by side; a notebook shows the picture, ``print`` the text, ``rows`` has the
    exact figures."""

    rows: Rows

    def svg(self) -> str:
        title = f"{words.title(self.rows)}. {words.headline(self.rows)}"
        return picture.draw(self.rows).render(title)

    def text(self) -> str:
        return twin.write(self.rows)

    def stacks(self) -> Comparison:
        """The same steps by role, each at its own peak; what is placed is left out."""
        steps = {words.name(row, self.rows): row.step for row in self._unplaced}
        return comparison(steps, self.rows.batch)

    @property
    def held(self) -> bool:
        """Whether every run used what was planned, with the results of the plain step."""
        runs = [row.measured for row in self.rows.rows if row.measured]
        return not any(run.residual or run.other for run in runs)

    @property
    def _unplaced(self) -> list[Row]:
        return [row for row in self.rows.rows if row.placement is None]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = self.rows
        return {
            "batch": found.batch,
            "budget_bytes": found.budget,
            "lower_bound_bytes": found.floor.nbytes,
            "stages": found.stages,
            "trades": [{"bytes": t.nbytes, "planned_seconds": t.cost / 1e9} for t in found.trades],
            "left_out": list(found.left_out),
            "techniques": [_facts(row, found) for row in found.rows],
        }


def _facts(row: Row, found: Rows) -> dict[str, Any]:
    """The figures of a row for JSON."""
    placement = row.placement
    return {
        "technique": row.key,
        "name": words.name(row, found),
        "call": row.call,
        "peak_bytes": row.peak,
        "ratio_to_plain": found.ratio(row),
        "ratio_to_no_reuse": found.ratio(row, "no_reuse"),
        "arena_bytes": placement and placement.arena,
        "arena_lower_bound_bytes": placement and placement.lower_bound,
        "optimum_bytes": row.optimum and row.optimum.nbytes,
        "operations": row.operations,
        "runs_again": row.again,
        "runs_again_flops": row.flops,
        "planned_seconds": row.cost / 1e9,
        "measured": row.measured and asdict(row.measured),
    }


def techniques(
    network: str | Network | Step,
    batch: int = 8,
    budget: int | str | None = None,
    measure: bool = False,
    *,
    progress: bool = True,
) -> Techniques:
    """What each technique saves on one training step and what it costs, beside what is proved: no
    reuse, plain, in place, placed, ways to recompute, and all of them together.

    >>> techniques("resnet50", batch=8)

    Args:
        network: a name of ``memlab.zoo``, a network of yours, or a step without techniques.
        batch: the mini-batch size.
        budget: the most bytes of the peak, or ``'2GB'``, for the fastest schedule of a chain below
            it; without it, halfway from the least peak of the chain to the plain one.
        measure: also run each on this machine, for bytes and seconds, and to compare its results
            with those of the plain step bit for bit.
        progress: show how far a run is, where it takes more than a second.

    Raises:
        InputError: no network or step, one that has techniques in it, a batch that it does not
            hold for, or a budget below the least peak; with ``measure``, more bytes than are free
            (``DoesNotFitError``) or an operation without a kernel, before anything runs.
    """
    limit = None if budget is None else units.parse(budget)
    return Techniques(made(network, batch, limit, measure, progress))
