"""What the keys do in the picture, and what a screen reader hears of it."""

from __future__ import annotations

from dataclasses import replace

from memlab.views.addresses import about
from memlab.views.addresses.packed import Row
from memlab.views.addresses.rows import Rows
from memlab.views.addresses.state import State, moved

KEYS = (
    *("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "KeyM", "Enter", "KeyP"),
    *("BracketLeft", "BracketRight", "Digit1", "Digit2", "Digit3", "Digit4", "Digit5"),
    *("KeyR", "KeyT", "Escape"),
)
"""By ``event.code``; R is answered by the view, for it runs the step."""


def press(rows: Rows, key: str) -> State:
    """The state after a key."""
    state = rows.state
    if key in ("ArrowLeft", "ArrowRight"):
        return choose(state, _by_birth(rows, 1 if key == "ArrowRight" else -1).name)
    if key in ("ArrowUp", "ArrowDown"):
        way = 1 if key == "ArrowUp" else -1
        return _move(rows, way) if state.moving else _neighbour(rows, way)
    if key in ("BracketLeft", "BracketRight"):
        at = rows.at + (1 if key == "BracketRight" else -1)
        return replace(state, cursor=min(max(at, 0), rows.source.operations - 1), slid=None)
    if key.startswith("Digit"):
        index = int(key[-1]) - 1
        hows = rows.source.hows
        return moved(state, how=hows[index]) if index < len(hows) else state
    changes = {
        "KeyM": lambda: toggled(rows),
        "KeyP": lambda: replace(state, cursor=None, slid=None),
        "KeyT": lambda: replace(state, written=not state.written, slid=None),
        "Enter": lambda: _enter(rows),
        "Escape": lambda: _back(state),
    }
    return changes[key]() if key in changes else state


def choose(state: State, name: str) -> State:
    """The state with a block in focus."""
    return replace(state, chosen=name, slid=None)


def toggled(rows: Rows) -> State:
    """Into Move mode, all blocks on the table and one in focus; or out of it."""
    state = rows.state
    if state.moving:
        return replace(state, moving=False, scored=False, slid=None)
    chosen = state.chosen or (rows.chosen.name if rows.chosen else "")
    return replace(state, moving=True, beside="", packed=None, chosen=chosen, slid=None)


def unit(rows: Rows) -> int:
    """How far a key moves a block: 1 MiB of the toy, a twentieth of a tick else."""
    if rows.source.toy:
        return rows.scale.step // 2
    step = rows.packed.placement.alignment
    return max(rows.scale.step // 20 // step, 1) * step


def says(rows: Rows) -> str:
    """The block in focus in words; nothing when none was chosen."""
    if not rows.state.chosen or rows.chosen is None:
        return ""
    return ". ".join([rows.chosen.name, *about.block(rows, rows.chosen)])


def _by_birth(rows: Rows, way: int) -> Row:
    """The block that is born before or after the one in focus; the small ones are left out."""
    listed = rows.packed.drawn
    if not rows.state.chosen or rows.chosen not in listed:
        return listed[0 if way > 0 else -1]
    index = listed.index(rows.chosen) + way
    return listed[min(max(index, 0), len(listed) - 1)]


def _neighbour(rows: Rows, way: int) -> State:
    """The nearest block above or below that lives at the same time, else at any time."""
    row = rows.chosen
    if row is None or not rows.state.chosen:
        return choose(rows.state, _by_birth(rows, 1).name)
    there = [r for r in rows.packed.drawn if (r.address - row.address) * way > 0]
    there = [r for r in there if r.lives_with(row)] or there
    found = min(there, key=lambda r: (abs(r.address - row.address), r.block.birth), default=row)
    return choose(rows.state, found.name)


def _move(rows: Rows, way: int) -> State:
    """The block in focus one unit up or down, inside what all blocks take without reuse."""
    row = rows.chosen
    if row is None:
        return rows.state
    most = rows.packed.total - row.size
    address = min(max(row.address + way * unit(rows), 0), most)
    hand = rows.packed.placement.moved(row.name, address)
    return replace(moved(rows.state, hand=hand, chosen=row.name), slid=None)


def _enter(rows: Rows) -> State:
    """The score in Move mode; else the largest block at the cursor, and from a block to its
    stage."""
    state, row = rows.state, rows.chosen
    if state.moving:
        return replace(state, scored=True, slid=None)
    if state.chosen and row and row.entry and not state.stage:
        return replace(state, stage=row.entry.stage, slid=None)
    return choose(state, row.name) if row else state


def _back(state: State) -> State:
    if state.moving:
        return replace(state, moving=False, scored=False, slid=None)
    if state.stage:
        return replace(state, stage="", slid=None)
    if state.chosen:
        return choose(state, "")
    return replace(state, cursor=None, slid=None)
