"""Unrolled recurrent networks compared with PyTorch's: loss, gradients, three updates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import memlab
from memlab.kernels.registry import Array
from memlab.optimizers import OPTIMIZERS
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.tensor import Role
from tests.kernels_by_case import distance
from tests.oracles import optimizers
from tests.oracles.requirement import torch_or_skip

torch = torch_or_skip()

STEPS, FEATURES, HIDDEN, CLASSES, UPDATES = 6, 4, 5, 3, 3
SETTINGS = {"rate": 0.1, "momentum": 0.9}
"""The others are what they are by themselves, here and in PyTorch."""
NAMES = {
    "input1.weight": "cell.weight_ih_l0",
    "input1.bias": "cell.bias_ih_l0",
    "hidden2.weight": "cell.weight_hh_l0",
    "fc.weight": "fc.weight",
    "fc.bias": "fc.bias",
}
"""PyTorch has a second bias, which stays 0."""


class Oracle(torch.nn.Module):  # type: ignore[name-defined]  # torch may be missing
    """Recurrent network of PyTorch with the parameters of a run."""

    def __init__(self, name: str, parameters: dict[str, Array]) -> None:
        super().__init__()
        cell = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM}[name]
        self.cell = cell(FEATURES, HIDDEN, batch_first=True)
        self.fc = torch.nn.Linear(HIDDEN, CLASSES)
        self.double()
        with torch.no_grad():
            self.cell.bias_hh_l0.zero_().requires_grad_(False)
            for ours, theirs in NAMES.items():
                self.get_parameter(theirs).copy_(torch.tensor(parameters[ours]))

    def forward(self, x: Any) -> Any:
        outputs, _ = self.cell(x)
        return self.fc(outputs[:, -1])


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", ["rnn", "lstm"])
def test_as_pytorch(name: str, optimizer: str, batch: int) -> None:
    net = memlab.zoo.ZOO[name](steps=STEPS, features=FEATURES, hidden=HIDDEN, classes=CLASSES)
    step = memlab.training_step(net, optimizer, "fp64").keep("gradients")
    rng = np.random.default_rng(batch)
    x = rng.standard_normal((batch, STEPS, FEATURES))
    labels = rng.integers(0, CLASSES, batch)
    with Session(Program(step, batch), settings=SETTINGS) as session:
        oracle = Oracle(name, {t.name: session.value(t).copy() for t in session.residents})
        learned = [oracle.get_parameter(theirs) for theirs in NAMES.values()]
        rule = optimizers.oracle(optimizer, learned, SETTINGS)
        for _ in range(UPDATES):
            session.step(x, labels)
            rule.zero_grad()
            loss = torch.nn.functional.cross_entropy(oracle(torch.tensor(x)), torch.tensor(labels))
            loss.backward()
            rule.step()
            live = {t.name: session.value(t) for t in session.program.step.live_out}
            assert live["loss"] == pytest.approx(loss.item(), rel=1e-12)
            for ours, theirs in NAMES.items():
                parameter = oracle.get_parameter(theirs)
                gradient = live[f"gradient of {ours}"]
                assert distance(gradient, parameter.grad.numpy()) < 1e-10, ours
                assert distance(live[ours], parameter.detach().numpy()) < 1e-8, ours


def test_every_parameter_is_compared() -> None:
    step = memlab.training_step(memlab.zoo.lstm(steps=STEPS))
    assert {t.name for t in step.live_in if t.role is Role.PARAMETER} == set(NAMES)
