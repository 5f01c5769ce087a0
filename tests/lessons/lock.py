"""The lock: while a card is open, nothing that a learner can see gives its answer away.

    python -m tests.lessons.lock 02        # every leak of lesson 02, each as a sentence

A learner sees what stands above a card, its own cell, and what follows up to the next heading or
card: prose, code with the names in it, outputs with what pictures tell a screen reader, live views
with their buttons, and whatever their controls can be set to. Cards further up may be answered:
then their findings and what they run stand there too. And a card has its own slider.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from lessons import build, stored
from memlab import units
from memlab.lesson import sentences
from memlab.lesson.card_question import AnswerKind, Attempt, Purpose, Question
from memlab.lesson.phrases import holds as holds  # also for tests of the lock
from tests.lessons import numerals, truths
from tests.lessons.numerals import Numeral
from tests.lessons.parts import ASKED, Lesson

ROOT = Path(__file__).resolve().parents[2]
HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
COUNTED = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty""".split()  # noqa: SIM905 - shorter to read
NAMED = {2: ("twice", "double"), 3: ("threefold",), Fraction(1, 2): ("half",),
         Fraction(1, 3): ("a third",), Fraction(1, 4): ("a quarter",)}  # fmt: skip
TIMES = ("x", "×", "times")
TWO_DIGITS = 10
"""Least count that no text may hold by chance."""
LONG = 4
"""Digits from which on a number of bytes needs no unit to be known."""


class Seen(NamedTuple):
    """A piece of what a learner sees: where, what kind of thing, its words."""

    cell: str
    kind: str
    text: str


class Shown(NamedTuple):
    """A live view, one of its buttons, or a control at one of its values: how it is reached, its
    settings, its words. ``offers`` are the values that its controls have for each setting."""

    cell: str
    how: str
    state: dict[str, Any]
    text: str
    offers: dict[str, list[Any]] = {}  # noqa: RUF012 - never changed


# -- what a learner sees --------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """The cells around one card: those before it, its own, and those up to the next heading."""

    topic: Question
    above: list[dict[str, Any]]
    own: dict[str, Any]
    below: list[dict[str, Any]]

    def cells(self) -> list[dict[str, Any]]:
        """All of them; a change is made above, so only what follows could give it away."""
        before = [] if self.topic.part is Purpose.CHANGE else self.above
        return [*before, self.own, *self.below]

    def seen(self) -> Iterator[Seen]:
        for cell in self.cells():
            source, kind = "".join(cell["source"]), cell["cell_type"]
            if stored.SOLUTION not in cell["metadata"].get("tags", []):
                yield Seen(cell["id"], "code" if kind == "code" else "prose", source)
            if cell is not self.own:
                yield from outputs(cell)


def outputs(cell: dict[str, Any]) -> Iterator[Seen]:
    """Texts of a cell's outputs, also those for a screen reader or a script."""
    if shown := re.sub(r"[ \t]+", " ", truths.text_of({**cell, "source": ""})).strip():
        yield Seen(cell["id"], "output", shown)


def pages(lesson: Lesson) -> Iterator[Page]:
    """The page of each card: what is answered above stands there with its answer."""
    learners = lesson.learners["cells"]
    reveals = [cell for cell in lesson.solved["cells"] if is_reveal(cell)]
    for index, cell in enumerate(learners):
        topic = lesson.topics.get(asked(cell))
        if topic is None:
            continue
        above = [*learners[:index], *(other for other in reveals if place(other) < place(cell))]
        below = list(until_next(learners[index + 1 :]))
        yield Page(topic, sorted(above, key=place), cell, below)


def place(cell: dict[str, Any]) -> int:
    """Position of a cell in the source."""
    return int(cell["id"].rpartition("-")[2])


