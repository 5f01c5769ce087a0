"""Peak bytes of the NumPy arrays that a learner's function allocates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from memlab import strings
from memlab.errors import InputError, shorten
from memlab.lesson import sentences
from memlab.lesson.card_question import AnswerKind
from memlab.strings import gettext as _


@dataclass(frozen=True, repr=False)
class Allocation:
    """Result of a measured call, and the peak bytes that it had allocated at one time."""

    result: Any
    peak: int

    def text(self) -> str:
        """Return one sentence with the peak."""
        return strings.get("exercise.allocated", peak=in_bytes(self.peak))

    __str__ = __repr__ = text


def measure(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Allocation:
    """Call a function and measure the peak bytes of the arrays that it allocates, as NumPy's
    allocator sees them.

    The result counts, the arguments do not. Arrays that a library allocates once, at its first
    call, count at that call. ``memlab.runtime.metering.meter.OUTSIDE`` lists what is not measured.

    Args:
        function: the function to call.
        args: its positional arguments.
        kwargs: its keyword arguments.

    Returns:
        The result and the peak in bytes; it prints as one sentence.

    Raises:
        InputError: ``function`` cannot be called, or a measurement is running already.

    >>> import numpy as np
    >>> from memlab import lesson
    >>> a = np.ones(1000)
    >>> lesson.measure(np.add, a, a).peak
    8000
    """
    if not callable(function):
        raise InputError(
            _(
                "measure takes a function and then its arguments, got {given}; try "
                "measure(function, argument).",
                given=shorten(function),
            )
        )
    from memlab.runtime.metering.meter import Meter

    with Meter() as meter:
        result = function(*args, **kwargs)
    return Allocation(result, meter.peak)


def in_bytes(nbytes: int) -> str:
    """Return a number of bytes with every digit, from 1 kB on also in a larger unit."""
    return sentences.amount(Fraction(nbytes), AnswerKind.AMOUNT)
