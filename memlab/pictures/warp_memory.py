"""One warp of a lowering, in two orders: where its threads load and store, and what moves."""

from __future__ import annotations

from collections.abc import Iterator

from memlab import units
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import Text
from memlab.pictures.draw.marks import Fact, Mark, Rect, Rects
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import LINES, Below, Beside, Block, Table, Words
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.live.setting import Check, Choice, Range, Setting, State
from memlab.pictures.live.view import Scene, View, maker
from memlab.pictures.shifted_copies.convolutions import conv, find
from memlab.pictures.values.recipe import name_of, named_or_given
from memlab.pictures.warp_memory_values import (
    CELLS,
    FP32,
    LINE,
    LOAD,
    SECTOR,
    SIDES,
    STORE,
    STRIDES,
    Line,
    Side,
    Warps,
    say,
    span,
)
from memlab.step.tensor import Role

PITCH, ROOM = 9, 56
"""Pixels from line to line, and for the numbers of the threads behind them."""
SECTORS, VALUES, GAP = LINE // SECTOR, SECTOR // FP32, 1
"""Sectors of a line, values of a sector, and what is free between two sectors, in values."""
NARROW = 700
"""Below it the stores stand below the loads."""
PAINT = {LOAD: PAINTS[Role.FEATURE_MAP], STORE: PAINTS[Role.WORKSPACE]}
"""A layer lowers a map into its workspace."""
Place = tuple[float, float, float, float]


def _warps(now: State, number: int | None = None) -> Warps:
    return Warps(now.network, now.layer, now.stride, number)


class WarpMemory(View[Warps]):
    """The loads and stores of a warp that lowers an image, on the lines of memory: with neighbours
    along a row of the lowered matrix, and down a column."""

    name, made_by, widest = "warp", "warp_memory", 820
    positional = ("network", "layer")

    network = Setting(
        doc="a name of ``memlab.zoo``, or a network of yours",
        default="vgg16",
        check=named_or_given,
        fixed=True,
        code="plain",
        write=lambda network: repr(name_of(network)),
    )
    layer = Setting[str](
        doc="the name of a convolution in it", default="conv1_2", fixed=True, code="plain"
    )
    stride = Choice(
        STRIDES,
        doc="1, 2 or 4; the layer's own if not given",
        default=lambda now: conv(find(now.network, now.layer)).stride,
        code="always",
    )
    warp = Range(
        0,
        lambda now: _warps(now).last,
        doc="its number, counted from 0; in each order one that no padding reaches if not given",
        default=None,
        at=lambda now: _warps(now).row.number,
        box=True,
        follows=["stride"],
    )
    numbers = Check(doc="whether all numbers are shown", argument=False, stays=True, key="KeyN")

    def study(self, now: State) -> Warps:
        return _warps(now, now.warp)

    def described(self, now: State) -> object:
        return now.stride, now.warp

    def line(self, now: State) -> str:
        found = self.rows_of(now)
        moved = (side.moved for each in found.orders.values() for side in each.sides.values())
        return "|".join(map(str, (now.stride, found.row.number, *moved)))

    def says(self, scene: Scene) -> str:
        return self.rows_of(scene.now).sentences[0]

    def compose(self, scene: Scene) -> Page:
        found = self.rows_of(scene.now)
        was = self.rows_of(scene.previous) if scene.previous else None
        said, listed = [f"{found.title}.", *found.sentences[1:]], scene.now.numbers
        blocks = [
            Words([[(found.headline, True)]], 20, told=False, gap=3),
            Words(say("see"), 13, told=False),
            _sides(scene.width, [_side(found, was, name) for name in SIDES]),
            Words([found.sentences[0], *said], drawn=False),
            Words(said, told=False, drawn=listed, gap=14),
            _sides(scene.width, [_listed(found, name, listed) for name in SIDES]),
        ]
        return Page(found.title, blocks, scene.width, self.says(scene), titled=False)


warp_memory = maker(WarpMemory)


