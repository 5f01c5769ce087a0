"""Widgets of prediction cards: they show the state of a card and compute no answers.

A revealed card has one line with the answer and the guesses. Below it stand the picture that
belongs to the question and the finding, side by side; without such a picture, guesses and figures
are bars on one axis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from html import escape
from math import ceil
from time import monotonic
from typing import Any

from ipywidgets import HTML, VBox
from ipywidgets import Output as Slot

from memlab import strings, units
from memlab.course import reveals
from memlab.errors import InputError, shorten
from memlab.lesson import sentences
from memlab.lesson.card import Card
from memlab.lesson.card_question import AnswerKind, Attempt, Purpose, Question
from memlab.lesson.typed_guess import Guess
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.alternatives import LabelledBar, bars
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Fact, symbol
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import TIGHT, Scale, bytes_over, counts_over
from memlab.pictures.draw.svg import NARROWEST, Svg
from memlab.pictures.draw.table import PageBlock, Paragraphs
from memlab.pictures.live.outputs import Output, outputs_of
from memlab.pictures.live.widget import Control, Paragraph, Picture, Widget, among, stop, width
from memlab.strings import gettext as _

WIDEST = 820
"""Pixels of the widest picture."""
INDENT, PITCH = 44, 26
"""Pixels before the text of an option, and from bar to bar."""
THOUSANDS = re.compile(r"\d{1,3},\d{3}(?!,?\d)(?!\s*B\b)")
"""A comma that some people set before decimals."""
THOUSAND = 1000
"""Ratios stand on their axis in thousandths: its ends are whole numbers."""
Followed = tuple[Callable[..., Any], int]
"""Function under an answer, and the number of the attempt that it runs for: 0 for all of them."""


# -- prediction cards -----------------------------------------------------------------------------


class PredictionCard(Widget):
    """Widget of a card, which is answered in the browser and also follows changes
    made in Python."""

    name = "card"
    classes = "memlab-card"
    twin = False

    def __init__(self, card: Card) -> None:
        self.card, self.width = card, WIDEST
        self._entered: dict[tuple[int, str], str] = {}
        self._followed: dict[Followed, list[Output]] = {}
        self.slot, self.working = Slot(), False
        self.picture = reveals.picture_of(card.topic.name)
        super().__init__()
        card.watch(self._follow)

    @property
    def parts(self) -> tuple[str, ...]:
        return self.card.parts

    @property
    def entered(self) -> str:
        """Guess or revision that was entered in the controls and is not locked yet."""
        return self._entered.get(self._place(), "")

    @property
    def because(self) -> str:
        """Reason that was entered in its text box."""
        return self._entered.get(self._place("because"), "")

    def page(self, width: float | None = None, alone: bool = True) -> Page:
        """Return the picture of a card.

        Args:
            width: pixels; None is the widest.
            alone: True for a page without the widget around it: it adds the question with its
                options, the result, its explanation, and a line for each earlier attempt.
        """
        turn, wide = self.card.now, width or WIDEST
        figures = _bars(turn) if turn.revealed else []
        chart: list[PageBlock] = []
        if figures and not self.is_followed:
            chart = [_chart(figures, turn.topic.kind, wide)]
        elif figures and alone:
            chart = [Paragraphs([f"{bar.name}: {bar.label}" for bar in figures], 13, gap=8)]
        blocks = [*_asked(turn), *chart, *_told(self.card.rounds)] if alone else chart
        return Page(sentences.question(turn), blocks, wide, titled=False)

    # -- for the widget ---------------------------------------------------------------------

    def heading(self) -> tuple[str, str]:
        return sentences.heading(self.card.now)

    def controls(self) -> list[Control]:
        turn, topic = self.card.now, self.card.now.topic
        asks = topic.part is Purpose.PREDICT
        if turn.pending and self.working:
            return []
        if turn.open:
            reason = [_reason_control(self.because)] if asks else []
            lock = _button("lock", "lock" if asks else "check", topic)
            return [
                *_guess_controls(turn, self.entered),
                *reason,
                lock,
                _button("skip", "skip", topic),
            ]
        if turn.state == "diagnosed":
            revise = _button("revise", "revise" if asks else "check", topic)
            return [
                *_guess_controls(turn, self.entered),
                revise,
                _button("reveal", "answer", topic),
            ]
        if turn.revealed:
            return [_button("retry", "retry", topic)] if topic.draw else []
        return [_button("reveal", "reveal", topic)]

    def next(self) -> str:
        return next((control.name for control in self.controls()), "")

    def label(self) -> str:
        return spoken(self.card.now) if self.card.now.revealed else ""

    def draw(self, stored: bool) -> Picture:
        turn = self.card.now
        page = self.page(WIDEST if stored else self.width, alone=stored)
        key = "" if stored else str(self.model_id)
        return Picture(
            svg=page.render(key, standalone=stored) if page.blocks else "",
            text=self.card.text(),
            state=turn.state,
            says=self._says(),
            status=self._status(),
            verdict=tuple(_verdict(turn)),
            lines=tuple(self._lines()),
            after=tuple(self._after()),
        )

    def on_event(self, name: str, value: Any, dragging: bool) -> None:
        if name == "width":
            self.width = min(max(width(value), NARROWEST), WIDEST)
            return
        self.card.pressing = True
        try:
            self._do(name, value)
        finally:
            self.card.pressing = False

    # -- inside -----------------------------------------------------------------------------

    def _do(self, name: str, value: Any) -> None:
        if name in ("lock", "revise"):
            if not self.entered:
                raise InputError(strings.get("card.control.nothing"))
            if name == "lock":
                self.card.guess(self.entered, self.because)
            else:
                self.card.revise(self.entered)
        elif name in ("skip", "reveal", "retry"):
            getattr(self.card, name)()
        elif name in ("guess", "exact"):
            self._enter(_control_value(self.card.topic, name, value))
        elif name == "because":
            self._entered[self._place(name)] = "" if value is None else str(value)

    def _place(self, what: str = "") -> tuple[int, str]:
        """Key of an entry: the number of the attempt, and the kind of entry (``"guess"``,
        ``"revision"`` or ``what``)."""
        again = self.card.now.state == "diagnosed"
        return len(self.card.rounds), what or ("revision" if again else "guess")

    def _enter(self, typed: str) -> None:
        self._entered[self._place()] = typed
        if typed:
            self.card.topic.read(typed)

    def _follow(self) -> None:
        """Refresh the widget after a change in Python; a change by the browser is refreshed once,
        at its end."""
        if "container" in vars(self):
            self.fill()
        if not self.card.pressing:
            self.refresh()

    def _lines(self) -> list[Paragraph]:
        """Return the paragraphs beside the picture that may be shown in the current state."""
        turn = self.card.now
        if turn.revealed:
            told = [Paragraph(line, dim=True) for line in sentences.corrections(turn)]
            seen = [Paragraph(line) for line in filter(None, [sentences.seen(turn)])]
            return [*seen, *_finding_paragraphs(turn), *told]
        return [Paragraph(line) for line in self._known()]

    def _known(self) -> list[str]:
        """Return the lines that may be shown before the answer: the locked guess, its reason, its
        diagnosis."""
        turn = self.card.now
        if turn.state == "diagnosed":
            return [sentences.hint(turn)]
        if turn.state == "locked":
            return [strings.get("card.control.locked", guess=sentences.given(turn))]
        return [strings.get("card.control.skipped")] if turn.skipped else []

    def _after(self) -> list[Paragraph]:
        """Return a line for each earlier attempt, and the explanation of the first one if there are
        later ones."""
        first, *others = self.card.rounds
        before = [Paragraph(line) for line in sentences.earlier_attempts(self.card.rounds)]
        return before + (_finding_paragraphs(first) if others else [])

    def _status(self) -> str:
        """Return how an entry is read, an amount in bytes or a number in digits; empty if that adds
        nothing."""
        topic, now = self.card.topic, self.card.now
        if self.working:
            return strings.get("card.control.busy")
        guess = _readable(topic, self.entered) if now.state in ("open", "diagnosed") else None
        if guess is None:
            return ""
        typed = self.entered.strip()
        if topic.kind is not AnswerKind.AMOUNT:
            known = guess.text.replace(",", ""), f"{float(guess.value):g}"
            if typed.replace(",", "") in known:
                return ""
            return strings.get("card.control.number", guess=typed, number=guess.text)
        nbytes = units.exact(round(guess.value))
        if typed == nbytes:
            return ""
        status = strings.get("card.control.read", guess=typed, bytes=nbytes)
        comma = THOUSANDS.match(typed)
        return status + (strings.get("card.control.comma", number=comma[0]) if comma else "")

    def _says(self) -> str:
        """Return the words for a screen reader: the answer beside the guesses, or the question
        on new numbers; the lines below the picture are read aloud themselves."""
        turn = self.card.now
        if turn.revealed:
            return f"{spoken(turn)}."
        return sentences.question(turn) if turn.open and turn.again else ""

    def __repr__(self) -> str:
        return self.card.text()

    # -- what stands under the answer -------------------------------------------------------

    @property
    def is_followed(self) -> bool:
        """True if a picture or the outputs of functions stand under the answer."""
        return self.picture is not None or bool(self.card.follows)

    @cached_property
    def container(self) -> VBox:
        """Card with the place under its answer; the place is empty until the answer is revealed."""
        container = VBox([self, self.slot])
        for name in ("memlab", "memlab-asked"):  # what scales a view scales its card
            container.add_class(name)
        return container

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Let the card say that it works while a ``with`` block runs."""
        self.working = True
        self.refresh()
        try:
            yield
        finally:
            self.working = False
            self.refresh()

    def recall(self) -> None:
        """Restore the answer that the progress file holds, while the card says that it works."""
        error = ""
        try:
            with self.at_work():
                self.card.recall()
        except InputError as refused:
            error = str(refused)
        self.refresh(error)

    def fill(self) -> list[Output]:
        """Return what stands under the answer, after it was put there: the picture of the question
        on the current numbers, and the outputs of the functions registered with ``then``.

        The answer is shown first, as the picture may take seconds. What was interrupted runs with
        the next change of the card.
        """
        functions = self._functions()
        try:
            if missing := [key for key in functions if key not in self._followed]:
                self.slot.outputs = (working(self.card.topic),)
                self.refresh()
                with reveals.progress_told(partial(self._show_progress, monotonic())):
                    for key in missing:
                        self._followed[key] = outputs_of(functions[key], self.card.topic.name)
        finally:
            self.slot.outputs = self._outputs()
        return list(self.slot.outputs)

    def _show_progress(self, begun: float, what: str, done: int, total: int) -> None:
        """Show how far the picture under the answer is, with the seconds since it was begun."""
        parts = {"what": what, "done": done, "total": total, "seconds": round(monotonic() - begun)}
        text = strings.get("card.control.progress", **parts, about=self.card.topic.seconds)
        self.slot.outputs = (_waiting(text, f' value="{done}" max="{total}"'),)

    def _functions(self) -> dict[Followed, Callable[[], Any]]:
        """Return the functions whose outputs stand under the current answer; none before it is
        revealed. The picture, and what takes numbers, runs for each attempt, anything else once."""
        picture, place = self.picture, len(self.card.rounds)
        functions: dict[Followed, Callable[[], Any]] = {}
        if not self.card.now.revealed:
            return functions
        if picture:
            functions[picture, place] = partial(picture, self.card.now)
        for function in self.card.follows.values():
            if numbers := self.card.taken(function):
                functions[function, place] = partial(function, **numbers)
            else:
                functions[function, 0] = function
        return functions

    def _outputs(self) -> tuple[Output, ...]:
        """Return the outputs under the current answer, as far as they are there."""
        return tuple(part for key in self._functions() for part in self._followed.get(key, ()))


