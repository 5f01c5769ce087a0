"""Lesson 03, lowering: the bytes of a lowered copy, and the images that are lowered together."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from random import Random

from memlab.lesson.content.lesson_02 import FP32, one_convolution
from memlab.lesson.content.lesson_03 import forward_by, workspace
from memlab.lesson.content.tools import copied_window, room, same_rows
from memlab.lesson.quantities import lowered
from memlab.lesson.task import Arguments, Slip, task
from memlab.planner.book import plan
from memlab.planner.entries import Entry, Row
from memlab.planner.ledger import Ledger
from memlab.step.op import Phase
from memlab.step.storage import Size
from memlab.step.tensor import Role

Layer = tuple[int, int, int, int, int]
"""Channels, size, k, stride, padding."""
POINTWISE = (1, 1, 0)


@lru_cache(maxsize=4096)
def _copy_of(layer: Layer, batch: int) -> int:
    """The copy of the whole batch in the plan of a forward pass; 0 where the plan has none."""
    names = ("channels", "size", "k", "stride", "pad")
    network = one_convolution({"kernels": 1, **dict(zip(names, layer, strict=True))})
    return workspace(plan(forward_by("im2col-batch", network)), "conv", batch)


def _draw_window(chance: Random, size: int) -> Arguments:
    batch, channels = chance.randint(1, 2 * size), chance.randint(1, size)
    return {"batch": batch, "channels": channels, **copied_window(chance, size)}


def _mistake(name: str) -> Slip:
    """What that cause gives in a case; the truth where there is nothing to mistake."""

    def wrong(truth: int, a: Arguments) -> Fraction:
        node = one_convolution({"kernels": 1, **a}).by_name["conv"]
        causes = {cause.name: cause.value for cause in lowered(node, a["batch"]).causes}
        return causes.get(name, Fraction(truth))

    return wrong


def _with(rows: Callable[[Arguments], int | float]) -> Slip:
    """What comes out with other rows and columns."""
    return lambda truth, a: FP32 * a["batch"] * a["channels"] * (a["k"] * rows(a)) ** 2


_MISTAKES = ("values", "bits", "batch", "one_k", "not_lowered", "stride", "padding")
_COPY_SLIPS: dict[str, Slip] = {
    **{name: _mistake(name) for name in _MISTAKES},
    "one_channel": lambda truth, a: Fraction(truth, a["channels"]),
    "input_places": _with(lambda a: a["size"]),
    "one_side": _with(lambda a: room(a, 1) // a["stride"] + 1),
    "not_whole": _with(lambda a: room(a) / a["stride"] + 1),
    "one_less": _with(lambda a: room(a) // a["stride"]),
}


_COPY_TRAPS: dict[str, Slip] = {
    "same": _with(same_rows),
    "round": _with(lambda a: round(room(a) / a["stride"]) + 1),
    "padded_later": _with(lambda a: room(a, 0) // a["stride"] + 1 + 2 * a["pad"]),
    "apart": _with(lambda a: room(a, 0) // a["stride"] + 2 * a["pad"] // a["stride"] + 1),
    "unpadded_1": lambda truth, a: truth if a["k"] > 1 or a["pad"] else 0,
    "every_1": lambda truth, a: truth if a["k"] > 1 or a["stride"] > 1 else 0,
}


@task("03.lowered_bytes", _draw_window, slips=_COPY_SLIPS, traps=_COPY_TRAPS)
def lowered_bytes(batch: int, channels: int, size: int, k: int, stride: int, pad: int) -> int:
    """The lowered copy of a whole batch in the plan of a forward pass, fp32, in bytes."""
    return _copy_of((channels, size, k, stride, pad), batch)


# -- several layers -----------------------------------------------------------------------------


def _draw_layers(chance: Random, size: int) -> Arguments:
    """Layers with windows, and in most cases a 1x1 whose input is larger than any copy of them;
    every second limit is a whole number of copies."""
    layers = [_any_layer(chance, size) for _ in range(1 + size // 3)]
    most = max(_copy_of(layer, 1) for layer in layers)
    if chance.random() < 0.75:
        side = chance.randint(5, 10)
        wide = 2 * most // (FP32 * side * side) + chance.randint(1, size)
        layers.insert(chance.randint(0, len(layers)), (wide, side, *POINTWISE))
    return {
        "limit": most * chance.randint(0, 9) + chance.choice((0, chance.randrange(most))),
        "layers": layers,
    }


def _any_layer(chance: Random, size: int) -> Layer:
    """A layer that needs a copy."""
    window = copied_window(chance, size)
    return chance.randint(1, size), window["size"], window["k"], window["stride"], window["pad"]


def _copies(a: Arguments) -> list[int]:
    """The copies of one image that are made."""
    return [copy for layer in a["layers"] if (copy := _copy_of(layer, 1))]


def _with_largest(nbytes: Callable[[Layer], int]) -> Slip:
    """What comes out with other bytes for each of the layers that need a copy."""

    def wrong(truth: int, a: Arguments) -> int:
        needs = (nbytes(layer) for layer in a["layers"] if layer[2:] != POINTWISE)
        return int(a["limit"] // max(1, *needs))  # 1 for somebody who finds no copy at all

    return wrong


def _unthinned(layer: Layer) -> int:
    channels, size, k, _, pad = layer
    return _matrix((channels, size, k, 1, pad))


def _matrix(layer: Layer) -> int:
    """The matrix of one image, also where it is the input itself."""
    return _copy_of(layer, 1) or FP32 * layer[0] * layer[1] ** 2


_IMAGES_SLIPS: dict[str, Slip] = {
    "sum": lambda truth, a: a["limit"] // sum(_copies(a)),
    "smallest": lambda truth, a: a["limit"] // min(_copies(a)),
    "pointwise": lambda truth, a: a["limit"] // max(map(_matrix, a["layers"])),
    "one_k": _with_largest(lambda layer: _copy_of(layer, 1) // layer[2]),
    "stride": _with_largest(_unthinned),
    "values": lambda truth, a: a["limit"] // (max(_copies(a)) // FP32),
    "one_more": lambda truth, a: truth + 1,
    "not_whole": lambda truth, a: a["limit"] / max(_copies(a)),
}


def _with_rows(rows: Callable[[Arguments], int]) -> Slip:
    """What comes out with other rows and columns of every layer."""
    names = ("size", "k", "stride", "pad")

    def nbytes(layer: Layer) -> int:
        return FP32 * layer[0] * (layer[2] * rows(dict(zip(names, layer[1:], strict=True)))) ** 2

    return _with_largest(nbytes)


def _copied_if(copied: Callable[[int, int, int], bool]) -> Slip:
    """What comes out for somebody who skips other layers, by k, stride and padding."""
    return _with_largest(lambda layer: _copy_of(layer, 1) if copied(*layer[2:]) else 0)


_IMAGES_TRAPS: dict[str, Slip] = {
    "at_least_1": lambda truth, a: max(1, truth),
    "k": _copied_if(lambda k, stride, pad: k > 1),
    "pad": _copied_if(lambda k, stride, pad: pad > 0),
    "stride": _copied_if(lambda k, stride, pad: stride > 1),
    "no_stride": _copied_if(lambda k, stride, pad: stride == 1),
    "k_or_pad": _copied_if(lambda k, stride, pad: k > 1 or pad > 0),
    "k_or_stride": _copied_if(lambda k, stride, pad: k > 1 or stride > 1),
    "pad_or_stride": _copied_if(lambda k, stride, pad: pad > 0 or stride > 1),
    "small": _copied_if(lambda k, stride, pad: k > 2 or pad > 0 or stride > 1),
    "by_stride": _with_rows(lambda a: -(-a["size"] // a["stride"])),
    "same": _with_rows(same_rows),
    "apart": _with_rows(lambda a: room(a, 0) // a["stride"] + 2 * a["pad"] // a["stride"] + 1),
    "unpadded_1": _with_rows(lambda a: room(a, 2 * (a["k"] > 1)) // a["stride"] + 1),
    "floor_1": _with_rows(
        lambda a: room(a) // a["stride"] + 1 if a["k"] > 1 else a["size"] // a["stride"]
    ),
}


@task("03.images_together", _draw_layers, slips=_IMAGES_SLIPS, traps=_IMAGES_TRAPS)
def images_together(limit: int, layers: list[Layer]) -> int:
    """The largest batch whose copies stay within the limit, as a plan of the layers finds it."""
    copies = [(i, copy) for i, layer in enumerate(layers) if (copy := _copy_of(layer, 1))]
    rows = tuple(Row(f"operation {i}", "conv2d", Phase.FORWARD) for i in range(len(layers)))
    entries = tuple(Entry(f"copy {i}", Role.WORKSPACE, Size(0, copy), i, i) for i, copy in copies)
    found = Ledger(rows, entries).fit(limit).batch
    assert found is not None
    return found
