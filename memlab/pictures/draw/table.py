"""The blocks of a page that are words: paragraphs, tables, legends, and blocks side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from memlab.moved import old_names
from memlab.pictures.draw import marks
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.svg import PHONE, Box, Svg
from memlab.pictures.draw.text import Runs
from memlab.pictures.draw.theme import Paint
from memlab.pictures.values.number_text import columns

READ = 960
"""Largest width of a line of words in pixels, also on a wider page."""
LINES = {11: 16, 12: 17, 13: 18, 14: 19, 16: 22, 20: 27}
"""Pixels from one baseline to the next, by the size of the type."""
ROW, APART, SWATCH = 17, 24, 20
"""Pixels of a table: from row to row, between columns, and for a swatch."""
NEAR, LAST, FIRST, NAME = 10, 90, 30, 100
"""Pixels of a table without room: between columns, least widths of the last and first column, and
the width of a first column on a phone from which a name is shortened."""


T = TypeVar("T")


Span = tuple[float, float]
"""Left and right end of a column in pixels."""


class PageBlock:
    """A part of a page, which can be drawn at a place and written as lines of text.

    ``gap`` pixels are free above it.
    """

    gap: float = 0

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        """Draw the block from ``y`` downwards, ``width`` pixels wide, and return the y at which it
        ends."""
        raise NotImplementedError

    def text(self) -> list[str]:
        """Return the lines of the block's text twin."""
        raise NotImplementedError

    @property
    def alone(self) -> bool:
        """True if the block's text is a paragraph of its own, after an empty line."""
        return True


@dataclass(frozen=True)
class Paragraphs(PageBlock):
    """One paragraph or several, each on a new line.

    ``content`` may be a function, which is called when the paragraphs are needed. ``mark``, the
    number of an alternative, a paint or a class of lines, stands before the first. ``cut`` shortens
    each paragraph to one line, ``most`` is the largest number of lines that are drawn, ``left`` the
    indent in pixels. With ``told`` False the paragraphs are in the picture only, with ``drawn``
    False in the text only. With a ``gap`` the text begins a paragraph.
    """

    content: str | Sequence[Runs] | Callable[[], Sequence[Runs]]
    size: int = 12
    bold: bool = False
    dim: bool = False
    mark: int | Paint | str | None = None
    cut: bool = False
    most: int | None = None
    told: bool = True
    drawn: bool = True
    gap: float = 0
    left: float = 0

    @property
    def paragraphs(self) -> Sequence[Runs]:
        """The paragraphs that are not empty."""
        content = self.content() if callable(self.content) else self.content
        return [
            paragraph
            for paragraph in ([content] if isinstance(content, str) else content)
            if paragraph
        ]

    @property
    def alone(self) -> bool:
        return self.gap > 0

    def lines(self, width: float) -> list[Runs]:
        """Return the lines of the paragraphs, broken for a width in pixels."""
        lines: list[Runs] = []
        for paragraph in self.paragraphs:
            if self.cut and isinstance(paragraph, str):
                lines.append(texts.shortened(paragraph, width, self.size, self.bold))
                continue
            runs = [(paragraph, self.bold)] if isinstance(paragraph, str) else paragraph
            lines += texts.flow_lines(runs, min(width, READ), self.size)
        return lines[: self.most]

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        if not self.drawn:
            return y
        x, width = x + self.left, width - self.left
        pitch, base = LINES[self.size], y + self.size
        if self.mark is not None:
            draw_sample(svg, self.mark, x, base)
        inset = 0 if self.mark is None else SWATCH
        lines = self.lines(width - inset)
        for index, line in enumerate(lines):
            svg.text(x + inset, base + pitch * index, line, self.size, bold=self.bold, dim=self.dim)
        return y + pitch * len(lines)

    def text(self) -> list[str]:
        return [_joined(paragraph) for paragraph in self.paragraphs] if self.told else []


