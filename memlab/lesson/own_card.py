"""A card of an instructor's own: its question, answer and texts stand where it is asked.

Example::

    def shrinks():
        peak = memlab.plan(memlab.training_step(memlab.zoo.vgg16(), "adam")).peak
        return peak(8) / peak(4)

    halve = lesson.card(
        "VGG-16 trains with Adam and batch 8. By what factor does the peak shrink with batch 4?",
        answer=shrinks,
        unit="x",
        wrong={2: "Does everything in memory grow with the batch?"},
    )
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise, product
from math import isfinite
from numbers import Integral, Rational, Real
from random import Random
from string import Formatter
from typing import Any

from memlab import strings
from memlab.errors import InputError, known, listed, shorten
from memlab.lesson import notebook_cells, own, progress, sentences
from memlab.lesson import typed_guess as guesses
from memlab.lesson.card import Card
from memlab.lesson.card_question import AnswerKind, Numbers, Question, RevealBar, Truth
from memlab.lesson.misconceptions import Mistake, distinct_causes
from memlab.lesson.notebook_cells import Cell
from memlab.lesson.phrases import holds
from memlab.pictures.values.number_text import three_digits
from memlab.strings import gettext as _

UNITS = {"B": AnswerKind.AMOUNT, "x": AnswerKind.TIMES}
"""Kinds of a number that is asked for: bytes, or a factor."""
STOPS = (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 30, 50, 100)
"""Stops of the slider of a factor without stops of its own; any other number can be typed."""
_READ = {AnswerKind.AMOUNT: guesses.amount, AnswerKind.TIMES: guesses.times}
NUMBERS, WRONG = "{'batch': 8}", "{2: 'Does everything grow?'}"
"""Arguments that messages propose."""
WORDS = 5
"""Words of a question that make the name of a card without one."""

_CARDS: dict[str, tuple[Card, Cell | None]] = {}
"""The cards of this session by their full names, and the cells that made them."""


def card(
    question: str,
    *,
    answer: Callable[..., Any],
    options: Mapping[str, str] | Sequence[str] = (),
    unit: str = "B",
    wrong: Mapping[Any, str] | None = None,
    gives: Sequence[str] = (),
    stops: Sequence[float] = STOPS,
    finding: str | None = None,
    numbers: Mapping[str, Any] | None = None,
    draw: Callable[[Random], Mapping[str, Any]] | None = None,
    name: str | None = None,
) -> Card:
    """Return a card with a question of your own: a guess that is locked, its diagnosis, one
    revision, the answer, and new numbers.

    The last line of a cell shows it. ``card.then(function)`` shows a picture under the answer. A
    cell that runs again keeps the guess, and so does the learner's progress file. Texts may have
    **bold** words and `code`, and name the numbers of the card: ``"With {batch} images ..."``.

    Args:
        question: the question.
        answer: a function that plans or runs a step and returns the answer: bytes, a factor, or the
            name of an option. It takes the ``numbers`` by name. It is called when a guess is
            locked, and its result is stored nowhere.
        options: makes a choice: the texts of the options, or a dictionary from names to texts.
        unit: of a number: ``"B"`` for bytes, which are guessed as ``"6.4 MB"``, ``"x"`` for a
            factor.
        wrong: the diagnosis of each wrong answer, a question that helps: by option, by number
            (``{2: "..."}``, ``{"6.4 MB": "..."}``), or by a function that computes the wrong number
            from the ``numbers``.
        gives: words and formulas that would give the answer away; question, options and diagnoses
            must not hold them.
        stops: the numbers at which the slider of a factor stops, from the least to the largest:
            ``(1, 1.2, 1.5, 2, 4)``. Any other number can be typed.
        finding: the explanation, shown with the answer; it may name ``{answer}``, and has a
            paragraph after each empty line.
        numbers: what the question is asked on first: ``{"batch": 8}``.
        draw: new numbers for Retry, from a ``random.Random``: ``lambda chance: {"batch":
            chance.choice((4, 16))}``. Without ``numbers``, it draws the first ones too.
        name: of the variable that holds the card, which texts call it by; progress is kept under
            it. Without one, texts say ``card``.

    Returns:
        The card.

    Raises:
        InputError: an argument is none of these; the message says what to try.

    >>> from memlab import lesson
    >>> halve = lesson.card(
    ...     "By what factor does the peak of VGG-16 with Adam shrink from batch 8 to 4?",
    ...     answer=lambda: 2_704_815_492 / 2_485_868_164, unit="x", name="halve",
    ...     wrong={2: "Does everything in memory grow with the batch?"})
    >>> halve.guess(2).now.state
    'diagnosed'
    """
    asked = " ".join(own.text("question", question).split())
    first, again = _numbers(numbers, draw, asked)
    choices = _options(options)
    kind = AnswerKind.CHOICE if choices else UNITS[known("unit", unit, UNITS)]
    diagnoses = own.table("wrong", {} if wrong is None else wrong, WRONG)
    _check_wrong(diagnoses, choices, kind, first, again is not None)
    texts = {
        "question": asked,
        **{f"option.{key}": text for key, text in choices.items()},
        **_diagnoses(diagnoses, choices),
        **({} if finding is None else {"finding": own.text("finding", finding)}),
    }
    slider = _stops(stops, kind)
    phrases = own.texts("gives", gives, "twice as large")
    _check_braces(texts, first, again is not None)
    _check_gives(texts, phrases)
    truth = _truth(own.taking("answer", answer, first), kind, diagnoses, choices, first)
    full = _name(asked) if name is None else own.full_name("a card", name, "halve")
    variable = "card" if name is None else full.partition(".")[2]
    return _shown(
        Question(
            full, kind, first, again, truth, options=tuple(choices), stops=slider,
            gives=tuple(phrases), texts=texts, variable=variable,
        )
    )  # fmt: skip


def _shown(topic: Question) -> Card:
    """Return the card of a question, with the guess that was locked before."""
    cell = notebook_cells.running()
    made = Card(topic, _kept(topic, cell))
    _CARDS[topic.name] = made, cell
    return made


def _kept(topic: Question, cell: Cell | None) -> Mapping[str, Any] | None:
    """Return the first answer to a card whose cell runs again, or the one in the learner's file.

    Raises:
        InputError: another cell has a card of that name, with another question.
    """
    before, other = _CARDS.get(topic.name, (None, None))
    if before is None or before.topic.texts["question"] != topic.texts["question"]:
        if cell and other and cell.name != other.name:
            raise InputError(_("another cell has a card named {name}; give this one another name, "
                               "or restart the kernel if that cell is gone.",
                               name=repr(topic.variable)))  # fmt: skip
        return progress.first(topic.name)
    first = before.rounds[0]
    if first.open:
        return None
    return {"guess": first.typed, "because": first.because, "revision": first.retyped,
            "shown": first.revealed}  # fmt: skip


def _name(question: str) -> str:
    """Return a name that follows from a question: its first words, and a few digits that differ
    where another question begins alike."""
    words = re.findall(r"[^\W\d_]+", question.lower())[:WORDS]
    digits = sha256(question.encode(errors="replace")).hexdigest()[:6]
    return f"{own.PREFIX}.{'_'.join([*words, digits])}"


# -- the answer -----------------------------------------------------------------------------------


def _truth(
    answer: Callable[..., Any],
    kind: AnswerKind,
    wrong: Mapping[Any, str],
    options: Mapping[str, str],
    first: Numbers,
) -> Callable[[Numbers], Truth]:
    """Return the function that finds the answer and the values of the wrong numbers. Where a wrong
    one is right on the ``first`` numbers, it raises an InputError."""

    def truth(numbers: Numbers) -> Truth:
        given = answer(**numbers)
        if kind is AnswerKind.CHOICE:
            chosen = known("option", given, options)
            if chosen in wrong and numbers == first:
                raise _right_is_wrong(chosen, options[chosen])
            return Truth(chosen, seen={"answer": options[chosen].rstrip(sentences.STOPS)})
        value = _number("answer", given)
        mistakes = [
            Mistake(str(index), _wrong_number(key, kind, numbers))
            for index, key in enumerate(wrong)
        ]
        for key, mistake in zip(wrong, mistakes, strict=True):
            if mistake.value == value and numbers == first:
                raise _right_is_wrong(key, given)
        bar = RevealBar("", value, strings.get("card.right"))
        amount = kind is AnswerKind.AMOUNT
        told = three_digits(round(value)) if amount else sentences.number(value)
        return Truth(value, (bar,), tuple(distinct_causes(value, mistakes)), {"answer": told})

    return truth


def _right_is_wrong(key: object, answer: object) -> InputError:
    """Return the error for a diagnosis of the right answer."""
    name = own.name_of(key) if callable(key) else repr(key)
    return InputError(_("wrong[{key}] is the right answer: the function of the card returns "
                        "{answer}; leave that diagnosis out, or correct the function.",
                        key=name, answer=shorten(answer)))  # fmt: skip


def _wrong_number(key: object, kind: AnswerKind, numbers: Numbers) -> Fraction:
    """Return the value of a wrong number, which a function of the numbers computes, or which is
    written as a guess is."""
    if callable(key):
        return _number(f"wrong[{own.name_of(key)}]", key(**numbers))
    return _READ[kind](key).value


def _number(what: str, given: object) -> Fraction:
    """Return a number that a function of the instructor's returned.

    Raises:
        InputError: it is no number from 0 on.
    """
    number = given if isinstance(given, Real) and not isinstance(given, bool) else -1
    if not isfinite(number) or number < 0:
        raise InputError(_("{what} must return a number from 0 on, got {given}; return bytes or a "
                           "factor without a unit.", what=what, given=shorten(given)))  # fmt: skip
    if isinstance(number, Integral):
        return Fraction(int(number))
    return Fraction(number) if isinstance(number, Rational) else Fraction(float(number))


# -- arguments ------------------------------------------------------------------------------------


def _numbers(
    numbers: object, draw: object, question: str
) -> tuple[dict[str, Any], Callable[[Random], dict[str, Any]] | None]:
    """Return the numbers that a question is asked on first, and the function that draws others."""
    if draw is None:
        return own.drawn("numbers", {} if numbers is None else numbers, NUMBERS), None
    drawing = own.drawing("draw", draw, (1,))

    def again(chance: Random) -> dict[str, Any]:
        return own.drawn("what draw returns", drawing(chance), NUMBERS)

    proposed = again(Random(question))
    first = proposed if numbers is None else own.drawn("numbers", numbers, NUMBERS)
    if first.keys() != proposed.keys():
        raise InputError(_("draw must return the numbers {names}, got {given}; give all of them.",
                           names=", ".join(first), given=", ".join(proposed)))  # fmt: skip
    return first, again


def _options(given: object) -> dict[str, str]:
    """Return the texts of the options by name; the text itself is the name where none is given.

    Raises:
        InputError: they are no texts, or only one.
    """
    usual = "['the input', 'the output']"
    if isinstance(given, Mapping):
        found = own.table("options", given, usual)
        names = own.texts("the names of options", list(found), "input")
        options = dict(zip(names, found.values(), strict=True))
    else:
        options = {text: text for text in own.texts("options", given, "the input")}
    if len(options) == 1:
        raise InputError(_("options must be 2 or more, got {given}; try {usual}.",
                           given=shorten(given), usual=usual))  # fmt: skip
    return options


def _stops(given: object, kind: AnswerKind) -> tuple[str, ...]:
    """Return the stops of a slider as texts.

    Raises:
        InputError: they are not numbers that rise, or the card has no slider.
    """
    if given is not STOPS and kind is not AnswerKind.TIMES:
        raise InputError(_("stops are for the slider of a factor; give unit='x', or leave stops "
                           "out."))  # fmt: skip
    usual = 1, 1.5, 2, 4
    stops = tuple(map(str, listed("stops", given, *usual)))
    values = [guesses.times(stop).value for stop in stops]
    if len(values) < 2 or any(after <= before for before, after in pairwise(values)):
        raise InputError(_("stops must be 2 or more numbers that rise, got {given}; try {usual}.",
                           given=shorten(given), usual=usual))  # fmt: skip
    return stops


def _check_wrong(
    wrong: Mapping[Any, str],
    options: Mapping[str, str],
    kind: AnswerKind,
    first: Numbers,
    draws: bool,
) -> None:
    """Raise an InputError if a wrong answer is none of the kind that the card asks for, or if every
    option would be wrong on the same numbers."""
    for key in wrong:
        if options:
            known("option in wrong", key, options)
        elif callable(key):
            own.taking(f"wrong[{own.name_of(key)}]", key, first)
        else:
            _READ[kind](key)
    if options and not draws and wrong.keys() == options.keys():
        raise InputError(_("wrong has a diagnosis for every option, but one of them is right; "
                           "leave that one out."))  # fmt: skip


def _diagnoses(wrong: Mapping[Any, str], options: Mapping[str, str]) -> dict[str, str]:
    """Return the diagnoses as texts of a question, of options or of mistakes."""
    if options:
        return {f"wrong.{key}": text for key, text in wrong.items()}
    return {f"cause.{index}": text for index, text in enumerate(wrong.values())}


def _check_braces(texts: Mapping[str, str], numbers: Numbers, draws: bool) -> None:
    """Raise an InputError if a text names a value that it does not have, or a question whose
    numbers change names none of them."""
    for key, text in texts.items():
        allowed = {**numbers, "answer": ""} if key == "finding" else numbers
        try:
            text.format(**allowed)
        except (LookupError, ValueError, TypeError, AttributeError):
            raise InputError(
                _("{text} names a value in braces that it does not have; it has {names}. Write "
                  "{{{{ and }}}} for braces that are shown.",
                  text=shorten(text), names=", ".join(allowed) or _("none"))
            ) from None  # fmt: skip
    named = {part for _, part, _, _ in Formatter().parse(texts["question"]) if part}
    if draws and not named:
        raise InputError(_("draw gives new numbers, and the question names none of them; write "
                           "{{{name}}} where its number belongs.",
                           name=next(iter(numbers), "batch")))  # fmt: skip


def _check_gives(texts: Mapping[str, str], gives: Iterable[str]) -> None:
    """Raise an InputError if a text that is shown before the answer gives it away."""
    before = [text for key, text in texts.items() if key != "finding"]
    for text, phrase in product(before, gives):
        if holds(text, phrase):
            raise InputError(_("{text} holds {phrase}, which 'gives' lists as giving the answer "
                               "away; say it in other words, or leave it to finding.",
                               text=shorten(text), phrase=shorten(phrase)))  # fmt: skip
