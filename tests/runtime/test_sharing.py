"""Steps whose layers share parameters: gradients add up, and the plan holds to the byte."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab import optimizers
from memlab.kernels.registry import Array, KernelCall
from memlab.networks.graph import Network
from memlab.runtime.run import Run
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.precision import MODES
from tests.drawn import examples
from tests.kernels_by_case import distance
from tests.networks_at_random import tied

OPTIMIZERS = (*optimizers.OPTIMIZERS, "inference")
FORMATS = ("fp32", "fp64")


def loop(uses: int = 4) -> Network:
    """Network that applies one layer again and again, with a shortcut over each application."""
    x = memlab.network("loop", features=3)
    first = x.linear(3)
    h = first.tanh()
    for _ in range(uses - 1):
        h = h.linear(3, share=first).tanh().add(h)
    return h.linear(2).cross_entropy()


def fork() -> Network:
    """Network with a state whose gradient exists when its cell's arrives, and may not be added to
    in place."""
    x = memlab.network("fork", sequence=(2, 3))
    gates, before = x.at(0).linear(12), x.at(1).linear(3)
    state = gates.lstm_state(before, name="c")
    h = x.at(1).linear(12, share=gates).lstm_output(state, name="h")
    return state.add(before).add(h).linear(2).cross_entropy()


NETWORKS = {
    "loop": loop(),
    "fork": fork(),
    "rnn": memlab.zoo.rnn(steps=4, features=3, hidden=5, classes=3),
    "lstm": memlab.zoo.lstm(steps=4, features=3, hidden=5, classes=3),
}


def build(net: Network, optimizer: str = "sgd", format: str = "fp64") -> Step:
    if optimizer == "inference":
        return memlab.inference_step(net, format)
    return memlab.training_step(net, optimizer, format)


def untied(net: Network) -> Network:
    """The same network with separate parameters for each layer."""
    nodes = (
        replace(n, shares="", parameters=n.layer.parameters(*n.input_shapes)) for n in net.nodes
    )
    return replace(net, nodes=tuple(nodes))


def summed(net: Network, apart: Run) -> dict[str, Array]:
    """Gradients of shared parameters, summed from those of layers that share none."""
    sums: dict[str, Array] = {}
    for node in net.nodes:
        for array in node.layer.parameters(*node.input_shapes):
            name = f"gradient of {node.shares or node.name}.{array.name}"
            own = apart.gradients[f"gradient of {node.name}.{array.name}"]
            sums[name] = sums[name] + own if name in sums else own
    return sums


def both(net: Network, batch: int) -> tuple[Run, dict[str, Array]]:
    """Run of a network, and the gradients that it should have computed."""
    run = memlab.run(build(net), batch, keep="gradients", settings={"rate": 0.0})
    copies = {
        f"{node.name}.{array.name}": run.parameters[f"{node.shares or node.name}.{array.name}"]
        for node in net.nodes
        for array in node.layer.parameters(*node.input_shapes)
    }
    apart = memlab.run(build(untied(net)), batch, parameters=copies, keep="gradients")
    return run, summed(net, apart)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_sums_over_the_layers(name: str, batch: int) -> None:
    run, expected = both(NETWORKS[name], batch)
    assert set(run.gradients) == set(expected)
    for key, values in expected.items():
        assert distance(run.gradients[key], values) < 1e-13, key


@given(tied(), st.sampled_from(OPTIMIZERS), st.integers(1, 3))
@examples(40)
def test_random_networks(net: Network, optimizer: str, batch: int) -> None:
    assert memlab.run(build(net, optimizer), batch).residual == 0
    run, expected = both(net, batch)
    for key, values in expected.items():
        assert distance(run.gradients[key], values) < 1e-12, key


def slopes(net: Network) -> tuple[float, float]:
    """Slope of the loss along a random direction, by gradients and by finite differences."""
    step, rng, near = build(net), np.random.default_rng(1), 1e-5
    run = memlab.run(step, 3, keep="gradients", settings={"rate": 0.0})
    direction = {name: rng.standard_normal(values.shape) for name, values in run.parameters.items()}
    losses = []
    for sign in (1, -1):
        moved = {name: v + sign * near * direction[name] for name, v in run.parameters.items()}
        losses.append(memlab.run(step, 3, parameters=moved).loss or 0.0)
    slope = sum(
        float(np.sum(run.gradients[f"gradient of {name}"] * direction[name])) for name in direction
    )
    return slope, (losses[0] - losses[1]) / (2 * near)


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    slope, expected = slopes(NETWORKS[name])
    assert slope == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_layer_that_overwrites_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelCall, "accumulate_weights", False)
    run, expected = both(NETWORKS[name], 3)
    assert max(distance(run.gradients[key], values) for key, values in expected.items()) > 0.1
    computed, slope = slopes(NETWORKS[name])
    assert computed != pytest.approx(slope, rel=1e-2)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_plan_holds(name: str, format: str, optimizer: str, batch: int) -> None:
    run = memlab.run(build(NETWORKS[name], optimizer, format), batch)
    assert run.residual == 0
    assert run.peak == run.planned.peak(batch)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_first_writes_and_the_others_add(name: str) -> None:
    net = NETWORKS[name]
    step = build(net, "adam")
    shared = {node.shares for node in net.nodes if node.shares}
    assert shared
    for owner in shared:
        writers, adders, updaters = (
            [op for op in step.ops if f"gradient of {owner}.weight" in names(op)]
            for names in (
                lambda op: {t.name for t in op.writes.values()},
                lambda op: {t.name for t in op.updates.values()},
                lambda op: {t.name for t in op.reads.values()},
            )
        )
        uses = 1 + sum(node.shares == owner for node in net.nodes)
        assert [len(writers), len(adders), len(updaters)] == [1, uses - 1, 1]
        order = [step.ops.index(op) for op in (*writers, *adders, *updaters)]
        assert order == sorted(order)
        assert [op.layer for op in adders][-1] == owner
        assert not any(op.pure for op in adders)
        (life,) = (e for e in memlab.plan(step).entries if e.name == f"gradient of {owner}.weight")
        assert (life.birth, life.death) == (order[0], order[-1])


def test_a_gradient_that_cannot_be_added_in_place_is_a_part() -> None:
    step = build(fork())
    (cell,) = (op for op in step.ops if op.name == "backward of h")
    assert cell.writes["dx1"].name == "gradient of c by input 1 of h"
    after = step.ops[step.ops.index(cell) + 1]
    assert after.kind == "accumulate"
    assert after.reads["dy"] == cell.writes["dx1"]
    (state,) = (op for op in step.ops if op.name == "backward of c")
    assert list(state.updates) == ["dx1"]


def test_shared_parameters_are_resident_once() -> None:
    step = build(NETWORKS["rnn"], "adam")
    names = [t.name for t in step.live_in if t.role is Role.PARAMETER]
    assert names == ["input1.weight", "input1.bias", "hidden2.weight", "fc.weight", "fc.bias"]
    states = [t for t in step.live_in if t.role is Role.OPTIMIZER_STATE]
    assert len(states) == 2 * len(names)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NETWORKS)
def test_in_small_formats_the_sums_are_near(name: str, mode: str) -> None:
    plain = build(NETWORKS[name], format="fp32")
    settings = {"rate": 0.0, "loss_scale": 1.0}
    exact = memlab.run(plain, 3, keep="gradients", settings=settings)
    run = memlab.run(memlab.precision(plain, mode), 3, keep="gradients", settings=settings)
    assert run.residual == 0
    near = 0.05 if "bf16" in mode else 0.01
    for key, values in exact.gradients.items():
        gradient = run.gradients[key].astype(np.float64)
        assert distance(gradient, values.astype(np.float64)) < near, key
