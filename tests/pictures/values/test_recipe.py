"""A recipe makes the step that the techniques make when they are called by hand."""

from __future__ import annotations

from typing import Any

import pytest

import memlab
from memlab.pictures.values.step_recipe import StepRecipe, memory_of, network_of
from memlab.techniques.precision import MODES
from memlab.techniques.registry import applied

BATCH = 4


def test_the_techniques_come_in_their_order() -> None:
    network = network_of("mnist_cnn")
    given = applied("in_place"), applied("recompute", "every", k=2)
    made = StepRecipe(network, "adam", format="mixed fp16", uses=given).step()
    step = memlab.precision(memlab.training_step(network, "adam"), "mixed fp16")
    assert made == memlab.in_place(memlab.recompute(step, "every", k=2))


@pytest.mark.parametrize("name", ["bf16", "mixed fp16"])
def test_a_format_is_that_of_the_step_or_a_mode(name: str) -> None:
    network = network_of("mnist_cnn")
    if name in MODES and MODES[name].master:
        step = memlab.precision(memlab.training_step(network), name)
    else:
        step = memlab.training_step(network, format=name)
    assert StepRecipe(network, format=name).step() == step


def test_a_role_has_a_format_of_its_own() -> None:
    network = network_of("mnist_cnn")
    made = StepRecipe(network, roles=(("feature_map", "fp8_e5m2"),)).step()
    assert made == memlab.precision(memlab.training_step(network), feature_map="fp8_e5m2")


def test_states_in_8_bits_come_after_the_formats() -> None:
    network = network_of("mnist_cnn")
    made = StepRecipe(
        network, "adam", format="mixed bf16", uses=(applied("eight_bit_states"),)
    ).step()
    mixed = memlab.precision(memlab.training_step(network, "adam"), "mixed bf16")
    assert made == memlab.eight_bit_states(mixed)
    with pytest.raises(memlab.InputError, match="has no state in fp32"):
        StepRecipe(network, "sgd", uses=(applied("eight_bit_states"),)).step()


def test_a_budget_decides_at_a_batch() -> None:
    network = network_of("mnist_cnn")
    step = memlab.training_step(network)
    least = memlab.plan(memlab.recompute(step, "chain", batch=BATCH)).peak(BATCH)
    made = StepRecipe(
        network, uses=(applied("recompute", "chain", batch=BATCH, budget=least),)
    ).step()
    assert memlab.plan(made).peak(BATCH) <= least
    with pytest.raises(memlab.InputError, match="least"):
        StepRecipe(network, uses=(applied("recompute", "chain", batch=BATCH, budget=1000),)).step()


@pytest.mark.parametrize(
    "choice",
    [{"uses": (applied("in_place"),)}, {"optimizer": "adam"}, {"algorithm": "direct"}],
)
def test_every_choice_makes_a_memory_of_its_own(choice: dict[str, Any]) -> None:
    network = network_of("mnist_cnn")
    plain, other = memory_of(StepRecipe(network)), memory_of(StepRecipe(network, **choice))
    assert plain is not other
    assert memory_of(StepRecipe(network, **choice)) is other


def test_an_inference_has_no_optimizer() -> None:
    network = network_of("mnist_cnn")
    made = [memory_of(StepRecipe(network, name, training=False)) for name in ("sgd", "adam")]
    assert made[0] is made[1]


def test_a_memory_knows_its_step() -> None:
    recipe = StepRecipe(network_of("mnist_cnn"))
    step = recipe.step()
    assert memory_of(recipe).step == step
    assert memory_of(step).step is step
    assert memory_of(memlab.plan(step)).step is None
