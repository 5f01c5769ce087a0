"""How far planned seconds are from measured ones: ten networks and batches, on one thread.

None of the pairs is one that ``memlab bench machine`` measures by.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log

from memlab.bench.here import Subject, timed
from memlab.bench.processor import limited
from memlab.bench.step import freed_memory_kept
from memlab.bench.timing import Line, Result, machine
from memlab.networks import zoo
from memlab.planner import clock
from memlab.step.build import training_step

PAIRS: tuple[Subject, ...] = (
    ("mnist_cnn", None, 128),
    ("alexnet", None, 8),
    ("overfeat", None, 2),
    ("vgg11", 64, 8),
    ("vgg16", 112, 2),
    ("resnet34", 96, 4),
    ("resnet50", 96, 4),
    ("googlenet", None, 4),
    ("gpt_small", None, 4),
    ("vit_s", None, 1),
)
"""Small and large, of all kinds."""
AIM = 1.25
"""Geometric mean of max(ratio, 1 / ratio) of planned and measured seconds, at most."""
ROUNDS = 3


def run() -> Result:
    """Planned seconds against measured ones, ten networks and batches; first bench machine."""
    lines = list(_lines(PAIRS, ROUNDS))
    mean = exp(sum(abs(log(line.value)) for line in lines) / len(lines))
    whose = f"apart, geometric mean; planned for {clock.rates().title}"
    return Result("clock", machine(), (*lines, Line(whose, mean, "x", AIM)))


def _lines(pairs: Iterable[Subject], rounds: int) -> Iterable[Line]:
    """Planned over measured seconds of each pair."""
    rates = clock.rates()
    with limited(), freed_memory_kept():
        for name, image, batch in pairs:
            step = training_step(zoo.build(name, image=image))
            measured = sum(seconds for _, seconds in timed(step, batch, rounds))
            planned = clock.total(step, batch, rates)
            what = f"{step.label or name}, batch {batch}: {planned:.3f} of {measured:.3f} s"
            yield Line(what, planned / measured, "x")
