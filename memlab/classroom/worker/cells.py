"""Code cells as plain Python: what only a notebook understands becomes nothing, or is unwrapped."""

from __future__ import annotations

import re

RUN = {"time", "timeit", "capture", "prun"}
"""Magics whose code runs."""
_LINE = re.compile(r"^(\s*)(?:%(\w+)\s*(.*)|[!?].*|.*[\w\])]\?{1,2}\s*)$")
"""A magic with its code, a command of the system, or a question for help."""
_TAKEN = re.compile(r"^(\s*[\w, ]+=\s*)[!%].*$")
"""A variable that takes the output of a magic or a command."""


def plain_cell(source: str) -> str:
    """Return a cell as Python. The lines keep their numbers; magics and commands are left out."""
    if source.lstrip().startswith("%%"):
        head, _, rest = source.lstrip().partition("\n")
        name = (head[2:].split() or [""])[0]
        return f"\n{plain_cell(rest)}" if name in RUN else "\n"
    try:
        compile(source, "<cell>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return "\n".join(map(_plain_line, source.split("\n")))
    return source


def _plain_line(line: str) -> str:
    if taken := _TAKEN.match(line):
        return f"{taken[1]}None"
    match = _LINE.match(line)
    if match is None:
        return line
    code = match[3] if match[2] in RUN else ""
    return f"{match[1]}{code or 'pass'}"
