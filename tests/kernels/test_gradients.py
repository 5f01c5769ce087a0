"""Every backward kernel against central finite differences of its forward kernel, in fp64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memlab.kernels.registry import Array
from memlab.layers import Tanh
from memlab.layers.losses import Loss
from tests.kernels_by_case import CASES, Case, Trial, as_slice, distance

STEP, NEAR = 1e-5, 1e-6
BACKWARD = [case for case in CASES if len(case.ops("fp64")) == 2]
LEARNING = [case for case in BACKWARD if case.learns]


def finite_differences(trial: Trial, name: str, weights: Array | None) -> Array:
    """Derivative of the weighted sum of the output, by each value."""
    values = trial.values[name].copy()
    gradient = np.empty_like(values)
    for place in np.ndindex(values.shape):
        ends = []
        for sign in (1, -1):
            moved = values.copy()
            moved[place] += sign * STEP
            output = trial.output(trial.forward(**{name: moved}))
            ends.append(np.sum(output if weights is None else output * weights))
        gradient[place] = (ends[0] - ends[1]) / (2 * STEP)
    return gradient


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("case", BACKWARD, ids=str)
def test_backward_is_the_derivative_of_forward(case: Case, batch: int) -> None:
    trial = Trial(case, batch)
    weights = trial.weights()
    gradients = trial.backward(weights)
    for name in (*trial.inputs, *trial.learned):
        expected = finite_differences(trial, name, weights)
        assert distance(gradients[f"d{name}"], expected) < NEAR, name


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("case", BACKWARD, ids=str)
def test_a_gradient_is_added_to_what_is_there(case: Case, batch: int) -> None:
    trial = Trial(case, batch)
    weights = trial.weights()
    alone, there = trial.backward(weights), trial.gradients()
    for lie in (np.copy, as_slice):
        into = {name: lie(values) for name, values in there.items()}
        both = trial.backward(weights, into)
        for name, values in there.items():
            assert distance(into[name], alone[name] + values) < 1e-14, name
        assert all((both[f"d{name}"] == alone[f"d{name}"]).all() for name in trial.learned)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("case", LEARNING, ids=str)
def test_the_gradient_of_parameters_is_added_to_what_is_there(case: Case, batch: int) -> None:
    trial = Trial(case, batch)
    weights = trial.weights()
    assert weights is not None
    alone = trial.backward(weights)
    there = {f"d{name}": trial.draw(name, trial.forward_op.reads[name]) for name in trial.learned}
    both = trial.backward(weights, {name: values.copy() for name, values in there.items()})
    for name, values in there.items():
        assert distance(both[name], alone[name] + values) < 1e-14, name
    assert all((both[f"d{name}"] == alone[f"d{name}"]).all() for name in trial.inputs)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("case", [c for c in BACKWARD if not isinstance(c.layer, Loss)], ids=str)
def test_a_gradient_may_be_a_slice_of_larger_samples(case: Case, batch: int) -> None:
    trial = Trial(case, batch)
    weights = trial.weights()
    assert weights is not None
    alone, sliced = trial.backward(weights), trial.backward(as_slice(weights))
    assert all(distance(sliced[name], alone[name]) < 1e-14 for name in alone)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("case", [c for c in CASES if len(c.shapes[0]) == 1], ids=str)
def test_a_vector_may_be_a_step_of_a_sequence(case: Case, batch: int) -> None:
    trial = Trial(case, batch)
    weights, steps = trial.weights(), {name: as_slice(trial.values[name]) for name in trial.inputs}
    alone, sliced = trial.forward(), trial.forward(**steps)
    assert all(distance(sliced[name], alone[name]) < 1e-14 for name in alone)
    if trial.backward_op is not None:
        known, gradients = trial.backward(weights), trial.backward(weights, **steps)
        assert all(distance(gradients[name], known[name]) < 1e-14 for name in known)


@pytest.mark.parametrize("case", LEARNING, ids=str)
def test_the_first_layer_needs_no_gradient_of_its_input(case: Case) -> None:
    trial = Trial(case, 2)
    weights, op = trial.weights(), trial.backward_op
    assert weights is not None
    assert op is not None
    alone = trial.backward(weights)
    first = replace(op, writes={name: op.writes[name] for name in op.writes if name != "dx"})
    given = {**trial.values, **trial.forward(), "dy": weights}
    gradients = trial.call(first, given)
    assert "dx" not in gradients
    assert all((gradients[name] == alone[name]).all() for name in gradients)


@pytest.mark.parametrize("case", LEARNING, ids=str)
def test_a_frozen_layer_passes_its_gradient_on_alone(case: Case) -> None:
    """Without what backward reads only to learn."""
    trial = Trial(case, 2)
    weights, op, row = trial.weights(), trial.backward_op, case.layer.row
    assert weights is not None
    assert op is not None
    alone, own = trial.backward(weights), {f"d{name}" for name in trial.learned}
    frozen = replace(
        op,
        reads={name: op.reads[name] for name in op.reads if name not in row.to_learn},
        writes={name: op.writes[name] for name in op.writes if name not in own},
    )
    given = {**trial.values, **trial.forward(), "dy": weights}
    gradients = trial.call(frozen, given) if frozen.writes else {}
    assert gradients.keys() == alone.keys() - own
    assert all((gradients[name] == alone[name]).all() for name in gradients)


def test_a_wrong_sign_is_seen() -> None:
    trial = Trial(Case(Tanh(), ((4,),)), 2)
    weights = trial.weights()
    dx = trial.backward(weights)["dx"]
    assert distance(-dx, finite_differences(trial, "x", weights)) > 1
