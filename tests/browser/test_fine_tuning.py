"""Fine-tuning in JupyterLab: controls change bytes, keys walk rows and parts, in both themes."""

import pytest

import memlab
from memlab.networks.language_models import find

ROOT = ".memlab-view"


@pytest.fixture
def page_with_view(open_view):
    """A notebook with that view, opened."""
    page = open_view("memlab.views.fine_tuning('gpt_small', 2, 128)")
    page.locator(f"{ROOT} svg").wait_for()
    return page


def peaks(rank, length):
    """Peaks of the three ways, from their plans."""
    whole = find("gpt_small").network(length, "fused")
    adapted = memlab.lora(whole, rank)
    steps = (
        memlab.training_step(whole, "adam"),
        memlab.training_step(adapted, "adam"),
        memlab.training_step(adapted, "adam", eight_bit_base=True),
    )
    return "|".join(str(memlab.plan(step).peak(2)) for step in steps)


def settled(page, rank, length):
    state = f"gpt_small|2|{length}|{rank}|q and v|True|{peaks(rank, length)}"
    page.locator(f"{ROOT}[data-state='{state}']").wait_for()


def test_controls_change_the_bytes(page_with_view):
    page = page_with_view
    settled(page, 16, 128)
    page.get_by_label("Rank", exact=True).select_option("64")
    settled(page, 64, 128)
    box = page.get_by_label("Length, any whole number", exact=True)
    box.fill("300")
    box.press("Enter")
    settled(page, 64, 300)


def test_keys_walk_rows_and_parts_and_show_all_numbers(page_with_view, findings, theme):
    page = page_with_view
    page.locator(f"{ROOT} .ml-picture").focus()
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    page.locator(f"{ROOT} .ml-tip", has_text="LoRA, parameters").wait_for()
    page.keyboard.press("KeyN")
    page.locator(f"{ROOT} svg", has_text="; peak").wait_for()
    for name in ("Light", "Dark"):
        theme(name)
        assert findings(page, ROOT) == []
