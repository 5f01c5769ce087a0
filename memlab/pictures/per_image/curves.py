"""Curves of an amount per image against the batch, as shares of the amount at batch 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log2
from typing import NamedTuple

from memlab import strings
from memlab.pictures.draw.alternatives import NamedLine, Names, drawn, with_names_below
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Mark, Points, Rule
from memlab.pictures.draw.scale import LogScale, Scale, powers_around
from memlab.pictures.draw.table import Table

INSET = 0.06
"""Share of the axis of batches that is free before the first and after the last."""
BATCHES, SHARES = 3, 4
"""Every third batch and every fourth power of a share has a label on its axis."""
RING, HEAD, GAP = 15, 26, 8
"""Pixels: the ring around a point of the chosen batch, the room for the name of the chart, and that
above it."""


class BatchShares(NamedTuple):
    """Amount per image at each batch, divided by the amount at batch 1, with its ``name`` in some
    lines and the words of each point."""

    name: Sequence[str]
    shares: Mapping[int, float]
    words: Mapping[int, str]


def curves_of(
    lines: Sequence[BatchShares], batch: int, head: str, height: float, right: float, told: Table,
    least: float = 1, first: int = 0,
) -> Chart:  # fmt: skip
    """Return a chart of curves with a ring at the chosen batch.

    Args:
        lines: the curves, all at the same batches.
        batch: the chosen batch.
        head: name of the chart, above it.
        height: pixels of the frame.
        right: pixels beside the frame for the names of the curves; 0 for none.
        told: the curves in words.
        least: share that the scale reaches down to, at least.
        first: number of the alternative whose look the first curve has.
    """
    batches = sorted(lines[0].shares)
    edge = (batches[-1] / batches[0]) ** INSET
    x = LogScale(batches[0] / edge, batches[-1] * edge, marked=tuple(batches[::BATCHES]))
    named = [_named(line) for line in lines]
    here: list[Mark] = [Rule(batch, look="rule", opacity=0.5)] if batch in batches else []
    here += [Points([(batch, line.shares[batch])], "ring", RING) for line in lines if here]
    y = _shares(lines, least)
    title = ChartText(x.first, y.last, head, 13, dy=-12, bold=True)
    names = [Names(named, 14, 34)] if right else []
    chart = Chart(x, y, [title, *here, *drawn(named, first), *names], height,
                 Axis(strings.get("per_image.batch"), grid=False), Axis(), left=44,
                 right=right or 12, above=HEAD, told=told, gap=GAP)  # fmt: skip
    return with_names_below(chart) if names else chart


def share_text(share: float) -> str:
    """Return a power of 2 as the label of an axis: ``'÷4'`` for a quarter."""
    return f"{share:g}" if share >= 1 else f"÷{1 / share:g}"


def _shares(lines: Sequence[BatchShares], least: float) -> Scale:
    """Return the scale of shares, from a power of 2 to another."""
    shares = [share for line in lines for share in line.shares.values()]
    scale = powers_around([least, 1, *shares])
    marked = tuple(share for share in scale.values if log2(share) % SHARES == 0)
    return replace(scale, label=share_text, marked=marked)


def _named(line: BatchShares) -> NamedLine:
    points = sorted(line.shares.items())
    facts = [Fact(line.words[batch]) for batch, _ in points]
    first, *more = line.name
    return NamedLine([[(first, True)], *more], points, facts, points[-1])
