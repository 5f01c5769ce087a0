"""The memory view in JupyterLab: keyboard, pointer, number box, buttons, accessibility."""

import pytest

import memlab
from tests.browser.live import ROOT, picture, sees, settled, state, wait

SOURCE = "view = memlab.views.memory({!r}, free=False{})\nview"


@pytest.fixture
def shown(open_view):
    """`shown("resnet50")` opens a notebook with that view and returns its page."""

    def opened(name, more=""):
        page = open_view(SOURCE.format(name, more))
        page.locator(f"{ROOT} .ml-picture svg").wait_for()
        page.wait_for_timeout(300)  # the width of the page has been sent and answered
        return page

    return opened


def text(page):
    return picture(page).text_content()


def test_keys_move_the_slider_and_each_draws_once(shown):
    page = shown("resnet50")
    slider = page.get_by_label("Batch (images)")
    assert slider.get_attribute("aria-valuetext") == "batch 32"
    page.evaluate(
        f"""() => {{ window.pictures = 0; new MutationObserver(() => window.pictures++)
            .observe(document.querySelector('{ROOT} .ml-picture'), {{childList: true}}); }}"""
    )
    slider.press("ArrowRight")
    settled(page, 6)
    page.wait_for_timeout(300)
    assert page.evaluate("window.pictures") == 1
    assert state(page)[:3] == ["resnet50", "64", "momentum"]
    assert slider.get_attribute("aria-valuetext") == "batch 64"
    assert page.get_by_label("Batch, any whole number").input_value() == "64"
    sees(page, "at every operation the mountain doubles")
    sees(page, "Peak 5.67 GB")


def test_the_axis_stays_while_the_slider_is_dragged(shown):
    page = shown("resnet50", ", detail='all'")
    box = page.get_by_label("Batch (images)").bounding_box()
    y, x = box["y"] + box["height"] / 2, box["x"]
    page.mouse.move(x + box["width"] * 5 / 9, y)
    page.mouse.down()
    page.mouse.move(x + box["width"] * 0.75, y, steps=4)
    settled(page, 7)
    assert "12.5 GB" in text(page)
    page.mouse.up()
    sees(page, "12.5 GB")
    assert state(page)[1] == "128"
    sees(page, "Batch 32 to 128")


def test_a_bad_number_gets_one_sentence(shown):
    page = shown("mnist_cnn")
    number = page.get_by_label("Batch, any whole number")
    status = page.locator(f"{ROOT} .ml-says")
    before = state(page)
    number.fill("-3")
    number.press("Enter")
    status.get_by_text("batch must be at least 1, got -3; try 1.").wait_for()
    assert status.get_attribute("role") == "status"
    assert state(page) == before
    number.fill("48")
    number.press("Enter")
    settled(page, 6)
    assert state(page)[1] == "48"
    assert status.inner_text() == ""
    page.get_by_label("Batch (images)").press("ArrowLeft")  # from between two stops
    settled(page, 5)
    assert state(page)[1] == "32"


def test_the_buttons_show_what_they_promise(shown):
    page = shown("mnist_cnn")
    page.get_by_role("button", name="Surprising").click()
    settled(page, 3)
    assert state(page)[:3] == ["vgg16", "8", "adam"]
    page.get_by_label("Batch (images)").press("ArrowLeft")
    sees(page, "The peak falls by 219 MB and moves to another operation.")
    assert state(page)[1] == "4"
    page.get_by_role("button", name="Break it").click()
    settled(page, 9)
    sees(page, "12 GB card: does not fit, at most batch")
    page.get_by_role("button", name="Start", exact=True).click()
    settled(page, 5)
    assert state(page)[0] == "mnist_cnn"
    assert not page.get_by_role("button", name="Copy link").count()  # a notebook has none
    page.get_by_role("button", name="Copy state").click()
    page.get_by_text("memlab.views.memory('mnist_cnn', batch=32").wait_for()


def test_what_more_hides_is_named_and_reached(shown):
    page = shown("vgg16")
    more = page.locator(f"{ROOT} summary")
    assert more.inner_text() == "More: momentum, training, fp32"
    assert not page.get_by_label("Optimizer", exact=True).is_visible()
    more.press("Enter")
    page.get_by_label("Optimizer", exact=True).select_option("adam")
    wait(page, "root.dataset.state.includes('adam')")
    assert more.inner_text() == "More: Adam, training, fp32"
    page.get_by_label("Counting rule (draws an outline)").select_option("cs231n")
    sees(page, "A counting rule changes no bar")


def test_mixed_precision_is_a_format(shown):
    page = shown("mnist_cnn")
    more = page.locator(f"{ROOT} summary")
    more.click()
    for name in ("mixed fp16", "mixed bf16"):
        page.get_by_label("Format", exact=True).select_option(name)
        sees(page, f"{name}, SGD with momentum, training")
        assert more.inner_text() == f"More: momentum, training, {name}"
        step = memlab.precision(memlab.training_step(memlab.zoo.build("mnist_cnn")), name)
        assert state(page)[3] == str(memlab.plan(step).peak(32))
    sees(page, "Now mixed bf16. Before: mixed fp16.")


def test_a_control_keeps_the_focus_when_others_appear(shown):
    page = shown("mnist_cnn")
    page.locator(f"{ROOT} summary").click()
    select = page.get_by_label("Network", exact=True)
    select.focus()
    select.select_option("resnet50")
    wait(page, "root.dataset.state.includes('resnet50')")
    assert page.get_by_label("Variant").is_visible()
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    assert page.evaluate("document.activeElement.value") == "resnet50"


