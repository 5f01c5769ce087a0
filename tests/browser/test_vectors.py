"""Vectors in JupyterLab: batch, width and format change the bytes; keys walk."""

import pytest

import memlab
from memlab.step.tensor import Role

ROOT = ".memlab-view"


@pytest.fixture
def page_with_view(open_view):
    """A notebook with that view, opened."""
    page = open_view("memlab.views.vectors('resnet50')")
    slider(page).wait_for()
    return page


def slider(page):
    return page.locator(f"{ROOT} input[type=range]")


def settled(page, **wanted):
    """Wait until the view says that batch, bits and format; returns its idle lanes and bytes."""
    start = "|".join(map(str, wanted.values()))
    page.locator(f"{ROOT}[data-state^='{start}|']").wait_for()
    linear, convolution, nbytes = page.locator(ROOT).get_attribute("data-state").split("|")[-3:]
    return int(linear), int(convolution), int(nbytes)


def maps(batch, format="fp32"):
    """The most bytes of feature maps alive at once."""
    ledger = memlab.plan(memlab.training_step(memlab.zoo.resnet50(), format=format))
    found = [each for each in ledger.entries if each.role is Role.FEATURE_MAP]
    alive = range(len(ledger.rows))
    return max(sum(e.size.at(batch) for e in found if e.birth <= t <= e.death) for t in alive)


def test_batch_width_and_format_change_lanes_and_bytes(page_with_view):
    page = page_with_view
    assert settled(page, batch=1, bits=1024, format="fp32") == (31, 15, maps(1))
    slider(page).focus()
    page.keyboard.press("ArrowRight")
    assert settled(page, batch=2, bits=1024, format="fp32") == (30, 30, maps(2))
    page.get_by_label("Vector (bits)", exact=True).select_option("256")
    assert settled(page, batch=2, bits=256, format="fp32") == (6, 6, maps(2))
    page.get_by_label("Format", exact=True).select_option("fp16")
    assert settled(page, batch=2, bits=256, format="fp16") == (14, 14, maps(2, "fp16"))
    page.get_by_label("Batch, any whole number", exact=True).fill("33")
    page.keyboard.press("Enter")
    assert settled(page, batch=33, bits=256, format="fp16") == (15, 15, maps(33, "fp16"))
    page.get_by_role("button", name="Surprising").click()
    assert settled(page, batch=64, bits=1024, format="fp16") == (0, 0, maps(64, "fp16"))
    assert "Twice the images fill them" in page.locator(f"{ROOT} .ml-picture").text_content()


def test_keys_of_the_picture_walk_vectors_and_show_all_numbers(page_with_view):
    page = page_with_view
    page.locator(f"{ROOT} .ml-picture").focus()
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    words = "convolution, vector 2: columns 33 to 49 of image 1, 15 lanes idle"
    page.locator(f"{ROOT} .ml-tip", has_text=words).wait_for()
    page.keyboard.press("KeyN")
    page.get_by_text("84,508,160 B").first.wait_for()
    page.keyboard.press("ArrowRight")
    settled(page, batch=2, bits=1024, format="fp32")
