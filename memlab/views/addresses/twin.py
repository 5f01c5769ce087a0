"""The address map in words, from the rows of the picture."""

from __future__ import annotations

from functools import lru_cache

from memlab import strings, units
from memlab.studies.figures import columns
from memlab.views.addresses import about, cut, rival, scale, telling, words
from memlab.views.addresses.packed import Packed, Row
from memlab.views.addresses.rows import Rows
from memlab.views.addresses.scale import amount

LISTED = 20
"""Blocks of a network that have a line, the largest."""


def write(rows: Rows) -> str:
    """The twin of the picture: print it, read it aloud, put it on a page without Python."""
    parts = [_head(rows)]
    for index, packed in enumerate(rows.maps):
        parts.append([*_placed(packed), *telling.story(rows, index)])
        if rows.source.toy:
            parts.append(_characters(rows, packed))
        parts.append(_table(packed))
    if len(rows.maps) == 1:
        parts += [_focus(rows), _cut(rows)]
    if other := rival.beside(rows):
        parts.append([rival.sentence(rows, other), str(other)])
    return "\n\n".join("\n".join(filter(None, part)) for part in parts)


def spoken(rows: Rows) -> str:
    """The twin in two or three sentences, for a screen reader after a change."""
    packed = rows.packed
    told = rows.told if rows.turn < len(packed.rows) else None
    first = telling.turn(told) if told else _placed(packed)[0]
    bold = (text for text, bold in words.sentences(rows) if bold)
    return " ".join(filter(None, [words.zoomed(rows), first, *bold]))


def _head(rows: Rows) -> list[str]:
    lines = [f"{words.title(rows.state)}.", *(text for text, _ in words.sentences(rows))]
    bands = [
        strings.get(
            f"network.twin.{'band' if last > first else 'one'}",
            phase=strings.get(f"phase.{phase}"),
            first=f"{first + 1:,}",
            last=f"{last + 1:,}",
        )
        for phase, first, last in rows.source.bands
    ]
    lines += [words.say("twin.bands", bands=", ".join(bands))] if bands else []
    lines += [words.verdict(room, rows.packed) for room in rows.rooms]
    if rows.state.guess is not None:
        lines.append(words.say("twin.guess", guess=amount(rows.state.guess)))
    return lines


def _placed(packed: Packed) -> list[str]:
    placed, name = words.how(packed.placement.how), packed.source.operation(packed.busiest)
    index = ", ".join(filter(None, [f"{packed.busiest + 1:,}", name]))
    if packed.waste < 0:
        amounts = {"arena": amount(packed.arena), "bound": amount(packed.bound)}
        missing = amount(-packed.waste)
        return [words.say("twin.below", how=placed, index=index, missing=missing, **amounts)]
    exact = {
        "arena": units.exact(packed.arena),
        "bound": units.exact(packed.bound),
        "waste": units.exact(packed.waste),
        "total": units.exact(packed.total),
    }
    arena, (bound, waste), unit = scale.parts(packed.arena, packed.bound, packed.waste)
    values = {"arena": f"{arena} {unit}", "bound": f"{bound} {unit}", "waste": f"{waste} {unit}"}
    first = words.say("twin.placed", how=placed, index=index, **values)
    return [first, words.say("twin.exact", **exact)]


def _characters(rows: Rows, packed: Packed) -> list[str]:
    """A letter for every unit and operation; two that overlap are an X."""
    size = units.UNITS[scale.unit_of(packed.total)]
    operations = packed.source.operations
    shown = [row for row in packed.rows if row.turn <= rows.turn]
    grid = [["."] * operations for _ in range(packed.arena // size)]
    for row in shown:
        for level in range(row.address // size, row.top // size):
            for at in range(row.block.birth, row.block.death + 1):
                grid[level][at] = row.name if grid[level][at] == "." else "X"
    lines = [f"{level:4d}  {' '.join(line)}" for level, line in enumerate(grid)]
    return [*reversed(lines), f"{'':6}{' '.join(str(at + 1) for at in range(operations))}"]


@lru_cache(maxsize=16)
def _table(packed: Packed) -> list[str]:
    """The blocks in order of birth; of a network the largest."""
    large = sorted(packed.drawn, key=lambda row: -row.size)[:LISTED]
    listed = sorted(large, key=lambda row: row.block.birth)
    cells = [words.say("twin.heads").split("|"), *(_line(packed, row) for row in listed)]
    more = len(packed.rows) - len(listed)
    rest = packed.total - sum(row.size for row in listed)
    small = words.say("twin.small", count=f"{more:,}", total=units.exact(rest))
    numbers = columns([line[:-1] for line in cells])
    lines = [f"{line}   {shared[-1]}" for line, shared in zip(numbers, cells, strict=True)]
    grey = words.key("small", packed, len(packed.small))
    return [
        *lines,
        *([small] if more else []),
        *([grey] if packed.small else []),
        words.cheap(packed),
    ]


def _line(packed: Packed, row: Row) -> list[str]:
    block, others = row.block, packed.sharing(row)
    shared = ", ".join(other.name for other in others[:3]) + (", …" if len(others) > 3 else "")
    numbers = (row.size, block.birth + 1, block.death + 1, row.address)
    return [row.name, *(f"{number:,}" for number in numbers), shared or words.say("twin.nobody")]


def _focus(rows: Rows) -> list[str]:
    return [rows.chosen.name, *about.block(rows, rows.chosen)] if rows.chosen else []


def _cut(rows: Rows) -> list[str]:
    """What lies in memory at the cursor, the parts that the picture lists."""
    unit = rows.scale.unit
    heads = [
        words.say("cut", index=f"{rows.at + 1:,}"),
        *words.say("cut_heads", unit=unit).split("|"),
    ]
    runs, others = cut.listed(rows.cut)
    cells = [[f"  {words.run(run)}", *cut.cells(run, unit)] for run in runs]
    return [*columns([heads, *cells]), words.others(others) if others else ""]
