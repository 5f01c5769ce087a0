"""Numbers as people write them: 0.1, 70,000, 1e-8, 1/3, 2^-24, inf, nan."""

from __future__ import annotations

import re
from fractions import Fraction
from math import inf, nan

from memlab.errors import InputError, shorten

LONGEST = 40
_DECIMAL = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:e[+-]?\d{1,3})?")
_FRACTION = re.compile(r"(\d+)/(\d+)")
_POWER = re.compile(r"(2|10)\^([+-]?\d{1,4})")
_NAMED = {"inf": inf, "infinity": inf, "∞": inf, "nan": nan}


def parse(text: str) -> Fraction | float:
    """The number exactly; a float where it is infinite, NaN or a negative 0.

    Raises:
        InputError: it is no number.
    """
    plain = text.strip().lower().replace("−", "-").replace(" ", "")
    size = _size(plain.lstrip("+-")) if len(plain) <= LONGEST else None
    if size is None or not re.match(r"[+-]?[^+-]", plain):
        raise InputError(f"{shorten(text)} is no number to show; try 0.1, 1e-8, 1/3, -inf or nan.")
    if not plain.startswith("-"):
        return size
    return -size if size else -0.0


def _size(plain: str) -> Fraction | float | None:
    if plain in _NAMED:
        return _NAMED[plain]
    if found := _POWER.fullmatch(plain):
        return Fraction(int(found[1])) ** int(found[2])
    if found := _FRACTION.fullmatch(plain):
        return Fraction(int(found[1]), int(found[2])) if int(found[2]) else None
    if _DECIMAL.fullmatch(plain) and re.match(r"\.?\d", plain):
        return Fraction(plain.replace(",", ""))
    return None
