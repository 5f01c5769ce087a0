"""The shifted copies in JupyterLab: keyboard, pointer, the run for real, motion, accessibility."""

import pytest

from tests.browser.live import ROOT, picture, sees, settled, state, wait

SOURCE = "view = memlab.views.shifted_copies(free=False)\nview"


@pytest.fixture
def page_with_view(open_view):
    """A notebook with that view, opened."""
    page = open_view(SOURCE)
    slider(page).wait_for()
    page.wait_for_timeout(300)  # the width of the page has been sent and answered
    return page


def slider(page):
    return page.locator(f"{ROOT} input[type=range]").first


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def test_one_key_is_one_copy_and_one_picture(page_with_view):
    page = page_with_view
    slider(page).press("Home")
    settled(page, 0)
    sees(page, "Nothing is copied yet")
    page.evaluate(
        f"""() => {{ window.pictures = 0; new MutationObserver(() => window.pictures++)
            .observe(document.querySelector('{ROOT} .ml-picture'), {{childList: true}}); }}"""
    )
    for step in range(1, 6):
        slider(page).press("ArrowRight")
        settled(page, step)
    page.wait_for_timeout(300)
    assert page.evaluate("window.pictures") == 5
    sees(page, "8.22 GB")
    sees(page, "Copy 5 of 9: the unshifted picture")
    assert slider(page).get_attribute("aria-valuetext") == "5 of 9 copies written"
    assert state(page)[-2:] == ["5", "8220835840"]
    slider(page).press("End")
    settled(page, 9)
    sees(page, "3 × 3 makes 9 copies of the whole picture")


def test_the_picture_follows_the_controls(page_with_view):
    page = page_with_view
    kernel = page.get_by_label("Kernel", exact=True)
    kernel.focus()
    kernel.select_option("7")
    settled(page, 49)
    assert slider(page).get_attribute("max") == "49"
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    more = page.locator(f"{ROOT} summary")
    assert more.inner_text() == "More: VGG-16 conv1_2 with other settings, batch 128, same padding"
    page.get_by_label("Lowered", exact=True).select_option("im2col-tile")
    sees(page, "this bar is too small to see")
    more.press("Enter")
    page.get_by_label("Layer", exact=True).select_option("resnet50/1.2.conv1")
    wait(page, "root.dataset.state.startsWith('resnet50.1.2.conv1|1|1|same')")
    page.get_by_label("All numbers").check()
    press(page, "Surprising")
    settled(page, 9)
    sees(page, "121 values + 23 zeros = 144 = 2.25 × 64")
    sees(page, "put together")
    press(page, "1 × 1")
    settled(page, 0)
    sees(page, "0 B")
    press(page, "Start")
    wait(page, "root.dataset.state === 'vgg16.conv1_2|3|1|same|128|im2col-batch|9|14797504512'")


def test_a_copy_is_written_for_real(page_with_view):
    page = page_with_view
    press(page, "Write 1 image for real")
    sees(page, "residual 0 B")
    drawn = picture(page).text_content()
    assert drawn.count("115,605,504 B") == 2
    status = page.locator(f"{ROOT} .ml-says")
    said = status.inner_text()
    assert said.startswith("1 image was written here in ")
    assert "ms: planned 115,605,504 B, measured 115,605,504 B, residual 0 B." in said
    button = page.get_by_role("button", name="Write 1 image for real", exact=True)
    button.wait_for()
    assert button.get_attribute("aria-disabled") is None
    page.get_by_label("Lowered", exact=True).select_option("direct")
    settled(page, 0)
    button.click()
    status.get_by_text("0 B: nothing to write").wait_for()


def test_pins_by_keyboard(page_with_view):
    page = page_with_view
    picture(page).focus()
    page.keyboard.press("ArrowRight")
    sees(page, "This pixel (row 5, column 5) is in 9 copies.")
    for _ in range(4):
        page.keyboard.press("ArrowUp")
    sees(page, "This pixel (row 1, column 5) is in 6 copies.")
    page.keyboard.press("Home")
    sees(page, "This pixel (row 1, column 1) is in 4 copies.")
    page.keyboard.press("Enter")
    sees(page, "Output place 1 (row 1, column 1)")
    sees(page, "4 values and 5 zeros.")
    wait(page, "root.querySelector('.ml-quiet').textContent.includes('column 1 of the matrix')")
    page.keyboard.press("Escape")
    wait(page, "!root.querySelector('.ml-picture').textContent.includes('Output place')")


def test_pins_by_click(page_with_view):
    page = page_with_view

    def click(send, across, nth=0):
        target = picture(page).locator(f"[data-send={send}]").nth(nth)
        box = target.bounding_box()
        target.click(position={"x": box["width"] * across, "y": box["height"] / 2})

    click('pixel][data-value="19"', 0.5)
    sees(page, "This pixel (row 3, column 4) is in 9 copies.")
    click("places-1", (9 + 2.5) / 26, nth=1)  # the copy in the middle
    sees(page, "Output place 11 (row 2, column 3)")
    click("column", 8.5 / 64)
    sees(page, "Output place 9 (row 2, column 1)")


def test_a_copy_slides_to_its_place_unless_motion_is_unwanted(page_with_view):
    page = page_with_view
    name = f"getComputedStyle(document.querySelector('{ROOT} .print')).animationName"
    for motion, animation in (("no-preference", "memlab-fly"), ("reduce", "none")):
        page.emulate_media(reduced_motion=motion)
        slider(page).press("Home")
        settled(page, 0)
        slider(page).press("ArrowRight")
        settled(page, 1)
        assert page.evaluate(name) == animation
    opacity = f"getComputedStyle(document.querySelector('{ROOT} .print')).opacity"
    assert page.evaluate(opacity) == "0"


@pytest.mark.parametrize("name", ["Light", "Dark"])
def test_no_accessibility_finding(page_with_view, findings, theme, name):
    page = page_with_view
    theme(name)
    page.locator(f"{ROOT} summary").click()
    page.get_by_role("button", name="Text").click()
    wait(page, "root.querySelector('.ml-text').textContent.startsWith('VGG-16 conv1_2: 3 × 3')")
    assert findings(page, ROOT) == []


def test_the_colours_follow_the_theme(page_with_view, theme):
    found = {}
    for name in ("Light", "Dark"):
        theme(name)
        drawn = f"getComputedStyle(document.querySelector('{ROOT} .on-run')).stroke"
        found[name] = page_with_view.evaluate(drawn)
    assert found == {"Light": "rgb(0, 114, 178)", "Dark": "rgb(86, 180, 233)"}


@pytest.mark.parametrize("width", [640, 1300])
def test_drawn_texts_are_where_the_layout_says(page_with_view, width):
    """The browser's own measure: no text leaves the picture."""
    page = page_with_view
    page.set_viewport_size({"width": width, "height": 900})
    wait(page, "(root.querySelector('svg').viewBox.baseVal.width < 660) === value", width < 1000)
    boxes = page.evaluate(
        f"""() => [...document.querySelectorAll('{ROOT} svg text')].map(text => {{
            const box = text.getBBox();
            return [text.textContent, box.x, box.x + box.width];
        }})"""
    )
    wide = page.evaluate(f"() => document.querySelector('{ROOT} svg').viewBox.baseVal.width")
    assert len(boxes) > 10
    for content, left, right in boxes:
        assert left >= -0.5, content
        assert right <= wide + 0.5, content
