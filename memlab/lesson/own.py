"""Arguments that cards and exercises of an instructor's own have in common: names, texts,
functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from memlab.errors import InputError, listed, shorten
from memlab.strings import gettext as _

PREFIX = "own"
"""Part before the point of a name that has none: it is the lesson in the table of progress."""


def full_name(what: str, given: object, usual: str) -> str:
    """Return the name under which the learner's progress is kept: ``"own.halve"`` for ``"halve"``,
    and ``"week2.halve"`` as it is.

    Raises:
        InputError: it is no such name; those of memlab's lessons begin with a digit.
    """
    parts = given.split(".") if isinstance(given, str) else []
    if len(parts) not in (1, 2) or not all(part.isidentifier() for part in parts):
        raise InputError(_("{given} is no name for {what}; try {usual!r}, or 'week2.{usual}'.",
                           given=shorten(given), what=what, usual=usual))  # fmt: skip
    return ".".join([PREFIX, *parts][-2:])


def text(what: str, given: object) -> str:
    """Return a text of an instructor's.

    Raises:
        InputError: it is no text, or an empty one.
    """
    if not isinstance(given, str) or not given.strip():
        raise InputError(_("{what} must be a text, got {given}; write it in quotes.",
                           what=what, given=shorten(given)))  # fmt: skip
    return given.strip()


def texts(what: str, given: object, usual: str) -> list[str]:
    """Return a list of texts; a single text becomes a list of one.

    Raises:
        InputError: it is no list, or one of them is no text.
    """
    return [text(f"each of {what}", one) for one in listed(what, given, usual)]


def table(what: str, given: object, usual: str) -> dict[Any, str]:
    """Return the texts of a dictionary.

    Raises:
        InputError: it is no dictionary, or one of its values is no text.
    """
    if not isinstance(given, Mapping):
        raise InputError(_("{what} must be a dictionary, got {given}; try {usual}.",
                           what=what, given=shorten(given), usual=usual))  # fmt: skip
    names = {key: name_of(key) if callable(key) else shorten(key) for key in given}
    return {key: text(f"{what}[{names[key]}]", value) for key, value in given.items()}


def function(what: str, given: object) -> Callable[..., Any]:
    """Return a function that can be called.

    Raises:
        InputError: it cannot.
    """
    if not callable(given):
        raise InputError(_("{what} must be a function, got {given}; try {what}=my_function, "
                           "with nothing in brackets behind it.",
                           what=what, given=shorten(given)))  # fmt: skip
    return given


def taking(
    what: str, given: object, values: Mapping[str, Any], offered: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Return a function that can be called with these values, by their names. Messages name those
    that are ``offered`` to it.

    Raises:
        InputError: it cannot be called, or takes something else.
    """
    called = function(what, given)
    if not accepts(called, **values):
        names = ", ".join(values if offered is None else offered) or _("nothing")
        raise InputError(_("{what} is called with {names}, got {given}; change its parameters.",
                           what=what, names=names,
                           given=f"{name_of(called)}{signature(called)}"))  # fmt: skip
    return called


def drawing(what: str, given: object, counts: tuple[int, ...]) -> Callable[..., Any]:
    """Return a function that draws from a random generator: one that takes so many values.

    Raises:
        InputError: it cannot be called, or takes something else.
    """
    called = function(what, given)
    if not any(accepts(called, *range(count)) for count in counts):
        raise InputError(_("{what} is called with a random.Random, got {given}; try {what}=lambda "
                           "chance: {{'batch': chance.choice((4, 8))}}.", what=what,
                           given=f"{name_of(called)}{signature(called)}"))  # fmt: skip
    return called


def accepts(called: Callable[..., Any], /, *values: object, **named: object) -> bool:
    """True if the signature of a function accepts these values; also for a function written in C
    that has no signature."""
    try:
        signature(called).bind(*values, **named)
    except TypeError:
        return False
    except ValueError:  # some functions written in C do not tell
        return True
    return True


def drawn(what: str, given: object, usual: str) -> dict[str, Any]:
    """Return values by name, as a draw makes them.

    Raises:
        InputError: they are no dictionary whose keys can be names of parameters.
    """
    fits = isinstance(given, Mapping) and all(
        isinstance(key, str) and key.isidentifier() for key in given
    )
    if not fits:
        raise InputError(_("{what} must be values by name, got {given}; try {usual}.",
                           what=what, given=shorten(given), usual=usual))  # fmt: skip
    return dict(given)  # type: ignore[call-overload,no-any-return]  # a mapping, as was checked


def name_of(called: Callable[..., Any]) -> str:
    """Name of a function for a sentence."""
    return getattr(called, "__name__", type(called).__name__)
