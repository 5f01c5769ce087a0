"""The one exception that a user's mistake raises: a sentence, never a traceback to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from operator import index
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")

LISTED = 60
"""The most names that a message lists."""


class InputError(ValueError):
    """Bad input. The message says what was given, what is allowed and what to try."""


def unknown(what: str, given: object, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not in a registry, with the nearest names first.

    >>> unknown("network", "resnet5", ["resnet50", "vgg16"]).args[0]
    "unknown network 'resnet5'; did you mean 'resnet50'? Known: resnet50, vgg16."
    """
    names = list(allowed)
    near = get_close_matches(str(given), names, n=1, cutoff=0.6)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    listed = ", ".join(names[:LISTED])
    others = f" and {len(names) - LISTED} others" if len(names) > LISTED else ""
    return InputError(f"unknown {what} {shorten(given)}{hint} Known: {listed}{others}.")


def whole(what: str, given: object, least: int = 1) -> int:
    """``given`` as an ``int`` of at least ``least``.

    Raises:
        InputError: it is no whole number, or too small. ``True`` is no number here.
    """
    number = int(given) if isinstance(given, float) and given.is_integer() else given
    try:
        value = index(number)  # type: ignore[arg-type]  # what has none is the error
    except TypeError:
        value = None
    if value is None or isinstance(number, bool):
        shown = shorten(given)
        raise InputError(f"{what} must be a whole number, got {shown}; try {max(least, 1)}.")
    if value < least:
        raise InputError(f"{what} must be at least {least}, got {value}; try {max(least, 1)}.")
    return value


def pick(what: str, given: object, registry: Mapping[str, T]) -> T:
    """The entry of that name.

    Raises:
        InputError: there is none; the message names the nearest and all others.
    """
    if not isinstance(given, str) or given not in registry:
        raise unknown(what, given, registry)
    return registry[given]


def library(module: str, what: str) -> ModuleType:
    """A module of another package, which ``what`` needs; it is loaded here for the first time.

    Raises:
        InputError: the package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        package = module.partition(".")[0]
        raise InputError(
            f"{what} needs {package}, which is not installed; try pip install {package}."
        ) from None


def shorten(given: object) -> str:
    """What was given, short enough for a sentence."""
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."
