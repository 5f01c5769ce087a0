"""Code cells as plain Python: what only a notebook understands becomes nothing, or is unwrapped."""

from __future__ import annotations

import re
from typing import NamedTuple

RUN = {"time", "timeit", "capture", "prun"}
"""Magics whose code runs."""
_LINE = re.compile(r"^(\s*)(?:%(\w+)\s*(.*)|[!?].*|.*[\w\])]\?{1,2}\s*)$")
_TAKEN = re.compile(r"^(\s*[\w, ]+=\s*)[!%].*$")
HARMLESS = RUN | {"matplotlib", "config", "load_ext", "autoreload", "pinfo"}
"""Magics that are no reason to look."""


class PlainCell(NamedTuple):
    """Code of a cell as Python, and the magics and commands that were left out, by their line."""

    code: str
    left_out: tuple[str, ...] = ()


def plain_cell(source: str) -> PlainCell:
    """Return a cell as Python. The lines keep their numbers."""
    if source.lstrip().startswith("%%"):
        head, _, rest = source.lstrip().partition("\n")
        words = head[2:].split()
        name = words[0] if words else ""
        kept = plain_cell(rest) if name in RUN else PlainCell("")
        strange = (head,) if name not in HARMLESS else ()
        return PlainCell(f"\n{kept.code}", (*strange, *kept.left_out))
    try:
        compile(source, "<cell>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return _without_magics(source)
    return PlainCell(source)


def _without_magics(source: str) -> PlainCell:
    lines, left_out = [], []
    for line in source.split("\n"):
        taken, match = _TAKEN.match(line), _LINE.match(line)
        if taken or (match and match[2] not in HARMLESS):
            left_out.append(line.strip())
        if taken:
            line = f"{taken[1]}None"
        elif match and match[2] in RUN:
            line = f"{match[1]}{match[3] or 'pass'}"
        elif match:
            line = f"{match[1]}pass"
        lines.append(line)
    return PlainCell("\n".join(lines), tuple(left_out))
