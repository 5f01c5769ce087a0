"""Lesson 10, the data path.

Cards: the slowest part of the path, the gain of a buffer. Exercises: buffers and their durations,
and a measured generator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import accumulate
from random import Random

import numpy as np

from memlab import formats, hardware, strings, units
from memlab.arrays import Column
from memlab.clocks.data_path import DECODED, JPEG, PathPlan
from memlab.clocks.streams import COMPUTE, DISK, slots
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.shared_truths import step_of, with_label
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.networks import zoo
from memlab.pictures.path.data_path import DataPath, data_path_of
from memlab.pictures.values.number_text import three_digits
from memlab.pictures.values.step_recipe import network_of
from memlab.step.op import Op, Phase
from memlab.step.tensor import Role

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
    sizes = {"images": images, "peak": peak, "stored": images // 4}
    told = {name: three_digits(nbytes) for name, nbytes in sizes.items()}
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


# -- the slowest part -----------------------------------------------------------------------------

SSD = 7
"""GB/s that an NVMe SSD reads: a Samsung 990 PRO reads up to 7.45, as its maker says."""
_PARTS_OF_PATH = {"disk": "read", "decode": "convert", "link": "link", "compute": "compute"}
"""Parts of the path, by the option that names them."""
COUNTS = {"one": 1, "two": 2, "four": 4}
"""Buffers, by the option that names them; with none of them compute may wait all the same."""
LEAST = 0.01
"""The share of the time below which compute does not wait, for a card."""


@cache
def path_of(network: str, batch: int, buffers: int, workers: int, device: str) -> DataPath:
    """Data path of a network's images, from JPEG files on an NVMe SSD to the device."""
    card = hardware.find(device)
    rates = SSD * units.DECIMAL["GB"], 10 * units.DECIMAL["GB"], card.wire.speed
    return data_path_of(network_of(network), batch, buffers, "host", *rates, card, "jpeg", workers)


def _path(n: Numbers, buffers: int) -> PathPlan:
    return path_of(n["network"], n["batch"], buffers, n["workers"], n["device"]).path


def _draw_path(chance: Random) -> Numbers:
    return {
        "network": chance.choice(("resnet18", "resnet50", "googlenet")),
        "batch": chance.choice((64, 128, 256)),
        "workers": chance.choice((1, 2, 4, 8)),
        "device": chance.choice(("rtx 4090", "a100", "titan x")),
    }


def _words(n: Numbers) -> dict[str, object]:
    key = "workers" if n["workers"] > 1 else "worker"
    workers = strings.get(f"ask.10.slowest.{key}", count=n["workers"], rate=DECODED)
    return {
        **with_label(n), "device": hardware.find(n["device"]).model, "workers": workers,
        "disk": SSD, "file": f"{JPEG // 1000} kB",
        "step": f"{float(f'{1000 * _path(n, 0).compute:.2g}'):g}",
        "link": f"{hardware.find(n['device']).wire.speed / units.DECIMAL['GB']:.3g}",
    }  # fmt: skip


@topic("10.slowest", AnswerKind.CHOICE,
       {"network": "resnet50", "batch": 128, "workers": 1, "device": "rtx 4090"}, _draw_path,
       options=tuple(_PARTS_OF_PATH), words=_words,
       gives=("decoding takes", "decoding is", "slowest part is"),
       shows=({"files": "jpeg", "asked": False},))  # fmt: skip
def slowest(n: Numbers) -> Truth:
    """Answer of 10.slowest: the part of the data path that takes a mini-batch longest, planned."""
    path = _path(n, 0)
    seconds = {name: path.parts[part] for name, part in _PARTS_OF_PATH.items()}
    told = {name: f"{1000 * value:.3g}" for name, value in seconds.items()}
    told |= {"rate": f"{path.batch / path.compute:,.0f}", "decoded": str(DECODED)}
    return Truth(max(seconds, key=lambda name: seconds[name]), seen=told)


# -- what one more buffer buys --------------------------------------------------------------------


def _waits(n: Numbers, buffers: int) -> str:
    return f"{100 * _path(n, buffers).waits:.2g}"


@topic("10.buffers", AnswerKind.CHOICE,
       {"network": "resnet50", "batch": 128, "workers": 4, "device": "rtx 4090"}, None,
       options=(*COUNTS, "never"), part=Purpose.CHANGE,
       words=lambda n: {"workers": n["workers"], "waits": _waits(n, 0)},
       gives=("2 buffers", "two buffers", "double buffer", "no wait"))  # fmt: skip
def buffers(n: Numbers) -> Truth:
    """Answer of 10.buffers: the fewest buffers with which compute hardly waits, planned."""
    paths = {name: _path(n, count) for name, count in COUNTS.items()}
    enough = (name for name, path in paths.items() if path.waits < LEAST)
    path = paths["two"]
    told = {name: _waits(n, count) for name, count in COUNTS.items()}
    load = path.parts["read"] + path.parts["convert"]
    told |= {"load": f"{1000 * load:.3g}", "step": f"{1000 * path.compute:.3g}"}
    return Truth(next(enough, "never"), seen=told)


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