@dataclass(frozen=True)
class Table(PageBlock):
    """Rows of cells below their heads.

    ``align`` has ``<`` or ``>`` for each column. ``looks`` are the swatches of the rows, ``facts``
    the texts that rows say on hover, ``sends`` the name and the value that a press on a row sends.
    ``rules`` are the rows below which a line is drawn, or map these rows to the class of the line.
    Rows in ``bold`` are bold, rows in ``dim`` pale, ``lead`` makes the first column bold. Rows in
    ``hidden``, and a table that is not ``drawn``, are in the text only; a table that is not
    ``told`` is in the picture only.

    ``wide`` spreads the columns over the whole width. Where there is no room, columns come nearer,
    a last column that is flush left is broken into lines, and the first column is shortened. Where
    that is not enough, as on a phone, the cells of a row stand one below the other.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    align: str = ""
    title: str = ""
    note: str = ""
    bold: Collection[int] = ()
    lead: bool = False
    dim: Collection[int] = ()
    looks: Sequence[int | Paint | str | None] = ()
    facts: Sequence[object] = ()
    sends: Sequence[tuple[str, object] | None] = ()
    rules: Collection[int] | Mapping[int, str] = ()
    hidden: Collection[int] = ()
    wide: bool = False
    drawn: bool = True
    told: bool = True
    gap: float = 0
    indent: str = ""
    size: int = 12

    # -- SVG ------------------------------------------------------------------------------------

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        if not self.drawn:
            return y
        y = self._title(svg, x, y, width)
        inset = SWATCH if self.looks else 0
        spans = self._spans(width - inset)
        if spans and (spans[-1][1] > width - inset or self._cut_short(svg, spans)):
            return self._stacked(svg, x, y, width)
        if any(self.heads):
            y = self._cells(svg, x + inset, y + ROW, self.heads, spans, size=11, dim=True)
        for index in range(len(self.rows)):
            if index not in self.hidden:
                y = self._row(svg, (x, y + ROW, width), index, spans)
        return y + 5

    def _title(self, svg: Svg, x: float, y: float, width: float) -> float:
        """Draw the title and the note, and return the y at which they end."""
        if not self.title:
            return y
        title = texts.shortened(self.title, width, 13, True)
        right = svg.text(x, y + 13, title, 13, bold=True).right
        if self.note:
            note = texts.shortened(self.note, max(x + width - right - 10, 30), 11)
            svg.text(right + 10, y + 13, note, 11, dim=True)
        return y + LINES[13]

    def _row(
        self, svg: Svg, place: tuple[float, float, float], index: int, spans: list[Span]
    ) -> float:
        """Draw one row with its swatch, fact and line below, and return the baseline of its last
        line."""
        x, y, width = place
        text, send = _item_at(self.facts, index), _item_at(self.sends, index)
        fact, inset = str(text or ""), SWATCH if self.looks else 0
        with svg.told(fact, send):
            if fact or send:
                svg.rect(Box(x, y - 12.5, x + width, y + 4), fill="transparent")
            if (look := _item_at(self.looks, index)) is not None:
                draw_sample(svg, look, x, y)
            bold, dim = index in self.bold, index in self.dim
            y = self._cells(svg, x + inset, y, self.rows[index], spans, bold, dim, self.size)
        if index in self.rules:
            look = self.rules[index] if isinstance(self.rules, Mapping) else "rule faint"
            svg.line(x, y + 5, x + width, y + 5, class_=look)
        return y

    def _stacked(self, svg: Svg, x: float, y: float, width: float) -> float:
        """Draw each row as its first cell and, below that, a line for every other cell and its
        head, and return the y at which they end."""
        y += LINES[11] if any(self.heads) else 0
        if self.heads and self.heads[0]:
            svg.text(x, y, texts.shortened(self.heads[0], width, 11), 11, dim=True)
        for index in (each for each in range(len(self.rows)) if each not in self.hidden):
            fact, send = str(_item_at(self.facts, index) or ""), _item_at(self.sends, index)
            with svg.told(fact, send):
                y = self._stack(svg, x, y + ROW, width, index)
            if index in self.rules:
                look = self.rules[index] if isinstance(self.rules, Mapping) else "rule faint"
                svg.line(x, y + 5, x + width, y + 5, class_=look)
        return y + 5

    def _stack(self, svg: Svg, x: float, y: float, width: float, index: int) -> float:
        """Draw one row from the baseline ``y``, and return the baseline of its last line."""
        inset, top = SWATCH if self.looks else 0, y - 12.5
        if (look := _item_at(self.looks, index)) is not None:
            draw_sample(svg, look, x, y)
        first, *others = self.rows[index]
        dim = index in self.dim
        for line in texts.wrap(first, width - inset, self.size, True) if first else ():
            svg.text(x + inset, y, line, self.size, bold=True, dim=dim)
            y += ROW
        heads = [*self.heads[1:], *[""] * len(others)]
        for head, cell in ((h, c) for h, c in zip(heads, others, strict=False) if c):
            y = _pair(svg, (x + SWATCH, y, x + width), head, cell, (self.size, index in self.bold))
        if _item_at(self.facts, index) or _item_at(self.sends, index):
            svg.rect(Box(x, top, x + width, y - ROW + 4), fill="transparent")
        return y - ROW

    def _cells(
        self,
        svg: Svg,
        x: float,
        y: float,
        cells: Sequence[str],
        spans: list[Span],
        bold: bool = False,
        dim: bool = False,
        size: int = 12,
    ) -> float:
        """Draw one row from the baseline ``y``, and return the baseline of its last line."""
        most = 1
        for index, (cell, (left, right)) in enumerate(zip(cells, spans, strict=True)):
            room, flush = right - left + 0.1, self._right(index)
            heavy = bold or (self.lead and index == 0 and cells is not self.heads)
            last = index == len(spans) - 1 > 0 and not flush
            lines = texts.wrap(cell, room, size, heavy) if last else [cell]
            if index == 0 and not flush:
                lines = [texts.shortened(cell, room, size, heavy)]
            most = max(most, len(lines))
            for number, line in enumerate(filter(None, lines)):
                at, anchor = (right, "end") if flush else (left, "start")
                svg.text(x + at, y + ROW * number, line, size, anchor, bold=heavy, dim=dim)
        return y + ROW * (most - 1)

    def _cut_short(self, svg: Svg, spans: list[Span]) -> bool:
        """True if a word of the last column is longer than its line or, on a phone, little is left
        of the names in the first column."""
        left, right = spans[0]
        names = max(widths[0] for widths in self._widths())
        short = svg.width < PHONE and right - left < min(names - 0.1, NAME)
        return short or self._has_long_word(spans[-1])

    def _has_long_word(self, span: Span) -> bool:
        """True if a word of the last column, which is flush left, is longer than a line there."""
        if not self.rows or self._right(len(self.rows[0]) - 1) or len(self.rows[0]) < 2:
            return False
        shown = (row[-1] for index, row in enumerate(self.rows) if index not in self.hidden)
        words = (word for cell in shown for word in cell.split(" "))
        return any(texts.width(word, self.size) > span[1] - span[0] + 0.1 for word in words)

    def _right(self, index: int) -> bool:
        """True if the column with that index is flush right."""
        align = self.align or "<"
        return (align[index] if index < len(align) else ">") == ">"

    def _spans(self, width: float) -> list[Span]:
        """Return the left and the right end of each column in pixels."""
        widest = [max(column) for column in zip(*self._widths(), strict=True)]
        apart, count = APART, len(widest) - 1
        spare = width - 0.1 - sum(widest) - apart * count
        if spare < 0 and count:
            apart = NEAR
            spare = min(spare + (APART - NEAR) * count, 0)
            if not self._right(count):
                least = max(widest[-1] + spare, min(widest[-1], LAST))
                widest[-1], spare = least, spare + widest[-1] - least
        if spare < 0 or self.wide:
            widest[0] = max(widest[0] + spare, FIRST)
        lefts = accumulate((wide + apart for wide in widest[:-1]), initial=0.0)
        return [(left, left + wide) for left, wide in zip(lefts, widest, strict=False)]

    def _widths(self) -> Iterator[list[float]]:
        """Yield the widths of the cells, for the heads and for every row that is drawn."""
        if any(self.heads):
            yield [texts.width(cell, 11) for cell in self.heads]
        for index, row in enumerate(self.rows):
            if index not in self.hidden:
                heavy = [(self.lead and at == 0) or index in self.bold for at in range(len(row))]
                yield [texts.width(cell, self.size, b) for cell, b in zip(row, heavy, strict=True)]

    # -- text -----------------------------------------------------------------------------------

    def text(self) -> list[str]:
        if not self.told:
            return []
        cells = [list(self.heads), *map(list, self.rows)] if any(self.heads) else self.rows
        align = (
            "".join(">" if self._right(i) else "<" for i in range(len(cells[0]))) if cells else ""
        )
        lines = [self.indent + line for line in columns(cells, align=align)] if cells else []
        head = ". ".join(filter(None, (self.title, self.note)))
        return [*([head] if head else []), *lines]


@dataclass(frozen=True)
class Key(PageBlock):
    """A legend: a sample of each mark and its name. A text has no marks, and so no legend."""

    entries: Sequence[tuple[int | Paint | str | marks.Glyph, str]]
    size: int = 12
    gap: float = 0

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        left, base, pitch = x, y + self.size, LINES[self.size] + 2
        for look, name in self.entries:
            wide = SWATCH + texts.width(name, self.size)
            if left > x and left + wide > x + width:
                left, base = x, base + pitch
            draw_sample(svg, look, left, base)
            svg.text(left + SWATCH, base, name, self.size)
            left += wide + 18
        return base + 6 if self.entries else y

    def text(self) -> list[str]:
        return []


@dataclass(frozen=True)
class Unnamed(Key):
    """A legend of the marks whose names are not yet written in the picture above it."""

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        named = {label.content for label in svg.labels}
        left = [(look, name) for look, name in self.entries if name not in named]
        return Key(left, self.size).draw(svg, x, y, width)


@dataclass(frozen=True)
class SideBySide(PageBlock):
    """Blocks side by side, ``apart`` pixels between them, each with its share of the width. On a
    phone they stand one below the other, save ``rows`` that belong to each other."""

    parts: Sequence[tuple[PageBlock, float]]
    apart: float = 20
    gap: float = 0
    rows: bool = False

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        if svg.width < PHONE and not self.rows:
            return Below([block for block, _ in self.parts]).draw(svg, x, y, width)
        room = width - self.apart * (len(self.parts) - 1)
        total, bottom = sum(share for _, share in self.parts), y
        for block, share in self.parts:
            wide = room * share / total
            bottom = max(bottom, block.draw(svg, x, y + block.gap, wide))
            x += wide + self.apart
        return bottom

    def text(self) -> list[str]:
        text: list[str] = []
        for block, _ in self.parts:
            lines = block.text()
            text += ["", *lines] if text and lines else lines
        return text


@dataclass(frozen=True)
class Below(PageBlock):
    """Blocks one below the other, as one part of blocks side by side."""

    blocks: Sequence[PageBlock]
    gap: float = 0

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        for block in self.blocks:
            y = block.draw(svg, x, y + block.gap, width)
        return y

    def text(self) -> list[str]:
        return paragraph_lines(self.blocks)


def paragraph_lines(blocks: Sequence[PageBlock]) -> list[str]:
    """Return the lines of text of blocks, with an empty line where a paragraph begins."""
    text: list[str] = []
    alone = False
    for block in blocks:
        lines = block.text()
        if lines and text and (alone or block.alone):
            text.append("")
        if lines:
            text += lines
            alone = block.alone and not isinstance(block, Paragraphs)
    return text


def draw_sample(svg: Svg, look: int | Paint | str | marks.Glyph, x: float, base: float) -> None:
    """Draw a small sample of a look, to the left of a text.

    Args:
        svg: picture.
        look: number of an alternative, a paint, a glyph, the name of a point (``"dot"``,
            ``"hollow"``, ``"ring"``), ``"edge"`` and a class for a rectangle, or the class of a
            line.
        x: left end of the sample in pixels.
        base: baseline of the text in pixels.
    """
    svg.samples.append((look, x, base))
    if isinstance(look, Paint):
        svg.swatch(x, base, look)
    elif isinstance(look, marks.Glyph):
        place = f"translate({x + 7} {base - 4})"
        svg.path(look.d, class_=look.look, stroke_width=look.width, transform=place)
    elif isinstance(look, int) or look in ("dot", "hollow", "ring"):
        marks.symbol(svg, look, x + 7, base - 4)
    elif look.startswith("edge"):
        kind = look.removeprefix("edge").strip() or "rule"
        svg.rect(Box(x, base - 9.5, x + 14, base + 0.5), class_=kind)
    else:
        svg.line(x, base - 4, x + 15, base - 4, class_=look)


def _pair(
    svg: Svg, place: tuple[float, float, float], head: str, cell: str, look: tuple[int, bool]
) -> float:
    """Write a head at the left, the cell flush right beside it or, where it is long, in lines below
    it, and return the next baseline. ``place`` is the left end, the baseline and the right end."""
    (left, y, right), (size, bold) = place, look
    used = (
        svg.text(left, y, texts.shortened(head, right - left, 11), 11, dim=True).right
        if head
        else left
    )
    if texts.width(cell, size, bold) <= right - used - (NEAR if head else 0):
        at, anchor = (right, "end") if head else (left, "start")
        svg.text(at, y, cell, size, anchor, bold=bold)
        return y + ROW
    y += ROW if head else 0
    for line in texts.wrap(cell, right - left, size, bold):
        svg.text(left, y, line, size, bold=bold)
        y += ROW
    return y


def _joined(runs: Runs) -> str:
    """Return the pieces of a line as one text, a space between them."""
    return runs if isinstance(runs, str) else " ".join(piece.strip() for piece, _ in runs)


def _item_at(items: Sequence[T], index: int) -> T | None:
    """Return the item with that index, or None behind the end."""
    return items[index] if index < len(items) else None


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