def test_the_picture_has_keys_of_its_own(shown):
    page = shown("resnet50")
    picture(page).focus()
    page.keyboard.press("n")
    sees(page, "alive at operation 179")
    page.keyboard.press("Home")
    sees(page, "operation 1, forward")
    page.keyboard.press("ArrowRight")
    sees(page, "operation 2, forward")
    page.keyboard.press("p")
    sees(page, "operations of one step")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    sees(page, "The mountain of stage 1 by layer")
    page.keyboard.press("Escape")
    sees(page, "The mountain by stage")
    page.keyboard.press("ArrowUp")
    spoken = page.locator(f"{ROOT} .ml-quiet").first
    wait(page, "root.querySelector('.ml-quiet').textContent.includes('made by')")
    assert "needed by" in spoken.text_content()


def test_a_click_chooses_an_operation(shown):
    page = shown("mnist_cnn")
    box = picture(page).locator("[data-send=operation]").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 2.5 / 24, box["y"] + 40)
    sees(page, "operation 3, forward · pool1: ")


def test_the_text_is_one_button_away(shown):
    page = shown("mnist_cnn")
    button, twin = page.get_by_role("button", name="Text"), page.locator(f"{ROOT} .ml-text")
    assert not twin.is_visible()
    button.click()
    twin.get_by_text("MNIST CNN, batch 32").wait_for()
    assert twin.inner_text().startswith("MNIST CNN, batch 32")
    assert button.get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("name", ["resnet50", "mnist_cnn"])
def test_no_accessibility_finding(shown, findings, name):
    page = shown(name)
    page.locator(f"{ROOT} summary").click()
    page.get_by_role("button", name="Text").click()
    assert findings(page, ROOT) == []


def test_a_projector_gets_larger_type(shown):
    page = shown("mnist_cnn")
    larger = page.add_style_tag(content=f"{ROOT} {{ --memlab-scale: 1.8 }}")
    wait(page, "root.querySelector('svg').viewBox.baseVal.width < 900")
    page.wait_for_timeout(300)
    sizes = page.evaluate(
        f"""() => {{
            const svg = document.querySelector('{ROOT} svg');
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            const texts = [...svg.querySelectorAll('text')];
            return texts.map(text => scale * parseFloat(getComputedStyle(text).fontSize));
        }}"""
    )
    larger.evaluate("style => style.remove()")  # other tests are shown in the same tab
    assert min(sizes) >= 11 * 1.8 - 0.1


def test_drawn_texts_are_where_the_layout_says(shown):
    """The browser's own measure: no text leaves the picture, and none overlaps another."""
    page = shown("resnet50", ", detail='all'")
    boxes = page.evaluate(
        f"""() => [...document.querySelectorAll('{ROOT} svg text')].map(text => {{
            const box = text.getBBox();
            return [text.textContent, box.x, box.y, box.x + box.width, box.y + box.height];
        }})"""
    )
    wide = page.evaluate(f"() => document.querySelector('{ROOT} svg').viewBox.baseVal.width")
    assert len(boxes) > 80
    for content, left, _, right, _ in boxes:
        assert left >= -0.5, content
        assert right <= wide + 0.5, content


def test_any_setting_stands_in_front_and_changes_the_bytes(shown):
    """A step with other operations has the one before as its outline."""
    page = shown("resnet50", ", control=('in_place', 'recompute', 'k')")
    before = state(page)[3]
    page.get_by_label("In place", exact=True).check()
    sees(page, "Now in place. The peak falls by ")
    assert int(state(page)[3]) < int(before)
    page.get_by_label("Recompute", exact=True).select_option("every")
    sees(page, "Now recomputed, every k-th kept.")
    assert picture(page).locator("path.before").count() == 1
    page.get_by_label("k", exact=True).press("ArrowLeft")
    sees(page, "recomputed, k = 4")
    step = memlab.recompute(memlab.training_step(memlab.zoo.build("resnet50")), "every", k=4)
    assert state(page)[3] == str(memlab.plan(memlab.in_place(step)).peak(32))


def test_a_refused_combination_gets_one_sentence_and_the_picture_stays(shown):
    page = shown("mnist_cnn")
    page.locator(f"{ROOT} summary").click()
    page.get_by_label("Format", exact=True).select_option("fp16")
    sees(page, "Now fp16. Before: fp32.")
    before = state(page)
    page.get_by_label("Feature maps in").select_option("fp32")
    page.locator(f"{ROOT} .ml-says").get_by_text("leave out its format").wait_for()
    assert state(page) == before


def test_all_numbers_are_one_box_away(shown):
    page = shown("resnet50")
    assert "2,942,651,620" not in text(page)
    page.get_by_label("All numbers").check()
    sees(page, "2,942,651,620")
    page.get_by_label("All numbers").uncheck()
    wait(page, "!root.querySelector('.ml-picture').textContent.includes('2,942,651,620')")


def test_a_small_step_is_a_picture_of_lifetimes(shown):
    page = shown("linear1", ", batch=1, optimizer='sgd', control=('inputs', 'batch')")
    assert state(page)[3] == "28"
    page.get_by_label("Inputs", exact=True).press("ArrowRight")
    wait(page, "root.dataset.state.split('|')[3] !== '28'")
    step = memlab.training_step(memlab.zoo.linear1(features=2), "sgd")
    assert state(page)[3] == str(memlab.plan(step).peak(1))
    picture(page).focus()
    page.keyboard.press("ArrowDown")
    wait(page, "root.querySelector('.ml-quiet').textContent !== ''")
