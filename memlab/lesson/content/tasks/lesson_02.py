"""Lesson 02, a whole network: the largest batch that fits; a rule of thumb, in its appendix."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random

from memlab.ledger.entries import Entry, Row
from memlab.ledger.ledger import Ledger
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.networks.builder import network
from memlab.networks.counting import COPIES, bound_parts, find
from memlab.networks.graph import Network
from memlab.step.op import Phase
from memlab.step.storage import Size
from memlab.step.tensor import Role

# -- which batch fits ---------------------------------------------------------------------------


def _draw_budget(chance: Random, size: int) -> Arguments:
    """Operations of which some have no bytes that grow, as the updates of a step; in every second
    case one of them fills the memory at some batch to the last byte."""
    most, largest = chance.choice((2, 100 * size)), chance.choice((2, 50))
    fixed = [chance.randint(0, most) for _ in range(size + 1)]
    each = [chance.choice((0, 1, 1, 1)) * chance.randint(1, largest) for _ in fixed]
    full = chance.randrange(len(each))
    each[full] = chance.randint(1, largest)
    memory = max(fixed) + chance.randint(0, 2000)
    memory -= chance.choice((0, (memory - fixed[full]) % each[full]))
    if chance.random() < 0.1:
        memory = 0  # so that no sample fits
    return {"memory": max(memory, *fixed), "fixed": fixed, "each": each}


def _growing(a: Arguments) -> list[tuple[int, int]]:
    return [(one, other) for one, other in zip(a["fixed"], a["each"], strict=True) if other]


_BATCH_SLIPS: dict[str, Slip] = {
    "no_floor": lambda truth, a: min(a["memory"] // b for _, b in _growing(a)),
    "largest": lambda truth, a: max((a["memory"] - f) // b for f, b in _growing(a)),
    "mixed": lambda truth, a: (a["memory"] - max(a["fixed"])) // max(a["each"]),
    "sum": lambda truth, a: (a["memory"] - sum(a["fixed"])) // sum(a["each"]),
    "one_more": lambda truth, a: truth + 1,
    "not_whole": lambda truth, a: min((a["memory"] - f) / b for f, b in _growing(a)),
}


def _counting(counts: Callable[[int, int], bool]) -> Slip:
    """What comes out for somebody who looks at some operations only."""
    return lambda truth, a: min(
        ((a["memory"] - f) // b for f, b in _growing(a) if counts(f, b)), default=0
    )


_BATCH_TRAPS: dict[str, Slip] = {
    "strict": lambda truth, a: min((a["memory"] - f - 1) // b for f, b in _growing(a)),
    "each_1": _counting(lambda f, b: b > 1),
    "fixed_0": _counting(lambda f, b: f > 0),
    "fixed_1": _counting(lambda f, b: f != 1),
    "some_room": lambda truth, a: min(
        ((a["memory"] - f) // b for f, b in _growing(a) if f < a["memory"]), default=0
    ),
    "at_least_1": lambda truth, a: max(1, truth),
    "for_0_take_1": lambda truth, a: min(
        (a["memory"] - f) // max(b, 1) for f, b in zip(a["fixed"], a["each"], strict=True)
    ),
}


@task("02.largest_batch", _draw_budget, slips=_BATCH_SLIPS, traps=_BATCH_TRAPS)
def largest_batch(memory: int, fixed: list[int], each: list[int]) -> int:
    """The largest batch that a plan finds for these operations."""
    lines = list(zip(fixed, each, strict=True))
    rows = tuple(Row(f"operation {i}", "any", Phase.FORWARD) for i in range(len(lines)))
    entries = tuple(
        Entry(f"block {i}", Role.FEATURE_MAP, Size(*line), i, i) for i, line in enumerate(lines)
    )
    found = Ledger(rows, entries).fit(memory).batch
    assert found is not None
    return found


# -- what a rule of thumb counts ----------------------------------------------------------------


def small_network(image: list[int], kernels: list[int], features: list[int]) -> Network:
    """For each of the kernels a convolution of 5·5, a ReLU and a pooling of 2·2, then linear layers
    with so many outputs."""
    x = network("small", image=(image[0], image[1], image[2]))
    for count in kernels:
        x = x.conv(count, kernel=5, pad=2).relu().max_pool(2)
    x = x.flatten()
    for count in features[:-1]:
        x = x.linear(count).relu()
    return x.linear(features[-1]).cross_entropy()


def _draw_small(chance: Random, size: int) -> Arguments:
    """Rows and columns are even at each pooling, or they are not."""
    kernels = [chance.randint(1, 3 + size) for _ in range(chance.choice((1, 2, 2, 3)))]
    least = 2 ** len(kernels)
    rows, columns = (chance.randint(least, least + 1 + size) for _ in range(2))
    features = [chance.randint(1, 3 + size) for _ in range(chance.choice((1, 2, 3)))]
    image = [chance.randint(1, 4), rows, columns]
    return {"image": image, "kernels": kernels, "features": features}


def _of_kind(a: Arguments, *kinds: str) -> int:
    """Outputs of the layers of some kinds."""
    return sum(prod(node.shape) for node in small_network(**a).nodes if node.kind in kinds)


def _weights(a: Arguments, bias: int, channels: bool = True) -> int:
    """Parameters, where a layer has so many biases for each of its outputs."""
    found = 0
    for node in small_network(**a).nodes:
        if node.parameters:
            inputs = node.input_shapes[0]
            each = 25 * (inputs[0] if channels else 1) if node.kind == "conv2d" else prod(inputs)
            found += node.shape[0] * (each + bias)
    return found


_COUNTED_SLIPS: dict[str, Slip] = {
    "no_bias": lambda truth, a: [truth[0], _weights(a, bias=0)],
    "one_channel": lambda truth, a: [truth[0], _weights(a, bias=1, channels=False)],
    "no_pool": lambda truth, a: [truth[0] - _of_kind(a, "max_pool2d"), truth[1]],
    "no_linear": lambda truth, a: [truth[0] - _of_kind(a, "linear"), truth[1]],
    "with_relu": lambda truth, a: [truth[0] + _of_kind(a, "relu"), truth[1]],
    "with_input": lambda truth, a: [truth[0] + prod(a["image"]), truth[1]],
    "swapped": lambda truth, a: truth[::-1],
}


@task("02.counted", _draw_small, slips=_COUNTED_SLIPS)
def counted(image: list[int], kernels: list[int], features: list[int]) -> list[int]:
    """Activations and parameters of a network, as CS231n counts them (B1)."""
    made = small_network(image, kernels, features)
    return [find("cs231n").values(made) - prod(image), made.parameters]


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
    """The truth with something else in one place."""
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


@task("02.four_parts", _draw_parts, slips=_PARTS_SLIPS)
def four_parts(
    activations: int, parameters: int, inputs: int, batch: int, optimizer: str
) -> list[int]:
    """Bytes in fp32 of the rule 4 (2 A B + c P + I B): activations, their gradients, what is as
    large as the parameters, the input (B1)."""
    given = {"activations": activations, "parameters": parameters, "inputs": inputs}
    return _parts({**given, "batch": batch, "optimizer": optimizer})
