"""Bytes as text and back. MB is 10^6 bytes and MiB is 2^20: different words here.

Everywhere else in memlab bytes are exact ``int``; only this module turns them into text.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from memlab.errors import InputError, printed, shorten
from memlab.strings import gettext as _

DECIMAL = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
UNITS = DECIMAL | BINARY
_SHOWN = {"TB": 999_999_500_000, "GB": 999_500_000, "MB": 999_500, "kB": 1000}
"""From how many bytes on a unit is used: where the smaller one would round up to 1,000."""
_AMOUNT = re.compile(r"(\d{1,30}(?:\.\d{1,30})?|\d{1,3}(?:,\d{3}){1,9})\s*([A-Za-z]*)")
_NAMES = {name.lower(): name for name in UNITS} | {"byte": "B", "bytes": "B"}


def exact(nbytes: int) -> str:
    """Return bytes with every digit: ``exact(2935804128)`` is ``'2,935,804,128 B'``."""
    return f"{nbytes:,} B"


def in_unit(nbytes: int, unit: str, digits: int = 2) -> str:
    """Return bytes in the given unit: ``in_unit(1048576, "MiB")`` is ``'1.00 MiB'``."""
    return f"{Decimal(nbytes) / UNITS[unit]:,.{digits}f} {unit}"


def short(nbytes: int) -> str:
    """Return bytes with three digits, or four from 1 GB on: ``'602 kB'``, ``'25.7 MB'``, ``'2.936
    GB'``.

    From 1 GB on three decimals are kept, so that the parts of a sum still add up on the page.
    """
    size = abs(nbytes)
    for unit, least in _SHOWN.items():
        if size >= least:
            small = 1 if size < Decimal("99.95") * DECIMAL[unit] else 0
            return in_unit(nbytes, unit, 3 if unit in ("TB", "GB") else small)
    return f"{nbytes} B"


def both(nbytes: int) -> str:
    """Return bytes in decimal and binary units: ``'2.936 GB (2.734 GiB)'``. Below 1 kB, only the
    bytes are given."""
    for unit, binary in (("GB", "GiB"), ("MB", "MiB"), ("kB", "KiB")):
        if abs(nbytes) >= DECIMAL[unit]:
            return f"{in_unit(nbytes, unit, 3)} ({in_unit(nbytes, binary, 3)})"
    return exact(nbytes)


def named(text: str) -> str | None:
    """Return the unit that a text names, in any case, or None.

    Raises:
        InputError: bits, as in ``'Mb'``.
    """
    unit = _NAMES.get(text.lower())
    if unit is not None and text.endswith("b") and text != text.lower():
        raise InputError(_("{given} are bits, 8 to a byte; for bytes write {unit}.",
                           given=text, unit=unit))  # fmt: skip
    return unit


def parse(text: str | int, bare: bool = False) -> int:
    """Return the bytes of a text such as ``'12GB'``, ``'7.5 GiB'`` or ``'1,048,576'``. Fewer than 1
    MB need a unit, since 12 alone may mean 12 GB, unless ``bare`` says that a number without a
    unit is in bytes.

    Raises:
        InputError: no number, few and without a unit, an unknown unit, bits, a negative size, or a
            fraction of a byte.
    """
    given = printed(text).strip()
    match = _AMOUNT.fullmatch(given)
    unit = named(match[2] or "B") if match else None
    if match is None or unit is None:
        raise InputError(_("{given} is no amount of memory; try 12GB, 512MiB or 1048576.",
                           given=shorten(given)))  # fmt: skip
    size = Fraction(match[1].replace(",", "")) * UNITS[unit]
    if 0 < size < DECIMAL["MB"] and not match[2] and not bare:
        raise _unitless(given, size)
    if size.denominator != 1:
        raise InputError(_("{given!r} is not a whole number of bytes; try {whole}.",
                           given=given, whole=int(size)))  # fmt: skip
    return int(size)


def exact_or_parsed(given: str | int) -> int:
    """Return bytes from a number, which may be small, or from a text as in ``parse``.

    Raises:
        InputError: as ``parse``.
    """
    return parse(given, bare=isinstance(given, Integral))


def _unitless(given: str, size: Fraction) -> InputError:
    """Return the error for a number of bytes so small that it needs a unit."""
    unit = "GB" if size < 1000 else "MB"
    if size.denominator != 1:
        return InputError(_("{given} has no unit, which amounts below 1 MB need; "
                            "try {given} {unit}.", given=given, unit=unit))  # fmt: skip
    return InputError(_("{given} has no unit, which amounts below 1 MB need; "
                        "try {given} {unit}, or {given} B for bytes.",
                        given=given, unit=unit))  # fmt: skip
