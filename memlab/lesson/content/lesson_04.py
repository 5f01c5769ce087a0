"""Lesson 04, lowering on CUDA: the value of a thread, the bytes of a warp, the loads of a tile."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

import numpy as np

from memlab.kernels.indices import source
from memlab.lesson.content.lesson_02 import FP32
from memlab.lesson.content.tools import measured, planned
from memlab.lesson.misconceptions import Cause, distinct
from memlab.lesson.question import Kind, Numbers, Truth, topic
from memlab.studies.warps import LINE, SECTOR, WARP, moved, sectors

# -- the value of a thread ----------------------------------------------------------------------

_THREAD = {"channels": 2, "height": 3, "width": 32, "k": 3, "pad": 1, "row": 15, "oy": 1, "ox": 20}


def _draw_thread(chance: Random) -> Numbers:
    """A thread whose window position lies off its middle and off its diagonal, and not at a rim."""
    k, height, width = chance.choice((3, 5)), chance.randint(6, 9), chance.choice((16, 32, 64))
    ky, kx = chance.choice(((0, k - 1), (k - 1, 0), (k - 1, 1), (1, k - 1)))
    c = chance.randint(1, 2)
    return {
        "channels": 3, "height": height, "width": width, "k": k, "pad": k // 2,
        "row": (c * k + ky) * k + kx,
        "oy": chance.randint(k // 2, height - 1 - k // 2),
        "ox": chance.randint(k // 2, width - 1 - k // 2),
    }  # fmt: skip


def _offset(n: Numbers, c: int, iy: int, ix: int) -> int:
    """Where a value of the image begins, in bytes."""
    return int(FP32 * ((c * n["height"] + iy) * n["width"] + ix))


def _position(n: Numbers) -> tuple[int, int, int]:
    """c, ky and kx of a row of the lowered matrix."""
    c, rest = divmod(n["row"], n["k"] ** 2)
    return c, *divmod(rest, n["k"])


def _read(n: Numbers) -> int:
    """The byte that memlab's lowering reads: each value of the image says where it begins."""
    from memlab.kernels import im2col

    shape = (n["channels"], n["height"], n["width"])
    image = FP32 * np.arange(prod(shape), dtype=np.float32).reshape(1, *shape)
    lowered = im2col(image, n["k"], pad=n["pad"])
    return int(lowered[0, n["row"], n["oy"] * n["width"] + n["ox"]])


def _thread_causes(n: Numbers, nbytes: int) -> list[Cause]:
    (c, ky, kx), oy, ox, pad = _position(n), n["oy"], n["ox"], n["pad"]
    stored = FP32 * ((n["row"] * n["height"] + oy) * n["width"] + ox)
    return [
        Cause("bits", Fraction(8 * nbytes)),
        Cause("values", Fraction(nbytes, FP32), {"bytes": FP32}),
        Cause("no_padding", Fraction(_offset(n, c, oy + ky, ox + kx)), {"pad": pad}),
        Cause("rows_and_columns", Fraction(_offset(n, c, oy + kx - pad, ox + ky - pad))),
        Cause("first_channel", Fraction(_offset(n, 0, oy + ky - pad, ox + kx - pad))),
        Cause("middle", Fraction(_offset(n, c, oy, ox))),
        Cause("stored", Fraction(stored)),
    ]


@topic("04.thread", Kind.AMOUNT, _THREAD, _draw_thread, near=False)
def thread(n: Numbers) -> Truth:
    """The byte at which a thread's value begins in the image: by the index map, and read."""
    c, ky, kx = _position(n)
    iy, ix = source(n["oy"], ky, 1, n["pad"], 1), source(n["ox"], kx, 1, n["pad"], 1)
    due = _offset(n, c, iy, ix)
    causes = distinct(due, _thread_causes(n, due))
    told: dict[str, object] = {"c": c, "ky": ky, "kx": kx, "iy": iy, "ix": ix, "nbytes": f"{due:,}"}
    return Truth(Fraction(due), (planned(due), measured(_read(n))), tuple(causes), told)


# -- the bytes of a warp ------------------------------------------------------------------------

_WARP = {"apart": 224 * 224}
"""From one row of the lowered matrix of VGG-16's conv1_2 to the next."""


def _warp_causes(addresses: range, nbytes: int) -> list[Cause]:
    lines = {address // LINE for address in addresses}
    return [
        Cause("bits", Fraction(8 * nbytes)),
        Cause("only_values", Fraction(FP32 * WARP), {"threads": WARP, "sector": SECTOR}),
        Cause("whole_lines", Fraction(LINE * len(lines)), {"sector": SECTOR}),
        Cause("each_thread", Fraction(SECTOR * WARP)),
        Cause("in_between", Fraction(addresses[-1] + FP32)),
        Cause("count", Fraction(nbytes, SECTOR), {"sector": SECTOR}),
    ]


@topic("04.warp", Kind.AMOUNT, _WARP, lambda chance: {"apart": chance.randint(2, 7)},
       words=lambda n: {"apart": f"{n['apart']:,}", "threads": WARP, "sector": SECTOR})  # fmt: skip
def warp(n: Numbers) -> Truth:
    """What moves when a warp stores values that lie apart, the first at a border of sectors."""
    addresses = range(0, FP32 * n["apart"] * WARP, FP32 * n["apart"])
    due = moved(addresses)
    causes = [cause for cause in _warp_causes(addresses, due) if cause.value != due]
    told = {"count": len(sectors(addresses)), "nbytes": f"{due:,}", "used": FP32 * WARP}
    return Truth(Fraction(due), (planned(due),), tuple(distinct(due, causes)), told)


# -- the loads of a tile ------------------------------------------------------------------------

_TIMES = ("1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48", "64", "128", "256", "512",
          "1024")  # fmt: skip


def _draw_tile(chance: Random) -> Numbers:
    return {"kernels": chance.choice((64, 128, 192, 256)), "tile": chance.choice((4, 8, 32))}


@topic("04.tile", Kind.TIMES, {"kernels": 64, "tile": 16}, _draw_tile, stops=_TIMES)
def tile(n: Numbers) -> Truth:
    """How many times fewer loads of each lowered value a product with a shared tile has."""
    alone, together = n["kernels"], -(-n["kernels"] // n["tile"])
    ratio = Fraction(alone, together)
    causes = [
        Cause("whole_tile", Fraction(n["tile"] ** 2), {"tile": n["tile"]}),
        Cause("both_tiles", Fraction(2 * n["tile"]), {"tile": n["tile"]}),
        Cause("loaded_once", Fraction(alone), {"tile": n["tile"], "kernels": n["kernels"]}),
        Cause("no_sharing", Fraction(1)),
    ]
    told: dict[str, object] = {"alone": alone, "together": together}
    return Truth(ratio, (planned(ratio),), tuple(distinct(ratio, causes)), told)
