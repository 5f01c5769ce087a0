"""How each block came to its address: the free places that it met, and which one it took."""

from __future__ import annotations

from dataclasses import dataclass

from memlab.views.addresses.packed import Packed, Row

Hole = tuple[int, int]
"""From which address to which."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One block is placed. ``holes`` are free during its life below the blocks placed before it;
    ``fate`` says what it took: ``first``, ``hole``, ``top``, ``stack``, ``own`` or ``apart``."""

    row: Row
    holes: tuple[Hole, ...]
    fate: str

    @property
    def refused(self) -> tuple[Hole, ...]:
        """The holes that are too small, where it had to go on top of them."""
        return self.holes if self.fate == "top" else ()


def turn(packed: Packed, number: int) -> Turn:
    """The block that was placed as number so many, from 1."""
    row = packed.turns[number - 1]
    before = [other for other in packed.turns[: number - 1] if other.lives_with(row)]
    holes, top = _free(before)
    return Turn(row, holes, _fate(packed, row, holes, top))


def highest(packed: Packed) -> Turn:
    """The block that reaches highest, of those that are drawn: the first to do so."""
    row = min(packed.drawn, key=lambda row: (-row.top, row.turn))
    return turn(packed, row.turn)


def _free(before: list[Row]) -> tuple[tuple[Hole, ...], int]:
    holes, top = [], 0
    for other in sorted(before, key=lambda other: other.address):
        if other.address > top:
            holes.append((top, other.address))
        top = max(top, other.top)
    return tuple(holes), top


def _fate(packed: Packed, row: Row, holes: tuple[Hole, ...], top: int) -> str:
    if packed.placement.how == "no reuse":
        return "own"
    if any(low <= row.address and row.top <= high for low, high in holes):
        return "hole"
    if row.address != top:
        return "apart"
    if not top:
        return "first"
    if not holes:
        return "stack"
    return "top" if all(high - low < row.size for low, high in holes) else "apart"
