"""The address map as a widget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memlab import units
from memlab.views.addresses import keys, panel, picture, rival, twin, words
from memlab.views.addresses.layout import WIDEST
from memlab.views.addresses.room import fresh
from memlab.views.addresses.rows import Rows, rows
from memlab.views.addresses.source import BATCH
from memlab.views.addresses.state import moved
from memlab.views.addresses.steered import Steered
from memlab.views.addresses.words import say
from memlab.views.widget import Control, Line, Picture, stop, typed, width


class AddressMap(Steered):
    """Which tensors lie where in one arena, over the operations of a step.

    Set ``what``, ``how``, ``beside``, ``in_place``, ``batch``, ``cursor``, ``chosen``, ``stage``,
    ``packed`` or ``guess`` from Python, and the picture follows. ``move(name, address)`` moves one,
    ``score()`` says how good the map is, ``run()`` runs the step with these addresses.
    ``print(view)`` is the picture in words; ``view.rows`` has the exact figures.
    """

    name = "addresses"
    picture_keys = keys.KEYS

    def controls(self) -> list[Control]:
        return panel.controls(self)

    def more(self) -> str:
        return panel.more(self)

    def draw(self, stored: bool) -> Picture:
        state = replace(self.state.stored(), width=WIDEST) if stored else self.state
        found = rows(state)
        drawn = picture.draw(found, "" if stored else str(self.model_id))
        text = twin.write(found)
        said = state.ran.sentences() if state.ran else []
        other = rival.beside(found)
        said += [rival.sentence(found, other)] if other else []
        return Picture(
            svg=drawn.render(words.title(state), standalone=stored),
            text=text,
            shown=found.at + 1,
            state=f"{state.network}|{state.placement.how}|{found.packed.arena}",
            says=self._says(found),
            status=state.ran.news() if state.ran else "",
            lines=tuple(Line(sentence) for sentence in said),
            after=tuple(Line(part, code=True) for part in self._after(text, found)),
            code=panel.code(state),
        )

    def _after(self, text: str, found: Rows) -> list[str]:
        """The recorded figures, role by role; the text that T asks for."""
        other = rival.beside(found)
        return [*([str(other)] if other else []), *([text] if found.state.written else [])]

    def refresh(self, error: str = "", answer: int = 0) -> None:
        super().refresh(error, answer)
        self._told = self._news()

    def _news(self) -> tuple[object, ...]:
        state = self.state
        return (*state.described, state.packed, state.scored, state.stage)

    def _says(self, found: Rows) -> str:
        """News after a change of the map, else the block that the keyboard has come to."""
        here = keys.says(found) if self._news() == self._told else ""
        return here or twin.spoken(found)

    def frames(self) -> list[str]:
        """One picture for every placing."""
        state = replace(self.state.stored(), width=WIDEST)
        states = [moved(state, how=how).stored() for how in state.source.hows]
        return [picture.draw(rows(each)).render(words.title(each)) for each in states]

    def act(self, name: str, value: Any, dragging: bool) -> None:
        if name in ("what", "how", "in_place", "batch", "guess", "stage"):
            self._choose(name, value)
        elif name in ("operation", "at"):
            self._operation(name, value)
        elif name in ("operation_number", "packed"):
            self._number(name, value)
        elif name == "run" or (name == "key" and value == "KeyR"):
            self._to(ran=self._run())
        elif name in panel.PRESETS:
            self.state = fresh(panel.preset(name, self.state), self.free)
            if self.state.placement.overlaps():
                self._to(ran=self._run())
        elif name in ("move", "leave"):
            self.state = keys.toggled(self.rows)
        elif name == "score":
            self.state = replace(self.state, scored=True, slid=None)
        elif name == "choose":
            self.state = keys.choose(self.state, str(value))
        elif name == "key":
            self.state = keys.press(self.rows, str(value))
        elif name == "width":
            self.state = replace(self.state, width=width(value), slid=None)

    # -- inside -----------------------------------------------------------------------------

    def _choose(self, name: str, value: Any) -> None:
        """What a select, a box or a field says."""
        if name == "what":
            self._to(subject=self._find(str(value)))
        elif name == "how" and str(value) != self.how:
            self._to(how=str(value))
        elif name == "in_place":
            self._to(in_place=value is True)
        elif name == "batch":
            self._to(batch=typed("batch", value, usual=BATCH))
        elif name == "stage":
            self._to(stage=str(value), chosen="")
        elif name == "guess":
            self._to(guess=units.parse(str(value)) if str(value).strip() else None)

    def _operation(self, name: str, value: Any) -> None:
        """The cursor, from 0; the slider counts from 1."""
        first = int(name == "operation")
        count = self.rows.source.operations
        self._to(cursor=stop("operation", value, first, count - 1 + first) - first)

    def _number(self, name: str, value: Any) -> None:
        if name == "packed":
            every = len(self.rows.packed.rows)
            count = stop(name, value, 0, every)
            self._to(packed=None if count == every else count, beside="")
        else:
            self._to(cursor=typed("operation", value, usual=1) - 1)

    def __repr__(self) -> str:
        return f"<{say('name').lower()}: {words.title(self.state)}>"
