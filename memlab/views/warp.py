"""One warp of a lowering: where in memory its threads load and store, and what moves for them."""

from __future__ import annotations

from collections.abc import Iterator

from memlab import units
from memlab.step.tensor import Role
from memlab.studies.convolutions import conv, find
from memlab.studies.recipe import named_or_given
from memlab.studies.warps import (
    CELLS,
    FP32,
    LINE,
    LOAD,
    MOST,
    ORDERS,
    SECTOR,
    STORE,
    STRIDES,
    Line,
    Side,
    Warp,
    say,
    span,
)
from memlab.views.draw import text as texts
from memlab.views.draw.chart import Chart
from memlab.views.draw.labels import Text
from memlab.views.draw.marks import Fact, Mark, Rect, Rects
from memlab.views.draw.page import Page
from memlab.views.draw.scale import Scale
from memlab.views.draw.table import Below, Beside, Block, Key, Table, Words
from memlab.views.draw.theme import PAINTS, Paint
from memlab.views.live.setting import Choice, Range, Setting, State
from memlab.views.live.view import Scene, View, maker

PITCH, CELL, TALL, GAP = 14, 8, 10, 5
"""Pixels: from line to line, a value, how tall it is, from sector to sector."""
SECTORS, VALUES = LINE // SECTOR, SECTOR // FP32
SPAN = CELLS * CELL + (SECTORS - 1) * GAP
ROOM = 66
"""For the numbers of the threads behind a line."""
BEFORE = 72
"""For the byte of a line before its cells."""
NARROW = 800
"""Below it the stores stand below the loads."""
PAINT = {LOAD: PAINTS[Role.FEATURE_MAP], STORE: PAINTS[Role.WORKSPACE]}
"""A layer lowers a map into its workspace."""
Place = tuple[float, float, float, float]


def _warp(now: State, warp: int = 0) -> Warp:
    return Warp(now.network, now.layer, now.order, now.stride, warp)


class WarpMemory(View[Warp]):
    """The loads and stores of one warp that lowers an image, on the lines of memory."""

    name, made_by, widest = "warp", "warp_memory", 840
    positional = ("network", "layer", "order")

    network = Setting(
        doc="a name of ``memlab.zoo``, or a network of yours",
        default="vgg16",
        check=named_or_given,
        fixed=True,
        code="plain",
        write=lambda network: repr(network.name),
    )
    layer = Setting[str](
        doc="the name of a convolution in it", default="conv1_2", fixed=True, code="plain"
    )
    order = Choice(
        ORDERS,
        doc='where neighbouring threads go in the lowered matrix, along a ``"row"`` or down a '
        '``"column"``',
        code="plain",
    )
    stride = Choice(
        STRIDES,
        doc="1, 2 or 4; the layer's own if not given",
        default=lambda now: conv(find(now.network, now.layer)).stride,
        code="always",
    )
    warp = Range(
        0,
        lambda now: _warp(now).last,
        doc="its number, counted from 0; one that no padding reaches if not given",
        default=lambda now: _warp(now).inner,
        box=True,
        follows=["order", "stride"],
        code="always",
    )

    def study(self, now: State) -> Warp:
        return _warp(now, now.warp)

    def buttons(self, now: State) -> dict[str, str]:
        return {"copy": "copy"}

    def line(self, now: State) -> str:
        cost = (side.moved for side in self.rows_of(now).sides)
        return "|".join(map(str, (now.order, now.stride, now.warp, *cost)))

    def says(self, scene: Scene) -> str:
        found = self.rows_of(scene.now)
        return f"{found.which}. {found.headline}"

    def compose(self, scene: Scene) -> Page:
        found = self.rows_of(scene.now)
        sides = [Below(list(_side(side)), gap=10) for side in found.sides]
        wide = scene.width >= NARROW
        blocks: list[Block] = [
            Words(found.headline, 16, bold=True, gap=3),
            Words(found.ends, gap=4),
            Words(found.idle),
            *([Beside([(side, 1) for side in sides], gap=10)] if wide else sides),
            Key(_key(), 11, gap=10),
        ]
        return Page(found.title, blocks, scene.width, self.says(scene))


warp_memory = maker(WarpMemory)


# -- loads, or stores -----------------------------------------------------------------------------


