"""Small transformers: planned and measured, against PyTorch, with attention in two forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError, optimizers
from memlab.kernels.registry import Array
from memlab.layers.attention import TILE
from memlab.networks.graph import Network
from memlab.runtime.program import kernels_of
from memlab.step.step import Step
from tests.kernels_by_case import distance
from tests.oracles.requirement import torch_or_skip

LAYERS, HEADS = 2, 2
SMALL: dict[str, dict[str, Any]] = {
    "gpt2": {"steps": 7, "features": 8, "vocabulary": 11},
    "vit_s": {"image": 12, "classes": 5, "features": 8, "patch": 4},
}
OPTIMIZERS = (*optimizers.OPTIMIZERS, "inference")
EXACT = 1e-10
"""The largest norm-wise difference in fp64."""


def small(name: str, attention: str = "matrix", dropout: float = 0, **sizes: Any) -> Network:
    options = {**SMALL[name], "layers": LAYERS, "heads": HEADS, "attention": attention, **sizes}
    return memlab.zoo.ZOO[name](**options, **({"dropout": dropout} if name == "gpt2" else {}))


def step_of(net: Network, optimizer: str, format: str = "fp32", threads: int = 1) -> Step:
    if optimizer == "inference":
        return memlab.inference_step(net, format, threads=threads)
    return memlab.training_step(net, optimizer, format, threads=threads)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("attention", ["matrix", "fused"])
@pytest.mark.parametrize("name", SMALL)
def test_the_plan_holds(name: str, attention: str, optimizer: str, batch: int) -> None:
    net = small(name, attention, dropout=0.1)
    threads, format = batch, ("fp32", "fp64")[batch > 1]
    run = memlab.run(step_of(net, optimizer, format, threads), batch)
    assert run.residual == 0
    assert run.loss is None or np.isfinite(run.loss)


def trained(net: Network, format: str = "fp64", **given: Any) -> Any:
    step = memlab.training_step(net, "sgd", format)
    run = memlab.run(step, 3, keep="gradients", settings={"rate": 0}, **given)
    assert run.residual == 0
    return run


def shaken(net: Network) -> dict[str, Array]:
    """Random values for every parameter, also for those that start as 0 or 1."""
    drawn, given = np.random.default_rng(0), {}
    for node in net.nodes:
        for array in node.parameters:
            shape = tuple(extent for _, extent in array.dims)
            given[f"{node.name}.{array.name}"] = drawn.normal(0.2, 0.4, shape)
    return given


def inputs(net: Network) -> tuple[Array, Array]:
    drawn = np.random.default_rng(1)
    labels = drawn.integers(0, net.loss.shape[-1], (3, *net.loss.shape[:-1]))
    if net.vocabulary:
        return drawn.integers(0, net.vocabulary, (3, *net.input_shape)), labels
    return drawn.normal(size=(3, *net.input_shape)), labels


@pytest.mark.parametrize("attention", ["matrix", "fused"])
@pytest.mark.parametrize("name", SMALL)
def test_loss_and_gradients_are_those_of_pytorch(name: str, attention: str) -> None:
    torch = torch_or_skip()
    from tests.oracles.transformers import MODELS

    net = small(name, attention)
    given, (x, labels) = shaken(net), inputs(net)
    run = trained(net, x=x, labels=labels, parameters=given)
    theirs = {key: torch.tensor(value, requires_grad=True) for key, value in given.items()}
    scores = MODELS[name](theirs, torch.tensor(x), LAYERS, HEADS).flatten(0, -2)
    loss = torch.nn.functional.cross_entropy(scores, torch.tensor(labels).flatten())
    loss.backward()
    assert run.loss == pytest.approx(loss.item(), rel=EXACT)
    assert {f"gradient of {key}" for key in theirs} == set(run.gradients)
    for key, value in theirs.items():
        assert distance(run.gradients[f"gradient of {key}"], value.grad.numpy()) < EXACT, key


@pytest.mark.parametrize("name", SMALL)
def test_the_gradient_is_the_slope_of_the_loss(name: str) -> None:
    """Along one direction for all parameters, so that the shared ones are part of it."""
    net = small(name)
    given, (x, labels) = shaken(net), inputs(net)
    drawn = np.random.default_rng(2)
    direction = {key: drawn.normal(size=value.shape) for key, value in given.items()}

    def loss(shift: float) -> float:
        moved = {key: value + shift * direction[key] for key, value in given.items()}
        return float(trained(net, x=x, labels=labels, parameters=moved).loss)

    slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
    run = trained(net, x=x, labels=labels, parameters=given)
    found = sum((run.gradients[f"gradient of {key}"] * direction[key]).sum() for key in given)
    assert found == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("steps", [5, TILE, 2 * TILE + 3])
@pytest.mark.parametrize("format", ["fp32", "fp64"])
def test_fused_attention_is_attention(steps: int, format: str) -> None:
    """Also over several tiles, the last one shorter."""
    runs = [
        trained(small("gpt2", attention, steps=steps, vocabulary=13), format)
        for attention in ("matrix", "fused")
    ]
    matrix, fused = runs
    near = {"fp32": 3e-5, "fp64": 1e-12}[format]
    assert fused.loss == pytest.approx(matrix.loss, rel=near)
    for name, gradient in matrix.gradients.items():
        assert distance(fused.gradients[name], gradient) < near, name


def test_the_matrices_of_attention_can_be_computed_again_on_their_own() -> None:
    """Selective recompute (F4): the softmax and its dropout are dropped, the rest is kept."""
    step = memlab.training_step(small("gpt2", dropout=0.1), "sgd", "fp64")
    parts = ("scores", "softmax", "softmax.drop")
    layers = [f"{i}.{part}" for i in range(1, LAYERS + 1) for part in parts]
    again = memlab.recompute(step, "drop", layers=layers)
    first, second = (memlab.run(variant, 3, keep="gradients") for variant in (step, again))
    assert first.residual == second.residual == 0
    for name, gradient in first.gradients.items():
        np.testing.assert_array_equal(second.gradients[name], gradient)
    loss = [op.name for op in step.ops].index("loss")
    later = [op.name for op in again.ops].index("loss")
    matrix = 8 * HEADS * SMALL["gpt2"]["steps"] ** 2 * 3
    assert first.before[loss] - second.before[later] == 2 * LAYERS * matrix


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([[0] * 7, [11] * 7], "tokens must lie between 0 and 10, got 0 to 11"),
        ([[-1] * 7, [1] * 7], "tokens must lie between 0 and 10, got -1 to 1"),
        ([[0.5] * 7] * 2, "input must hold whole numbers"),
        ([[0] * 6] * 2, r"input must have the shape \(2, 7\)"),
    ],
)
def test_bad_tokens_are_one_sentence(tokens: Any, words: str) -> None:
    step = memlab.training_step(small("gpt2"))
    with pytest.raises(InputError, match=words) as caught:
        memlab.run(step, 2, x=tokens)
    assert "\n" not in str(caught.value)


def test_a_gpu_and_half_precision_without_tiles_are_refused_in_one_sentence() -> None:
    for name in SMALL:
        with pytest.raises(InputError, match="on sequences run on cpu, got cuda; plan this step"):
            kernels_of(memlab.training_step(small(name)), "cuda")
        step = memlab.training_step(small(name), format="fp16")
        assert memlab.plan(step).peak(1) < memlab.plan(memlab.training_step(small(name))).peak(1)
        with pytest.raises(InputError, match=r"in fp16 on cpu; try format fp32 or fp64, or memlab"):
            memlab.run(step, 1)


def test_labels_of_every_token_are_checked() -> None:
    step = memlab.training_step(small("gpt2"))
    with pytest.raises(InputError, match="labels must lie between 0 and 10, got 11 to 11"):
        memlab.run(step, 2, labels=np.full((2, 7), 11))


@pytest.mark.parametrize("mode", ["fp16", "mixed bf16", "mixed fp16"])
@pytest.mark.parametrize("attention", ["matrix", "fused"])
@pytest.mark.parametrize("name", SMALL)
def test_stored_in_half_precision_the_loss_is_about_the_same(
    name: str, attention: str, mode: str
) -> None:
    net = small(name, attention)
    plain = memlab.run(memlab.training_step(net), 3)
    half = memlab.run(memlab.precision(memlab.training_step(net), mode), 3)
    assert half.residual == 0
    assert half.loss == pytest.approx(plain.loss, rel=0.02)
    assert half.loss != plain.loss


# -- the GPT of the lessons ------------------------------------------------------------------------

AS_IN_A_LESSON: dict[str, Callable[[Step], Step]] = {
    "plain": lambda step: step,
    "in place": memlab.in_place,
    "chain": lambda step: memlab.recompute(step, "chain", batch=2),
}


@pytest.mark.measures
def test_techniques_leave_the_small_gpt_its_loss_and_need_what_was_planned() -> None:
    step = memlab.training_step(memlab.zoo.gpt_small())
    runs = {name: memlab.run(rewrite(step), 2) for name, rewrite in AS_IN_A_LESSON.items()}
    assert {run.residual for run in runs.values()} == {0}
    assert len({run.loss for run in runs.values()}) == 1
    peaks = {name: run.peak for name, run in runs.items()}
    assert peaks["plain"] < 170_000_000
    assert peaks["in place"] == peaks["plain"] > 1.8 * peaks["chain"]
