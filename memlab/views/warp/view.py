"""The view of a warp as a widget, and as a value that Python can steer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memlab.errors import InputError, shorten
from memlab.networks.graph import Network
from memlab.views.network.source import network_of
from memlab.views.warp import panel, picture, twin, words
from memlab.views.warp.rows import Rows, rows
from memlab.views.warp.state import State, moved, start
from memlab.views.warp.threads import ORDERS, ROW
from memlab.views.widget import Control, Picture, View, stop, typed


class WarpMemory(View):
    """The memory that moves while one warp of a lowering loads and stores.

    Set ``order``, ``stride`` or ``warp`` from Python, and the picture follows. ``print(view)`` is
    the picture in words; ``view.rows`` has the exact figures.
    """

    name = "warp"

    def __init__(self, state: State) -> None:
        self.state = state
        super().__init__()

    # -- from Python ------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """The figures on display, exact."""
        return rows(self.state)

    @property
    def order(self) -> str:
        """Where neighbouring threads go: ``"row"`` or ``"column"``."""
        return self.state.order

    @order.setter
    def order(self, chosen: str) -> None:
        self._set(order=chosen)

    @property
    def stride(self) -> int:
        """1, 2 or 4."""
        return self.state.stride

    @stride.setter
    def stride(self, chosen: int) -> None:
        self._set(stride=chosen)

    @property
    def warp(self) -> int:
        """The number of the warp, counted from 0."""
        return self.state.warp

    @warp.setter
    def warp(self, chosen: int) -> None:
        self._set(warp=chosen)

    def _set(self, **changes: Any) -> None:
        self.state = moved(self.state, **changes)
        self.refresh()

    # -- for the widget ---------------------------------------------------------------------

    def controls(self) -> list[Control]:
        return panel.controls(self.state)

    def draw(self, stored: bool) -> Picture:
        state, found = self.state, self.rows
        drawn = picture.draw(found, "" if stored else str(self.model_id))
        cost = (found.load.moved, found.store.moved)
        return Picture(
            svg=drawn.render(f"{words.title(state)}. {words.spoken(found)}", standalone=stored),
            text=twin.write(found),
            shown=state.warp,
            state="|".join(map(str, (state.order, state.stride, state.warp, *cost))),
            says=words.spoken(found),
            code=panel.code(state),
        )

    def frames(self) -> list[str]:
        """One picture for each order."""
        return [WarpMemory(moved(self.state, order=order)).svg() for order in ORDERS]

    def act(self, name: str, value: Any, dragging: bool) -> None:
        if name == "order":
            self.state = moved(self.state, order=str(value))
        elif name == "stride":
            self.state = moved(self.state, stride=typed("stride", value, usual=2))
        elif name == "warp":
            self.state = replace(self.state, warp=stop(name, value, 0, self.state.last))
        elif name == "warp_number":
            self.state = replace(self.state, warp=typed("warp", value, usual=0, least=0))

    def __repr__(self) -> str:
        return f"<{words.say('name').lower()}: {words.which(self.state)}>"


def warp_memory(
    network: str | Network = "vgg16",
    layer: str = "conv1_2",
    order: str = ROW,
    *,
    stride: int | None = None,
    warp: int | None = None,
) -> WarpMemory:
    """The loads and stores of one warp that lowers an image, on the lines of memory.

    Args:
        network: a name of ``memlab.zoo``, or a network of yours.
        layer: the name of a convolution in it.
        order: where neighbouring threads go in the lowered matrix, along a ``"row"`` or down a
            ``"column"``.
        stride: 1, 2 or 4; the layer's own if not given.
        warp: its number, counted from 0; one that no padding reaches if not given.

    Raises:
        InputError: a value that is not allowed.
    """
    if isinstance(network, str):
        network = network_of(network)
    if not isinstance(network, Network):
        raise InputError(f"give a network or its name, got {shorten(network)}; try 'vgg16'.")
    return WarpMemory(start(network, layer, order, stride, warp))