@cache
def unseen() -> HTML:
    """Return a widget without anything to see."""
    widget = HTML()
    widget.add_class("memlab-unseen")
    return widget


def busy(topic: Question) -> str:
    """Return the text shown while an answer is computed; it names the seconds if
    that takes long."""
    key = "busy_for" if topic.seconds else "busy"
    return strings.get(f"card.control.{key}", seconds=topic.seconds)


def working(topic: Question) -> Output:
    """Return the text shown while an answer is computed as an output of a cell,
    with a moving bar."""
    return _waiting(busy(topic))


def _waiting(text: str, share: str = "") -> Output:
    """Return a text with a bar as an output of a cell; the attributes ``share`` say how much of the
    bar is filled, and it moves without them."""
    bar = f"<progress{share}></progress>"
    data = {"text/plain": text, "text/html": f"<p>{escape(text)} {bar}</p>"}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def prediction_card(card: Card) -> PredictionCard:
    """Return the widget of a card, the same one at each call.

    Args:
        card: the card, from ``lesson.predict``, ``lesson.recall`` or ``lesson.change``.

    Raises:
        InputError: ``card`` is no card.

    >>> from memlab import lesson, views
    >>> views.prediction_card(lesson.predict("02.halve")).name
    'card'
    """
    if not isinstance(card, Card):
        raise InputError(_("a card is shown, got {given}; try lesson.predict('02.output').",
                           given=shorten(card)))  # fmt: skip
    return _prediction(card)


