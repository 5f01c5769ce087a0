"""The controls of the view of a number, its presets, and the line of Python that makes it."""

from __future__ import annotations

from memlab.formats import NUMBERS
from memlab.views.number import words
from memlab.views.number.state import STEPS, State
from memlab.views.widget import Control

PRESETS = {
    "start": State("0.1", "fp16"),
    "surprise": State("2049", "fp16"),
    "break": State("70000", "fp16"),
}
"""A number that is rounded; a whole number that is lost; one that is too large."""


def controls(state: State) -> list[Control]:
    """Number, format and step, then the buttons."""
    spoken = _label("spoken", step=state.step)
    return [
        Control("text", "value", _label("value"), state.typed, placeholder=_label("example")),
        Control("select", "format", _label("format"), state.format,
                options=tuple((name, name) for name in NUMBERS)),
        Control("range", "step", _label("step"), state.step, least=-STEPS, most=STEPS,
                spoken=spoken),
        *(Control("button", name, _label(name), place="buttons") for name in (*PRESETS, "copy")),
    ]  # fmt: skip


def code(state: State) -> str:
    """The line that makes this view again."""
    step = f", step={state.step}" if state.step else ""
    return f"memlab.views.number({state.typed!r}, {state.format!r}{step})"


def _label(name: str, **values: object) -> str:
    return words.say(f"control.{name}", **values)
