"""The one exception that a user's mistake raises: a sentence, never a traceback to read."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from itertools import compress
from math import inf, isfinite
from numbers import Real
from operator import index
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from unicodedata import category

from memlab.moved import old_names
from memlab.strings import gettext as _

T = TypeVar("T")

LISTED = 60
"""The most names that a message lists."""
LONGEST = 200
"""Characters of a name."""
LARGEST = 10**40
"""The largest whole number that is taken: what follows from it is still in the range of floats, and
Python writes it in digits."""


class InputError(ValueError):
    """Bad input. The message says what was given, what is allowed and what to try.

    ``exit_code`` is that of the command line.
    """

    exit_code = 2

    def __init__(self, *message: object) -> None:
        super().__init__(*(visible(part, "\n") if isinstance(part, str) else part
                           for part in message))  # fmt: skip


class BusyError(InputError):
    """Error for a measurement that is started inside another one."""


class AbsentInPageError(InputError):
    """Error for what no web page has; a cell that needs it keeps what was recorded there."""


def unknown(what: str, given: object, allowed: Iterable[str]) -> InputError:
    """Return the error for a name that is not in a registry. It lists the most similar names first,
    and leaves out an empty name, which stands for no choice.

    >>> unknown("network", "resnet5", ["resnet50", "vgg16"]).args[0]
    "unknown network 'resnet5'; did you mean 'resnet50'? Known: resnet50, vgg16."
    """
    names, shown = [name for name in allowed if name], shorten(given)
    near = get_close_matches(given if isinstance(given, str) else shown, names, n=1, cutoff=0.6)
    listed = ", ".join(names[:LISTED])
    if len(names) > LISTED:
        listed += _(" and {count} others", count=len(names) - LISTED)
    if not near:
        return InputError(_("unknown {what} {given}. Known: {known}.",
                            what=what, given=shown, known=listed))  # fmt: skip
    return InputError(_("unknown {what} {given}; did you mean {near!r}? Known: {known}.",
                        what=what, given=shown, near=near[0], known=listed))  # fmt: skip


def whole_number(what: str, given: object, least: int = 1, most: int = LARGEST) -> int:
    """Return ``given`` as an ``int`` from ``least`` to ``most``.

    Raises:
        InputError: it is no whole number, too small or too large. ``True`` is no number here.
    """
    number = int(given) if isinstance(given, float) and given.is_integer() else given
    try:
        value = index(number)  # type: ignore[arg-type]  # what has none is the error
    except TypeError:
        value = None
    if value is None or isinstance(number, bool):
        raise InputError(_("{what} must be a whole number, got {given}; try {usual}.",
                           what=what, given=shorten(given), usual=max(least, 1)))  # fmt: skip
    if value < least:
        raise InputError(_("{what} must be at least {least}, got {given}; try {usual}.",
                           what=what, least=least, given=_digits(value),
                           usual=max(least, 1)))  # fmt: skip
    if value > most:
        raise InputError(_("{what} must be at most {most}, got {given}; try {most}.",
                           what=what, most=_digits(most), given=_digits(value)))  # fmt: skip
    return value


def divisor(what: str, given: object, of: str, size: int, most: int = LARGEST) -> int:
    """Return ``given`` as an ``int`` of at most ``most`` that divides ``size``; ``of`` is the name
    of ``size`` in the error.

    Raises:
        InputError: it is none; the message names the nearest below it.
    """
    value = whole_number(what, given, 1, min(size, most))
    if size % value:
        usual = next(n for n in range(value, 0, -1) if size % n == 0)
        raise InputError(_("{what} must divide {of}, {size}, got {given}; try {usual}.",
                           what=what, of=of, size=size, given=value, usual=usual))  # fmt: skip
    return value


def real_number(
    what: str,
    given: object,
    usual: float,
    least: float = -inf,
    below: float = inf,
    above: float = -inf,
) -> float:
    """Return ``given`` as a finite ``float`` of at least ``least``, above ``above`` and below
    ``below``. The error proposes the ``usual`` value.

    Raises:
        InputError: it is no real number, NaN, infinite or outside.
    """
    try:
        value = float(given) if isinstance(given, Real) and not isinstance(given, bool) else inf
    except OverflowError:
        value = inf
    if not isfinite(value) or not (least <= value < below and value > above):
        bounds = (_("at least {limit:g}", limit=least), _("above {limit:g}", limit=above),
                  _("below {limit:g}", limit=below))  # fmt: skip
        wanted = _(" and ").join(compress(bounds, map(isfinite, (least, above, below))))
        raise InputError(_("{what} must be {wanted}, got {given}; try {usual:g}.", what=what,
                           wanted=wanted or _("a number"), given=shorten(given),
                           usual=usual))  # fmt: skip
    return value


def true_or_false(what: str, given: object) -> bool:
    """Return ``given`` as a ``bool``.

    Raises:
        InputError: it is neither ``True`` nor ``False``.
    """
    if type(given).__name__ not in ("bool", "bool_"):  # NumPy's too
        raise InputError(_("{what} must be True or False, got {given}; try True.",
                           what=what, given=shorten(given)))  # fmt: skip
    return bool(given)


def named(what: str, given: object, usual: str, empty: bool = False) -> str:
    """Return ``given`` as a name: printable text of 1 to 200 characters on one line, or none at all
    where ``empty`` is set.

    Raises:
        InputError: it is none; the message proposes the ``usual`` one.
    """
    if (
        not isinstance(given, str)
        or not given.isprintable()
        or len(given) > LONGEST
        or not (given.strip() or (empty and not given))
    ):
        raise InputError(_("{given} is no name for {what}; try {usual!r}.",
                           what=what, given=shorten(given), usual=usual))  # fmt: skip
    return given


def known(what: str, given: object, allowed: Collection[str]) -> str:
    """Return ``given``, which must be one of the allowed names.

    Raises:
        InputError: it is none of them; the message names the nearest and all others.
    """
    if not isinstance(given, str) or given not in allowed:
        raise unknown(what, given, allowed)
    return given


def listed(what: str, given: object, *usual: object) -> list[Any]:
    """Return ``given`` as a list. A single text becomes a list of one.

    Raises:
        InputError: it is no list; the message proposes one of the ``usual`` values.
    """
    if isinstance(given, str | bytes):  # which hold letters and numbers, but none is meant
        return [given]
    try:
        return list(given)  # type: ignore[call-overload,no-any-return]  # what is none is the error
    except TypeError:
        raise InputError(_("{what} must be a list, got {given}; try {usual}.",
                           what=what, given=shorten(given), usual=[*usual])) from None  # fmt: skip


def several(what: str, given: object, allowed: Collection[str]) -> tuple[str, ...]:
    """Return ``given`` as a list of allowed names, each at most once. A single name becomes a list
    of one.

    Raises:
        InputError: it is no list, or one of them is none of the names.
    """
    names = listed(f"names, each a {what},", given, next(iter(allowed)))
    return tuple(dict.fromkeys(known(what, name, allowed) for name in names))


def one_option(what: str, given: object, registry: Mapping[str, T]) -> T:
    """Return the entry of that name in a registry.

    Raises:
        InputError: there is none; the message names the nearest and all others.
    """
    return registry[known(what, given, registry)]


IN_PAGE = sys.platform == "emscripten"
"""True in a web page, which has NumPy and memlab alone, and where nothing can be installed."""


def absent_in_page(what: str, package: str) -> AbsentInPageError:
    """Return the error for a package that ``what`` needs and no web page has."""
    return AbsentInPageError(
        _("{what} needs {package}, which no web page has; do it in the lab on a computer.",
          what=what, package=package)
    )  # fmt: skip


def library(module: str, what: str) -> ModuleType:
    """Return a module of another package, which ``what`` needs. It is imported on first use.

    Raises:
        InputError: the package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        package = module.partition(".")[0]
        if IN_PAGE:
            raise absent_in_page(what, package) from None
        raise InputError(
            _("{what} needs {package}, which is not installed; try pip install {package}.",
              what=what, package=package)
        ) from None  # fmt: skip


