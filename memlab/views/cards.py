"""Prediction cards and exercises as widgets: they know where a card stands, and compute nothing.

A revealed card has a picture: the options, then guess and figures as bars on one axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

from memlab import strings, units
from memlab.errors import InputError, shorten
from memlab.lesson import words
from memlab.lesson.card import Card, Round
from memlab.lesson.exercise import HINTS, Exercise
from memlab.lesson.guess import Guess
from memlab.lesson.question import Kind, Topic
from memlab.views.draw import text as texts
from memlab.views.draw.chart import Chart
from memlab.views.draw.marks import Fact, symbol
from memlab.views.draw.page import Page
from memlab.views.draw.scale import TIGHT, Scale, bytes_over, counts_over
from memlab.views.draw.svg import Svg
from memlab.views.draw.table import Block, Words
from memlab.views.draw.ways import Bar, bars
from memlab.views.live.widget import Control, Line, Picture, Widget, among, stop, width

WIDEST, NARROWEST = 820, 480
INDENT, PITCH = 44, 26
"""Pixels before the text of an option, and from bar to bar."""
THOUSAND = 1000
"""Ratios stand on their axis in thousandths: its ends are whole numbers."""


# -- prediction cards -----------------------------------------------------------------------------


class PredictionCard(Widget):
    """A card that is answered in the browser; it follows the card when Python changes it."""

    name = "card"
    classes = "memlab-card"
    twin = False

    def __init__(self, card: Card) -> None:
        self.card, self.width = card, WIDEST
        self._entered: dict[int, str] = {}
        self._acting = False
        super().__init__()
        card.watch(self._follow)

    @property
    def entered(self) -> str:
        """What the controls hold and nobody has locked yet."""
        return self._entered.get(len(self.card.rounds), "")

    def page(self, width: float | None = None, alone: bool = True) -> Page:
        """What came out; one that stands ``alone`` brings the question, what was seen, and a line
        for every asking before."""
        turn = self.card.now
        question, wide = words.question(turn), width or WIDEST
        blocks: list[Block] = []
        if alone:
            blocks.append(Words(f"{strings.get('card.predict')} {question}", 14, bold=True))
        if turn.truth:
            blocks += _revealed(turn, wide)
            blocks += [Words(words.said(turn)[-1], 13, gap=14)] if alone else []
        if alone:
            blocks.append(Words(words.earlier(self.card)))
        return Page(question, blocks, wide, titled=False)

    # -- for the widget ---------------------------------------------------------------------

    def heading(self) -> tuple[str, str]:
        return strings.get("card.predict"), words.question(self.card.now)

    def controls(self) -> list[Control]:
        turn = self.card.now
        if turn.open:
            return [*_entry(turn, self.entered), _button("lock"), _button("skip")]
        return [_button("retry" if turn.truth else "reveal")]

    def next(self) -> str:
        return self.controls()[0].name

    def label(self) -> str:
        return spoken(self.card.now) if self.card.now.truth else ""

    def draw(self, stored: bool) -> Picture:
        revealed = self._state == "revealed"
        page = self.page(WIDEST if stored else self.width, alone=stored)
        key = "" if stored else str(self.model_id)
        return Picture(
            svg=page.render(key, standalone=stored) if revealed else "",
            text=self.card.text(),
            state=self._state,
            says=self._says(),
            status=self._status(),
            lines=tuple(Line(line) for line in self._lines()),
            after=tuple(Line(line) for line in words.earlier(self.card)),
        )

    def act(self, name: str, value: Any, dragging: bool) -> None:
        if name == "width":
            self.width = min(max(width(value), NARROWEST), WIDEST)
            return
        self._acting = True
        try:
            self._do(name, value)
        finally:
            self._acting = False

    # -- inside -----------------------------------------------------------------------------

    def _do(self, name: str, value: Any) -> None:
        if name == "lock":
            if not self.entered:
                raise InputError(strings.get("card.control.nothing"))
            self.card.guess(self.entered)
        elif name in ("skip", "reveal", "retry"):
            getattr(self.card, name)()
        elif name in ("guess", "exact"):
            self._enter(_read(self.card.topic, name, value))

    def _enter(self, given: str) -> None:
        self._entered[len(self.card.rounds)] = given
        if given:
            self.card.topic.read(given)

    def _follow(self) -> None:
        """Python changed the card; what the browser did is answered once, at its end."""
        if not self._acting:
            self.refresh()

    @property
    def _state(self) -> str:
        turn = self.card.now
        if turn.truth:
            return "revealed"
        return "open" if turn.open else "skipped" if turn.skipped else "locked"

    def _lines(self) -> list[str]:
        """What is known by now, besides the picture."""
        if self._state == "revealed":
            return [words.said(self.card.now)[-1]]
        if self._state == "locked":
            return [strings.get("card.control.locked", guess=words.given(self.card.now))]
        return [strings.get("card.control.skipped")] if self._state == "skipped" else []

    def _status(self) -> str:
        """An amount in bytes: whether its unit was read as it was meant."""
        topic = self.card.topic
        given = _readable(topic, self.entered) if self._state == "open" else None
        if given is None or topic.kind is not Kind.AMOUNT:
            return ""
        nbytes = units.exact(round(given.value))
        if given.text == nbytes:
            return ""
        return strings.get("card.control.read", guess=given.text, bytes=nbytes)

    def _says(self) -> str:
        """What the ear alone is told: the picture, or the question on new numbers."""
        turn = self.card.now
        if turn.truth:
            return f"{spoken(turn)}. {_diagnosis(turn)}".strip()
        again = self._state == "open" and len(self.card.rounds) > 1
        return words.question(turn) if again else ""

    def __repr__(self) -> str:
        return self.card.text()


def prediction_card(card: Card) -> PredictionCard:
    """The widget of a card: the same one wherever it is shown.

    Raises:
        InputError: no card.
    """
    if not isinstance(card, Card):
        raise InputError(f"a card is shown, got {shorten(card)}; try lesson.predict('02.output').")
    return _prediction(card)


_prediction = cache(PredictionCard)


# -- its controls ---------------------------------------------------------------------------------


def _entry(turn: Round, entered: str) -> list[Control]:
    """Where a guess is entered, with what has been."""
    topic, label = turn.topic, strings.get(f"card.control.{turn.topic.kind}")
    if topic.kind is Kind.CHOICE:
        options = tuple((name, words.option(turn, name)) for name in topic.options)
        return [Control("radio", "guess", label, entered, options=options)]
    if topic.kind is Kind.AMOUNT:
        example = strings.get("card.control.example")
        return [Control("text", "guess", label, entered, placeholder=example)]
    given = _readable(topic, entered)
    slider = Control(
        "range",
        "guess",
        label,
        _place(topic, given),
        least=0,
        most=len(topic.stops) - 1,
        spoken=words.times_of(given.text) if given else strings.get("card.control.unset"),
        ends=(topic.stops[0], topic.stops[-1]),
        unset=given is None,
    )
    exact = strings.get("card.control.times_exact")
    return [slider, Control("text", "exact", exact, entered, beside=True)]


def _read(topic: Topic, name: str, value: Any) -> str:
    """What a control has sent, as a guess is typed."""
    if topic.kind is Kind.TIMES and name == "guess":
        return topic.stops[stop(name, value, 0, len(topic.stops) - 1)]
    return "" if value is None else str(value)


def _place(topic: Topic, given: Guess | None) -> float:
    """Where a ratio lies among the stops; in the middle before anything is entered: a start at 1
    would suggest an answer."""
    stops = [Fraction(each) for each in topic.stops]
    return len(stops) // 2 if given is None else among(stops, given.value)


def _readable(topic: Topic, entered: str) -> Guess | None:
    """What was entered, where it is a number of bytes or times."""
    try:
        found = topic.read(entered) if entered else None
    except InputError:
        return None
    return found if isinstance(found, Guess) else None


def _button(name: str) -> Control:
    label = strings.get(f"card.control.{name}")
    busy = strings.get("card.control.busy") if name == "reveal" else label
    return Control("button", name, label, place="below", busy=busy)


# -- what a reveal shows --------------------------------------------------------------------------


@dataclass(frozen=True)
class Option(Block):
    """An answer that could be chosen: a ring, filled where it was, and a tick where it is right.
    The diagnosis stands below the one that was chosen."""

    answer: str
    marks: str
    diagnosis: str
    chosen: bool
    right: bool
    gap: float = 0

    @property
    def words(self) -> list[Words]:
        """The option with what it is besides, and the diagnosis."""
        besides = [(f"· {self.marks}", True)] if self.marks else []
        said = [Words([[(self.answer, False), *besides]], 13, left=INDENT)]
        return said + [Words(self.diagnosis, 13, left=INDENT + 10)] * bool(self.diagnosis)

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        middle = y + 8.5
        if self.right:
            svg.path(f"M{x + 2} {middle}l4 5 8-11", class_="rule", stroke_width=2.4)
        symbol(svg, "ring", x + 28, middle, 11)
        if self.chosen:
            symbol(svg, "dot", x + 28, middle, 6)
        said, *diagnosis = self.words
        y = said.draw(svg, x, y, width)
        for each in diagnosis:
            top, y = y + 2, each.draw(svg, x, y + 2, width)
            svg.line(x + INDENT + 1, top, x + INDENT + 1, y, class_="rule faint", stroke_width=2)
        return y + 3

    def text(self) -> list[str]:
        return [line for each in self.words for line in each.text()]


def spoken(turn: Round) -> str:
    """The picture of a reveal in one line."""
    marked = [
        f"{marks}: {words.option(turn, answer).removesuffix('.')}"
        for answer in turn.topic.options
        if (marks := _marks(turn, answer))
    ]
    return "; ".join([*marked, *(f"{bar.name}: {bar.label}" for bar in _bars(turn))])


def _revealed(turn: Round, width: float) -> Iterator[Block]:
    """The options, or the diagnosis of a number, then the bars."""
    assert turn.truth is not None
    diagnosis = _diagnosis(turn)
    for index, answer in enumerate(turn.topic.options):
        chosen, right = answer == turn.guess, answer == turn.truth.value
        said = words.option(turn, answer), _marks(turn, answer), diagnosis * chosen
        yield Option(*said, chosen, right, gap=0 if index else 14)
    if not turn.topic.options:
        yield Words(diagnosis, 13, gap=10)
    if found := _bars(turn):
        yield _chart(found, turn.topic.kind, width)


def _diagnosis(turn: Round) -> str:
    """What is said about the guess; empty without one."""
    return words.diagnosis(turn, turn.verdict) if turn.verdict else ""


def _marks(turn: Round, answer: str) -> str:
    """What an answer is besides an option: ``"your guess, right answer"``."""
    assert turn.truth is not None
    keys = {"card.guess": answer == turn.guess, "card.right": answer == turn.truth.value}
    return ", ".join(strings.get(key) for key, holds in keys.items() if holds)


def _bars(turn: Round) -> list[Bar]:
    """The guess, where it is a number, then the figures."""
    assert turn.truth is not None
    kind, found = turn.topic.kind, []
    if isinstance(turn.guess, Guess):
        name = strings.get("card.guess")
        found.append(_bar("guess", turn.guess.value, words.given(turn), name, kind))
    for figure in turn.truth.figures:
        text = words.amount(figure.value, kind)
        found.append(_bar(figure.origin, figure.value, text, words.figure_name(figure), kind))
    return found


def _bar(origin: str, value: Fraction, text: str, name: str, kind: Kind) -> Bar:
    per = THOUSAND if kind is Kind.TIMES else 1
    return Bar(float(per * value), origin, text, Fact(name, text), name)


def _chart(found: list[Bar], kind: Kind, width: float) -> Chart:
    """All bars on one axis."""
    longest = ceil(max(bar.value for bar in found))
    times = kind is Kind.TIMES
    scale: Scale = counts_over(longest, "x", THOUSAND) if times else bytes_over(longest, TIGHT)
    told = [f"{bar.name}: {bar.label}" for bar in found]
    room = 0.4 * width
    short = [bar._replace(name=texts.shortened(str(bar.name), room, 12, True)) for bar in found]
    return bars(short, scale, PITCH, told=told, gap=14)


# -- exercises ----------------------------------------------------------------------------------


class ExerciseCard(Widget):
    """A task with hints, each more direct than the last, and a solution, when they are asked for.

    What was asked for stays below the task.
    """

    name = "exercise"
    classes = "memlab-card"
    twin = False

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        super().__init__()
        exercise.watch(self.refresh)

    def heading(self) -> tuple[str, str]:
        lead = strings.get("exercise.heading", name=self.exercise.task.function)
        return lead, self.exercise.text().removeprefix(lead).strip()

    def controls(self) -> list[Control]:
        """A hint as long as there is another one, and the solution."""
        labels = {"solution": strings.get("card.control.solution")}
        degree = self.exercise.degree + 1
        if degree <= HINTS:
            hint = strings.get("card.control.hint", degree=degree, degrees=HINTS)
            labels = {"hint": hint} | labels
        return [
            Control("button", name, label, place="below", busy=label)
            for name, label in labels.items()
        ]

    def next(self) -> str:
        return "solution"

    def draw(self, stored: bool) -> Picture:
        """No picture: what was asked for, here or in a cell; code keeps its lines."""
        given = [note.text() for note in self.exercise.given]
        lines = tuple(Line(text, code="\n" in text) for text in given)
        return Picture(svg="", text=self.exercise.text(), lines=lines)

    def act(self, name: str, value: Any, dragging: bool) -> None:
        if name in ("hint", "solution"):
            getattr(self.exercise, name)()

    def __repr__(self) -> str:
        return self.exercise.text()


def exercise_card(exercise: Exercise) -> ExerciseCard:
    """The widget of an exercise: the same one wherever it is shown.

    Raises:
        InputError: no exercise.
    """
    if not isinstance(exercise, Exercise):
        raise InputError(
            f"an exercise is shown, got {shorten(exercise)}; "
            "try lesson.exercise('02.largest_batch')."
        )
    return _exercise(exercise)


_exercise = cache(ExerciseCard)
