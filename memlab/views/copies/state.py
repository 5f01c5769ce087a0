"""What the view of the shifted copies is asked to show: one frozen value, and ways to change it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from memlab.errors import InputError, pick, shorten, whole
from memlab.networks.graph import Network, Node
from memlab.views.copies import layer as layers
from memlab.views.copies import windows
from memlab.views.copies.write import Written

BATCHES = tuple(2**power for power in range(8))
"""The batches that the slider stops at."""
MOST = 1_000_000
"""The largest batch that is drawn."""
WAYS = ("im2col-batch", "im2col-image", "im2col-tile", "direct")
"""How a layer is lowered, from the most memory to none: algorithms of the plan."""
PIXELS, PLACES = "pixel", "place"
"""What can be pinned: a pixel of the input, or a place of the output."""


@dataclass(frozen=True)
class State:
    """Everything that a picture depends on.

    ``layer`` names a convolution of ``network``, drawn with ``k``, ``stride`` and ``pad``, which
    are its own or made up. ``step`` is how many copies are written. ``pin`` is ``""``,
    ``"pixel:12"`` or ``"place:5"``. ``done`` is the copy that was written for real, and ``free``
    what this machine had left a moment ago. ``moving`` says that the last copy has just come,
    ``dragging`` that a slider is held.
    """

    network: Network
    layer: str
    k: int
    stride: int
    pad: str
    batch: int = 128
    how: str = "im2col-batch"
    step: int = 0
    pin: str = ""
    counts: bool = False
    done: Written | None = None
    free: int | None = None
    width: int = 820
    moving: bool = False
    dragging: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", kernel(self.k))
        object.__setattr__(self, "stride", _one_of("stride", self.stride, windows.STRIDES))
        pick("pad", self.pad, dict.fromkeys(windows.PADS))
        pick("way of lowering", self.how, dict.fromkeys(WAYS))
        object.__setattr__(self, "batch", whole("batch", self.batch, most=MOST))
        self._check_step()
        _ = self.node  # a kernel wider than the padded image is refused here
        if not _is_pin(self.pin, self.lowered.places):
            pixels, places = windows.SIZE**2 - 1, self.lowered.places**2 - 1
            raise InputError(
                f"pin must be 'pixel:0' to 'pixel:{pixels}' or 'place:0' to 'place:{places}', "
                f"got {shorten(self.pin)}; try 'pixel:0'."
            )

    def _check_step(self) -> None:
        step = whole("step", self.step, 0)
        if step > self.k**2:
            raise InputError(f"{self.k} x {self.k} has {self.k**2} copies, got step {step}; "
                             f"try {self.k**2}.")  # fmt: skip
        object.__setattr__(self, "step", step)

    @property
    def own(self) -> Node:
        """The layer as the network has it."""
        return self.network.by_name[self.layer]

    @property
    def node(self) -> Node:
        """The layer that is drawn."""
        return layers.changed(self.own, self.k, self.stride, self.pad)

    @property
    def made_up(self) -> bool:
        """Whether the network has no such layer."""
        return self.node.layer != self.own.layer

    @property
    def lowered(self) -> windows.Lowered:
        """The small picture under this kernel."""
        return windows.lower(self.k, self.stride, self.pad)

    @property
    def workspace(self) -> layers.Workspace:
        """What the plan of the layer has beside its operands."""
        return layers.workspace(self.node, self.how)

    @property
    def count(self) -> int:
        """How many copies are made in all."""
        return len(self.lowered.copies) if self.workspace.parts else 0

    def stored(self) -> State:
        """The same without what only this machine and this moment know."""
        done = self.done and replace(self.done, seconds=0.0)
        return replace(self, done=done, free=None, moving=False, dragging=False)


def kernel(given: object) -> int:
    """The side of a kernel that is drawn.

    Raises:
        InputError: it is none.
    """
    return _one_of("k", given, windows.KERNELS)


def find(network: Network, name: object) -> Node:
    """A convolution of a network.

    Raises:
        InputError: no such layer, one that is no convolution, or one with a dilation.
    """
    nodes = {node.name: node for node in layers.convolutions(network)}
    if not nodes:
        raise InputError(f"{network.title} has no convolution; try vgg16.")
    node = pick("convolution", name, nodes)
    if layers.conv(node).dilation > 1:
        raise InputError(f"{name} has dilation {layers.conv(node).dilation}, and 1 is drawn; "
                         "try another layer.")  # fmt: skip
    return node


def settings(node: Node) -> dict[str, Any]:
    """The kernel, stride and padding of a layer: ``{"k": 3, "stride": 1, "pad": "same"}``.

    Raises:
        InputError: the layer has others than are drawn.
    """
    layer = layers.conv(node)
    drawn = layer.kernel in windows.KERNELS and layer.stride in windows.STRIDES
    for pad in windows.PADS:
        found = {"k": layer.kernel, "stride": layer.stride, "pad": pad}
        if drawn and layers.changed(node, **found).layer == layer:
            return found
    raise InputError(
        f"{node.name} is {layer.describe()}, and k 1, 3, 5, 7, stride 1, 2 and same or no padding "
        "are drawn; give k, stride and pad."
    )


def moved(state: State, **changes: Any) -> State:
    """The state after a change. All copies stay all; what was measured goes with its layer."""
    k = changes["k"] = kernel(changes.get("k", state.k))
    if "step" not in changes:
        changes["step"] = k**2 if state.step == state.k**2 else min(state.step, k**2)
    found = replace(state, **{"moving": False, "dragging": False, "pin": "", **changes})
    if (found.node, found.how) != (state.node, state.how) and "done" not in changes:
        found = replace(found, done=None)
    stays = "pin" not in changes and _is_pin(state.pin, found.lowered.places)
    return replace(found, pin=state.pin) if stays else found


def _is_pin(given: object, places: int) -> bool:
    """Whether there is such a pixel or place; nothing pinned is a pin too."""
    if not isinstance(given, str):
        return False
    found = re.fullmatch(rf"({PIXELS}|{PLACES}):([0-9]{{1,2}})|", given)
    if not found or not found[0]:
        return bool(found)
    return int(found[2]) < (windows.SIZE if found[1] == PIXELS else places) ** 2


def _one_of(name: str, given: object, allowed: tuple[int, ...]) -> int:
    value = whole(name, given)
    if value not in allowed:
        *most, last = map(str, allowed)
        raise InputError(f"{name} must be {', '.join(most)} or {last}, got {shorten(given)}; "
                         f"try {allowed[len(allowed) // 2]}.")  # fmt: skip
    return value
