"""Ways to convolve in words, from the same values as the pictures."""

from __future__ import annotations

from memlab.bench.convolution import Comparison
from memlab.studies.figures import columns
from memlab.views.speed import words


def write(found: Comparison, *more: str) -> str:
    """The twin of both pictures: print it, read it aloud. ``more`` are sentences of one."""
    parts = [[f"{words.title(found)}.", *words.headline(found)], table(found), list(more)]
    return "\n\n".join("\n".join(part) for part in (*parts, words.notes(found)) if part)


def table(found: Comparison) -> list[str]:
    """A line for every way, in the order that was asked for."""
    heads = ["algorithm", "workspace", "time", "against"]
    cells = [[words.say(head) for head in heads]]
    for each in found.timings:
        against = f"{words.against(each, found)} x"
        figures = [words.workspace(each), words.duration(each.seconds), against]
        cells.append([words.name(each, found), *figures])
    ways = ["", *map(words.way, found.timings)]
    lines = zip(columns(cells), ways, strict=True)
    return [f"{line}   {way}".rstrip() for line, way in lines]
