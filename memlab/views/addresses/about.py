"""One block in words: what it is, its bytes, its life, its addresses, and who else uses them."""

from __future__ import annotations

from memlab import strings, units
from memlab.views.addresses.packed import Packed, Row
from memlab.views.addresses.rows import Rows
from memlab.views.addresses.scale import amount
from memlab.views.addresses.words import NAMED, say

LONGEST = 64
"""Names of blocks in a line of the panel; longer ones are counted."""


def block(rows: Rows, row: Row) -> list[str]:
    """The panel: what it is, its bytes, its life, its addresses, and who else uses them."""
    entry = row.entry
    lines = [kind(row)]
    if row.name in rows.source.cheap:
        lines[0] = say("cheap", kind=lines[0])
    if entry:
        lines.append(entry.formula(rows.state.batch))
    else:
        lines[0] = f"{lines[0]} · {amount(row.size)} = {units.exact(row.size)}"
    lines += [life(rows, row), place(row)]
    if row.tenants:
        names = [
            say("tenant", name=t.name, first=f"{t.first + 1:,}", last=f"{t.last + 1:,}")
            for t in row.tenants
        ]
        lines.append(say("tenants", names=", ".join(names)))
    return [*lines, sharing(rows.packed, row)]


def kind(row: Row) -> str:
    """``'feature map, kept for backward'``."""
    if row.entry is None:
        return say(f"toy_kind.{row.kind}")
    role = strings.get(f"role.{row.entry.role.value}.one")
    return say(f"kind.{row.kind}", role=role) if row.kind in ("kept", "short") else role


def life(rows: Rows, row: Row) -> str:
    """When it is born and freed."""
    values = {"birth": f"{row.block.birth + 1:,}", "death": f"{row.block.death + 1:,}"}
    stays = row.block.death >= rows.source.operations
    return say("life_stays" if stays else "life", **values)


def place(row: Row) -> str:
    """From which address to which."""
    return say("address", first=f"{row.address:,}", end=f"{row.top:,}")


def sharing(packed: Packed, row: Row) -> str:
    """Which blocks use the same addresses at another time."""
    others = packed.sharing(row)
    if not others:
        return say("sharing.none")
    if len(others) > NAMED:
        return say("sharing.count", count=f"{len(others):,}")
    names = [_other(other, row) for other in others]
    text = say("sharing.with", names=f" {say('sharing.and')} ".join(names))
    return text if len(text) <= LONGEST else say("sharing.count", count=len(others))


def _other(other: Row, row: Row) -> str:
    earlier = other.block.death < row.block.birth
    if earlier:
        return say("sharing.earlier", name=other.name, index=f"{other.block.death + 1:,}")
    return say("sharing.later", name=other.name, index=f"{other.block.birth + 1:,}")
