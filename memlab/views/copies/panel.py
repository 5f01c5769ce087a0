"""The controls of the shifted copies, its presets, and the line of Python that makes it."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any

from memlab import strings
from memlab.errors import InputError
from memlab.networks.graph import Network, Node
from memlab.studies.memory import network_of
from memlab.views.copies import layer as layers
from memlab.views.copies import windows, words
from memlab.views.copies.state import BATCHES, WAYS, State, find, kernel, settings
from memlab.views.copies.words import say
from memlab.views.widget import Control

if TYPE_CHECKING:
    from memlab.views.copies.view import ShiftedCopies

LAYERS = (
    ("vgg16", "conv1_2"),
    ("vgg16", "conv3_2"),
    ("resnet50", "conv1"),
    ("resnet50", "1.2.conv1"),
)
"""The real layers to choose from: 3 x 3 large and small, 7 x 7 at stride 2, 1 x 1."""
PRESETS: dict[str, tuple[tuple[str, str], dict[str, Any]]] = {
    "surprise": (LAYERS[0], {"stride": 2}),
    "pointwise": (LAYERS[3], {}),
    "break": (LAYERS[0], {"k": 7}),
}
"""Layer, and what is not its own. The batch is the largest, and the whole of it is lowered."""


def layer(network: Network, name: object, **changes: Any) -> dict[str, Any]:
    """The part of a state that a layer decides; all its copies are written.

    Raises:
        InputError: no such convolution, or one with settings that are not drawn.
    """
    node = find(network, name)
    own = changes if {"k", "stride", "pad"} <= changes.keys() else settings(node)
    chosen = own | changes
    step = kernel(chosen["k"]) ** 2
    return {"network": network, "layer": node.name, "step": step, **chosen}


def first(network: Network) -> dict[str, Any]:
    """The same for the first convolution that can be drawn.

    Raises:
        InputError: there is none.
    """
    drawn = [node.name for node in layers.convolutions(network) if own(node)]
    return layer(network, drawn[0] if drawn else None)


def own(node: Node) -> dict[str, Any]:
    """A layer's own kernel, stride and padding; nothing where they are not drawn."""
    try:
        return settings(node)
    except InputError:
        return {}


def preset(name: str) -> dict[str, Any]:
    """What a button changes; the table of counts stays."""
    (network, name), changes = PRESETS[name]
    batch = {"batch": BATCHES[-1], "how": WAYS[0], "pin": ""}
    return layer(network_of(network), name, **changes) | batch


def controls(view: ShiftedCopies) -> list[Control]:
    """Steps, kernel, stride and way in sight, the rest behind the disclosure, then the buttons."""
    state = view.state
    step, count = view.rows.step, view.rows.count
    spoken = say("control.spoken", step=step, count=count)
    kernels = {str(k): words.kernel(k) for k in windows.KERNELS}
    buttons = [
        Control("button", name, _label(name), place="buttons",
                busy=say("control.writing") if name == "write" else "")
        for name in ("start", *PRESETS, "write", "copy")
    ]  # fmt: skip
    return [
        Control("range", "step", _label("step", count=count), step, least=0, most=count,
                spoken=spoken),
        _select("k", str(state.k), kernels),
        _select("stride", str(state.stride), {str(n): str(n) for n in windows.STRIDES}),
        _select("how", state.how, {name: say(f"how.{name}") for name in WAYS}),
        *_more(view),
        *buttons,
    ]  # fmt: skip


def more(view: ShiftedCopies) -> str:
    """The values that the disclosure hides."""
    state = view.state
    values = [words.layer(state), say("batch", batch=f"{state.batch:,}"), words.pad(state.pad)]
    return say("more", values=", ".join(values))


def code(state: State) -> str:
    """The line that makes this view again."""
    values: dict[str, Any] = {"batch": state.batch}
    given = {name: getattr(state, name) for name in ("k", "stride", "pad")}
    usual = own(state.own)
    values |= {name: value for name, value in given.items() if value != usual.get(name)}
    values |= {"how": state.how} if state.how != WAYS[0] else {}
    values |= {"step": state.step} if state.step != state.k**2 else {}
    written = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return f"memlab.views.shifted_copies({state.network.name!r}, {state.layer!r}, {written})"


def _more(view: ShiftedCopies) -> list[Control]:
    state = view.state
    spoken = say("control.batch_spoken", batch=f"{state.batch:,}")
    exponent = min(log2(state.batch), len(BATCHES) - 1.0)
    names = {f"{network}/{name}": _name(network, name) for network, name in LAYERS}
    here = f"{state.network.name}/{state.layer}"
    names[here] = words.layer(state)
    pads = {name: words.pad(name) for name in windows.PADS}
    return [
        _select("layer", here, names, "more"),
        Control("range", "batch", _label("batch"), exponent, "more", least=0,
                most=len(BATCHES) - 1, spoken=spoken),
        _select("pad", state.pad, pads, "more"),
        Control("checkbox", "counts", _label("counts"), state.counts, "more"),
    ]  # fmt: skip


def _name(network: str, name: str) -> str:
    found = network_of(network)
    return f"{found.title} {name}, {words.kernel(layers.conv(found.by_name[name]).kernel)}"


def _label(name: str, **values: object) -> str:
    return strings.get(f"copies.control.{name}", **values)


def _select(name: str, value: str, options: dict[str, str], place: str = "main") -> Control:
    return Control("select", name, _label(name), value, place, tuple(options.items()))
