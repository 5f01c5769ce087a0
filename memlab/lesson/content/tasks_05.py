"""Lesson 05, mini-batch and vectors: the vectors of a row, and the batch that fills them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random

from memlab import formats
from memlab.lesson.content.tools import any_window, same_rows
from memlab.lesson.task import Arguments, Slip, task
from memlab.networks.layers import Conv2d

Vectors = tuple[int, int]
"""How many, and how many of their lanes stay idle."""
FORMATS = {64: "fp64", 32: "fp32", 16: "fp16"}


def _rows(a: Arguments) -> int:
    """Of the output of 1 channel."""
    layer = Conv2d(1, a["k"], stride=a["stride"], pad=a["pad"])
    return layer.output((1, a["size"], a["size"]))[1]


def _columns(a: Arguments) -> int:
    """Of the matrix of the whole batch: its output places."""
    return int(a["batch"] * _rows(a) ** 2)


def _lanes(a: Arguments) -> int:
    return formats.find(FORMATS[a["bits"]]).lanes(a["width"])


def _filled(columns: int, lanes: int) -> Vectors:
    """Vectors that begin in a row, one after the other, and the lanes that are left over."""
    begun = len(range(0, columns, lanes))
    return begun, begun * lanes - columns


def _draw_row(chance: Random, size: int) -> Arguments:
    """Any row; in every third case it fills its vectors."""
    while True:
        found = _any_row(chance, size)
        if size % 3 or not _columns(found) % _lanes(found):
            return found


def _any_row(chance: Random, size: int) -> Arguments:
    return {
        "width": chance.choice((128, 256, 512)), "bits": chance.choice((16, 32, 64)),
        "batch": chance.randint(1, 2 + size), **any_window(chance, size),
    }  # fmt: skip


def _with(columns: Callable[[Arguments], int]) -> Slip:
    """What comes out with another number of columns."""
    return lambda truth, a: _filled(columns(a), _lanes(a))


def _with_lanes(lanes: Callable[[Arguments], int]) -> Slip:
    return lambda truth, a: _filled(_columns(a), lanes(a))


def _each_image(truth: Vectors, a: Arguments) -> Vectors:
    """As if a vector ended where an image does."""
    begun, idle = _filled(_columns({**a, "batch": 1}), _lanes(a))
    return a["batch"] * begun, a["batch"] * idle


def _full_and(more: int) -> Slip:
    """The full vectors and so many more, whatever is left; lanes that lack are negative."""

    def slip(truth: Vectors, a: Arguments) -> Vectors:
        begun = _columns(a) // _lanes(a) + more
        return begun, begun * _lanes(a) - _columns(a)

    return slip


_VECTORS_SLIPS: dict[str, Slip] = {
    "samples": _with(lambda a: a["batch"]),
    "one_image": _with(lambda a: _columns({**a, "batch": 1})),
    "one_direction": _with(lambda a: a["batch"] * _rows(a)),
    "stride": _with(lambda a: _columns({**a, "stride": 1})),
    "padding": _with(lambda a: _columns({**a, "pad": 0})),
    "by_bytes": _with_lanes(lambda a: 8 * _lanes(a)),
    "each_image": _each_image,
    "windows": _with(lambda a: a["k"] ** 2 * _columns(a)),
    "floor": _full_and(0),
    "not_whole": lambda truth, a: (_columns(a) / _lanes(a), 0),
    "full": lambda truth, a: divmod(_columns(a), _lanes(a)),
    "used": lambda truth, a: (truth[0], _columns(a) % _lanes(a)),
    "whole": lambda truth, a: (truth[0], _lanes(a) - _columns(a) % _lanes(a)),
    "one_more": _full_and(1),
}


_VECTORS_TRAPS: dict[str, Slip] = {
    "same": _with(lambda a: a["batch"] * same_rows(a) ** 2),
    "nearly": lambda truth, a: _begun(int(_columns(a) / _lanes(a) + 0.9), a),
}


def _begun(vectors: int, a: Arguments) -> Vectors:
    return vectors, vectors * _lanes(a) - _columns(a)


@task("05.vectors", _draw_row, slips=_VECTORS_SLIPS, traps=_VECTORS_TRAPS)
def vectors(width: int, bits: int, batch: int, size: int, k: int, stride: int, pad: int) -> Vectors:
    """Vectors for one row of the lowered matrix of a batch, and their idle lanes."""
    a = {"width": width, "bits": bits, "batch": batch, "size": size, "k": k, "stride": stride,
         "pad": pad}  # fmt: skip
    return _filled(_columns(a), _lanes(a))


# -- several layers -----------------------------------------------------------------------------


def _draw_layers(chance: Random, size: int) -> Arguments:
    """Layers whose smallest batches differ.

    Where a share of idle lanes is exactly the percentage, that is 25 or 50: these are exact as
    floats too, so that a right function may divide.
    """
    while True:
        found: Arguments = {
            "lanes": chance.choice((8, 16, 32, 64)),
            "percent": chance.choice((5, 10, 20, 25, 50)),
            "places": [chance.randint(1, 6 + 2 * size) for _ in range(chance.randint(1, 5))],
        }
        if found["percent"] in (25, 50) or not _on_the_line(**found):
            return found


def _on_the_line(lanes: int, percent: int, places: list[int]) -> bool:
    """Whether some layer leaves exactly so many of 100 lanes idle, up to the right batch."""
    batches = range(1, _smallest(lanes, percent, places) + 1)
    filled = (_filled(batch * each, lanes) for batch in batches for each in places)
    return any(100 * idle == percent * begun * lanes for begun, idle in filled)


def _enough(lanes: int, percent: int, columns: int) -> bool:
    """Whether at most so many of 100 lanes stay idle."""
    begun, idle = _filled(columns, lanes)
    return 100 * idle <= percent * begun * lanes


def _more_than_enough(lanes: int, percent: int, columns: int) -> bool:
    """Whether fewer than so many of 100 lanes stay idle."""
    begun, idle = _filled(columns, lanes)
    return 100 * idle < percent * begun * lanes


def _first(fits: Callable[[int], bool]) -> int:
    return next(batch for batch in count(1) if fits(batch))


def _smallest(lanes: int, percent: int, places: list[int]) -> int:
    return _first(lambda batch: all(_enough(lanes, percent, batch * each) for each in places))


def _alone(a: Arguments) -> list[int]:
    """The smallest batch of each layer."""
    return [_smallest(a["lanes"], a["percent"], [places]) for places in a["places"]]


_BATCH_SLIPS: dict[str, Slip] = {
    "each_alone": lambda truth, a: max(_alone(a)),
    "one_layer": lambda truth, a: min(_alone(a)),
    "smallest_map": lambda truth, a: _smallest(a["lanes"], a["percent"], [min(a["places"])]),
    "strict": lambda truth, a: _first(lambda batch: all(
        _more_than_enough(a["lanes"], a["percent"], batch * places) for places in a["places"])),
    "none_idle": lambda truth, a: _smallest(a["lanes"], 0, a["places"]),
    "samples": lambda truth, a: _smallest(a["lanes"], a["percent"], [1]),
    "together": lambda truth, a: _smallest(a["lanes"], a["percent"], [sum(a["places"])]),
    "of_columns": lambda truth, a: _first(lambda batch: all(
        100 * _filled(batch * places, a["lanes"])[1] <= a["percent"] * batch * places
        for places in a["places"])),
}  # fmt: skip


def _with_percent(read: Callable[[float], float]) -> Slip:
    """What comes out for somebody who rounds the percentages."""

    def fits(a: Arguments, columns: int) -> bool:
        begun, idle = _filled(columns, a["lanes"])
        return read(100 * idle / (begun * a["lanes"])) <= int(a["percent"])

    return lambda truth, a: _first(lambda batch: all(fits(a, batch * n) for n in a["places"]))


def _of(layers: Callable[[list[int]], list[int]]) -> Slip:
    """What comes out for somebody who looks at some layers only."""
    return lambda truth, a: _smallest(a["lanes"], a["percent"], layers(a["places"]))


_BATCH_TRAPS: dict[str, Slip] = {
    "floor": _with_percent(int),
    "round": _with_percent(round),
    "smallest_2": _of(lambda places: sorted(places)[:2]),
    "smallest_3": _of(lambda places: sorted(places)[:3]),
    "largest_2": _of(lambda places: sorted(places)[-2:]),
    "largest_3": _of(lambda places: sorted(places)[-3:]),
    "first_3": _of(lambda places: places[:3]),
    "last_3": _of(lambda places: places[-3:]),
    "ends": _of(lambda places: [*sorted(places)[:2], max(places)]),
}


@task("05.smallest_batch", _draw_layers, slips=_BATCH_SLIPS, traps=_BATCH_TRAPS)
def smallest_batch(lanes: int, percent: int, places: list[int]) -> int:
    """The first batch at which at most ``percent`` of the lanes of every layer stay idle."""
    return _smallest(lanes, percent, places)
