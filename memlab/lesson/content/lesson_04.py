"""Lesson 04, lowering on CUDA.

Cards: the bytes of a warp, the loads of a tile, no copy at all. Exercise: a kernel that lowers an
image, and the bytes that its stores move.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import numpy as np

from memlab import formats
from memlab.arrays import Column as Values
from memlab.assemble.step import inference_step
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.lesson_02 import FP32
from memlab.lesson.content.shared_truths import known, measured, planned
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.kernel_threads import Threads, launch
from memlab.lesson.material import recorded_measures
from memlab.lesson.misconceptions import Mistake, distinct_causes
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.pictures.warp_memory import SECTOR, WARP, Warps, moved
from memlab.step.step import Step
from memlab.step.tensor import Role

LAYER = "vgg16", "conv1_2"
"""Network and layer of the lesson."""

# -- what was in lesson 03 ----------------------------------------------------------------------


_COPIES = ("1", "3", "9", "18", "27", "50", "81", "150", "243")


@topic(
    "04.copies", AnswerKind.TIMES, {"k": 9}, None, part=Purpose.RECALL, counted=True, stops=_COPIES
)
def copies(n: Numbers) -> Truth:
    """Answer of 04.copies: a lowered matrix over its input, at stride 1 with same
    padding, written."""
    from memlab.kernels import im2col

    image = np.zeros((1, 1, 16, 16), np.float32)
    ratio = Fraction(im2col(image, n["k"], pad=n["k"] // 2).size, image.size)
    causes = [
        Mistake("one_k", Fraction(n["k"]), {"k": n["k"]}),
        Mistake("not_lowered", Fraction(1)),
    ]
    return Truth(ratio, (measured(ratio),), tuple(distinct_causes(ratio, causes)))


topic("04.strips", AnswerKind.CHOICE, {}, None, part=Purpose.RECALL, options=("fewer", "same",
      "more"),
      gives=("the same values", "as many bytes"))(known("same"))  # fmt: skip

# -- the bytes of a warp ------------------------------------------------------------------------

_STORED = ("1", "2", "4", "8", "16", "32", "64")


def _warp_words(n: Numbers) -> Numbers:
    return {**n, "count": WARP}


@topic("04.warp", AnswerKind.TIMES, {"format": "fp32"},
       lambda chance: {"format": chance.choice(("fp16", "bf16", "fp64", "int8"))},
       counted=True, stops=_STORED,
       words=_warp_words,
       gives=("coalesced", "32 sectors", "4 sectors", "8 values", "sector of its own",
              "line of 128 B"))  # fmt: skip
def warp(n: Numbers) -> Truth:
    """Answer of 04.warp: bytes moved by the stores of a warp down a column, over
    those along a row."""
    warps, value_bytes = (
        Warps(zoo.build(LAYER[0]), LAYER[1], 1),
        formats.find(n["format"]).nbytes(1),
    )
    down, along = (
        moved(value_bytes * address // 4 for address in order.store.addresses)
        for order in (warps.column, warps.row)
    )
    ratio = Fraction(down, along)
    causes = [
        Mistake("only_values", Fraction(1)),
        Mistake("each_thread", Fraction(WARP), {"threads": WARP}),
        Mistake("bytes_of_a_value", Fraction(value_bytes), {"bytes": value_bytes}),
    ]
    told = {
        "down": f"{down:,}", "along": f"{along:,}", "count": down // SECTOR,
        "full": along // SECTOR, "sector": SECTOR, "loads": warps.column.load.moved,
        "row": warps.row.load.moved,
    }  # fmt: skip
    return Truth(ratio, (planned(ratio),), tuple(distinct_causes(ratio, causes)), told)


# -- the loads of a tile ------------------------------------------------------------------------

_TIMES = ("1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48", "64", "128", "256", "512",
          "1024")  # fmt: skip


def _draw_tile(chance: Random) -> Numbers:
    kernels, side = chance.choice(((16, 4), (16, 8), (12, 3), (12, 4)))
    return {"kernels": kernels, "tile": side}


@topic("04.tile", AnswerKind.TIMES, {"kernels": 8, "tile": 4}, _draw_tile, counted=True,
       stops=_TIMES,
       gives=("divides the loads", "loaded once", "syncthreads", "T times"))  # fmt: skip
def tile(n: Numbers) -> Truth:
    """Answer of 04.tile: loads of each lowered value without a shared tile, over those with one."""
    alone, together = n["kernels"], -(-n["kernels"] // n["tile"])
    ratio = Fraction(alone, together)
    causes = [
        Mistake("whole_tile", Fraction(n["tile"] ** 2), {"tile": n["tile"]}),
        Mistake("both_tiles", Fraction(2 * n["tile"]), {"tile": n["tile"]}),
        Mistake("loaded_once", Fraction(alone)),
        Mistake("no_sharing", Fraction(1)),
    ]
    told = {"alone": alone, "together": together}
    return Truth(ratio, (planned(ratio),), tuple(distinct_causes(ratio, causes)), told)


# -- the copy that is not made ------------------------------------------------------------------

WAYS = "im2col-image", "implicit-gemm"
"""The matrix in memory, and tiles that are filled from the image."""
KERNELS, WINDOW, SIZE = 4, 3, 8
"""Kernels of the small network, their rows and columns, and those of its image."""


def _step(size: int, way: str) -> Step:
    image = network("small", image=(3, size, size))
    maps = image.conv(KERNELS, WINDOW, pad="same").relu()
    net = maps.max_pool("all").flatten().linear(10).cross_entropy()
    return inference_step(net, algorithm=way)


def _workspace(step: Step) -> int:
    """Workspace bytes of a step, planned at batch 1."""
    return sum(e.size.at(1) for e in plan(step).entries if e.role is Role.WORKSPACE)


def measured_peaks(size: int = SIZE) -> dict[str, int]:
    """Measured peak of the step by each way, on a GPU or in a simulator."""
    from memlab.runtime.run import run

    return {way: run(_step(size, way), 1, device="cuda").peak for way in WAYS}


@topic("04.left", AnswerKind.CHOICE, {"size": SIZE}, None,
       options=("matrix", "row", "tiles", "none"),
       gives=("implicit GEMM", "implicit-gemm", "no workspace", "without a lowered copy",
              "needless"))  # fmt: skip
def left(n: Numbers) -> Truth:
    """Answer of 04.left: the part of the lowered matrix that remains when tiles are filled from the
    image, planned, and run on a GPU or in a simulator; a web page has recorded peaks."""
    steps = [_step(n["size"], way) for way in WAYS]
    whole, rest = map(_workspace, steps)
    was, now = (step.ops[plan(step).peak_at(1).index].layer for step in steps)
    peaks, recorded = recorded_measures.measured("04.left", partial(measured_peaks, n["size"]))
    before, after = (f"{peaks[way]:,}" for way in WAYS)
    right = {whole: "matrix", 0: "none"}.get(rest, "tiles")
    told = {"kernels": KERNELS, "k": WINDOW, "whole": f"{whole:,}", "rest": rest,
            "before": before, "was": was, "after": after, "now": now}  # fmt: skip
    return Truth(right, seen=told, recorded=recorded)


# -- exercise -----------------------------------------------------------------------------------


def outcome(stored: Any, a: Arguments) -> tuple[int, int] | None:
    """Return the number of wrong values and the bytes moved by the stores of the first warp, from
    the matrix that a kernel filled and the places that its first warp stored to."""
    match stored:
        case (np.ndarray() as lowered, list(first)) if lowered.shape == a["lowered"].shape:
            places = [FP32 * place for place in first if type(place) is int and place >= 0]
            return int(np.sum(lowered != _lowered(a))), moved(places)
    return None


def _lowered(a: Arguments) -> Values:
    """Lowered image of shape [C, k, k, Ho, Wo], from NumPy's windows."""
    pad = ((0, 0), *2 * [(a["pad"], a["pad"])])
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(a["image"], pad), 2 * (a["k"],), (1, 2)
    )
    return windows.transpose(0, 3, 4, 1, 2)


