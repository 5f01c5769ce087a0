"""A learner goes through the lessons with the keyboard alone; the pictures of a lesson are taken.

Nothing here clicks or sets the focus: what the test reads from the page, it does with keys. With
MEMLAB_PICTURES=1 the pictures of docs/lessons.md are written to lessons/images.
"""

import os
import re
from pathlib import Path

import pytest

from lessons import build
from memlab import strings
from memlab.lesson.card_question import AnswerKind, topics
from memlab.lesson.exercise_task import tasks
from memlab.lesson.marked_text import plain
from tests.browser.conftest import ERRORS
from tests.browser.live import NUMBERS, SIZES, changes, hidden

IMAGES = build.LESSONS / "images"
LESSONS = sorted(build.LESSONS.glob("[0-9]*.ipynb"))
TRANSLATED = sorted(build.LESSONS.glob("??/[0-9]*.ipynb"))
CELL = """() => {
    const notebook = jupyterapp.shell.currentWidget.content;
    const cell = notebook.activeCell.model.sharedModel;
    return [notebook.activeCellIndex, notebook.widgets.length, cell.cell_type, cell.source];
}"""
INSIDE = "() => Boolean(document.activeElement.closest('.memlab-card'))"
SPOKEN = "() => document.querySelector('.memlab[lang]').lang"
LABEL = "() => document.activeElement.labels?.[0]?.innerText ?? ''"
IDLE = """() => {
    const panel = jupyterapp.shell.currentWidget;
    const cells = panel.model.sharedModel.cells;
    return panel.sessionContext.session.kernel.status === "idle"
        && cells.every(cell => cell.executionState !== "running");
}"""
PICTURES = {
    "02.output": ("prediction", ".memlab-asked"),
    "02.halve": ("memory", ".memlab-view"),
    "02.largest_batch": ("check", ".jp-OutputArea-child"),
}
"""The pictures of docs/lessons.md: in the cell of which card or exercise, its name, and of what."""
ASKED = r'lesson\.(predict|recall|change|exercise)\("([\w.]+)"\)'
TYPED = {AnswerKind.AMOUNT: ("12.8 MB", "6.4 MB")}
"""A guess that is wrong in every lesson, and a revision."""
PATIENCE = 180_000
"""Milliseconds that a learner waits: a cell that measures takes long where others work too."""
REASON = "Backward may need both."
MOVES = {
    "00": ("batch",),
    "01": ("batch",),
    "02": ("batch",),
    "03": ("k", "stride"),
    "04": ("stride",),
    "05": (),
    "06": ("optimizer_state", "feature_map"),
    "07": ("training", "batch"),
    "08": ("k", "budget"),
    "09": (),
    "10": ("batch",),
    "11": ("batch",),
    "12": ("batch",),
    "13": ("length",),
}
"""Settings of live views in each lesson: the memory shown follows them."""
COUNTS = {"05": ("batch", "bits"), "09": ("link",), "10": ("augment",)}
"""Settings that change lanes, or seconds, and no bytes."""
WRONG = {
    "00.images_that_fit": ("    return card * 10**9 // each", "no_fixed"),
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
    "06.model_state": ("    return 16 * features[0] * features[1]", ""),
    "07.freed": ("    return [sum(sizes[block] for block in each) for each in reads]", "all_read"),
    "08.checkpoints": ("    return []", "nothing_saved"),
    "09.offloaded": ("    return list(range(len(maps)))", "all_go"),
    "10.finished": ("    return load", ""),
    "10.means": ("    return [image.mean() / 255 for image in images]", "each"),
    "12.late": ("    return [sum(block[0] for block in blocks)] * 2", "sum"),
    "13.cache_bytes": (
        "    return 2 * layers * features * texts * tokens * nbytes",
        "all_heads",
    ),
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
        self.page.wait_for_function(IDLE, timeout=PATIENCE)

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

    def reaches(self, *states):
        """Wait for one of these states of the card, and say which; the focus has not left it."""
        card = ".jp-Cell.jp-mod-active .memlab-card"
        anyone = ", ".join(f"{card}[data-state={state}]" for state in states)
        self.page.locator(anyone).last.wait_for(timeout=PATIENCE)
        assert self.page.evaluate(INSIDE)
        return self.card().get_attribute("data-state")

    def guesses(self, kind, again=False):
        """A guess by keys, whatever the control is; most are wrong."""
        if kind in TYPED:
            self.page.keyboard.type(TYPED[kind][again])
        elif kind in (AnswerKind.TIMES, AnswerKind.COUNT):
            self.press(*["ArrowLeft" if again else "ArrowRight"] * 4)
        else:
            self.press("Space", *["ArrowDown"] * again)

    def locks(self, kind, because="", button="lock"):
        """Guess, give a reason, lock: what is right is revealed, the other has its diagnosis."""
        self.guesses(kind)
        if because:
            self.presses_on_to(strings.get("card.control.because"))
            self.page.keyboard.type(because)
        self.presses(strings.get(f"card.control.{button}"))
        return self.reaches("diagnosed", "revealed")

    def predicts(self, name, again):
        """Predict with a reason, revise, see the answer; then perhaps the same on new numbers."""
        kind = topics()[name].kind
        self.run()
        self.enters()
        if self.locks(kind, because=REASON) == "diagnosed":
            self.guesses(kind, again=True)
            self.presses(strings.get("card.control.revise"))
            self.reaches("revealed")
        self.look(name)
        if again and topics()[name].draw:
            self.presses(strings.get("card.control.retry"))
            self.reaches("open")
            self.shows_the_answer(self.locks(kind))
        self.leaves()

    def answers(self, name):
        """One guess at a question of recall, or after a change; then the answer."""
        self.run()
        self.enters()
        self.shows_the_answer(self.locks(topics()[name].kind, button="check"))
        self.leaves()

    def shows_the_answer(self, state):
        if state == "diagnosed":
            self.presses(strings.get("card.control.answer"))
            self.reaches("revealed")

    def presses_on_to(self, label):
        """Tab to the field of that label."""
        for _ in range(6):
            if label in self.page.evaluate(LABEL):
                return
            self.press("Tab")
        raise AssertionError(f"no field {label!r}: {self.card().inner_text()}")

    def asks(self, name):
        """Read the task, and take a hint."""
        self.run()
        self.enters()
        self.presses(strings.get("card.control.hint", degree=1, degrees=3)[:4])
        self.card().get_by_text(plain(strings.get(f"task.{name}.hint.1"))).wait_for()
        self.leaves()

    def writes(self, code):
        """Write a cell anew, run it, and be on the next one."""
        self.press("Enter", "Control+a")
        self.page.keyboard.insert_text(code)
        self.press("Shift+Enter")
        self.page.wait_for_function(IDLE, timeout=PATIENCE)

    def checks(self, name):
        """Write something wrong, check, then mend it and check again."""
        stub = self.now()[3]
        head = next(line for line in stub.splitlines() if line.startswith("def "))
        body, slip = WRONG[name]
        self.writes(f"{head}\n{body}")
        self.run()
        report = self.page.locator(".jp-Cell.jp-mod-active .jp-OutputArea-output").last
        assert longest("exercise.check.fails") in report.inner_text()
        if slip:
            assert strings.get(f"task.{name}.slip.{slip}") in report.inner_text()
            self.look(name)
        self.press("ArrowUp")
        self.writes(solution(name))
        self.run()
        assert longest("exercise.check.agrees") in report.inner_text()
        self.press("ArrowDown")

    def look(self, name):
        """A screenshot of what the active cell shows, where docs/lessons.md has one."""
        if name in PICTURES:
            picture, css = PICTURES[name]
            self.page.wait_for_timeout(500)  # its width has been sent and answered
            shown = self.page.locator(f".jp-Cell.jp-mod-active {css}").last
            shown.screenshot(path=self.folder / f"{picture}.png")


def longest(key):
    """The longest part of a text that names no value."""
    return max(re.split(r"\{[^}]*\}", strings.get(key)), key=len)


def solution(name):
    """The cell of the solutions that defines a function."""
    lesson, _, wanted = name.partition(".")
    (source,) = build.sources(build.LESSONS, [lesson])
    found = [cell.source for cell in build.notebook(source, solved=True).cells]
    return next(code for code in found if re.search(rf"^def {wanted}\(", code, re.MULTILINE))


def does(learner, how, name, first):
    """Whatever a cell asks for; of the predictions of a lesson, the first one twice."""
    if how == "exercise":
        learner.asks(name)
    elif how == "predict":
        learner.predicts(name, again=first)
    else:
        learner.answers(name)


def goes_through(learner):
    """Every cell of a lesson from the first to the last; what was met, in order."""
    met, predicted = [], False
    while True:
        index, count, kind, source = learner.now()
        asked = re.search(ASKED, source)
        if asked and kind == "code":
            met.append(asked[2])
            does(learner, asked[1], asked[2], first=not predicted)
            predicted = predicted or asked[1] == "predict"
        elif "return None  #" in source:
            learner.checks(met[-1])
        elif index == count - 1:
            return met
        else:
            learner.press("Shift+Enter")
            learner.page.wait_for_timeout(30)
            learner.page.wait_for_function(IDLE, timeout=PATIENCE)


@pytest.fixture
def learner(open_notebook, tmp_path):
    """A learner in front of a lesson that nobody has opened before."""

    def opens(name):
        page = open_notebook(name)
        page.set_default_timeout(PATIENCE)
        page.set_viewport_size({"width": 1300, "height": 1500})  # a view fits in for its picture
        folder = IMAGES if os.environ.get("MEMLAB_PICTURES") == "1" else tmp_path
        return Learner(page, Path(folder))

    return opens


@pytest.mark.every
@pytest.mark.parametrize(
    "path", [path.relative_to(build.LESSONS).as_posix() for path in (*LESSONS, *TRANSLATED)]
)
def test_a_lesson_is_done_with_the_keyboard_alone(learner, findings, monkeypatch, path):
    language, _, name = path.rpartition("/")
    monkeypatch.setattr(strings, "language", lambda: language or strings.ENGLISH)
    hands = learner(path)
    met = goes_through(hands)
    (source,) = build.sources(build.LESSONS, [name[:2]])
    unsolved = "\n".join(cell.source for cell in build.notebook(source, solved=False).cells)
    assert met == [name for _, name in re.findall(ASKED, unsolved)]
    assert hands.page.evaluate(ERRORS) == []
    assert hands.page.evaluate(SPOKEN) == (language or strings.ENGLISH)
    for css in (".memlab-card", ".memlab-view"):
        if hands.page.locator(css).count():
            assert findings(hands.page, css) == []
    assert {screen: found for screen in SIZES if (found := hidden(hands.page, screen))} == {}
    assert not [each for each in MOVES[name[:2]] if not changes(hands.page, each)]
    counts = COUNTS.get(name[:2], ())
    assert not [each for each in counts if not changes(hands.page, each, NUMBERS)]


def test_the_pictures_of_a_lesson_are_taken_here():
    page = (build.LESSONS.parent / "docs/lessons.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]{40,}\]\(\.\./lessons/images/([\w-]+)\.png\)", page)
    assert sorted(shown) == sorted(name for name, _ in PICTURES.values())
    assert set(shown) <= {path.stem for path in IMAGES.glob("*.png")}


def test_every_card_and_exercise_is_met():
    pages = [*LESSONS, *build.LESSONS.glob(f"{build.APPENDIX}/*.ipynb")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    for name in (*topics(), *tasks()):
        assert name in text
