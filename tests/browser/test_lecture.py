"""The lecture file in Chromium, from disk and without a network: every scene, every key."""

import re
from itertools import combinations

import pytest

from memlab.course.lecture import slides
from memlab.course.lecture.page import SHORT, html
from memlab.course.lecture.scenes import scenes
from memlab.course.lecture.slides import RecordedCopy
from memlab.pictures.shifted_copies import small_picture as windows
from memlab.pictures.shifted_copies.lowering import amount

RECORDED = RecordedCopy(115_605_504, 115_605_504, 0.0093, "Linux x86_64, 2 cores, 2026-11-21")
STATE = "() => decodeURIComponent(location.hash.slice(1))"
GO = """state => new Promise(done => {
    if (location.hash === "#" + state) return done();
    addEventListener("hashchange", () => setTimeout(done), { once: true });
    location.hash = state;
})"""
TEXTS = """() => [...document.querySelectorAll("section.here text")]
    .filter(text => text.textContent.trim())
    .map(text => {
        const box = text.getBoundingClientRect(), style = getComputedStyle(text);
        return { text: text.textContent, left: box.left, top: box.top, right: box.right,
                 bottom: box.bottom, size: parseFloat(style.fontSize), fill: style.fill };
    })
    .filter(text => text.right > text.left)"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The page on disk, with a recorded run."""
    path = tmp_path_factory.mktemp("lecture") / "k2.html"
    path.write_text(html(RECORDED), encoding="utf-8")
    return path


def opener(browser, file, **how):
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True, **how)
    tab, seen = context.new_page(), []
    tab.on("request", lambda request: seen.append(request.url))
    tab.on("pageerror", lambda error: seen.append(str(error)))
    tab.on("console", lambda message: seen.append(message.text))

    def opened(state=""):
        tab.goto("about:blank")
        tab.goto(f"{file.as_uri()}{state and '#' + state}")
        return tab

    yield opened
    context.close()
    assert {one.partition("#")[0] for one in seen} <= {file.as_uri(), "about:blank"}


@pytest.fixture
def lecture(browser, file):
    """`lecture("4.9")` opens the page there, offline and without motion."""
    yield from opener(browser, file, reduced_motion="reduce")


@pytest.fixture
def moving(browser, file):
    """The same with motion."""
    yield from opener(browser, file)


def state(tab):
    return tab.evaluate(STATE)


def press(tab, *keys):
    for key in keys:
        tab.keyboard.press(key)
    return state(tab)


def texts(tab):
    return [found["text"] for found in tab.evaluate(TEXTS)]


def every_stop():
    """Scene and step of everything that the key for the next one comes to."""
    for number, scene in enumerate(scenes(RECORDED), 1):
        for stop in scene.stops or range(len(scene.slides)):
            yield f"{number}.{stop}"


def every_step():
    for number, scene in enumerate(scenes(RECORDED), 1):
        yield from (f"{number}.{step}" for step in range(len(scene.slides)))


BENCH = [f"sheet=bench&k={one.k}&stride={one.stride}&pad={one.pad}" for one in windows.every()]


# -- keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forth", "back"),
    [("PageDown", "PageUp"), ("Space", "ArrowLeft"), ("ArrowRight", "PageUp"), ("Enter", "PageUp")],
)
def test_one_key_goes_through_every_scene_and_one_back(lecture, forth, back):
    tab, stops = lecture(), list(every_stop())
    seen = [state(tab)]
    while len(seen) < 99 and press(tab, forth) != seen[-1]:
        seen.append(state(tab))
    # from its fourth copy on scene 4 runs by itself, and a key jumps to the last copy
    alone = [stop for stop in stops if re.fullmatch(r"4\.[4-7]", stop)]
    assert seen == [stop for stop in stops if stop not in alone]
    before = [press(tab, back) for _ in stops[1:]]
    assert before == stops[-2::-1]
    assert press(tab, back) == stops[0]


def test_a_key_is_known_by_its_place_on_the_keyboard(lecture):
    tab = lecture()
    event = r"() => dispatchEvent(new KeyboardEvent('keydown', {code: 'KeyT', key: '\u0435'}))"
    tab.evaluate(event)
    assert state(tab) == "1.0&text"


def test_the_first_key_needs_no_click(lecture):
    tab = lecture()
    assert tab.evaluate("document.hasFocus() && document.activeElement === document.body")


