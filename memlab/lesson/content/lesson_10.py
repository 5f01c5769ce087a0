"""Lesson 10, the data path.

Cards: bytes over the link in an epoch, the gain of a buffer, the cheapest remedy. Exercises: two
buffers and their durations, and a measured generator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import accumulate
from random import Random

import numpy as np

from memlab import formats, units
from memlab.arrays import Column
from memlab.clocks.data_path import PathPlan, data_path
from memlab.clocks.streams import COMPUTE, DISK, slots
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.lesson_09 import CARD, LINK, in_place_step, without_workspace
from memlab.lesson.content.shared_truths import step_of, with_label
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.networks import zoo
from memlab.pictures.remedies.remedies import remedies
from memlab.step.op import Op, Phase
from memlab.step.tensor import Role

IMAGES = 1_281_167
"""Images to train with in ImageNet (Russakovsky et al. 2015, arXiv 1409.0575)."""

# -- what lesson 02 said --------------------------------------------------------------------------

_PARTS = {Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE}


@topic("10.share", AnswerKind.CHOICE, {"network": "resnet50", "batch": 32}, None,
       options=("most", "tenth", "hundredth"), part=Purpose.RECALL,
       words=with_label,
       gives=("19.3 MB", "19,267,584"))  # fmt: skip
def share(n: Numbers) -> Truth:
    """Answer of 10.share: the share of its images in the peak of a training step (A12)."""
    ledger = plan(step_of(zoo.build(n["network"])))
    images, peak = ledger.of("input", n["batch"]).nbytes, ledger.peak(n["batch"])
    answer = "most" if images > peak / 3 else "tenth" if images > peak / 30 else "hundredth"
    told = {
        "images": units.short(images), "peak": units.short(peak), "stored": units.short(images // 4)
    }  # fmt: skip
    return Truth(answer, seen={**told, "share": f"{100 * images / peak:.1f}"})


@topic("10.stays", AnswerKind.CHOICE, {"network": "resnet50", "batch": 32}, None,
       options=("maps", "images", "parameters"), part=Purpose.RECALL,
       words=lambda n: {**with_label(n), "double": 2 * n["batch"]},
       gives=("the floor stays", "doubles the mountain"))  # fmt: skip
def stays(n: Numbers) -> Truth:
    """Answer of 10.stays: the bytes of a step that do not double with its batch (A12)."""
    ledger = plan(step_of(zoo.build(n["network"])))
    one, two = ledger.roles(n["batch"]), ledger.roles(2 * n["batch"])
    alike = {role for role in one if one[role] == two[role]}
    answer = "parameters" if alike >= _PARTS else "maps" if Role.FEATURE_MAP in alike else "images"
    times = ledger.peak(2 * n["batch"]) / ledger.peak(n["batch"])
    return Truth(answer, seen={"times": f"{times:.2f}"})


# -- what moves in an epoch -----------------------------------------------------------------------


def _draw_epoch(chance: Random) -> Numbers:
    network, batch = chance.choice(_LIGHT), chance.choice((32, 64, 128, 256))
    return {"network": network, "images": chance.choice((50_000, IMAGES)), "batch": batch}


@topic("10.epoch", AnswerKind.CHOICE, {"network": "googlenet", "images": IMAGES, "batch": 128},
       _draw_epoch, options=("half", "same", "twice"),
       words=lambda n: {**with_label(n), "images": f"{n['images']:,}", "double": 2 * n["batch"]},
       gives=("each image crosses", "every image crosses", "whatever the batch"))  # fmt: skip
def epoch(n: Numbers) -> Truth:
    """Answer of 10.epoch: bytes over the link in an epoch with twice the batch, compared with the
    batch (A12)."""
    one, two = (path_of(n["network"], n["batch"] * times) for times in (1, 2))
    first, other = (path.epoch_moves(n["images"]).link for path in (one, two))
    copies = [-(-n["images"] // path.batch) for path in (one, two)]
    told = {
        "bytes": units.short(first), "copies": f"{copies[0]:,}", "fewer": f"{copies[1]:,}",
        "each": units.short(one.batch_moves().link), "larger": units.short(two.batch_moves().link),
    }  # fmt: skip
    return Truth("same" if first == other else "half" if first > other else "twice", seen=told)


# -- what one more buffer buys --------------------------------------------------------------------

_LIGHT = ("googlenet", "alexnet", "resnet18")
"""Networks that compute for so short a time that a disk matters."""
COUNTS = {"one": 1, "two": 2, "four": 4}
"""Buffers, by the option that names them; with none of them compute may wait all the same."""
LEAST = 0.01
"""The share of the time below which compute does not wait, for a card."""


@cache
def path_of(
    network: str, batch: int, buffers: int = 2, disk: float = 0.15, augment: str = "host"
) -> PathPlan:
    """Data path of a network's images, from a disk of ``disk`` GB/s to the card."""
    link = f"{LINK} GB/s"
    return data_path(
        in_place_step(network), batch, buffers, augment, f"{disk} GB/s", link=link, device=CARD
    )


