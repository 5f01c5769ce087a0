"""The sentences and figures that these views share."""

from __future__ import annotations

from math import isfinite

from memlab import strings

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def say(key: str, **values: object) -> str:
    """A text of these views."""
    return strings.get(f"training.{key}", **values)


def raised(power: int, base: int = 2) -> str:
    """``'2⁻²⁴'``."""
    return f"{base}{str(power).translate(_SUPERSCRIPT)}"


def figure(value: float, digits: int = 3) -> str:
    """So many digits, small and large ones with a power of ten: ``'0.0135'``, ``'2.6·10⁻⁷'``."""
    if not isfinite(value):
        return say("nan" if value != value else "infinity")
    text = f"{value:.{digits}g}"
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{float(text):,.15g}"
    part, _, power = f"{value:.{digits - 1}e}".partition("e")
    part = f"{float(part):g}"
    ten = raised(int(power), 10)
    return ten if part == "1" else f"{part}·{ten}"


def percent(part: float) -> str:
    """``'1.7 %'``."""
    return f"{100 * part:.1f} %"