def visible(text: str, keep: str = "") -> str:
    r"""The text with each character that no screen shows, or that would steer a terminal, as Python
    writes it, but for those in ``keep``. The result can be drawn, printed and saved.

    >>> visible("conv\x1b[31m")
    'conv\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(
        char if _shown(char) or char in keep else char.encode("unicode_escape").decode()
        for char in text
    )


def _shown(char: str) -> bool:
    """True if a character is visible or a space, or joins two letters, as in Persian."""
    return char.isprintable() or category(char) == "Zs" or char in "\u200c\u200d"


def shorten(given: object) -> str:
    """Return a given value on one line, short enough for a sentence."""
    try:
        text = visible(re.sub(r"\s*\n\s*", " ", repr(given)))
    except Exception:  # an integer of thousands of digits, a list too deep, a class of a learner
        if isinstance(given, int):
            return "a number of thousands of digits"
        return f"a value of type {type(given).__name__} that cannot be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


def printed(given: object) -> str:
    """Return a given value as ``print`` shows it; a value that it cannot show, in words."""
    try:
        return str(given)
    except Exception:
        return shorten(given)


def _digits(number: int) -> str:
    """Return a whole number as text, shortened if it is very long."""
    if abs(number) < LARGEST:
        return f"{number:,}"
    return "10^40" if number == LARGEST else "more than 10^40" if number > 0 else "below -10^40"


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
