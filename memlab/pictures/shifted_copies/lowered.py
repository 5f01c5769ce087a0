"""A convolution whose input is lowered: the bytes that writes, by the plan of the layer.

Lowering (im2col) writes k² copies of the input, each shifted. ``Lowering`` has the figures of a
real layer, and beside them the same on a small picture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from memlab import strings, units
from memlab.errors import InputError, pick, shorten, whole
from memlab.hardware import DEVICES
from memlab.layers.algorithms import pointwise
from memlab.layers.layer import Node
from memlab.networks.graph import Network
from memlab.pictures.memory.step_memory import Budget
from memlab.pictures.shifted_copies.convolutions import (
    WAYS,
    Workspace,
    amount,
    changed,
    conv,
    find,
    input_bytes,
    input_formula,
    part_of,
    settings,
    times,
    workspace,
)
from memlab.pictures.shifted_copies.small_values import (
    KERNELS,
    LETTER,
    PADS,
    SIZE,
    STRIDES,
    Pin,
    SmallPicture,
    kinds,
    lower,
)
from memlab.pictures.values.number_text import batches, hundredths

BATCHES = tuple(2**power for power in range(8))
"""The batches that a slider stops at."""
MOST = 1_000_000
"""The largest batch that is told."""


def say(key: str, /, **values: object) -> str:
    """A text about lowering."""
    return strings.get(f"copies.{key}", **values)


# -- a layer, lowered -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Lowering:
    """A layer of a network, drawn with its own kernel, stride and padding or with made-up ones, at
    a batch; how much of it is lowered at once; and how many of its copies are written.

    Raises:
        InputError: a value that is not allowed.
    """

    network: Network
    layer: str
    k: int
    stride: int
    pad: str
    batch: int = 128
    how: str = WAYS[0]
    step: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _one_of("k", self.k, KERNELS))
        object.__setattr__(self, "stride", _one_of("stride", self.stride, STRIDES))
        pick("pad", self.pad, dict.fromkeys(PADS))
        pick("way of lowering", self.how, dict.fromkeys(WAYS))
        object.__setattr__(self, "batch", whole("batch", self.batch, most=MOST))
        step = whole("step", self.step, 0)
        if step > self.k**2:
            raise InputError(f"{self.k} x {self.k} has {self.k**2} copies, got step {step}; "
                             f"try {self.k**2}.")  # fmt: skip
        object.__setattr__(self, "step", step)
        _ = self.node  # a kernel wider than the padded image is refused here

    @cached_property
    def own(self) -> Node:
        """The layer as the network has it."""
        return find(self.network, self.layer)

    @cached_property
    def node(self) -> Node:
        """The layer that is lowered."""
        return changed(self.own, self.k, self.stride, self.pad)

    @property
    def made_up(self) -> bool:
        """Whether the network has no such layer."""
        return self.node.layer != self.own.layer

    @cached_property
    def small(self) -> SmallPicture:
        """The small picture under this kernel."""
        return lower(self.k, self.stride, self.pad)

    @cached_property
    def workspace(self) -> Workspace:
        """What the plan of the layer has beside its operands."""
        return workspace(self.node, self.how)

    # -- bytes of the real layer

    @property
    def count(self) -> int:
        """How many copies are made in all."""
        return self.k**2 if self.workspace.parts else 0

    @property
    def copies(self) -> int:
        """How many of them are written."""
        return min(self.step, self.count)

    @property
    def source(self) -> int:
        """Bytes of the input."""
        return input_bytes(self.node, self.batch)

    @property
    def total(self) -> int:
        """Bytes of all copies that are kept at once."""
        return self.workspace.size.at(self.batch)

    @property
    def written(self) -> int:
        """Bytes of the copies that are written."""
        return self.total * self.copies // self.count if self.count else 0

    @property
    def now(self) -> Fraction:
        """How many times the input is written."""
        return Fraction(self.written, self.source)

    @property
    def end(self) -> Fraction:
        """How many times the input it will be."""
        return Fraction(self.total, self.source)

    @property
    def factor(self) -> Fraction:
        """k² Ho Wo / (H W), whatever is kept of the copy at once."""
        _, height, width = self.node.input_shapes[0]
        _, rows, columns = self.node.shape
        return Fraction(self.k**2 * rows * columns, height * width)

    @property
    def pointwise(self) -> bool:
        """Whether the matrix is the input, so that no copy is made."""
        return not self.count and pointwise(conv(self.node))

    @property
    def tiled(self) -> bool:
        """Whether only a tile of output places is lowered at a time."""
        return self.workspace.name == "im2col-tile"

    # -- cells of the small picture

    @property
    def kept(self) -> int:
        """Rows of output places of each small copy that are kept at once."""
        return 1 if self.tiled else self.small.places

    @property
    def cells(self) -> int:
        """Cells of the small matrix that are written and kept."""
        return self.copies * self.kept * self.small.places

    @cached_property
    def zeros(self) -> int:
        """How many of them are added zeros."""
        upto = self.kept * self.small.places
        return sum(copy[:upto].count(None) for copy in self.small.copies[: self.copies])

    @property
    def values(self) -> int:
        """How many of them are values of the input."""
        return self.cells - self.zeros

    @property
    def covered(self) -> Fraction:
        """How many times the small picture they are."""
        return Fraction(self.cells, SIZE**2)

    @property
    def current(self) -> tuple[int, int] | None:
        """(ky, kx) of the copy that was written last."""
        return divmod(self.copies - 1, self.k) if self.copies else None

    def last(self) -> str:
        """The kinds of the cells of that copy, as far as it is kept."""
        return kinds(self.small.copies[self.copies - 1][: self.kept * self.small.places])

    # -- for people and programs

    def text(self) -> str:
        """Layer, last step, bytes, formula and factor, a line each."""
        return "\n".join(lines(self))

    def as_dict(self) -> dict[str, Any]:
        """The settings and the figures."""
        names = (
            "layer", "k", "stride", "pad", "batch", "how", "count", "copies", "source", "total",
            "written", "values", "zeros",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in names}
        return {"network": self.network.name, **found, "factor": float(self.factor)}


def of_layer(network: Network, name: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a layer of a network decides of a ``Lowering``: its own kernel, stride and padding
    where no others are given, and all copies are written.

    Raises:
        InputError: no such convolution, or one whose settings are not drawn and not given.
    """
    node = find(network, name)
    own = settings(node)
    if not own and not {"k", "stride", "pad"} <= given.keys():
        raise InputError(
            f"{node.name} is {conv(node).describe()}, and k 1, 3, 5, 7, stride 1, 2 and same or no "
            "padding are drawn; give k, stride and pad."
        )
    chosen = {**own, **given}
    step = _one_of("k", chosen["k"], KERNELS) ** 2
    return {"network": network, "layer": node.name, "step": step, **chosen}


