"""The view of the shifted copies as a widget, and as a value that Python can steer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memlab import devices
from memlab.errors import InputError, flag
from memlab.networks.graph import Network
from memlab.studies.memory import network_of
from memlab.views.copies import keys, panel, picture, twin, words
from memlab.views.copies.layout import WIDEST
from memlab.views.copies.rows import Rows, rows
from memlab.views.copies.state import BATCHES, State, moved
from memlab.views.copies.words import say
from memlab.views.copies.write import Written, write
from memlab.views.widget import Control, Picture, View, stop, typed, width

STEP = 10**7
"""What is free here is read in steps of 10 MB: the last digits never stand still."""


class ShiftedCopies(View):
    """What lowering writes: k² copies of the whole input, each shifted.

    Set ``step``, ``k``, ``stride``, ``pad``, ``batch``, ``how``, ``network``, ``layer``, ``pin``
    or ``counts`` from Python, and the picture follows. ``print(view)`` is the picture in words;
    ``view.rows`` has the exact figures, ``view.write()`` lowers one image for real.
    """

    name = "copies"
    picture_keys = keys.KEYS

    def __init__(self, state: State, live: bool = True) -> None:
        self.live = live
        self._told: State | None = None
        self.state = self._start = self._fresh(state)
        super().__init__()

    # -- from Python ------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """The figures on display, exact."""
        return rows(self.state)

    @property
    def step(self) -> int:
        """How many copies are written."""
        return self.state.step

    @step.setter
    def step(self, chosen: int) -> None:
        self._set(step=chosen)

    @property
    def k(self) -> int:
        """The side of the kernel: 1, 3, 5 or 7."""
        return self.state.k

    @k.setter
    def k(self, chosen: int) -> None:
        self._set(k=chosen)

    @property
    def stride(self) -> int:
        """1 or 2."""
        return self.state.stride

    @stride.setter
    def stride(self, chosen: int) -> None:
        self._set(stride=chosen)

    @property
    def pad(self) -> str:
        """``"same"`` or ``"none"``."""
        return self.state.pad

    @pad.setter
    def pad(self, chosen: str) -> None:
        self._set(pad=chosen)

    @property
    def batch(self) -> int:
        """The mini-batch size of the real layer."""
        return self.state.batch

    @batch.setter
    def batch(self, chosen: int) -> None:
        self._set(batch=chosen)

    @property
    def how(self) -> str:
        """How much is lowered at once: an algorithm of the plan."""
        return self.state.how

    @how.setter
    def how(self, chosen: str) -> None:
        self._set(how=chosen)

    @property
    def network(self) -> Network:
        """The network of the real layer; set it by name, and its first layer that is drawn."""
        return self.state.network

    @network.setter
    def network(self, chosen: str | Network) -> None:
        self._set(**panel.first(chosen if isinstance(chosen, Network) else network_of(chosen)))

    @property
    def layer(self) -> str:
        """The real layer, by its name in the network."""
        return self.state.layer

    @layer.setter
    def layer(self, chosen: str) -> None:
        self._set(**panel.layer(self.state.network, chosen))

    @property
    def pin(self) -> str:
        """What is pinned: ``"pixel:12"``, ``"place:5"``, or nothing."""
        return self.state.pin

    @pin.setter
    def pin(self, chosen: str | None) -> None:
        self._set(pin="" if chosen is None else chosen)

    @property
    def counts(self) -> bool:
        """Whether the table shows how often each pixel is written."""
        return self.state.counts

    @counts.setter
    def counts(self, chosen: bool) -> None:
        self._set(counts=flag("counts", chosen))

    def write(self) -> Written:
        """Lower one image of the layer with memlab's kernel, and measure what that takes.

        Raises:
            InputError: so much memory is not free, or only a tile is lowered at a time.
        """
        done = self._written()
        self._set(done=done)
        return done

    def _set(self, **changes: Any) -> None:
        self._change(**changes)
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
        place = f"{state.network.name}.{state.layer}"
        settings = (place, state.k, state.stride, state.pad, state.batch, state.how, found.step)
        return Picture(
            svg=drawn.render(words.title(state), standalone=stored),
            text=twin.write(found),
            shown=found.step,
            state="|".join(map(str, (*settings, found.written))),
            says=self._says(found),
            status=words.done(state),
            code=panel.code(state),
        )

    def refresh(self, error: str = "", answer: int = 0) -> None:
        super().refresh(error, answer)
        self._told = self.state

    def _says(self, found: Rows) -> str:
        """What has been pinned, where nothing else has changed; else what is written."""
        state = found.state
        if state.dragging:
            return ""
        pinned = self._told and state.pin != self._told.pin
        return words.pins(found) if pinned and found.pin else words.spoken(found)

    def frames(self) -> list[str]:
        """One picture for each step, from no copy to all of them."""
        stored = replace(self.state.stored(), width=WIDEST)
        states = [replace(stored, step=step) for step in range(stored.count + 1)]
        return [picture.draw(rows(state)).render(words.title(state)) for state in states]

    def act(self, name: str, value: Any, dragging: bool) -> None:
        if name == "step":
            self._step(stop(name, value, 0, self.state.count), dragging)
        elif name == "batch":
            power = stop(name, value, 0, len(BATCHES) - 1)
            self._change(batch=BATCHES[power], dragging=dragging)
        elif name in ("k", "stride"):
            self._change(**{name: typed(name, value, usual=1)})
        elif name in ("pad", "how"):
            self._change(**{name: str(value)})
        elif name == "counts":
            self._change(counts=value is True)
        elif name == "layer":
            network, _, layer = str(value).partition("/")
            self._change(**panel.layer(self._network(network), layer))
        elif name == "start":
            self.state = self._fresh(replace(self._start, width=self.state.width))
        elif name in panel.PRESETS:
            self._change(**panel.preset(name))
        elif name == "write" or (name == "key" and value == "KeyR"):
            self._change(done=self._written())
        elif name == "key":
            self.state = keys.press(self.state, str(value))
        elif name == "width":
            self.state = replace(self.state, width=width(value), moving=False)
        elif name == "column" or name.startswith(("pixels-", "places-")):
            self.state = keys.point(self.state, name, typed("place", value, usual=0, least=0))

    # -- inside -----------------------------------------------------------------------------

    def _network(self, name: str) -> Network:
        """A network of the zoo, or the one that was given."""
        return self.state.network if name == self.state.network.name else network_of(name)

    def _step(self, step: int, dragging: bool) -> None:
        """The last copy is seen to come where it is one more than before."""
        if not self.state.count:
            return
        moving = step == self.rows.step + 1 and not dragging
        self._change(step=step, moving=moving, dragging=dragging)

    def _written(self) -> Written:
        if self.rows.tiled:
            raise InputError(say("write.tile"))
        if not self.rows.count:
            return Written(0, 0, 0.0)
        return write(self.state.node, say("write.otherwise"))

    def _change(self, **changes: Any) -> None:
        self.state = self._fresh(moved(self.state, **changes))

    def _fresh(self, state: State) -> State:
        """The same with what is free on this machine now."""
        free = devices.free_memory() // STEP * STEP if self.live else None
        return replace(state, free=free)

    def __repr__(self) -> str:
        return f"<{say('name').lower()}: {words.title(self.state)}>"
