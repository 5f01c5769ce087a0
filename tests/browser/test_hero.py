"""The README's moving picture in Chromium: what is seen at each moment, and where it rests."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from memlab.course.hero import motion
from memlab.course.hero.motion import ANSWERED, ASKED, LOOP, TILED
from memlab.course.hero.picture import SCREENS, hero

TEXTS = """() => [...document.querySelectorAll("text")].map(text => {
    let seen = 1;
    for (let each = text; each.style; each = each.parentNode)
        seen *= getComputedStyle(each).opacity;
    const { left, top, right, bottom } = text.getBoundingClientRect();
    return { text: text.textContent, seen, left, top, right, bottom };
}).filter(text => text.seen > 0.6)"""
GO = """seconds => document.getAnimations().forEach(each => {
    each.pause();
    each.currentTime = 1000 * seconds;
})"""
HEADS = {
    0.3: "A 3 × 3 convolution copies its input",
    2.9: "A 3 × 3 convolution copies its input",
    ASKED + 0.5: "9 × the input. Must it?",
    TILED + 0.5: "One tile at a time: 111 kB",
    ANSWERED + 0.5: "No: 144 B, and 2.3 times faster",
    LOOP + 0.3: "A 3 × 3 convolution copies its input",
    2 * LOOP + 1: "No: 144 B, and 2.3 times faster",
    60: "No: 144 B, and 2.3 times faster",
}
"""The headline at some seconds."""


@pytest.fixture
def opened(browser, tmp_path):
    """`opened("wide", reduced_motion="reduce")` is a tab with the picture, offline."""
    contexts = []

    def opened(screen, strip=False, **how):
        path, text = tmp_path / f"{screen}.svg", hero(screen)
        path.write_text(re.sub("<style>.*</style>", "", text) if strip else text, "utf-8")
        size = {"width": SCREENS[screen].width, "height": SCREENS[screen].height}
        contexts.append(browser.new_context(viewport=size, offline=True, **how))
        tab = contexts[-1].new_page()
        tab.goto(path.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()


def fits(tab, screen):
    """Whether the texts of this moment are inside the picture and apart from each other."""
    texts = tab.evaluate(TEXTS)
    for each in texts:
        assert 0 <= each["left"] < each["right"] <= SCREENS[screen].width, each
        assert 0 <= each["top"] < each["bottom"] <= SCREENS[screen].height, each
    for a, b in combinations(texts, 2):
        wide = min(a["right"], b["right"]) - max(a["left"], b["left"])
        high = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
        assert wide < 0.5 or high < 4, (a, b)  # boxes of lines have room above and below
    return [each["text"] for each in texts]


@pytest.mark.parametrize("screen", SCREENS)
def test_the_headline_says_what_is_seen(opened, screen):
    tab = opened(screen)
    for second, head in HEADS.items():
        tab.evaluate(GO, second)
        heads = [text for text in fits(tab, screen) if text in HEADS.values() or "No." in text]
        assert heads == [head], second


@pytest.mark.parametrize("screen", SCREENS)
def test_at_no_moment_a_text_meets_another(opened, screen):
    tab = opened(screen)
    for tenth in range(0, int(10 * LOOP), 2):
        tab.evaluate(GO, tenth / 10)
        fits(tab, screen)


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("how", [{"reduced_motion": "reduce"}, {"strip": True}], ids=str)
def test_without_motion_or_style_the_whole_matrix_stands_still(opened, screen, how):
    tab = opened(screen, **how)
    assert tab.evaluate("document.getAnimations().length") == 0
    texts = fits(tab, screen)
    assert texts[0] == "9 × the input. Must it? No."
    assert [text for text in texts if "144 B" in text]
    assert tab.evaluate("[...document.querySelectorAll('svg > g use')].length") == 72 + 8
    hidden = "[...document.querySelectorAll('use')].filter(u => getComputedStyle(u).opacity < 1)"
    assert tab.evaluate(f"{hidden}.length") == 0


def test_colours_follow_the_page(opened):
    for scheme, index in (("light", 1), ("dark", 2)):
        tab = opened("wide", color_scheme=scheme)
        found = tab.evaluate("getComputedStyle(document.querySelector('.page')).fill")
        assert found == rgb(motion.LOOKS["page"][index])


def rgb(colour):
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    return "rgb({}, {}, {})".format(*(int(digits[i : i + 2], 16) for i in (0, 2, 4)))
