"""One step of a network and its totals: what a text says, what its rule counts, what a plan has.

A rule of vDNN's kind adds up all feature maps and the largest pair of gradient maps (C2). A plan
has both, but at other operations: that is why its peak is lower.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memlab import strings, units
from memlab.build.step import training_step
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.networks import counting
from memlab.networks.graph import Network
from memlab.pictures.values.study import Study
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role

PARTS = {
    "parameters": Role.PARAMETER,
    "parameter gradients": Role.PARAMETER_GRADIENT,
    "feature maps": Role.FEATURE_MAP,
    "gradient maps": Role.GRADIENT_MAP,
}
"""What the rule calls them; it counts the input among the feature maps."""


@dataclass(frozen=True)
class Total:
    """A total in bytes and its parts; a text's total may have none. ``at`` names an operation."""

    name: str
    nbytes: int
    parts: dict[Role, int]
    at: str = ""


@dataclass(frozen=True, eq=False)
class Totals(Study):
    """The totals of one training step at a batch. ``said`` is a text's, as it is printed there, and
    may be empty."""

    network: Network
    batch: int
    said: str
    optimizer: str

    @cached_property
    def _plan(self) -> Ledger:
        return plan(training_step(self.network, self.optimizer))

    def _planned(self, name: str, at: int) -> Total:
        """What is alive in an operation; the input counts as a feature map, as in the rule."""
        roles = self._plan.roles(self.batch, at)
        roles[Role.FEATURE_MAP] += roles.pop(Role.INPUT)
        found = {role: nbytes for role, nbytes in roles.items() if nbytes}
        return Total(name, sum(found.values()), found, self._plan.rows[at].name)

    @cached_property
    def counted(self) -> Total:
        """What vDNN's rule counts."""
        named = counting.find("vdnn").total_bytes(self.network, self.batch)
        return Total("counted", sum(named.values()), {PARTS[n]: each for n, each in named.items()})

    @cached_property
    def peak(self) -> Total:
        """The plan where most is alive."""
        return self._planned("peak", self._plan.peak_at(self.batch).index)

    @cached_property
    def widest(self) -> Total:
        """The plan where gradient maps take most; of such operations, where most is alive."""
        inside = self._plan.timeline(self.batch)
        fixed, each = (line.tolist() for line in self._plan.role_lines[DEVICE, Role.GRADIENT_MAP])
        maps = [f + self.batch * e for f, e in zip(fixed, each, strict=True)]
        at = max(range(len(maps)), key=lambda n: (maps[n], inside[n]))
        return self._planned("widest", at)

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """All of them, from the text to the plan."""
        text = (Total("said", units.parse(self.said), {}),) if self.said else ()
        last = () if self.widest.at == self.peak.at else (self.widest,)
        return (*text, self.counted, self.peak, *last)

    @property
    def roles(self) -> list[Role]:
        """Those that some total has, in the order of the rule and then of the plan."""
        used = {role for total in self.totals for role in total.parts}
        order = dict.fromkeys([*PARTS.values(), *Role])
        return [role for role in order if role in used]

    def amount(self, total: Total) -> str:
        """Its bytes, a text's as they are printed there."""
        return units.short(total.nbytes) if total.parts else self.said

    # -- in words ---------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return say("title", network=self.network.label, batch=f"{self.batch:,}")

    @property
    def sentences(self) -> list[str]:
        """The totals; why the plan's is another one; what nobody tells."""
        heads = [
            say(f"head.{total.name}", bytes=self.amount(total))
            for total in self.totals
            if total is not self.widest
        ]
        return [f"{', '.join(heads)}.", *self._apart(), *self._left_out(), *self._untold()]

    def _apart(self) -> list[str]:
        """Why maps and gradient maps do not add up."""
        if self.widest not in self.totals:
            return []
        pair, maps = Role.GRADIENT_MAP, Role.FEATURE_MAP
        gone = self.peak.parts[maps] - self.widest.parts[maps]
        return [
            say(
                "apart", maps=units.short(self.counted.parts[maps]),
                pair=units.short(self.counted.parts[pair]), peak=self.peak.at,
                few=units.short(self.peak.parts.get(pair, 0)), then=self.widest.at,
                most=units.short(self.widest.parts[pair]), gone=units.short(gone),
            )
        ] if gone > 0 else []  # fmt: skip

    def _left_out(self) -> list[str]:
        state = self.peak.parts.get(Role.OPTIMIZER_STATE, 0)
        return [say("state", bytes=units.short(state))] if state else []

    def _untold(self) -> list[str]:
        rest = units.parse(self.said) - self.counted.nbytes if self.said else 0
        return [say("untold", bytes=units.short(rest))] if rest > 0 else []

    def table(self) -> list[list[str]]:
        """A row of heads, then a row for each part with its bytes in each total, then the sums."""
        rows = [
            [part(role), *(self._cell(total, role) for total in self.totals)] for role in self.roles
        ]
        sums = [say("total"), *(self.amount(total) for total in self.totals)]
        return [["", *map(name, self.totals)], *rows, sums]

    def _cell(self, total: Total, role: Role) -> str:
        """The bytes of a part; nothing where a text or a rule has no such part."""
        if role in total.parts:
            return units.short(total.parts[role])
        if total.parts and total is not self.counted:
            return units.exact(0)
        return "?" if total.name == "said" else "-"

    def as_dict(self) -> dict[str, Any]:
        """Each total with its parts, in bytes."""
        return {
            total.name: {"bytes": total.nbytes, "at": total.at, "parts": total.parts}
            for total in self.totals
        }


def say(key: str, **values: object) -> str:
    """A text of this picture."""
    return strings.get(f"totals.{key}", **values)


def name(total: Total) -> str:
    """Who says it."""
    return say(f"name.{total.name}")


def part(role: Role) -> str:
    """A part, as rule and plan call it."""
    return say(f"part.{role.value}")
