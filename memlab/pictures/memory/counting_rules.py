"""Bytes of a network by published counting rules, beside the bytes that are alive in a step.

A rule counts outputs of forward, each once, also those that a step has freed or never kept: so no
rule is a plan. Each output is counted by some set of rules, and outputs of the same set are one
segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from memlab import strings, units
from memlab.formats import FORMATS
from memlab.ledger.ledger import Entry
from memlab.networks import counting
from memlab.networks.counting import Convention
from memlab.networks.graph import INPUT, Network
from memlab.pictures.memory.snapshot import Snapshot, text_of
from memlab.pictures.memory.step_memory import BlockColumns
from memlab.pictures.mountain.layers import Curve
from memlab.pictures.values import number_text as figures
from memlab.pictures.values.study import Study

CHAIN = ("conv-only", "conv-sums", "relu-in-place", "everything")
"""Counting rules: each of these counts all that the one before it counts."""
RULES = (*CHAIN, *(name for name in counting.CONVENTIONS if name not in CHAIN))
"""All of them."""


@dataclass(frozen=True, slots=True)
class CountedOutputs:
    """Outputs that are counted by the same rules: values per sample, bytes, and the bytes of them
    that are alive."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    rules: frozenset[str]
    values: int
    nbytes: int
    alive: int

    @property
    def label(self) -> str:
        """Kinds of outputs in it, as text."""
        return ", ".join(dict.fromkeys(map(_label, self.kinds)))


def _label(kind: str) -> str:
    """Return what outputs of a kind are called; the kind itself where no text names it."""
    key = f"kind.{kind}"
    return strings.get(key) if strings.has(key) else kind.replace("_", " ")


@dataclass(frozen=True, slots=True)
class RuleRow:
    """Row of a counting rule: what it counts per sample and at this batch, what of that is alive,
    and what of the activations' memory it misses."""

    rule: Convention
    values: int
    nbytes: int
    alive: int
    missed: int


@dataclass(frozen=True, eq=False)
class OutputTotals(Study):
    """All outputs of a network's forward pass at the cursor. ``name`` is the selected counting
    rule."""

    cut: Snapshot
    network: Network
    name: str

    @cached_property
    def segments(self) -> tuple[CountedOutputs, ...]:
        """Outputs grouped by the rules that count them. Those that every rule counts come first."""
        groups: dict[frozenset[str], list[tuple[str, str, int]]] = {}
        for name, kind, values, rules in _outputs(self.network):
            groups.setdefault(rules, []).append((name, kind, values))
        segments = [self._segment(rules, members) for rules, members in groups.items()]
        segments.sort(key=lambda segment: (-len(segment.rules & {*CHAIN}), -len(segment.rules)))
        return tuple(segments)

    def _segment(
        self, rules: frozenset[str], members: list[tuple[str, str, int]]
    ) -> CountedOutputs:
        names, kinds, counts = zip(*members, strict=True)
        alive = (self._alive[name] for name in names if name in self._alive)
        width = FORMATS[self.cut.memory.ledger.format].bits // 8
        nbytes = sum(counts) * width * self.cut.batch
        here = sum(entry.size.at(self.cut.batch) for entry in alive)
        return CountedOutputs(names, tuple(dict.fromkeys(kinds)), rules, sum(counts), nbytes, here)

    @cached_property
    def _alive(self) -> dict[str, Entry]:
        return {_output(entry): entry for entry in self.cut.memory.ledger.alive(self.cut.at)}

    @property
    def nbytes(self) -> int:
        """Bytes of everything that forward makes, at this batch."""
        return sum(segment.nbytes for segment in self.segments)

    @cached_property
    def rules(self) -> tuple[RuleRow, ...]:
        """Rows of all counting rules. The rules of which each counts more than the one before come
        first."""
        mountain = sum(row.nbytes for row in self.cut.mountain)
        rules = []
        for name in RULES:
            inside = [segment for segment in self.segments if name in segment.rules]
            values, nbytes, alive = (
                sum(getattr(segment, quantity) for segment in inside)
                for quantity in ("values", "nbytes", "alive")
            )
            missed = mountain - alive
            rules.append(RuleRow(counting.CONVENTIONS[name], values, nbytes, alive, missed))
        return tuple(rules)

    @property
    def chosen(self) -> RuleRow:
        """Row of the selected counting rule."""
        return next(row for row in self.rules if row.rule.name == self.name)

    @cached_property
    def curve(self) -> Curve:
        """Bytes that the selected rule counts, inside every operation."""
        inside = (segment.names for segment in self.segments if self.name in segment.rules)
        names = {name for group in inside for name in group}
        memory = self.cut.memory
        entries = [entry for entry in memory.ledger.entries if _output(entry) in names]
        return self.cut.batch * BlockColumns(entries, memory.operations).line.astype(np.float64)

    # -- in words ---------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Name of the quantity that is counted."""
        return text_of("counted.title")

    def headline(self, few: bool = False) -> list[tuple[str, bool]]:
        """Headline of a counting rule: bytes that the rule counts, alive here and freed; they add
        up as they are written."""
        row = self.chosen
        parts = [row.alive, row.nbytes - row.alive]
        total, (alive, freed) = (figures.three_digits_of_sum if few else figures.sum_of)(
            row.nbytes, parts
        )
        return [(text_of("counted.headline", counted=total), True),
                (text_of("counted.parts", alive=alive, freed=freed), False)]  # fmt: skip

    @property
    def heads(self) -> list[str]:
        """Headings of the numbers of a counting rule."""
        batch = f"{self.cut.batch:,}"
        return text_of("counted.heads", sample=self.cut.memory.sample, batch=batch).split("|")

    @property
    def sentences(self) -> list[str]:
        """Sentences on what the chosen rule misses."""
        values = units.short(self.nbytes), units.short(self.chosen.missed)
        return [text_of("counted.missed", all=values[0], missed=values[1])]


def _outputs(network: Network) -> list[tuple[str, str, int, frozenset[str]]]:
    """Return everything that some rule counts: name, kind, values per sample, and the rules."""
    rules = counting.CONVENTIONS
    inputs = frozenset(name for name, rule in rules.items() if rule.counts_input)
    outputs = [(INPUT, INPUT, prod(network.input_shape), inputs)]
    for node in network.nodes:
        counts = frozenset(name for name, rule in rules.items() if rule.counts(node))
        if counts:
            outputs.append((node.name, node.kind, prod(node.shape), counts))
    return outputs


def _output(entry: Entry) -> str:
    """Return the output that a block holds. The loss stands for its probabilities."""
    if entry.name in ("loss.probabilities", "prediction"):
        return "loss"
    return "" if entry.name == "loss" else entry.name