SMALL = 2
"""Sizes of cases that hardly need more than a warp."""


def _draw_image(chance: Random, size: int) -> Arguments:
    """Draw an image that is not square.

    The smallest has one channel and fewer values than a warp has threads; in the next ones a warp
    stores values of several rows of a window.
    """
    k = {1: 1, 2: 3}.get(size) or chance.choice((1, 2, 3, 3))
    pad = chance.randint(0, k - 1) if size > SMALL else 0
    high, wide = chance.sample(range(k, k + (4 if size > SMALL else 3)), 2)
    image = np.arange(1, 1 + size * high * wide, dtype=np.float32).reshape(size, high, wide)
    shape = (size, k, k, high + 2 * pad - k + 1, wide + 2 * pad - k + 1)
    lowered = np.full(shape, np.nan, np.float32)
    return {"image": image, "lowered": lowered, "k": k, "pad": pad}


def _read(a: Arguments, turned: bool = False, pad: int | None = None) -> tuple[Values, Values]:
    """Row and column of its channel that each value of the matrix is read from; with ``turned``,
    the axes of the kernel are swapped."""
    _, ky, kx, oy, ox = np.indices(a["lowered"].shape)
    pad = a["pad"] if pad is None else pad
    return (oy + kx - pad, ox + ky - pad) if turned else (oy + ky - pad, ox + kx - pad)


