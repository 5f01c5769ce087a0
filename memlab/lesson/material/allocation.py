"""Memory of the arrays of a function while it runs: a learner's own code under the meter.

>>> measure(np.outer, a, a)
Your function allocated at most 8,000 B = 8.000 kB (7.812 KiB) at one time.
"""

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
    """Return value of a call, and the most bytes that it had allocated at one time."""

    result: Any
    peak: int

    def text(self) -> str:
        """One sentence with the peak."""
        return strings.get("exercise.allocated", peak=in_bytes(self.peak))

    __str__ = __repr__ = text


def measure(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Allocation:
    """Call a function and measure the arrays that it makes, in bytes, as NumPy's allocator saw it.

    The result counts, the arguments do not. What a library makes once, at its first call, counts
    at that call. ``memlab.runtime.metering.meter.OUTSIDE`` is not seen.

    Raises:
        InputError: no function, or a measurement is running already.
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
    """Every digit, and a larger unit from 1 kB on."""
    return sentences.amount(Fraction(nbytes), AnswerKind.AMOUNT)
