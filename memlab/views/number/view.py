"""The view of a number as a widget, and as a value that Python can steer."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from memlab.errors import InputError, printed
from memlab.formats import NUMBERS
from memlab.views.number import panel, picture, twin, words
from memlab.views.number.rows import Rows, rows
from memlab.views.number.state import STEPS, State
from memlab.views.widget import Control, Picture, View, stop


class NumberBits(View):
    """The bits of a number in a format, what they mean, and the values beside it.

    Set ``value``, ``format`` or ``step`` from Python, and the picture follows. ``print(view)`` is
    the picture in words; ``view.rows`` has the exact figures.
    """

    name = "number"

    def __init__(self, state: State) -> None:
        self.state = state
        super().__init__()

    # -- from Python ------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """The figures on display, exact."""
        return rows(self.state)

    @property
    def value(self) -> str:
        """The number as it was typed."""
        return self.state.typed

    @value.setter
    def value(self, typed: str | float | Fraction) -> None:
        self._set(State(printed(typed), self.format))

    @property
    def format(self) -> str:
        """The name of the format."""
        return self.state.format

    @format.setter
    def format(self, name: str) -> None:
        self._set(State(self.value, name))

    @property
    def step(self) -> int:
        """How many values of the format the walk has gone up, or down where it is below 0."""
        return self.state.step

    @step.setter
    def step(self, count: int) -> None:
        self._set(replace(self.state, step=count))

    def _set(self, state: State) -> None:
        self.state = state
        self.refresh()

    # -- for the widget ---------------------------------------------------------------------

    def controls(self) -> list[Control]:
        return panel.controls(self.state)

    def draw(self, stored: bool) -> Picture:
        state, found = self.state, self.rows
        drawn = picture.draw(found, "" if stored else str(self.model_id))
        bits = "".join(found.bits)
        return Picture(
            svg=drawn.render(f"{words.title(state)}. {words.spoken(found)}", standalone=stored),
            text=twin.write(found),
            shown=state.step,
            state="|".join((state.typed, state.format, str(state.step), found.fate, bits)),
            says=words.spoken(found),
            code=panel.code(state),
        )

    def frames(self) -> list[str]:
        """One picture for each format; an integer format has none for NaN."""
        return [NumberBits(state).svg() for state in _in_every_format(self.value)]

    def act(self, name: str, value: Any, dragging: bool) -> None:
        if name == "value":
            self.state = State(str(value), self.format)
        elif name == "format":
            self.state = State(self.value, str(value))
        elif name == "step":
            self.state = replace(self.state, step=stop(name, value, -STEPS, STEPS))
        elif name in panel.PRESETS:
            self.state = panel.PRESETS[name]

    def __repr__(self) -> str:
        return f"<{words.say('name').lower()}: {words.title(self.state)}>"


def _in_every_format(typed: str) -> list[State]:
    found = []
    for name in NUMBERS:
        try:
            found.append(State(typed, name))
        except InputError:
            continue
    return found


def number(
    value: str | float | Fraction = "0.1", format: str = "fp16", *, step: int = 0
) -> NumberBits:
    """The bits of a number in a format, what they mean, and the values beside it.

    Args:
        value: the number as one would write it, ``"0.1"``, ``"1/3"``, ``"2^-24"``, ``"-inf"``; a
            number of Python is taken as ``print`` shows it.
        format: a name of ``memlab.formats.NUMBERS``.
        step: how many values of the format to go up from there, or down; -16 to 16.

    Raises:
        InputError: a value that is not allowed.
    """
    return NumberBits(State(printed(value), format, step))
