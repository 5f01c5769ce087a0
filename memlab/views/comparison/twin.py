"""Steps side by side in words: roles down, steps across, from the rows of the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memlab.views.comparison import words
from memlab.views.comparison.rows import Rows
from memlab.views.comparison.words import say
from memlab.views.network.twin import columns
from memlab.views.roles import STACK, Look


def write(found: Rows) -> str:
    """The twin of the picture: print it, read it aloud."""
    notes = [say("twin.state"), say("twin.origin_measured" if found.measured else "twin.origin")]
    parts = [[f"{words.title(found)}.", words.headline(found)], _steps(found), table(found), notes]
    return "\n\n".join("\n".join(part) for part in parts)


def _steps(found: Rows) -> list[str]:
    """What each step is, where its peak lies, and what it does more or less than the first."""
    lines = []
    for row in found.rows:
        peak = {"index": f"{row.peak.index + 1:,}", "operation": row.peak.row.name}
        values = {"name": row.name, "description": row.description, "count": f"{row.operations:,}"}
        lines.append(say("twin.step", **values, **peak))
        if row.more or row.fewer:
            both = "; ".join(words.changes(row))
            lines.append(f"  {say('twin.changes', changes=both, first=found.first.name)}")
    return lines


def table(found: Rows) -> list[str]:
    """A line for every role and every total, a column for every step."""
    steps, nothing = found.rows, [""] * (len(found.rows) + 1)
    cells = [[say("table.at_peak"), *(row.name for row in steps)]]
    cells += _roles([row.at_peak for row in steps])
    cells.append(_line("peak", [row.peak.nbytes for row in steps]))
    ratio = say("table.ratio", first=found.first.name)
    cells.append([ratio, *(words.ratio(row, found) for row in steps)])
    cells += [nothing, [say("table.largest"), *nothing[1:]]]
    cells += _roles([row.largest for row in steps])
    cells += [nothing, _line("state", [row.state for row in steps])]
    cells.append([say("table.parameter"), *map(words.per_parameter, steps)])
    cells.append(_line("operations", [row.operations for row in steps]))
    cells.append(_line("flops", [row.flops for row in steps]))
    cells.append(_line("moved", [row.moved for row in steps]))
    return columns(cells + _measured(found))


def _roles(steps: Sequence[Mapping[Look, int]]) -> list[list[str]]:
    """The slices of the stack from its bottom up: the usual ones, and what any step has."""
    looks = [look for look in STACK if look.usual or any(step[look] for step in steps)]
    return [[f"  {look.label}", *_exact([step[look] for step in steps])] for look in looks]


def _measured(found: Rows) -> list[list[str]]:
    """What the runs reached; nothing where none was made."""
    runs = [row.measured for row in found.rows if row.measured]
    if not runs:
        return []
    return [
        _line("measured", [run.nbytes for run in runs]),
        _line("residual", [run.residual for run in runs]),
        [say("table.seconds"), *(words.seconds(run.seconds) for run in runs)],
    ]


def _line(key: str, numbers: Sequence[int]) -> list[str]:
    return [say(f"table.{key}"), *_exact(numbers)]


def _exact(numbers: Sequence[int]) -> list[str]:
    return [f"{number:,}" for number in numbers]
