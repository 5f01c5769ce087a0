"""How far planned seconds are from measured ones: ten networks and batches, on one thread.

None of the pairs is one that ``memlab bench machine`` measures by. Of some, the convolutions that
``memlab.lowering`` calls the fastest take turns with the default ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log
from statistics import median

from benchmarks import offload
from memlab.assemble.step import training_step
from memlab.bench.measured_machine import Subject, alternated, timed
from memlab.clocks import roofline, streams
from memlab.clocks.measured_rates import COMMAND
from memlab.measure.processor import freed_memory_kept, limited
from memlab.measure.timing import BenchmarkLine, Result, interleave, machine
from memlab.networks import zoo
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.techniques.lowering import lowering
from memlab.techniques.offload import offload as offloaded

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


OFFLOADED: tuple[Subject, ...] = (("vgg11", 64, 8), ("alexnet", None, 8), ("resnet18", 128, 4))
"""Those whose steps offload, in seconds on the wall: copies run in threads of their own."""
OFFLOAD_AIM = 1.35
"""The same of these."""
CHOSEN: tuple[Subject, ...] = (
    ("resnet50", 96, 4),
    ("resnet34", 96, 4),
    ("vgg11", 64, 8),
    ("googlenet", None, 4),
    ("alexnet", None, 8),
)
"""Those whose fastest convolutions take turns with the default ones, on large and small maps."""
CHOSEN_AIM = 1.0
"""Their seconds over those of the default, at most."""


def run() -> Result:
    """Planned seconds against measured ones, ten networks and batches; first bench machine."""
    plain, moving = list(_lines(PAIRS, ROUNDS)), list(_offloaded(OFFLOADED, ROUNDS))
    whose = f"apart, geometric mean; planned for {roofline.rates().title}"
    return Result("clock", machine(), (
        *plain, BenchmarkLine(whose, apart(plain), "x", AIM),
        *moving, BenchmarkLine("the same with offload", apart(moving), "x", OFFLOAD_AIM),
        *_chosen(CHOSEN, ROUNDS),
    ))  # fmt: skip


def apart(lines: Sequence[BenchmarkLine]) -> float:
    """The geometric mean of max(ratio, 1 / ratio)."""
    return exp(sum(abs(log(line.value)) for line in lines) / len(lines))


def _lines(pairs: Iterable[Subject], rounds: int) -> Iterable[BenchmarkLine]:
    """Planned over measured seconds of each pair."""
    rates = roofline.rates()
    with limited(), freed_memory_kept():
        for name, image, batch in pairs:
            step = training_step(zoo.build(name, image=image))
            measured = sum(seconds for _, seconds in timed(step, batch, rounds))
            planned = roofline.total(step, batch, rates)
            what = f"{step.label or name}, batch {batch}: {planned:.3f} of {measured:.3f} s"
            yield BenchmarkLine(what, planned / measured, "x")


def _offloaded(pairs: Iterable[Subject], rounds: int) -> Iterable[BenchmarkLine]:
    """The same of steps that offload, whose copies take half of the kernels' planned time."""
    with limited(), freed_memory_kept():
        for name, image, batch in pairs:
            step = training_step(zoo.build(name, image=image), "sgd")
            moving = offloaded(step, "conv")
            speed = round(offload.copied(moving, batch) / (roofline.total(step, batch) / 2))
            planned = streams.clock(moving, batch, link=speed).seconds
            with Session(Program(moving, batch)) as session, offload.paced(session, speed):
                measured = _median(session, rounds)
            what = f"{name}, batch {batch}, offload: {planned:.3f} of {measured:.3f} s"
            yield BenchmarkLine(what, planned / measured, "x")


def _chosen(pairs: Iterable[Subject], rounds: int) -> Iterable[BenchmarkLine]:
    """Measured seconds with the fastest convolutions, over those with the default ones; they are
    known where this machine was measured."""
    if not roofline.rates().here:
        yield BenchmarkLine(
            f"fastest convolutions: `{COMMAND}` has not measured this machine", 0, ""
        )
        return
    with limited(), freed_memory_kept():
        for name, image, batch in pairs:
            step = training_step(zoo.build(name, image=image))
            found = alternated([lowering(step, batch=batch), step], batch, rounds)
            chosen, usual = (sum(median(each) for _, each in ops) for ops in found)
            what = f"{name}, batch {batch}, fastest convolutions: {chosen:.3f} of {usual:.3f} s"
            yield BenchmarkLine(what, chosen / usual, "x", CHOSEN_AIM)


def _median(session: Session, rounds: int) -> float:
    """Seconds of a step on the wall."""
    return median(interleave({"step": lambda turn: session.step()}, rounds)["step"])
