"""The address map as a widget, and as a value that Python can steer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memlab import units
from memlab.errors import InputError, unknown, whole
from memlab.networks.graph import Network
from memlab.planner.placement import Placement
from memlab.step.step import Step
from memlab.views.addresses import keys, panel, picture, twin, words
from memlab.views.addresses.layout import WIDEST
from memlab.views.addresses.rows import Rows, rows
from memlab.views.addresses.running import Ran, run_map
from memlab.views.addresses.source import Subject
from memlab.views.addresses.state import State, moved
from memlab.views.addresses.words import say
from memlab.views.widget import Control, Line, Picture, View


class AddressMap(View):
    """Which tensors lie where in one arena, over the operations of a step.

    Set ``what``, ``how``, ``beside``, ``in_place``, ``batch``, ``cursor``, ``chosen``, ``packed``
    or ``guess`` from Python, and the picture follows. ``move(name, address)`` moves a block,
    ``score()`` says how good the map is, ``run()`` runs the step with these addresses.
    ``print(view)`` is the picture in words; ``view.rows`` has the exact figures.
    """

    name = "addresses"
    picture_keys = keys.KEYS

    def __init__(self, state: State, subjects: tuple[str, ...], own: Subject | None = None) -> None:
        self.subjects, self.own = subjects, own
        self._told: tuple[object, ...] | None = None
        self.state = self._start = state
        super().__init__()

    # -- from Python ------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """The figures on display, exact."""
        return rows(self.state)

    @property
    def placement(self) -> Placement:
        """The addresses on display."""
        return self.state.placement

    @property
    def what(self) -> str:
        """What is packed: ``"toy"``, or the name of a network or step."""
        return self.state.network

    @what.setter
    def what(self, chosen: Subject) -> None:
        self._set(subject=self._find(chosen))

    @property
    def how(self) -> str:
        """The placing, a name of ``memlab.planner.placement.HOWS``; ``"by hand"`` once moved."""
        return self.placement.how

    @how.setter
    def how(self, chosen: str) -> None:
        self._set(how=chosen)

    @property
    def beside(self) -> str:
        """A second placing of the toy beside the first; empty for none."""
        return self.state.beside

    @beside.setter
    def beside(self, chosen: str | None) -> None:
        self._set(beside=chosen or "")

    @property
    def in_place(self) -> bool:
        """Whether outputs overwrite inputs that nobody needs any more."""
        return self.state.in_place

    @in_place.setter
    def in_place(self, chosen: bool) -> None:
        self._set(in_place=bool(chosen))

    @property
    def batch(self) -> int:
        """The mini-batch size; the toy has none."""
        return self.state.batch

    @batch.setter
    def batch(self, chosen: int) -> None:
        self._set(batch=whole("batch", chosen))

    @property
    def cursor(self) -> int | None:
        """The operation that is cut, counted from 1; None for the busiest."""
        return None if self.state.cursor is None else self.state.cursor + 1

    @cursor.setter
    def cursor(self, chosen: int | None) -> None:
        self._set(cursor=None if chosen is None else whole("cursor", chosen) - 1)

    @property
    def chosen(self) -> str:
        """The name of the block in focus; empty for none."""
        return self.state.chosen

    @chosen.setter
    def chosen(self, name: str | None) -> None:
        self._set(chosen=name or "")

    @property
    def packed(self) -> int | None:
        """How many blocks lie already; None for all."""
        return self.state.packed

    @packed.setter
    def packed(self, count: int | None) -> None:
        self._set(packed=None if count is None else whole("packed", count, least=0))

    @property
    def guess(self) -> int | None:
        """The guess at the arena in bytes; a text such as ``"9 MiB"`` is understood."""
        return self.state.guess

    @guess.setter
    def guess(self, chosen: int | str | None) -> None:
        self._set(guess=None if chosen is None else units.parse(chosen))

    def move(self, name: str, address: int | str) -> None:
        """Put a block at another address, in bytes or as ``"3 MiB"``.

        Raises:
            InputError: no such block, or no such address.
        """
        if name not in self.rows.packed.by_name:
            raise unknown("block", name, list(self.rows.packed.by_name)[:12])
        self._set(hand=self.placement.moved(name, units.parse(address)), chosen=name)

    def score(self) -> str:
        """The top of this map beside the lower bound and the optimum, in words."""
        return words.score(self.rows)

    def run(self) -> Ran:
        """Run the step with these addresses, and as it was without an arena.

        Raises:
            InputError: the toy, which has no arithmetic; a step that takes long.
        """
        self._set(ran=self._run())
        assert self.state.ran is not None
        return self.state.ran

    def _set(self, **changes: Any) -> None:
        self.state = moved(self.state, **changes)
        self.refresh()

    # -- for the widget ---------------------------------------------------------------------

    def controls(self) -> list[Control]:
        return panel.controls(self)

    def more(self) -> str:
        return panel.more(self)

    def draw(self, stored: bool) -> Picture:
        state = replace(self.state.stored(), width=WIDEST) if stored else self.state
        found = rows(state)
        drawn = picture.draw(found, "" if stored else str(self.model_id))
        text = twin.write(found)
        ran = state.ran.sentences() if state.ran else []
        return Picture(
            svg=drawn.render(words.title(state), standalone=stored),
            text=text,
            shown=found.at + 1,
            state=f"{state.network}|{state.placement.how}|{found.packed.arena}",
            says=self._says(found),
            status=state.ran.news() if state.ran else "",
            lines=tuple(Line(sentence) for sentence in ran),
            after=(Line(text, code=True),) if state.written else (),
            code=panel.code(state),
        )

    def refresh(self, error: str = "", answer: int = 0) -> None:
        super().refresh(error, answer)
        self._told = self._news()

    def _news(self) -> tuple[object, ...]:
        state = self.state
        return (*state.described, state.packed, state.scored)

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
        if name in ("what", "how", "in_place", "batch", "guess"):
            self._choose(name, value)
        elif name in ("operation", "at"):
            self._operation(int(value) - (name == "operation"))
        elif name in ("operation_number", "packed"):
            self._number(name, value)
        elif name == "run" or (name == "key" and value == "KeyR"):
            self._to(ran=self._run())
        elif name in panel.PRESETS:
            self.state = panel.preset(name, self.state)
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
            self.state = replace(self.state, width=int(value), slid=None)

    # -- inside -----------------------------------------------------------------------------

    def _to(self, **changes: Any) -> None:
        self.state = moved(self.state, **changes)

    def _choose(self, name: str, value: Any) -> None:
        """What a select, a box or a field says."""
        if name == "what":
            self._to(subject=self._find(str(value)))
        elif name == "how" and str(value) != self.how:
            self._to(how=str(value))
        elif name == "in_place":
            self._to(in_place=bool(value))
        elif name == "batch":
            self._to(batch=whole("batch", int(value)))
        elif name == "guess":
            self._to(guess=units.parse(str(value)) if str(value).strip() else None)

    def _operation(self, index: int) -> None:
        """The cursor, from 0; the slider counts from 1."""
        self._to(cursor=min(max(index, 0), self.rows.source.operations - 1))

    def _number(self, name: str, value: Any) -> None:
        text = "" if value is None else str(value).strip()
        if not text.isdecimal():
            raise InputError(f"give a whole number, got {text or 'none'}; try 1.")
        if name == "packed":
            count = min(int(text), len(self.rows.packed.rows))
            every = count == len(self.rows.packed.rows)
            self._to(packed=None if every else count, beside="")
        else:
            self._to(cursor=whole("operation", int(text)) - 1)

    def _run(self) -> Ran:
        return run_map(self.state.source, self.placement, self.state.batch)

    def _find(self, chosen: Subject) -> Subject:
        """What may be shown, by name or as it was given.

        Raises:
            InputError: a name that this view does not offer.
        """
        if isinstance(chosen, Network | Step):
            return chosen
        if self.own is not None and chosen == self.subjects[0]:
            return self.own
        if chosen not in self.subjects:
            raise unknown("subject", chosen, self.subjects)
        return chosen

    def __repr__(self) -> str:
        return f"<{say('name').lower()}: {words.title(self.state)}>"
