"""Lesson 00, start: the peak when the batch doubles, and bytes in MiB."""

from __future__ import annotations

from random import Random

from memlab import units
from memlab.lesson.card_question import AnswerKind, Numbers, Truth, topic
from memlab.lesson.content.shared_truths import peak_of, planned
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.networks import zoo

_DOUBLE = {"network": "alexnet", "optimizer": "sgd", "batch": 32}


def _draw_double(chance: Random) -> Numbers:
    name = chance.choice(("vgg11", "resnet18", "vgg16"))
    return {**_DOUBLE, "network": name, "batch": chance.choice((4, 8, 16, 64))}


def _double_words(n: Numbers) -> Numbers:
    label = zoo.build(n["network"]).label
    return {**n, "label": label, "twice": 2 * n["batch"]}


_GROWTH = ("same", "less", "double", "more")


@topic("00.double", AnswerKind.CHOICE, _DOUBLE, _draw_double, options=_GROWTH, words=_double_words,
       gives=("floor", "mountain"), shows=({"batch": 64},))  # fmt: skip
def double(n: Numbers) -> Truth:
    """Answer of 00.double: the peak at twice the batch, compared with that at the batch (A12)."""
    net = zoo.build(n["network"])
    small, large = (peak_of(net, batch, n["optimizer"]) for batch in (n["batch"], 2 * n["batch"]))
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
    """Draw a number of bytes, in some cases 0."""
    return {"nbytes": chance.choice((0, *4 * [chance.randrange(1, 2 ** (size + 19))]))}


def _per(unit: str) -> Slip:
    return lambda truth, arguments: arguments["nbytes"] / units.UNITS[unit]


_MIB_SLIPS = {
    "decimal": _per("MB"),
    "kibi": _per("KiB"),
    "gibi": _per("GiB"),
    "mixed": lambda truth, arguments: arguments["nbytes"] / (1000 * 1024),
    "bits": lambda truth, arguments: 8 * truth,
    "whole": lambda truth, arguments: int(truth),
    "whole.round": lambda truth, arguments: round(truth),
    "whole.digits": lambda truth, arguments: round(truth, 2),
}


@task("00.mebibytes", _draw_bytes, slips=_MIB_SLIPS, edge=lambda a: not a["nbytes"])
def mebibytes(nbytes: int) -> float:
    """Return bytes in MiB."""
    return nbytes / units.UNITS["MiB"]
