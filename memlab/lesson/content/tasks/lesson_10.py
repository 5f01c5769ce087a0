"""Lesson 10, the data path: two buffers and their durations, and a generator under the meter."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from random import Random

from memlab import formats
from memlab.clocks.streams import COMPUTE, DISK, slots
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lines import Column, np
from memlab.step.op import Op, Phase

Images = Column
"""As they are stored: 1 B for each value."""

# -- when compute has finished --------------------------------------------------------------------

MOST = 4
"""The most places of a ring."""


def ring(count: int, places: int) -> tuple[Op, ...]:
    """The operations of so many mini-batches: a loader fills one place after the other, and each is
    free again when compute has used it."""
    found = []
    for n in range(count):
        free = (f"compute {n - places}",) if n >= places else ()
        found.append(Op(f"load {n}", "load", Phase.COPY, stream=DISK, after=free))
        found.append(Op(f"compute {n}", "step", Phase.FORWARD, after=(f"load {n}",)))
    return tuple(found)


def _times(load: list[int], compute: list[int], places: int) -> list[tuple[int, int, int]]:
    """Of each mini-batch: loaded, compute begun, compute ended."""
    seconds = [float(each) for pair in zip(load, compute, strict=True) for each in pair]
    found = list(slots(ring(len(load), places), seconds))
    loads, steps = ([s for s in found if s.op.stream == name] for name in (DISK, COMPUTE))
    pairs = zip(loads, steps, strict=True)
    return [(round(one.end), round(two.start), round(two.end)) for one, two in pairs]


def _draw_durations(chance: Random, size: int) -> Arguments:
    most = [chance.choice((20, 60, 100)) for _ in range(2)]
    load, compute = ([chance.randint(1, each) for _ in range(1 + size)] for each in most)
    return {"load": load, "compute": compute, "places": chance.randint(1, MOST)}


def _with(places: Callable[[Arguments], int]) -> Slip:
    """What comes out with another number of places."""
    return lambda truth, a: [end for *_, end in _times(a["load"], a["compute"], places(a))]


_FINISHED_SLIPS: dict[str, Slip] = {
    "in_turn": lambda truth, a: list(
        accumulate(sum(pair) for pair in zip(a["load"], a["compute"], strict=True))
    ),
    "no_limit": _with(lambda a: len(a["load"])),
    "overwritten": _with(lambda a: a["places"] + 1),
    "begun": lambda truth, a: [begin for _, begin, _ in _times(**a)],
    "loaded": lambda truth, a: [loaded for loaded, *_ in _times(**a)],
}
_FINISHED_TRAPS: dict[str, Slip] = {
    "two_places": _with(lambda a: 2),
    "one_less": _with(lambda a: max(1, a["places"] - 1)),
}


@task("10.finished", _draw_durations, slips=_FINISHED_SLIPS, traps=_FINISHED_TRAPS)
def finished(load: list[int], compute: list[int], places: int) -> list[int]:
    """When compute has finished with each mini-batch, by the clock of the data path."""
    return [end for *_, end in _times(load, compute, places)]


# -- a generator that leaks -----------------------------------------------------------------------

PLACES = 2
"""Mini-batches in fp32 that may be alive at once."""


def _draw_images(chance: Random, size: int) -> Arguments:
    batch = chance.randint(1, 1 + size)
    count = batch * chance.randint(1, 2 + size) + chance.randint(0, batch - 1)
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
      rel=1e-5)  # fmt: skip
def means(images: Images, batch: int) -> list[float]:
    """The mean of each mini-batch, of values between 0 and 1."""
    parts = _parts({"images": images, "batch": batch})
    return [float(part.mean(dtype=np.float64)) / 255 for part in parts]
