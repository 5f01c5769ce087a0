"""The one exception that a user's mistake raises: a sentence, never a traceback to read."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


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
    return InputError(f"unknown {what} {given!r}{hint} Known: {', '.join(names)}.")


def whole(what: str, given: object, least: int = 1) -> int:
    """``given`` as an ``int`` of at least ``least``.

    Raises:
        InputError: it is no whole number, or too small. ``True`` is no number here.
    """
    number = given
    if isinstance(given, float) and given.is_integer():
        number = int(given)
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise InputError(f"{what} must be a whole number, got {given!r}; try {max(least, 1)}.")
    value = int(number.__index__())
    if value < least:
        raise InputError(f"{what} must be at least {least}, got {value}; try {max(least, 1)}.")
    return value
