"""Lesson 00, start: what one more sample costs, what a unit hides, what a batch doubles."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from memlab import strings, units
from memlab.lesson.content.tools import peak_of, planned
from memlab.lesson.misconceptions import Cause, alike
from memlab.lesson.question import Figure, Kind, Numbers, Truth, topic
from memlab.lesson.task import Arguments, Slip, task
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.graph import Network


def _layer(n: Numbers) -> Network:
    return network("layer", features=n["inputs"]).linear(n["outputs"]).squared_error()


def _draw_layer(chance: Random) -> Numbers:
    while True:
        found = {"inputs": chance.randint(2, 9), "outputs": chance.randint(1, 9), "batch": 4}
        truth = sample(found)
        value, values = truth.value, found["inputs"] + 3 * found["outputs"]
        assert isinstance(value, Fraction)
        if value == 4 * values and not alike(value, truth.causes):
            return found  # the peak is where x, y, t and the gradient of y are alive


def _layer_words(n: Numbers) -> Numbers:
    return {**n, "more": n["batch"] + 1}


_LINEAR1 = {"inputs": 1, "outputs": 1, "batch": 4}


@topic("00.sample", Kind.AMOUNT, _LINEAR1, _draw_layer, words=_layer_words)
def sample(n: Numbers) -> Truth:
    """What one more sample adds to the peak of a linear layer."""
    few, more = (peak_of(_layer(n), batch) for batch in (n["batch"], n["batch"] + 1))
    each, maps = more - few, n["inputs"] + 3 * n["outputs"]
    causes = [
        Cause("bits", Fraction(8 * each)),
        Cause("values", Fraction(each, 4), {"bytes": 4}),
        Cause("no_gradient_map", Fraction(each - 4 * n["outputs"])),
        Cause("whole_peak", Fraction(more)),
        Cause("divided", Fraction(few, n["batch"])),
    ]
    seen = {"values": maps, "few": few, "peak": more, "each": each}
    return Truth(Fraction(each), (planned(each),), tuple(causes), seen)


def _draw_memory(chance: Random) -> Numbers:
    gib = chance.choice((4, 8, 11, 16, 24, 40))
    times = chance.choice((1.02, 1.035, 1.05, 1.06, 1.09, 1.11))
    return {"gib": gib, "gb": f"{times * gib:.1f}"}


@topic("00.unit", Kind.CHOICE, {"gib": 12, "gb": "12.5"}, _draw_memory, options=("fits", "fails"))
def unit(n: Numbers) -> Truth:
    """Whether a plan in GB fits into a memory in GiB."""
    needs, there = units.parse(f"{n['gb']} GB"), units.parse(f"{n['gib']} GiB")
    plan, memory = strings.get("ask.00.unit.plan"), strings.get("ask.00.unit.memory")
    figures = (Figure("", Fraction(needs), plan), Figure("", Fraction(there), memory))
    seen = {**n, "needs": units.exact(needs), "there": units.exact(there)}
    return Truth("fits" if needs <= there else "fails", figures, seen=seen)


_DOUBLE = {"network": "alexnet", "optimizer": "momentum", "batch": 32}


def _draw_double(chance: Random) -> Numbers:
    name = chance.choice(("vgg11", "resnet18", "vgg16"))
    return {**_DOUBLE, "network": name, "batch": chance.choice((4, 8, 16, 64))}


def _double_words(n: Numbers) -> Numbers:
    label = zoo.build(n["network"]).label
    return {**n, "label": label, "twice": 2 * n["batch"]}


_GROWTH = ("same", "less", "double", "more")


@topic("00.double", Kind.CHOICE, _DOUBLE, _draw_double, options=_GROWTH, words=_double_words)
def double(n: Numbers) -> Truth:
    """How the peak answers when the batch doubles (A12)."""
    made = zoo.build(n["network"])
    small, large = (peak_of(made, batch, n["optimizer"]) for batch in (n["batch"], 2 * n["batch"]))
    figures = (
        planned(small, f"batch {n['batch']}"),
        planned(large, f"batch {2 * n['batch']}"),
    )
    name = "same" if small == large else "less" if large < 2 * small else "double"
    if large > 2 * small:
        name = "more"
    return Truth(name, figures, seen={"ratio": f"{large / small:.2f}"})


# -- exercise -----------------------------------------------------------------------------------


def _draw_bytes(chance: Random, size: int) -> Arguments:
    return {"nbytes": chance.randrange(1, 2 ** (size + 19))}


def _per(unit: str) -> Slip:
    return lambda truth, arguments: arguments["nbytes"] / units.UNITS[unit]


_MIB_SLIPS = {
    "decimal": _per("MB"),
    "kibi": _per("KiB"),
    "gibi": _per("GiB"),
    "mixed": lambda truth, arguments: arguments["nbytes"] / (1000 * 1024),
    "bits": lambda truth, arguments: 8 * truth,
    "whole": lambda truth, arguments: int(truth),
}


@task("00.mebibytes", _draw_bytes, slips=_MIB_SLIPS)
def mebibytes(nbytes: int) -> float:
    """Bytes in MiB."""
    return nbytes / units.UNITS["MiB"]
