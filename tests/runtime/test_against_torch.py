"""Whole training steps compared with PyTorch's: loss, gradients, updates, running statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import memlab
from memlab.kernels.registry import Array
from memlab.layers import Dropout
from memlab.networks.graph import Network
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.tensor import Role
from tests.kernels_by_case import distance
from tests.oracles import optimizers
from tests.oracles.requirement import torch_or_skip

torch = torch_or_skip()

from tests.oracles.decisions import (  # noqa: E402 - needs torch, as the next one
    Decisions,
    Recorded,
    Replayed,
    record,
)
from tests.oracles.models import ORACLES  # noqa: E402

OPTIONS: dict[str, dict[str, Any]] = {
    "alexnet": {"image": 79},
    "vgg11": {"image": 32},
    "googlenet_bn": {"image": 64},
    "resnet18": {"image": 64},
    "resnet50": {"image": 64},
}
"""Reduced images: 2x2 or more before the last pooling."""
CASES = (
    ("alexnet", "sgd"), ("alexnet", "adam"), ("vgg11", "momentum"),
    ("vgg11", "adagrad"), ("alexnet", "rmsprop"),
    ("googlenet_bn", "sgd"), ("resnet18", "adam"), ("resnet50", "momentum"),
    ("resnet18", "adagrad"), ("googlenet_bn", "rmsprop"),
)  # fmt: skip
"""Every network, and every optimizer with and without batch norm; not every pair, for time."""
BATCH, CLASSES = 3, 10
SETTINGS = {"rate": 1e-3, "momentum": 0.9, "epsilon": 1e-5}
"""Some optimizers divide a gradient by its own size, so one that is 0 but for rounding would become
a step of any size: a larger epsilon keeps it small."""
EXACT = 1e-8
"""The largest norm-wise difference in fp64, per parameter."""
NO_GRADIENT = 1e-10
"""A gradient smaller than this times the largest of the network, by root mean square, is 0 but for
rounding: so is that of a bias before a batch norm. Its relative error says nothing."""
ROUNDING = 2.0**-24
"""The distance of a real number to the nearest fp32, relative. A smaller error counts as this."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def without_dropout(net: Network) -> Network:
    """The same network with p = 0, because PyTorch draws other random numbers."""
    layers = [replace(n.layer, p=0.0) if isinstance(n.layer, Dropout) else n.layer
              for n in net.nodes]  # fmt: skip
    nodes = [replace(n, layer=layer) for n, layer in zip(net.nodes, layers, strict=True)]
    return replace(net, nodes=tuple(nodes))


def build(name: str) -> Network:
    return without_dropout(memlab.zoo.build(name, classes=CLASSES, **OPTIONS[name]))


