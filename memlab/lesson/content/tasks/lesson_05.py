"""Lesson 05, mini-batch and vectors: the vectors of a row, and their idle lanes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from memlab import formats
from memlab.layers import Conv2d
from memlab.lesson.content.tools import any_window, same_rows
from memlab.lesson.exercise_task import Arguments, Slip, task

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
