"""The settings of views as traits in JupyterLab: linked with widgets and with each other."""

import time

from tests.browser.live import ROOT, wait

HANDLE, READOUT = ".widget-slider [role='slider']", ".widget-slider .widget-readout"
SLIDER = """
from IPython.display import display
import ipywidgets, memlab
slider, seen = ipywidgets.IntSlider(32, 1, 512), ipywidgets.Label()
view = memlab.views.memory("mnist_cnn", free=False)
ipywidgets.link((slider, "value"), (view, "batch"))

def heard(change):
    seen.value += f"{change.name} {change.new};"

view.observe(heard, "batch")
display(slider, seen, view)
"""
TWO = """
from IPython.display import display
import ipywidgets, memlab
one, two = memlab.views.memory("mnist_cnn"), memlab.views.memory("linear1")
ipywidgets.jslink((one, "batch"), (two, "batch"))
display(one, two)
"""
BOX = """
from IPython.display import display
import ipywidgets, memlab
box, view = ipywidgets.IntText(32), memlab.views.memory("mnist_cnn", free=False)
ipywidgets.jslink((box, "value"), (view, "batch"))
display(box, view)
"""


def batch(page, number):
    """Wait until the picture shows so many samples."""
    wait(page, "root.dataset.state.split('|')[1] === String(value)", number)


def test_a_slider_moves_the_picture_and_a_view_the_slider(open_shared):
    page = open_shared(SLIDER)
    page.locator(HANDLE).press("ArrowRight")
    batch(page, 33)
    page.locator(f"{ROOT} input[type=range]").first.press("ArrowRight")
    batch(page, 64)
    page.wait_for_function(f'document.querySelector("{READOUT}").textContent.trim() === "64"')
    heard = page.locator(".widget-label", has_text="batch").text_content()
    assert heard == "batch 33;batch 64;"


def test_a_hundred_changes_in_a_second_end_at_the_last_one(open_shared):
    page = open_shared(SLIDER)
    box = page.locator(".widget-slider .noUi-base").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 20, y)
    page.mouse.down()
    start = time.monotonic()
    for move in range(100):
        page.mouse.move(box["x"] + 20 + move, y)
        time.sleep(max(start + move / 100 - time.monotonic(), 0))
    moved = time.monotonic()
    last = page.locator(READOUT).text_content().strip()
    batch(page, last)
    assert time.monotonic() - moved < 1
    page.mouse.up()
    page.wait_for_timeout(500)
    batch(page, last)


def test_two_linked_views_move_together(open_shared):
    page = open_shared(TWO)
    page.wait_for_function(f"document.querySelectorAll('{ROOT}').length === 2")
    for turn, number in ((0, 64), (1, 128)):
        page.locator(ROOT).nth(turn).locator("input[type=range]").first.press("ArrowRight")
        for other in range(2):
            page.wait_for_function(
                "([css, at, number]) => document.querySelectorAll(css)[at]"
                ".dataset.state.split('|')[1] === number",
                arg=[ROOT, other, str(number)],
            )


def test_what_is_refused_is_said_and_goes_back_where_it_came_from(open_shared):
    page = open_shared(BOX)
    field = page.locator(".widget-text input")
    field.fill("0")
    field.press("Enter")
    says = "batch must be at least 1, got 0; try 1."
    wait(page, "root.querySelector('.ml-error')?.textContent === value", says)
    page.wait_for_function("document.querySelector('.widget-text input').value === '32'")
    batch(page, 32)
    field.fill("48")
    field.press("Enter")
    batch(page, 48)
    wait(page, "!root.querySelector('.ml-error')")
