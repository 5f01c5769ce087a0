"""Vector lanes in words, from the same values as the picture."""

from __future__ import annotations

from memlab.bench.curves import Curve, Measured
from memlab.views.lanes import words
from memlab.views.lanes.words import say
from memlab.views.network.twin import columns


def write(found: Measured) -> str:
    """The twin of the picture: print it, read it aloud."""
    marked = [f"{lanes} {say('lanes')}: {label}." for lanes, label in words.marks(found)]
    parts = [
        [f"{words.title(found)}.", *words.headline(found)],
        [f"{say('rate')}:", *table(found)],
        marked,
        words.details(found),
        words.notes(found),
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def table(found: Measured) -> list[str]:
    """A line for each number of lanes, a column for each format; a star at each knee."""
    lanes = sorted({point.lanes for curve in found.curves for point in curve.points})
    cells = [[say("lanes"), *(curve.format for curve in found.curves)]]
    cells += [[str(count), *(_cell(curve, count) for curve in found.curves)] for count in lanes]
    return columns(cells)


def _cell(curve: Curve, lanes: int) -> str:
    found = [point for point in curve.points if point.lanes == lanes]
    if not found:
        return "- "
    knee = curve.ends and lanes == curve.knee.lanes
    return words.billions(found[0].rate) + ("*" if knee else " ")
