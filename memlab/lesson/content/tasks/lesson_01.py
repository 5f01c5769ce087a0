"""Lesson 01, one linear layer: what two layers keep, and a step in NumPy under the meter."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from memlab.ledger.plan import plan
from memlab.lesson.content.questions.lesson_01 import single
from memlab.lesson.content.tools import step_of
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lines import Floats as Vector
from memlab.lines import np
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.step.step import Step


def two_layers(inputs: int, hidden: int, outputs: int) -> Network:
    """A linear layer, tanh, a linear layer, and the squared error."""
    x = network("two", features=inputs).linear(hidden).tanh()
    return x.linear(outputs).squared_error()


def _draw_kept(chance: Random, size: int) -> Arguments:
    widths = {name: chance.randint(1, 1 + size) for name in ("inputs", "hidden", "outputs")}
    return {"batch": chance.randint(1, 2 * size), **widths}


def _less(*names: str) -> Slip:
    """The truth without a map of these widths."""
    return lambda truth, a: truth - 4 * a["batch"] * sum(a[name] for name in names)


def _parameters(a: Arguments) -> int:
    return 4 * two_layers(a["inputs"], a["hidden"], a["outputs"]).parameters


_KEPT_SLIPS: dict[str, Slip] = {
    "values": lambda truth, a: Fraction(truth, 4),
    "bits": lambda truth, a: 8 * truth,
    "no_loss": lambda truth, a: truth - 4,
    "hidden_twice": lambda truth, a: truth + 4 * a["batch"] * a["hidden"],
    "no_input": _less("inputs"),
    "one_output": _less("outputs"),
    "no_bias": lambda truth, a: truth - 4 * (a["hidden"] + a["outputs"]),
    "no_parameters": lambda truth, a: truth - _parameters(a),
    "gradients": lambda truth, a: truth + _parameters(a),
    "one_sample": lambda truth, a: _when_backward_begins(**{**a, "batch": 1}),
}


@task("01.kept", _draw_kept, slips=_KEPT_SLIPS)
def kept(batch: int, inputs: int, hidden: int, outputs: int) -> int:
    """What is alive when backward begins, in fp32 with plain SGD, in bytes."""
    return _when_backward_begins(batch, inputs, hidden, outputs)


def _when_backward_begins(batch: int, inputs: int, hidden: int, outputs: int) -> int:
    ledger = plan(step_of(two_layers(inputs, hidden, outputs), "sgd"))
    begin = next(i for i, row in enumerate(ledger.rows) if row.phase == "backward")
    return ledger.before(batch)[begin]


def _draw_vectors(chance: Random, size: int) -> Arguments:
    samples, draw = 100 * size, np.random.default_rng(chance.randrange(2**32))
    x, t = draw.uniform(-1, 1, samples), draw.uniform(-0.9, 0.9, samples)
    return {"x": x, "t": t, "w1": chance.uniform(0.2, 0.9), "w2": chance.uniform(-0.5, 0.5)}


def _single_step(samples: int) -> Step:
    return step_of(single({"features": 1}), "sgd", "fp64")


def _planned_peak(x: Vector, t: Vector, w1: float, w2: float) -> int:
    """The plan of the same step, less what is there before it."""
    ledger = plan(_single_step(len(x)))
    return ledger.peak(len(x)) - ledger.before(len(x))[0]


_STEP_SLIPS: dict[str, Slip] = {
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
    sizes=(1, 2, 3, 5, 8),
    rel=1e-9,
)
def my_step(x: Vector, t: Vector, w1: float, w2: float) -> list[float]:
    """Both gradients of the single layer, averaged over the samples, out of a run."""
    from memlab.runtime.run import run

    given: dict[str, Any] = {"h.weight": [[w1]], "h.bias": [w2]}
    inputs = x[:, None], t[:, None]
    done = run(_single_step(len(x)), len(x), *inputs, given, keep="gradients").gradients
    return [done["gradient of h.weight"].item(), done["gradient of h.bias"].item()]
