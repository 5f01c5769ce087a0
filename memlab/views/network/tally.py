"""What the counting rules count of a network, beside what is alive of it at the cursor."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from memlab import strings
from memlab.formats import FORMATS
from memlab.networks import counting
from memlab.networks.counting import Convention
from memlab.networks.graph import INPUT, Network
from memlab.planner.ledger import Entry
from memlab.views.network.blocks import Blocks
from memlab.views.network.rows import Rows
from memlab.views.paths import Floats

CHAIN = ("conv-only", "conv-sums", "relu-in-place", "everything")
"""Each of these counts all that the one before it counts."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Outputs that the same rules count: values per sample, and bytes at the cursor."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    rules: frozenset[str]
    values: int
    nbytes: int
    alive: int

    @property
    def label(self) -> str:
        """The kinds of outputs in it."""
        return ", ".join(dict.fromkeys(strings.get(f"kind.{kind}") for kind in self.kinds))


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A counting rule: what it counts per sample and at this batch, and what of it is alive."""

    rule: Convention
    values: int
    nbytes: int
    alive: int
    missed: int
    chosen: bool


@dataclass(frozen=True)
class Tally:
    """All outputs of forward, by the rules that count them."""

    segments: tuple[Segment, ...]
    rules: tuple[RuleRow, ...]
    counted: Floats

    @property
    def values(self) -> int:
        """Values per sample of everything that forward makes."""
        return sum(segment.values for segment in self.segments)

    @property
    def nbytes(self) -> int:
        """The same in bytes at this batch."""
        return sum(segment.nbytes for segment in self.segments)

    @property
    def chosen(self) -> RuleRow:
        """The rule that is outlined."""
        return next(row for row in self.rules if row.chosen)


def tally(rows: Rows) -> Tally:
    """Count the outputs of the network by rule."""
    segments = _segments(rows)
    mountain = sum(row.nbytes for row in rows.mountain)
    found = []
    for name, rule in counting.CONVENTIONS.items():
        inside = [segment for segment in segments if name in segment.rules]
        alive = sum(segment.alive for segment in inside)
        values, nbytes = sum(s.values for s in inside), sum(s.nbytes for s in inside)
        found.append(
            RuleRow(rule, values, nbytes, alive, mountain - alive, name == rows.state.rule)
        )
    order = [*CHAIN, *(name for name in counting.CONVENTIONS if name not in CHAIN)]
    found.sort(key=lambda row: order.index(row.rule.name))
    names = {n for segment in segments if rows.state.rule in segment.rules for n in segment.names}
    entries = [entry for entry in rows.source.ledger.entries if _output(entry) in names]
    line = Blocks(entries, rows.source.operations).line
    return Tally(segments, tuple(found), rows.batch * line.astype(np.float64))


def _segments(rows: Rows) -> tuple[Segment, ...]:
    groups: dict[frozenset[str], list[tuple[str, str, int]]] = {}
    assert rows.source.network is not None
    for name, kind, values, rules in _outputs(rows.source.network):
        groups.setdefault(rules, []).append((name, kind, values))
    alive = {_output(e): e for e in rows.source.ledger.alive(rows.at)}
    width = FORMATS[rows.source.ledger.format].bits // 8
    found = []
    for rules, members in groups.items():
        names = tuple(name for name, _, _ in members)
        values = sum(count for _, _, count in members)
        here = sum(alive[name].size.at(rows.batch) for name in names if name in alive)
        kinds = tuple(dict.fromkeys(kind for _, kind, _ in members))
        nbytes = values * width * rows.batch
        found.append(Segment(names, kinds, rules, values, nbytes, here))
    found.sort(key=lambda s: (-sum(name in s.rules for name in CHAIN), -len(s.rules)))
    return tuple(found)


def _outputs(network: Network) -> list[tuple[str, str, int, frozenset[str]]]:
    """Everything that some rule counts: name, kind, values per sample, the rules."""
    rules = counting.CONVENTIONS
    inputs = frozenset(name for name, rule in rules.items() if rule.counts_input)
    found = [(INPUT, INPUT, prod(network.input_shape), inputs)]
    for node in network.nodes:
        counts = frozenset(name for name, rule in rules.items() if rule.counts(node))
        if counts:
            found.append((node.name, node.kind, prod(node.shape), counts))
    return found


def _output(entry: Entry) -> str:
    """The output that a block holds; the loss stands for its probabilities."""
    if entry.name in ("loss.probabilities", "prediction"):
        return "loss"
    return "" if entry.name == "loss" else entry.name
