"""A learner goes through the lessons with the keyboard alone; the README's pictures are taken.

Nothing here clicks or sets the focus: what the test reads from the page, it does with keys. With
MEMLAB_PICTURES=1 the README's pictures are written to lessons/images.
"""

import os
import re
from pathlib import Path

import pytest

from lessons import build
from memlab import strings
from memlab.lesson.question import Kind, topics
from memlab.lesson.task import tasks
from tests.browser.conftest import ERRORS
from tests.browser.live import NUMBERS, SIZES, changes, hidden

IMAGES = build.LESSONS / "images"
LESSONS = sorted(build.LESSONS.glob("[0-9]*.ipynb"))
CELL = """() => {
    const notebook = jupyterapp.shell.currentWidget.content;
    const cell = notebook.activeCell.model.sharedModel;
    return [notebook.activeCellIndex, notebook.widgets.length, cell.cell_type, cell.source];
}"""
INSIDE = "() => Boolean(document.activeElement.closest('.memlab-card'))"
IDLE = """() => {
    const panel = jupyterapp.shell.currentWidget;
    const cells = panel.model.sharedModel.cells;
    return panel.sessionContext.session.kernel.status === "idle"
        && cells.every(cell => cell.executionState !== "running");
}"""
PICTURES = {"02.output": "prediction", "02.largest_batch": "check", "halve": "memory"}
"""The pictures of the README, by the card, exercise or gate in whose cell they are taken."""
MOVES = {
    "00": ("batch",),
    "01": ("inputs", "batch", "format"),
    "02": ("batch",),
    "03": ("k", "stride"),
    "04": ("stride",),
    "05": ("batch", "format"),
    "06": ("parameter", "feature_map"),
    "07": ("in_place",),
    "08": ("k", "budget"),
}
"""Settings of live views in each lesson: the memory shown follows them."""
WRONG = {
    "00.mebibytes": ("    return nbytes / 1000**2", "decimal"),
    "01.kept": ("    return batch * (inputs + hidden + 2 * outputs)", ""),
    "01.my_step": ("    return 0, 0", ""),
    "02.largest_batch": (
        "    return (memory - max(fixed)) // max(each)",
        "mixed",
    ),
    "03.lowered_bytes": (
        "    return 4 * batch * channels * k * ((size + 2 * pad - k) // stride + 1) ** 2",
        "one_k",
    ),
    "04.lower": ("    lowered[0, 0, 0, 0, 0] = image[0, 0, 0]", ""),
    "05.vectors": ("    return -(-batch * bits // width), -batch % (width // bits)", "samples"),
    "06.mask_bytes": ("    return batch * (channels * size * size // 8)", "floor"),
    "06.model_state": ("    return 16 * features[0] * features[1]", ""),
    "07.freed": ("    return [sum(sizes[block] for block in each) for each in reads]", "all_read"),
    "07.addresses": ("    return [0] * len(sizes)", "all_zero"),
    "08.alive": ("    return sum(maps)", "all_maps"),
    "08.checkpoints": ("    return []", "nothing_saved"),
}


class Learner:
    """Two hands on a keyboard, and eyes."""

    def __init__(self, page, folder):
        self.page, self.folder = page, folder

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def now(self):
        """The number of the active cell, how many there are, its type and its source."""
        return self.page.evaluate(CELL)

    def run(self):
        """Run the active cell and stay there."""
        self.press("Control+Enter")
        self.page.wait_for_timeout(30)
        self.page.wait_for_function(IDLE, timeout=60_000)

    def card(self):
        """The card of the active cell, as it is displayed."""
        return self.page.locator(".jp-Cell.jp-mod-active .memlab-card").last

    def enters(self):
        """Into the card below the cell."""
        self.card().wait_for()
        for _ in range(6):
            self.press("Tab")
            if self.page.evaluate(INSIDE):
                return
        raise AssertionError("Tab does not reach the card")

    def leaves(self):
        """Back to the cell, and on to the next."""
        index = self.now()[0]
        self.press("Escape", "ArrowDown")
        assert self.now()[0] == index + 1

    def presses(self, words):
        """Tab to a button of the card and press Enter."""
        for _ in range(6):
            if self.focused().startswith(words):
                self.press("Enter")
                return
            self.press("Tab")
        raise AssertionError(f"no button {words!r}: {self.card().inner_text()}")

    def focused(self):
        return self.page.evaluate("() => document.activeElement.textContent")

    def reaches(self, state):
        """Wait for a state of the card; the focus has not left it."""
        self.page.locator(f".jp-Cell.jp-mod-active .memlab-card[data-state={state}]").last.wait_for(
            timeout=60_000
        )
        assert self.page.evaluate(INSIDE)

    def guesses(self, kind):
        """A guess by keys, whatever the control is."""
        if kind is Kind.AMOUNT:
            self.page.keyboard.type("0.2 MB")
        elif kind is Kind.TIMES:
            self.press(*["ArrowRight"] * 4)
        else:
            self.press("Space", "ArrowDown")

    def predicts(self, name):
        """Predict, lock, reveal; then the same on new numbers."""
        kind = topics()[name].kind
        self.run()
        self.enters()
        for again in (False, True):
            self.guesses(kind)
            self.presses(strings.get("card.control.lock"))
            self.reaches("locked")
            self.presses(strings.get("card.control.reveal"))
            self.reaches("revealed")
            if not again:
                self.look(name)
                self.presses(strings.get("card.control.retry"))
                self.reaches("open")
        self.leaves()

    def asks(self, name):
        """Read the task, and take a hint."""
        self.run()
        self.enters()
        self.presses(strings.get("exercise.hint", degree=1, text="")[:6])
        self.card().get_by_text(strings.get(f"task.{name}.hint.1")).wait_for()
        self.leaves()

    def writes(self, code):
        """Write a cell anew, run it, and be on the next one."""
        self.press("Enter", "Control+a")
        self.page.keyboard.insert_text(code)
        self.press("Shift+Enter")
        self.page.wait_for_function(IDLE)

    def checks(self, name):
        """Write something wrong, check, then mend it and check again."""
        stub = self.now()[3]
        head = next(line for line in stub.splitlines() if line.startswith("def "))
        body, slip = WRONG[name]
        self.writes(f"{head}\n{body}")
        self.run()
        report = self.page.locator(".jp-Cell.jp-mod-active .jp-OutputArea-output").last
        assert "fresh cases disagree" in report.inner_text()
        if slip:
            assert strings.get(f"task.{name}.slip.{slip}") in report.inner_text()
            self.look(name)
        self.press("ArrowUp")
        self.writes(solution(name))
        self.run()
        assert "Agrees on" in report.inner_text()
        self.press("ArrowDown")

    def look(self, name):
        """A screenshot of what the active cell shows, where the README has one."""
        if name in PICTURES:
            shown = self.page.locator(".jp-Cell.jp-mod-active .jp-OutputArea-child").last
            shown.screenshot(path=self.folder / f"{PICTURES[name]}.png")


