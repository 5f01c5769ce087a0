"""Run a notebook and print, as one line of JSON, every live view that it shows:

    python -m tests.lessons.views_shown lessons/solutions/02_network.ipynb

Each is there as it opens, as it was before its last change, after a press on each of its buttons,
and with each of its controls at each of its values (of a slider, its ends): the cell, how it is
reached, its settings, its words, and what its controls offer.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import nbformat

from memlab.errors import InputError
from memlab.notebook_hooks import show_values
from tests.lessons import truths
from tests.lessons.lock import Shown, plain


def run(notebook: Path) -> list[str]:
    """Live views of a notebook, cell by cell, as JSON; a cell that fails ends it."""
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell.instance()
    shell.display_formatter.active_types = shell.display_formatter.format_types
    show_values()  # a notebook runs before memlab is loaded
    views = listen(shell)
    os.chdir(notebook.parent)
    cells = code_of(notebook)
    for source in cells:
        shell.run_cell(source).raise_error()
    return [json.dumps(view) for view in named(views, cells)]


def listen(shell: Any) -> list[Shown]:
    """Live views that are shown from now on; the id of a cell is its source, which is all that a
    kernel knows of it."""
    from memlab.views import View

    shown_views: list[Shown] = []
    now = [""]
    told = View._repr_mimebundle_

    def tell(view: Any, **kwargs: Any) -> Any:
        shown_views.extend(states(now[0], view))
        return told(view, **kwargs)

    def begin(cell: Any) -> None:
        now[0] = cell.raw_cell

    setattr(View, told.__name__, tell)
    shell.events.register("pre_run_cell", begin)
    return shown_views


def code_of(notebook: Path) -> dict[str, str]:
    """The code cells of a notebook: their ids by their sources."""
    cells = nbformat.read(notebook, as_version=4).cells
    return {cell.source: cell.id for cell in cells if cell.cell_type == "code"}


def named(fields: Iterable[Iterable[Any]], cells: Mapping[str, str]) -> list[Shown]:
    """Shown views, each once, with the ids of their cells."""
    shown = [Shown(*view) for view in fields]
    once = {json.dumps(view): view for view in shown}
    return [view._replace(cell=cells[view.cell]) for view in once.values()]


def states(cell: str, view: Any) -> Iterator[Shown]:
    """A view as it opens, before its last change, behind each button, and at each value."""
    name = f"the view {view.made_by}"
    opens = settings(view, view.state)
    yield Shown(cell, f"{name} when it opens", opens, words(view), offers(view))
    if view.previous is not None:
        yield Shown(cell, f"{name} before its last change", settings(view, view.previous), "")
    held = view.state, view.previous, view.earlier, view._origin, view._news
    offered = {
        offered_control.name: offered_control.label
        for offered_control in view.controls()
        if offered_control.kind == "button"
    }
    for button in offered.keys() & view.presets.keys():
        view.on_event(button, None, False)
        how = f"the button {offered[button]!r} of {name}"
        yield Shown(cell, how, settings(view, view.state), words(view))
        view.state, view.previous, view.earlier, view._origin, view._news = held
    for control in view.controls():
        for value in values(control):
            with suppress(InputError):  # what does not fit is refused
                view.on_event(control.name, value, False)
                how = f"{control.label or control.name!r} at {value!r} of {name}"
                yield Shown(cell, how, settings(view, view.state), words(view))
            view.state, view.previous, view.earlier, view._origin, view._news = held


def values(control: Any) -> list[Any]:
    """Values that a control can be set to, of a slider its ends; none where
    anything can be typed."""
    if control.kind == "range":
        return [control.least, control.most]
    if control.kind == "checkbox":
        return [not control.value]
    return [value for value, _ in control.options if value != control.value]


def offers(view: Any) -> dict[str, list[Any]]:
    """The values of each setting that a control of its own has."""
    values_of: dict[str, list[Any]] = {}
    for control in view.controls():
        setting = view._events.get(control.name)
        if setting is not None and setting.put is None:
            values_of.setdefault(setting.name, []).extend(_offered(view, setting, control))
    return values_of


def _offered(view: Any, setting: Any, control: Any) -> Iterator[Any]:
    """A slider has every value between its ends; a field the same as its slider."""
    every = range(control.least, control.most + 1) if control.kind == "range" else values(control)
    for value in every:
        with suppress(InputError):
            yield plain(setting.read(control.name, value, view.state))


def settings(view: Any, state: Any) -> dict[str, Any]:
    return {name: plain(setting.value(state)) for name, setting in view.settings.items()}


def words(view: Any) -> str:
    """Words of a view: its picture in words, its controls, the lines around it."""
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