def data(name: str, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    size = OPTIONS[name]["image"]
    images = rng.standard_normal((BATCH, 3, size, size), np.float32)
    return images, rng.integers(0, CLASSES, BATCH)


@dataclass
class Found:
    """Results of a step, by memlab's names of parameters and buffers."""

    loss: float
    gradients: dict[str, Array]
    arrays: dict[str, Array]


def opened(name: str, optimizer: str, format: str, seed: int = 0) -> Session:
    step = memlab.training_step(build(name), optimizer, format).keep("gradients")
    return Session(Program(step, BATCH), seed, settings=SETTINGS)


def start_of(session: Session) -> dict[str, Array]:
    """Copies of the parameters and buffers."""
    kept = (t for t in session.residents if t.role in (Role.PARAMETER, Role.BUFFER))
    return {tensor.name: session.value(tensor).copy() for tensor in kept}


def ours(session: Session, images: Array, labels: Array) -> Found:
    session.step(images, labels)
    live = {t: session.value(t) for t in session.program.step.live_out}
    (loss,) = (float(v[()]) for t, v in live.items() if t.role is Role.FEATURE_MAP)
    gradients = {
        t.name.removeprefix("gradient of "): v
        for t, v in live.items()
        if t.role is Role.PARAMETER_GRADIENT
    }
    return Found(loss, gradients, {t.name: v for t, v in live.items() if t.role in
                                   (Role.PARAMETER, Role.BUFFER)})  # fmt: skip


class Oracle:
    """PyTorch's training step from given parameters and buffers."""

    def __init__(
        self, name: str, given: dict[str, Array], dtype: Any = torch.float64, optimizer: str = "sgd"
    ) -> None:
        self.dtype = dtype
        with torch.device("meta"):  # its own parameters are not needed
            self.model = ORACLES[name]()
        state = {key: torch.tensor(value, dtype=dtype) for key, value in given.items()}
        counters = self.model.state_dict().keys() - state.keys()
        assert all(key.endswith("num_batches_tracked") for key in counters)
        state |= {key: torch.tensor(0) for key in counters}
        self.model.load_state_dict(state, assign=True)
        learned = self.model.parameters()
        self.optimizer = optimizers.oracle(optimizer, learned, SETTINGS)

    def step(self, images: Array, labels: Array) -> Found:
        self.optimizer.zero_grad()
        scores = self.model(torch.tensor(images).to(self.dtype))
        loss = torch.nn.functional.cross_entropy(scores, torch.tensor(labels))
        loss.backward()
        self.optimizer.step()
        gradients = {name: p.grad.numpy() for name, p in self.model.named_parameters()}
        state = self.model.state_dict().items()
        arrays = {key: value.numpy() for key, value in state if "num_batches" not in key}
        return Found(loss.item(), gradients, arrays)


def disagreement(actual: Found, expected: Found) -> dict[str, float]:
    """Norm-wise difference of the loss, of every gradient and of every array."""
    assert actual.gradients.keys() == expected.gradients.keys()
    assert actual.arrays.keys() == expected.arrays.keys()
    gaps = {"loss": abs(actual.loss - expected.loss) / abs(expected.loss)}
    for name, gradient in expected.gradients.items():
        gaps[f"gradient of {name}"] = distance(actual.gradients[name], gradient)
    for name, array in expected.arrays.items():
        gaps[name] = distance(actual.arrays[name], array)
    return gaps


@pytest.mark.parametrize(("name", "optimizer"), CASES)
def test_two_steps_are_the_same_in_fp64(name: str, optimizer: str) -> None:
    with opened(name, optimizer, "fp64") as session:
        oracle = Oracle(name, start_of(session), optimizer=optimizer)
        for turn in range(2):
            batch = data(name, turn)
            gaps = disagreement(ours(session, *batch), oracle.step(*batch))
            assert {gap: size for gap, size in gaps.items() if not size < EXACT} == {}


@pytest.mark.parametrize("name", OPTIONS)
def test_fp32_is_about_as_near_to_fp64_as_pytorch(name: str) -> None:
    assert ratio_of_errors(name) <= 2


def ratio_of_errors(name: str) -> float:
    """Quotient of our fp32 error and PyTorch's: the geometric mean over all parameters.

    Each side is compared with the fp64 results for the same decisions (ReLU, max pooling): a
    gradient that jumps at a kink says nothing about rounding.
    """
    batch = data(name, 0)
    with opened(name, "sgd", "fp32") as session:
        given, decided = start_of(session), record(session)
        mine = errors(ours(session, *batch), Oracle(name, given), batch, decided)
        with Recorded() as there:
            theirs = Oracle(name, given, torch.float32).step(*batch)
        rival = errors(theirs, Oracle(name, given), batch, there.found)
    ratios = [mine[key] / rival[key] for key in mine.keys() & rival.keys()]
    return float(np.exp(np.mean(np.log(ratios))))


def errors(
    actual: Found, oracle: Oracle, batch: tuple[Array, Array], decided: Decisions
) -> dict[str, float]:
    """Norm-wise error of every gradient that is more than rounding."""
    with Replayed(decided):
        truth = oracle.step(*batch).gradients
    assert not decided.passed
    assert not decided.places
    sizes = {name: float(np.sqrt(np.mean(g * g))) for name, g in truth.items()}
    return {
        name: max(distance(actual.gradients[name], gradient), ROUNDING)
        for name, gradient in truth.items()
        if sizes[name] > NO_GRADIENT * max(sizes.values())
    }
