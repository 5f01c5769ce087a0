"""What the keys and the pointer do in the picture: they pin a pixel or a place of the output."""

from __future__ import annotations

from dataclasses import replace
from math import dist

from memlab.views.copies.state import PIXELS, PLACES, State
from memlab.views.copies.windows import SIZE
from memlab.views.widget import typed

KEYS = (
    *("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"),
    *("Enter", "Escape", "KeyR"),
)
"""Move, first, last; pixel or place, unpin; write it for real."""
MOVES = {"ArrowLeft": (0, -1), "ArrowRight": (0, 1), "ArrowUp": (-1, 0), "ArrowDown": (1, 0)}


def press(state: State, key: str) -> State:
    """The state after a key (``event.code``)."""
    if key == "Escape":
        return pin(state, "")
    if not state.pin:
        return pin(state, _start(PLACES if key == "Enter" else PIXELS, state))
    kind, _, digits = state.pin.partition(":")
    if key == "Enter":
        return pin(state, _other(kind, int(digits), state))
    size, number = _size(kind, state), int(digits)
    if key in MOVES:
        row, column = (
            min(max(at + by, 0), size - 1)
            for at, by in zip(divmod(number, size), MOVES[key], strict=True)
        )
        number = row * size + column
    elif key in ("Home", "End"):
        number = 0 if key == "Home" else size**2 - 1
    return pin(state, f"{kind}:{number}")


def point(state: State, name: str, value: int) -> State:
    """The state after a click: ``pixels-3`` is a row of the input, ``places-2`` a row of places in
    the copies of one kernel row, ``column`` a column of the matrix."""
    kind, _, number = name.partition("-")
    row = typed("row", number or 0, usual=0, least=0)
    places = state.lowered.places
    if kind == "pixels":
        return pin(state, f"{PIXELS}:{row * SIZE + value}")
    if kind == "column":
        return pin(state, f"{PLACES}:{min(value, places**2 - 1)}")
    column = value % (SIZE + 1)  # a cell is free between two copies
    return pin(state, f"{PLACES}:{row * places + column}") if column < places else state


def pin(state: State, what: str) -> State:
    """The state with something pinned, or with nothing."""
    return replace(state, pin=what, moving=False)


def _size(kind: str, state: State) -> int:
    return SIZE if kind == PIXELS else state.lowered.places


def _other(kind: str, number: int, state: State) -> str:
    """The pixel in the centre of a place's window, or the place whose centre is nearest."""
    middle = state.lowered.copies[state.k**2 // 2]  # the copy that holds no zero
    centres = [pixel for pixel in middle if pixel is not None]
    if kind == PLACES:
        return f"{PIXELS}:{centres[number]}"
    here = divmod(number, SIZE)
    nearest = min(range(len(centres)), key=lambda at: dist(divmod(centres[at], SIZE), here))
    return f"{PLACES}:{nearest}"


def _start(kind: str, state: State) -> str:
    """In the middle, where the letter is."""
    size = _size(kind, state)
    return f"{kind}:{size // 2 * size + size // 2}"