def _waits(n: Numbers, buffers: int) -> str:
    return f"{100 * path_of(n['network'], n['batch'], buffers, n['disk']).waits:.3g}"


def _draw_buffers(chance: Random) -> Numbers:
    network, disk = chance.choice(("googlenet", "resnet18", "vgg16")), (0.04, 0.05, 0.08, 0.1, 0.2)
    return {"network": network, "batch": chance.choice((64, 128)), "disk": chance.choice(disk)}


_BUFFERS = (*COUNTS, "never")


@topic("10.buffers", AnswerKind.CHOICE, {"network": "googlenet", "batch": 128, "disk": 0.15},
       _draw_buffers, options=_BUFFERS,
       words=lambda n: {**with_label(n), "waits": _waits(n, 0)},
       gives=("2 buffers", "two buffers", "double buffer", "no wait", "hides behind"),
       shows=({"buffers": 2}, {"buffers": 4}))  # fmt: skip
def buffers(n: Numbers) -> Truth:
    """Answer of 10.buffers: the fewest buffers with which compute hardly waits, planned."""
    paths = {name: path_of(n["network"], n["batch"], c, n["disk"]) for name, c in COUNTS.items()}
    enough = (name for name, path in paths.items() if path.waits < LEAST)
    path = paths["two"]
    load = path.seconds_each if path.waits >= LEAST else sum(_loading(path))
    told = {name: _waits(n, count) for name, count in COUNTS.items()}
    told |= {"load": f"{load:.3f}", "step": f"{path.compute:.3f}"}
    return Truth(next(enough, "never"), seen=told)


def _loading(path: PathPlan) -> tuple[float, ...]:
    """Seconds of each task of the loader's thread for a mini-batch."""
    return tuple(path.parts[name] for name in ("read", "copy", "convert") if name in path.parts)


@topic("10.slow", AnswerKind.CHOICE, {"network": "googlenet", "batch": 128, "disk": 0.05}, None,
       options=_BUFFERS, part=Purpose.CHANGE,
       gives=("evens out", "sets the pace"))  # fmt: skip
def slow(n: Numbers) -> Truth:
    """Answer of 10.slow: the fewest buffers with which compute hardly waits, for a disk slower than
    compute."""
    buffer_bytes = buffers(n)
    rate = path_of(n["network"], n["batch"], 2, n["disk"]).images_per_second
    return Truth(buffer_bytes.value, seen={**buffer_bytes.seen, "rate": f"{rate:,.0f}"})


@topic("10.augment", AnswerKind.CHOICE, {"network": "googlenet", "batch": 128, "buffers": 2}, None,
       options=("quarter", "less", "same", "more"), part=Purpose.CHANGE,
       gives=("fewer bytes wait on the device",))  # fmt: skip
def augment(n: Numbers) -> Truth:
    """Answer of 10.augment: bytes that the device reserves for images where it augments them
    itself, compared with augmenting on the host (B7)."""
    paths = [path_of(n["network"], n["batch"], n["buffers"], 0.15, at) for at in ("host", "device")]
    host, device = (sum(s.reserved for s in way.stations if "device" in s.name) for way in paths)
    quarter = abs(4 * device / host - 1) < LEAST
    answer = "quarter" if quarter else "less" if device < host else "same"
    single = path_of(n["network"], n["batch"], 1).stations[-1].reserved
    told = {
        "host": units.short(host), "device": units.short(device), "one_host": units.short(single)
    }  # fmt: skip
    return Truth("more" if device > host else answer, seen=told)


# -- ways out -------------------------------------------------------------------------------------

BUDGET = "12 GB"
"""Memory of the card."""
_WAYS = ("recompute", "offload", "precision", "accumulation")
LITTLE = 1e-4
"""Share of the time below which a text says "less than"."""


@topic("10.way", AnswerKind.CHOICE, {"network": "vgg16", "batch": 256}, None, options=_WAYS,
       words=lambda n: {**with_label(n), "peak": _peak(n)},
       gives=("hardly any time", "read once more", "no more time"))  # fmt: skip
def way(n: Numbers) -> Truth:
    """Answer of 10.way: the remedy that fits and adds least time for the same
    images, planned (C8)."""
    rows = remedies(n["network"], n["batch"], device=CARD, link=f"{LINK} GB/s", budget=BUDGET)
    extra = {key: rows[key].extra for key in _WAYS if rows[key].trains}
    told = {
        key: f"{100 * (share or 0):.2g}" if (share or 0) >= LITTLE else "less than 0.01"
        for key, share in extra.items()
    }
    told |= {"bytes": units.short(rows["accumulation"].peak), "peak": _peak(n)}
    return Truth(min(extra, key=lambda key: extra[key] or 0), seen=told)


def _peak(n: Numbers) -> str:
    return units.short(plan(without_workspace(n["network"])).peak(n["batch"]))


# -- exercise: when compute has finished ----------------------------------------------------------

Images = Column
"""Images as they are stored: 1 B for each value."""

MOST = 4
"""The most places of a ring."""


