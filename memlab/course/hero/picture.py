"""Drawing of the moving picture: one SVG without a script, for a wide page or a narrow one.

The attributes of its elements are the still state, with the question and the answer. The style adds
dark colours and motion, so a reader that drops the style shows the still state, and so does one
whose user wants no motion. After two loops the answer stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, product
from typing import Any
from xml.sax.saxutils import escape

from memlab import units
from memlab.course.hero.figures import HeroFigures, text_of
from memlab.course.hero.motion import (
    ANSWERED,
    ASKED,
    CURVE,
    FADE,
    LOOP,
    READ,
    TILED,
    WAIT,
    Frame,
    Motion,
    lands,
    leaves,
    look,
)
from memlab.errors import one_option
from memlab.pictures.draw.svg import Box, DrawnText, Svg, text_box
from memlab.pictures.draw.text import Runs, plain
from memlab.pictures.shifted_copies.lowering import conv
from memlab.pictures.shifted_copies.small_picture import LETTER, SIZE, SmallPicture, kinds, lower

FILES = {"hero.svg": "wide", "hero-narrow.svg": "narrow"}
"""Images of the lessons, and the screen that each is drawn for."""
FONT = "Arial,'Liberation Sans',Helvetica,sans-serif"
DASHED = {"fill": "none", "stroke_width": 1.4, "stroke_dasharray": "5 3"}
HATCH = (
    '<pattern id="z" width="4" height="4" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><path class="zero" stroke="{stroke}" stroke-width="1.6" '
    'd="M1 0V4"/></pattern>'
)


@dataclass(frozen=True)
class Screen:
    """Sizes of the picture for one kind of page, in pixels.

    ``head``, ``type`` and ``small`` are sizes of type, ``title`` is the baseline of the headline.
    ``input`` and ``matrix`` are left edges, ``top`` is the upper edge of both, ``pitch`` goes from
    copy to copy. ``bars`` is the corner of the first bar, ``rows`` goes from bar to bar, and
    ``unit`` is the length of the input's.
    """

    name: str
    width: int
    height: int
    margin: int
    title: int
    head: int
    type: int
    small: int
    cell: int
    pitch: int
    input: int
    matrix: int
    top: int
    bars: tuple[int, int]
    rows: tuple[int, int, int]
    thick: int
    unit: int

    @property
    def wide(self) -> bool:
        """True if the names of bars stand to their left, not above them."""
        return self.name == "wide"


WIDE = Screen(
    "wide", width=840, height=392, margin=24, title=46, head=29, type=17, small=15,
    cell=9, pitch=15, input=24, matrix=230, top=104,
    bars=(230, 258), rows=(25, 25, 25), thick=16, unit=46,
)  # fmt: skip
NARROW = Screen(
    "narrow", width=390, height=350, margin=8, title=27, head=18, type=14, small=13,
    cell=5, pitch=12, input=8, matrix=62, top=76,
    bars=(8, 208), rows=(36, 29, 22), thick=11, unit=40,
)  # fmt: skip
SCREENS = {screen.name: screen for screen in (WIDE, NARROW)}


@dataclass
class HeroPicture(Svg):
    """Picture for one screen, drawn from its figures and from the index map of the copies."""

    width: float = 0
    height: float = 0
    key: str = "hero"
    screen: Screen = WIDE
    figures: HeroFigures = field(default_factory=HeroFigures.kept)
    motion: Motion = field(default_factory=Motion)
    strips: dict[str, str] = field(default_factory=dict)
    """Ids of strips of cells, by the kinds of their cells."""

    def __post_init__(self) -> None:
        self.width, self.height = self.screen.width, self.screen.height
        self.rect(Box(0, 0, self.width, self.height), **look("page"))
        self._heads()
        self._input()
        self._matrix()
        self._bars()
        size, margin = self.screen.small, self.screen.margin
        self.put(margin, self.height - 14, self._word("caption"), size, **look("dim"))

    @property
    def small(self) -> SmallPicture:
        """Small picture with its copies, one for each place in the kernel."""
        return lower(conv(self.figures.node).kernel)

    def document(self) -> str:
        """Return the picture as the text of its file."""
        wide, high, say = self.width, self.height, self.figures.sentence
        title, desc = say("head.question"), say("desc", caption=say("caption_wide"))
        ink = look("ink")["fill"]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
            f'viewBox="0 0 {wide} {high}" role="img" aria-labelledby="t d">'
            f'<title id="t">{escape(title)}</title><desc id="d">{escape(desc)}</desc>'
            f"<style>{self.motion.style}</style><defs>{self._definitions()}</defs>"
            f'<g font-family="{FONT}" font-size="{self.screen.type}" class="ink" fill="{ink}">'
            f"{''.join(self.parts)}</g></svg>\n"
        )

    # -- texts

    def put(
        self, x: float, y: float, content: Runs, size: float | None = None, bold: bool = False,
        anchor: str = "start", seen: bool = True, **attributes: Any,
    ) -> None:  # fmt: skip
        """Write a line of text, whose look is in its attributes.

        One that is not ``seen`` is hidden in the still state.
        """
        box = text_box(x, y, content, size or self.screen.type, anchor, bold)
        if seen:
            self.labels.append(DrawnText(plain(content), box, size or self.screen.type, bold))
        else:
            attributes["opacity"] = 0
        self.add(
            "text", _pieces(content), x=x, y=y, font_size=size,
            font_weight=700 if bold else None, text_anchor=None if anchor == "start" else anchor,
            textLength=f"{box.right - box.left:.0f}", **attributes,
        )  # fmt: skip

    def _word(self, key: str) -> str:
        """Return the text of a key for this screen."""
        return self.figures.sentence(f"{key}_{self.screen.name}")

    def _heads(self) -> None:
        """Write the headline of each part of the motion, and that of the still state."""
        starts = {"copies": 0.0, "question": ASKED, "tile": TILED, "none": ANSWERED}
        ends = [*list(starts.values())[1:], LOOP + 2 * FADE]
        place = self.screen.margin, self.screen.title
        self.put(
            *place, self.figures.sentence("head.still"), self.screen.head, True, class_="still"
        )
        for (name, start), end in zip(starts.items(), ends, strict=True):
            moves = self.motion.show(f"h-{name}", (start, end - 2 * FADE))
            words = self.figures.sentence(f"head.{name}")
            self.put(*place, words, self.screen.head, True, seen=False, class_=moves)

    # -- cells

    def _strip(self, cells: str) -> str:
        """Return the link to a strip of cells, which is drawn once."""
        return f"#{self.strips.setdefault(cells, f's{len(self.strips)}')}"

    def _definitions(self) -> str:
        strips = (f'<g id="{name}">{self._runs(cells)}</g>' for cells, name in self.strips.items())
        return HATCH.format(**look("zero")) + "".join(strips)

    def _runs(self, cells: str) -> str:
        """Return a strip as paths, one for each kind of cell; dashes part the cells."""
        paths: dict[str, str] = {}
        cell, x = self.screen.cell, 0
        for kind, run in groupby(cells):
            long = len(list(run)) * cell
            paths[kind] = f"{paths.get(kind, '')}M{x} {(cell - 1) / 2:g}h{long - 1}"
            x += long
        looks = {"#": look("on"), ".": look("pale"), "0": {"stroke": "url(#z)"}}
        strip = Svg(0, 0, self.key)
        for kind, d in paths.items():
            strip.path(d, **looks[kind])
        return "".join(strip.parts)

    @property
    def _dashes(self) -> dict[str, Any]:
        """Attributes of a group of strips: lines as wide as a cell, in dashes."""
        cell = self.screen.cell
        return {"fill": "none", "stroke_width": cell - 1, "stroke_dasharray": f"{cell - 1} 1"}

    # -- the input

    def _input(self) -> None:
        """Draw the input, and the window that walks over it."""
        x, top, cell = self.screen.input, self.screen.top, self.screen.cell
        self.put(x, top - 12, text_of("input"))
        with self.group(**self._dashes):
            for row, cells in enumerate(LETTER):
                self.add("use", href=self._strip(cells), x=x, y=top + row * cell)
        frame = self._square(SIZE, 1.5)
        self.rect(frame, fill="none", stroke_width=1.6, **look("edge"))
        window = look("look", self.motion.add("w", list(self._walk())))
        self.rect(
            self._square(self.small.k, 0.5), fill="none", stroke_width=max(2, cell / 3),
            opacity=0, **window,
        )  # fmt: skip

    def _square(self, cells: int, out: float) -> Box:
        """Return the box around the first cells of the input, ``out`` pixels larger."""
        x, top, side = self.screen.input, self.screen.top, cells * self.screen.cell - 1
        return Box(x - out, top - out, x + side + out, top + side + out)

    def _walk(self) -> Iterator[Frame]:
        """Yield the frames of the window: it goes over the rows of the output while there are
        tiles, and again when there is no copy."""
        yield 0, "opacity:0"
        yield TILED - FADE, "opacity:0"
        yield TILED - FADE / 10, "opacity:1"
        for begin, end in ((TILED, ANSWERED - FADE), (ANSWERED, READ)):
            for row, last in product(range(SIZE), (0, 1)):
                at = begin + (end - begin) * (row + 0.9 * last) / SIZE
                yield at, f"transform:{self._at(row, last * (SIZE - 1))}"
        yield LOOP, f"opacity:1;transform:{self._at(SIZE - 1, SIZE - 1)}"

    def _at(self, row: int, column: int) -> str:
        """Return the movement of the window to a place of the output."""
        y, x = self.small.window(row, column)
        return f"translate({x * self.screen.cell}px,{y * self.screen.cell}px)"

    # -- the matrix

    def _matrix(self) -> None:
        """Draw the matrix in its frame, and the words that take its place at the end."""
        x, top, cell = self.screen.matrix, self.screen.top, self.screen.cell
        high = (len(self.small.copies) - 1) * self.screen.pitch + cell
        frame = Box(x - 4, top - 4, x + SIZE * SIZE * cell + 3, top + high + 3)
        self.put(x, top - 12, self._word("matrix"), **look("dim"))
        self.rect(frame, **DASHED, **look("ghost"))
        flights = [self.motion.add(f"c{i}", self._flight(i)) for i in range(self.small.k**2)]
        with self.group(**self._dashes):
            for row in range(SIZE):
                self._strips(row, flights)
        moves = look("dim", self.motion.show("never", (ANSWERED, LOOP)))
        middle, y = (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2 + 6
        self.put(middle, y, self._word("never"), anchor="middle", seen=False, **moves)

    def _strips(self, row: int, flights: list[str]) -> None:
        """Draw the strips of one row of the output, one of each copy: they are a tile."""
        x = self.screen.matrix + row * SIZE * self.screen.cell
        with self.group(class_=self._tile(row), transform=f"translate({x} {self.screen.top})"):
            for index, (copy, flight) in enumerate(zip(self.small.copies, flights, strict=True)):
                link = self._strip(kinds(copy[row * SIZE : (row + 1) * SIZE]))
                self.add("use", href=link, y=index * self.screen.pitch, class_=flight)

    def _flight(self, index: int) -> list[Frame]:
        """Return the frames of one copy: it lies on the input where it reads, and opens into its
        row of the matrix. ``--r`` is the row of the output."""
        cell, (down, right) = self.screen.cell, self.small.shift(index)
        far = self.screen.matrix - self.screen.input + right * cell
        deep = index * self.screen.pitch + down * cell
        x, y = f"calc(var(--r)*{-SIZE * cell}px - {far}px)", f"calc(var(--r)*{cell}px - {deep}px)"
        lies, there = f"transform:translate({x},{y})", "transform:none;opacity:1"
        start = leaves(index)
        return [
            (0, f"{lies};opacity:0"),
            (start - 0.02, f"{lies};opacity:0"),
            (start, "opacity:1"),
            (start + WAIT, f"{lies};animation-timing-function:{CURVE}"),
            (lands(index), there),
            (LOOP, there),
        ]

    def _tile(self, row: int) -> str:
        """Return the classes of a tile: it is shown with all others, then alone."""
        each = (ANSWERED - FADE - TILED) / SIZE
        alone = TILED + row * each, TILED + (row + 0.9) * each
        moves = self.motion.show(f"t{row}", (0, TILED - 2 * FADE), alone, fade=each / 10)
        self.motion.rules[f"t{row}"] += f".t{row}{{--r:{row}}}"
        return moves

    # -- the bars

    def _bars(self) -> None:
        """Draw the bytes of the input, of the copies, of one tile and of no copy."""
        x, y = self.screen.bars
        self._name(y, text_of("input"))
        self.rect(Box(x, y, x + self.screen.unit, y + self.screen.thick), **look("bar"))
        self._amount(y, 1, text_of("input"), str(self.figures.values["input"]))
        first, second, third = self.screen.rows
        self._grown(y + first)
        for name, down, at in (("tile", 0, TILED), ("none", third, ANSWERED)):
            with self.group(class_=self.motion.show(f"{name}-row", (at, LOOP))):
                self._way(name, y + first + second + down)

    def _name(self, y: float, content: str) -> None:
        """Write the name of a bar."""
        x, _ = self.screen.bars
        if self.screen.wide:
            self.put(x - 12, y + 13, content, anchor="end")
        else:
            self.put(x, y - 6, content)

    def _amount(self, y: float, inputs: int, name: str, content: str, **how: Any) -> None:
        """Write an amount to the right of a bar as long as some inputs, or beside its name."""
        x, _ = self.screen.bars
        if self.screen.wide:
            self.put(x + inputs * self.screen.unit + 8, y + 13, content, **how)
        else:
            self.put(round(text_box(x, 0, name, self.screen.type).right) + 6, y - 6, content, **how)

    def _grown(self, y: float) -> None:
        """Draw the bar of the copies, which grows with each of them and is an outline later."""
        (x, _), count, name = self.screen.bars, self.small.k**2, self.figures.sentence("copies")
        bar = Box(x, y, x + count * self.screen.unit, y + self.screen.thick)
        self._name(y, name)
        with self.group(class_=self.motion.show("fade", (0, TILED - 2 * FADE), low=0.16)):
            self.rect(bar, **look("bar", self.motion.add("grow", list(self._growth()))))
        self.motion.rules["grow"] += f".grow{{transform-origin:{x}px 0}}"
        ends = (x + self.screen.unit * index - 0.5 for index in range(1, count))
        self.path("".join(f"M{end} {y}v{self.screen.thick}" for end in ends), **look("seam"))
        outline = look("ghost", self.motion.show("out", (TILED, LOOP)))
        self.rect(bar, opacity=0, **DASHED, **outline)
        for index in range(count):
            last = index + 1 == count
            span = lands(index), LOOP if last else lands(index + 1) - FADE
            size = units.short(self.figures.input(index + 1))
            words = text_of("grown", size=size, times=index + 1)
            moves = self.motion.show(f"n{index}", span)
            self._amount(y, index + 1, name, words, class_=moves, bold=last, seen=last)

    def _growth(self) -> Iterator[Frame]:
        """Yield the frames of the bar of the copies."""
        count = self.small.k**2
        yield 0, "transform:scaleX(0)"
        for index in range(count):
            yield lands(index) - FADE, f"transform:scaleX({index / count:.4g})"
            yield lands(index), f"transform:scaleX({(index + 1) / count:.4g})"
        yield LOOP, "transform:none"

    def _way(self, key: str, y: float) -> None:
        """Draw a way without the whole copy: its bytes take less than a pixel."""
        (x, _), name = self.screen.bars, text_of(key)
        size, times = (str(self.figures.values[part]) for part in (key, f"{key}_times"))
        faster = self.figures.sentence(f"faster_{self.screen.name}", times=times)
        self.path(f"M{x + 0.8} {y}v{self.screen.thick}", stroke_width=1.6, **look("on"))
        if self.screen.wide:
            self._name(y, name)
            self.put(x + 8, y + 13, [(size, True), (faster, False)])
        else:
            self.put(x + 8, y + 10, [(f"{name}: ", False), (size, True), (faster, False)])


def _pieces(content: Runs) -> str:
    """Return a line of text as the body of its element."""
    if isinstance(content, str):
        return escape(content)
    return "".join(
        f'<tspan font-weight="700">{escape(piece)}</tspan>' if heavy else escape(piece)
        for piece, heavy in content
    )


def hero(screen: str = "wide") -> str:
    """Return the moving picture of the README as the text of an SVG file.

    Args:
        screen: ``"wide"`` for a page of 840 pixels, ``"narrow"`` for one of 390.

    Raises:
        InputError: no such screen.

    >>> "prefers-reduced-motion" in hero("narrow")
    True
    """
    return HeroPicture(screen=one_option("screen", screen, SCREENS)).document()
