"""The cut through the mountain at the cursor: a bar on the scale of the plot, and its table."""

from __future__ import annotations

from memlab import units
from memlab.views import amounts
from memlab.views.network import words
from memlab.views.network.plot import Plot
from memlab.views.network.rows import RoleRow
from memlab.views.svg import Box, box_path

PITCH = 19


def bar(plot: Plot) -> dict[RoleRow, float]:
    """The stack at the cursor; returns the height at which each slice has its middle."""
    svg, frame, rows = plot.svg, plot.frame, plot.rows
    assert plot.layout.bar is not None
    left, right = plot.layout.bar
    base, middles = 0, {}
    for row in rows.roles:
        low, high = (max(frame.y(n), plot.top) for n in (base, base + row.nbytes))
        base += row.nbytes
        middles[row] = (low + high) / 2
        if low - high > 0.15:
            svg.fill(box_path(Box(left, high, right, low)), row.look.paint, edge=0.5)
    top = max(frame.y(base), plot.top)
    svg.rect(Box(left, top, right, plot.bottom), class_="rule", stroke_width=1.4)
    floor = max(frame.y(sum(row.nbytes for row in rows.floor)), plot.top)
    svg.line(left - 4, floor, right + 4, floor, class_="limit")
    svg.text((left + right) / 2, plot.bottom + 16, f"{rows.at + 1:,}", 11, "middle")
    return middles


def draw(plot: Plot) -> dict[RoleRow, float]:
    """The table; returns the baseline of each slice."""
    svg, rows, (left, top, wide) = plot.svg, plot.rows, plot.layout.table
    _head(plot)
    y, baselines = float(top), dict[RoleRow, float]()
    for row in reversed(rows.mountain):
        y += PITCH
        baselines[row] = y
        _row(plot, row, y)
    y += PITCH
    _total(plot, words.get("table.mountain"), rows.mountain, y)
    svg.line(left, y + 8.5, left + wide, y + 8.5, class_="limit")
    y += PITCH + 4
    _total(plot, words.get("table.floor"), rows.floor, y)
    for row in reversed(rows.floor):
        y += PITCH
        baselines[row] = y
        _row(plot, row, y)
    svg.line(left, y + 7, left + wide, y + 7, class_="rule faint")
    _total(plot, words.get("table.alive"), rows.roles, y + PITCH + 2)
    return baselines


def leaders(plot: Plot, middles: dict[RoleRow, float], baselines: dict[RoleRow, float]) -> None:
    """Thin lines from the slices of the bar to their lines of the table."""
    assert plot.layout.bar is not None
    right = plot.layout.bar[1]
    for row in (row for row in middles if row.nbytes):
        end = baselines[row] - 4
        d = f"M{right + 1} {middles[row]:.1f}L{right + 10} {end:.1f}H{right + 13}"
        plot.svg.path(d, class_="rule faint", stroke_width=0.8)


def _columns(plot: Plot) -> tuple[int, int, int]:
    """Where bytes, shares and bytes per sample end."""
    left, _, wide = plot.layout.table
    return left + wide - 100, left + wide - 62, left + wide


def _head(plot: Plot) -> None:
    left, top, _ = plot.layout.table
    rows = plot.rows
    plot.svg.text(left, top, words.get("table.alive_at", index=f"{rows.at + 1:,}"), 12, bold=True)
    each = words.get("table.each", sample=words.sample(rows.state))
    heads = (words.get("table.bytes"), words.get("table.share"), each)
    for x, head in zip(_columns(plot), heads, strict=True):
        plot.svg.text(x, top, head, 11, "end", dim=True)


def _row(plot: Plot, row: RoleRow, y: float) -> None:
    svg, left = plot.svg, plot.layout.table[0]
    empty = row.nbytes == 0
    svg.swatch(left, y, row.look.paint, faint=empty)
    svg.text(left + 20, y, row.look.label, 12, dim=empty)
    share = amounts.percent(row.nbytes, plot.rows.here)
    amount = units.short(row.nbytes) if row.nbytes else "0"
    for x, cell in zip(_columns(plot), (amount, share, units.short(row.each)), strict=True):
        svg.text(x, y, cell, 12, "end", dim=empty or cell == "0 B")


def _total(plot: Plot, name: str, parts: tuple[RoleRow, ...], y: float) -> None:
    nbytes, each = sum(row.nbytes for row in parts), sum(row.each for row in parts)
    plot.svg.text(plot.layout.table[0] + 20, y, name, 12, bold=True)
    cells = (units.short(nbytes), amounts.percent(nbytes, plot.rows.here), units.short(each))
    for x, cell in zip(_columns(plot), cells, strict=True):
        plot.svg.text(x, y, cell, 12, "end", bold=True, dim=cell == "0 B")