def until_next(cells: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The cells up to the next heading or card."""
    for cell in cells:
        source = "".join(cell["source"])
        if asked(cell):
            return
        if cell["cell_type"] == "markdown" and (heading := HEADING.search(source)):
            yield {**cell, "source": source[: heading.start()]}
            return
        yield cell


def asked(cell: dict[str, Any]) -> str:
    """The question of a cell that shows a card; empty where it shows none."""
    match = ASKED.search("".join(cell["source"])) if cell["cell_type"] == "code" else None
    return "" if match is None or is_reveal(cell) else match[1]


def is_reveal(cell: dict[str, Any]) -> bool:
    return ".reveal()" in "".join(cell["source"])


# -- what would give a card away ------------------------------------------------------------------


@dataclass(frozen=True)
class Secrets:
    """Values, phrases and settings that must not be seen while a card is open."""

    topic: Question
    values: tuple[tuple[str, Fraction], ...]
    named: frozenset[tuple[Fraction, str]]

    def found(self, text: str) -> Iterator[tuple[str, str]]:
        """Parts of a text that give the card away, each with its meaning."""
        yield from self.phrases(text)
        for numeral in numerals.find(text):
            if (numeral.value, numeral.unit) in self.named:
                continue
            for what, value in self.values:
                if tells(numeral, value, self.topic.kind):
                    yield numeral.text, what
                    break
        if self.topic.kind is AnswerKind.TIMES:
            for what, value in self.values:
                yield from ((word, what) for word in spelled(value) if holds(text, word))

    def phrases(self, text: str) -> Iterator[tuple[str, str]]:
        """Phrases of a text that the card lists as giving its answer away."""
        yield from ((phrase, "its 'gives'") for phrase in self.topic.gives if holds(text, phrase))

    def shown(self, view: Shown) -> Iterator[dict[str, Any]]:
        """The settings that are the answer, as a view has them or its controls can have them."""
        for settings in self.topic.shows:
            values = {name: plain(value) for name, value in settings.items()}
            if all(name in view.state and value in (view.state[name], *view.offers.get(name, ()))
                   for name, value in values.items()):  # fmt: skip
                yield dict(settings)


def secrets(topic: Question) -> Secrets:
    """The truth of a card and the figures of its reveal, but for what its question names."""
    truth = topic.truth(topic.first)
    asks = sentences.question(Attempt(topic, topic.first))
    told = numerals.find(asks)
    named = frozenset((numeral.value, numeral.unit) for numeral in told)
    values = [] if isinstance(truth.value, str) else [("its answer", truth.value)]
    values += [
        ("a figure of its reveal", figure.value)
        for figure in truth.figures
        if figure.value and not any(tells(known, figure.value, topic.kind) for known in told)
    ]
    return Secrets(topic, tuple((what, value) for what, value in values if value), named)


def tells(numeral: Numeral, value: Fraction, kind: AnswerKind) -> bool:
    """True if a numeral is a value: to 2 digits or more, or exactly, with its unit."""
    unit = numeral.unit
    if kind is AnswerKind.TIMES:
        if unit == "%":
            others = () if value.denominator == 1 else (value - 1, 1 / value, 1 - 1 / value)
            return any(close(numeral, 100 * share) for share in (value, *others))
        if unit in TIMES:
            return close(numeral, value)
        bare = not unit and "." in numeral.text
        return bare and (digits(numeral) > 2 or numeral.value == value) and close(numeral, value)
    if kind is AnswerKind.COUNT:
        return not unit and numeral.value == value >= TWO_DIGITS
    if unit in units.UNITS or unit.startswith("byte"):
        return close(numeral, value / units.UNITS.get(unit, 1))
    return not unit and numeral.value == value and len(str(int(value))) >= LONG


def close(numeral: Numeral, value: Fraction) -> bool:
    """True if a number is the value, to the digits that are written and at least 2, or exactly."""
    near = abs(numeral.value - value) <= numeral.half
    return numeral.value == value or (near and digits(numeral) > 1)


def digits(numeral: Numeral) -> int:
    """Number of significant digits of a numeral: 500 has one, 1.50 has three."""
    match = re.search(r"[\d.,]*\d", numeral.text)
    text = match[0].replace(",", "") if match else ""
    return len(text.replace(".", "").lstrip("0") if "." in text else text.rstrip("0"))


def spelled(value: Fraction) -> list[str]:
    """A small whole ratio in words: nine times, 9-fold, twice."""
    words = list(NAMED.get(value, ()))
    if value.denominator == 1 and 1 < value < len(COUNTED):
        word = COUNTED[int(value)]
        words += [f"{value}-fold", f"{word}-fold", f"{word}fold", f"{word} times"]
    return words


def plain(value: Any) -> Any:
    """A setting as JSON has it: a network by its name."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(getattr(value, "name", value))


# -- the leaks ------------------------------------------------------------------------------------


def locked(lesson: Lesson) -> list[str]:
    """No text, code or output gives an open card away."""
    breaks = []
    for page in pages(lesson):
        secret = secrets(page.topic)
        breaks += [*unlisted(page.topic, secret), *ends(page.topic), *printed(page.topic)]
        for seen in page.seen():
            leaks = dict.fromkeys(secret.found(seen.text))
            if seen.kind == "code":  # def with_the_name(): ...
                leaks |= dict.fromkeys(secret.phrases(seen.text.replace("_", " ")))
            breaks += [f"{page.topic.name}: {seen.kind} of cell {seen.cell} says {text!r}, {what}"
                       for text, what in leaks]  # fmt: skip
    return breaks


def unlisted(topic: Question, secret: Secrets) -> list[str]:
    """A card that lists nothing to look for."""
    if topic.gives or (secret.values and topic.kind is not AnswerKind.CHOICE):
        return []
    return [f"{topic.name}: it lists no 'gives', so nothing can be looked for"]


def ends(topic: Question) -> list[str]:
    """A slider that ends at the answer, or whose last stop is the nearest one."""
    value = topic.truth(topic.first).value
    if not topic.stops or isinstance(value, str):
        return []
    stops = [Fraction(stop) for stop in topic.stops]
    nearest = min(stops, key=lambda stop: abs(stop - value))
    end = nearest in (stops[0], stops[-1])
    return [f"{topic.name}: its slider ends at {nearest}, its answer"] if end else []


def printed(topic: Question) -> list[str]:
    """A change that asks for an amount: the view that is changed prints it."""
    asks = topic.part is Purpose.CHANGE and topic.kind is AnswerKind.AMOUNT
    return [f"{topic.name}: a change asks for an amount, which its view prints"] if asks else []


def view_leaks(lesson: Lesson, shown: list[Shown]) -> list[str]:
    """Live views that open with the answer, or offer it at a press of a button; also those above a
    change, in which the learner looks for its answer."""
    breaks = []
    for page in pages(lesson):
        secret, here = secrets(page.topic), {cell["id"] for cell in page.cells()}
        above = {cell["id"] for cell in page.above}
        for view in shown:
            if view.cell not in here | above or view.cell == page.own["id"]:
                continue
            where = f"{page.topic.name}: {view.how}, in cell {view.cell},"
            breaks += [f"{where} shows {settings}" for settings in secret.shown(view)]
            if view.cell not in here:
                continue
            leaks = dict.fromkeys(secret.found(view.text))
            breaks += [f"{where} says {text!r}, {what}" for text, what in leaks]
    return breaks


def views_of(notebook: Path) -> list[Shown]:
    """Every live view of a notebook, run in a process of its own, with what its buttons show."""
    call = [sys.executable, "-m", "tests.lessons.views_shown", str(notebook)]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Shown(*fields) for fields in json.loads(done.stdout.splitlines()[-1])]


def main(names: list[str]) -> int:
    """Print every leak of the named lessons, or of all."""
    from tests.lessons.parts import read

    count = 0
    for source in build.sources(build.LESSONS, names):
        lesson = read(source)
        solved = [path for path, is_solved in build.targets(source).items() if is_solved]
        leaks = [*locked(lesson), *view_leaks(lesson, views_of(solved[0]))]
        print(*(f"{leak}\n" for leak in leaks), sep="", end="", flush=True)
        count += len(leaks)
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
