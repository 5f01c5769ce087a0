"""Every live view and card as a browser shows it, without a kernel: names, keyboard, room.

A stand-in takes the place of the widget's model: it holds what Python said last, and keeps what the
browser sends. Answers of a kernel are tested in JupyterLab: the other files here.
"""

import json
from functools import cache

import pytest

from memlab import views
from memlab.views.live.view import View
from memlab.views.live.widget import Widget
from tests.views.pages import every

FIRST = {
    each.made_by: getattr(views, each.made_by)
    for each in vars(views).values()
    if isinstance(each, type) and issubclass(each, View) and each is not View
} | {
    "two maps": lambda: views.addresses(how="birth", beside="biggest"),
    "a map": lambda: views.addresses("resnet50", 16, how="best", in_place=True),
}
"""Each live view as it opens, and the address maps of lesson 07."""
LIVE = {
    " ".join(key): make for key, make in every().items() if key[0] in {*FIRST, "prediction_card"}
}
ROOM = {"a laptop": (1186, 647, 1), "a projector": (1740, 959, 1.5)}
"""What JupyterLab leaves, without its file browser, of a screen of 1366 x 768 and of 1920 x 1080:
width and height in pixels; and how much larger the views are shown there."""
SHOW = """async ({esm, css, states, style}) => {
  document.body.innerHTML = "";
  const sheet = document.createElement("style");
  sheet.textContent = css + style;
  document.head.append(sheet);
  window.sent = [];
  for (const [name, now] of Object.entries(states)) {  // a module for each, as in JupyterLab
    const module = await import(URL.createObjectURL(new Blob([esm], {type: "text/javascript"})));
    const el = document.createElement("main");
    el.dataset.name = name;
    document.body.append(el);
    const send = (content) => sent.push([name, content]);
    const on = (_, follow) => { window.answer = () => { now.answer = sent.length; follow(); }; };
    const model = {get: () => now, on, off() {}, send};
    module.default.render({model, el});
  }
  await document.fonts.ready;
}"""
CUT = """() => [...document.querySelectorAll("main .memlab")].flatMap(root => {
  const frame = root.getBoundingClientRect(), name = root.parentElement.dataset.name;
  const inner = [...root.querySelectorAll("label, legend, input, select, button, summary, p")];
  const seen = inner.filter(node => node.checkVisibility() && !node.closest(".ml-picture"));
  return seen.filter(node => {
    const box = node.getBoundingClientRect(), whole = node.matches("input, select, label, span");
    const cut = node.scrollWidth > node.clientWidth + 1 && !whole;
    return box.right > frame.right + 1 || box.left < frame.left - 1 || (cut && node.clientWidth);
  }).map(node => `${name}: ${node.tagName} ${node.textContent.slice(0, 40)}`);
})"""
OVER = """(tall) => [...document.querySelectorAll("main .memlab")].flatMap(root => {
  const picture = root.querySelector(".ml-picture"), name = root.parentElement.dataset.name;
  const over = picture.getBoundingClientRect().bottom - root.getBoundingClientRect().top - tall;
  return over > 0 || picture.scrollWidth > picture.clientWidth + 1 ? [[name, over]] : [];
})"""
STRAY = """() => [...document.querySelectorAll("main")].flatMap(own => {
  const labels = [...own.querySelectorAll("label")].filter(label => !own.contains(label.control));
  const radios = [...own.querySelectorAll("[type=radio]")].map(radio => radio.name);
  const everywhere = name => [...document.getElementsByName(name)];
  const shared = radios.filter(name => everywhere(name).some(radio => !own.contains(radio)));
  return [...labels.map(label => label.textContent), ...shared];
})"""
FOCUSED = """() => {
  const node = document.activeElement;
  return node.closest("main") ? node.id || node.className || node.textContent : "";
}"""
WANTED = """() => [...document.querySelectorAll(
    "main :is(input, select, button, summary, [tabindex='0'])")]
  .filter(node => node.checkVisibility() && (node.type !== "radio" || node.checked
    || node === node.closest("fieldset").querySelector("input")))
  .map(node => node.id || node.className || node.textContent)"""
WIDE = (
    "@font-face{font-family:W;src:local('Liberation Sans'),local('DejaVu Sans');size-adjust:115%}"
)


@cache
def state(make):
    """What Python says first."""
    return make().now_


@pytest.fixture
def show(page):
    """`show(width)` puts every view into one page so wide."""

    def shown(width=820, style="", only=None, made=LIVE):
        page.set_viewport_size({"width": width, "height": 1000})
        page.set_content("<!doctype html><title>views</title><body></body>")
        chosen = {name: state(make) for name, make in made.items() if only in (None, name)}
        files = {"esm": Widget._esm, "css": Widget._css}
        texts = {key: _text(given) for key, given in files.items()}
        page.evaluate(SHOW, {**texts, "states": json.loads(json.dumps(chosen)), "style": style})
        return page

    return shown


def _text(given):
    return given.read_text(encoding="utf-8") if hasattr(given, "read_text") else str(given)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(show, findings, scheme):
    page = show()
    page.emulate_media(color_scheme=scheme)
    assert findings(page, "main") == []


def test_a_label_and_a_choice_belong_to_their_own_view(show):
    page = show()
    assert page.evaluate(STRAY) == []
    assert page.evaluate("() => document.querySelectorAll('main label').length") > len(LIVE)


@pytest.mark.parametrize("scale", [1, 1.8])
@pytest.mark.parametrize("width", [500, 820, 1200])
def test_no_control_and_no_sentence_is_cut_off(show, width, scale):
    assert show(width, f".memlab{{--memlab-scale:{scale}}}").evaluate(CUT) == []


def test_no_card_is_cut_off_in_a_wider_font(show):
    page = show(500, WIDE + ".memlab, .memlab *{font-family:W!important}")
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("screen", ROOM)
def test_a_first_level_stands_on_a_screen_with_its_controls(show, screen):
    wide, tall, scale = ROOM[screen]
    page = show(wide, f"body{{margin:0}} .memlab{{--memlab-scale:{scale}}}", made=FIRST)
    assert page.evaluate(OVER, tall) == []
    assert len(page.evaluate(OVER, 100)) == len(FIRST)


@pytest.mark.parametrize("name", LIVE)
def test_the_keyboard_alone_reaches_everything(show, name):
    page = show(only=name)
    wanted = page.evaluate(WANTED)
    assert wanted
    reached = []
    for _ in range(len(wanted) + 2):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    assert set(wanted) <= set(reached)


def test_a_picture_that_takes_long_says_so_until_its_answer(show):
    page = show(only="techniques", made=FIRST)
    root, says = page.locator("main .memlab"), page.locator("main .ml-says")
    page.wait_for_function("() => sent.length")
    page.wait_for_timeout(600)
    assert root.get_attribute("aria-busy") is None  # to be told its width it never looks at work
    page.evaluate("answer()")
    page.locator("main select").first.select_option("3")
    assert root.get_attribute("aria-busy") is None
    page.wait_for_function("() => document.querySelector('main [aria-busy=true]')")
    assert says.inner_text() == "Working ..."
    page.evaluate("answer()")
    assert root.get_attribute("aria-busy") is None
    assert says.inner_text() == ""


def test_the_checks_find_what_is_cut_off_and_what_has_no_name(show, findings):
    page = show(only="")
    page.set_content(
        "<main><div class='memlab' style='width:100px'><input style='width:50px'>"
        "<button style='width:300px'>much too wide</button></div></main>"
    )
    assert len(page.evaluate(CUT)) == 1
    assert findings(page, "main")
