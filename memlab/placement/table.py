"""A placement in words: one sentence, and a table of its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from memlab import units

if TYPE_CHECKING:
    from memlab.placement.placement import Placement

COLUMNS = ("name", "bytes", "born", "freed after", "address", "shares its address with")


def sentence(placement: Placement) -> str:
    """``'Arena 13 MiB, lower bound 8 MiB (operation 5 of 8), waste 5 MiB.'``"""
    figures = (placement.arena, placement.lower_bound, placement.waste)
    arena, bound, waste = map(_unit(figures), figures)
    operations = max(placement.load.deaths, default=-1) + 1
    at = f" (operation {placement.busiest + 1} of {operations})" if operations else ""
    return f"Arena {arena}, lower bound {bound}{at}, waste {waste}."


def text(placement: Placement, most: int = 20) -> str:
    """The sentence, a row for each of the first ``most`` blocks, and how many others there are."""
    sharing: dict[int, list[str]] = {}
    for one, other in placement.sharing(together=False):
        sharing.setdefault(one, []).append(placement.blocks[other].name)
    rows: list[tuple[str, ...]] = [COLUMNS]
    for number, block in enumerate(placement.blocks[:most]):
        address, partners = placement.addresses[number], _some(sharing.get(number, []))
        figures = (block.nbytes, block.birth + 1, block.death + 1, address)
        rows.append((block.name, *(f"{figure:,}" for figure in figures), partners))
    left = len(placement.blocks) - most
    return "\n".join([sentence(placement), *_table(rows), *([f"{left} others"] * (left > 0))])


def _unit(figures: Iterable[int]) -> Callable[[int], str]:
    """Whole MiB where all of them are, else three digits."""
    if any(nbytes % units.BINARY["MiB"] for nbytes in figures):
        return units.short
    return lambda nbytes: units.in_unit(nbytes, "MiB", 0)


def _some(names: Sequence[str], most: int = 3) -> str:
    left = len(names) - most
    return ", ".join([*names[:most], *([f"{left} others"] * (left > 0))]) or "-"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Figures to the right, words to the left."""
    name, *figures, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = []
    for first, *middle, last in rows:
        cells = [cell.rjust(width) for cell, width in zip(middle, figures, strict=True)]
        lines.append("  ".join([first.ljust(name), *cells, last]))
    return lines
