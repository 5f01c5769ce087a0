"""The blocks of a page that are words: paragraphs, tables, legends, and blocks side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from memlab.moved import old_names
from memlab.pictures.draw import marks
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.svg import Box, Svg
from memlab.pictures.draw.text import Runs
from memlab.pictures.draw.theme import Paint
from memlab.pictures.values.number_text import columns

READ = 960
"""Pixels of the longest line of words, on a page that is wider."""
LINES = {11: 16, 12: 17, 13: 18, 14: 19, 16: 22, 20: 27}
"""From one line of type to the next, by its size."""
ROW, APART, SWATCH = 17, 24, 20
"""Of a table: its lines, what is free between columns, room for a swatch."""
NEAR, LAST, FIRST = 10, 90, 30
"""Where a table has no room: what is free between columns, the least of the last and the first."""


T = TypeVar("T")


Span = tuple[float, float]
"""The left and the right end of a column."""


class PageBlock:
    """A part of a page: it draws itself at a place and tells itself in lines.

    ``gap`` pixels are free above it; with a gap its text begins a paragraph.
    """

    gap: float = 0

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        """Draw it from ``y`` downwards; returns where it ends."""
        raise NotImplementedError

    def text(self) -> list[str]:
        """The same in lines of text."""
        raise NotImplementedError

    @property
    def alone(self) -> bool:
        """Whether its text is a paragraph of its own."""
        return True


@dataclass(frozen=True)
class Paragraphs(PageBlock):
    """A paragraph, or several: each begins a line; a function gives them once they are needed. A
    ``mark``, the number of a way or a paint, stands before the first. ``cut`` shortens each to one
    line, ``most`` is how many lines are drawn at most, ``left`` how far it stands in. What is not
    ``told`` is in the picture alone; not ``drawn``, in the text alone.
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
        """Each as it was given; an empty one is none."""
        given = self.content() if callable(self.content) else self.content
        return [each for each in ([given] if isinstance(given, str) else given) if each]

    @property
    def alone(self) -> bool:
        return self.gap > 0

    def lines(self, width: float) -> list[Runs]:
        """As they are broken for a width."""
        found: list[Runs] = []
        for each in self.paragraphs:
            if self.cut and isinstance(each, str):
                found.append(texts.shortened(each, width, self.size, self.bold))
                continue
            runs = [(each, self.bold)] if isinstance(each, str) else each
            found += texts.flow(runs, min(width, READ), self.size)
        return found[: self.most]

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        if not self.drawn:
            return y
        x, width = x + self.left, width - self.left
        pitch, base = LINES[self.size], y + self.size
        if self.mark is not None:
            sample(svg, self.mark, x, base)
        inset = 0 if self.mark is None else SWATCH
        lines = self.lines(width - inset)
        for index, line in enumerate(lines):
            svg.text(x + inset, base + pitch * index, line, self.size, bold=self.bold, dim=self.dim)
        return y + pitch * len(lines)

    def text(self) -> list[str]:
        return [_one(each) for each in self.paragraphs] if self.told else []


