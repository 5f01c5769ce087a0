"""How a map was packed, told in sentences."""

from __future__ import annotations

from memlab import strings
from memlab.planner.placement import BY_HAND
from memlab.views.addresses import scale
from memlab.views.addresses import story as stories
from memlab.views.addresses.packed import Packed
from memlab.views.addresses.rows import Rows
from memlab.views.addresses.scale import amount
from memlab.views.addresses.story import Turn
from memlab.views.addresses.words import NAMED, saved, say


def ordinal(number: int) -> str:
    """``'1st'``, ``'22nd'``, ``'13th'``."""
    last = "th" if number % 100 in (11, 12, 13) else str(number % 10)
    key = f"ordinal.{last}"
    return say(key if strings.has(f"addresses.{key}") else "ordinal.th", number=f"{number:,}")


def story(rows: Rows, index: int = 0) -> list[str]:
    """The order with the addresses, of a few blocks; then the turn that decides."""
    packed = rows.maps[index]
    if packed.placement.how == BY_HAND:
        return by_hand(rows)
    lines = []
    if packed.source.toy:
        lines.append(order(packed, rows.turn))
    told = rows.told if not index else stories.highest(packed)
    lines.append(turn(told) if told else say("nothing_yet"))
    return [*lines, saved(packed)] if len(rows.maps) > 1 else lines


def by_hand(rows: Rows) -> list[str]:
    """Which blocks were moved, from where to where; many are counted."""
    packed, state = rows.packed, rows.state
    before = packed.source.placement(state.batch, state.how)
    moved = [row for row in packed.rows if before.address(row.name) != row.address]
    if len(moved) > NAMED:
        return [say("by_hand.some", count=f"{len(moved):,}")]
    if not moved:
        return [say("by_hand.none")]
    return [
        say("by_hand.one", name=row.name, before=amount(before.address(row.name)),
            address=amount(row.address))
        for row in moved
    ]  # fmt: skip


def order(packed: Packed, count: int) -> str:
    """``'A at 0, B at 1, C at 3'``, in MiB."""
    unit = scale.unit_of(packed.total)
    shown = packed.turns[:count]
    names = [say("at", name=r.name, address=scale.plain(r.address, unit)) for r in shown]
    return ", ".join(names)


def turn(told: Turn) -> str:
    """``'5th: E needs 2 MiB. Free while it lives: 3 and 3 MiB. So it goes on top.'``"""
    row = told.row
    start = say("turn", ordinal=ordinal(row.turn), name=row.name, amount=amount(row.size))
    sizes = sorted((high - low for low, high in told.holes), reverse=True)
    shown = [amount(size) for size in sizes[:3]]
    listed = f" {say('sharing.and')} ".join(shown) if len(sizes) <= 3 else say(
        "largest_hole", amount=shown[0], count=f"{len(sizes):,}")  # fmt: skip
    return f"{start} {say(f'fate.{told.fate}', holes=listed, address=amount(row.address))}"
