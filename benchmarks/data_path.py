"""Whether a loader that reads ahead keeps compute from waiting: a step on one thread, fed from a
folder by a disk of a chosen speed.

Files come out of this machine's memory, so reads are paced: a batch takes at least as long as its
bytes need on that disk. The speed is chosen so that loading takes a given share of compute. With a
disk of a third of that no number of buffers suffices, and the clock has to say what is left.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from memlab.assemble.step import training_step
from memlab.errors import whole_number
from memlab.measure.processor import freed_memory_kept, limited
from memlab.measure.timing import BenchmarkLine, Result, line, machine, median
from memlab.networks import zoo
from memlab.runtime.loader.feed import Fed, feed
from memlab.runtime.loader.images import noise, write
from memlab.step.step import Step

NETWORK, IMAGE, BATCH, BATCHES = "resnet18", 64, 8, 10
SHARE = 0.65
"""What loading takes of compute."""
LEFT, APART = 0.2, 0.25
"""The stalls of no buffer that two may leave, and how far planned stalls may be from measured ones,
at most."""
NONE, TWO, SLOW = "no buffer", "2 buffers", "2 buffers, a third of the disk"
SETTINGS = {NONE: (0, 1.0), TWO: (2, 1.0), SLOW: (2, 1 / 3)}
"""The cases: buffers, and the part of the disk's speed."""
CALIBRATION = 4
"""Batches by which the disk's speed is chosen."""


def run(
    network: str = NETWORK, image: int = IMAGE, batch: int = BATCH, batches: int = BATCHES,
    repeats: int = 5,
) -> Result:  # fmt: skip
    """Time how long compute waits for images, with no buffer and with two."""
    made_of = zoo.build(network, image=image, classes=10)
    step, (channels, rows, columns) = training_step(made_of, "sgd"), made_of.input_shape
    with TemporaryDirectory() as there, limited(), freed_memory_kept():
        folder, size = Path(there) / "images", (channels, rows, columns)
        write(folder, "raw", partial(noise, batch * batches, size, 10, 0), 0)
        rounds = [
            _round(step, folder, batch, turn) for turn in range(whole_number("repeats", repeats))
        ]
    what = f"{network}, {image}x{image}, batch {batch}"
    stalls = {name: tuple(_stall(each[name]) for each in rounds) for name in SETTINGS}
    left = tuple(_stall(each[TWO]) / _stall(each[NONE]) for each in rounds)
    return Result("path", machine(), (
        BenchmarkLine("loading, as a share of compute",
        median(tuple(_share(r[NONE]) for r in rounds)), ""),
        *(line(f"stalls of a batch, {name}: {what}", each) for name, each in stalls.items()),
        BenchmarkLine("stalls that two buffers leave", median(left), "x", LEFT, left),
        *(_planned(name, [each[name] for each in rounds]) for name in (NONE, SLOW)),
        *(BenchmarkLine(f"images a second, {name}",
               median(tuple(each[name].images_per_second for each in rounds)), "")
          for name in SETTINGS),
    ))  # fmt: skip


def _round(step: Step, folder: Path, batch: int, turn: int) -> dict[str, Fed]:
    """What came of every case, from another one on each time. A machine's speed drifts, so the disk
    is as fast as the step asks for just before."""
    alone = feed(step, folder, batch, 0, batches=CALIBRATION)
    speed = alone.moved.disk / alone.batches / (SHARE * alone.compute)
    first = turn % len(SETTINGS)
    names = [*SETTINGS][first:] + [*SETTINGS][:first]
    found = {}
    for name in names:
        buffers, part = SETTINGS[name]
        found[name] = feed(step, folder, batch, buffers, disk=f"{speed * part:.0f} B/s")
    return found


def _stall(fed: Fed) -> float:
    """Seconds in which compute waits for a batch."""
    return fed.stalled / (fed.batches - 1)


def _share(fed: Fed) -> float:
    """Loading over compute."""
    return sum(each for name, each in fed.parts.items() if name != "compute") / fed.compute


def _planned(name: str, runs: list[Fed]) -> BenchmarkLine:
    """How far the stalls are that the clock plans of the measured seconds of the parts."""
    apart = tuple(abs(fed.clocked().stalled / fed.stalled - 1) for fed in runs)
    return BenchmarkLine(f"planned stalls from measured, {name}", median(apart), "", APART, apart)