def test_the_short_form_has_six_scenes(lecture):
    tab = lecture()
    press(tab, "m")
    seen = set()
    for _ in every_stop():
        seen.add(int(press(tab, "PageDown").split(".")[0]))
    names = [scenes()[number - 1].name for number in sorted(seen | {1})]
    assert tuple(names) == SHORT


def test_k_stride_padding_and_batch_have_keys(lecture):
    tab = lecture("6.1")
    assert press(tab, "5") == "6.1&sheet=bench&k=5"
    assert "41.10 GB" in texts(tab)
    assert press(tab, "s") == "6.1&sheet=bench&k=5&stride=2"
    assert press(tab, "p") == "6.1&sheet=bench&k=5&stride=2&pad=none"
    assert press(tab, "ArrowDown", "ArrowDown") == "6.1&sheet=bench&k=5&stride=2&pad=none&batch=32"
    assert press(tab, "p", "s", "7", "ArrowUp", "ArrowUp") == "6.1&sheet=bench&k=7"
    assert "80.56 GB" in texts(tab)
    assert "12 GB card: at most batch 19" in texts(tab)
    assert press(tab, "ArrowUp") == "6.1&sheet=bench&k=7"
    assert press(tab, "1") == "6.1&sheet=bench&k=1"
    assert "not made: it is the input" in texts(tab)
    assert press(tab, "PageDown") == "6.1&k=1"
    assert press(tab, "PageDown") == "7.0&k=1"


def test_the_batch_doubles_in_scene_8(lecture):
    tab = lecture("8.0")
    assert [press(tab, "ArrowUp") for _ in range(8)][-2:] == ["8.7", "8.7"]
    assert press(tab, "ArrowDown") == "8.6"
    assert press(tab, "PageDown") == "8.7"
    assert press(tab, "PageUp") == "8.6"


def test_a_vote_is_counted_drawn_and_kept(lecture):
    tab = lecture("3.1")
    press(tab, "v")
    assert state(tab) == "1.0"
    assert "Vote: A B C D" in texts(tab)
    press(tab, "a", "b", "b", "c", "Shift+B", "d", "1", "4")
    assert "D = 14" in texts(tab)
    assert press(tab, "Enter") == "1.0&votes=1,1,1,14"
    assert {"1 vote", "14 votes"} <= set(texts(tab))
    bars = "() => [...document.querySelectorAll('[data-bar]')].map(b => b.getBBox().width)"
    widths = tab.evaluate(bars)
    assert widths[3] == pytest.approx(14 * widths[0])
    press(tab, "b", "9", "Backspace", "3", "Enter", "PageDown")
    assert state(tab) == "2.0&votes=1,3,1,14"
    tab.reload()
    assert state(tab) == "2.0&votes=1,3,1,14"
    tab = lecture("8.7&votes=1,3,1,14")
    assert {"A: 1", "B: 3", "C: 1", "D: 14, 9 pages away →"} <= set(texts(tab))
    assert press(tab, "0") == "1.0&votes=1,3,1,14"
    assert press(tab, "Shift+0") == "1.0"


PASTE = """text => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    const how = { clipboardData: data, bubbles: true, cancelable: true };
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", how));
}"""
ROOM = "9 times\n9, 3; 27\nx3 3\n8.9\n2,5\n1,1,.5\nno idea\n200"
COUNTED = "guesses=9,9,3,27,3,3,8.9,2.5,1,1,0.5,200"


def columns(tab):
    """The number above each column, and its height."""
    return tab.evaluate("""() => [...document.querySelectorAll("[data-guesses]")].map(text => [
        Number(text.textContent),
        Number(document.querySelector(`[data-column="${text.dataset.guesses}"]`)
            .getAttribute("height"))])""")


