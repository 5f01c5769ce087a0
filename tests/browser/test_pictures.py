"""The page of `memlab plan --picture out.html` in Chromium: a slider that needs no kernel."""

import pytest

from memlab import views
from memlab.pictures.draw.files import drawn

SHOWN = """() => [...document.querySelectorAll("main > div")]
    .filter((frame) => !frame.hidden).map((frame) => frame.dataset.says)"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The page of a small network at batch 8."""
    path = tmp_path_factory.mktemp("picture") / "out.html"
    path.write_bytes(drawn(views.memory("mnist_cnn", 8, free=False), "html"))
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_native_slider_moves_through_the_batches(browser, file, findings, scheme):
    context = browser.new_context(offline=True, color_scheme=scheme)
    tab, seen = context.new_page(), []
    tab.on("request", lambda request: seen.append(request.url))
    tab.on("pageerror", lambda error: seen.append(str(error)))
    tab.goto(file.as_uri())
    assert tab.evaluate(SHOWN) == ["batch 8"]
    slider = tab.get_by_role("slider", name="Batch (images)")
    slider.press("ArrowRight")
    assert tab.evaluate(SHOWN) == ["batch 16"]
    assert (
        slider.get_attribute("aria-valuetext") == tab.locator("output").inner_text() == "batch 16"
    )
    slider.press("Home")
    assert tab.evaluate(SHOWN) == ["batch 1"]
    page = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert page == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 17, 17)"}[scheme]
    assert findings(tab, "body") == []
    assert seen == [file.as_uri()]
    context.close()


def test_without_scripts_the_picture_of_the_plan_is_there(browser, file):
    context = browser.new_context(java_script_enabled=False, offline=True)
    tab = context.new_page()
    tab.goto(file.as_uri())
    assert tab.locator("svg:visible").count() == 1
    assert "batch 8" in tab.locator("svg:visible").text_content()
    context.close()
