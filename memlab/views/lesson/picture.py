"""The picture of a revealed card: the options, then guess and figures as bars on one axis.

The diagnosis stands under the guess. A picture that stands alone brings the question, what was
seen, and one line for every asking before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from memlab import strings
from memlab.views import bars, extents
from memlab.views.bars import GUESS, PITCH, TALL
from memlab.views.lesson.rows import Bar, Option, Rows
from memlab.views.svg import Box, Svg

WIDEST, NARROWEST = 820, 480
GAP, LINE, AFTER, INDENT, TICK = 14, 18, 6, 44, 10
THIN = 1.5
"""The width of a bar that would be too short to be seen."""


@dataclass
class Page:
    """A picture that grows downwards; ``y`` is where the next thing begins."""

    svg: Svg
    y: float = 0

    def flow(self, text: str, size: int, left: float = 0, bold: bool = False) -> list[extents.Line]:
        """A text in as many lines as it needs from ``left`` on."""
        return extents.flow([(text, bold)], self.svg.width - left, size) if text else []

    def write(self, text: str, size: int, left: float = 0, bold: bool = False) -> None:
        """The same, drawn; an indented one stands on a grid."""
        for line in self.flow(text, size, left, bold):
            self.svg.text(left, self.y + size, line, size, chip=left > 0)
            self.y += LINE


def draw(rows: Rows, width: int = WIDEST, alone: bool = True, before: Sequence[str] = ()) -> Svg:
    """The picture; its height follows what it shows."""
    width = min(max(width, NARROWEST), WIDEST)
    page = Page(Svg(width, 0, f"c{crc32(repr((rows, width, alone)).encode()):08x}"))
    if alone:
        page.write(f"{strings.get('card.predict')} {rows.question}", 14, bold=True)
        page.y += GAP
    if rows.options:
        _options(page, rows)
    if rows.bars:
        _bars(page, rows)
    if alone:
        page.y += GAP
        page.write(rows.seen, 13)
        for line in before:
            page.write(line, 12)
    page.svg.height = page.y + 4
    return page.svg


# -- options ------------------------------------------------------------------------------------


def _options(page: Page, rows: Rows) -> None:
    """Each option with a ring, filled where it was chosen, and a tick where it is right."""
    for option in rows.options:
        _option(page, option)
        if option.chosen and rows.diagnosis:
            _beside(page, rows.diagnosis)
        page.y += 3
    page.y += GAP if rows.bars else 0


def _option(page: Page, option: Option) -> None:
    svg, middle = page.svg, page.y + 8.5
    if option.right:
        svg.path(f"M2 {middle}l4 5 8-11", class_="rule", stroke_width=2.4)
    svg.add("circle", cx=28, cy=middle, r=5.5, class_="rule")
    if option.chosen:
        svg.add("circle", cx=28, cy=middle, r=3)
    page.write(option.text, 13, INDENT)
    end = svg.labels[-1].box.right + GAP
    if not option.marks:
        return
    if end + extents.width(option.marks, 12, bold=True) <= svg.width:
        svg.text(end, page.y - LINE + 13, option.marks, 12, bold=True)
    else:
        page.write(option.marks, 12, INDENT, bold=True)


def _beside(page: Page, diagnosis: str) -> None:
    """The diagnosis under the option that it is about, at a line of its own."""
    top = page.y + 2
    page.write(diagnosis, 13, INDENT + TICK)
    page.svg.line(INDENT + 1, top, INDENT + 1, page.y, class_="rule faint", stroke_width=2)
    page.y += AFTER


# -- bars ---------------------------------------------------------------------------------------


def _bars(page: Page, rows: Rows) -> None:
    """All bars from one line on the left, their values in one column on the right."""
    names = [extents.shortened(bar.name, 0.4 * page.svg.width, 12) for bar in rows.bars]
    left = round(max(extents.width(name, 12, bold=True) for name in names)) + TICK + 1
    values = max(extents.width(bar.text, 12, bold=True) for bar in rows.bars)
    said = page.flow(rows.diagnosis, 13, left + TICK) if rows.bars[0].origin == GUESS else []
    bottom = page.y + PITCH * len(names) + (LINE * len(said) + AFTER if said else 0)
    lane = Box(left, page.y, page.svg.width - round(values) - 2 * TICK, bottom)
    _axis(page.svg, rows, lane)
    for bar, name in zip(rows.bars, names, strict=True):
        page.svg.text(left - TICK, page.y + PITCH - 9, name, 12, "end", bold=True)
        _bar(page, bar, lane, rows)
        if bar.origin == GUESS:
            page.write(rows.diagnosis, 13, left + TICK)
            page.y += AFTER
    page.y = bottom + 20


def _axis(svg: Svg, rows: Rows, lane: Box) -> None:
    for value, label in rows.ticks:
        x = lane.left + (lane.right - lane.left) * float(value / rows.end)
        svg.line(x, lane.top, x, lane.bottom, class_="grid")
        svg.text(x, lane.bottom + 14, label, 11, "middle")
    svg.line(lane.left, lane.top, lane.left, lane.bottom, class_="rule", opacity=0.5)


def _bar(page: Page, bar: Bar, lane: Box, rows: Rows) -> None:
    """One bar, and its exact value behind the lane."""
    wide = (lane.right - lane.left) * float(bar.value / rows.end)
    top = page.y + (PITCH - TALL) / 2
    right = lane.left + max(wide, THIN if bar.value else 0)
    bars.draw(page.svg, Box(lane.left, top, right, top + TALL), bar.origin)
    page.svg.text(lane.right + TICK, top + TALL - 4, bar.text, 12, bold=True)
    page.y += PITCH