def _gathered(a: Arguments, iy: Values, ix: Values, channel: int | None = None) -> Values:
    """Values read at these rows and columns, 0 outside the image."""
    (_, high, wide), c = a["image"].shape, np.indices(a["lowered"].shape)[0]
    inside = (iy >= 0) & (iy < high) & (ix >= 0) & (ix < wide)
    pixels = a["image"][c if channel is None else channel, iy % high, ix % wide]
    return np.where(inside, pixels, 0)


def _with(values: Callable[[Arguments], Values]) -> Slip:
    """Slip with other values in the same places."""
    return lambda truth, a: (int(np.sum(values(a) != _lowered(a))), truth[1])


def _wrapped(a: Arguments) -> Values:
    """Values of a kernel that checks only the upper bounds: index -1 is Python's last one."""
    (_, high, wide), (iy, ix) = a["image"].shape, _read(a)
    return _gathered(a, np.where(iy < 0, iy + high, iy), np.where(ix < 0, ix + wide, ix))


def _unpadded(truth: tuple[int, int], a: Arguments) -> tuple[int, int]:
    """Slip that stores nothing for the padding."""
    zeros = (_lowered(a) == 0).ravel()
    return int(zeros.sum()), moved(FP32 * np.flatnonzero(~zeros[:WARP]))


def _in_order(*axes: int) -> Slip:
    """Slip with the right values, stored by threads that count along other axes first."""

    def slip(truth: tuple[int, int], a: Arguments) -> tuple[int, int]:
        numbers = np.arange(a["lowered"].size).reshape(a["lowered"].shape).transpose(axes)
        return 0, moved(FP32 * numbers.ravel()[:WARP])

    return slip


_LOWER_SLIPS: dict[str, Slip] = {
    "rows_and_columns": _with(lambda a: _gathered(a, *_read(a, turned=True))),
    "no_padding": _with(lambda a: _gathered(a, *_read(a, pad=0))),
    "first_channel": _with(lambda a: _gathered(a, *_read(a), channel=0)),
    "wraps": _with(_wrapped),
    "nothing_outside": _unpadded,
    "down_a_column": _in_order(3, 4, 0, 1, 2),
    "transposed": _in_order(0, 1, 2, 4, 3),
}


def _rows_back(truth: tuple[int, int], a: Arguments) -> tuple[int, int]:
    """Trap with the right values, stored by threads that take the rows of a window backwards after
    the first."""
    numbers = np.arange(a["lowered"].size).reshape(a["lowered"].shape)
    return 0, moved(FP32 * numbers[:, -np.arange(a["k"]) % a["k"]].ravel()[:WARP])


_LOWER_TRAPS: dict[str, Slip] = {"rows_back": _rows_back}


@task("04.lower", _draw_image, slips=_LOWER_SLIPS, traps=_LOWER_TRAPS,
      sizes=(1, 1, 2, 2, 2, 3, 3, 3, 4, 4), run=launch, outcome=outcome,
      offered=(Threads.grid, Threads.gridsize),
      edge=lambda a: a["lowered"].size < WARP)  # fmt: skip
def lower(image: Values, lowered: Values, k: int, pad: int) -> tuple[int, int]:
    """Return no wrong value, and the bytes that 32 neighbouring stores move."""
    return 0, moved(range(0, FP32 * min(WARP, lowered.size), FP32))
