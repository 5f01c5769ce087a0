"""Random networks of sums, concats and shared inputs: they train as in PyTorch, and the same with
every technique as without.

``MEMLAB_GRAPHS=10000`` compares that many networks instead of 300. Half of them are always the
same; the others are drawn anew, and the message of a failure has the number that gives the network
again: ``joined(number)``.
"""

from __future__ import annotations

import os
from dataclasses import replace
from random import SystemRandom
from typing import Any

import numpy as np
import pytest

import memlab
from memlab.kernels.registry import Array
from memlab.networks.builder import Handle
from memlab.networks.graph import Network
from memlab.runtime.run import Run
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role
from tests.joins_at_random import joined
from tests.oracles.requirement import torch_or_skip
from tests.techniques import same
from tests.techniques.same import differences, ran

torch = torch_or_skip()

from tests.oracles.networks import trained  # noqa: E402 - needs torch

GRAPHS = int(os.environ.get("MEMLAB_GRAPHS", "300"))
PIECES = 10
BATCH = 3
EXACT = 1e-9
"""The largest norm of a difference, by the norm of what PyTorch found."""
SMALL = 1e-4
"""A gradient whose norm is below this part of the network's largest is near 0, perhaps but for
rounding: then the difference counts by that part instead, so it is an absolute error."""


def start(width: int = 3) -> tuple[Handle, Handle]:
    """Input of a network, and a layer of the same width that passes no gradient to it."""
    x = memlab.network("joined", features=width)
    return x, x.linear(width, bias=False)


def refused() -> Network:
    """Network in which the sum of f and x ends before f's gradient does."""
    x, f = start()
    first = f.add(x)
    second = first.add(f)
    return second.add(f, first, second.relu()).squared_error()


def twice() -> Network:
    """Network with one output as both inputs of a sum, of a concat, and of a sum of four."""
    _, f = start()
    both = f.add(f)
    return both.concat(both).linear(3).add(f, f, both).squared_error()


def flattened() -> Network:
    """Network in which the gradients of maps and of vectors are views of one storage."""
    x = memlab.network("joined", image=(2, 3, 2)).conv(2, 1)
    flat = x.flatten()
    return flat.add(x.relu().flatten(), x.add(x).flatten(), flat).squared_error()


def slices() -> Network:
    """Network in which a part of a concat's gradient meets another gradient, and so does the whole
    of it."""
    _, f = start()
    r = f.relu()
    first, second = f.concat(r), r.concat(f)
    return first.add(second, first).concat(f, f.add(r)).squared_error()


CASES = {make.__name__: make() for make in (refused, twice, flattened, slices)}
SEEDS = (2448, 2679, 2899, 6846, 8972, 2186, 4163, 3592, 5, 313, 388, 561, 1617, 1915, 2784, 3194)
"""Of the first 10,000 networks those of the fewest layers that were once refused, and one of each
kind of operation that was said to overwrite a gradient."""


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def disagreement(net: Network) -> float:
    """Largest error of the loss (absolute where the loss is below 1) and of every gradient."""
    step = memlab.training_step(net, "sgd", "fp64")
    x, truth = drawn(step)
    run = ran(step, BATCH, x=x, labels=truth, settings={"rate": 0.0})
    loss, gradients = trained(net, run.parameters, x, truth)
    assert run.residual == 0
    assert run.loss is not None
    most = max(map(_norm, gradients.values()))
    errors = [abs(run.loss - loss) / max(1, abs(loss))]
    for name, expected in gradients.items():
        gap = _norm(run.gradients[f"gradient of {name}"] - expected)
        errors.append(gap / (max(_norm(expected), SMALL * most) or 1))
    return float(np.max(errors))  # the built-in one drops NaN


def drawn(step: Step) -> tuple[Array, Array]:
    """Random input, and random labels or a random target."""
    rng = np.random.default_rng(BATCH)
    x, truth = (tensor for tensor in step.live_in if tensor.role is Role.INPUT)
    if truth.format.kind == "int":
        return rng.standard_normal(x.shape(BATCH)), rng.integers(0, 2, truth.shape(BATCH))
    return rng.standard_normal(x.shape(BATCH)), rng.standard_normal(truth.shape(BATCH))


def _norm(values: Array) -> float:
    return float(np.linalg.norm(values))


def wrong(net: Network) -> dict[str, list[str]]:
    """Differences from the plain step, by technique."""
    plain = memlab.training_step(net, "sgd", "fp64")
    forward = [op.name for op in plain.ops if op.phase is Phase.FORWARD]
    again = memlab.recompute(plain, "drop", layers=forward)
    steps = {
        "in place": memlab.in_place(plain),
        "recompute": again,
        "segments": memlab.recompute(plain, "every", k=1),
        "both": memlab.in_place(again),
    }
    reference = ran(plain, BATCH)
    problems = {}
    for name, step in steps.items():
        placed = ran(step, BATCH, placement="best")
        problems[name] = differences(reference, ran(step, BATCH))
        problems[f"{name}, placed"] = [*differences(reference, placed), *placed.nan]
    return {name: problem for name, problem in problems.items() if problem}


@pytest.mark.parametrize("name", CASES)
def test_a_network_whose_gradients_meet_trains_as_with_pytorch(name: str) -> None:
    assert disagreement(CASES[name]) < EXACT
    assert wrong(CASES[name]) == {}


@pytest.mark.parametrize("spoiled", ["first", "last"])
def test_a_gradient_that_is_nan_is_no_agreement(
    spoiled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planted(step: Step, batch: int, **options: Any) -> Run:
        run = same.ran(step, batch, **options)
        name = list(run.gradients)[0 if spoiled == "first" else -1]
        return replace(run, gradients={**run.gradients, name: run.gradients[name] * np.nan})

    monkeypatch.setattr("tests.runtime.test_joins.ran", planted)
    assert np.isnan(disagreement(CASES["twice"]))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_refused_trains_as_with_pytorch(seed: int) -> None:
    assert disagreement(joined(seed)) < EXACT
    assert wrong(joined(seed)) == {}


@pytest.mark.parametrize("piece", range(PIECES))
def test_random_networks_train_as_with_pytorch(piece: int) -> None:
    errors = {seed: disagreement(joined(seed)) for part in _seeds(piece) for seed in part}
    print(f"{len(errors):,} networks, the largest error is {max(errors.values()):.1e}")
    assert {seed: error for seed, error in errors.items() if not error < EXACT} == {}


@pytest.mark.parametrize("piece", range(PIECES))
def test_random_networks_are_the_same_with_every_technique(piece: int) -> None:
    """Only one network in five, because each takes ten runs where the comparison with PyTorch takes
    one."""
    seeds = [seed for part in _seeds(piece) for seed in part[::5]]
    assert {seed: problems for seed in seeds if (problems := wrong(joined(seed)))} == {}


def _seeds(piece: int) -> tuple[range, range]:
    """Piece of the numbers that are always the same, and of those that are drawn anew."""
    count = GRAPHS // PIECES // 2
    begin = SystemRandom().randrange(10**6, 10**9)
    return range(piece * count, (piece + 1) * count), range(begin, begin + count)
