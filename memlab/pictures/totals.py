"""The totals of one step as bars with their parts: a text's, its rule's, the plan's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memlab import units
from memlab.errors import whole
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import Label, Text
from memlab.pictures.draw.marks import Fact, Mark, Rect, Rule
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.scale import Scale, bytes_over
from memlab.pictures.draw.table import Table
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.totals_values import Total, Totals, name, part, say
from memlab.pictures.values.recipe import network_of

PITCH, BAR = 40, 24
"""Pixels from bar to bar, and of a bar."""
NAMES, VALUES = 190, 70
"""Room for the names, and for the bytes behind the longest bar."""


@dataclass(frozen=True, repr=False)
class StepTotals(Still, Totals):
    """The bars of a text's total, of its rule and of the plan."""

    def page(self) -> Page:
        totals = self.totals
        heads, *cells = self.table()
        scale = bytes_over(max(total.nbytes for total in totals))
        chart = Chart(scale, Scale(len(totals), 0), list(self._marks()), PITCH * len(totals),
                      Axis(), left=NAMES, right=VALUES, gap=12)  # fmt: skip
        looks = [*(PAINTS[role] for role in self.roles), None]
        parts = Table(heads, cells, "<", bold=[len(looks) - 1], looks=looks,
                      rules=[len(looks) - 2], gap=12)  # fmt: skip
        return report(self, chart, parts)

    def _marks(self) -> Iterator[Mark]:
        yield Rule(x=0, look="pole")
        for row, total in enumerate(self.totals):
            yield Text(0, row + 0.5, name(total), 13, "end", dx=-10, dy=4.5)
            yield from _bar(total, row)
            yield Text(total.nbytes, row + 0.5, self.amount(total), 13, dx=8, dy=4.5, chip=True,
                       bold=True)  # fmt: skip


def _bar(total: Total, row: int) -> Iterator[Mark]:
    """The slices of a total, or a dashed outline where its parts are not told."""
    fact = Fact(name(total), nbytes=total.nbytes, more=total.at or say("not_told"))
    if not total.parts:
        yield Rect(0, total.nbytes, row, row + 1, "before", thick=BAR, fact=fact)
        yield Label(say("not_told"), [(0, row + 0.5, "start", 10, 4)], dim=True)
        return
    start = 0
    for role in total.parts:
        nbytes = total.parts[role]
        fact = Fact(part(role), nbytes=nbytes, more=total.at)
        yield Rect(start, start + nbytes, row, row + 1, PAINTS[role], thick=BAR, fact=fact)
        start += nbytes


def totals(
    network: str = "vgg16", batch: int = 128, said: str = "", optimizer: str = "momentum"
) -> StepTotals:
    """The totals of one training step beside each other: what a text ``said``, as ``"14 GB"``, what
    vDNN's rule counts (C2), the peak of the plan, and the plan where gradient maps are largest.

    Raises:
        InputError: no such network or optimizer, no batch, or no amount of memory.
    """
    units.parse(said or 0)
    return StepTotals(network_of(network), whole("batch", batch), said, optimizer)
