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

from memlab import units
from memlab.bench.processor import limited
from memlab.bench.step import freed_memory_kept
from memlab.bench.timing import Line, Result, interleave, machine, median
from memlab.networks import zoo
from memlab.runtime.feed import Fed, feed
from memlab.runtime.folders import noise, write
from memlab.step.build import training_step
from memlab.step.step import Step

NETWORK, IMAGE, BATCH, BATCHES = "resnet18", 64, 8, 10
SHARE = 0.65
"""What loading takes of compute."""
LEFT, APART = 0.2, 0.25
"""The stalls of no buffer that two may leave, and how far planned stalls may be from measured ones,
at most."""
NONE, TWO, SLOW = "no buffer", "2 buffers", "2 buffers, a third of the disk"


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
        alone = feed(step, folder, batch, 0)
        disk = batch * channels * rows * columns / (SHARE * alone.parts["compute"])
        found = _fed(step, folder, batch, disk, repeats)
    what = f"{network}, {image}x{image}, batch {batch}"
    lines = [
        Line(f"stalls of a batch, {name}: {what}", median(_stalls(each)), "s", None, _stalls(each))
        for name, each in found.items()
    ]
    rates = [
        Line(f"images a second, {name}", median(tuple(fed.images_per_second for fed in each)), "")
        for name, each in found.items()
    ]
    return Result("path", machine(), (
        Line(f"disk {units.short(int(disk))}/s: loading, as a share of compute",
             median(tuple(map(_share, found[NONE]))), ""),
        *lines,
        Line("stalls that two buffers leave",
             median(_stalls(found[TWO])) / median(_stalls(found[NONE])), "x", LEFT),
        *(_planned(name, found[name]) for name in (NONE, SLOW)),
        *rates,
    ))  # fmt: skip


def _fed(
    step: Step, folder: Path, batch: int, disk: float, repeats: int
) -> dict[str, tuple[Fed, ...]]:
    """What came of every run; they take turns."""
    found: dict[str, list[Fed]] = {}
    settings = {NONE: (0, disk), TWO: (2, disk), SLOW: (2, disk / 3)}

    def one(name: str, turn: int) -> None:
        buffers, speed = settings[name]
        found.setdefault(name, []).append(feed(step, folder, batch, buffers, disk=speed))

    interleave({name: partial(one, name) for name in settings}, repeats, warm_up=0)
    return {name: tuple(found[name]) for name in settings}


def _stalls(runs: tuple[Fed, ...]) -> tuple[float, ...]:
    """Seconds in which compute waits for a batch, in each run."""
    return tuple(fed.stalled / (fed.batches - 1) for fed in runs)


def _share(fed: Fed) -> float:
    """Loading over compute."""
    return sum(each for name, each in fed.parts.items() if name != "compute") / fed.compute


def _planned(name: str, runs: tuple[Fed, ...]) -> Line:
    """How far the stalls are that the clock plans of the measured seconds of the parts."""
    planned = median(tuple(fed.clocked().stalled / (fed.batches - 1) for fed in runs))
    return Line(f"planned stalls against measured, {name}",
                abs(planned / median(_stalls(runs)) - 1), "", APART)  # fmt: skip
