"""Pictures under the answers of cards: a module for each lesson, and one for the case that goes
through all of them, with a function for each question.

Example::

    from memlab.course.reveals import BARE, reveal
    from memlab.pictures.memory.view import memory

    @reveal("02.halve")
    def half_a_batch(turn):
        batch = turn.numbers["batch"]
        view = memory(turn.numbers["network"], batch, "adam", only=("batch",), **BARE)
        view.batch = batch // 2
        return view
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from memlab.lesson.card_question import Attempt
from memlab.lesson.typed_guess import Guess

Picture = Callable[[Attempt], Any]
"""Function of a revealed attempt, with its numbers and its guess; it returns a view, or a value
that a notebook can show."""
Function = TypeVar("Function", bound=Picture)

BARE: dict[str, Any] = {"budgets": (), "free": False}
"""Arguments of ``memory`` that leave out the budgets: the axis is as high as the step needs."""

Progress = Callable[[str, int, int], None]
"""Function that is told what is being done, how many parts are done, and of how many."""
_PROGRESS: ContextVar[Progress | None] = ContextVar("progress", default=None)
_PICTURES: dict[str, Picture] = {}


def guessed_ratio(turn: Attempt) -> Fraction | None:
    """Return the ratio that was guessed first; None without one, or where it is 0."""
    return turn.guess.value or None if isinstance(turn.guess, Guess) else None


def reveal(*names: str) -> Callable[[Function], Function]:
    """Register the decorated function as the picture under the answers of the named questions.

    Args:
        names: questions, ``"02.halve"``.

    Raises:
        ValueError: another module has a picture for one of them.
    """

    def register(function: Function) -> Function:
        for name in names:
            other = _PICTURES.get(name)
            if other is not None and other.__module__ != function.__module__:
                raise ValueError(f"two pictures belong to {name!r}")
            _PICTURES[name] = function
        return function

    return register


def picture_of(name: str) -> Picture | None:
    """Return the function that makes the picture of a question; None if it has no picture."""
    there = {module.name for module in iter_modules(__path__)}
    for module in (f"lesson_{name.partition('.')[0]}", "case"):
        if module in there:
            import_module(f"{__name__}.{module}")
    return _PICTURES.get(name)


@contextmanager
def progress_told(progress: Progress) -> Iterator[None]:
    """Have a function told of the progress of the pictures that a ``with`` block makes."""
    token = _PROGRESS.set(progress)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


def tell_progress(what: str, done: int, total: int) -> None:
    """Tell the card how far its picture is; a picture that takes seconds calls it now and then.

    Args:
        what: the part that is being made.
        done: number of the parts that are there.
        total: number of all parts.
    """
    if progress := _PROGRESS.get():
        progress(what, done, total)
