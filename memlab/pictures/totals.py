"""The totals of one training step as bars with their parts: a printed total, that of vDNN's
counting rule, and that of the plan.

The rule adds up all feature maps and the largest pair of gradient maps (claim C2). A plan has both,
but at different operations: that is why its peak is lower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from memlab import strings, units
from memlab.assemble.step import training_step
from memlab.errors import whole_number
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.networks import counting
from memlab.networks.graph import Network
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import Fact, Mark, Rect, Rule
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.scale import Scale, bytes_over
from memlab.pictures.draw.table import Table
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.values.step_recipe import network_of
from memlab.pictures.values.study import Study
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role

PARTS = {
    "parameters": Role.PARAMETER,
    "parameter gradients": Role.PARAMETER_GRADIENT,
    "feature maps": Role.FEATURE_MAP,
    "gradient maps": Role.GRADIENT_MAP,
}
"""Roles by their names in the rule, which counts the input among the feature maps."""
PITCH, BAR = 40, 24
"""Pixels from one bar to the next, and height of a bar."""
NAMES, VALUES = 190, 70
"""Pixels for the names, and for the bytes behind the longest bar."""


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture from the language files."""
    return strings.get(f"totals.{key}", **values)


@dataclass(frozen=True)
class Total:
    """A total in bytes, with its parts by role; a printed total may have no parts. ``at`` is the
    name of the operation for a total of the plan."""

    name: str
    nbytes: int
    parts: dict[Role, int]
    at: str = ""

    @property
    def title(self) -> str:
        """Display name of the total's source."""
        return text_of(f"name.{self.name}")


def part_name(role: Role) -> str:
    """Return the name of a role as this picture shows it."""
    return text_of(f"part.{role.value}")


