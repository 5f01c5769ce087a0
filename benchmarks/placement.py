"""How long it takes to give every block of a training step an address, and how tight it gets."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from memlab.assemble.step import training_step
from memlab.measure.timing import BenchmarkLine, Result, interleave, line, machine, ratio
from memlab.networks.zoo.resnets import resnet
from memlab.placement.placement import Block, arrange, blocks

WAYS = ("birth", "best fit", "biggest", "best")
BATCH = 8
SHORT, LONG = 70, 700
"""Residual blocks in each of four stages: about 10,000 and 100,000 blocks of memory."""
AT_RANDOM = 10_000
AIM_SHORT, AIM_LONG = 1.0, 10.0
"""Seconds."""
LINEAR = 2.0
"""Time per block with ten times as many, at most this many times as much."""


def run(
    repeats: int = 3, stages: tuple[int, int] = (SHORT, LONG), count: int = AT_RANDOM
) -> Result:
    """Time the placing of 10,000 and 100,000 blocks, and how far the arena is over the bound."""
    lines = [*_training(repeats, stages), *_at_random(repeats, count)]
    return Result("placement", machine(), tuple(lines))


def of_step(stage: int) -> tuple[Block, ...]:
    """The blocks of a training step of a residual network, ``stage`` residual blocks per stage."""
    return blocks(training_step(resnet((stage,) * 4)), BATCH)


def at_random(count: int) -> tuple[Block, ...]:
    """Blocks of 64 B to 16 MiB that live for one operation to all: both drawn evenly on a
    logarithmic scale, always the same."""
    draw = random.Random(0)
    found = []
    for number in range(count):
        birth, life = draw.randrange(count), int(count ** draw.random())
        found.append(Block(str(number), int(2 ** draw.uniform(6, 24)), birth, birth + life - 1))
    return tuple(found)


def _training(repeats: int, stages: tuple[int, int]) -> list[BenchmarkLine]:
    short, long = (of_step(stage) for stage in stages)
    name = "in a step"
    lines, quick = _times(short, name, repeats, AIM_SHORT)
    more, slow = _times(long, name, 1, AIM_LONG)
    grows = f"time per block, {len(long):,} against {len(short):,}"
    ratios = [ratio(f"{way}: {grows}", slow[way], quick[way], LINEAR) for way in WAYS]
    return [*lines, *more, *ratios]


def _at_random(repeats: int, count: int) -> list[BenchmarkLine]:
    lines, times = _times(at_random(count), "at random", repeats)
    base = WAYS[0]
    return lines + [
        ratio(f"{way} against {base}: seconds", times[way], times[base]) for way in WAYS[1:]
    ]


def _times(
    given: Sequence[Block], name: str, repeats: int, aim: float | None = None
) -> tuple[list[BenchmarkLine], dict[str, tuple[float, ...]]]:
    """Lines, and the seconds per block of every way."""
    wasted: dict[str, float] = {}

    def case(way: str, turn: int) -> None:
        found = arrange(given, way)
        wasted[way] = 100 * found.waste / found.lower_bound

    samples = interleave({way: partial(case, way) for way in WAYS}, repeats, warm_up=0)
    lines = []
    for way in WAYS:
        title = f"{way}: {len(given):,} blocks {name}"
        lines += [
            line(title, samples[way], aim),
            BenchmarkLine(f"{title}, over the bound", wasted[way], "%"),
        ]
    return lines, {way: tuple(s / len(given) for s in samples[way]) for way in WAYS}
