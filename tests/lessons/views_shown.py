"""Run a notebook and print, as one line of JSON, every live view that it shows:

    python -m tests.lessons.views_shown lessons/solutions/02_network.ipynb

Each is there as it opens, as it was before its last change, and after a press on each of its
buttons: the cell, how it is reached, its settings, and its words.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import nbformat

import memlab
from tests.lessons import truths
from tests.lessons.lock import Shown, plain


def run(notebook: Path) -> list[str]:
    """What its live views show, cell by cell, as JSON; a cell that fails ends it."""
    from IPython.core.interactiveshell import InteractiveShell

    from memlab.views import View

    found: list[Shown] = []
    now = [""]
    shell: Any = InteractiveShell.instance()
    shell.display_formatter.active_types = shell.display_formatter.format_types
    memlab._show_in_notebooks()  # a notebook runs before memlab is loaded
    told = View._repr_mimebundle_

    def tell(view: Any, **kwargs: Any) -> Any:
        found.extend(states(now[0], view))
        return told(view, **kwargs)

    setattr(View, told.__name__, tell)
    os.chdir(notebook.parent)
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            now[0] = cell.id
            shell.run_cell(cell.source).raise_error()
    return list(dict.fromkeys(json.dumps(each) for each in found))


def states(cell: str, view: Any) -> Iterator[Shown]:
    """A view as it opens, before its last change, and behind each button."""
    name = f"the view {view.made_by}"
    yield Shown(cell, f"{name} when it opens", settings(view, view.state), words(view))
    if view.previous is not None:
        yield Shown(cell, f"{name} before its last change", settings(view, view.previous), "")
    held = view.state, view.previous, view.earlier, view._origin, view._news
    offered = {each.name: each.label for each in view.controls() if each.kind == "button"}
    for button in offered.keys() & view.presets.keys():
        view.act(button, None, False)
        how = f"the button {offered[button]!r} of {name}"
        yield Shown(cell, how, settings(view, view.state), words(view))
        view.state, view.previous, view.earlier, view._origin, view._news = held


def settings(view: Any, state: Any) -> dict[str, Any]:
    return {name: plain(each.value(state)) for name, each in view.settings.items()}


def words(view: Any) -> str:
    """What a view says: its picture in words, its controls, the lines around it."""
    drawn = view.draw(stored=False)
    output = {"data": {"image/svg+xml": drawn.svg}}
    parts = [truths.text_of({"source": "", "outputs": [output]}), drawn.status]
    parts += [line.text for line in (*drawn.lines, *drawn.after)]
    for control in view.controls():
        parts += [control.label, *(text for _, text in control.options)]
    return re.sub(r"[ \t]+", " ", "\n".join(part for part in parts if part))


if __name__ == "__main__":
    heard = io.StringIO()
    with redirect_stdout(heard), redirect_stderr(heard):
        lines = run(Path(sys.argv[1]).resolve())
    print(f"[{', '.join(lines)}]")
