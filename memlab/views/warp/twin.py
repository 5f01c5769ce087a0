"""A warp in words, from the rows of the picture."""

from __future__ import annotations

from memlab.views.network.twin import columns
from memlab.views.warp import words
from memlab.views.warp.rows import Line, Rows, Side


def write(rows: Rows) -> str:
    """The twin of the picture: print it, read it aloud."""
    state = rows.state
    head = [f"{words.title(state)}.", f"{words.which(state).capitalize()}.", words.headline(rows)]
    parts = [[*head, *words.ends(rows), *words.notes(rows)], *map(_side, rows.sides)]
    return "\n\n".join("\n".join(part) for part in parts)


def _side(side: Side) -> list[str]:
    heads = [words.say(f"head.{name}") for name in ("line", "sectors", "values", "threads")]
    cells = [heads, *map(_line, side.lines)]
    return [f"{words.lines(side)}.", *(f"  {line}" for line in columns(cells, left=0))]


def _line(line: Line) -> list[str]:
    moved = "".join("#" if sector in line.sectors else "." for sector in range(4))
    return [f"{line.start:,}", moved, f"{len(line.cells)}", words.span(line.threads)]