def _sides(width: float, sides: list[Block]) -> Block:
    """Loads and stores, beside each other where there is room."""
    return Beside([(side, 1) for side in sides]) if width >= NARROW else Below(sides)


# -- loads, or stores -----------------------------------------------------------------------------


def _side(found: Warps, was: Warps | None, name: str) -> Block:
    """What moves in each order, and line by line where."""
    parts = []
    for order, warp in found.orders.items():
        side, before = warp.sides[name], was.orders[order].sides[name] if was else None
        step = "" if side.step is None else say("next", step=units.exact(side.step))
        head = [
            Words(say(f"order.{order}"), 13, told=False),
            Words([[(units.exact(side.moved), True), (say("moves"), False)]], 20, told=False),
            Words(step, 11, dim=True, told=False),
        ]
        parts.append((Below([*head, _lines(side, before, 6 if step else 6 + LINES[11])]), 1))
    title = Words(say(f"array.{name}"), 13, bold=True, told=False)
    return Below([title, Beside(parts, apart=14, gap=6)], gap=16)


def _lines(side: Side, before: Side | None, gap: float) -> Chart:
    """The lines of memory from the first to the last: what moves, and what of it is used."""
    lines, moves = side.lines, _sectors(side)
    still = [_cells(n, y, 0, VALUES) for y in range(len(lines)) for n in range(SECTORS)]
    used = [
        _cells(cell // VALUES, y, cell % VALUES, 1)
        for y, line in enumerate(lines)
        for cell in line.cells
    ]
    marks: list[Mark] = [Rects(still, "grid"), Rects(used, PAINT[side.name], edge=0.4),
                         Rects(moves, "rule"), *_told(side, lines)]  # fmt: skip
    gone = [place for place in _sectors(before) if place not in moves] if before else []
    long = max(len(lines), 1)
    return Chart(Scale(0, CELLS + GAP * (SECTORS - 1)), Scale(long, 0), marks, PITCH * long,
                 left=1, right=ROOM, gap=gap, previous=[Rects(gone)] if gone else [])  # fmt: skip


def _told(side: Side, lines: tuple[Line, ...]) -> Iterator[Mark]:
    """What each line says; the first and the last thread, where each stores to its own line."""
    for y, line in enumerate(lines):
        shares = {"sectors": len(line.sectors), "values": len(line.cells)}
        more = say("fact", **shares, threads=span(line.threads))
        fact = Fact(f"{say('table.line')} {line.start:,}", more=more)
        yield Rect(0, CELLS + GAP * (SECTORS - 1), y, y + 1, "target", fact=fact)
    if side.name == STORE and 1 < len(lines) == len(side.accesses):
        for y, line in ((0, lines[0]), (len(lines) - 1, lines[-1])):
            label = say("number", number=line.threads[0])
            yield Text(CELLS + GAP * (SECTORS - 1), y + 1, label, 11, dx=7, dy=-1)


def _sectors(side: Side) -> list[Place]:
    """Those that move."""
    return [
        _cells(sector, y, 0, VALUES) for y, line in enumerate(side.lines) for sector in line.sectors
    ]


def _cells(sector: int, y: int, first: int, count: int) -> Place:
    """Some values of a sector."""
    left = sector * (VALUES + GAP) + first
    return (left, left + count, y + 0.1, y + 0.8)


# -- all numbers ----------------------------------------------------------------------------------


def _listed(found: Warps, name: str, drawn: bool) -> Block:
    """Every line of both orders: its byte, which sectors move (``'#..#'``), values and threads."""
    tables: list[Block] = []
    for order, warp in found.orders.items():
        rows = [
            [
                f"{line.start:,}",
                "".join("#" if sector in line.sectors else "." for sector in range(SECTORS)),
                f"{len(line.cells)}",
                span(line.threads),
            ]
            for line in warp.sides[name].lines
        ]
        title = say("head", side=say(f"array.{name}"), order=say(f"order.{order}"))
        heads = [say(f"table.{head}") for head in ("line", "sectors", "values", "threads")]
        tables.append(Table(heads, rows, "><>>", title, drawn=drawn, gap=10))
    return Below(tables)
