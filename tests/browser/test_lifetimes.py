"""Lifetimes in JupyterLab: keys and presses say why a block must stay; a control changes bytes."""

import pytest

TINY = """view = memlab.views.memory(
    memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error(),
    8, "sgd", control=("in_place", "batch"), networks=(), free=False)
view"""
PICTURE = ".memlab-view .ml-picture"


@pytest.fixture
def page(open_view):
    page = open_view(TINY)
    page.locator(f"{PICTURE} svg").wait_for()
    page.wait_for_timeout(300)  # the width of the page has been sent and answered
    return page


def sees(page, words):
    """Wait until the picture says so."""
    page.wait_for_function(
        "([css, words]) => document.querySelector(css).textContent.includes(words)",
        arg=[PICTURE, words],
    )


def test_keys_walk_through_operations_and_blocks(page):
    sees(page, "Backward of relu1 needs 3 blocks of 128 B at once: the peak, 628 B")
    picture = page.locator(PICTURE)
    picture.press("ArrowLeft")
    sees(page, "Backward of fc2: 11 blocks are alive, 564 B")
    picture.press("KeyP")
    sees(page, "the peak, 628 B")
    picture.press("ArrowDown")
    sees(page, "w1 must stay: the update of fc1 changes it")
    for _ in range(4):
        picture.press("ArrowDown")
    sees(page, "x must stay: backward of fc1 multiplies by x")
    picture.press("Escape")
    sees(page, "the peak, 628 B")


def test_a_press_on_a_bar_says_why_and_one_on_a_pile_moves_the_frame(page):
    bar = page.locator(f"{PICTURE} [data-value='block:relu1'] rect").first
    bar.click(position={"x": 60, "y": 5})
    sees(page, "relu1 must stay: backward of relu1 checks where it is above 0")
    for _ in range(2):  # the first closes what the pointer shows
        page.locator(PICTURE).press("Escape")
    sees(page, "the peak, 628 B")
    piles = page.locator(f"{PICTURE} [data-send='operation']").last
    box = piles.bounding_box()  # its size; where it stands may still move
    piles.click(position={"x": box["width"] * 0.15, "y": box["height"] / 2})
    sees(page, "relu1: 8 blocks are alive, 520 B")


def test_in_place_is_seen_to_move_the_peak(page):
    page.get_by_label("In place").check()
    sees(page, "In place: 628 B, now 564 B. The peak has moved")
    sees(page, "in the block of fc1")
    page.get_by_label("In place").uncheck()
    sees(page, "Not in place: 564 B, now 628 B")
