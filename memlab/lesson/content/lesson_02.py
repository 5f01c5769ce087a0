"""Lesson 02, a whole network: an output, half a batch, a published total."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from memlab import units
from memlab.lesson.content.tools import measured, peak_of, planned, step_of
from memlab.lesson.misconceptions import Cause, alike, distinct
from memlab.lesson.quantities import Quantity, feature_map
from memlab.lesson.question import Kind, Numbers, Truth, topic
from memlab.networks import counting, zoo
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.planner.book import plan

FP32 = 4


def one_convolution(n: Numbers) -> Network:
    """A network with one convolution, ``conv``."""
    x = network("one", image=(n["channels"], n["size"], n["size"]))
    x = x.conv(n["kernels"], n["k"], n["stride"], n["pad"], name="conv").relu()
    return x.max_pool("all").flatten().linear(10).cross_entropy()


def _output(n: Numbers) -> Quantity:
    """The output's bytes, with the causes that can be told apart."""
    found = feature_map(one_convolution(n).by_name["conv"], n["batch"])
    return Quantity(found.nbytes, tuple(distinct(*found)))


def _draw_output(chance: Random) -> Numbers:
    k = chance.choice((1, 3, 5, 7))
    return {
        "channels": chance.choice((3, 8, 16, 24)),
        "size": chance.choice((24, 32, 40, 56)),
        "kernels": chance.choice((12, 20, 32, 48)),
        "k": k,
        "stride": chance.choice((1, 1, 2)),
        "pad": k // 2 * chance.choice((0, 1, 1)),
        "batch": chance.choice((6, 10, 12, 20, 24)),
    }


_CONV1 = {"channels": 1, "size": 28, "kernels": 64, "k": 5, "stride": 1, "pad": 2, "batch": 32}


@topic("02.output", Kind.AMOUNT, _CONV1 | {"network": "mnist_cnn"}, _draw_output)
def output(n: Numbers) -> Truth:
    """The bytes of a convolution's output, planned and found among the blocks of a run."""
    from memlab.runtime.run import run

    done = run(step_of(one_convolution(n), "sgd"), n["batch"])
    due, seen = (
        next(entry for entry in ledger.entries if entry.name == "conv").size.at(n["batch"])
        for ledger in (done.planned, done.measured)
    )
    rows = one_convolution(n).by_name["conv"].shape[1]
    figures = (planned(due), measured(seen))
    return Truth(Fraction(due), figures, _output(n).causes, {"rows": rows, "nbytes": f"{due:,}"})


# -- half a batch -------------------------------------------------------------------------------

_STOPS = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "2.0", "2.5", "3.0")
_VGG = {"network": "vgg16", "optimizer": "adam", "batch": 8}
_RESNET = {"network": "resnet50", "optimizer": "momentum", "batch": 32}


def _words(n: Numbers) -> Numbers:
    from memlab.step.rules import TITLES

    label = zoo.build(n["network"]).label
    return {**n, "label": label, "title": TITLES[n["optimizer"]], "half": n["batch"] // 2}


def _half_words(n: Numbers) -> Numbers:
    """What the peak can be estimated from: parameters, and what each image adds."""
    made = zoo.build(n["network"])
    ledger = plan(step_of(made, n["optimizer"]))
    each = ledger.line()[1][ledger.peak_at(n["batch"]).index]
    parameters = f"{made.parameters / 10**6:.1f}"
    return {**_words(n), "parameters": parameters, "each": units.short(int(each))}


def _draw_half(chance: Random) -> Numbers:
    name = chance.choice(("vgg11", "vgg19", "alexnet", "resnet18", "resnet34", "googlenet_bn"))
    optimizer = chance.choice(("sgd", "momentum", "adam"))
    return {"network": name, "optimizer": optimizer, "batch": chance.choice((4, 8, 16, 32, 64))}


def half(n: Numbers) -> Truth:
    """How much the peak falls when the batch is halved (A12)."""
    made = zoo.build(n["network"])
    whole, part = (peak_of(made, b, n["optimizer"]) for b in (n["batch"], n["batch"] // 2))
    ratio = Fraction(whole, part)
    causes = (Cause("no_floor", Fraction(2)), Cause("no_mountain", Fraction(1)))
    told = tuple(cause for cause in causes if not alike(ratio, [cause]))
    peaks = {"whole": units.both(whole), "part": units.both(part)}
    return Truth(
        ratio, (planned(ratio),), told, {**peaks, "fall": f"{100 - 100 * part / whole:.1f} %"}
    )


for _name, _numbers in (("02.halve", _VGG), ("02.resnet", _RESNET)):
    topic(_name, Kind.TIMES, _numbers, _draw_half, stops=_STOPS, decimals=1, words=_half_words)(
        half
    )


# -- a published total --------------------------------------------------------------------------

_RATIOS = (
    "0.3",
    "0.5",
    "0.7",
    "1.0",
    "1.2",
    "1.4",
    "1.7",
    "2.0",
    "2.5",
    "3.0",
    "4.0",
    "5.0",
    "6.0",
    "8.0",
)


def _draw_total(chance: Random) -> Numbers:
    name = chance.choice(("resnet34", "resnet101", "vgg16", "googlenet_bn"))
    return {"network": name, "optimizer": "momentum", "batch": chance.choice((8, 16, 32, 64))}


def _counted(n: Numbers) -> int:
    """What the text's rule counts: outputs of convolutions and sums, at this batch (A4, A5)."""
    rule = counting.find("conv-sums")
    return int(FP32 * n["batch"] * rule.values(zoo.build(n["network"])))


def _total_words(n: Numbers) -> Numbers:
    return {**_words(n), "counted": units.short(_counted(n))}


@topic("02.total", Kind.TIMES, _RESNET, _draw_total, stops=_RATIOS, decimals=1, words=_total_words)
def total(n: Numbers) -> Truth:
    """The peak beside a published total of activations (A4, A5)."""
    whole, part = peak_of(zoo.build(n["network"]), n["batch"], n["optimizer"]), _counted(n)
    ratio = Fraction(whole, part)
    found = [Cause("all_counted", Fraction(1))]
    found += [Cause("gradient_maps", Fraction(2))] if ratio < 2 else []
    causes = tuple(cause for cause in found if not alike(ratio, [cause]))
    return Truth(ratio, (planned(ratio),), causes, {"whole": units.both(whole)})