def solution(name):
    """The cell of the solutions that defines a function."""
    lesson, _, wanted = name.partition(".")
    (source,) = build.sources(build.LESSONS, [lesson])
    found = [cell.source for cell in build.notebook(source, solved=True).cells]
    return next(code for code in found if re.search(rf"^def {wanted}\(", code, re.MULTILINE))


def goes_through(learner):
    """Every cell of a lesson from the first to the last; what was met, in order."""
    met = []
    while True:
        index, count, kind, source = learner.now()
        asked = re.search(r'lesson\.(predict|exercise)\("([\w.]+)"\)', source)
        if asked and kind == "code":
            met.append(asked[2])
            (learner.predicts if asked[1] == "predict" else learner.asks)(asked[2])
        elif "replace None" in source:
            learner.checks(met[-1])
        elif index == count - 1:
            return met
        elif gate := re.match(r"if (halve)\.answered", source):
            learner.run()
            learner.page.wait_for_timeout(500)  # its width has been sent and answered
            learner.look(gate[1])
            learner.press("ArrowDown")
        else:
            learner.press("Shift+Enter")
            learner.page.wait_for_timeout(30)
            learner.page.wait_for_function(IDLE, timeout=60_000)


@pytest.fixture
def learner(open_notebook, tmp_path):
    """A learner in front of a lesson that nobody has opened before."""

    def opens(name):
        page = open_notebook(name)
        page.set_default_timeout(60_000)
        page.set_viewport_size({"width": 1300, "height": 1500})  # a view fits in for its picture
        folder = IMAGES if os.environ.get("MEMLAB_PICTURES") == "1" else tmp_path
        return Learner(page, Path(folder))

    return opens


@pytest.mark.parametrize("name", [path.name for path in LESSONS])
def test_a_lesson_is_done_with_the_keyboard_alone(learner, findings, name):
    hands = learner(name)
    met = goes_through(hands)
    (source,) = build.sources(build.LESSONS, [name[:2]])
    text = source.read_text(encoding="utf-8")
    assert met == re.findall(r'lesson\.(?:predict|exercise)\("([\w.]+)"\)', text)
    assert hands.page.evaluate(ERRORS) == []
    for css in (".memlab-card", ".memlab-view"):
        if hands.page.locator(css).count():
            assert findings(hands.page, css) == []
    assert {screen: found for screen in SIZES if (found := hidden(hands.page, screen))} == {}
    assert not [each for each in MOVES[name[:2]] if not changes(hands.page, each)]
    if name[:2] == "05":
        assert changes(hands.page, "bits", NUMBERS)  # lanes, and no bytes


def test_the_pictures_of_the_readme_are_taken_here():
    readme = (build.LESSONS.parent / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]{40,}\]\(lessons/images/([\w-]+)\.png\)", readme)
    assert sorted(shown) == sorted(PICTURES.values()) == sorted(p.stem for p in IMAGES.iterdir())


def test_every_card_and_exercise_is_met():
    text = "\n".join(path.read_text(encoding="utf-8") for path in LESSONS)
    for name in (*topics(), *tasks()):
        assert name in text
