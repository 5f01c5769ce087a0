"""A live view in JupyterLab: waiting for it, reading it, and what each owes its reader: a control
changes bytes, and all is on the screen."""

from playwright.sync_api import TimeoutError

ROOT = ".memlab-view"

SIZES = {"a laptop": (1366, 768, 1), "a projector": (1920, 1080, 1.5)}
"""Width and height of the screen in pixels, and how much larger the views are."""
BYTES, NUMBERS = r"\d[\d.,]* (?:[kMGT]i?)?B\b", r"\d[\d.,]*"
"""The figures that a control changes."""
MOVE = """([css, figures]) => {
    const picture = (root) => root.querySelector(".ml-picture").textContent;
    const shown = (root) => [...picture(root).matchAll(new RegExp(figures, "g"))].join();
    const node = document.querySelector(`.memlab-view ${css}`);
    if (!node) return false;
    const root = node.closest(".memlab-view"), change = new Event("change", {bubbles: true});
    window.moved = {root, before: shown(root), shown: () => shown(root)};
    if (node.type === "checkbox") { node.click(); return true; }
    if (node.tagName === "SELECT") {
        node.selectedIndex = (node.selectedIndex + 1) % node.options.length;
        node.dispatchEvent(change);
        return true;
    }
    const step = Number(node.value) < Number(node.max || Infinity) ? 1 : -1;
    node.value = Number(node.value) + step;
    node.dispatchEvent(node.type === "range" ? new Event("input", {bubbles: true}) : change);
    return true;
}"""
MOVED = "() => window.moved.shown() !== window.moved.before"
HIDDEN = """async (scale) => {
    const panel = jupyterapp.shell.currentWidget.content.node, found = [];
    const frame = panel.querySelector(".jp-WindowedPanel-outer") ?? panel;
    const settled = async (height) => {  // drawn again, or laid out for another screen
        for (let still = 0, last = 0; still < 5;) {
            await new Promise((done) => setTimeout(done, 60));
            const now = height();
            still = now === last ? still + 1 : 0;
            last = now;
        }
    };
    await settled(() => frame.clientHeight);
    for (const root of panel.querySelectorAll(".memlab-view:not(.memlab-card)")) {
        if (!root.querySelector("input, select")) continue;
        const scaled = root.closest(".memlab-asked") ?? root;
        scaled.style.setProperty("--memlab-scale", scale);
        await settled(() => root.getBoundingClientRect().height);
        const picture = root.querySelector(".ml-picture");
        const tall = () => Math.round(picture.getBoundingClientRect().bottom
            - root.getBoundingClientRect().top - frame.clientHeight);
        const wide = () => Math.round(picture.scrollWidth - picture.clientWidth);
        const late = Date.now() + 15_000;  // a busy kernel draws the lower picture late
        while ((tall() > 0 || wide() > 1) && Date.now() < late)
            await new Promise((done) => setTimeout(done, 60));
        const name = `${picture.ariaLabel}, ${root.dataset.state}`;
        const space = `of ${root.clientWidth} x ${frame.clientHeight} px`;
        if (tall() > 0) found.push(`${name}: ${tall()} ${space} too tall`);
        if (wide() > 1) found.push(`${name}: ${wide()} ${space} too wide`);
        scaled.style.removeProperty("--memlab-scale");
    }
    return found;
}"""


def wait(page, condition, value=None):
    """Wait until a condition on the view's root holds: JavaScript that names `root` and `value`."""
    test = f"value => {{ const root = document.querySelector('{ROOT}'); return {condition}; }}"
    try:
        page.wait_for_function(test, arg=value)
    except TimeoutError as late:
        shown = f"{state(page)}: {picture(page).text_content()}"
        raise AssertionError(f"{value or condition}: not in {shown}") from late


REPORT = "A model and its card"
"""The view of which what it says stands first, in words: one scrolls to the evidence."""


def settled(page, number):
    """Wait until the picture was drawn for this stop of the slider."""
    wait(page, "root.dataset.shown === String(value)", number)


def sees(page, words):
    """Wait until the picture says so, on however many lines."""
    wait(page, "root.querySelector('.ml-picture').textContent.replace(/\\s/g, '').includes(value)",
         "".join(words.split()))  # fmt: skip


def state(page):
    """The parts of the machine-readable line."""
    return page.locator(ROOT).get_attribute("data-state").split("|")


def picture(page):
    return page.locator(f"{ROOT} .ml-picture")


def changes(page, control, figures=BYTES):
    """Whether a step of a control, by the name of its setting, changes the figures of its view."""
    if not page.evaluate(MOVE, [f"[id$='-{control}']", figures]):
        return False
    try:
        page.wait_for_function(MOVED, timeout=20_000)
    except Exception as error:
        if "Timeout" not in str(error):
            raise
        return False
    return True


def hidden(page, screen):
    """What of the controls and pictures of live views is never on a screen at once."""
    width, height, scale = SIZES[screen]
    page.set_viewport_size({"width": width, "height": height})
    return [each for each in page.evaluate(HIDDEN, scale) if not each.startswith(REPORT)]