_prediction = cache(PredictionCard)


def _finding_paragraphs(turn: Attempt) -> list[Paragraph]:
    """Return the explanation of the answer as paragraphs, with their bold words and code."""
    return [Paragraph(part, marked=True) for part in sentences.marked_finding(turn)]


# -- its controls ---------------------------------------------------------------------------------


def _guess_controls(turn: Attempt, entered: str) -> list[Control]:
    """Return the controls for a guess or revision, filled with the text entered so far."""
    topic, key = turn.topic, "again" if turn.guess else turn.topic.kind
    label = strings.get(f"card.control.{key}")
    if topic.kind is AnswerKind.CHOICE:
        options = tuple((name, sentences.option(turn, name)) for name in topic.options)
        return [Control("radio", "guess", label, entered, options=options)]
    if topic.kind is AnswerKind.AMOUNT:
        example = strings.get("card.control.example.amount")
        return [Control("text", "guess", label, entered, placeholder=example)]
    guess = _readable(topic, entered)
    unset = strings.get("card.control.unset")
    spoken_value = sentences.number_text(guess.text, topic.kind) if guess else unset
    slider = Control("range", "guess", label, _slider_place(topic, guess), least=0,
                     most=len(topic.stops) - 1, spoken=spoken_value, unset=guess is None,
                     ends=(topic.stops[0], topic.stops[-1]))  # fmt: skip
    exact = strings.get(f"card.control.{topic.kind}_exact")
    return [slider, Control("text", "exact", exact, entered, beside=True)]


