"""The network-memory view as a widget, and as a value that Python can steer."""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import Any

from memlab import devices, strings, units
from memlab.errors import InputError, flag, known, whole
from memlab.networks.graph import Network
from memlab.views.network import keys, panel, picture, twin, words
from memlab.views.network.layout import WIDEST
from memlab.views.network.rows import Rows, rows
from memlab.views.network.source import network_of, variants
from memlab.views.network.state import STOPS, Budget, State, dragged, moved, released
from memlab.views.widget import Control, Picture, View, stop, typed, width

STEP = 10**7
"""What is free here is read in steps of 10 MB: the last digits never stand still."""


class NetworkMemory(View):
    """Bytes over the operations of one step: the floor and the mountain.

    Set ``network``, ``variant``, ``batch``, ``optimizer``, ``training``, ``format``, ``rule``,
    ``cursor`` or ``guess`` from Python, and the picture follows. ``print(view)`` is the picture
    in words; ``view.rows`` has the exact figures.
    """

    name = "network"
    picture_keys = keys.KEYS

    def __init__(
        self, state: State, networks: tuple[str, ...], live: bool = True, rules: bool = True
    ) -> None:
        self.networks, self.live = networks, live
        self.rules = rules and state.network is not None
        self._own = state.network
        self._told: tuple[int, int] | None = None
        self.state = self._start = self._fresh(state)
        super().__init__()

    # -- from Python ------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """The figures on display, exact."""
        return rows(self.state)

    @property
    def network(self) -> Network | None:
        """The network; set it by name. None where a ledger is shown."""
        return self.state.network

    @network.setter
    def network(self, chosen: str | Network) -> None:
        self._set(subject=self.find(chosen))

    @property
    def variant(self) -> str:
        """The published form of the network."""
        return self.state.network.variant if self.state.network else ""

    @variant.setter
    def variant(self, chosen: str) -> None:
        self._set(subject=self._variant(chosen))

    @property
    def batch(self) -> int:
        """The mini-batch size."""
        return self.state.batch

    @batch.setter
    def batch(self, chosen: int) -> None:
        self._set(batch=chosen)

    @property
    def optimizer(self) -> str:
        """``"sgd"``, ``"momentum"`` or ``"adam"``."""
        return self.state.optimizer

    @optimizer.setter
    def optimizer(self, chosen: str) -> None:
        self._set(optimizer=chosen)

    @property
    def training(self) -> bool:
        """A training step, or inference."""
        return self.state.source.ledger.training

    @training.setter
    def training(self, chosen: bool) -> None:
        self._set(training=flag("training", chosen))

    @property
    def format(self) -> str:
        """The number format of every array, or ``"mixed fp16"`` or ``"mixed bf16"``."""
        return self.state.source.format

    @format.setter
    def format(self, chosen: str) -> None:
        self._set(format=chosen)

    @property
    def rule(self) -> str:
        """The counting rule that is outlined; empty for none."""
        return self.state.rule

    @rule.setter
    def rule(self, chosen: str | None) -> None:
        self._set(rule="" if chosen is None else chosen)

    @property
    def cursor(self) -> int | None:
        """The operation that is cut, counted from 1; None for the peak."""
        return None if self.state.cursor is None else self.state.cursor + 1

    @cursor.setter
    def cursor(self, chosen: int | None) -> None:
        self._set(cursor=None if chosen is None else whole("operation", chosen) - 1)

    @property
    def guess(self) -> int | None:
        """The guess at the peak in bytes; a text such as ``"1.4 GB"`` is understood."""
        return self.state.guess

    @guess.setter
    def guess(self, chosen: int | str | None) -> None:
        self._set(guess=None if chosen is None else units.parse(chosen))

    def _set(self, **changes: Any) -> None:
        self.state = self._next(**changes)
        self.refresh()

    # -- for the widget ---------------------------------------------------------------------

    def controls(self) -> list[Control]:
        return panel.controls(self)

    def more(self) -> str:
        return panel.more(self)

    @property
    def exponent(self) -> float:
        """Where the slider stands: the power of two that the batch is, or lies beside."""
        return min(log2(self.state.batch), len(STOPS) - 1.0)

    def draw(self, stored: bool) -> Picture:
        state = replace(self.state.stored(), width=WIDEST) if stored else self.state
        found = rows(state)
        ledger = found.source.ledger
        drawn = picture.draw(found, "" if stored else str(self.model_id))
        mode = ledger.optimizer if ledger.training else "inference"
        return Picture(
            svg=drawn.render(words.title(state), standalone=stored),
            text=twin.write(found),
            shown=round(self.exponent),
            state=f"{ledger.network}|{state.batch}|{mode}|{found.peak.nbytes}",
            says=self._says(found),
            code=panel.code(self),
        )

    def refresh(self, error: str = "", answer: int = 0) -> None:
        super().refresh(error, answer)
        self._told = self.state.described

    def _says(self, found: Rows) -> str:
        """News after a change of the bytes, else what the keyboard has come to."""
        if self.state.dragging:
            return ""
        here = keys.says(found) if self.state.described == self._told else ""
        return here or twin.spoken(found)

    def frames(self) -> list[str]:
        """One picture for each batch that the slider stops at, outlining the one before it."""
        found, last = [], None
        for batch in STOPS:
            state = replace(self.state.stored().alone(), batch=batch, width=WIDEST)
            shown = rows(replace(state, before=last))
            found.append(picture.draw(shown).render(words.title(state)))
            last = state
        return found

    def act(self, name: str, value: Any, dragging: bool) -> None:
        state = self.state
        if name == "batch":
            self._slide(stop(name, value, 0, len(STOPS) - 1), dragging)
        elif name == "batch_number":
            self.state = self._next(batch=typed("batch", value, usual=32))
        elif name == "network":
            self.state = self._next(subject=self.find(str(value)))
        elif name == "variant":
            self.state = self._next(subject=self._variant(str(value)))
        elif name == "training":
            self.state = self._next(training=value == "training")
        elif name in ("optimizer", "format", "rule"):
            self.state = self._next(**{name: str(value)})
        elif name == "start":
            self.state = self._fresh(replace(self._start, width=state.width, guess=state.guess))
        elif name in panel.PRESETS:
            self.state = self._fresh(panel.preset(name, state))
        elif name == "width":
            self.state = replace(state, width=width(value))
        elif name == "operation":
            self.state = replace(state, cursor=stop(name, value, 0, state.source.operations - 1))
        elif name in ("key", "choose"):
            self.state = keys.press(self.rows, str(value))

    # -- inside -----------------------------------------------------------------------------

    def find(self, chosen: str | Network) -> Network:
        """A network by name, or one that was given.

        Raises:
            InputError: a name that this view does not offer.
        """
        if isinstance(chosen, Network):
            return chosen
        name = known("network", chosen, self.networks)
        own = self._own if self._own is not None and name == self._own.name else None
        return own or network_of(name)

    def _variant(self, chosen: str) -> Network:
        network = self.state.network
        if network is None or not variants(network):
            raise InputError(f"{self.state.source.label} has no variants; leave variant as it is.")
        return network_of(network.name, known("variant", chosen, variants(network)))

    def _next(self, **changes: Any) -> State:
        was = self.rows.scales.plot
        state = self._fresh(moved(self.state, was=was, **changes))
        # a batch that the plan does not hold for is refused here, before it is shown
        return replace(state, was=None) if rows(state).scales.plot == was else state

    def _slide(self, power: int, dragging: bool) -> None:
        batch = STOPS[power]
        if dragging:
            self.state = dragged(self.state, batch, self.rows.scales)
        elif self.state.dragging:
            was = self.rows.scales.plot
            self.state = self._fresh(replace(released(self.state, batch), was=was))
        else:
            self.state = self._next(batch=batch)

    def _fresh(self, state: State) -> State:
        """The same with what is free on this machine now."""
        fixed = tuple(found for found in state.budgets if not found.live)
        if not self.live:
            return replace(state, budgets=fixed)
        here = Budget("free", devices.free_memory() // STEP * STEP, live=True)
        return replace(state, budgets=(*fixed, here))

    def __repr__(self) -> str:
        return f"<{strings.get('network.name').lower()}: {words.title(self.state)}>"
