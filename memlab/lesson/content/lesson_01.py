"""Lesson 01, one linear layer.

Cards: the phase of the peak, gradients of a batch, inference. Exercises: the arrays that two layers
keep, and a measured step in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from memlab import strings, units
from memlab.arrays import Floats as Vector
from memlab.assemble.step import inference_step, training_step
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, RevealBar, Truth, topic
from memlab.lesson.content.shared_truths import (
    backward_begins,
    beside,
    floor_and_mountain,
    measured,
    planned,
    step_of,
)
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.misconceptions import Mistake, confusable_pairs
from memlab.networks import zoo
from memlab.networks.builder import Handle, network
from memlab.networks.graph import Network
from memlab.pictures.values.number_text import three_digits
from memlab.step.step import Step
from memlab.strings import gettext as _

# -- what lesson 00 said ------------------------------------------------------------------------

_PARTS = ("mountain", "floor", "both", "neither")


@topic("01.stays", AnswerKind.CHOICE, {"batch": 32}, None, options=_PARTS, part=Purpose.RECALL,
       words=lambda n: {**n, "twice": 2 * n["batch"]},
       gives=("same for every batch", "follow the batch"))  # fmt: skip
def stays(n: Numbers) -> Truth:
    """Answer of 01.stays: the part of a peak that is the same for every batch."""
    ledger = plan(step_of(zoo.alexnet(), "sgd"))
    floor, mountain = floor_and_mountain(ledger, n["batch"])
    return Truth("floor" if mountain else "both", seen={"floor": units.short(floor)})


@topic("01.larger", AnswerKind.CHOICE, {"many": 8}, None, options=("gb", "gib", "same"),
       part=Purpose.RECALL, gives=("2³⁰", "7.4 %", "1,073,741,824"))  # fmt: skip
def larger(n: Numbers) -> Truth:
    """Answer of 01.larger: the larger of two units."""
    names = {"gb": f"{n['many']} GB", "gib": f"{n['many']} GiB"}
    sizes = {name: units.parse(text) for name, text in names.items()}
    figures = tuple(RevealBar("", Fraction(sizes[name]), text) for name, text in names.items())
    return Truth(max(sizes, key=lambda name: sizes[name]), figures)


# -- one layer ----------------------------------------------------------------------------------


def single(n: Numbers) -> Network:
    """Network of one linear layer with ``features`` inputs, and tanh or another
    function after it."""
    x = network("single", features=n["features"], title=_("Single linear layer")).linear(
        1, name="h"
    )
    y: Handle = getattr(x, n.get("act", "tanh"))(name="y")
    return y.squared_error(name="loss")


_PHASES = ("forward", "backward", "update")


@topic("01.peak", AnswerKind.CHOICE, {"batch": 1, "features": 1}, None, options=_PHASES,
       gives=("waits", "the peak is in backward", "reads x again"))  # fmt: skip
def peak(n: Numbers) -> Truth:
    """Answer of 01.peak: the phase of the step in which most bytes are alive."""
    from memlab.runtime.run import run

    done = run(step_of(single(n), "sgd"), n["batch"])
    at = done.planned.peak_at(n["batch"])
    name = strings.get("lifetimes.peak")
    figures = planned(at.nbytes, name), measured(done.peak, name)
    seen = {"blocks": len(done.planned.alive(at.index)), "nbytes": units.exact(at.nbytes)}
    return Truth(str(at.row.phase), figures, seen=seen)


@topic("01.gelu", AnswerKind.CHOICE, {"batch": 1, "features": 1, "act": "gelu"}, None,
       options=("smaller", "same", "larger"), part=Purpose.CHANGE,
       gives=("h waits", "keeps h", "32 B"))  # fmt: skip
def gelu(n: Numbers) -> Truth:
    """Answer of 01.gelu: the change of the peak when backward reads the input of a function instead
    of its output."""
    tanh, other = (
        plan(step_of(single({**n, "act": act}), "sgd")).peak(n["batch"]) for act in ("tanh", "gelu")
    )
    name = "same" if tanh == other else "larger" if other > tanh else "smaller"
    figures = planned(tanh, "tanh"), planned(other, "GELU")
    return Truth(name, figures, seen={"more": units.exact(other - tanh)})


# -- a network of convolutions, in its lesson size ----------------------------------------------


def convolutions(depth: int) -> Network:
    """Network for images of 3·64·64: ``depth`` convolutions of 16 channels, then 10 classes."""
    x: Handle = network("small", image=(3, 64, 64), title=_("{count} convolutions", count=depth))
    for _layer in range(depth):
        x = x.conv(16, 3, pad="same").relu()
    return x.max_pool("all").flatten().linear(10).cross_entropy()


_TIMES = ("0.25", "0.5", "1", "1.5", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48", "64")


@topic("01.gradients", AnswerKind.TIMES, {"depth": 4, "batch": 32}, None, stops=_TIMES,
       counted=True,
       gives=("one for each parameter", "one gradient", "added up"))  # fmt: skip
def gradients(n: Numbers) -> Truth:
    """Answer of 01.gradients: the bytes of the parameter gradients at a batch over those at batch
    1; the ratio is 1 (B5)."""
    from memlab.runtime.run import run

    step = step_of(convolutions(n["depth"]), "sgd")
    one, many = (
        sum(array.nbytes for array in run(step, batch, keep="gradients").gradients.values())
        for batch in (1, n["batch"])
    )
    due = [entry for entry in plan(step).entries if entry.role == "parameter_gradient"]
    ratio = Fraction(sum(e.size.at(n["batch"]) for e in due), sum(e.size.at(1) for e in due))
    causes = Mistake("per_sample", Fraction(n["batch"])), Mistake("beside_the_sum", Fraction(2))
    figures = (planned(ratio), measured(Fraction(many, one)))
    return Truth(ratio, figures, causes, {"nbytes": f"{many:,}"})


def _pair(depth: int) -> tuple[Step, Step]:
    """Training and inference step with direct convolution, so that neither has a workspace."""
    net = convolutions(depth)
    return training_step(net, "sgd", algorithm="direct"), inference_step(net, algorithm="direct")


def _draw_depth(chance: Random) -> Numbers:
    while True:
        numbers = {"depth": chance.choice((2, 3, 5, 6, 8)), "batch": chance.choice((2, 3, 4))}
        due = [plan(step).peak(numbers["batch"]) for step in _pair(numbers["depth"])]
        if not confusable_pairs(Fraction(*due), _prediction_causes(numbers, due)):
            return numbers


_LESS = ("1", "1.25", "1.5", "2", "2.5", "3", "4", "5", "6", "8", "10", "12", "15", "20")


@topic("01.prediction", AnswerKind.TIMES, {"depth": 4, "batch": 5}, _draw_depth, stops=_LESS,
       gives=("2 maps", "freed as soon as", "depth + 2", "nothing is kept"),
       shows=({"training": False, "batch": 5}, {"training": True, "batch": 5}))  # fmt: skip
def prediction(n: Numbers) -> Truth:
    """Answer of 01.prediction: the peak of training over that of inference (D2)."""
    steps, batch = _pair(n["depth"]), n["batch"]
    due = [plan(step).peak(batch) for step in steps]
    alone = plan(steps[1]).peak(1)
    told = {
        "kept": n["depth"],
        "training": three_digits(due[0]),
        "inference": three_digits(due[1]),
        "one": three_digits(alone),
        "batch": batch,
    }
    ratio = Fraction(*due)
    figures = beside(ratio, lambda: Fraction(*(_peak(step, batch) for step in steps)))
    return Truth(ratio, figures, _prediction_causes(n, due), told)


def _peak(step: Step, batch: int) -> int:
    from memlab.runtime.run import run

    return run(step, batch).peak


def _prediction_causes(n: Numbers, due: list[int]) -> tuple[Mistake, ...]:
    """Mistakes about this ratio, such as one map per layer, or one sample instead of the batch."""
    alone = plan(_pair(n["depth"])[1]).peak(1)
    mistakes = [
        Mistake("one_map_each_layer", Fraction(2 * n["depth"])),
        Mistake("one_sample", Fraction(due[0], alone), {"batch": n["batch"]}),
        Mistake("half", Fraction(2)),
    ]
    ratio = Fraction(due[0], due[1])
    return tuple(cause for cause in mistakes if not confusable_pairs(ratio, [cause]))


# -- exercises ----------------------------------------------------------------------------------


def two_layers(inputs: int, hidden: int, outputs: int) -> Network:
    """Network of a linear layer, tanh, a linear layer and the squared error."""
    x = network("two", features=inputs).linear(hidden).tanh()
    return x.linear(outputs).squared_error()


def _draw_kept(chance: Random, size: int) -> Arguments:
    widths = {name: chance.randint(1, 1 + size) for name in ("inputs", "hidden", "outputs")}
    return {"batch": chance.randint(1, 2 * size), **widths}


def _less(*names: str) -> Slip:
    """Slip that leaves out the feature maps of these widths."""
    return lambda truth, a: truth - 4 * a["batch"] * sum(a[name] for name in names)


def _parameters(a: Arguments) -> int:
    return 4 * two_layers(a["inputs"], a["hidden"], a["outputs"]).parameters


_KEPT_SLIPS: dict[str, Slip] = {
    "values": lambda truth, a: Fraction(truth, 4),
    "bits": lambda truth, a: 8 * truth,
    "no_loss": lambda truth, a: truth - 4,
    "hidden_twice": lambda truth, a: truth + 4 * a["batch"] * a["hidden"],
    "no_input": _less("inputs"),
    "no_hidden": _less("hidden"),
    "one_output": _less("outputs"),
    "one_output.none": _less("outputs", "outputs"),
    "no_bias": lambda truth, a: truth - 4 * (a["hidden"] + a["outputs"]),
    "no_bias.first": lambda truth, a: truth - 4 * a["hidden"],
    "no_bias.second": lambda truth, a: truth - 4 * a["outputs"],
    "no_parameters": lambda truth, a: truth - _parameters(a),
    "gradients": lambda truth, a: truth + _parameters(a),
    "one_sample": lambda truth, a: _when_backward_begins(**{**a, "batch": 1}),
}


@task("01.kept", _draw_kept, slips=_KEPT_SLIPS, edge=lambda a: 1 in a.values())
def kept(batch: int, inputs: int, hidden: int, outputs: int) -> int:
    """Bytes that are alive when backward begins, in fp32 with plain SGD."""
    return _when_backward_begins(batch, inputs, hidden, outputs)


def _when_backward_begins(batch: int, inputs: int, hidden: int, outputs: int) -> int:
    ledger = plan(step_of(two_layers(inputs, hidden, outputs), "sgd"))
    return ledger.before(batch)[backward_begins(ledger)]


def _draw_vectors(chance: Random, size: int) -> Arguments:
    """Draw inputs, targets and weights; the smallest case has a single sample."""
    samples = 100 * (size - 1) or 1
    draw = np.random.default_rng(chance.randrange(2**32))
    x, t = draw.uniform(-1, 1, samples), draw.uniform(-0.9, 0.9, samples)
    return {"x": x, "t": t, "w1": chance.uniform(0.2, 0.9), "w2": chance.uniform(-0.5, 0.5)}


def _single_step(samples: int) -> Step:
    return step_of(single({"features": 1}), "sgd", "fp64")


def _planned_peak(x: Vector, t: Vector, w1: float, w2: float) -> int:
    """Planned peak of the same step, without the bytes that are there before it."""
    ledger = plan(_single_step(len(x)))
    return ledger.peak(len(x)) - ledger.before(len(x))[0]


def _through(slope: Callable[[Vector], Any]) -> Slip:
    """Slip that uses another derivative of tanh, given as a function of its output."""

    def slip(truth: list[float], a: Arguments) -> list[float]:
        y = np.tanh(a["w1"] * a["x"] + a["w2"])
        g = 2 * (y - a["t"]) * slope(y)
        return [float(np.mean(g * a["x"])), float(np.mean(g))]

    return slip


_STEP_SLIPS: dict[str, Slip] = {
    "no_tanh": _through(lambda y: 1),
    "no_tanh.square": _through(lambda y: 1 - y),
    "sign": lambda truth, a: [-value for value in truth],
    "sum": lambda truth, a: [len(a["x"]) * value for value in truth],
    "half": lambda truth, a: [value / 2 for value in truth],
    "no_x": lambda truth, a: [truth[1], truth[1]],
    "swapped": lambda truth, a: truth[::-1],
}


@task(
    "01.my_step",
    _draw_vectors,
    slips=_STEP_SLIPS,
    plan=_planned_peak,
    sizes=(1, 2, 3, 4, 9),
    rel=1e-9,
    edge=lambda a: len(a["x"]) == 1,
    seconds=15,
)
def my_step(x: Vector, t: Vector, w1: float, w2: float) -> list[float]:
    """Return both parameter gradients of the single layer, averaged over the
    samples, from a run."""
    from memlab.runtime.run import run

    given: dict[str, Any] = {"h.weight": [[w1]], "h.bias": [w2]}
    inputs = x[:, None], t[:, None]
    done = run(_single_step(len(x)), len(x), *inputs, given, keep="gradients").gradients
    return [done["gradient of h.weight"].item(), done["gradient of h.bias"].item()]