def test_numbers_of_the_room_become_columns_and_a_key_shows_the_truth(lecture):
    tab = lecture("4.2")
    tab.evaluate(PASTE, ROOM)
    assert state(tab) == f"4.2&{COUNTED}&sheet=room"
    numbers, heights = zip(*columns(tab), strict=True)
    assert numbers == (1, 2, 4, 3, 0, 1, 0, 1)
    assert heights == tuple(round(368 * n / 4) for n in numbers)
    assert "12 guesses." in texts(tab)
    assert "9 ×" not in texts(tab)
    assert press(tab, "PageDown") == f"4.2&{COUNTED}&sheet=room&told"
    assert {"9 ×", "3 of 12 are right: 9 ×."} <= set(texts(tab))
    truth = tab.locator(".truth").bounding_box()
    column = tab.locator('[data-column="3"]').bounding_box()
    assert column["x"] < truth["x"] < column["x"] + column["width"]
    tab.reload()
    assert state(tab) == f"4.2&{COUNTED}&sheet=room&told"
    assert press(tab, "PageUp") == f"4.2&{COUNTED}&sheet=room"
    assert press(tab, "PageUp") == f"4.2&{COUNTED}"
    assert press(tab, "Shift+0") == "1.0"


def test_numbers_are_typed_where_nothing_can_be_pasted(lecture):
    tab = lecture()
    assert press(tab, "g") == "1.0&sheet=room"
    assert "Paste the numbers that the room guessed." in texts(tab)
    assert press(tab, "PageDown") == "1.0"
    press(tab, "g")
    tab.locator("#pasted").click()
    tab.keyboard.type("9 3 b")
    assert press(tab, "Enter") == "1.0&guesses=9,3&sheet=room"
    assert tab.locator("#pasted").input_value() == ""
    assert press(tab, "PageDown") == "1.0&guesses=9,3&sheet=room&told"
    assert press(tab, "PageDown") == "1.0&guesses=9,3&told"


def test_counts_are_pasted_while_voting(lecture):
    tab = lecture()
    press(tab, "v")
    tab.evaluate(PASTE, "12 30 45")
    assert state(tab) == "1.0"
    tab.evaluate(PASTE, "12\t30\t45\t7")
    assert state(tab) == "1.0&votes=12,30,45,7"


def test_the_real_run_is_marked_as_recorded(lecture):
    tab = lecture("10.1")
    assert press(tab, "r") == "10.1&sheet=run"
    shown = texts(tab)
    assert f"recorded: {RECORDED.where}" in shown
    assert {"measured 115,605,504 B", "residual 0 B", "9.3 ms"} <= set(shown)
    assert press(tab, "r") == "10.1"
    assert any(RECORDED.where in text for text in texts(tab))


PANELS = {"t": "text", "n": "notes"}


@pytest.mark.parametrize("keys", ["rt", "rn", "tn", "rtn", "5tn"])
def test_the_picture_the_text_and_the_notes_lie_beside_each_other(lecture, keys):
    tab = lecture("5.0")
    press(tab, *keys)
    found = ("section.here", *(f"#{name}" for key, name in PANELS.items() if key in keys))
    boxes = [tab.locator(css).bounding_box() for css in found]
    assert all(boxes)
    for one, other in combinations(boxes, 2):
        assert one["y"] + one["height"] <= other["y"] + 1
    assert all(box["height"] > 60 for box in boxes)
    assert boxes[-1]["y"] + boxes[-1]["height"] <= tab.viewport_size["height"] + 1


def test_panels_open_and_close(lecture):
    tab = lecture("4.4")
    for key, id in (("t", "text"), ("n", "notes"), ("?", "help"), (".", "blank"), ("b", "blank")):
        assert not tab.locator(f"#{id}").is_visible()
        press(tab, key)
        assert tab.locator(f"#{id}").is_visible()
        press(tab, key)
        assert not tab.locator(f"#{id}").is_visible()
    press(tab, "f")
    tab.wait_for_function("document.fullscreenElement")
    press(tab, "f")
    tab.wait_for_function("!document.fullscreenElement")


@pytest.mark.parametrize("extra", ["", "&text"])
def test_notes_cover_no_text_of_the_picture(lecture, extra):
    tab = lecture("4.4")
    press(tab, "n")
    panel = tab.locator("#notes").bounding_box()
    for number in range(1, len(scenes()) + 1):
        tab.evaluate(GO, f"{number}.0&notes")
        found = tab.evaluate(TEXTS)
        assert max(text["bottom"] for text in found) <= panel["y"] + 1
        assert min(text["top"] for text in found) >= 0
    tab.evaluate(GO, f"9.0&notes{extra}")
    title = tab.evaluate(TEXTS)[0]
    assert extra == "" or title["bottom"] < tab.locator("#text").bounding_box()["y"]


