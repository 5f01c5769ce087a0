"""A native control of the browser, its label, and what it may send."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

from memlab import strings
from memlab.errors import LARGEST, LONGEST, InputError, shorten, whole


@dataclass(frozen=True, slots=True)
class Control:
    """A native control. ``kind`` is range, number, text, select, radio, checkbox or button.

    ``place`` is ``"main"``, ``"more"`` (behind the disclosure), ``"buttons"`` or ``"below"`` the
    picture. ``options`` are the values and labels of a select or of radio buttons. ``spoken`` is
    the value of a range in words, ``ends`` stand at its ends, and ``unset`` says that nobody has
    chosen it yet. ``busy`` is what a button says until its answer comes: a second press does
    nothing.
    """

    kind: str
    name: str
    label: str
    value: Any = None
    place: str = "main"
    options: tuple[tuple[str, str], ...] = ()
    least: int | None = None
    most: int | None = None
    spoken: str = ""
    ends: tuple[str, ...] = ()
    placeholder: str = ""
    busy: str = ""
    beside: bool = False
    unset: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For the browser."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Labels:
    """The texts of the controls of one view; ``values`` are what they may name in braces."""

    view: str
    values: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, key: str, **values: object) -> str:
        """``labels("stride")`` is ``<view>.control.stride``."""
        return strings.get(f"{self.view}.control.{key}", **{**self.values, **values})

    def has(self, key: str) -> bool:
        """Whether there is such a text."""
        return strings.has(f"{self.view}.control.{key}")


# -- what a browser sends --------------------------------------------------------------------------


def one_of(what: str, given: object, allowed: Sequence[int]) -> int:
    """``given``, one of these whole numbers.

    Raises:
        InputError: it is none of them; the message names all.
    """
    value = whole(what, given, least=min(allowed, default=1))
    if value not in allowed:
        *most, last = map(str, allowed)
        raise InputError(f"{what} must be {', '.join(most)} or {last}, got {shorten(given)}; "
                         f"try {allowed[len(allowed) // 2]}.")  # fmt: skip
    return value


def typed(what: str, value: object, usual: int, least: int = 1, most: int = LARGEST) -> int:
    """A whole number as a control sends it: a number, or the text that somebody typed; None where
    that was no number.

    Raises:
        InputError: it is no whole number from ``least`` to ``most``.
    """
    text = "" if value is None else str(value).strip()
    try:
        number = int(text)
    except ValueError:  # also where it has thousands of digits
        shown = text if text.isprintable() and len(text) <= LONGEST else shorten(text)
        given = shown or strings.get("widget.no_number")
        raise InputError(f"{what} must be a whole number, got {given}; try {usual}.") from None
    return whole(what, number, least, most)


def stop(what: str, value: object, least: int, most: int) -> int:
    """Where a slider or a pointer was left, kept between its ends; for a box there is ``typed``.

    Raises:
        InputError: that is no whole number.
    """
    return min(max(typed(what, value, max(least, 0), -LARGEST), least), most)


def among(stops: Sequence[Any], value: Any) -> float:
    """Where a number stands among stops, which grow: one half-way between the third and the fourth
    in ratio is at 2.5.

    >>> among((1, 2, 4), 2), among((1, 2, 4), 3) > 1.5, among((1, 2, 4), 9)
    (1, True, 2)
    """
    value = min(max(value, stops[0]), stops[-1])
    below = bisect_right(stops, value) - 1
    if value == stops[below]:
        return below
    low, high = stops[below : below + 2]
    return below + log(value / low) / log(high / low)


WIDEST = 10_000


def width(value: object) -> int:
    """How wide the page is, in its pixels."""
    return stop("width", value, 1, WIDEST)
