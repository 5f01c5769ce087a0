"""Kernels of every target compared with those compiled for the processor.

The latter are compared with finite differences and with PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memlab import devices
from memlab import layers as L  # noqa: N812 - as in memlab
from memlab.errors import InputError
from memlab.kernels import registry
from memlab.kernels.registry import Array, KernelCall
from memlab.layers import algorithms
from memlab.optimizers import OPTIMIZERS
from memlab.runtime.session import SETTINGS
from tests import kernel_targets
from tests.kernels_by_case import Case, Trial, as_slice, convolutions, distance, others, slot

NEAR = 1e-10
TARGETS = ("python", "cudasim", "cuda")
BATCH = 2


def on_targets(cases: Callable[[str], list[Case]]) -> Any:
    """Decorator that runs a test on every target, with the cases of its device."""
    pairs = [(t, case) for t in TARGETS for case in cases(kernel_targets.DEVICES[t])]
    return pytest.mark.parametrize(("target", "case"), pairs, ids=str)


def trials(target: str, case: Case) -> tuple[Trial, Trial]:
    """Case on a target, and the same case on the processor."""
    is_conv = isinstance(case.layer, L.Conv2d)
    if reason := kernel_targets.missing(target, case.algorithm if is_conv else ""):
        pytest.skip(reason)
    known = replace(case, algorithm="direct") if is_conv else case
    return Trial(case, BATCH, target=target), Trial(known, BATCH)


def agree(results: dict[str, Array], expected: dict[str, Array]) -> None:
    assert results.keys() == expected.keys()
    for name, array in results.items():
        assert distance(array, expected[name].astype(np.float64)) < NEAR, name


@on_targets(lambda device: [*convolutions(device), *others(device)])
def test_forward_and_backward(target: str, case: Case) -> None:
    trial, known = trials(target, case)
    agree(trial.forward(), known.forward())
    if trial.backward_op is not None:
        dy = trial.weights()
        agree(trial.backward(dy), known.backward(dy))


def on_sequences(device: str) -> list[Case]:
    """Every case of vectors, with three of them in each sample, if the layer takes sequences and
    its row does not exclude the case."""
    vectors = [case for case in others(device) if {len(shape) for shape in case.shapes} == {1}]
    several = [replace(case, shapes=tuple((3, *s) for s in case.shapes)) for case in vectors]
    able = devices.find(device).sequences
    return [case for case in several if (able or not case.layer.row.by_step) and fits(case)]


def fits(case: Case) -> bool:
    try:
        case.layer.output(*case.shapes)
    except InputError:
        return False
    return True


@on_targets(on_sequences)
def test_a_sample_may_be_a_sequence_of_vectors(target: str, case: Case) -> None:
    trial, known = trials(target, case)
    agree(trial.forward(), known.forward())
    dy = trial.weights()
    if trial.backward_op is not None:
        agree(trial.backward(dy), known.backward(dy))


def whole(array: Array) -> Array:
    """Array that an array is a slice of."""
    assert array.base is not None
    return array.base


def sliced(device: str) -> list[Case]:
    conv = L.Conv2d(4, 3, 2, 1, groups=2)
    return [
        *(Case(conv, ((4, 5, 4),), name) for name in algorithms.on(device)),
        *(Case(L.Conv2d(3, 1), ((2, 3, 2),), name) for name in algorithms.on(device)),
        Case(L.BatchNorm(), ((2, 3, 2),)),
        Case(L.LocalResponseNorm(3), ((4, 2, 2),)),
        Case(L.MaxPool2d(3, 2, 1), ((2, 5, 4),)),
        Case(L.AvgPool2d(3, 2, 1), ((2, 5, 4),)),
        Case(L.ReLU(), ((2, 3, 2),)),
        Case(L.Tanh(), ((2, 3, 2),)),
        Case(L.Dropout(0.3), ((2, 3, 2),)),
    ]


@on_targets(sliced)
def test_gradients_that_are_slices_of_larger_samples(target: str, case: Case) -> None:
    """A gradient is read from one slice, and added to another; values around the slice must not
    change."""
    trial, known = trials(target, case)
    dy, there = trial.weights(), trial.draw("dx", trial.forward_op.reads["x"])
    assert dy is not None
    into, expected = as_slice(there), as_slice(there)
    gradients = trial.backward(as_slice(dy), into)
    agree(gradients, known.backward(dy, expected))
    assert (np.isnan(whole(into)) == np.isnan(whole(expected))).all()


def learning(device: str) -> list[Case]:
    conv = L.Conv2d(2, 3, pad=1)
    convolved = [Case(conv, ((2, 3, 4),), name) for name in algorithms.on(device)]
    return [*convolved, Case(L.Linear(3), ((4,),))]


@on_targets(learning)
def test_the_first_layer_has_no_gradient_of_its_input(target: str, case: Case) -> None:
    trial, known = trials(target, case)
    dy = trial.weights()
    expected = known.backward(dy)
    assert trial.backward_op is not None
    assert dy is not None
    op = trial.backward_op
    reads = {name: tensor for name, tensor in op.reads.items() if name != "weight"}
    writes = {name: tensor for name, tensor in op.writes.items() if name != "dx"}
    first = replace(op, reads=reads, writes=writes)
    gradients = trial.call(first, {**trial.values, "dy": dy})
    agree(gradients, {name: expected[name] for name in writes})


def learned(device: str) -> list[Case]:
    """Every layer with parameters, and a convolution by every algorithm."""
    return [*learning(device), *(case for case in others(device) if case.learns)]


@on_targets(learned)
def test_gradients_of_parameters_are_added_up(target: str, case: Case) -> None:
    trial, known = trials(target, case)
    dy, reads = trial.weights(), trial.forward_op.reads
    there = {f"d{name}": trial.draw(name, reads[name]) for name in trial.learned}
    gradients, expected = (
        one.backward(dy, {name: values.copy() for name, values in there.items()})
        for one in (trial, known)
    )
    agree(gradients, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_draws_the_same_numbers(target: str) -> None:
    case = Case(L.Dropout(0.4), ((2, 3, 5),))
    trial, known = (replace(trial, format="fp32") for trial in trials(target, case))
    assert (trial.forward()["y"] == known.forward()["y"]).all()


INFERENCE = [
    Case(L.SoftmaxCrossEntropy(), ((6,),)),
    Case(L.BatchNorm(epsilon=1e-3), ((3, 2, 2),)),
    Case(L.MaxPool2d(2), ((2, 5, 4),)),
]


@on_targets(lambda device: INFERENCE)
def test_inference(target: str, case: Case) -> None:
    results = []
    for trial in trials(target, case):
        (op,) = case.ops("fp64", training=False)
        given = {**trial.values, "running_var": np.linspace(0.5, 2, 3)}
        results.append(trial.call(op, given, training=False))
    agree(*results)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_updates(target: str, kind: str) -> None:
    drawn = np.random.default_rng(0)
    own = slot(kind)
    arrays = {name: drawn.random((4, 3)) for name in own.parts.values()}
    compare(target, kind, arrays, settings=SETTINGS | {"step": 2.0}, slots=(own,))


@pytest.mark.parametrize("target", TARGETS)
def test_a_gradient_meets_another(target: str) -> None:
    dx, dy = (np.random.default_rng(seed).random((2, 3, 2)) for seed in (0, 1))
    compare(target, "accumulate", {"dx": dx, "dy": as_slice(dy)})


def compare(target: str, kind: str, arrays: dict[str, Array], **options: Any) -> None:
    """Call a kernel on a target and on the processor, with copies of the same arrays."""
    if reason := kernel_targets.missing(target):
        pytest.skip(reason)
    results = []
    for name in (target, "numba"):
        kernel = registry.find(kind, device=kernel_targets.DEVICES[name], format="fp64")
        own = {key: as_slice(a) if a.base is not None else a.copy() for key, a in arrays.items()}
        kernel_targets.run(name, kernel, KernelCall(own, **options))
        results.append({key: array.copy() for key, array in own.items()})
    agree(*results)
    assert any((results[0][key] != array).any() for key, array in arrays.items())
