"""Recurrent networks: their layers, their cells, and their sizes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import memlab
from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.errors import InputError
from memlab.networks.builder import Handle, network
from memlab.networks.graph import Network
from memlab.networks.zoo.rnns import STAGES
from tests.rows import every_row


def start() -> Handle:
    return network("sequence", sequence=(3, 8))


@every_row("steps", [1, 2, 7])
@every_row(("build", "gates"), [(memlab.zoo.rnn, 1), (memlab.zoo.lstm, 4)])
def test_the_parameters_do_not_grow_with_the_steps(
    build: Callable[..., Network], gates: int, steps: int
) -> None:
    net = build(steps=steps, features=3, hidden=5, classes=2)
    recurrent = 5 * 5 if steps > 1 else 0
    assert net.parameters == gates * (5 * 3 + 5 + recurrent) + 2 * 5 + 2
    owners = {node.name for node in net.nodes if node.parameters}
    assert owners == {"input1", "fc", *(["hidden2"] if steps > 1 else [])}


@every_row("build", [memlab.zoo.rnn, memlab.zoo.lstm])
@every_row("steps", [1, 10, 11, 28, 100])
def test_the_steps_are_divided_into_few_stages(build: Callable[..., Network], steps: int) -> None:
    *stages, last = build(steps=steps).stages
    assert last == "fc"
    assert len(stages) <= STAGES
    assert stages[0].startswith("step")
    assert stages[-1].endswith(str(steps))


def test_a_cell_of_an_rnn() -> None:
    """h = tanh(W x + b + U h_before)."""
    net = memlab.zoo.rnn(steps=3)
    reads = {node.name: node.inputs for node in net.nodes}
    assert reads["x3"] == ("input",)
    assert reads["input3"] == ("x3",)
    assert reads["hidden3"] == ("h2",)
    assert reads["sum3"] == ("input3", "hidden3")
    assert reads["h3"] == ("sum3",)
    assert reads["fc"] == ("h3",)
    assert reads["h1"] == ("input1",)


def test_a_cell_of_an_lstm() -> None:
    net = memlab.zoo.lstm(steps=3)
    reads = {node.name: node.inputs for node in net.nodes}
    assert reads["c3"] == ("sum3", "c2")
    assert reads["h3"] == ("sum3", "c3")
    assert reads["c1"] == ("input1",)
    assert net.by_name["sum3"].shape == (4 * 128,)
    assert net.by_name["c3"].shape == net.by_name["h3"].shape == (128,)


def test_a_thousand_steps_are_built() -> None:
    net = memlab.zoo.rnn(steps=1000)
    step = memlab.training_step(net)
    forward, backward, updates = 2 + 999 * 4 + 2, 2 + 2 + 999 * 3, 3
    assert len(step.ops) == forward + backward + updates
    kept = memlab.plan(step).peak(2) - memlab.plan(step).peak(1)
    assert kept >= 999 * 128 * 4  # every h but the last


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: start().at(3), "at: t must be below 3, got 3; steps count from 0"),
    (lambda: start().at(-1), "at: t must be at least 0, got -1"),
    (lambda: network("n", features=3).at(0), "at needs a sequence .* got 3"),
    (lambda: start().at(0).lstm_state(start().at(1)), "both inputs must come from one network"),
    (lambda: (x := start()).at(0).lstm_state(x.at(1)), "gates of 4 H values .* got 8 and 8"),
    (lambda: start().at(0).linear(6).lstm_state(), r"got 6; try linear\(4\)"),
    (lambda: start().at(0).linear(3).lstm_state(), r"got 3; try linear\(4\)"),
    (lambda: start().lstm_state(), r"gates of 4 H values .* got 3x8"),
    (lambda: start().at(0).then(L.LstmOutput()), "lstm_output needs gates and a state"),
    (lambda: (x := start().at(0)).then(L.LstmState(), x, x), "lstm_state takes 2 inputs, got 3"),
    (lambda: start().then(L.Flatten()).linear(8).then(L.At(0)), "at needs a sequence"),
    (lambda: start().tanh().at(0).linear(2).cross_entropy(), "at reads the input of the network"),
    (lambda: network("n", sequence=(3,)), r"sequence must be .* got \(3,\); try \(28, 28\)"),
    (lambda: network("n", sequence=(0, 3)), "input size must be at least 1, got 0"),
    (lambda: memlab.zoo.rnn(steps=0), "steps must be .* got 0; try 28"),
    (lambda: memlab.zoo.lstm(hidden=0), "hidden must be .* got 0; try 128"),
    (lambda: memlab.zoo.build("rnn", image=28), "rnn has no image; leave it out"),
]


@every_row(("make", "words"), BAD)
def test_bad_input_gets_one_sentence(make: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        make()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
