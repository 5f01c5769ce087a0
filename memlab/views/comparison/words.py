"""The sentences about steps side by side, for the picture and for its text."""

from __future__ import annotations

from collections.abc import Sequence

from memlab import strings, units
from memlab.views.comparison.rows import Row, Rows

NAMED = 3
"""So many operations are named; the others are counted."""


def say(key: str, **values: object) -> str:
    """A text of this view."""
    return strings.get(f"comparison.{key}", **values)


def title(found: Rows) -> str:
    """``'VGG-16, batch 32: bytes alive at the peak of one step, by role'``."""
    return say("title", network=found.network, batch=f"{found.batch:,}")


def headline(found: Rows) -> str:
    """Which step has the lowest peak."""
    least, first = found.lowest, found.first
    peak = units.short(least.peak.nbytes)
    if len(found.rows) == 1:
        return say("alone", peak=peak)
    if least is first:
        return say("lowest_first", first=first.name, peak=peak)
    values = {"name": least.name, "ratio": ratio(least, found), "first": first.name}
    return say("lowest", peak=peak, **values)


def ratio(row: Row, found: Rows) -> str:
    """A peak divided by the first one: ``'0.774'``."""
    return f"{found.ratio(row):,.3f}"


def against(row: Row, found: Rows) -> str:
    """Behind a bar: ``'0.774 × fp32'``."""
    return say("ratio", ratio=ratio(row, found), first=found.first.name)


def origin(row: Row) -> str:
    """Planned alone, or measured here too."""
    if row.measured is None:
        return say("planned")
    nbytes, residual = units.exact(row.measured.nbytes), units.exact(row.measured.residual)
    return say("measured", bytes=nbytes, residual=residual, seconds=seconds(row.measured.seconds))


def seconds(value: float) -> str:
    """With three decimals."""
    return f"{value:,.3f}"


def per_parameter(row: Row) -> str:
    """Bytes of model state for each parameter: ``'16.00'``; empty where nothing is learned."""
    return f"{row.state / row.parameters:,.2f}" if row.parameters else ""


def changes(row: Row) -> list[str]:
    """How the operations differ from those of the first step."""
    both = {"more": row.more, "fewer": row.fewer}
    return [say(key, count=f"{len(of):,}", names=_few(of)) for key, of in both.items() if of]


def facts(row: Row) -> str:
    """What stands under a bar."""
    each = per_parameter(row)
    parts = [origin(row), say("at", operation=row.peak.row.name)]
    parts += [say("state", bytes=each)] if each else []
    parts += [say("operations", count=f"{row.operations:,}"), *changes(row)]
    return " · ".join(parts)


def _few(names: Sequence[str]) -> str:
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return say("others", names=", ".join(names[:NAMED]), count=f"{len(names) - NAMED:,}")
