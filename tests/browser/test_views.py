"""Every live view and card as a browser shows it, without a kernel: names, keyboard, room.

A stand-in takes the place of the widget's model: it holds what Python said last, and keeps what the
browser sends. Answers of a kernel are tested in JupyterLab: the other files here.
"""

import json
from functools import cache

import pytest

from memlab import views
from memlab.pictures.live.view import View
from memlab.pictures.live.widget import Widget
from tests.pictures.pages import every

FIRST = {
    each.made_by: getattr(views, each.made_by)
    for each in (getattr(views, name) for name in views.__all__)
    if isinstance(each, type)
    and issubclass(each, View)
    and each is not View
    and each.made_by != "explain"  # a report: what it says stands first, and one scrolls
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
WIDTH = 820
SHOW = """async ({esm, css, states, style}) => {
  document.body.innerHTML = "";
  const sheet = document.createElement("style");
  sheet.textContent = css;
  const own = document.createElement("style");
  own.id = "own";
  own.textContent = style;
  document.head.append(sheet, own);
  window.sent = [];
  for (const [name, state] of Object.entries(states)) {  // a module for each, as in JupyterLab
    const module = await import(URL.createObjectURL(new Blob([esm], {type: "text/javascript"})));
    const el = document.createElement("main");
    el.dataset.name = name;
    document.body.append(el);
    const send = (content) => sent.push([name, content]);
    const on = (what, follow) => {
      if (what !== "change:now_") return;
      window.answer = () => {
        state.now_.answers = Object.fromEntries(sent.map(([, { view, number }]) => [view, number]));
        follow();
      };
    };
    const model = {get: (key) => state[key], on, off() {}, send};
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
ALONE = """name => {
  for (const own of document.querySelectorAll("main")) own.hidden = own.dataset.name !== name;
  const own = document.querySelector("main:not([hidden])");
  const called = node => node.id || node.className || node.textContent;
  window.reached = [];
  own.tabIndex = -1;
  own.focus();  // the next one that Tab reaches is its first
  own.addEventListener("focusin", event => reached.push(called(event.target)));
  return [...own.querySelectorAll("input, select, button, summary, [tabindex='0']")]
    .filter(node => node.checkVisibility() && (node.type !== "radio" || node.checked
      || node === node.closest("fieldset").querySelector("input")))
    .map(called);
}"""
"""One view as if it were alone: what is to be reached in it."""
TOGETHER = """style => {
  document.activeElement.blur();
  for (const own of document.querySelectorAll("main")) own.hidden = false;
  document.querySelector("#own").textContent = style;
}"""
WIDE = (
    "@font-face{font-family:W;src:local('Liberation Sans'),local('DejaVu Sans');size-adjust:115%}"
)


@cache
def state(make):
    """What Python says first."""
    view = make()
    return view.get_state([key for key in view.keys if key.startswith(("now_", "_control_"))])


@pytest.fixture
def show(page):
    """`show(width)` puts the views that live views open with into one page so wide, or one."""

    def shown(width=WIDTH, style="", only=None):
        page.set_viewport_size({"width": width, "height": 1000})
        _fill(page, {name: FIRST[name] for name in FIRST if only in (None, name)}, style)
        return page

    return shown


@pytest.fixture(scope="module")
def opened(browser):
    """A page of its own with every view in it: to make it takes longer than to look at it."""
    context = browser.new_context(viewport={"width": WIDTH, "height": 1000})
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    _fill(page, LIVE)
    yield page
    context.close()
    assert errors == []


@pytest.fixture
def together(opened):
    """`together(width)` is that page so wide, all its views as they were at first."""

    def shown(width=WIDTH, style="", scheme="light"):
        opened.set_viewport_size({"width": width, "height": 1000})
        opened.emulate_media(color_scheme=scheme)
        opened.evaluate(TOGETHER, style)
        return opened

    return shown


def _fill(page, made, style=""):
    page.set_content("<!doctype html><title>views</title><body></body>")
    files = {"esm": Widget._esm, "css": Widget._css}
    texts = {key: _text(given) for key, given in files.items()}
    states = json.loads(json.dumps({name: state(make) for name, make in made.items()}))
    page.evaluate(SHOW, {**texts, "states": states, "style": style})


def _text(given):
    return given.read_text(encoding="utf-8") if hasattr(given, "read_text") else str(given)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(together, findings, scheme):
    assert findings(together(scheme=scheme), "main") == []


def test_a_label_and_a_choice_belong_to_their_own_view(together):
    page = together()
    assert page.evaluate(STRAY) == []
    assert page.evaluate("() => document.querySelectorAll('main label').length") > len(LIVE)


@pytest.mark.parametrize("scale", [1, 1.8])
@pytest.mark.parametrize("width", [500, 820, 1200])
def test_no_control_and_no_sentence_is_cut_off(together, width, scale):
    assert together(width, f".memlab{{--memlab-scale:{scale}}}").evaluate(CUT) == []


def test_no_card_is_cut_off_in_a_wider_font(together):
    page = together(500, WIDE + ".memlab, .memlab *{font-family:W!important}")
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("screen", ROOM)
def test_a_first_level_stands_on_a_screen_with_its_controls(show, screen):
    wide, tall, scale = ROOM[screen]
    page = show(wide, f"body{{margin:0}} .memlab{{--memlab-scale:{scale}}}")
    assert page.evaluate(OVER, tall) == []
    assert len(page.evaluate(OVER, 100)) == len(FIRST)


@pytest.mark.every
@pytest.mark.parametrize("name", LIVE)
def test_the_keyboard_alone_reaches_everything(opened, together, name):
    page = opened if opened.viewport_size["width"] == WIDTH else together()
    wanted = page.evaluate(ALONE, name)
    assert wanted
    for _ in range(len(wanted) + 2):
        page.keyboard.press("Tab")
    assert {*wanted} <= {*page.evaluate("() => reached")}


def test_a_picture_that_takes_long_says_so_until_its_answer(show):
    page = show(only="techniques")
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
