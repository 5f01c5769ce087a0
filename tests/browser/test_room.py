"""The room of views in JupyterLab, where the focus is, and what a pointer drags."""

import pytest

from tests.browser.live import ROOT

MIB = 2**20
WIDE = {"width": 1920, "height": 1080}
DARK = """() => {
    const slider = document.querySelector(".memlab-view input[type=range]");
    return getComputedStyle(slider).colorScheme;
}"""
RING = """() => {
    const node = document.activeElement, own = node.getBoundingClientRect();
    const { outlineWidth, outlineOffset } = getComputedStyle(node);
    const out = parseFloat(outlineWidth) + parseFloat(outlineOffset);
    let frame = node;
    while ((frame = frame.parentElement)) {
        const cuts = getComputedStyle(frame).overflowX !== "visible";
        if (cuts && frame.getBoundingClientRect().left > own.left - out) return frame.className;
    }
    return "";
}"""
"""What cuts off the ring of the focused control on its left."""


def stills(page, css):
    """The bounding boxes, once views are drawn for the room that they have."""
    page.wait_for_timeout(800)
    return [node.bounding_box() for node in page.locator(css).all()]


def test_two_views_in_a_row_are_both_seen_and_used(open_cells):
    page = open_cells(
        "import memlab\nfrom ipywidgets import HBox\n"
        "HBox([memlab.views.memory('mnist_cnn'), memlab.views.number()])"
    )
    frame = page.locator(".jp-OutputArea-output").bounding_box()
    boxes = stills(page, ROOT)
    assert len(boxes) == 2
    for box in boxes:
        assert box["width"] > 400
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
    right = page.locator(ROOT).nth(1)
    before = right.get_attribute("data-state")
    right.get_by_label("Format").select_option("bf16")
    page.wait_for_function(
        f"was => document.querySelectorAll('{ROOT}')[1].dataset.state !== was", arg=before
    )


def test_a_view_is_as_wide_as_a_large_screen_where_its_picture_can(open_cells):
    page = open_cells("import memlab\nmemlab.views.memory('mnist_cnn')", "memlab.views.number()")
    page.set_viewport_size(WIDE)
    wide, narrow = stills(page, f"{ROOT} svg")
    assert wide["width"] > 1300
    assert narrow["width"] < 1000  # a row of bits needs no more


@pytest.mark.parametrize("name", ["Light", "Dark"])
def test_a_slider_has_its_ring_and_the_colours_of_the_theme(open_cells, theme, name):
    page = open_cells("import memlab\nmemlab.views.shifted_copies()")
    theme(name)
    slider = page.locator(f"{ROOT} input[type=range]").first
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(RING) == ""
    assert (page.evaluate(DARK) == "dark") == (name == "Dark")


def test_move_mode_takes_the_focus_to_the_picture(open_cells):
    page = open_cells("import memlab\nmemlab.views.addresses(how='birth')")
    page.get_by_role("button", name="Move mode", exact=True).press("Enter")
    page.locator(f"{ROOT} .ml-picture:focus").wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.locator(f"{ROOT}[data-state*='by hand']").wait_for()


def test_blocks_are_dragged_up_and_down(open_cells):
    page = open_cells("import memlab\nview = memlab.views.addresses(how='birth')\nview")
    page.get_by_role("button", name="Move mode", exact=True).click()
    block = page.locator(f"{ROOT} [data-lift][data-value=E]")
    block.wait_for()
    at, box = int(block.get_attribute("data-at")), block.bounding_box()
    assert at >= 3 * MIB
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    per = float(block.get_attribute("data-per"))
    page.mouse.move(x, y)
    page.mouse.down()
    for share in (0.3, 0.6, 1):
        page.mouse.move(x, y + share * 2 * MIB / per)
        page.wait_for_timeout(100)
    page.mouse.up()
    page.locator(f"{ROOT} [data-lift][data-value=E][data-at='{at - 2 * MIB}']").wait_for()
    page.keyboard.press("ArrowUp")  # the focus is in the picture
    page.locator(f"{ROOT} [data-lift][data-value=E][data-at='{at - MIB}']").wait_for()
