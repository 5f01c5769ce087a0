"""Lesson 04, lowering on CUDA: the bytes of a warp, the loads of a tile, no copy at all."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from memlab import formats
from memlab.build.step import inference_step
from memlab.ledger.plan import plan
from memlab.lesson.card_question import Kind, Numbers, Part, Truth, topic
from memlab.lesson.content.tools import known, measured, planned
from memlab.lesson.misconceptions import Cause, distinct
from memlab.lines import np
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.studies.lowering.warps import SECTOR, WARP, Warps, moved

_LAYER = "vgg16", "conv1_2"
"""Whose matrix the lesson lowers."""

# -- what was in lesson 03 ----------------------------------------------------------------------


_COPIES = ("1", "3", "5", "9", "10", "15", "25", "50", "125")


@topic("04.copies", Kind.TIMES, {"k": 5}, None, part=Part.RECALL, stops=_COPIES)
def copies(n: Numbers) -> Truth:
    """How many times its input a lowered matrix takes, at stride 1 with same padding, written."""
    from memlab.kernels import im2col

    image = np.zeros((1, 1, 16, 16), np.float32)
    ratio = Fraction(im2col(image, n["k"], pad=n["k"] // 2).size, image.size)
    causes = [
        Cause("one_k", Fraction(n["k"]), {"k": n["k"]}),
        Cause("not_lowered", Fraction(1)),
    ]
    return Truth(ratio, (measured(ratio),), tuple(distinct(ratio, causes)))


topic("04.strips", Kind.CHOICE, {}, None, part=Part.RECALL, options=("fewer", "same", "more"),
      gives=("the same values", "as many bytes"))(known("same"))  # fmt: skip

# -- the bytes of a warp ------------------------------------------------------------------------

_STORED = ("1", "2", "4", "8", "16", "32", "64")


def _warp_words(n: Numbers) -> Numbers:
    return {**n, "count": WARP}


@topic("04.warp", Kind.TIMES, {"format": "fp32"},
       lambda chance: {"format": chance.choice(("fp16", "bf16", "fp64", "int8"))}, stops=_STORED,
       words=_warp_words,
       gives=("coalesced", "32 sectors", "4 sectors", "8 values", "sector of its own",
              "line of 128 B"))  # fmt: skip
def warp(n: Numbers) -> Truth:
    """Bytes that move for the stores of a warp down a column, against along a row."""
    found, each = Warps(zoo.build(_LAYER[0]), _LAYER[1], 1), formats.find(n["format"]).nbytes(1)
    down, along = (
        moved(each * address // 4 for address in order.store.addresses)
        for order in (found.column, found.row)
    )
    ratio = Fraction(down, along)
    causes = [
        Cause("only_values", Fraction(1)),
        Cause("each_thread", Fraction(WARP), {"threads": WARP}),
        Cause("bytes_of_a_value", Fraction(each), {"bytes": each}),
    ]
    told: dict[str, object] = {
        "down": f"{down:,}", "along": f"{along:,}", "count": down // SECTOR,
        "full": along // SECTOR, "sector": SECTOR, "loads": found.column.load.moved,
        "row": found.row.load.moved,
    }  # fmt: skip
    return Truth(ratio, (planned(ratio),), tuple(distinct(ratio, causes)), told)


@topic("04.stride", Kind.AMOUNT, {"stride": 2}, None, part=Part.CHANGE)
def stride(n: Numbers) -> Truth:
    """Bytes that move for the loads of a warp along a row, at that stride."""
    found = Warps(zoo.build(_LAYER[0]), _LAYER[1], n["stride"]).row.load
    causes = [
        Cause("only_values", Fraction(found.used)),
        Cause("no_shift", Fraction(n["stride"] * found.used)),
    ]
    told: dict[str, object] = {"moved": found.moved, "used": found.used}
    due = found.moved
    return Truth(Fraction(due), (planned(due),), tuple(distinct(due, causes)), told)


# -- the loads of a tile ------------------------------------------------------------------------

_TIMES = ("1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48", "64", "128", "256", "512",
          "1024")  # fmt: skip


def _draw_tile(chance: Random) -> Numbers:
    return {"kernels": chance.choice((64, 128, 192, 256)), "tile": chance.choice((4, 8, 32))}


@topic("04.tile", Kind.TIMES, {"kernels": 64, "tile": 16}, _draw_tile, stops=_TIMES,
       gives=("divides the loads", "loaded once", "syncthreads", "T times"))  # fmt: skip
def tile(n: Numbers) -> Truth:
    """How many times fewer loads of each lowered value a product with a shared tile has."""
    alone, together = n["kernels"], -(-n["kernels"] // n["tile"])
    ratio = Fraction(alone, together)
    causes = [
        Cause("whole_tile", Fraction(n["tile"] ** 2), {"tile": n["tile"]}),
        Cause("both_tiles", Fraction(2 * n["tile"]), {"tile": n["tile"]}),
        Cause("loaded_once", Fraction(alone)),
        Cause("no_sharing", Fraction(1)),
    ]
    told: dict[str, object] = {"alone": alone, "together": together}
    return Truth(ratio, (planned(ratio),), tuple(distinct(ratio, causes)), told)


# -- the copy that is not made ------------------------------------------------------------------

WAYS = "im2col-image", "implicit-gemm"
"""The matrix in memory, and tiles that are filled from the image."""


def _step(size: int, way: str) -> Step:
    maps = network("small", image=(3, size, size)).conv(4, 3, pad="same").relu()
    made = maps.max_pool("all").flatten().linear(10).cross_entropy()
    return inference_step(made, algorithm=way)


def _workspace(step: Step) -> int:
    """Bytes beside the tensors of a step, planned at batch 1."""
    return sum(e.size.at(1) for e in plan(step).entries if e.role is Role.WORKSPACE)


@topic("04.left", Kind.CHOICE, {"size": 8}, lambda chance: {"size": chance.randint(9, 16)},
       options=("matrix", "row", "tiles", "none"),
       gives=("implicit GEMM", "implicit-gemm", "no workspace", "without a lowered copy",
              "needless"))  # fmt: skip
def left(n: Numbers) -> Truth:
    """What is left of the lowered matrix where tiles are filled from the image: planned, and run on
    a GPU or in the simulator of one."""
    from memlab.runtime.run import run

    steps = [_step(n["size"], way) for way in WAYS]
    whole, rest = map(_workspace, steps)
    before, after = (run(step, 1, device="cuda") for step in steps)
    right = {whole: "matrix", 0: "none"}.get(rest, "tiles")
    told = {"whole": f"{whole:,}", "rest": rest, "before": f"{before.peak:,}",
            "after": f"{after.peak:,}", "residual": before.residual + after.residual}  # fmt: skip
    return Truth(right, seen=dict(told))
