"""Where the parts of the picture stand, in pixels of type at its smallest: 11."""

from __future__ import annotations

from dataclasses import dataclass

from memlab.views.svg import Box

WIDEST, BESIDE, NARROWEST = 960, 820, 600
"""From the widest picture down to ``BESIDE`` the cut stands beside the map, then below it."""
LEFT, PAIR_LEFT = 72, 56
"""The left edge of a map, of one alone and of two side by side."""
LINE = 17
STRIP, MAP, TOY_MAP = 56, 300, 260
"""Heights: of the strip, of the map, of the toy's with 20 pixels for 1 MiB."""
STORY = 4
"""Lines that tell how it was packed."""
PANEL = 7
"""Lines for the block in focus."""
ROWS = 9
"""Lines for the cut."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of one width. ``maps`` are the left and right edges of one map or of two."""

    width: int
    sentences: int
    maps: tuple[tuple[float, float], ...]
    toy: bool
    beside: bool

    @property
    def bands(self) -> int:
        """The baseline of the phases' names, or of the placing's."""
        return 43 + LINE * self.sentences + 9

    @property
    def flag(self) -> int:
        """The baseline of the words at the busiest operation."""
        return self.bands + (8 if self.toy else 24)

    @property
    def strip(self) -> tuple[int, int]:
        """The upper and the lower edge of the strip of live bytes."""
        return self.flag + 12, self.flag + 12 + STRIP

    @property
    def top(self) -> int:
        """The upper edge of the map."""
        return self.strip[1] + 42

    @property
    def bottom(self) -> int:
        """Its lower edge."""
        return self.top + (TOY_MAP if self.toy else MAP)

    @property
    def story(self) -> int:
        """The heading of how it was packed."""
        return self.bottom + 58

    @property
    def key(self) -> int:
        """The baseline of the key."""
        return self.story + LINE * (STORY + 1) + 4

    @property
    def panel(self) -> tuple[float, float]:
        """Where the block in focus is described: its left edge and first baseline."""
        if self.beside:
            return self.maps[0][1] + 18, self.bands
        return 4, self.key + (2 if self.toy else 3) * LINE + 14

    @property
    def cut(self) -> tuple[float, float]:
        """Where the table of the cut stands: its left edge and the baseline of its heading."""
        left, top = self.panel
        return left, (
            self.strip[1] + (25 if self.toy else 29) if self.beside else top + LINE * PANEL + 14
        )

    @property
    def edge(self) -> int:
        """Where texts end that are flush right: a frame still fits around them."""
        return self.width - 4

    @property
    def height(self) -> float:
        """The height of all."""
        if self.beside or len(self.maps) > 1:
            return self.key + LINE + 8
        return self.cut[1] + LINE * (ROWS + 2) + 8

    def frame(self, index: int) -> Box:
        """The frame of a map."""
        left, right = self.maps[index]
        return Box(left, self.top, right, self.bottom)

    def above(self, index: int) -> Box:
        """The frame of the strip above it."""
        left, right = self.maps[index]
        return Box(left, self.strip[0], right, self.strip[1])


def layout(width: int, toy: bool, pair: bool) -> Layout:
    """The layout for a page so many pixels wide."""
    w = max(min(width, WIDEST), NARROWEST)
    beside = w >= BESIDE and not pair
    sentences = (2 if toy else 3) + (w < BESIDE) * (1 if toy else 2)
    maps: tuple[tuple[float, float], ...]
    if pair:
        wide = (w - 2 * PAIR_LEFT - 30) / 2
        second = PAIR_LEFT * 2 + wide + 18
        maps = ((float(PAIR_LEFT), PAIR_LEFT + wide), (second, second + wide))
    else:
        maps = ((float(LEFT), float(w - 342 if beside else w - 12)),)
    return Layout(w, sentences, maps, toy, beside)
