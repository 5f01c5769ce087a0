"""Cards and exercises as a submission meets them while it is marked; here ``memlab.lesson``.

They note what the submission does, and tell nothing: no diagnosis, hint, solution or truth is in
this process. What is noted is the submission's own word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memlab.classroom.worker.inert import INERT, Inert, ignored

CALLS: dict[str, dict[str, str]] = {}
"""The answers to each card: the first guess, its reason, and the last revision."""
CHECKED: dict[str, Callable[..., Any]] = {}
"""The functions that were checked, by the name of the exercise."""
MOST = 1000
"""Most cards that are noted, and most characters of a text."""


class Note(Inert):
    """Card or exercise that notes what is done with it."""

    name: str

    def __init__(self, name: object) -> None:
        object.__setattr__(self, "name", _text(name))


class Card(Note):
    """Card that notes a guess."""

    def guess(self, given: object, because: object = "") -> Card:
        """Note the first guess and its reason."""
        if len(CALLS) < MOST:
            CALLS.setdefault(self.name, {"guess": _text(given), "because": _text(because)})
        return self

    def revise(self, given: object) -> Card:
        """Note the revision."""
        if self.name in CALLS:
            CALLS[self.name]["revision"] = _text(given)
        return self

    def skip(self) -> Card:
        """Note that there is no guess."""
        if len(CALLS) < MOST:
            CALLS.setdefault(self.name, {"guess": "", "because": ""})
        return self

    def then(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function: it is not called."""
        return function

    def _same(self, *values: object) -> Card:
        """Return the card."""
        return self

    reveal = recall = retry = _same


class Exercise(Note):
    """Exercise that notes which function was checked."""

    def check(self, function: Callable[..., Any], seed: object = None) -> Inert:
        """Note the function, which is called later."""
        if len(CHECKED) < MOST:
            own = f"{self.name.partition('.')[0]}.{getattr(function, '__name__', '')}"
            CHECKED[own] = CHECKED[self.name] = function
        return INERT


def _text(given: object) -> str:
    """Return a guess as text; an object of the submission's own has none."""
    return str(given)[:MOST] if type(given) in (str, int, float) else ""


class Measured(Inert):
    """Result of a call that is not measured here."""

    def __init__(self, result: Any) -> None:
        object.__setattr__(self, "result", result)


def measure(function: Callable[..., Any], *values: Any, **named: Any) -> Measured:
    """Return the result of a function; nothing is measured."""
    return Measured(function(*values, **named))


def _other(name: str) -> Any:
    """Return an inert object for every other name."""
    if name.startswith("__"):
        raise AttributeError(name)
    return INERT


def install() -> None:
    """Fill ``memlab.lesson``, which is empty in this process."""
    from memlab import lesson

    names = {
        "predict": Card, "recall": Card, "change": Card, "exercise": Exercise, "measure": measure,
        "card": ignored, "task": ignored, "model": ignored, "__getattr__": _other,
    }  # fmt: skip
    vars(lesson).update(names)