def _side(side: Side) -> Iterator[Block]:
    """What moves and what is used as a bar, and line by line below it."""
    yield Words(f"{side.headline}.", 13, bold=True)
    moved, most = units.exact(side.moved), units.exact(MOST)
    bar = [*_painted(side.name, [_bar(MOST)], [_bar(side.moved)], [_bar(side.used)]),
           Text(0, 2, say("head.bytes"), 11, "end", dx=-8, dim=True),
           Text(SPAN, 2, most, 11, dx=8)]  # fmt: skip
    yield _chart(bar, 12, told=[say("bar", moved=moved, most=most)])
    lines = side.lines
    names = ("line", "sectors", "values", "threads")
    rows = [[f"{line.start:,}", _drawn(line), f"{len(line.cells)}", span(line.threads)]
            for line in lines]  # fmt: skip
    table = Table([say(f"head.{name}") for name in names], rows, ">")
    yield _chart(list(_lines(side, lines)), PITCH * len(lines), above=18, told=table)


def _chart(
    marks: list[Mark], tall: float, above: float = 0, told: Table | list[str] | None = None
) -> Chart:
    return Chart(Scale(0, SPAN), Scale(0, max(tall, 1)), marks, tall, left=BEFORE,
                 right=ROOM + 8, above=above, told=told or (), gap=4)  # fmt: skip


def _lines(side: Side, lines: tuple[Line, ...]) -> Iterator[Mark]:
    """From the top down: the byte of a line, its cells, and its threads."""
    top, moves, still, used = PITCH * len(lines), list[Place](), list[Place](), list[Place]()
    yield Text(0, top, say("head.line"), 11, "end", dx=-8, dy=-8, dim=True)
    yield Text(0, top, say("head.sectors"), 11, dy=-8, dim=True)
    yield Text(SPAN, top, say("head.threads"), 11, dx=8, dy=-8, dim=True)
    for index, line in enumerate(lines):
        y = top - PITCH * index - TALL
        for sector in range(SECTORS):
            (moves if sector in line.sectors else still).append(_cells(sector, 0, VALUES, y))
        used += [_cells(*divmod(cell, VALUES), 1, y) for cell in line.cells]
        yield Text(0, y, f"{line.start:,}", 11, "end", dx=-8, dy=-1)
        yield Text(SPAN, y, _threads(line), 11, dx=8, dy=-1)
    yield from _painted(side.name, still, moves, used)
    for index, line in enumerate(lines):
        y = top - PITCH * index
        yield Rect(0, SPAN, y - TALL, y, "target", fact=_fact(line))


def _painted(name: str, still: list[Place], moves: list[Place], used: list[Place]) -> list[Mark]:
    """What does not move, what of the rest is used, and all that moves."""
    return [Rects(still, "grid"), Rects(used, PAINT[name]), Rects(moves, "rule")]


def _bar(nbytes: int) -> Place:
    """The same scale for every warp: as much as moves where no 2 threads share a sector."""
    return (0, SPAN * nbytes / MOST, 0, 12)


def _cells(sector: int, first: int, count: int, y: float) -> Place:
    """Some values of a sector."""
    left = sector * (VALUES * CELL + GAP) + CELL * first
    return (left, left + CELL * count, y, y + TALL)


def _threads(line: Line) -> str:
    """Their numbers, or how many they are where there is no room."""
    numbers = span(line.threads)
    fits = texts.width(numbers, 11) <= ROOM
    return numbers if fits else say("count", count=len(line.threads))


def _fact(line: Line) -> Fact:
    shares = {"sectors": len(line.sectors), "values": len(line.cells)}
    more = say("fact", **shares, threads=span(line.threads))
    return Fact(f"{say('head.line')} {line.start:,}", more=more)


def _drawn(line: Line) -> str:
    """Which sectors move: ``'#..#'``."""
    return "".join("#" if sector in line.sectors else "." for sector in range(SECTORS))


def _key() -> list[tuple[int | Paint | str, str]]:
    """What the three looks are."""
    return [
        *((PAINT[name], f"{say(f'side.{name}')}: {say('key.used')}") for name in PAINT),
        ("edge", say("key.moved")),
        ("edge grid", say("key.still")),
    ]
