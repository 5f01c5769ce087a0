"""Where the parts of the picture stand, in pixels of type at its smallest: 11."""

from __future__ import annotations

from dataclasses import dataclass

from memlab.views.svg import Box

WIDEST, BESIDE, NARROWEST = 960, 820, 600
"""From the widest picture down to ``BESIDE`` the table stands beside the plot, then below it."""

LEFT = 72
LINE = 17
"""From one sentence to the next."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of one width.

    ``sentences`` is how many lines there are for them, ``head`` the baseline of the first;
    ``bands``, ``flag`` and ``above`` are baselines between them and the plot; ``lower`` is that of
    the headings below it. ``bar`` is where the cut stands, nowhere in a narrow picture.
    """

    width: int
    height: int
    sentences: int
    right: int
    bar: tuple[int, int] | None
    table: tuple[int, int, int]
    blocks: tuple[int, int, int]
    head: int = 43

    @property
    def bands(self) -> int:
        """The names of the phases."""
        return self.head + LINE * self.sentences + 9

    @property
    def flag(self) -> int:
        """The words at the flag."""
        return self.bands + 25

    @property
    def above(self) -> int:
        """Notes on the axis."""
        return self.bands + 43

    @property
    def top(self) -> int:
        """The upper edge of the plot."""
        return self.bands + 52

    @property
    def bottom(self) -> int:
        """Its lower edge."""
        return self.top + 256

    @property
    def lower(self) -> int:
        """The heading of the rows under it."""
        return self.bottom + 62

    @property
    def edge(self) -> int:
        """Where texts end that are flush right: a frame still fits around them."""
        return self.width - 4

    @property
    def plot(self) -> Box:
        """The frame of the plot."""
        return Box(LEFT, self.top, self.right, self.bottom)


def layout(width: int, rule: bool = False) -> Layout:
    """The layout for a page so many pixels wide; the table of the rules needs more height."""
    if width >= BESIDE:
        w = min(width, WIDEST)
        right, lines = w - 342, 2 if w == WIDEST else 3
        extra = LINE * (lines - 2)
        bar, table = (right + 18, right + 44), (right + 58, 142 + extra, 280)
        blocks = (right + 18, 456 + extra, 320)
        return Layout(w, (688 if rule else 666) + extra, lines, right, bar, table, blocks)
    w, extra = max(min(width, 720), NARROWEST), 2 * LINE + (20 if rule else 0)
    table, blocks = (4, 680 + extra, w // 2 - 12), (w // 2 + 16, 680 + extra, w - w // 2 - 20)
    return Layout(w, 936 + extra, 4, w - 12, None, table, blocks)