@pytest.mark.parametrize("where", ["5.0", "5.0&sheet=bench", "2.3&sheet=bench&k=7&pad=none"])
@pytest.mark.parametrize("pixel", [0, 3, 27])
def test_a_click_on_a_pixel_finds_all_its_copies(lecture, where, pixel):
    tab = lecture(where)
    chosen = windows.lower(*((7, 1, "none") if "k=7" in where else (3,)))
    cell, left, top = (8, 64, 110) if "bench" in where else (16, 64, 244)
    row, column = divmod(pixel, 8)
    tab.mouse.click(left + (column + 0.5) * cell, top + (row + 0.5) * cell)
    assert f"pin=pixel-{pixel}" in state(tab)
    count = chosen.counts(len(chosen.copies))[pixel]
    assert f"This pixel is in {count} cop{'ies' if count > 1 else 'y'}" in texts(tab)
    tab.mouse.click(left + (column + 0.5) * cell, top + (row + 0.5) * cell)
    tab.wait_for_function("!location.hash.includes('pin')")


@pytest.mark.parametrize("place", [0, 12, 63])
def test_a_click_on_a_place_finds_its_column(lecture, place):
    tab, chosen = lecture("5.1"), windows.lower(3)
    row, column = divmod(place, 8)
    tab.mouse.click(800 + 144 + 16 * column + 8, 100 + 16 * row + 8)
    assert f"pin=place-{place}" in state(tab)
    values = sum(copy[place] is not None for copy in chosen.copies)
    zeros = f" and {9 - values} zeros" if values < 9 else ""
    assert f"is column {place + 1}: {values} values{zeros}" in texts(tab)
    tab.reload()
    assert f"pin=place-{place}" in state(tab)
    tab.mouse.click(192 + 16 * 33 + 8, 604)
    assert "pin=place-33" in state(tab)


def test_pixels_and_places_are_reached_by_the_keyboard(lecture):
    tab = lecture("3.0&sheet=bench")
    press(tab, "Tab", "ArrowRight", "ArrowDown", "ArrowDown")
    assert state(tab) == "3.0&sheet=bench&pin=pixel-17"
    press(tab, "Tab", "ArrowRight")
    assert state(tab) == "3.0&sheet=bench&pin=place-1"
    press(tab, "Tab", "ArrowLeft")
    assert state(tab) == "3.0&sheet=bench&copies=8&pin=place-1"
    assert "copies 8 of 9" in texts(tab)
    assert press(tab, "PageDown") == "3.0"


def test_escape_leaves_one_thing_at_a_time(lecture):
    tab = lecture("5.0&sheet=bench&pin=pixel-3")
    assert press(tab, "Escape") == "5.0&sheet=bench"
    assert press(tab, "Escape") == "5.0"


@pytest.mark.parametrize(
    "wrong",
    ["99.9", "4.99", "x", "3.1&votes=-3,x,,1e9&k=4&stride=9&pad=x&batch=3&pin=pixel-99&sheet=x"],
)
def test_a_broken_address_is_mended(lecture, wrong):
    tab = lecture(wrong)
    assert re.fullmatch(r"[1-9]\d?\.\d(&votes=0,0,0,9999)?", state(tab))
    assert texts(tab)


# -- motion and speech --------------------------------------------------------------------------


def test_copies_follow_by_themselves_and_a_key_jumps_to_the_last(moving):
    tab = moving("4.2")
    press(tab, "PageDown")
    tab.wait_for_function("location.hash === '#4.5'", timeout=4000)
    assert press(tab, "PageDown") == "4.8"
    tab.wait_for_timeout(1200)
    assert state(tab) == "4.8"


def test_what_moves_comes_to_its_place(moving, lecture):
    still = texts(lecture("3.1"))
    tab = moving("3.0")
    press(tab, "PageDown")
    assert tab.evaluate("document.getAnimations().length") > 8
    tab.wait_for_function("document.getAnimations().length === 0")
    assert texts(tab) == still


