"""The picture of a run in words, from its rows."""

from __future__ import annotations

from memlab import strings, units
from memlab.views.network.twin import columns
from memlab.views.run import words
from memlab.views.run.rows import Rows

EACH = 30
"""Up to so many operations each has its line; more are summed up by phase."""


def write(rows: Rows, seconds: bool = False) -> str:
    """The twin: print it, read it aloud. ``seconds`` differ per machine and run."""
    head = [f"{words.title(rows)}.", words.residual(rows), *filter(None, [words.verdict(rows)])]
    if seconds:
        head.append(strings.get("run.seconds", seconds=f"{rows.seconds:.3f}"))
    table = _each(rows) if len(rows.operations) <= EACH else _phases(rows)
    lines = words.differences(rows)
    differing = [[strings.get("run.differing"), *(f"  {line}" for line in lines)]] if lines else []
    return "\n\n".join("\n".join(part) for part in (head, _bars(rows), *differing, table))


def _bars(rows: Rows) -> list[str]:
    cells = [[words.origin(bar.origin), units.exact(bar.nbytes)] for bar in rows.bars]
    places = [words.where(bar) for bar in rows.bars]
    lines = zip(columns(cells), places, strict=True)
    return [f"{line}   {place}".rstrip() for line, place in lines]


def _heads(first: str, rows: Rows) -> list[str]:
    origins = [words.origin(bar.origin) for bar in rows.bars[-2:]]
    return [strings.get(f"run.table.{first}"), *origins, strings.get("run.table.residual")]


def _each(rows: Rows) -> list[str]:
    """A line for every operation."""
    cells = [_heads("operation", rows)]
    for op in rows.operations:
        name = f"{op.index + 1:>{len(str(len(rows.operations)))}} {op.row.name}"
        numbers = (f"{op.planned.inside:,}", f"{op.measured.inside:,}")
        cells.append([name, *numbers, words.signed(op.residual).removesuffix(" B")])
    return columns(cells)


def _phases(rows: Rows) -> list[str]:
    """A line for every phase: the most inside one of its operations."""
    cells = [_heads("phase", rows)]
    for band in rows.bands:
        most = [
            max(op.planned.inside for op in band.operations),
            max(op.measured.inside for op in band.operations),
        ]
        residual = max((op.residual for op in band.operations), key=abs)
        phase = strings.get(f"phase.{band.phase}")
        key = "band" if band.last > band.first else "one"
        first, last = f"{band.first + 1:,}", f"{band.last + 1:,}"
        name = strings.get(f"network.twin.{key}", phase=phase, first=first, last=last)
        numbers = [f"{nbytes:,}" for nbytes in most]
        cells.append([name, *numbers, words.signed(residual).removesuffix(" B")])
    return columns(cells)
