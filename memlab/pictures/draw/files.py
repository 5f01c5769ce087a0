"""A live view as a file: a picture, or a page whose slider needs no kernel and no network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from html import escape
from io import BytesIO
from string import Template
from typing import Any

from memlab import strings
from memlab.errors import InputError
from memlab.pictures.draw.page import Page
from memlab.pictures.live.setting import Range, State, resolve
from memlab.pictures.live.view import PageState, View
from memlab.pictures.live.widget import Labels

DOTS = 200
"""Pixels of a png per inch."""

HTML = Template("""<!doctype html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>$title</title>
<style>
:root { color-scheme: light dark }
body { margin: 24px auto; max-width: ${width}px; padding: 0 12px; background: #fff; color: #161616;
  font: 16px/1.4 Arial, "Liberation Sans", Helvetica, sans-serif }
@media (prefers-color-scheme: dark) { body { background: #111; color: #e6e6e6 } }
label { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center }
input { width: min(420px, 100%); height: 32px; margin: 0; accent-color: #0072b2 }
output { font-weight: 700 }
svg { display: block; width: 100%; height: auto }
pre { overflow-x: auto; font-size: 13px }
[hidden] { display: none !important }
</style>
</head>
<body>
$control
<main>
$frames
</main>
<script>
const slider = document.querySelector("input"), frames = document.querySelectorAll("main > div");
function show() {
  frames.forEach((frame, i) => { frame.hidden = i !== Number(slider.value); });
  const said = frames[slider.value].dataset.says;
  document.querySelector("output").textContent = said;
  slider.setAttribute("aria-valuetext", said);
}
if (slider) { slider.addEventListener("input", show); show(); }
</script>
</body>
</html>
""")


def drawn(view: View[Any], kind: str) -> bytes:
    """Return a view as the bytes of a file.

    Args:
        view: the view, in its present state.
        kind: ``"svg"``, ``"png"`` or ``"pdf"``, a picture, or ``"html"``, a page whose slider
            moves through pictures of the view that are stored in it.
    """
    if kind == "html":
        return _html_page(view).encode()
    if kind == "svg":
        return f"{view.page().alone()}\n".encode()
    file = BytesIO()
    dates = {"CreationDate": None} if kind == "pdf" else None
    view.figure().savefig(file, format=kind, dpi=DOTS, metadata=dates)
    return file.getvalue()


def _html_page(view: View[Any]) -> str:
    """Return the HTML page with all pictures of a view's first slider; without a script it shows
    the present state."""
    slider = next(setting for setting in view.settings.values() if isinstance(setting, Range))
    pages = list(_frames(view, slider))
    labels = Labels(view.name, view.values(view.state))
    here = [state for state, _ in pages].index(view.state)
    frames = [
        f'<div data-says="{escape(slider.value_text(state, labels))}"'
        f"{'' if at == here else ' hidden'}>"
        f"{page.alone(f'f{at}')}<details><summary>{escape(strings.get('widget.text'))}</summary>"
        f"<pre>{escape(page.text())}</pre></details></div>"
        for at, (state, page) in enumerate(pages)
    ]
    control = (
        f'<label>{escape(labels(slider.name))}<input type="range" min="0" '
        f'max="{len(pages) - 1}" value="{here}"><output></output></label>'
    )
    return HTML.substitute(
        language=strings.language(), title=escape(view.page().title), width=view.widest + 24,
        control=control if len(pages) > 1 else "", frames="\n".join(frames),
    )  # fmt: skip


def _frames(view: View[Any], slider: Range) -> Iterator[tuple[State, Page]]:
    """Yield the stops of a slider up to twice its present value: each state, and its page with the
    stop before as the previous state."""
    states = list(_states(view, slider))
    for at, state in enumerate(states):
        previous = states[at - 1] if at else states[1] if states[1:] else None
        dragging = previous is not None
        scene = PageState(state, previous, states[-1], dragging=dragging, width=view.widest)
        yield state, view.compose(scene)


def _states(view: View[Any], slider: Range) -> Iterator[State]:
    """Yield the states of a view for the stops of a slider up to twice its present value, without
    those that the view refuses."""
    own = slider.standing(view.state)
    for stop in sorted(
        {own, *(value for value in resolve(slider.stops, view.state) if value <= 2 * own)}
    ):
        with suppress(InputError):  # a step may be valid for some batches only
            state = view.changed(view.state, **{slider.name: stop})
            view.rows_of(state)
            yield state