def _one_of(name: str, given: object, allowed: tuple[int, ...]) -> int:
    value = whole(name, given)
    if value not in allowed:
        *most, last = map(str, allowed)
        raise InputError(f"{name} must be {', '.join(most)} or {last}, got {shorten(given)}; "
                         f"try {allowed[len(allowed) // 2]}.")  # fmt: skip
    return value


# -- in words -------------------------------------------------------------------------------------


def lines(found: Lowering, formulas: bool = True) -> list[str]:
    """What is written of which layer: title, step, bytes, input, formula, factor; without formulas
    for a page that asks for them later."""
    sizes = {"written": units.exact(found.written), "total": units.exact(found.total)}
    source = units.exact(found.source)
    numbers = input_formula(found.node, found.batch)
    told = say("twin.bytes", input=source, **sizes)
    if found.count:
        key = "twin.equal" if found.end == found.factor else "twin.unequal"
        key = key if formulas else "twin.plain"
        told += " " + say(key, now=times(found.now), end=times(found.end),
                          factor=times(found.factor), why=_simple(found))  # fmt: skip
    first = [f"{title(found)}.", last_step(found), told]
    if not formulas:
        return first
    return [
        *first,
        say("twin.input", formula=numbers, input=source),
        formula(found) or say("twin.none"),
        factor_line(found, "twin.factor"),
    ]


