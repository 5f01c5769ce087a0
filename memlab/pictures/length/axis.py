"""Axis of lengths: its ends, the stops of its slider, and the keys that move along it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2
from typing import Generic, TypeVar

from memlab.pictures.draw import text as texts
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Glyph, Mark, Rule
from memlab.pictures.live.setting import Range

S = TypeVar("S")
"""Study of a picture."""
FIRST, LAST = 128, 16_384
"""Lengths at the ends of the axis, in tokens."""
TO_A_DOUBLING = 8
STOPS = tuple(
    round(FIRST * 2 ** (stop / TO_A_DOUBLING))
    for stop in range(round(TO_A_DOUBLING * log2(LAST / FIRST)) + 1)
)
"""Lengths at which the slider stops."""
KEYS = ("ArrowLeft", "ArrowRight", "PageUp", "PageDown")


def length_setting() -> Range:
    """Return the setting of the length: a slider, and a box for any whole number."""
    return Range(FIRST, LAST, doc="tokens of each text", default=1024, stops=STOPS, box=True)


def doublings() -> Iterator[int]:
    """Yield the lengths of the marks: each is twice the one before."""
    length = FIRST
    while length <= LAST:
        yield length
        length *= 2


def length_after(length: int, key: str) -> int:
    """Return the length that a key leads to: the next stop, the one before, twice or half."""
    if key in ("PageUp", "PageDown"):
        length = length * 2 if key == "PageUp" else length // 2
    elif key == "ArrowRight":
        length = STOPS[min(bisect_right(STOPS, length), len(STOPS) - 1)]
    elif key == "ArrowLeft":
        length = STOPS[max(bisect_left(STOPS, length) - 1, 0)]
    return on_axis(length)


def on_axis(length: int) -> int:
    """Return the length of the axis that is nearest to a length."""
    return min(max(length, FIRST), LAST)


# -- pictures over the length ----------------------------------------------------------------------


@dataclass(frozen=True)
class LengthPicture(Generic[S]):
    """Settings and studies that a picture over the length of a text depends on.

    ``before`` is the study of the state before, where that is to be compared; ``chosen`` is what is
    in focus. With ``numbers`` all numbers are drawn, and with ``asked`` the answer is hidden.
    """

    study: S
    before: S | None
    width: float
    height: float
    chosen: str = ""
    numbers: bool = False
    asked: bool = False


# -- marks -----------------------------------------------------------------------------------------


def foot(place: Callable[[float], float], ground: float, title: str, down: float) -> Iterator[Mark]:
    """Yield marks for the line of the axis, a mark at each doubling, both of its ends, and its
    title below them.

    Args:
        place: value of x of a length.
        ground: value of y on which the axis lies.
        title: what stands below the axis.
        down: pixels from the axis to the baseline of the title.
    """
    first, last = place(FIRST), place(LAST)
    yield Rule(y=ground, span=(first, last), look="rule", crossed=True)
    for length in doublings():
        yield Rule(x=place(length), span=(ground, ground), look="rule", below=5, crossed=True)
    yield ChartText(first, ground, f"{FIRST:,}", 11, "middle", dy=27, dim=True)
    yield ChartText(last, ground, f"{LAST:,}", 11, "middle", dy=27, dim=True)
    yield ChartText(first, ground, title, 11, dy=down, dim=True)


def pole(x: float, ends: tuple[float, float], name: str, room: float) -> Iterator[Mark]:
    """Yield marks for the length that is chosen: a line with a handle, and its name, to the left
    where that takes at most ``room`` pixels."""
    yield Rule(x=x, span=ends, look="pole", above=8, crossed=True)
    yield Glyph(x, ends[1], "M-4.5-9h9v9h-9Z", marker="s", dy=-6)
    left = texts.width(name, 12, bold=True) + 12 < room
    anchor, dx = ("end", -9) if left else ("start", 9)
    yield ChartText(x, ends[1], name, 12, anchor, dx=dx, dy=-7, bold=True)
