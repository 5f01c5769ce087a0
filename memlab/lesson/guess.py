"""A guess as it was typed: its value, and how far its last digit reaches."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral

from memlab import units
from memlab.errors import InputError, printed, shorten
from memlab.strings import gettext as _

TWINS = {"kB": "KiB", "MB": "MiB", "GB": "GiB", "TB": "TiB"}
"""Units that texts mix up. Each is read as the other too, in both directions."""
_TWINS = TWINS | {binary: decimal for decimal, binary in TWINS.items()}
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?"
_AMOUNT = re.compile(rf"{_NUMBER}\s*([a-z]+)", re.IGNORECASE | re.ASCII)
_TIMES = re.compile(rf"(?:x|×)?\s*{_NUMBER}\s*(?:x|×|times)?", re.IGNORECASE | re.ASCII)
FLOAT = 10**12
"""A ratio that was computed has digits of no meaning: it reaches at least this share of itself."""
_LONGEST = 40
"""Characters of a guess: nobody's memory is larger."""


@dataclass(frozen=True, slots=True)
class Guess:
    """``value`` is in bytes or a plain number; the guess reaches ``half`` to both sides of it.

    ``half`` is half a unit of the last digit as it was typed: 6.4 MB reaches from 6.35 to 6.45.
    """

    text: str
    value: Fraction
    half: Fraction
    unit: str = ""

    def holds(self, figure: Fraction | int, slack: Fraction | int = 0) -> bool:
        """Whether the figure lies within the guess, or within ``slack`` of its value."""
        return abs(self.value - figure) <= max(self.half, slack)

    @property
    def twin(self) -> Guess | None:
        """The same digits in the unit that people take for this one: MiB for MB."""
        other = _TWINS.get(self.unit)
        if other is None:
            return None
        factor = Fraction(units.UNITS[other], units.UNITS[self.unit])
        return replace(self, value=self.value * factor, half=self.half * factor, unit=other)


def amount(given: object) -> Guess:
    """A guess in bytes from ``"6.4 MB"``, ``"6,422,528 B"`` or a whole number of bytes.

    Raises:
        InputError: no number, no unit, a unit that is not one of memory, or bits.
    """
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    text = f"{printed(given)} B" if whole else printed(given)
    match = _AMOUNT.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    unit = units.named(match[3]) if match else None
    if match is None or unit is None:
        raise InputError(
            _("{given} is no amount of memory; give a number and its unit, such as 6.4 MB, 512 KiB "
              "or 96 B.", given=shorten(text))
        )  # fmt: skip
    value, half = _digits(match)
    scale = units.UNITS[unit]
    return Guess(text.strip(), value * scale, half * scale, unit)


def times(given: object, decimals: int = 0) -> Guess:
    """A guess at a ratio from ``9``, ``"2.25"`` or ``"9 times"``, read with some decimals: a
    question to 1 decimal takes 2 as 2.0.

    Raises:
        InputError: no number.
    """
    typed = printed(given)
    match = _TIMES.fullmatch(typed.strip()) if len(typed) <= _LONGEST else None
    if match is None or isinstance(given, bool):
        raise InputError(_("{given} is no number of times; give one such as 9 or 2.25.",
                           given=shorten(typed)))  # fmt: skip
    value, half = _digits(match)
    text = match[1] + (match[2] or ("." + "0" * decimals if decimals else ""))
    return Guess(text, value, min(half, Fraction(1, 2 * 10**decimals)))


def _digits(match: re.Match[str]) -> tuple[Fraction, Fraction]:
    """The number, and half a unit of its last digit; nothing is a rounded 0."""
    decimals = match[2] or ""
    value = Fraction(match[1].replace(",", "") + decimals)
    half = Fraction(1, 2 * 10 ** max(len(decimals) - 1, 0)) if value else Fraction(0)
    return value, max(half, value / FLOAT)
