"""Formats by role in JupyterLab: a select changes the bytes, a refusal is a sentence, keys walk."""

import pytest

import memlab
from memlab.step.tensor import Role

ROOT = ".memlab-view"
STATE = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)


@pytest.fixture
def page_with_view(open_view):
    """A notebook with that view, opened."""
    page = open_view("memlab.views.precision('mnist_cnn', 8)")
    page.locator(f"{ROOT} svg").wait_for()
    return page


def state(make):
    """Bytes of the model state of a step, from its plan."""
    step = make(memlab.training_step(memlab.zoo.mnist_cnn(), "adam"))
    return sum(e.size.at(8) for e in memlab.plan(step).entries if e.role in STATE)


def settled(page, row, nbytes):
    page.locator(f"{ROOT}[data-state^='mnist_cnn|8|{row}|{nbytes}|']").wait_for()


def choose(page, label, value):
    page.get_by_label(label, exact=True).select_option(value)


def mixed(step, **roles):
    return memlab.precision(step, "mixed fp16", **roles)


def test_a_role_changes_the_bytes_and_what_is_refused_is_said(page_with_view):
    page = page_with_view
    settled(page, "mixed fp16", state(mixed))
    choose(page, "Gradients", "fp32")
    settled(page, "yours", state(lambda step: mixed(step, parameter_gradient="fp32")))
    choose(page, "Gradients", "fp16")
    choose(page, "Optimizer state", "8 bits")
    small = state(lambda step: memlab.eight_bit_states(mixed(step)))
    settled(page, "yours", small)
    choose(page, "Parameters", "fp32")
    page.locator(f"{ROOT} .ml-says", has_text="got parameters in fp32; try no copy").wait_for()
    assert page.get_by_label("Parameters", exact=True).input_value() == "fp16"
    settled(page, "yours", small)
    choose(page, "Start from", "bf16")
    settled(page, "bf16", state(lambda step: memlab.precision(step, "bf16")))
    assert page.get_by_label("Optimizer state", exact=True).input_value() == "bf16"


def test_keys_walk_rows_and_roles_and_show_all_numbers(page_with_view, findings, theme):
    page = page_with_view
    page.locator(f"{ROOT} .ml-picture").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    words = "mixed fp16, gradients: 2 B of one parameter, fp16"
    page.locator(f"{ROOT} .ml-tip", has_text=words).wait_for()
    page.keyboard.press("KeyN")
    page.locator(f"{ROOT} svg", has_text="peak of the step").wait_for()
    for name in ("Light", "Dark"):
        theme(name)
        assert findings(page, ROOT) == []
