"""A map with one fault that no message reports: a short-lived block on one that is still needed."""

from __future__ import annotations

from memlab.planner.placement import Placement
from memlab.step.tensor import Role
from memlab.views.addresses.packed import Packed, Row


def broken(packed: Packed) -> Placement:
    """The map with one block moved. The one below it is read once more after that, in backward;
    the loss is there already.

    Raises:
        ValueError: no two blocks are like that.
    """
    pairs = ((passing, kept) for kept in _kept(packed) for passing in _passing(packed, kept))
    passing, kept = next(pairs, (None, None))
    if passing is None or kept is None:
        raise ValueError("no block is kept for backward here.")
    return packed.placement.moved(passing.name, kept.address)


def _kept(packed: Packed) -> list[Row]:
    """What backward reads, the first layer's first: its error reaches the fewest others."""
    return [row for row in packed.rows if row.kind == "kept" and not row.tenants]


def _passing(packed: Packed, kept: Row) -> list[Row]:
    """Gradient maps that come and go in backward while it is kept, and fit on it; the largest
    first, and none that would lie on anything else too."""
    rows = [
        row
        for row in packed.rows
        if row.entry is not None
        and row.entry.role is Role.GRADIENT_MAP
        and row.size <= kept.size
        and kept.lives_with(row)
        and row.block.death < kept.block.death
    ]
    return sorted(rows, key=lambda row: -row.size)