def ring(count: int, places: int) -> tuple[Op, ...]:
    """Operations of ``count`` mini-batches with a ring of places: the loader fills one place after
    the other, and a place is free again when compute has used it."""
    ends = []
    for n in range(count):
        free = (f"compute {n - places}",) if n >= places else ()
        ends.append(Op(f"load {n}", "load", Phase.COPY, stream=DISK, after=free))
        ends.append(Op(f"compute {n}", "step", Phase.FORWARD, after=(f"load {n}",)))
    return tuple(ends)


def _times(load: list[int], compute: list[int], places: int) -> list[tuple[int, int, int]]:
    """Times of each mini-batch: loaded, compute begun, compute ended."""
    seconds = [float(seconds) for pair in zip(load, compute, strict=True) for seconds in pair]
    timed_operations = list(slots(ring(len(load), places), seconds))
    loads, steps = (
        [s for s in timed_operations if s.op.stream == name] for name in (DISK, COMPUTE)
    )
    pairs = zip(loads, steps, strict=True)
    return [(round(one.end), round(two.start), round(two.end)) for one, two in pairs]


def _draw_durations(chance: Random, size: int) -> Arguments:
    most = [chance.choice((20, 60, 100)) for _ in range(2)]
    load, compute = ([chance.randint(1, longest) for _ in range(1 + size)] for longest in most)
    return {"load": load, "compute": compute, "places": chance.randint(1, MOST)}


def _with(places: Callable[[Arguments], int]) -> Slip:
    """Slip with another number of places."""
    return lambda truth, a: [end for *_, end in _times(a["load"], a["compute"], places(a))]


def _at_once(load: list[int], compute: list[int], places: int) -> list[int]:
    """Slip that begins every step as soon as its mini-batch is loaded."""
    loaded, ends = 0, list[int]()
    for n, (one, other) in enumerate(zip(load, compute, strict=True)):
        loaded = max(loaded, ends[n - places] if n >= places else 0) + one
        ends.append(loaded + other)
    return ends


_FINISHED_SLIPS: dict[str, Slip] = {
    "in_turn": lambda truth, a: list(
        accumulate(sum(pair) for pair in zip(a["load"], a["compute"], strict=True))
    ),
    "no_limit": _with(lambda a: len(a["load"])),
    "overwritten": _with(lambda a: a["places"] + 1),
    "one_less": _with(lambda a: max(1, a["places"] - 1)),
    "at_once": lambda truth, a: _at_once(**a),
    "begun": lambda truth, a: [begin for _, begin, _ in _times(**a)],
    "loaded": lambda truth, a: [loaded for loaded, *_ in _times(**a)],
}
_FINISHED_TRAPS: dict[str, Slip] = {
    "two_places": _with(lambda a: 2),
}


@task("10.finished", _draw_durations, slips=_FINISHED_SLIPS, traps=_FINISHED_TRAPS,
      edge=lambda a: a["places"] == 1)  # fmt: skip
def finished(load: list[int], compute: list[int], places: int) -> list[int]:
    """Time when compute has finished with each mini-batch, by the clock of the data path."""
    return [end for *_, end in _times(load, compute, places)]


# -- exercise: a generator that leaks -------------------------------------------------------------

PLACES = 2
"""Mini-batches in fp32 that may be alive at once."""


def _draw_images(chance: Random, size: int) -> Arguments:
    """Draw images and a batch; the smallest case has fewer images than a mini-batch."""
    batch = chance.randint(1, 1 + size) + (size == 1)
    whole = chance.randint(1, 2 + size) if size > 1 else 0
    count = batch * whole + chance.randint(not whole, batch - 1)
    draw = np.random.default_rng(chance.randrange(2**32))
    shape = (count, 3, 4 + size, 4 + size)
    return {"images": draw.integers(0, 256, shape, np.uint8), "batch": batch}


def _parts(a: Arguments) -> list[Images]:
    count, batch = len(a["images"]), a["batch"]
    return [a["images"][first : first + batch] for first in range(0, count, batch)]


_MEANS_SLIPS: dict[str, Slip] = {
    "stored": lambda truth, a: [255 * mean for mean in truth],
    "sum": lambda truth, a: [part.sum() / 255 for part in _parts(a)],
    "no_rest": lambda truth, a: truth[: len(a["images"]) // a["batch"]],
    "each": lambda truth, a: [image.mean() / 255 for image in a["images"]],
    "all": lambda truth, a: [a["images"].mean() / 255],
}


def _two_places(images: Images, batch: int) -> int:
    """Bytes of two mini-batches in fp32."""
    return PLACES * formats.find("fp32").nbytes(batch * images[0].size)


@task("10.means", _draw_images, slips=_MEANS_SLIPS, plan=_two_places, sizes=(1, 2, 3, 5, 8),
      rel=1e-5, edge=lambda a: len(a["images"]) < a["batch"])  # fmt: skip
def means(images: Images, batch: int) -> list[float]:
    """Mean of each mini-batch, with values scaled to 0 to 1."""
    parts = _parts({"images": images, "batch": batch})
    return [float(part.mean(dtype=np.float64)) / 255 for part in parts]
