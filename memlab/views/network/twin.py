"""The network-memory view in words, from the rows of the picture."""

from __future__ import annotations

from memlab import strings, units
from memlab.views import amounts
from memlab.views.network import counted, largest, slices, words
from memlab.views.network.rows import RoleRow, Rows
from memlab.views.network.tally import tally


def write(rows: Rows) -> str:
    """The twin of the picture: print it, read it aloud, put it on a page without Python."""
    lower = _rules(rows) if rows.state.rule else _slices(rows)
    parts = [_head(rows), _roles(rows), _blocks(rows), lower, _before(rows)]
    return "\n\n".join("\n".join(part) for part in parts)


def spoken(rows: Rows) -> str:
    """The twin in two or three sentences, for a screen reader after a change."""
    verdicts = [words.verdict(found, rows)[0] for found in rows.verdicts]
    return " ".join([f"{words.peak(rows)}.", words.news(rows), *verdicts])


def _get(key: str, **values: object) -> str:
    return words.get(f"twin.{key}", **values)


def _head(rows: Rows) -> list[str]:
    peak, sample = rows.peak, words.sample(rows.state)
    lines = [
        f"{words.title(rows.state)}.",
        _get(
            "peak",
            peak=words.peak(rows),
            binary=amounts.binary(peak.nbytes),
            bytes=units.exact(peak.nbytes),
            index=f"{peak.index + 1:,}",
            count=f"{rows.source.operations:,}",
            name=peak.row.name,
        ).replace(" ()", ""),
        _get(
            "floor",
            floor=units.exact(rows.peak_floor),
            mountain=units.exact(rows.peak_mountain),
            each=units.exact(rows.peak_each),
            sample=sample,
        ),
    ]
    if rows.before:
        lines.append(words.news(rows))
    lines += [words.verdict(found, rows)[0] for found in rows.verdicts]
    if rows.state.guess is not None:
        lines.append(_get("guess", guess=units.exact(rows.state.guess)))
    bands = [
        _get(
            "band" if last > first else "one",
            phase=strings.get(f"phase.{phase}"),
            first=f"{first + 1:,}",
            last=f"{last + 1:,}",
        )
        for phase, first, last in rows.source.bands
    ]
    return [*lines, _get("bands", bands=", ".join(bands))]


def _place(rows: Rows) -> str:
    if rows.at == rows.peak.index:
        return _get("at_peak")
    row = rows.source.ledger.rows[rows.at]
    return _get("at", index=f"{rows.at + 1:,}", name=row.name)


def _roles(rows: Rows) -> list[str]:
    sample = words.sample(rows.state)
    head = [_place(rows), words.get("table.bytes"), _get("share"), _get("each", sample=sample)]
    cells = [head]
    cells += [_line(f"  {row.look.label}", (row,), rows) for row in reversed(rows.mountain)]
    cells += [_line(words.get("table.mountain"), rows.mountain, rows)]
    cells += [_line(f"  {row.look.label}", (row,), rows) for row in reversed(rows.floor)]
    cells += [_line(words.get("table.floor"), rows.floor, rows)]
    cells += [_line(words.get("table.alive"), rows.roles, rows)]
    return columns(cells)


def _line(name: str, parts: tuple[RoleRow, ...], rows: Rows) -> list[str]:
    nbytes, each = sum(row.nbytes for row in parts), sum(row.each for row in parts)
    return [name, f"{nbytes:,}", f"{amounts.percent(nbytes, rows.here)} %", f"{each:,}"]


def _blocks(rows: Rows) -> list[str]:
    cells = [
        [f"  {block.name}", strings.get(f"role.{block.role.value}.one"), block.formula]
        for block in rows.blocks
    ]
    lines = columns(cells, left=3)
    lives = [f"    {words.life(block)}" for block in rows.blocks]
    body = [line for pair in zip(lines, lives, strict=True) for line in pair]
    rest = [f"  {largest.others(rows)}"] if rows.alive > len(rows.blocks) else []
    return [largest.title(rows), *body, *rest]


def _slices(rows: Rows) -> list[str]:
    cells = [
        [
            f"  {row.part.name}",
            units.exact(row.nbytes),
            _get("block" if row.blocks == 1 else "blocks", count=row.blocks),
        ]
        for row in rows.slices
    ]
    return [slices.title(rows), *columns(cells)]


def _rules(rows: Rows) -> list[str]:
    found = tally(rows)
    return [
        words.get("counted.title"),
        *columns(counted.table(rows)),
        *counted.summary(rows, found),
    ]


def _before(rows: Rows) -> list[str]:
    before = rows.before
    if before is None:
        return [_get("start")]
    return [
        _get(
            "before",
            title=words.title(before.state),
            peak=units.exact(before.peak.nbytes),
            index=f"{before.peak.index + 1:,}",
            name=before.peak.row.name,
        )
    ]


def columns(cells: list[list[str]], left: int = 1) -> list[str]:
    """Cells in columns; the first ``left`` are flush left, the numbers after them flush right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "   ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