@dataclass(frozen=True)
class Table(PageBlock):
    """Rows of cells below their heads. ``align`` says column by column ``<`` or ``>``; ``looks``
    are a swatch for each row, ``facts`` what each says on hover, ``sends`` what a press sends;
    ``rules`` are the rows below which a line is drawn, or the classes of these lines. Rows in
    ``hidden`` are in the text alone.
    ``wide`` spreads the columns over the whole width. Where there is no room, columns come nearer,
    a last one that is flush left is broken into lines, and the first one is shortened."""

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
        if any(self.heads):
            y = self._cells(svg, x + inset, y + ROW, self.heads, spans, size=11, dim=True)
        for index in range(len(self.rows)):
            if index not in self.hidden:
                y = self._row(svg, (x, y + ROW, width), index, spans)
        return y + 5

    def _title(self, svg: Svg, x: float, y: float, width: float) -> float:
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
        x, y, width = place
        said, send = _at(self.facts, index), _at(self.sends, index)
        fact, inset = str(said or ""), SWATCH if self.looks else 0
        with svg.told(fact, send):
            if fact or send:
                svg.rect(Box(x, y - 12.5, x + width, y + 4), fill="transparent")
            if (look := _at(self.looks, index)) is not None:
                sample(svg, look, x, y)
            bold, dim = index in self.bold, index in self.dim
            y = self._cells(svg, x + inset, y, self.rows[index], spans, bold, dim, self.size)
        if index in self.rules:
            look = self.rules[index] if isinstance(self.rules, Mapping) else "rule faint"
            svg.line(x, y + 5, x + width, y + 5, class_=look)
        return y

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
        """One row from the baseline ``y``; returns the baseline of its last line."""
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

    def _right(self, index: int) -> bool:
        align = self.align or "<"
        return (align[index] if index < len(align) else ">") == ">"

    def _spans(self, width: float) -> list[Span]:
        """The left and the right end of each column."""
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
        lefts = accumulate((each + apart for each in widest[:-1]), initial=0.0)
        return [(left, left + each) for left, each in zip(lefts, widest, strict=False)]

    def _widths(self) -> Iterator[list[float]]:
        """Of the cells of the heads and of every row."""
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
    """What marks mean: a sample of each, and its name. The text has no marks, and no key."""

    entries: Sequence[tuple[int | Paint | str | marks.Glyph, str]]
    size: int = 12
    gap: float = 0

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        left, base, pitch = x, y + self.size, LINES[self.size] + 2
        for look, name in self.entries:
            wide = SWATCH + texts.width(name, self.size)
            if left > x and left + wide > x + width:
                left, base = x, base + pitch
            sample(svg, look, left, base)
            svg.text(left + SWATCH, base, name, self.size)
            left += wide + 18
        return base + 6 if self.entries else y

    def text(self) -> list[str]:
        return []


@dataclass(frozen=True)
class Unnamed(Key):
    """The key of what has no name in the picture above it."""

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        named = {label.content for label in svg.labels}
        left = [(look, name) for look, name in self.entries if name not in named]
        return Key(left, self.size).draw(svg, x, y, width)


@dataclass(frozen=True)
class SideBySide(PageBlock):
    """Blocks side by side, each with its share of the width."""

    parts: Sequence[tuple[PageBlock, float]]
    apart: float = 20
    gap: float = 0

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        room = width - self.apart * (len(self.parts) - 1)
        total, bottom = sum(share for _, share in self.parts), y
        for block, share in self.parts:
            wide = room * share / total
            bottom = max(bottom, block.draw(svg, x, y + block.gap, wide))
            x += wide + self.apart
        return bottom

    def text(self) -> list[str]:
        found: list[str] = []
        for block, _ in self.parts:
            lines = block.text()
            found += ["", *lines] if found and lines else lines
        return found


@dataclass(frozen=True)
class Below(PageBlock):
    """Blocks one below the other, as one part of what stands side by side."""

    blocks: Sequence[PageBlock]
    gap: float = 0

    def draw(self, svg: Svg, x: float, y: float, width: float) -> float:
        for block in self.blocks:
            y = block.draw(svg, x, y + block.gap, width)
        return y

    def text(self) -> list[str]:
        return paragraphs(self.blocks)


def paragraphs(blocks: Sequence[PageBlock]) -> list[str]:
    """The lines of blocks, with an empty one where a paragraph begins."""
    found: list[str] = []
    alone = False
    for block in blocks:
        lines = block.text()
        if lines and found and (alone or block.alone):
            found.append("")
        if lines:
            found += lines
            alone = block.alone and not isinstance(block, Paragraphs)
    return found


def sample(svg: Svg, look: int | Paint | str | marks.Glyph, x: float, base: float) -> None:
    """A mark beside a text with that baseline: of a way, a paint, a glyph, or a line."""
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


def _one(runs: Runs) -> str:
    """Runs as they are drawn, a space between them."""
    return runs if isinstance(runs, str) else " ".join(piece.strip() for piece, _ in runs)


def _at(found: Sequence[T], index: int) -> T | None:
    return found[index] if index < len(found) else None


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