def title(found: Lowering) -> str:
    """Layer, kernel, stride, padding, batch, and how much is lowered at once."""
    said = (
        say("kernel", k=found.k),
        say("stride", stride=found.stride),
        say(found.pad),
        say("batch", batch=f"{found.batch:,}"),
        say(f"kept.{found.how if found.count else 'direct'}"),
    )
    return say("title", layer=layer_name(found), settings=", ".join(said))


def layer_name(found: Lowering) -> str:
    """The real layer: ``'VGG-16 conv1_2'``, and that it is made up where it is."""
    name = f"{found.network.title} {found.layer}"
    return say("made_up", layer=name) if found.made_up else name


def last_step(found: Lowering) -> str:
    """What the last step wrote."""
    if not found.count:
        return f"{headline(found)}."
    if found.current is None:
        return say("twin.nothing", count=found.count)
    (ky, kx), copy = found.current, found.last()
    zeros = copy.count("0")
    return say("twin.step", number=found.copies, count=found.count, ky=ky, kx=kx, zeros=zeros,
               values=len(copy) - zeros, shift=found.small.shifted(found.copies - 1))  # fmt: skip


def formula(found: Lowering) -> str:
    """The bytes in symbols and in numbers; empty where there are none."""
    if not found.count:
        return ""
    numbers, total = found.workspace.formula(found.batch), units.exact(found.total)
    return say("twin.formula", symbols=found.workspace.formula(), numbers=numbers, total=total)


def factor_line(found: Lowering, key: str) -> str:
    """k² Ho Wo / (H W) in symbols, in numbers, and its value."""
    exact = (100 * found.factor).denominator == 1
    value = f"{'=' if exact else '≈'} {times(found.factor)}"
    return say(key, symbols="k²·Ho·Wo / (H·W)", numbers=ratio(found), value=value)


def ratio(found: Lowering) -> str:
    """``'3²·222·222 / (224·224)'``."""
    _, height, width = found.node.input_shapes[0]
    _, down, across = found.node.shape
    return f"{found.k}²·{down}·{across} / ({height}·{width})"


def _simple(found: Lowering) -> str:
    """``'3²/1²'`` where the factor is that; else the product in numbers."""
    k, stride = found.k, found.stride
    return f"{k}²/{stride}²" if found.factor == Fraction(k * k, stride * stride) else ratio(found)


def headline(found: Lowering) -> str:
    """What the small picture shows: a finding, not a topic."""
    small, name = found.small, say("kernel", k=found.k)
    if not found.count:
        return say("found.pointwise" if found.pointwise else "found.direct")
    if found.current is None:
        return say("found.nothing")
    if found.copies < found.count:
        shift = small.shifted(found.copies - 1)
        return say("found.copy", number=found.copies, count=found.count, shift=shift)
    if found.tiled:
        return say("found.tile", kernel=name, places=small.places, all=small.places**2)
    if found.k == 1 and found.stride == 1:
        return say("found.one", kernel=name, shift=small.shifted(0))
    every = {"kernel": name, "count": found.count, "places": small.places, "size": SIZE}
    if small.places == SIZE:
        return say("found.all", **every)
    if found.pad == "none" and found.k > 1:
        return say("found.none", **every)
    part = part_of(Fraction(small.places**2, SIZE**2))
    key = "found.stride_one" if found.k == 1 else "found.stride"
    return say(key, stride=found.stride, part=part, **every)


