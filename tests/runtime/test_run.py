"""Predicted equals measured: before, inside and after every operation."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import memlab
from memlab import InputError, optimizers
from memlab.free_memory import Room
from memlab.kernels.registry import Kernel, KernelCall
from memlab.networks.graph import Network
from memlab.runtime import program
from memlab.runtime import run as runs
from memlab.runtime.memory_guard import DoesNotFitError
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.step import Step
from tests.drawn import examples
from tests.networks_at_random import networks

ZOO = list(memlab.zoo.ZOO)
OPTIMIZERS, FORMATS, BATCHES = (
    (*optimizers.OPTIMIZERS, "inference"),
    ("fp32", "fp64"),
    (1, 2, 3, 8),
)
SMALL: dict[str, dict[str, Any]] = {
    "linear1": {},
    "mnist_cnn": {"image": 8},
    "alexnet": {"image": 79, "classes": 10},
    "overfeat": {"image": 71, "classes": 10},
    "gpt2": {"steps": 9, "layers": 2, "features": 12, "heads": 3, "vocabulary": 17},
    "gpt_small": {"steps": 9, "layers": 2, "features": 12, "heads": 3, "vocabulary": 17},
    "vit_s": {"image": 32, "classes": 10, "layers": 2, "features": 12, "heads": 3},
    "rnn": {},
    "lstm": {},
}
"""Reduced images, with at least 2x2 before the last pooling; the others take 64 and 10 classes."""
DEEPER = ("vgg13", "vgg16", "vgg19", "resnet34", "resnet101", "resnet152", "resnet200")
"""Networks whose layers are all in a smaller one of their family."""
SMALLEST = [name for name in ZOO if name not in DEEPER]
CASES = [
    (name, optimizer, FORMATS[(k + i // 2) % 2], BATCHES[(k + i) % 4])
    for i, name in enumerate(SMALLEST)
    for k, optimizer in enumerate(OPTIMIZERS)
]


def build(name: str, optimizer: str, format: str) -> Step:
    net = memlab.zoo.ZOO[name](**SMALL.get(name, {"image": 64, "classes": 10}))
    if optimizer == "inference":
        return memlab.inference_step(net, format)
    return memlab.training_step(net, optimizer, format)


def test_every_pair_of_choices_occurs() -> None:
    choices = (SMALLEST, OPTIMIZERS, FORMATS, BATCHES)
    for one, other in combinations(range(4), 2):
        seen = {(case[one], case[other]) for case in CASES}
        assert seen == set(product(choices[one], choices[other]))


@pytest.mark.parametrize(
    ("name", "optimizer", "format", "batch"),
    [*CASES, *((name, "momentum", "fp32", 2) for name in DEEPER)],
)
def test_the_plan_holds(name: str, optimizer: str, format: str, batch: int) -> None:
    run = memlab.run(build(name, optimizer, format), batch)
    assert run.residual == 0
    assert run.peak == run.planned.peak(batch) == run.measured.peak(batch)


@given(networks(), st.sampled_from(OPTIMIZERS), st.sampled_from(FORMATS),
       st.integers(1, 3))  # fmt: skip
@examples(60)
def test_the_plan_holds_for_random_networks(
    net: Network, optimizer: str, format: str, batch: int
) -> None:
    make = memlab.inference_step if optimizer == "inference" else memlab.training_step
    step = make(net, format=format)
    assume(step.ops)  # inference of nothing but views has none
    assert memlab.run(step, batch).residual == 0


def tiny(classes: int = 3) -> Step:
    x = memlab.network("tiny", image=(2, 6, 6)).conv(4, 3).batch_norm().relu().dropout()
    return memlab.training_step(x.flatten().linear(classes).cross_entropy())


def planted(monkeypatch: pytest.MonkeyPatch, change: object) -> None:
    real = program.kernels_of

    def kernels_of(step: Step, device: str) -> list[Kernel]:
        kernels = real(step, device)
        kernels[2] = change(kernels[2])  # type: ignore[operator]  # a function
        return kernels

    monkeypatch.setattr(program, "kernels_of", kernels_of)


def test_a_hidden_temporary_of_8_bytes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaking(kernel: Kernel) -> Kernel:
        def run(call: KernelCall) -> None:
            np.empty(8, np.uint8)
            kernel(call)

        return run

    planted(monkeypatch, leaking)
    run = memlab.run(tiny(), 2)
    assert [index for index, off in enumerate(run.residuals) if off] == [2]
    assert run.residual == 8


def test_a_late_free_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[object] = []

    def holding(kernel: Kernel) -> Kernel:
        def run(call: KernelCall) -> None:
            held.append(call["x"])
            kernel(call)

        return run

    planted(monkeypatch, holding)
    run = memlab.run(tiny(), 2)
    assert run.residual == 2 * 4 * 16 * 4  # the output of the batch norm, kept too long
    held.clear()


def test_the_measured_ledger_names_every_block() -> None:
    run = memlab.run(tiny(), 2)
    assert run.measured.origin == "measured"
    assert {e.name for e in run.measured.entries} == {e.name for e in run.planned.entries}
    assert run.measured.timeline(2) == run.planned.timeline(2)
    with pytest.raises(InputError, match="plan again"):
        run.measured.peak(3)


def test_kept_gradients_are_in_the_plan() -> None:
    run = memlab.run(tiny(), 2, keep="gradients")
    assert run.residual == 0
    assert set(run.gradients) == {f"gradient of {n}" for n in run.parameters if "running" not in n}
    assert run.planned.after(2)[-1] > memlab.run(tiny(), 2).planned.after(2)[-1]


@pytest.mark.parametrize("placement", [None, "best"])
def test_a_whole_float_is_a_batch(placement: str | None) -> None:
    done = memlab.run(build("linear1", "momentum", "fp32"), 4.0, placement=placement)  # type: ignore[arg-type]  # a whole number, as a float
    assert (done.batch, type(done.batch), done.residual) == (4, int, 0)


def test_a_seed_decides_everything() -> None:
    first, again, other = (memlab.run(tiny(), 2, seed=seed) for seed in (5, 5, 6))
    assert first.loss == again.loss != other.loss
    for name, values in first.parameters.items():
        np.testing.assert_array_equal(values, again.parameters[name])


class Named:
    """Object that prints as a known name, and is none."""

    def __str__(self) -> str:
        return "gradients"


def test_given_values_are_used() -> None:
    net = memlab.network("by hand", features=1).linear(1, name="h").squared_error()
    step = memlab.training_step(net, "sgd", "fp64")
    given: dict[str, Any] = {"h.weight": [[3.0]], "h.bias": [1.0]}
    run = memlab.run(
        step, 1, x=[[2.0]], labels=[[5.0]], parameters=given, settings={"rate": 0.1},
        keep="gradients",
    )  # fmt: skip
    assert run.loss == (3 * 2 + 1 - 5) ** 2
    assert run.gradients["gradient of h.weight"] == 2 * (7 - 5) * 2
    assert run.parameters["h.weight"] == 3 - 0.1 * 8


def test_what_does_not_fit_is_refused_before_anything_is_allocated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = memlab.training_step(memlab.zoo.resnet50())
    monkeypatch.setattr("memlab.free_memory.room", lambda: Room(3 * 10**9))
    monkeypatch.setattr(runs, "Session", None)  # nothing may get this far
    with pytest.raises(DoesNotFitError, match="the largest batch that fits is") as caught:
        memlab.run(step, 512)
    refused = caught.value
    ledger = memlab.plan(step)
    assert ledger.peak(refused.fit.batch or 0) <= 3 * 10**9 < ledger.peak(refused.fit.batch + 1)  # type: ignore[operator]  # one fits
    assert "\n" not in str(refused)


def test_what_is_free_and_the_limit_that_says_so_are_of_one_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter([Room(100, "ulimit -v"), Room(10**9)])
    monkeypatch.setattr("memlab.free_memory.room", lambda: next(moments))
    with pytest.raises(
        DoesNotFitError, match=r"100 B are free under ulimit -v, .* fits; try a sma"
    ):
        memlab.run(tiny(), 2)
    assert next(moments) == Room(10**9)


@pytest.mark.parametrize(
    ("x", "labels", "words"),
    [
        (np.zeros((2, 2, 5, 6)), [0, 1], r"input must have the shape \(2, 2, 6, 6\)"),
        (np.zeros((1, 2, 6, 6)), [0, 1], "the first extent of an input is the batch"),
        (np.full((2, 2, 6, 6), np.nan), [0, 1], "input holds NaN or infinity"),
        (np.full((2, 2, 6, 6), np.inf), [0, 1], "input holds NaN or infinity"),
        (np.full((2, 2, 6, 6), "a"), [0, 1], "input must hold numbers"),
        (np.zeros((2, 2, 6, 6)), [0.5, 1], "labels must hold whole numbers"),
        (np.zeros((2, 2, 6, 6)), [0, 3], "labels must lie between 0 and 2"),
        (np.zeros((2, 2, 6, 6)), [-1, 0], "labels must lie between 0 and 2"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    x: object, labels: object, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        memlab.run(tiny(), 2, x=x, labels=labels)  # type: ignore[arg-type]  # wrong on purpose
    assert memlab.run(tiny(), 2).residual == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"parameters": {"conv1.wait": [1.0]}}, "did you mean 'conv1.weight'"),
        ({"parameters": {"conv1.bias": [1.0]}}, "conv1.bias must have the shape"),
        ({"settings": {"speed": 1.0}}, "unknown setting 'speed'"),
        ({"parameters": {"conv1.bias": [np.nan] * 4}}, "conv1.bias holds NaN or infinity"),
        ({"parameters": {"conv1.bias": [-np.inf] * 4}}, "conv1.bias holds NaN or infinity"),
        ({"parameters": {"conv1.bias": ["a"] * 4}}, "conv1.bias must hold numbers, got <U1"),
        ({"parameters": {"conv1.bias": [None] * 4}}, "conv1.bias must hold numbers, got object"),
        ({"parameters": {"conv1.bias": [[1], [2, 3]]}}, "conv1.bias must be an array of numbers"),
        ({"parameters": {"conv1.bias": [1e300] * 4}}, "conv1.bias holds 1e.300, and fp32 no value"),
        (
            {"parameters": {"norm1.running_var": [1, 1, 1, -0.5]}},
            "norm1.running_var holds -0.5, an",
        ),
        ({"parameters": ["conv1.bias"]}, "parameters are arrays by name, got"),
        ({"settings": {"rate": -1.0}}, "rate must be at least 0, got -1.0; try 0.01"),
        ({"settings": {"rate": np.nan}}, "rate must be at least 0, got nan; try 0.01"),
        ({"settings": {"beta1": 1}}, "beta1 must be at least 0 and below 1, got 1; try 0.9"),
        ({"settings": {"alpha": 1}}, "alpha must be at least 0 and below 1, got 1; try 0.99"),
        ({"settings": {"momentum": True}}, "momentum must be at least 0, got True"),
        ({"settings": 0.1}, "settings are numbers by name, got 0.1; try"),
        ({"seed": -1}, "seed must be at least 0, got -1; try 1"),
        ({"seed": "a"}, "seed must be a whole number, got 'a'; try 1"),
        ({"seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"seed": None}, "seed must be a whole number, got None"),
        ({"keep": Named()}, "unknown thing to keep <.*Named object at .*Known: gradients"),
        ({"keep": "everything"}, "unknown thing to keep 'everything'. Known: gradients"),
    ],
)
def test_bad_options_are_one_sentence(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        memlab.run(tiny(), 2, **options)  # type: ignore[arg-type]  # wrong on purpose
    assert "\n" not in str(caught.value)
    assert memlab.run(tiny(), 2).residual == 0


@pytest.mark.parametrize("error", [ZeroDivisionError, TypeError])
def test_an_exception_inside_an_operation_arrives_and_leaves_the_meter_usable(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays are freed while it is on its way: from Python's stack, and in NumPy."""

    def broken(call: KernelCall) -> None:
        if error is TypeError:
            np.add(np.empty(99), np.array(["a"]))
        np.add(np.empty(99), 1 / 0)

    before = memlab.run(tiny(), 2)
    with monkeypatch.context() as patch:
        planted(patch, lambda kernel: broken)
        with pytest.raises(error):
            memlab.run(tiny(), 2)
    again = memlab.run(tiny(), 2)
    assert (again.residual, again.loss, again.peak) == (0, before.loss, before.peak)


def test_a_format_without_kernels_is_planned_and_not_run() -> None:
    step = memlab.training_step(memlab.zoo.linear1(), format="bf16")
    with pytest.raises(InputError, match="no kernel computes linear in bf16 on cpu; try format"):
        memlab.run(step, 2)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_run_frees_what_it_held(
    monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    def failing(kernel: Kernel) -> Kernel:
        def run(call: KernelCall) -> None:
            raise failure

        return run

    blocks: list[Session] = []
    real = Session.__init__

    def remember(self: Session, *args: object, **options: object) -> None:
        blocks.append(self)
        real(self, *args, **options)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(Session, "__init__", remember)
    with monkeypatch.context() as context:
        planted(context, failing)
        with pytest.raises(failure):
            memlab.run(tiny(), 2)
    assert blocks[0].memory.blocks == {}
    assert blocks[0].meter is not None
    assert blocks[0].meter.live == 0
    assert memlab.run(tiny(), 2).residual == 0


def test_a_closed_session_says_so() -> None:
    step = memlab.training_step(memlab.zoo.linear1())
    with Session(Program(step, 2)) as held:
        held.step()
    with pytest.raises(InputError, match="this session is closed and holds nothing; open another"):
        held.step()
