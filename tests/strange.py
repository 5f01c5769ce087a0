"""Values that nobody means: whatever takes an argument says one sentence about each, or uses it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np

from memlab.errors import InputError


class Silent:
    """It cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no text")

    __hash__ = None  # type: ignore[assignment]  # nor looked up


def deep(levels: int = 100_000) -> list[Any]:
    """A list in a list in a list."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 5, 10**13, 10**30, 10**400, 10**5000, -(10**5000),
    1.5, 2.0, 0.0, -0.0, 1e30, nan, inf, -inf, 1j, Fraction(1, 3), Decimal("0.1"), np.int8(3),
    np.float32("nan"), np.bool_(1), "", " ", "a", "a\nb", "same", "all", "1", "NaN", "\udc80",
    "x" * 100_000, b"a", [], ["a"], [[1]], (), (1, 2, 3), {}, {"a": 1}, {"a"}, range(3), deep(),
    np.zeros(0), np.zeros((3, 3)), np.array(["a", "b"]), object(), Silent(), lambda: None, int,
    Exception("a"),
)  # fmt: skip
"""Of every kind: not hashable, not comparable, too long to show, not finite, of NumPy."""


def name_of(given: Any) -> str:
    """For the name of a test."""
    text = str(given) if isinstance(given, float | complex | Fraction | None) else ""
    return f"{type(given).__name__}{text and '-'}{text}"


def said(call: Callable[[], Any]) -> str:
    """The sentence that a call is refused with; empty where it is not."""
    try:
        call()
    except InputError as refused:
        sentence = str(refused)
        assert len(sentence.splitlines()) == 1, sentence
        assert sentence.endswith("."), sentence
        assert len(sentence) < 1000, sentence
        sentence.encode()  # a screen can show it
        return sentence
    return ""


def mostly_refused(use: Callable[[Any], object]) -> None:
    """One sentence about most of these values; of any other a result, which can be shown."""
    refused = [given for given in STRANGE if said(lambda: str(use(given)))]  # noqa: B023
    assert len(refused) > len(STRANGE) / 2
