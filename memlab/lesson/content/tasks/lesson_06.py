"""Lesson 06, precision: the bytes of a bit mask, and of a model state in few bits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

from memlab.build.step import training_step
from memlab.ledger.plan import plan
from memlab.lesson.content.questions.lesson_06 import MODEL_STATE
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.techniques.precision import precision
from memlab.techniques.precision.eight_bit_states import eight_bit_states
from memlab.techniques.relu_masks import relu_masks

# -- the mask of a ReLU -------------------------------------------------------------------------


def _draw_mask(chance: Random, size: int) -> Arguments:
    """In some cases the bits of a sample fill whole bytes, in the others they do not."""
    return {
        "batch": chance.randint(1, 2 + 2 * size),
        "channels": chance.choice((1, 2, 3, 5, 7, 8, 16)),
        "size": chance.randint(3, 5 + 2 * size),
    }


def _values(a: Arguments) -> int:
    """Of one sample."""
    return int(a["channels"] * a["size"] ** 2)


def _rounded_up(values: int, each: int) -> int:
    return -(-values // each)


_MASK_SLIPS: dict[str, Slip] = {
    "fp32": lambda truth, a: 4 * a["batch"] * _values(a),
    "values": lambda truth, a: a["batch"] * _values(a),
    "together": lambda truth, a: _rounded_up(a["batch"] * _values(a), 8),
    "floor": lambda truth, a: a["batch"] * (_values(a) // 8),
    "not_whole": lambda truth, a: Fraction(a["batch"] * _values(a), 8),
    "one_more": lambda truth, a: a["batch"] * (_values(a) // 8 + 1),
    "one_sample": lambda truth, a: _rounded_up(_values(a), 8),
    "one_side": lambda truth, a: a["batch"] * _rounded_up(a["channels"] * a["size"], 8),
}


@task("06.mask_bytes", _draw_mask, slips=_MASK_SLIPS)
def mask_bytes(batch: int, channels: int, size: int) -> int:
    """The mask that a ReLU before a max pooling keeps, in the plan of a training step (F6)."""
    x = network("mask", image=(1, size, size)).conv(channels, 3, pad="same").relu(name="relu")
    step = training_step(x.max_pool("all").flatten().linear(2).cross_entropy())
    return plan(relu_masks(step)).of("relu.mask", batch).nbytes


# -- a model state in few bits ------------------------------------------------------------------


def _draw_layers(chance: Random, size: int) -> Arguments:
    """Weights and biases with more values than a block and with fewer; in every second case a
    layer has as many outputs as a block or a little more."""
    block = chance.choice((64, 128))
    features = [chance.randint(1, 17 + 20 * size) for _ in range(chance.randint(2, 4))]
    if chance.random() < 0.5:
        features[chance.randrange(len(features))] = block * chance.randint(1, 2) + chance.choice(
            (0, 1)
        )
    return {"features": features, "block": block}


def _counts(a: Arguments) -> list[int]:
    """Values of each weight and each bias."""
    pairs = zip(a["features"], a["features"][1:], strict=False)
    return [count for inputs, outputs in pairs for count in (inputs * outputs, outputs)]


def _bytes(count: int, blocks: int | Fraction, each: int = 10, scale: int = 8) -> int | Fraction:
    """Of ``each`` byte for a value, and of ``scale`` for a block of both states."""
    return each * count + scale * blocks


def _with(nbytes: Callable[[int, int], int | Fraction]) -> Slip:
    """The sum of something else over the arrays, of their values and the block."""
    return lambda truth, a: sum(nbytes(count, a["block"]) for count in _counts(a))


def _shared(counts: list[int], arrays: int, block: int) -> int | Fraction:
    """As if blocks went on over so many arrays that follow each other."""
    sums = [sum(counts[i : i + arrays]) for i in range(0, len(counts), arrays)]
    return sum(_bytes(count, _rounded_up(count, block)) for count in sums)


_STATE_SLIPS: dict[str, Slip] = {
    "no_master": _with(lambda n, block: _bytes(n, _rounded_up(n, block), each=6)),
    "two_missing": _with(lambda n, block: _bytes(n, _rounded_up(n, block), each=8)),
    "one_state": _with(lambda n, block: _bytes(n, _rounded_up(n, block), each=9, scale=4)),
    "fp32_states": _with(lambda n, block: _bytes(n, 0, each=16)),
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


@task("06.model_state", _draw_layers, slips=_STATE_SLIPS, traps=_STATE_TRAPS)
def model_state(features: list[int], block: int) -> int:
    """The model state of Adam in mixed precision with 8-bit states, as planned (F1, F3)."""
    step = precision(training_step(_layers(features), "adam"), "mixed bf16")
    entries = plan(eight_bit_states(step, block)).entries
    return sum(entry.size.fixed for entry in entries if entry.role in MODEL_STATE)
