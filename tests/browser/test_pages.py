"""Every picture as a browser sets it, also without Arial: no text meets another or is cut off."""

from functools import cache

import pytest

from tests.pictures.pages import every, page_of

MADE = every()
FONTS = {
    "own": "",
    "wider": "@font-face{font-family:Wide;src:local('Liberation Sans'),local('DejaVu Sans');"
    "size-adjust:115%}.memlab-svg{font-family:Wide!important}",
    "none": ".memlab-svg{font-family:'DejaVu Sans',sans-serif!important}",
}
"""As it is; a font that is 15 % wider than Arial; the one of a bare Linux."""
MEASURE = """() => [...document.querySelectorAll("svg.memlab-svg")].map(svg => {
  const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
  const texts = [...svg.querySelectorAll("text")].map(text => {
    const box = text.getBoundingClientRect(), size = parseFloat(getComputedStyle(text).fontSize);
    const base = text.getScreenCTM(), y = base.f + base.d * text.y.baseVal[0].value;
    return {text: text.textContent, left: box.left, right: box.right,
            top: y - .72 * size * scale, bottom: y + .2 * size * scale};
  }).filter(box => box.text);
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > scale
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > scale;
  const pairs = texts.flatMap((a, i) => texts.slice(i + 1).filter(b => meet(a, b))
    .map(b => [a.text, b.text]));
  const out = texts.filter(box => box.left < frame.left - 1 || box.right > frame.right + 1
    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1).map(box => box.text);
  return {count: texts.length, pairs, out};
})"""


@cache
def views():
    return [make() for make in MADE.values()]


@cache
def pictures(width):
    """Every page at a width, as elements of one document."""
    return [page_of(view, width).render(f"k{index}") for index, view in enumerate(views())]


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("width", [500, 820, 1200])
def test_texts_fit_in_any_font(page, width, font):
    _set(page, pictures(width), FONTS[font])
    _clear(page.evaluate(MEASURE))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("scale", [1, 1.8])
def test_texts_fit_on_a_projector_in_either_theme(page, scale, scheme):
    page.emulate_media(color_scheme=scheme)
    _set(page, pictures(820), f"svg{{zoom:{scale}}}")
    _clear(page.evaluate(MEASURE))


def test_the_measure_finds_texts_that_meet_and_texts_outside(page):
    text = '<text x="{}" y="20" font-size="12">a text</text>'
    svg = '<svg class="memlab-svg" viewBox="0 0 100 30" width="100" height="30">{}</svg>'
    _set(page, [svg.format(text.format(10) + text.format(20)), svg.format(text.format(90))], "")
    first, second = page.evaluate(MEASURE)
    assert first["pairs"] == [["a text", "a text"]]
    assert second["out"] == ["a text"]


def _set(page, pictures, style):
    body = "".join(f"<div>{picture}</div>" for picture in pictures)
    page.set_content(f"<!doctype html><style>{style}</style>{body}")
    page.evaluate("() => document.fonts.ready.then(() => true)")


def _clear(found):
    assert len(found) == len(MADE)
    assert all(each["count"] for each in found)
    named = dict(zip(MADE, found, strict=True))
    assert {name: each["pairs"] for name, each in named.items() if each["pairs"]} == {}
    assert {name: each["out"] for name, each in named.items() if each["out"]} == {}
