"""View of lowering: the k² shifted copies of a small picture, and the bytes of a real layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from memlab import units
from memlab.errors import InputError, printed, true_or_false
from memlab.pictures.draw.page import Page
from memlab.pictures.live.setting import Checkbox, Range, Select, Setting, State, once
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.live.widget import typed
from memlab.pictures.memory.step_memory import free_here
from memlab.pictures.shifted_copies.cells import PITCH
from memlab.pictures.shifted_copies.lowering import (
    BATCHES,
    MOST,
    WAYS,
    Lowering,
    Written,
    amount,
    conv,
    convolutions,
    find,
    of_layer,
    settings,
    times,
    write,
)
from memlab.pictures.shifted_copies.page import CARD, CopiesPageInputs, page_of
from memlab.pictures.shifted_copies.small_picture import (
    KERNELS,
    PADS,
    PIXEL,
    PLACE,
    STRIDES,
    SmallPicture,
    text_of,
)
from memlab.pictures.values.network_setting import network_setting
from memlab.pictures.values.step_recipe import network_of

MOVES = {"ArrowLeft": (0, -1), "ArrowRight": (0, 1), "ArrowUp": (-1, 0), "ArrowDown": (1, 0)}
LAYERS = (
    ("vgg16", "conv1_2"),
    ("vgg16", "conv3_2"),
    ("resnet50", "conv1"),
    ("resnet50", "1.2.conv1"),
)
"""The real layers to choose from: 3 x 3 large and small, 7 x 7 at stride 2, 1 x 1."""


def _first(now: State) -> str:
    """Return the name of the layer that is shown first: the lesson's, or the first one that can be
    drawn."""
    nodes = convolutions(now.network)
    names = [node.name for node in nodes if settings(node)]
    usual = [name for network, name in LAYERS if network == now.network.name]
    return [*usual, *names][0] if names else find(now.network, None).name


def _own(name: str) -> Callable[[State], Any]:
    """Return a function that reads ``k``, ``stride`` or ``pad`` of the layer; None where it is not
    drawn."""
    return lambda now: settings(find(now.network, now.layer)).get(name)


@once
def _lowering(now: State) -> Lowering:
    """Return the lowering that a state of the view shows."""
    names = ("k", "stride", "pad")
    given = {name: value for name in names if (value := getattr(now, name)) is not None}
    chosen = of_layer(now.network, now.layer, given)
    step = chosen["k"] ** 2 if now.written is None else min(now.written, chosen["k"] ** 2)
    return Lowering(**{**chosen, "step": step}, batch=now.batch, how=now.how)


def _layers(now: State) -> dict[str, str]:
    """Return the offered layers by ``'network/layer'``, with the one that is shown."""
    layers = {}
    for network, name in LAYERS:
        built = network_of(network)
        kernel = text_of("kernel", k=conv(built.by_name[name]).kernel)
        layers[f"{network}/{name}"] = f"{built.title} {name}, {kernel}"
    return layers | {f"{now.network.name}/{now.layer}": _lowering(now).layer_name}


def _chosen(now: State, value: str) -> dict[str, Any]:
    """Return the settings of the layer chosen in the menu, ``'network/layer'``."""
    network, _, layer = value.partition("/")
    return {"network": now.network if network == now.network.name else network, "layer": layer}


def _preset(at: int, **changes: Any) -> Mapping[str, Any]:
    """Return the settings of an offered layer, with some changed."""
    return dict(zip(("network", "layer"), LAYERS[at], strict=True)) | changes


class ShiftedCopies(View[Lowering]):
    """Copies that lowering writes: k² of the input, on a small picture and in bytes of a layer.

    Set ``step``, ``k``, ``stride``, ``pad``, ``batch``, ``how``, ``network``, ``layer`` or ``pin``
    from Python, and the picture follows. ``print(view)`` is the picture in words; ``view.rows`` has
    the exact figures, ``view.write()`` lowers one image and measures it.

    >>> view = memlab.views.shifted_copies("vgg16", "conv1_2", batch=128)
    >>> view.rows.source, view.rows.total
    (1644167168, 14797504512)
    """

    name, made_by, widest = "copies", "shifted_copies", 820
    positional = ("network", "layer", "batch", "k", "stride", "pad", "how")
    picture_keys = (*MOVES, "Home", "End", "Enter", "Escape", "KeyR")
    presets: ClassVar = {
        "surprise": _preset(0, stride=2),
        "pointwise": _preset(3),
        "break": _preset(0, k=7),
    }
    made_of: ClassVar = ("network", "layer", "k", "stride", "pad", "how")

    network = network_setting(
        doc="a name of ``memlab.zoo``, or a network of yours; ``'vgg16'`` if not given",
        default=lambda now: network_of("vgg16"),
    )
    layer: Setting[str] = Setting(
        doc="the name of a convolution in it; ``'conv1_2'`` of VGG-16, or its first, if not given",
        default=_first,
        follows=["network"],
        code="plain",
    )
    step = Range(
        0,
        lambda now: _lowering(now).count,
        doc="how many copies are written; all of them if not given",
        default=None,
        get=lambda now: _lowering(now).copies,
        put=lambda now, step: {"written": None if step == _lowering(now).count else step},
        code=lambda now: now.written is not None,
        when=lambda now: _lowering(now).count > 0,
    )
    written: Setting[int | None] = Setting(
        doc="the same, or None for all", default=None, argument=False
    )
    k = Select(
        lambda now: {k: text_of("kernel", k=k) for k in KERNELS},
        doc="the side of the kernel, 1, 3, 5 or 7; the layer's own if not given",
        default=_own("k"),
        follows=["network", "layer"],
    )
    stride = Select(
        STRIDES,
        doc="1 or 2; the layer's own if not given",
        default=_own("stride"),
        follows=["network", "layer"],
    )
    how = Select(
        lambda now: {name: text_of(f"how.{name}") for name in WAYS},
        doc="how much is lowered at once: ``'im2col-batch'``, ``'im2col-image'``, "
        "``'im2col-tile'`` or ``'direct'`` for nothing",
        default=WAYS[0],
        what="way of lowering",
    )
    real = Select(
        _layers,
        doc="the real layer by network and name: ``'vgg16/conv1_2'``",
        get=lambda now: f"{now.network.name}/{now.layer}",
        put=_chosen,
        argument=False,
        place="more",
        code="never",
        brief=lambda now: _lowering(now).layer_name,
    )
    batch = Range(
        1, MOST, doc="the mini-batch size", default=128, stops=BATCHES, place="more", code="always"
    )
    pad = Select(
        lambda now: {name: text_of(name) for name in PADS},
        doc="``'same'`` or ``'none'``; the layer's own if not given",
        default=_own("pad"),
        follows=["network", "layer"],
        place="more",
    )
    numbers = Checkbox(doc="whether all numbers are shown", argument=False, stays=True, key="KeyN")
    pin: Setting[str] = Setting(
        doc="what is pinned: ``'pixel:12'``, ``'place:5'``, or nothing",
        default="",
        check=printed,  # settle says where that is no place of the picture
        argument=False,
    )
    done: Setting[Written | None] = Setting(
        doc="one image, as it was written", argument=False, follows=made_of
    )
    free = Setting(
        doc="also show what is free on this machine; never in stored pictures",
        default=True,
        check=lambda given: true_or_false("free", given),
        code="never",
        fixed=True,
    )

    # -- what is shown ----------------------------------------------------------------------

    def help(self) -> str:
        """Help below the picture, but none with a single control: there the lesson says what to
        do."""
        return "" if len(self.state.only) == 1 else super().help()

    def study(self, now: State) -> Lowering:
        lowering = _lowering(now)
        _ = lowering.node  # a kernel wider than the padded image is refused here
        return lowering

    def reconcile(self, new: State, was: State | None) -> State:
        small = self.rows_of(new).small
        try:
            small.parse(new.pin)
        except InputError:
            if was is None or new.pin != was.pin:
                raise
            return new.replace(pin="")  # it goes with its place
        return new

    def compose(self, scene: PageState) -> Page:
        now, lowering = scene.now, self.rows_of(scene.now)
        done = now.done if scene.live or not now.done else replace(now.done, seconds=0.0)
        budgets = (CARD, *(free_here() if scene.live and now.free else []))
        pin, moving = lowering.small.parse(now.pin), scene.news and self._one_more_copy(scene)
        before = self.rows_of(scene.previous) if scene.previous else None
        return page_of(CopiesPageInputs(lowering, pin, done, budgets, moving, scene.width, before,
                             now.numbers, not now.only))  # fmt: skip

    def _one_more_copy(self, scene: PageState) -> bool:
        """Return True if exactly one more copy is written than in the scene before."""
        was, now = scene.previous, scene.now
        if was is None or scene.dragging or was.replace(written=now.written) != now:
            return False
        return self.rows_of(was).copies + 1 == self.rows_of(now).copies

    def test_state(self, now: State) -> str:
        lowering = self.rows_of(now)
        place = f"{now.network.name}.{now.layer}"
        chosen = (
            place,
            lowering.k,
            lowering.stride,
            lowering.pad,
            lowering.batch,
            lowering.how,
            lowering.copies,
        )
        return "|".join(map(str, (*chosen, lowering.written)))

    def says(self, scene: PageState) -> str:
        now, lowering = scene.now, self.rows_of(scene.now)
        pinned = " ".join(lowering.pinned(lowering.small.parse(now.pin)))
        if scene.previous and scene.previous.pin != now.pin and pinned:
            return pinned
        if not lowering.count:
            return f"{lowering.headline}. {units.exact(lowering.total)}."
        counter = text_of("head.counter", step=lowering.copies, count=lowering.count)
        total = text_of("head.of", total=amount(lowering.total))
        factor = text_of("head.times", now=times(lowering.now)) + text_of("head.input")
        news = f"{lowering.headline}. {counter}: {amount(lowering.written)} {total}, {factor}."
        fits = [lowering.verdict(room) for room in (CARD, *(free_here() if now.free else []))]
        return " ".join([news, *(text for text, refused in fits if refused)])

    def fact(self, scene: PageState) -> str:
        return str(scene.now.pin)

    def status(self, scene: PageState) -> str:
        return scene.now.done.text() if scene.now.done else ""

    # -- what is done -----------------------------------------------------------------------

    def buttons(self, now: State) -> Mapping[str, str]:
        return {name: name for name in ("start", *self.presets, "write", "copy")}

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        small = self.rows_of(now).small
        if name == "write" or (name, value) == ("key", "KeyR"):
            return now.replace(done=self._write(now))
        if name == "key":
            return now.replace(pin=_pin_after_key(small, now.pin, str(value)))
        number, (kind, _, row) = typed("place", value, usual=0, least=0), name.partition("-")
        if kind == "places":  # a row of places in copies that have a free cell between them
            column = number % PITCH
            number = typed("row", row, usual=0, least=0) * small.places + column
            if column >= small.places:
                return None
        kind = {"places": PLACE, "column": PLACE, PIXEL: PIXEL}.get(kind, "")
        pin = small.parse(f"{kind}:{number}") if kind else None
        return now.replace(pin=pin.name) if pin else None

    def write(self) -> Written:
        """Lower one image of the layer with memlab's kernel, and measure its bytes and seconds.

        Raises:
            InputError: so much memory is not free, or only a tile is lowered at a time.
        """
        done = self._write(self.state)
        self._set(done=done)
        return done

    def _write(self, now: State) -> Written:
        """Lower one image for a state of the view; nothing is run where no copy is made."""
        lowering = self.rows_of(now)
        if lowering.tiled:
            raise InputError(text_of("write.tile"))
        if not lowering.count:
            return Written(0, 0, 0.0)
        return write(lowering.node, text_of("write.otherwise"))


def _pin_after_key(small: SmallPicture, pinned: str, key: str) -> str:
    """Return the pin after a key: moved, first or last, pixel or place, or none."""
    if key == "Escape":
        return ""
    pin = small.parse(pinned)
    if pin is None:
        kind = PLACE if key == "Enter" else PIXEL
        size = small.size(kind)
        return f"{kind}:{size // 2 * size + size // 2}"  # in the middle, where the letter is
    if key == "Enter":
        kind, number = small.opposite(pin)
        return f"{kind}:{number}"
    size, by = small.size(pin.kind), MOVES.get(key, (0, 0))
    row, column = (min(max(at, 0), size - 1) for at in (pin.row + by[0], pin.column + by[1]))
    number = {"Home": 0, "End": size**2 - 1}.get(key, row * size + column)
    return f"{pin.kind}:{number}"


shifted_copies = maker(ShiftedCopies)
