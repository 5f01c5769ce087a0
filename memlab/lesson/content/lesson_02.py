"""Lesson 02, a whole network.

Cards: the output of a convolution, half a batch, a batch in two parts. Exercises: the largest batch
that fits; a rule of thumb, in its appendix.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from random import Random

from memlab import strings, units
from memlab.ledger.entries import Entry, LedgerRow
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.lesson.card_question import AnswerKind, Numbers, Purpose, Truth, topic
from memlab.lesson.content.shared_truths import (
    backward_begins,
    beside,
    floor_and_mountain,
    known,
    peak_of,
    planned,
    step_of,
)
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.lesson.material.quantities import feature_map
from memlab.lesson.misconceptions import Mistake, distinct_causes
from memlab.networks import zoo
from memlab.networks.builder import network
from memlab.networks.counting import COPIES, bound_parts, find
from memlab.networks.graph import Network
from memlab.optimizers import OPTIMIZERS, title
from memlab.pictures.values.number_text import three_digits
from memlab.step.op import Phase, plain
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role
from memlab.techniques.accumulate import accumulate as accumulated

FP32 = 4


def one_convolution(n: Numbers) -> Network:
    """Network with one convolution, named ``conv``."""
    x = network("one", image=(n["channels"], n["size"], n["size"]))
    x = x.conv(n["kernels"], n["k"], n["stride"], n["pad"], name="conv").relu(name="relu")
    return x.max_pool("all").flatten().linear(10).cross_entropy()


def at(nbytes: int) -> str:
    """Return bytes with 3 digits, in GB from 0.1 GB on: ``'2.70 GB'``."""
    return units.in_unit(nbytes, "GB") if nbytes >= 10**8 else units.short(nbytes)


# -- what lesson 01 had -------------------------------------------------------------------------


@topic("02.reads", AnswerKind.CHOICE, {"inputs": 784, "outputs": 256, "batch": 32}, None,
       options=("input", "output", "both", "neither"), part=Purpose.RECALL,
       gives=("input again", "its own input", "x again"))  # fmt: skip
def reads(n: Numbers) -> Truth:
    """Answer of 02.reads: the array, input or output, that the backward of a linear layer reads."""
    net = network("one", features=n["inputs"]).linear(n["outputs"], name="fc").cross_entropy()
    step = step_of(net, "sgd")
    (backward,) = (op for op in step.ops if op.name == "backward of fc")
    read = {tensor.name for tensor in backward.reads.values()}
    x, h = "input" in read, "fc" in read
    return Truth({(1, 1): "both", (1, 0): "input", (0, 1): "output"}.get((x, h), "neither"))


topic("02.inference", AnswerKind.CHOICE, {}, None, options=("next", "loss", "end"),
      part=Purpose.RECALL,
      gives=("freed as soon as", "the next layer has read"))(known("next"))  # fmt: skip


# -- a convolution and its ReLU -----------------------------------------------------------------


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


def waiting(ledger: Ledger, names: tuple[str, ...], batch: int) -> int:
    """Bytes of the named arrays that are alive when backward begins."""
    alive = ledger.alive(backward_begins(ledger))
    return sum(e.size.at(batch) for e in alive if e.name in names)


def _measured(step: Step, batch: int) -> Ledger:
    from memlab.runtime.run import run

    return run(step, batch).measured


@topic("02.output", AnswerKind.AMOUNT, _CONV1 | {"network": "mnist_cnn"}, _draw_output,
       words=lambda n: {**n, "side": one_convolution(n).by_name["conv"].shape[-1]},
       gives=("ReLU's own output", "output of the ReLU again"))  # fmt: skip
def output(n: Numbers) -> Truth:
    """Answer of 02.output: bytes of a convolution's output and its ReLU's that wait for backward,
    planned and in a run."""
    net, names, batch = one_convolution(n), ("conv", "relu"), n["batch"]
    step, node = step_of(net, "sgd"), net.by_name["conv"]
    due = waiting(plan(step), names, batch)
    wrong = [c for c in feature_map(node, batch).causes if c.name in ("bits", "values", "batch")]
    causes = distinct_causes(due, [*wrong, Mistake("both_wait", Fraction(2 * due))])
    shape = "·".join(map(str, (batch, *node.shape)))
    figures = beside(due, lambda: waiting(_measured(step, batch), names, batch))
    told = {"shape": shape, "nbytes": three_digits(due)}
    return Truth(Fraction(due), figures, tuple(causes), told)


# -- half a batch -------------------------------------------------------------------------------

_STOPS = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "2.0", "2.5", "3.0")
_VGG = {"network": "vgg16", "optimizer": "adam", "batch": 8}
_RESNET = {"network": "resnet50", "optimizer": "momentum", "batch": 32}


def _words(n: Numbers) -> Numbers:
    label = zoo.build(n["network"]).label
    return {**n, "label": label, "title": title(n["optimizer"]), "half": n["batch"] // 2}


def _half_words(n: Numbers) -> Numbers:
    """Values for texts, with the number of parameters, from which the floor can be estimated."""
    return {**_words(n), "parameters": f"{zoo.build(n['network']).parameters / 10**6:.1f}"}


_LARGE, _SMALL = (
    ("vgg11", "vgg19", "alexnet"),
    ("resnet18", "resnet34", "resnet101", "googlenet_bn"),
)
"""Networks that end in 3 large linear layers, and in one small one."""


def _draw_half(*names: str) -> Callable[[Random], Numbers]:
    """Return a draw of one of these networks with an optimizer and a batch."""

    def draw(chance: Random) -> Numbers:
        name, optimizer = chance.choice(names), chance.choice(("sgd", "momentum", "adam"))
        return {"network": name, "optimizer": optimizer, "batch": chance.choice((4, 8, 16, 32, 64))}

    return draw


def _fall(n: Numbers) -> Fraction:
    """Peak at the batch over the peak at half of it (A12)."""
    net = zoo.build(n["network"])
    return Fraction(*(peak_of(net, b, n["optimizer"]) for b in (n["batch"], n["batch"] // 2)))


def half(n: Numbers) -> Truth:
    """Answer of 02.halve and 02.resnet: the peak at the batch over the peak at half of it (A12)."""
    net, ratio = zoo.build(n["network"]), _fall(n)
    ledger = plan(step_of(net, n["optimizer"]))
    batches = n["batch"], n["batch"] // 2
    peaks = [ledger.peak(b) for b in batches]
    causes = [Mistake("no_floor", Fraction(2)), Mistake("no_mountain", Fraction(1))]
    if n == _RESNET:
        causes.append(Mistake("carried_over", _fall(_VGG)))
    seen = {
        "whole": at(peaks[0]), "part": at(peaks[1]),
        "fall": f"{float(100 - 100 / ratio):.0f} %",
        "floor": at(floor_and_mountain(ledger, n["batch"])[0]),
        "low": at(floor_and_mountain(ledger, batches[1])[0]),
        "space": at(ledger.roles(batches[1])[Role.WORKSPACE]),
        "arrays": at(OPTIMIZERS[n["optimizer"]].arrays * FP32 * net.parameters),
    }  # fmt: skip
    return Truth(ratio, (planned(ratio),), tuple(distinct_causes(ratio, causes)), seen)


_SECRETS = {
    "02.halve": (_VGG, _LARGE, ("nearly useless", "hardly smaller"),
                 ({"what": "vgg16", "optimizer": "adam"},)),
    "02.resnet": (_RESNET, _SMALL, ("nearly halved", "nearly half"), ({"what": "resnet50"},)),
}  # fmt: skip
for _name, (_numbers, _networks, _gives, _shows) in _SECRETS.items():
    topic(_name, AnswerKind.TIMES, _numbers, _draw_half(*_networks), stops=_STOPS, decimals=1,
          words=_half_words,
          gives=_gives, shows=_shows)(half)  # fmt: skip


# -- the batch in two parts ---------------------------------------------------------------------


def _whole_words(n: Numbers) -> Numbers:
    """Values for texts, with the peak of the whole batch."""
    return {**_words(n), "whole": at(peak_of(zoo.build(n["network"]), n["batch"], n["optimizer"]))}


def _draw_parts_of_a_batch(chance: Random) -> Numbers:
    name, optimizer, batch = chance.choice((
        ("resnet34", "momentum", 32), ("vgg16", "adam", 8), ("googlenet_bn", "momentum", 32),
        ("resnet18", "adam", 16), ("vgg19", "adam", 8), ("resnet50", "adam", 64),
    ))  # fmt: skip
    return {"network": name, "optimizer": optimizer, "batch": batch}


@topic("02.accumulate", AnswerKind.CHOICE, _RESNET, _draw_parts_of_a_batch,
       options=("lower", "same", "higher", "whole"), words=_whole_words,
       gives=("a few percent higher", "gradients of the first part", "adds to them"))  # fmt: skip
def accumulate(n: Numbers) -> Truth:
    """Answer of 02.accumulate: the peak of a step in two parts, compared to one of half the batch
    (C8)."""
    net, half = zoo.build(n["network"]), n["batch"] // 2
    step = step_of(net, n["optimizer"])
    small, parts = plan(step), plan(accumulated(step, 2)).peak_at(half)
    alone = small.peak_at(half)
    higher, lower = parts.nbytes > 1.01 * alone.nbytes, parts.nbytes < 0.99 * alone.nbytes
    place = [row.name for row in small.rows].index(plain(parts.row.name))
    key = "moved" if place != alone.index else "stays"
    why = strings.get(
        f"ask.02.accumulate.why.{key if higher else 'same'}",
        held=three_digits(small.roles(half, place)[Role.PARAMETER_GRADIENT]),
        place=three_digits(parts.nbytes - small.timeline(half)[place]),
        rise=three_digits(parts.nbytes - alone.nbytes),
    )
    seen = {
        "alone": at(alone.nbytes), "parts": at(parts.nbytes), "why": why,
        "quarter": n["batch"] // 4, "gradients": three_digits(FP32 * net.parameters),
    }  # fmt: skip
    return Truth("higher" if higher else "lower" if lower else "same", seen=seen)


# -- exercise: which batch fits -----------------------------------------------------------------


def _draw_budget(chance: Random, size: int) -> Arguments:
    """Draw a memory, and the fixed bytes and bytes per sample of some operations.

    As in the updates of a step, some operations have no bytes per sample; in many cases one
    operation fills the memory at some batch to the last byte. Some memories are below the floor of
    an operation without bytes per sample, or equal to it.
    """
    most, largest = chance.choice((2, 100 * size)), chance.choice((2, 50))
    fixed = [chance.randint(0, most) for _ in range(size + 1)]
    per_sample = [chance.choice((0, 1, 1, 1)) * chance.randint(1, largest) for _ in fixed]
    full = chance.randrange(len(per_sample))
    per_sample[full] = chance.randint(1, largest)
    memory = max(fixed) + chance.randint(0, 2000)
    memory -= chance.choice((0, (memory - fixed[full]) % per_sample[full]))
    memory = max(memory, *fixed)
    if chance.random() < 0.4:
        memory = chance.choice((0, memory, chance.choice(fixed), chance.randint(0, memory)))
        place = chance.randint(0, len(fixed))
        fixed.insert(place, memory + chance.choice((0, 1, most)))
        per_sample.insert(place, 0)
    return {"memory": memory, "fixed": fixed, "each": per_sample}


def _growing(a: Arguments) -> list[tuple[int, int]]:
    return [(one, other) for one, other in zip(a["fixed"], a["each"], strict=True) if other]


def _limits(a: Arguments) -> list[int]:
    """Samples that fit at each operation that grows; negative where its fixed bytes exceed the
    memory."""
    return [(a["memory"] - f) // b for f, b in _growing(a)]


def _at_least_0(slip: Slip) -> Slip:
    """Slip with the numbers below 0 replaced by 0."""
    return lambda truth, a: max(0, slip(truth, a))


_MIXED: dict[str, Slip] = {
    "below": lambda truth, a: min(_limits(a)),
    "largest": lambda truth, a: max(_limits(a)),
    "mixed": lambda truth, a: (a["memory"] - max(a["fixed"])) // max(a["each"]),
    "sum": lambda truth, a: (a["memory"] - sum(a["fixed"])) // sum(a["each"]),
    "not_whole": lambda truth, a: min((a["memory"] - f) / b for f, b in _growing(a)),
}
_BATCH_SLIPS: dict[str, Slip] = {
    "no_floor": lambda truth, a: min(a["memory"] // b for _, b in _growing(a)),
    "one_more": lambda truth, a: min(_limits(a)) + 1,
    "one_more.0": lambda truth, a: truth + 1,
    "one_more.up": lambda truth, a: max(0, min(-((f - a["memory"]) // b) for f, b in _growing(a))),
    "strict": lambda truth, a: max(0, min((a["memory"] - f - 1) // b for f, b in _growing(a))),
    **_MIXED,
    **{f"{name}.0": _at_least_0(slip) for name, slip in _MIXED.items()},
}


def _counting(counts: Callable[[int, int], bool]) -> Slip:
    """Slip that looks only at the operations for which ``counts`` is True of fixed bytes and bytes
    per sample."""
    return lambda truth, a: min(
        (max(0, a["memory"] - f) // b for f, b in _growing(a) if counts(f, b)), default=0
    )


_BATCH_TRAPS: dict[str, Slip] = {
    "at_the_floor": lambda truth, a: 0 if a["memory"] == max(a["fixed"]) else truth,
    "all_below": lambda truth, a: 0 if a["memory"] < min(a["fixed"]) else max(0, min(_limits(a))),
    "each_1": _counting(lambda f, b: b > 1),
    "fixed_0": _counting(lambda f, b: f > 0),
    "fixed_1": _counting(lambda f, b: f != 1),
    "some_room": lambda truth, a: min(
        ((a["memory"] - f) // b for f, b in _growing(a) if f < a["memory"]), default=0
    ),
    "at_least_1": lambda truth, a: max(1, truth),
    "for_0_take_1": lambda truth, a: min(
        max(0, a["memory"] - f) // max(b, 1) for f, b in zip(a["fixed"], a["each"], strict=True)
    ),
}


@task("02.largest_batch", _draw_budget, slips=_BATCH_SLIPS, traps=_BATCH_TRAPS,
      edge=lambda a: a["memory"] < max(a["fixed"]))  # fmt: skip
def largest_batch(memory: int, fixed: list[int], each: list[int]) -> int:
    """Largest batch that a plan finds for these operations; 0 if the memory is below a floor."""
    lines = list(zip(fixed, each, strict=True))
    rows = tuple(LedgerRow(f"operation {i}", "any", Phase.FORWARD) for i in range(len(lines)))
    entries = tuple(
        Entry(f"block {i}", Role.FEATURE_MAP, Size(*line), i, i) for i, line in enumerate(lines)
    )
    batch = Ledger(rows, entries).fit(memory).batch
    assert batch is not None
    return batch


# -- exercise: what a rule of thumb counts ------------------------------------------------------


def small_network(image: list[int], kernels: list[int], features: list[int]) -> Network:
    """Network with a 5·5 convolution, a ReLU and a 2·2 pooling for each of ``kernels``, then linear
    layers with ``features`` outputs."""
    x = network("small", image=(image[0], image[1], image[2]))
    for count in kernels:
        x = x.conv(count, kernel=5, pad=2).relu().max_pool(2)
    x = x.flatten()
    for count in features[:-1]:
        x = x.linear(count).relu()
    return x.linear(features[-1]).cross_entropy()


def _draw_small(chance: Random, size: int) -> Arguments:
    """Draw a small network; in some cases a pooling leaves out an odd row or column."""
    kernels = [chance.randint(1, 3 + size) for _ in range(chance.choice((1, 2, 2, 3)))]
    least = 2 ** len(kernels)
    rows, columns = (chance.randint(least, least + 1 + size) for _ in range(2))
    features = [chance.randint(1, 3 + size) for _ in range(chance.choice((1, 2, 3)))]
    image = [chance.randint(1, 4), rows, columns]
    return {"image": image, "kernels": kernels, "features": features}


def _of_kind(a: Arguments, *kinds: str) -> int:
    """Number of outputs of the layers of some kinds."""
    return sum(prod(node.shape) for node in small_network(**a).nodes if node.kind in kinds)


def _weights(a: Arguments, bias: int, channels: bool = True, window: int = 25) -> int:
    """Number of parameters with ``bias`` biases per output; without ``channels``, a kernel has one
    channel."""
    count = 0
    for node in small_network(**a).nodes:
        if node.parameters:
            inputs = node.input_shapes[0]
            weights = (
                window * (inputs[0] if channels else 1) if node.kind == "conv2d" else prod(inputs)
            )
            count += node.shape[0] * (weights + bias)
    return count


_COUNTED_SLIPS: dict[str, Slip] = {
    "no_bias": lambda truth, a: [truth[0], _weights(a, bias=0)],
    "one_channel": lambda truth, a: [truth[0], _weights(a, bias=1, channels=False)],
    "one_side": lambda truth, a: [truth[0], _weights(a, bias=1, window=5)],
    "no_pool": lambda truth, a: [truth[0] - _of_kind(a, "max_pool2d"), truth[1]],
    "no_linear": lambda truth, a: [truth[0] - _of_kind(a, "linear"), truth[1]],
    "with_relu": lambda truth, a: [truth[0] + _of_kind(a, "relu"), truth[1]],
    "with_input": lambda truth, a: [truth[0] + prod(a["image"]), truth[1]],
    "swapped": lambda truth, a: truth[::-1],
}


def _pooled_to_1(a: Arguments) -> bool:
    """True if the last pooling leaves a single row or a single column."""
    return bool(min(a["image"][1:]) >> len(a["kernels"]) == 1)


@task("02.counted", _draw_small, slips=_COUNTED_SLIPS, edge=_pooled_to_1)
def counted(image: list[int], kernels: list[int], features: list[int]) -> list[int]:
    """Activations and parameters of a network, as CS231n counts them (B1)."""
    net = small_network(image, kernels, features)
    return [find("cs231n").values(net) - prod(image), net.parameters]


def _draw_parts(chance: Random, size: int) -> Arguments:
    counts = {
        name: chance.randint(1, 50 * size) for name in ("activations", "parameters", "inputs")
    }
    return {**counts, "batch": chance.randint(1, 2 * size), "optimizer": chance.choice([*COPIES])}


def _parts(a: Arguments, copies: int | None = None, batch: int = 0) -> list[int]:
    counts = a["activations"], a["parameters"], a["inputs"], batch or a["batch"]
    both, held, inputs = bound_parts(*counts, copies or COPIES[a["optimizer"]]).values()
    return [both // 2, both // 2, held, inputs]


def _with_part(place: int, other: Callable[[list[int], Arguments], int]) -> Slip:
    """Slip with another value in one place of the truth."""
    return lambda truth, a: [*truth[:place], other(truth, a), *truth[place + 1 :]]


_PARTS_SLIPS: dict[str, Slip] = {
    "values": lambda truth, a: [n // 4 for n in truth],
    "bits": lambda truth, a: [8 * n for n in truth],
    "one_sample": lambda truth, a: _parts(a, batch=1),
    "three": lambda truth, a: _parts(a, copies=3),
    "no_state": lambda truth, a: _parts(a, copies=2),
    "once": lambda truth, a: _parts(a, copies=1),
    "state_alone": lambda truth, a: _parts(a, copies=COPIES[a["optimizer"]] - 1),
    "each_sample": _with_part(2, lambda truth, a: a["batch"] * truth[2]),
    "both": _with_part(0, lambda truth, a: 2 * truth[0]),
    "one_input": _with_part(3, lambda truth, a: 4 * a["inputs"]),
}


@task("02.four_parts", _draw_parts, slips=_PARTS_SLIPS, edge=lambda a: a["batch"] == 1)
def four_parts(
    activations: int, parameters: int, inputs: int, batch: int, optimizer: str
) -> list[int]:
    """Bytes in fp32 by the rule 4 (2 A B + c P + I B): activations, their gradients, ``c`` arrays
    as large as the parameters, the input (B1)."""
    given = {"activations": activations, "parameters": parameters, "inputs": inputs}
    return _parts({**given, "batch": batch, "optimizer": optimizer})
