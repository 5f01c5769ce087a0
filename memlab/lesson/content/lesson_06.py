"""Lesson 06, precision.

Cards: a small update, the model state, gradients that become 0. Exercise: the bytes of a model
state in few bits.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import count
from math import ceil, log2, prod
from random import Random
from typing import TYPE_CHECKING

from memlab import formats, rounding, strings
from memlab.assemble.step import training_step
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson import digits
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.shared_truths import (
    floor_and_mountain,
    known,
    measured,
    planned,
    step_of,
)
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.optimizers import OPTIMIZERS, title
from memlab.pictures.values.number_text import share, three_digits
from memlab.step.tensor import Role
from memlab.techniques.precision import precision
from memlab.techniques.precision.eight_bit_states import eight_bit_states

if TYPE_CHECKING:
    from memlab.runtime.training import History

# -- what lessons 01 and 02 said ------------------------------------------------------------------

topic("06.kept", AnswerKind.CHOICE, {}, None, options=("next", "backward", "update"),
      part=Purpose.RECALL,
      gives=("backward has read",))(known("backward"))  # fmt: skip


def _larger_words(n: Numbers) -> Numbers:
    answer = zoo.build(n["network"])
    return {**n, "label": answer.label, "millions": f"{answer.parameters / 1e6:.0f}"}


@topic("06.larger", AnswerKind.CHOICE, {"network": "vgg16", "batch": 8}, None,
       options=("mountain", "floor", "same"), part=Purpose.RECALL, gives=("nearly all floor",),
       words=_larger_words)  # fmt: skip
def larger(n: Numbers) -> Truth:
    """Answer of 06.larger: the larger part of a peak, the bytes that grow with the batch or the
    fixed ones."""
    ledger = plan(step_of(zoo.build(n["network"]), "adam"))
    floor, mountain = floor_and_mountain(ledger, n["batch"])
    parts = {"mountain": mountain, "floor": floor}
    seen = {name: three_digits(nbytes) for name, nbytes in parts.items()}
    return Truth(max(parts, key=lambda name: parts[name]), seen=seen)


# -- a small update -------------------------------------------------------------------------------

_UPDATE = {"format": "bf16", "step": "0.001", "count": 1000}


def _draw_update(chance: Random) -> Numbers:
    """Draw small updates, some below half a step of the format at 1, some above it."""
    name = chance.choice(("bf16", "fp16"))
    few = ("0.0001", "0.0003", "0.001") if name == "fp16" else ("0.001", "0.003", "0.005")
    return {"format": name, "step": chance.choice(few), "count": chance.choice((100, 300, 700))}


def _update_words(n: Numbers) -> Numbers:
    exact = 1 + Fraction(n["step"]) * n["count"]
    return {**n, "exact": f"{float(exact):g}", "count": f"{n['count']:,}"}


@topic("06.update", AnswerKind.CHOICE, _UPDATE, _draw_update, options=("exact", "other", "same"),
       words=_update_words, gives=("half a step", "rounds back", "is lost", "0.0078"))  # fmt: skip
def update(n: Numbers) -> Truth:
    """Answer of 06.update: a weight of 1 after many small updates, rounded after each of them."""
    weight, exact = 1.0, 1 + Fraction(n["step"]) * n["count"]
    for _ in range(n["count"]):
        weight = rounding.nearest(weight + float(n["step"]), n["format"])
    name = "same" if weight == 1 else "exact" if Fraction(weight) == exact else "other"
    number_format = formats.find(n["format"])
    apart = float(rounding.ulp(1, number_format))
    told = {
        "weight": f"{weight:g}",
        "apart": f"{apart:.2g}",
        "first": f"{1 + float(n['step']):g}",
        "above": _above(apart / 2),
        "other": "bf16" if n["format"] == "fp16" else "fp16",
    }
    return Truth(name, seen=told)


def _above(half: float) -> str:
    """Return the number with the fewest decimals that is more than ``half`` and less than twice
    as much above 1: the number rounds up."""
    decimals = next(d for d in count(1) if ceil(half * 10**d) < 2 * half * 10**d)
    return f"{1 + ceil(half * 10**decimals) / 10**decimals:g}"


# -- the model state ------------------------------------------------------------------------------

MODEL_STATE = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
"""Roles of the arrays that training keeps for each parameter (F1)."""
_STATE = {"mode": "mixed fp16", "optimizer": "adam"}


def _draw_state(chance: Random) -> Numbers:
    mode = chance.choice(("mixed fp16", "bf16"))
    return {"mode": mode, "optimizer": chance.choice([*OPTIMIZERS])}


def _state_words(n: Numbers) -> Numbers:
    before = 4 * OPTIMIZERS[n["optimizer"]].arrays
    kind = strings.get(f"ask.06.state.{'alone' if n['mode'] == 'bf16' else 'mixed'}")
    return {**n, "title": title(n["optimizer"]), "before": before, "kind": kind}


def per_parameter(ledger: Ledger) -> Fraction:
    """Bytes of the model state per parameter, without those of a loss scale."""
    entries = [entry for entry in ledger.entries if entry.role in MODEL_STATE and entry.axes]
    shapes = [entry.axes for entry in entries if entry.role is Role.PARAMETER]
    count = sum(prod(extent for _, extent in axes) for axes in shapes)
    return Fraction(sum(entry.size.fixed for entry in entries), count)


@topic("06.state", AnswerKind.CHOICE, _STATE, _draw_state, options=("smaller", "same", "larger"),
       words=_state_words,
       gives=("2+2+4+4+4", "2 + 2 + 4", "takes what", "does not halve"))  # fmt: skip
def state(n: Numbers) -> Truth:
    """Answer of 06.state: measured bytes of the model state per parameter in fewer bits, compared
    with fp32 (F1)."""
    from memlab.runtime.run import run

    full = training_step(digits.dim_network(), n["optimizer"])
    steps = {"fp32": full, n["mode"]: precision(full, n["mode"])}
    measured_bytes = {name: per_parameter(run(step, 1).measured) for name, step in steps.items()}
    before, after = measured_bytes.values()
    name = "same" if before == after else "smaller" if after < before else "larger"
    figures = tuple(measured(value, name) for name, value in measured_bytes.items())
    return Truth(name, figures, seen={"before": before, "after": after})


_SAVES = {"network": "resnet50", "batch": 4, "map": "fp8_e5m2"}


@topic("06.saves", AnswerKind.CHOICE, _SAVES, None, options=("state", "maps", "same"),
       part=Purpose.CHANGE,
       gives=("saves more",))  # fmt: skip
def saves(n: Numbers) -> Truth:
    """Answer of 06.saves: the larger saving at a small batch, optimizer states in 8 bits or feature
    maps in 8 bits."""
    mixed = precision(step_of(zoo.build(n["network"]), "adam"), "mixed fp16")
    fewer = precision(step_of(zoo.build(n["network"]), "adam"), "mixed fp16", feature_map=n["map"])
    peaks = {
        "mixed fp16": plan(mixed).peak(n["batch"]),
        "state": plan(eight_bit_states(mixed)).peak(n["batch"]),
        "maps": plan(fewer).peak(n["batch"]),
    }
    name = "same" if peaks["state"] == peaks["maps"] else min(peaks, key=lambda row: peaks[row])
    labels = {"mixed fp16": "mixed fp16", "state": "8-bit states", "maps": "maps in 8 bits"}
    figures = tuple(planned(value, labels[name]) for name, value in peaks.items())
    saved = {key: three_digits(peaks["mixed fp16"] - peaks[key]) for key in ("state", "maps")}
    return Truth(name, figures, seen={**saved, "peak": three_digits(peaks["mixed fp16"])})


# -- gradients that become 0 ----------------------------------------------------------------------

_WAYS = ("both", "fp16", "bf16", "neither")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LEARNED = 0.5
"""A training whose test error ends below this has learned: guessing gives 0.9."""


@cache
def trainings(epochs: int) -> dict[str, History]:
    """Histories of the trainings on the dim digits by format, made once in a session."""
    return digits.in_the_dark(epochs)


@cache
def slow_trainings(epochs: int) -> dict[str, History]:
    """Histories of the trainings at a tenth of the rate by format, made once in a session."""
    return digits.in_small_steps(epochs)


@topic("06.dark", AnswerKind.CHOICE, {"epochs": 6}, None, options=_WAYS,
       gives=("underflow", "loss scaling", "loss scale", "range of fp32"),
       seconds=15)  # fmt: skip
def dark(n: Numbers) -> Truth:
    """Answer of 06.dark: the 16-bit formats in which training learns to read the dim digits."""
    trained = trainings(n["epochs"])
    errors = {name: done.errors[-1] for name, done in trained.items()}
    learned = [name for name in ("fp16", "bf16") if errors[name] < LEARNED]
    name = "both" if len(learned) == 2 else learned[0] if learned else "neither"
    told = {f"n{i}": share(done.error) for i, done in enumerate(trained.values())}
    slow = slow_trainings(n["epochs"]).values()
    told |= {f"slow{i}": share(done.error) for i, done in enumerate(slow)}
    scale = f"{trained['mixed fp16'].scales[-1]:,.0f}"
    end = trained["fp16"].losses[-1]
    zeros = {"power": _raised(round(log2(end))), "end": _in_tens(end, 2)}
    smallest = _in_tens(formats.find("fp16").smallest, 0)
    return Truth(name, seen={**told, **zeros, "smallest": smallest, "scale": scale})


def _in_tens(value: float, digits: int) -> str:
    """Return a number with a power of 10: ``'1.49·10⁻⁸'``."""
    number, power = f"{value:.{digits}e}".split("e")
    return f"{number}·10{_raised(int(power))}"


def _raised(power: int) -> str:
    return str(power).translate(RAISED)


# -- exercise: a model state in few bits ----------------------------------------------------------


def _draw_layers(chance: Random, size: int) -> Arguments:
    """Draw linear layers whose weights and biases have more values than a block or fewer; in every
    second case a layer has as many outputs as one or two blocks, or one more."""
    block = chance.choice((64, 128))
    features = [chance.randint(1, 17 + 20 * size) for _ in range(chance.randint(2, 4))]
    if chance.random() < 0.5:
        features[chance.randrange(len(features))] = block * chance.randint(1, 2) + chance.choice(
            (0, 1)
        )
    return {"features": features, "block": block}


def _rounded_up(values: int, block: int) -> int:
    return -(-values // block)


def _counts(a: Arguments) -> list[int]:
    """Number of values of each weight and each bias."""
    pairs = zip(a["features"], a["features"][1:], strict=False)
    return [count for inputs, outputs in pairs for count in (inputs * outputs, outputs)]


def _bytes(count: int, blocks: int | Fraction, nbytes: int = 10, scale: int = 8) -> int | Fraction:
    """Bytes of ``count`` values with ``nbytes`` each, and of the scales of both states with
    ``scale`` bytes per block."""
    return nbytes * count + scale * blocks


def _with(nbytes: Callable[[int, int], int | Fraction]) -> Slip:
    """Slip that sums another number of bytes over the arrays, given their number of values and the
    block."""
    return lambda truth, a: sum(nbytes(count, a["block"]) for count in _counts(a))


def _shared(counts: list[int], arrays: int, block: int) -> int | Fraction:
    """Bytes if blocks ran on across groups of ``arrays`` consecutive arrays."""
    sums = [sum(counts[i : i + arrays]) for i in range(0, len(counts), arrays)]
    return sum(_bytes(count, _rounded_up(count, block)) for count in sums)


_STATE_SLIPS: dict[str, Slip] = {
    "no_master": _with(lambda n, block: _bytes(n, _rounded_up(n, block), nbytes=6)),
    "two_missing": _with(lambda n, block: _bytes(n, _rounded_up(n, block), nbytes=8)),
    "one_state": _with(lambda n, block: _bytes(n, _rounded_up(n, block), nbytes=9, scale=4)),
    "fp32_states": _with(lambda n, block: _bytes(n, 0, nbytes=16)),
    "no_scales": _with(lambda n, block: _bytes(n, 0)),
    "one_scale": _with(lambda n, block: _bytes(n, _rounded_up(n, block), scale=4)),
    "scale_bytes": _with(lambda n, block: _bytes(n, _rounded_up(n, block), scale=2)),
    "full_blocks": _with(lambda n, block: _bytes(n, n // block)),
    "one_more": _with(lambda n, block: _bytes(n, n // block + 1)),
    "not_whole": _with(lambda n, block: _bytes(n, Fraction(n, block))),
    "padded": _with(lambda n, block: 8 * n + _rounded_up(n, block) * (2 * block + 8)),
    "together": lambda truth, a: _shared(_counts(a), 2 * len(a["features"]), a["block"]),
    "layers": lambda truth, a: _shared(_counts(a), 2, a["block"]),
    "both_states": _with(lambda n, block: _bytes(n, _rounded_up(2 * n, block), scale=4)),
    "no_bias": lambda truth, a: sum(
        _bytes(count, _rounded_up(count, a["block"])) for count in _counts(a)[::2]
    ),
}


def _layers(features: list[int]) -> Network:
    x = network("layers", features=features[0])
    for outputs in features[1:]:
        x = x.linear(outputs)
    return x.squared_error()


_STATE_TRAPS: dict[str, Slip] = {
    "nearly": _with(lambda n, block: _bytes(n, int(n / block + 0.99))),
    "bias_alone": lambda truth, a: sum(
        _bytes(weight, _rounded_up(weight, a["block"])) + _bytes(bias, 1)
        for weight, bias in zip(_counts(a)[::2], _counts(a)[1::2], strict=True)
    ),
}


@task("06.model_state", _draw_layers, slips=_STATE_SLIPS, traps=_STATE_TRAPS,
      edge=lambda a: 1 in _counts(a))  # fmt: skip
def model_state(features: list[int], block: int) -> int:
    """Planned bytes of the model state of Adam in mixed precision with 8-bit states (F1, F3)."""
    step = precision(training_step(_layers(features), "adam"), "mixed bf16")
    entries = plan(eight_bit_states(step, block)).entries
    return sum(entry.size.fixed for entry in entries if entry.role in MODEL_STATE)