def _control_value(topic: Question, name: str, value: Any) -> str:
    """Return the value that a control sent as text, as if the guess had been typed."""
    if topic.kind in (AnswerKind.TIMES, AnswerKind.COUNT) and name == "guess":
        return topic.stops[stop(name, value, 0, len(topic.stops) - 1)]
    return "" if value is None else str(value)


def _slider_place(topic: Question, guess: Guess | None) -> float:
    """Return the position of a ratio or a count on its slider; the middle before anything is
    entered, as a start at 1 would suggest an answer."""
    stops = [Fraction(end) for end in topic.stops]
    return len(stops) // 2 if guess is None else among(stops, guess.value)


def _readable(topic: Question, entered: str) -> Guess | None:
    """Return the entered guess if it is a number that can be read; None otherwise."""
    try:
        reading = topic.read(entered) if entered else None
    except InputError:
        return None
    return reading if isinstance(reading, Guess) else None


def _reason_control(entered: str) -> Control:
    """Return the text box for the reason of a guess, which may stay empty."""
    label, example = strings.get("card.control.because"), strings.get("card.control.reason")
    return Control("text", "because", label, entered, placeholder=example, wide=True)


def _button(name: str, label: str, topic: Question) -> Control:
    label = strings.get(f"card.control.{label}")
    works = name in ("lock", "revise", "reveal")
    waits = busy(topic) if works else label
    return Control("button", name, label, place="below", busy=waits,
                   seconds=topic.seconds * works)  # fmt: skip


# -- what a reveal shows --------------------------------------------------------------------------


@dataclass(frozen=True)
class Option(PageBlock):
    """An option of a question: a ring. Once the answer is shown, the ring of a chosen option is
    filled, with the diagnosis below it, and a tick stands before the right one."""

    turn: Attempt
    answer: str
    gap: float = 0

    @property
    def kinds(self) -> list[str]:
        """Marks of the option: any of ``"guess"``, ``"revision"`` and ``"right"``."""
        turn = self.turn
        if not turn.revealed or turn.truth is None:
            return []
        answers = {"guess": turn.guess, "revision": turn.revision, "right": turn.truth.value}
        return [kind for kind, answer in answers.items() if answer == self.answer]

    @property
    def marks(self) -> str:
        """Marks of the option in words: ``"your guess, right answer"``."""
        return ", ".join(strings.get(f"card.{kind}") for kind in self.kinds)

    @property
    def diagnosis(self) -> str:
        """Diagnosis of the option if it was the guess or the revision; empty otherwise."""
        turn = self.turn
        for chosen, verdict in ((turn.guess, turn.verdict), (turn.revision, turn.second)):
            if turn.revealed and self.answer == chosen and verdict:
                return sentences.diagnosis(turn, verdict, self.answer)
        return ""

    @property
    def words(self) -> list[Paragraphs]:
        """Paragraphs of the option: its text with its marks, then its diagnosis."""
        besides = [(f"· {self.marks}", True)] if self.marks else []
        option = (sentences.option(self.turn, self.answer), False)
        paragraphs = [Paragraphs([[option, *besides]], 13, left=INDENT)]
        return paragraphs + [Paragraphs(self.diagnosis, 13, left=INDENT + 10)] * bool(
            self.diagnosis
        )

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        middle, kinds = y + 8.5, self.kinds
        if "right" in kinds:
            svg.path(f"M{x + 2} {middle}l4 5 8-11", class_="rule", stroke_width=2.4)
        symbol(svg, "ring", x + 28, middle, 11)
        if "guess" in kinds or "revision" in kinds:
            symbol(svg, "dot", x + 28, middle, 6)
        label, *diagnosis = self.words
        y = label.draw(svg, x, y, width)
        for line in diagnosis:
            top, y = y + 2, line.draw(svg, x, y + 2, width)
            svg.line(x + INDENT + 1, top, x + INDENT + 1, y, class_="rule faint", stroke_width=2)
        return y + 3

    def text(self) -> list[str]:
        return [line for paragraph in self.words for line in paragraph.text()]


