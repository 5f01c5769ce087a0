"""Bars from one line on the left, each with its name before it and its figure behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memlab.views.draw import text as texts
from memlab.views.draw import theme
from memlab.views.draw.chart import Axis, Chart
from memlab.views.draw.marks import Fact, Mark, Rect, Rule, Text
from memlab.views.draw.scale import Scale
from memlab.views.draw.table import Table
from memlab.views.draw.text import Runs

TALL = 16


class Bar(NamedTuple):
    """A figure, where it comes from, and its label; a name, and smaller below it what it does."""

    value: float
    origin: str
    label: Runs
    fact: Fact
    name: Runs = ""
    below: str = ""


def bars(
    found: Sequence[Bar], scale: Scale, pitch: float, title: str = "", *, axis: Axis | None = None,
    told: Table | Sequence[str] = (), marks: Sequence[Mark] = (), above: float = 0, gap: float = 0,
) -> Chart:  # fmt: skip
    """A chart of bars, ``pitch`` pixels from one to the next; margins are as wide as the texts.

    ``marks`` are further ones, in values of the scale and in numbers of bars downwards.
    """
    first, drawn = scale.first, list[Mark]([Rule(scale.first, look="rule", opacity=0.5)])
    for index, bar in enumerate(found):
        y = index + 0.5
        if bar.value > first:
            look = theme.origin(bar.origin)
            drawn.append(Rect(first, bar.value, y, y, look, thick=TALL, fact=bar.fact))
        lift = -2 if bar.below else 4
        labels = (
            Text(first, y, bar.name, 12, "end", -12, lift, bold=True),
            Text(first, y, bar.below, 11, "end", -12, 13, dim=True),
            Text(max(bar.value, first), y, bar.label, 12, "start", 8, 4, chip=True),
        )
        drawn += [label for label in labels if label.content]
    left = max(max(_wide(bar.name), texts.width(bar.below, 11)) for bar in found)
    head = Axis(title, side="right", grid=False, labels=False) if title else None
    return Chart(
        scale, Scale(len(found), 0), [*marks, *drawn],
        pitch * len(found), axis or Axis(rule=False), head, left=left + 13 if left else 0,
        right=max(_wide(bar.label) for bar in found) + 9, above=above, told=told, gap=gap,
    )  # fmt: skip


def _wide(content: Runs) -> float:
    return texts.measure([(content, True)] if isinstance(content, str) else content)
