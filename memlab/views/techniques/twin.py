"""Techniques side by side in words, from the rows of the picture."""

from __future__ import annotations

from memlab.views.network.twin import columns
from memlab.views.speed.words import duration
from memlab.views.techniques import words
from memlab.views.techniques.optimum import Trade
from memlab.views.techniques.rows import Row, Rows
from memlab.views.techniques.words import say


def write(found: Rows) -> str:
    """The twin of the picture: print it, read it aloud."""
    head = [f"{words.title(found)}.", words.headline(found)]
    parts = [head, table(found), _distances(found), _calls(found), words.notes(found)]
    return "\n\n".join("\n".join(part) for part in parts)


def table(found: Rows) -> list[str]:
    """A line for every technique, its figures in exact bytes."""
    keys = ["technique", "bytes", "plain", "no_reuse", "again", "flops", "seconds", "extra"]
    keys += ["measured", "residual", "run", "slower"] if found.measured else []
    cells = [[say(f"table.{key}") for key in keys]]
    cells += [_line(row, found) for row in found.rows]
    lines = columns(cells)
    if not found.measured:
        return lines
    ends = ["", *(words.results(row.measured) if row.measured else "" for row in found.rows)]
    return [f"{line}   {end}".rstrip() for line, end in zip(lines, ends, strict=True)]


def _line(row: Row, found: Rows) -> list[str]:
    cells = [
        words.name(row, found),
        f"{row.peak:,}",
        words.ratio(found.ratio(row)),
        words.ratio(found.ratio(row, "no_reuse")),
        f"{row.again:,}",
        f"{row.flops:,}",
        words.seconds(row.cost),
        words.percent(found.extra(row)),
    ]
    seen = row.measured
    if seen is not None:
        cells += [f"{seen.nbytes:,}", f"{seen.residual:,}", duration(seen.seconds)]
        cells.append(words.percent(found.slower(row) or 0.0))
    return cells


def _distances(found: Rows) -> list[str]:
    """How far each row is from what is proved, and what is proved, in exact bytes."""
    floor = found.floor
    lines = [f"{words.name(row, found)}: {_distance(row, found)}." for row in found.rows]
    lines.append(say("twin.floor", bytes=f"{floor.nbytes:,}", operation=floor.operation))
    if len(found.trades) > 1:
        first, last = (_trade(trade) for trade in (found.trades[0], found.trades[-1]))
        lines.append(say("twin.trades", first=first, last=last))
    return lines


def _distance(row: Row, found: Rows) -> str:
    placement = row.placement
    if placement is not None:
        values = {
            "arena": placement.arena,
            "there": row.peak - placement.arena,
            "bound": placement.lower_bound,
            "waste": placement.waste,
        }
        exact = {key: f"{nbytes:,}" for key, nbytes in values.items()}
        return say("twin.placed", distance=words.distance(row, found), **exact)
    if row.optimum is not None:
        best = _trade(row.optimum)
        return say("twin.within", distance=words.distance(row, found), best=best)
    return words.distance(row, found)


def _trade(trade: Trade) -> str:
    return say("twin.trade", bytes=f"{trade.nbytes:,}", seconds=words.seconds(trade.cost))


def _calls(found: Rows) -> list[str]:
    """What each technique is, and the call that makes it."""
    lines = [say("twin.calls")]
    for row in found.rows:
        lines.append(f"{words.name(row, found)}: {say(f'about.{row.key}')}")
        lines.append(f"    {row.call}")
    return lines
