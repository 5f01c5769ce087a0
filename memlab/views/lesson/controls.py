"""The controls of a card: what is offered while it is open, locked and revealed."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import log
from typing import Any

from memlab import strings
from memlab.errors import InputError
from memlab.lesson import words
from memlab.lesson.card import Round
from memlab.lesson.guess import Guess
from memlab.lesson.question import Kind, Topic
from memlab.views.widget import Control, stop


def of(turn: Round, entered: str) -> list[Control]:
    """The controls of one asking, with what has been entered."""
    if turn.open:
        return [*_guess(turn, entered), _button("lock"), _button("skip")]
    return [_button("retry" if turn.truth else "reveal")]


def read(topic: Topic, name: str, value: Any) -> str:
    """What a control has sent, as a guess is typed."""
    if topic.kind is Kind.TIMES and name == "guess":
        return topic.stops[stop(name, value, 0, len(topic.stops) - 1)]
    return "" if value is None else str(value)


def _guess(turn: Round, entered: str) -> list[Control]:
    topic, label = turn.topic, strings.get(f"card.control.{turn.topic.kind}")
    if topic.kind is Kind.CHOICE:
        options = tuple((name, words.option(turn, name)) for name in topic.options)
        return [Control("radio", "guess", label, entered, options=options)]
    if topic.kind is Kind.AMOUNT:
        example = strings.get("card.control.example")
        return [Control("text", "guess", label, entered, placeholder=example)]
    given = _readable(topic, entered)
    return [
        Control(
            "range",
            "guess",
            label,
            _place(topic, entered),
            least=0,
            most=len(topic.stops) - 1,
            spoken=words.times_of(given.text) if given else strings.get("card.control.unset"),
            ends=(topic.stops[0], topic.stops[-1]),
            unset=given is None,
        ),
        Control("text", "exact", strings.get("card.control.times_exact"), entered, beside=True),
    ]


def _place(topic: Topic, entered: str) -> float:
    """Where a ratio lies among the stops: 2.5 is halfway between the third and the fourth.

    In the middle before anything is entered: a start at 1 would suggest an answer.
    """
    stops = [log(Fraction(stop)) for stop in topic.stops]
    given = _readable(topic, entered)
    if given is None:
        return len(stops) // 2
    if not given.value:
        return 0
    place = min(max(log(given.value), stops[0]), stops[-1])
    below = min(bisect_right(stops, place), len(stops) - 1) - 1
    return below + (place - stops[below]) / (stops[below + 1] - stops[below])


def _readable(topic: Topic, entered: str) -> Guess | None:
    """What was entered, where it is a ratio."""
    try:
        found = topic.read(entered)
    except InputError:
        return None
    return found if isinstance(found, Guess) else None


def _button(name: str) -> Control:
    label = strings.get(f"card.control.{name}")
    busy = strings.get("card.control.busy") if name == "reveal" else label
    return Control("button", name, label, place="below", busy=busy)