def test_the_quarters_glide_to_the_inputs_that_they_fill(moving, lecture):
    places = """() => [...document.querySelectorAll(".here .step.now .folds")]
        .map((part) => { const box = part.getBoundingClientRect(); return [box.left, box.top]; })"""
    still = lecture("6.1").evaluate(places)
    tab = moving("6.0")
    press(tab, "PageDown")
    assert tab.evaluate("document.getAnimations().length") == len(still) == 9
    tab.wait_for_function("document.getAnimations().length === 0")
    assert tab.evaluate(places) == still
    assert still[0] == pytest.approx([800, 244], abs=1)  # 2 inputs and a quarter, side by side
    assert still[8] == pytest.approx([800 + 2 * 144, 244], abs=1)


def test_nothing_moves_for_who_asks_so(lecture):
    tab = lecture("3.0")
    press(tab, "PageDown")
    assert tab.evaluate("document.getAnimations().length") == 0


def test_a_step_is_spoken_when_it_has_settled(lecture):
    tab = lecture("4.0")
    spoken = tab.locator("#spoken")
    press(tab, "PageDown", "PageDown")
    assert "Step 3" not in spoken.text_content()
    tab.wait_for_timeout(800)
    assert spoken.text_content().startswith("Step 3 of 9: copy (ky=0, kx=2) written.")


# -- what a room needs --------------------------------------------------------------------------


def meet(a, b):
    deep = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
    wide = min(a["right"], b["right"]) - max(a["left"], b["left"])
    least = min(a["size"], b["size"])
    return wide > 1 and deep > 0.42 * least  # a line's box is taller than its letters


@pytest.mark.parametrize("extra", ["", "&votes=12,30,45,7"])
def test_texts_are_large_apart_and_on_the_page(lecture, extra):
    tab = lecture("1.0")
    places = [*every_step(), *(f"1.0&{one}" for one in BENCH), "1.0&sheet=run"]
    places += [f"1.0&{one}&pin=place-0" for one in BENCH] + ["5.0&pin=place-0"]
    places += ["1.0&sheet=room", f"1.0&{COUNTED}&sheet=room&told"]
    for place in places:
        tab.evaluate(GO, place + extra)
        found = tab.evaluate(TEXTS)
        assert found, place
        for text in found:
            assert text["size"] >= 28, (place, text)
            assert text["left"] >= 56, (place, text)
            assert text["right"] <= 1224, (place, text)
            assert text["top"] >= 0, (place, text)
            assert text["bottom"] <= 720, (place, text)
        pairs = [(a["text"], b["text"]) for a, b in combinations(found, 2) if meet(a, b)]
        assert pairs == [], place


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["", "&dark"])
def test_every_text_has_a_contrast_of_7(lecture, theme):
    tab = lecture("1.0")
    for place in [*every_stop(), "1.0&sheet=bench", "1.0&sheet=run"]:
        tab.evaluate(GO, place + theme)
        page = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        for text in tab.evaluate(TEXTS):
            assert contrast(text["fill"], page) >= 7, (place, text["text"])


def test_it_is_light_until_asked_otherwise(lecture):
    tab = lecture()
    tab.emulate_media(color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(background) == "rgb(255, 255, 255)"
    assert press(tab, "l") == "1.0&dark"
    assert luminance(tab.evaluate(background)) < 0.02


@pytest.mark.parametrize("start", ["", "4.2&dark&sheet=bench&text&notes"])
def test_it_prints_a_page_for_each_scene_with_its_last_step(lecture, start):
    tab = lecture(start)
    pdf = tab.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == len(scenes())
    assert len(pdf) < 1_000_000
    tab.emulate_media(media="print")
    words = tab.evaluate(
        """() => [...document.querySelectorAll("text")]
            .filter(text => text.getBoundingClientRect().width).map(text => text.textContent)"""
    )
    assert amount(slides.lowered(slides.layer())) in words
    assert "Area = bytes." in words
    assert "Row 1" not in words


@pytest.mark.parametrize(
    "where", ["1.0", "5.0", "10.3&text&notes", "1.0&sheet=bench", "1.0&sheet=room"]
)
def test_no_accessibility_finding(lecture, findings, where):
    tab = lecture(where)
    if where == "1.0":
        press(tab, "?")
    assert findings(tab, "body") == []


def test_without_scripts_every_scene_is_there(browser, file):
    context = browser.new_context(java_script_enabled=False, offline=True)
    tab = context.new_page()
    tab.goto(file.as_uri())
    assert tab.locator(".scene").count() == len(scenes())
    assert tab.locator("text=Area = bytes.").is_visible()
    assert tab.locator(".sheet:visible").count() == 0
    context.close()
