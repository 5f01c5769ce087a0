"""The controls of the view of a warp, and the line of Python that makes it."""

from __future__ import annotations

from memlab.views.warp import words
from memlab.views.warp.state import STRIDES, State
from memlab.views.warp.threads import ORDERS
from memlab.views.widget import Control


def controls(state: State) -> list[Control]:
    """Order, stride and warp, then the button."""
    orders = tuple((order, _label(order)) for order in ORDERS)
    strides = tuple((str(stride), str(stride)) for stride in STRIDES)
    spoken = _label("spoken", warp=f"{state.warp:,}", last=f"{state.last:,}")
    return [
        Control("select", "order", _label("order"), state.order, options=orders),
        Control("select", "stride", _label("stride"), str(state.stride), options=strides),
        Control("range", "warp", _label("warp"), state.warp, least=0, most=state.last,
                spoken=spoken),
        Control("number", "warp_number", _label("warp_number"), state.warp, least=0,
                most=state.last, beside=True),
        Control("button", "copy", _label("copy"), place="buttons"),
    ]  # fmt: skip


def code(state: State) -> str:
    """The line that makes this view again."""
    place = f"{state.network.name!r}, {state.layer!r}, {state.order!r}"
    return f"memlab.views.warp_memory({place}, stride={state.stride}, warp={state.warp})"


def _label(name: str, **values: object) -> str:
    return words.say(f"control.{name}", **values)
