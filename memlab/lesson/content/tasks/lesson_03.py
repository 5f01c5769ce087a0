"""Lesson 03, lowering: the bytes of a lowered copy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from random import Random

from memlab.ledger.plan import plan
from memlab.lesson.content.questions.lesson_02 import FP32, one_convolution
from memlab.lesson.content.questions.lesson_03 import forward_by, workspace
from memlab.lesson.content.tools import copied_window, room, same_rows
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.material.quantities import lowered


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


@lru_cache(maxsize=4096)
def _copy_of(channels: int, size: int, k: int, stride: int, pad: int, batch: int) -> int:
    found = {"channels": channels, "size": size, "k": k, "stride": stride, "pad": pad}
    network = one_convolution({"kernels": 1, **found})
    return workspace(plan(forward_by("im2col-batch", network)), "conv", batch)


@task("03.lowered_bytes", _draw_window, slips=_COPY_SLIPS, traps=_COPY_TRAPS)
def lowered_bytes(batch: int, channels: int, size: int, k: int, stride: int, pad: int) -> int:
    """The lowered copy of a whole batch in the plan of a forward pass, fp32, in bytes."""
    return _copy_of(channels, size, k, stride, pad, batch)
