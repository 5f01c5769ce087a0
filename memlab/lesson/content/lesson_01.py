"""Lesson 01, one linear layer: the sign of an update, the peak, gradients, prediction."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import numpy.typing as npt

from memlab import formats, units
from memlab.lesson.content.tools import measured, planned, step_of
from memlab.lesson.misconceptions import Cause, alike
from memlab.lesson.question import Kind, Numbers, Truth, topic
from memlab.networks.builder import Handle, network
from memlab.networks.graph import Network
from memlab.planner.book import plan

Vector = npt.NDArray[np.float64]

RATE = 0.1


def _draw_sign(chance: Random) -> Numbers:
    x = chance.choice((-2.0, -1.5, -0.5, 0.5, 1.0, 1.5))
    w1, w2 = chance.choice((-0.6, 0.3, 0.5)), chance.choice((-0.2, 0.1, 0.2))
    return {"x": x, "w1": w1, "w2": w2, "t": chance.choice((-0.9, 0.9))}


_SIGN = {"x": 2.0, "w1": 0.4, "w2": -0.1, "t": 0.9}


@topic("01.sign", Kind.CHOICE, _SIGN, _draw_sign, options=("grows", "stays", "shrinks"))
def sign(n: Numbers) -> Truth:
    """Where one update moves the weight of the single layer (A1)."""
    from memlab.networks import zoo
    from memlab.runtime.run import run

    given = {"h.weight": [[n["w1"]]], "h.bias": [n["w2"]]}
    step = step_of(zoo.linear1(), "sgd", "fp64")
    done = run(step, 1, [[n["x"]]], [[n["t"]]], given, settings={"rate": RATE}, keep="gradients")
    slope, after = done.gradients["gradient of h.weight"].item(), done.parameters["h.weight"].item()
    name = "grows" if after > n["w1"] else "shrinks" if after < n["w1"] else "stays"
    return Truth(name, seen={"slope": f"{slope:.4f}", "after": f"{after:.4f}"})


def _draw_peak(chance: Random) -> Numbers:
    while True:
        format = chance.choice(("fp32", "fp64"))
        found = {"format": format, "batch": chance.randint(2, 9), "features": chance.randint(1, 4)}
        if not alike(*_peak(found)):
            return found


def single(n: Numbers) -> Network:
    """The single layer, with so many inputs."""
    x = network("single", features=n["features"]).linear(1, name="h").tanh(name="y")
    return x.squared_error(name="loss")


def _peak(n: Numbers) -> tuple[int, list[Cause]]:
    """The planned peak and what others may come to."""
    ledger = plan(step_of(single(n), "sgd", n["format"]))
    peak, each = ledger.peak(n["batch"]), formats.find(n["format"]).bits // 8
    everything = sum(entry.size.at(n["batch"]) for entry in ledger.entries)
    alone = ledger.peak(1)
    return peak, [
        Cause("bits", Fraction(8 * peak)),
        Cause("values", Fraction(peak, each), {"bytes": each}),
        Cause("everything", Fraction(everything)),
        *([Cause("sample", Fraction(alone), {"batch": n["batch"]})] if alone != peak else []),
        *([Cause("four_bytes", Fraction(peak, 2))] if each == 8 else []),
    ]


@topic("01.peak", Kind.AMOUNT, {"format": "fp64", "batch": 1, "features": 1}, _draw_peak)
def peak(n: Numbers) -> Truth:
    """The peak of the single layer, every value counted when it is alive (A1)."""
    from memlab.runtime.run import run

    nbytes, causes = _peak(n)
    done = run(step_of(single(n), "sgd", n["format"]), n["batch"])
    at = done.planned.peak_at(n["batch"])
    seen = {"blocks": len(done.planned.alive(at.index)), "name": at.row.name}
    return Truth(Fraction(nbytes), (planned(nbytes), measured(done.peak)), tuple(causes), seen)


# -- a network of convolutions, in its lesson size ----------------------------------------------


def convolutions(depth: int) -> Network:
    """Images of 3·64·64 through ``depth`` convolutions of 16 channels, then 10 classes."""
    x: Handle = network("small", image=(3, 64, 64))
    for _ in range(depth):
        x = x.conv(16, 3, pad="same").relu()
    return x.max_pool("all").flatten().linear(10).cross_entropy()


def _draw_batches(chance: Random) -> Numbers:
    return {"depth": chance.choice((2, 3, 5)), "batch": chance.choice((4, 8, 16, 24))}


_TIMES = ("1", "1.5", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48", "64")


@topic("01.gradients", Kind.TIMES, {"depth": 4, "batch": 32}, _draw_batches, stops=_TIMES)
def gradients(n: Numbers) -> Truth:
    """How the gradients of all parameters grow with the batch: not at all (B5)."""
    from memlab.runtime.run import run

    step = step_of(convolutions(n["depth"]), "sgd")
    one, many = (
        sum(array.nbytes for array in run(step, batch, keep="gradients").gradients.values())
        for batch in (1, n["batch"])
    )
    due = [entry for entry in plan(step).entries if entry.role == "parameter_gradient"]
    ratio = Fraction(sum(e.size.at(n["batch"]) for e in due), sum(e.size.at(1) for e in due))
    causes = (Cause("per_sample", Fraction(n["batch"])),)
    figures = (planned(ratio), measured(Fraction(many, one)))
    return Truth(ratio, figures, causes, {"nbytes": f"{many:,}"})


def _draw_depth(chance: Random) -> Numbers:
    while True:
        found = {"depth": chance.choice((2, 3, 5, 6, 8)), "batch": chance.choice((2, 3, 4))}
        ledgers = [plan(step_of(convolutions(found["depth"]), name)) for name in ("sgd", "")]
        due = [ledger.peak(found["batch"], workspace=False) for ledger in ledgers]
        if not alike(Fraction(*due), _prediction_causes(found, due)):
            return found


_LESS = ("1", "1.25", "1.5", "2", "2.5", "3", "4", "5", "6", "8", "10", "12", "15", "20")


@topic("01.prediction", Kind.TIMES, {"depth": 4, "batch": 5}, _draw_depth, stops=_LESS)
def prediction(n: Numbers) -> Truth:
    """How much smaller the peak of prediction is, workspace left out (D2)."""
    from memlab.runtime.run import run

    steps = [step_of(convolutions(n["depth"]), optimizer) for optimizer in ("sgd", "")]
    due, seen = (
        [ledger.peak(n["batch"], workspace=False) for ledger in ledgers]
        for ledgers in (
            [plan(step) for step in steps],
            [run(step, n["batch"]).measured for step in steps],
        )
    )
    ratio = Fraction(due[0], due[1])
    causes = _prediction_causes(n, due)
    figures = (planned(ratio), measured(Fraction(seen[0], seen[1])))
    return Truth(
        ratio,
        figures,
        causes,
        {"kept": n["depth"], "training": units.both(due[0]), "prediction": units.both(due[1])},
    )


def _prediction_causes(n: Numbers, due: list[int]) -> tuple[Cause, ...]:
    """One map in place of two, or one sample in place of the batch."""
    step = step_of(convolutions(n["depth"]), "")
    alone = plan(step).peak(1, workspace=False)
    found = [
        Cause("one_map_each_layer", Fraction(2 * n["depth"])),
        Cause("one_sample", Fraction(due[0], alone), {"batch": n["batch"]}),
        Cause("half", Fraction(2)),
    ]
    ratio = Fraction(due[0], due[1])
    return tuple(cause for cause in found if not alike(ratio, [cause]))
