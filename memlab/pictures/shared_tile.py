"""Matrix product with tiles in shared memory: the tiles move step by step over the product, and
every load of a value is counted.

A block of threads computes ``side`` x ``side`` results. In each step it copies one tile of the
weights and one tile of the matrix to shared memory, a value per thread. Blocks run one after the
other here, along the rows of the results; on a GPU they run in any order, with the same loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from memlab import strings
from memlab.errors import whole_number
from memlab.pictures.draw.alternatives import LabelledBar, bars
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Mark, Rect, Rects
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale, counts_over
from memlab.pictures.draw.table import Below, PageBlock, Paragraphs, SideBySide
from memlab.pictures.draw.theme import PAINTS, Paint
from memlab.pictures.live.setting import Checkbox, Range, Select, Setting, State, never
from memlab.pictures.live.view import PageState, View, maker
from memlab.step.tensor import Role

ROOM, GAP, MOST = 316, 1.6, 16
"""Pixels of the three matrices, cells between two of them, and most rows of a matrix."""
APART, NARROW = 30, 640
"""Pixels between picture and words, and of a page below which the words stand below it."""
LEGIBLE = 15
"""Pixels of a cell from which on a number fits into it."""
TINT, PALE = 0.45, 0.4
"""Opacity of the current tiles and block, on which numbers are legible, and the share of it that
is left of an earlier step."""
WEIGHTS, MATRIX, RESULTS = (
    replace(PAINTS[role], tint=TINT, pattern="")
    for role in (Role.PARAMETER, Role.WORKSPACE, Role.FEATURE_MAP)
)
"""Looks of the three matrices, without a pattern below the numbers: the lowered matrix is a
workspace, the results are a feature map."""
STEPS = {"ArrowLeft": -1, "ArrowUp": -1, "ArrowRight": 1, "ArrowDown": 1}
Place = tuple[float, float, float, float]
Loads = list[list[int]]
"""Number of loads of each value of a matrix, by row and column."""


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"tile.{key}", **values)


# -- the product ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TiledProduct:
    """Product of two matrices of ``size`` x ``size`` values, after ``step`` steps of its blocks.

    ``side`` divides ``size``. ``counted`` is False where nothing is told about the loads.

    >>> TiledProduct(side=4, size=8, step=8).matrix_loads[0][0]
    2
    """

    side: int
    size: int
    step: int
    counted: bool = True

    @property
    def blocks(self) -> int:
        """Number of blocks below each other, and beside each other; a block takes as many steps."""
        return self.size // self.side

    @property
    def last(self) -> int:
        """Number of steps of all blocks."""
        return self.blocks**3

    @property
    def at(self) -> tuple[int, int, int]:
        """Row and column of the current block among the blocks, and the number of its step from
        0."""
        block, turn = divmod(self.step - 1, self.blocks)
        return (*divmod(block, self.blocks), turn)

    @cached_property
    def steps(self) -> list[tuple[int, int, int]]:
        """Row and column of the block, and the number of its step, for every step so far."""
        return [TiledProduct(self.side, self.size, n).at for n in range(1, self.step + 1)]

    @cached_property
    def matrix_loads(self) -> Loads:
        """Loads of each value of the matrix so far."""
        return self._counts([(turn, column) for _, column, turn in self.steps])

    @cached_property
    def weight_loads(self) -> Loads:
        """Loads of each weight so far."""
        return self._counts([(row, turn) for row, _, turn in self.steps])

    @property
    def loads(self) -> int:
        """Loads from the matrix so far: each step loads a tile."""
        return self.step * self.side**2

    @property
    def loads_alone(self) -> int:
        """Loads from the matrix that the same products take without tiles: every thread loads the
        values that it multiplies."""
        return self.side * self.loads

    def _counts(self, tiles: list[tuple[int, int]]) -> Loads:
        """Return how many of these tiles hold each value of a matrix."""
        each = range(self.size)
        return [[tiles.count((y // self.side, x // self.side)) for x in each] for y in each]

    # -- in words ---------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        return text_of("title", side=self.side, size=self.size)

    @property
    def headline(self) -> str:
        """Place of the tiles: ``'Step 3 of 8: block 2 of 4, its tiles 1 of 2'``."""
        row, column, turn = self.at
        block = row * self.blocks + column + 1
        return text_of("head", step=self.step, last=self.last, block=block, turn=turn + 1,
                       blocks=self.blocks**2, turns=self.blocks)  # fmt: skip

    @property
    def finding(self) -> str:
        """Loads so far with tiles and without: ``'Tiles of 4·4: 128 loads instead of 512'``; empty
        where they are not counted."""
        key = "one" if self.side == 1 else "several"
        values = {"side": self.side, "loads": f"{self.loads:,}", "alone": f"{self.loads_alone:,}"}
        return text_of(f"finding.{key}", **values) if self.counted else ""

    @property
    def explained(self) -> list[str]:
        """Sentences on the work of a block, and on the use of a loaded value."""
        served = "served_1" if self.side == 1 else "served"
        keys = ("block", "walk", *([served] if self.counted else []))
        return [text_of(key, side=self.side) for key in keys]

    @property
    def counts(self) -> str:
        """Sentence on the loads so far; empty where they are not counted."""
        so_far = {"loads": f"{self.loads:,}", "alone": f"{self.loads_alone:,}"}
        return text_of("loads", **so_far, side=self.side) if self.counted else ""

    @property
    def end(self) -> str:
        """Sentence on the loads of each value, after the last step; empty before it."""
        done = self.counted and self.step == self.last
        return text_of("end", each=self.blocks, size=self.size) if done else ""

    @property
    def sentences(self) -> list[str]:
        told = [f"{self.headline}.", self.counts, self.end, *self.explained]
        return list(filter(None, told))


# -- the view ---------------------------------------------------------------------------------


def _sides(now: State) -> dict[int, str]:
    """Return the sides of tiles that divide the matrices, with their labels."""
    sides = [side for side in range(1, now.size + 1) if now.size % side == 0]
    return {side: text_of("side", side=side) for side in sides}


def _usual(now: State) -> int:
    """Return the largest side of which two tiles or more lie beside each other."""
    return max(side for side in _sides(now) if side < now.size)


class SharedTile(View[TiledProduct]):
    """Matrix product whose blocks of results share tiles in shared memory, step by step.

    Set ``step`` to move the tiles over the product; every load of a value is counted on the way.

    >>> view = memlab.views.shared_tile(side=4, size=8)
    >>> view.step = 8
    >>> view.rows.loads, view.rows.loads_alone
    (128, 512)
    """

    name, made_by, widest = "tile", "shared_tile", 820
    positional = ("side", "size")
    picture_keys = (*STEPS, "Home", "End")

    size = Setting(
        doc="rows and columns of each matrix, in values; 2 to 16",
        default=8,
        check=lambda given: whole_number("size", given, 2, MOST),
        fixed=True,
    )
    step = Range(
        1,
        lambda now: TiledProduct(now.side, now.size, 1).last,
        doc="the step that is shown; the first if not given",
        follows=["side"],
    )
    side = Select(
        _sides,
        doc="rows and columns of a tile, in values; it divides ``size``",
        default=_usual,
        code="always",
    )
    counted = Checkbox(
        doc="whether the loads are counted, and a value is marked with the results that use it",
        default=True,
        when=never,
        fixed=True,
    )

    def study(self, now: State) -> TiledProduct:
        return TiledProduct(now.side, now.size, now.step, now.counted)

    def outline_key(self, now: State) -> object:
        return None

    def test_state(self, now: State) -> str:
        return f"{now.side}|{now.step}|{self.rows_of(now).loads}"

    def says(self, scene: PageState) -> str:
        rows = self.rows_of(scene.now)
        return " ".join(filter(None, [f"{rows.headline}.", rows.counts, rows.end]))

    def on_action(self, now: State, name: str, value: Any) -> State | None:
        last = self.rows_of(now).last
        ends = {"Home": 1, "End": last}
        step = ends.get(str(value), now.step + STEPS.get(str(value), 0))
        return now.replace(step=min(max(step, 1), last)) if name == "key" else None

    def compose(self, scene: PageState) -> Page:
        rows = self.rows_of(scene.now)
        wide = scene.width >= NARROW
        words, rest = _words(rows), scene.width - ROOM - APART
        beside: PageBlock = words if wide else Paragraphs("")
        told = Paragraphs([f"{rows.title}.", *rows.sentences], drawn=False)
        picture = SideBySide([(_picture(rows), ROOM), (beside, rest)], APART)
        blocks = [told, picture, *([] if wide else [words])]
        return Page(rows.title, blocks, scene.width, self.says(scene), titled=False)


shared_tile = maker(SharedTile)


# -- words beside the picture ---------------------------------------------------------------------


def _words(rows: TiledProduct) -> PageBlock:
    """Return the finding and the headline, the bars of loads, and the sentences."""
    blocks: list[PageBlock] = [Paragraphs([[(rows.headline, True)]], 14, told=False, gap=4)]
    if rows.counted:
        blocks = [Paragraphs([[(rows.finding, True)]], 16, told=False),
                  Paragraphs(rows.headline, 13, told=False, gap=4)]  # fmt: skip
        blocks += [_bars(rows), Paragraphs(rows.end, 13, bold=True, gap=8, told=False)]
    return Below([*blocks, Paragraphs(rows.explained, 13, gap=10, told=False)])


def _bars(rows: TiledProduct) -> Chart:
    """Return bars of the loads so far, with tiles and without, on an axis of all loads."""
    figures = [("with", rows.loads, "planned", ""),
               ("without", rows.loads_alone, "", f"  {rows.side} ×")]  # fmt: skip
    labelled = []
    for key, count, origin, ratio in figures:
        name, number = text_of(f"bar.{key}"), f"{count:,}"
        label = [(number, True), (ratio, False)]
        labelled.append(LabelledBar(count, origin, label, Fact(name, number), name))
    return bars(labelled, counts_over(rows.size**3), 26, text_of("bar.title"), gap=6)


# -- the three matrices: weights left of the results, the matrix above them -----------------------


def _picture(rows: TiledProduct) -> Chart:
    """Return a chart of the matrices, with the current block and its tiles."""
    long = 2 * rows.size + GAP
    marks = [*_matrices(rows), *_tiles(rows), *(_counted(rows) if rows.counted else ())]
    told = _table(rows) if rows.counted else []
    return Chart(Scale(0, long), Scale(long, 0), marks, ROOM, left=1, right=1, below=20, gap=2,
                 told=told)  # fmt: skip


def _matrices(rows: TiledProduct) -> Iterator[Mark]:
    """Yield marks for the cells of the matrices, for what was done before, and for the names."""
    n, first = rows.size, rows.size + GAP
    for x, y in ((0, first), (first, 0), (first, first)):
        yield Rects(_cells(x, y, n, n), "grid")
    yield from _done(rows)
    for key, x, y in (("weights", 0, first), ("matrix", first, 0), ("results", first, first)):
        at = (x, y) if key == "matrix" else (x, y + n)
        shift = {"dx": -8, "dy": 14, "anchor": "end"} if key == "matrix" else {"dy": 16}
        yield ChartText(*at, text_of(key), 13, bold=True, **shift)


def _done(rows: TiledProduct) -> Iterator[Mark]:
    """Yield marks for the values that were loaded before, and for the results that are complete."""
    first, side, each = rows.size + GAP, rows.side, range(rows.size)
    for loads, x, y, paint, tile in _loaded(rows) if rows.counted else ():
        before = [(x + j, y + i) for i in each for j in each
                  if loads[i][j] and (i // side, j // side) != tile]  # fmt: skip
        yield Rects([cell for at in before for cell in _cells(*at, 1, 1)], _pale(paint), edge=0)
    for row, column, turn in rows.steps[:-1]:
        if turn == rows.blocks - 1:
            place = first + side * column, first + side * row
            yield Rects(_cells(*place, side, side), _pale(RESULTS), edge=0)


def _loaded(
    rows: TiledProduct,
) -> Iterator[tuple[Loads, float, float, Paint, tuple[int, int]]]:
    """Yield loads, corner, paint and current tile of the weights and of the matrix."""
    row, column, turn = rows.at
    yield rows.weight_loads, 0, rows.size + GAP, WEIGHTS, (row, turn)
    yield rows.matrix_loads, rows.size + GAP, 0, MATRIX, (turn, column)


def _tiles(rows: TiledProduct) -> Iterator[Mark]:
    """Yield marks for the current block of results, and for its tiles with their frames."""
    first, side = rows.size + GAP, rows.side
    row, column, turn = (side * place for place in rows.at)
    yield Rects(_cells(first + column, first + row, side, side), RESULTS, edge=0.4)
    for x, y, paint in ((turn, first + row, WEIGHTS), (first + column, turn, MATRIX)):
        yield Rects(_cells(x, y, side, side), paint, edge=0.4)
        yield Rect(x, x + side, y, y + side, "limit")


def _counted(rows: TiledProduct) -> Iterator[Mark]:
    """Yield one marked value of the matrix's tile with the results that use it, and the number of
    loads in each loaded value."""
    first, side = rows.size + GAP, rows.side
    row, column, turn = (side * place for place in rows.at)
    x, y = first + column + side // 2, turn + side // 2
    for top, count in ((y, 1), (first + row, side)):
        yield Rect(x, x + 1, top, top + count, "limit", inset=1.5)
    if ROOM / (2 * rows.size + GAP) < LEGIBLE:
        return
    for loads, left, top, *_ in _loaded(rows):
        for i, line in enumerate(loads):
            for j, count in enumerate(line):
                if count:
                    yield ChartText(left + j + 0.5, top + i + 1, str(count), 11, "middle", dy=-5)


def _table(rows: TiledProduct) -> list[str]:
    """Return the loads of the matrix so far as lines of text."""
    lines = ["  " + " ".join(map(str, line)) for line in rows.matrix_loads]
    return [text_of("table"), *lines]


def _pale(paint: Paint) -> Paint:
    """Return a paint with less opacity and no pattern."""
    return Paint(paint.colour, PALE * paint.tint)


def _cells(x: float, y: float, wide: int, high: int) -> list[Place]:
    """Return the rectangles of ``wide`` x ``high`` cells from a corner on."""
    inset = 0.06
    return [
        (x + i + inset, x + i + 1 - inset, y + j + inset, y + j + 1 - inset)
        for j in range(high)
        for i in range(wide)
    ]