def verdict(found: Lowering, room: Budget) -> tuple[str, bool]:
    """Whether a budget holds the copy and what it would hold; True where it is refused."""
    largest, over = found.workspace.largest(room.nbytes), found.total > room.nbytes
    key = {None: "always", 0: "none"}.get(largest, "refused" if over else "fits")
    need, most = amount(found.total), batches(largest or 0)
    said = say(f"verdict.{'live_' if room.live else ''}{key}", name=card(room.name),
               free=hundredths(room.nbytes), need=need, largest=most)  # fmt: skip
    return said, over


def why(found: Lowering) -> str:
    """Why the small picture has another factor than the layer; empty where it has the same."""
    if times(found.covered) == times(found.now):
        return ""
    if found.tiled:
        return say("panel.part")
    if found.workspace.name == "im2col-image" and found.batch > 1:
        return say("panel.image", batch=f"{found.batch:,}")
    inside = Fraction(found.copies, found.stride**2)
    more = abs(found.covered - inside) > abs(found.now - inside)
    return say("panel.more" if more else "panel.less")


def tile(found: Lowering) -> str:
    """How much a tile is, where only a tile is lowered at a time."""
    if not found.tiled:
        return ""
    size = dict(found.workspace.parts[0].axes)["tile"]
    real, places = found.node.shape[1] * found.node.shape[2], found.small.places
    return say("panel.tile", drawn=places, places=places**2, tile=size, real=f"{real:,}")


def drawn(found: Lowering) -> list[str]:
    """The small picture in words: how much of it is written."""
    small, reason = found.small, why(found)
    cells = {"values": found.values, "zeros": found.zeros, "cells": found.cells, "all": small.cells}
    copies = say("twin.copy" if found.copies == 1 else "twin.copies", count=found.copies)
    line = say(
        "twin.drawn", size=SIZE, copies=copies, why=f": {reason}" if reason else "",
        places=small.places, pixels=SIZE**2, now=times(found.covered),
        **{name: f"{n:,}" for name, n in cells.items()},
    )  # fmt: skip
    return [line] if found.count else []


def beside(found: Lowering) -> list[str]:
    """The input and its last copy in characters, side by side."""
    if not found.copies:
        return []
    places, last = found.small.places, found.last()
    rows = [last[row * places : (row + 1) * places] for row in range(SIZE)]
    pairs = (f"  {one}   {other}".rstrip() for one, other in zip(LETTER, rows, strict=True))
    return [say("twin.beside", number=found.copies), *pairs]


def pinned(found: Lowering, pin: Pin | None) -> list[str]:
    """A pixel or a place, and where it stands; nothing where nothing is copied."""
    if pin is None or not found.count:
        return []
    where = {"row": pin.row + 1, "column": pin.column + 1}
    if pin.is_place:
        values, name = len(pin.stands) - pin.zeros, say("kernel", k=found.k)
        place = say("pin.place", number=pin.number + 1, kernel=name, **where)
        return [place, say("pin.holds", values=values, zeros=pin.zeros)]
    count, so_far = len(pin.stands), len(pin.until(found.copies))
    key = {0: "pin.pixel_never", 1: "pin.pixel_once"}.get(count, "pin.pixel")
    rest = [say("pin.so_far", written=so_far)] if so_far < count else []
    return [say(key, count=count, **where), *rest]


def sums(found: Lowering) -> list[str]:
    """Pixels times how often they are written, added up; with the zeros all cells."""
    counts = found.small.counts(found.copies)
    often = sorted(Counter(counts).items(), reverse=True)
    parts = [say("counts.pixels", pixels=n, times=count) for count, n in often]
    cells, values = found.copies * found.small.places**2, sum(counts)
    return [
        say("counts.values", sum=" + ".join(parts), values=f"{values:,}"),
        say("counts.cells", values=f"{values:,}", zeros=f"{cells - values:,}",
            cells=f"{cells:,}", times=times(Fraction(cells, SIZE**2)), size=SIZE**2),
    ]  # fmt: skip


def card(name: str) -> str:
    """A budget with the year of its machine, where it is one."""
    year = DEVICES[name].title.rpartition(", ")[2] if name in DEVICES else ""
    return say("ruler.card", name=name, year=year) if year else name
