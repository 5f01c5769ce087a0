"""What the keys do in the picture, and what a screen reader hears of it."""

from __future__ import annotations

from dataclasses import replace

from memlab import units
from memlab.views.network import words
from memlab.views.network.rows import Rows
from memlab.views.network.state import State
from memlab.views.network.tally import tally

KEYS = (
    *("ArrowLeft", "ArrowRight", "Home", "End", "KeyP"),
    *("ArrowDown", "ArrowUp", "Enter", "Escape"),
)
"""Along the operations; through the lines, into one and back."""


def press(rows: Rows, key: str) -> State:
    """The state after a key (``event.code``), or after a click on a line (``block:2``)."""
    state, last = rows.state, rows.source.operations - 1
    moves = {
        "ArrowLeft": max(rows.at - 1, 0),
        "ArrowRight": min(rows.at + 1, last),
        "Home": 0,
        "End": last,
        "KeyP": None,
    }
    if key in moves:
        return replace(state, cursor=moves[key])
    if key in ("ArrowDown", "ArrowUp"):
        return _choose(rows, _next(rows, 1 if key == "ArrowDown" else -1))
    if key == "Enter":
        return _enter(rows)
    if key == "Escape":
        return _back(state)
    if key in _lines(rows):
        return _choose(rows, key) if key != state.chosen else _enter(rows)
    return state


def says(rows: Rows) -> str:
    """What the line in focus, or the cursor, says; nothing when neither has moved."""
    kind, _, number = rows.state.chosen.partition(":")
    if kind == "block" and int(number) < len(rows.blocks):
        block = rows.blocks[int(number)]
        return f"{words.life(block)}. {block.formula}"
    if kind == "slice" and int(number) < len(rows.slices):
        row = rows.slices[int(number)]
        return f"{row.part.name}: {units.short(row.nbytes)}"
    if rows.state.cursor is not None:
        return f"{words.cursor(rows)}: {units.short(rows.here)}"
    return ""


def _choose(rows: Rows, line: str) -> State:
    """The state with the keyboard on a line; a rule is outlined as soon as it is chosen."""
    kind, _, name = line.partition(":")
    if kind == "rule":
        return replace(rows.state, rule=name, before=None)
    return replace(rows.state, chosen=line)


def _lines(rows: Rows) -> list[str]:
    if rows.state.rule:
        return [f"rule:{row.rule.name}" for row in tally(rows).rules]
    parts = [f"slice:{i}" for i in range(len(rows.slices))]
    return [*parts, *(f"block:{i}" for i in range(len(rows.blocks)))]


def _next(rows: Rows, way: int) -> str:
    lines = _lines(rows)
    now = f"rule:{rows.state.rule}" if rows.state.rule else rows.state.chosen
    if now not in lines:
        return lines[0 if way > 0 else -1]
    index = lines.index(now) + way
    return lines[min(max(index, 0), len(lines) - 1)]


def _enter(rows: Rows) -> State:
    kind, _, number = rows.state.chosen.partition(":")
    if kind == "slice" and not rows.state.unfolded:
        row = rows.slices[int(number)]
        if row.stage:
            return replace(rows.state, unfolded=row.part.name, chosen="slice:0")
    return rows.state


def _back(state: State) -> State:
    if state.unfolded:
        return replace(state, unfolded="", chosen="")
    if state.chosen:
        return replace(state, chosen="")
    return replace(state, cursor=None)