def spoken(turn: Attempt) -> str:
    """Return the answer of a revealed card in one line, for a screen reader."""
    options = (Option(turn, answer) for answer in turn.topic.options)
    marked = [f"{option.marks}: {sentences.option(turn, option.answer).removesuffix('.')}"
              for option in options if option.marks]  # fmt: skip
    return "; ".join([*marked, *(f"{bar.name}: {bar.label}" for bar in _bars(turn))])


def _verdict(turn: Attempt) -> Iterator[tuple[str, str, str, str]]:
    """Yield the parts of the line of a judged card: kind, label, text and reason of the answer, of
    the guess and of the revision, and the way in which the answer was found."""
    if turn.revealed:
        yield "truth", "", sentences.short_truth(turn), ""
    for key, given, verdict, reason in (
        ("guess", sentences.given(turn), turn.verdict, turn.because),
        ("revision", sentences.revised(turn), turn.second, ""),
    ):
        if verdict is not None:
            kind = "right" if verdict.right else key
            yield kind, strings.get(f"card.{key}"), given, reason
    if turn.revealed and (origin := sentences.origin(turn)):
        yield "origin", "", origin, ""


def _asked(turn: Attempt) -> Iterator[PageBlock]:
    """Yield the question of a card with its options, and the answer if it is shown."""
    yield Paragraphs(" ".join(sentences.heading(turn)), 14, bold=True)
    for index, answer in enumerate(turn.topic.options):
        yield Option(turn, answer, gap=0 if index else 14)
    if not turn.revealed:
        yield Paragraphs(strings.get("card.still"), 13, dim=True, gap=8)
        return
    if turn.because:
        reason = strings.get("card.control.reasoned", because=turn.because)
        yield Paragraphs(reason, 13, dim=True, gap=8)
    if not turn.topic.options:
        yield Paragraphs(sentences.diagnoses(turn), 13, gap=10)


def _told(rounds: Sequence[Attempt]) -> Iterator[PageBlock]:
    """Yield the explanation of a revealed answer, and a line for each earlier attempt."""
    turn = rounds[-1]
    if turn.revealed:
        yield Paragraphs(sentences.seen(turn), 13, gap=14)
        for part in sentences.finding(turn):
            yield Paragraphs(part, 13, gap=8)
    yield Paragraphs(sentences.earlier_attempts(list(rounds)))


def _bars(turn: Attempt) -> list[LabelledBar]:
    """Return the bars of a revealed card: guess and revision, if they are numbers, then the
    figures."""
    assert turn.truth is not None
    kind, figures = turn.topic.kind, []
    guesses = (
        ("card.guess", turn.guess, sentences.given(turn)),
        ("card.revision", turn.revision, sentences.revised(turn)),
    )
    for key, answer, text in guesses:
        if isinstance(answer, Guess):
            figures.append(_bar("guess", answer.value, text, strings.get(key), kind))
    for figure in turn.truth.figures:
        text = sentences.amount(figure.value, kind)
        figures.append(_bar(figure.origin, figure.value, text, sentences.figure_name(figure), kind))
    return figures


def _bar(origin: str, value: Fraction, text: str, name: str, kind: AnswerKind) -> LabelledBar:
    per = THOUSAND if kind is AnswerKind.TIMES else 1
    return LabelledBar(float(per * value), origin, text, Fact(name, text), name)


def _chart(figures: list[LabelledBar], kind: AnswerKind, width: float) -> Chart:
    """Return a chart of all bars on one axis."""
    longest = ceil(max(bar.value for bar in figures))
    scale: Scale = bytes_over(longest, TIGHT)
    if kind is AnswerKind.TIMES:
        scale = counts_over(longest, "x", THOUSAND)
    elif kind is AnswerKind.COUNT:
        scale = counts_over(longest)
    sentences_of_bars = [f"{bar.name}: {bar.label}" for bar in figures]
    room = 0.4 * width
    short = [bar._replace(name=texts.shortened(str(bar.name), room, 12, True)) for bar in figures]
    return bars(short, scale, PITCH, told=sentences_of_bars, gap=14)