@dataclass(frozen=True, repr=False, eq=False)
class StepTotals(Still, Study):
    """The totals of one training step at a batch. ``said`` is a printed total, as text such as
    ``"14 GB"``; it may be empty."""

    network: Network
    batch: int
    said: str
    optimizer: str

    # -- figures

    @cached_property
    def _plan(self) -> Ledger:
        """Ledger of the training step."""
        return plan(training_step(self.network, self.optimizer))

    def _planned(self, name: str, at: int) -> Total:
        """Return the bytes alive in an operation; the input counts as a feature map, as in the
        rule."""
        roles = self._plan.roles(self.batch, at)
        roles[Role.FEATURE_MAP] += roles.pop(Role.INPUT)
        parts = {role: nbytes for role, nbytes in roles.items() if nbytes}
        return Total(name, sum(parts.values()), parts, self._plan.rows[at].name)

    @cached_property
    def counted(self) -> Total:
        """Total by vDNN's rule."""
        named = counting.find("vdnn").total_bytes(self.network, self.batch)
        parts = {PARTS[name]: nbytes for name, nbytes in named.items()}
        return Total("counted", sum(parts.values()), parts)

    @cached_property
    def peak(self) -> Total:
        """Total of the plan at its peak."""
        return self._planned("peak", self._plan.peak_at(self.batch).index)

    @cached_property
    def widest(self) -> Total:
        """Total of the plan at the operation with the most bytes of gradient maps; of several, at
        the one with the most bytes alive."""
        inside = self._plan.timeline(self.batch)
        lines = self._plan.role_lines[DEVICE, Role.GRADIENT_MAP]
        fixed, per_sample = (line.tolist() for line in lines)
        maps = [f + self.batch * s for f, s in zip(fixed, per_sample, strict=True)]
        return self._planned("widest", max(range(len(maps)), key=lambda n: (maps[n], inside[n])))

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """All totals: the printed one, the rule's, the plan's peak, and the plan with the most
        gradient maps where that is another operation."""
        text = (Total("said", units.parse(self.said), {}),) if self.said else ()
        last = () if self.widest.at == self.peak.at else (self.widest,)
        return (*text, self.counted, self.peak, *last)

    def amount(self, total: Total) -> str:
        """Return the bytes of a total as text; a printed total as it is printed."""
        return units.short(total.nbytes) if total.parts else self.said

    # -- in words

    @property
    def title(self) -> str:
        return text_of("title", network=self.network.label, batch=f"{self.batch:,}")

    @property
    def sentences(self) -> list[str]:
        """Sentences on the totals, on the reason why the plan's is lower, and on bytes that the
        printed total leaves open."""
        heads = [
            text_of(f"head.{total.name}", bytes=self.amount(total))
            for total in self.totals
            if total is not self.widest
        ]
        sentences = [f"{', '.join(heads)}.", *self._peak_sentence()]
        if state := self.peak.parts.get(Role.OPTIMIZER_STATE, 0):
            sentences.append(text_of("state", bytes=units.short(state)))
        rest = units.parse(self.said or 0) - self.counted.nbytes
        return [*sentences, text_of("untold", bytes=units.short(rest))] if rest > 0 else sentences

    def _peak_sentence(self) -> list[str]:
        """Return the sentence on the reason why the maps of the rule are not alive at once in the
        plan; empty where it does not hold."""
        pair, maps = Role.GRADIENT_MAP, Role.FEATURE_MAP
        gone = self.peak.parts[maps] - self.widest.parts[maps]
        if self.widest not in self.totals or gone <= 0:
            return []
        amounts = {
            "maps": self.counted.parts[maps], "pair": self.counted.parts[pair],
            "few": self.peak.parts.get(pair, 0), "most": self.widest.parts[pair], "gone": gone,
        }  # fmt: skip
        texts = {key: units.short(nbytes) for key, nbytes in amounts.items()}
        return [text_of("apart", peak=self.peak.at, then=self.widest.at, **texts)]

    # -- the page

    def page(self) -> Page:
        totals = self.totals
        scale = bytes_over(max(total.nbytes for total in totals))
        chart = Chart(scale, Scale(len(totals), 0), list(self._marks()), PITCH * len(totals),
                      Axis(), left=NAMES, right=VALUES, gap=12)  # fmt: skip
        return report(self, chart, self._table())

    def _marks(self) -> Iterator[Mark]:
        """Yield the marks of the chart: name, bar and bytes of each total."""
        yield Rule(x=0, look="pole")
        for row, total in enumerate(self.totals):
            yield ChartText(0, row + 0.5, total.title, 13, "end", dx=-10, dy=4.5)
            yield from _bar(total, row)
            yield ChartText(total.nbytes, row + 0.5, self.amount(total), 13, dx=8, dy=4.5,
                       chip=True,
                       bold=True)  # fmt: skip

    def _table(self) -> Table:
        """Return the table of the bytes of each part in each total, parts in the order of the rule
        and then of the plan; the last row has the sums."""
        used = {role for total in self.totals for role in total.parts}
        roles = [role for role in dict.fromkeys([*PARTS.values(), *Role]) if role in used]
        rows = [
            [part_name(role), *(self._cell(total, role) for total in self.totals)] for role in roles
        ]
        sums = [text_of("total"), *map(self.amount, self.totals)]
        heads, last = ["", *(total.title for total in self.totals)], len(rows)
        return Table(heads, [*rows, sums], "<", bold=[last], rules=[last - 1],
                     looks=[*map(PAINTS.__getitem__, roles), None], gap=12)  # fmt: skip

    def _cell(self, total: Total, role: Role) -> str:
        """Return the bytes of a part as text; ``"?"`` for a printed total and ``"-"`` for the rule
        where they have no such part."""
        if role in total.parts:
            return units.short(total.parts[role])
        if total.parts and total is not self.counted:
            return units.exact(0)
        return "?" if total.name == "said" else "-"


def _bar(total: Total, row: int) -> Iterator[Mark]:
    """Yield marks for the slices of a total, or a dashed outline where it has no parts."""
    if not total.parts:
        fact = Fact(total.title, nbytes=total.nbytes, more=text_of("not_told"))
        yield Rect(0, total.nbytes, row, row + 1, "before", thick=BAR, fact=fact)
        yield Label(text_of("not_told"), [(0, row + 0.5, "start", 10, 4)], dim=True)
    start = 0
    for role, nbytes in total.parts.items():
        fact = Fact(part_name(role), nbytes=nbytes, more=total.at)
        yield Rect(start, start + nbytes, row, row + 1, PAINTS[role], thick=BAR, fact=fact)
        start += nbytes


def totals(
    network: str = "vgg16", batch: int = 128, said: str = "", optimizer: str = "momentum"
) -> StepTotals:
    """Compare the totals of one training step: a printed one, that of vDNN's counting rule (claim
    C2), the peak of the plan, and the plan where gradient maps are largest.

    >>> view = memlab.views.totals("vgg16", batch=128, said="14 GB")
    >>> print(view.sentences[0])
    14 GB in the text, 12.197 GB by its counting, 9.799 GB planned.

    Args:
        network: a name of ``memlab.zoo``.
        batch: number of samples.
        said: the printed total, such as ``"14 GB"``; empty for none.
        optimizer: name of the optimizer.

    Raises:
        InputError: no such network or optimizer, no batch, or no amount of memory.
    """
    units.parse(said or 0)
    return StepTotals(network_of(network), whole_number("batch", batch), said, optimizer)
