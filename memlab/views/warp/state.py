"""What the view of a warp is asked to show: one frozen value, and the way to change it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from memlab.errors import InputError, pick, shorten, whole
from memlab.networks.graph import Network, Node
from memlab.views.copies.layer import conv
from memlab.views.copies.state import find
from memlab.views.warp import threads
from memlab.views.warp.threads import ORDERS, ROW, Thread

STRIDES = (1, 2, 4)


@dataclass(frozen=True)
class State:
    """A layer of a network, drawn with its own stride or with another; how its threads are
    numbered; and which of its warps is shown, counted from 0."""

    network: Network
    layer: str
    order: str = ROW
    stride: int = 1
    warp: int = 0

    def __post_init__(self) -> None:
        pick("order", self.order, dict.fromkeys(ORDERS))
        stride = whole("stride", self.stride)
        if stride not in STRIDES:
            raise InputError(f"stride must be 1, 2 or 4, got {shorten(self.stride)}; try 2.")
        object.__setattr__(self, "stride", stride)
        warp = whole("warp", self.warp, least=0)
        if warp > self.last:
            raise InputError(f"the last of {self.last + 1:,} warps is {self.last:,}, got {warp:,}; "
                             f"try {self.last:,}.")  # fmt: skip
        object.__setattr__(self, "warp", warp)

    @property
    def own(self) -> Node:
        """The layer as the network has it.

        Raises:
            InputError: no such convolution.
        """
        return find(self.network, self.layer)

    @property
    def node(self) -> Node:
        """The layer that is drawn."""
        own = self.own
        layer = replace(conv(own), stride=self.stride)
        return replace(own, layer=layer, shape=layer.output(*own.input_shapes))

    @property
    def last(self) -> int:
        """The number of the last warp."""
        return threads.warps(self.node, self.order) - 1

    @property
    def threads(self) -> tuple[Thread, ...]:
        """The threads of the warp."""
        return threads.threads(self.node, self.order, self.warp)


def start(network: Network, layer: str, order: str = ROW, stride: int | None = None,
          warp: int | None = None) -> State:  # fmt: skip
    """A state; where no warp is asked for, one that no padding reaches.

    Raises:
        InputError: a value that is not allowed.
    """
    own = conv(find(network, layer)).stride
    state = State(network, layer, order, own if stride is None else stride)
    return replace(state, warp=inner(state) if warp is None else warp)


def moved(state: State, **changes: Any) -> State:
    """The state after a change. Another order or stride makes other warps: one that no padding
    reaches is shown then.

    Raises:
        InputError: a value that is not allowed.
    """
    found = replace(state, **{"warp": 0} | changes)
    return found if "warp" in changes else replace(found, warp=inner(found))


def inner(state: State) -> int:
    """A warp that no padding reaches, where the image is large enough."""
    return min(threads.inner(state.node, state.order), state.last)
