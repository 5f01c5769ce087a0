"""One warp of a GPU that lowers an image, in two orders: memory moves sectors, not single values.

The 32 threads of a warp load or store together. As many transactions happen as there are sectors
of 32 B with one of their values in it, each once (CUDA C++ Best Practices Guide, "Coalesced Access
to Global Memory", compute capability 6.0 and later). 4 sectors make a line of 128 B.

A thread has one value of the lowered matrix, ``lowered[c, ky, kx, oy, ox]``. Two orders number the
threads: along a row of the matrix, ``ox`` first, as memlab's own kernel does; and down a column,
``kx``, ``ky``, ``c`` first, as the loops over a window do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import groupby, pairwise
from math import prod

from memlab import formats, strings, units
from memlab.errors import known
from memlab.kernels.formulas.windows import source
from memlab.layers.layer import Node, text
from memlab.networks.graph import Network
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Mark, Rect, Rects
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import LINES, Below, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.live.setting import Checkbox, Range, Select, Setting, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.shifted_copies.lowering import conv, find
from memlab.pictures.values.network_setting import network_setting
from memlab.step.tensor import Role

WARP = 32
"""Threads that access memory together."""
SECTOR, LINE = 32, 128
"""Bytes of a sector and of a line."""
FP32 = 4
"""Bytes of a value in fp32."""
FORMATS = ("fp64", "fp32", "fp16", "bf16", "int8")
LOAD, STORE = SIDES = "load", "store"
ROW, COLUMN = ORDERS = "row", "column"
STRIDES = (1, 2, 4)
PITCH, ALONE, ROOM = 9, 18, 56
"""Pixels from line to line with both orders and with one, and for the numbers of the threads."""
SECTORS, GAP = LINE // SECTOR, 4
"""Sectors of a line, and what is free between two sectors, in bytes."""
WIDE = LINE + GAP * (SECTORS - 1)
"""Width of a drawn line, in bytes."""
NARROW = 700
"""Pixels of a page below which the stores stand below the loads."""
PAINT = {LOAD: PAINTS[Role.FEATURE_MAP], STORE: PAINTS[Role.WORKSPACE]}
"""A layer lowers a map into its workspace."""
Place = tuple[float, float, float, float]


def moved(addresses: Iterable[int]) -> int:
    """Bytes that move between memory and a warp: every 32-byte sector with an accessed value, once.

    The values have 1 to 8 bytes and cross no border of a sector.

    Args:
        addresses: first byte of each value, from the beginning of an array, which CUDA lets begin
            at a line of 128 B.

    >>> moved([0, 4, 40])
    64
    """
    return SECTOR * len({address // SECTOR for address in addresses})


# -- the accesses of a warp -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of a warp: its number in the warp, its value of the lowered matrix, and what it
    accesses.

    ``load`` and ``store`` are byte addresses in the image and in the matrix; ``load`` is None in
    the padding, which is not loaded.
    """

    number: int
    c: int
    ky: int
    kx: int
    oy: int
    ox: int
    load: int | None
    store: int


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A line of 128 B of an array: its first byte, the first bytes within the line of the values
    accessed in it, and the threads that do."""

    start: int
    cells: tuple[int, ...]
    threads: tuple[int, ...]

    @property
    def sectors(self) -> tuple[int, ...]:
        """Numbers of those of its 4 sectors that move."""
        return tuple(sorted({cell // SECTOR for cell in self.cells}))


@dataclass(frozen=True, slots=True)
class Side:
    """Either the loads of a warp or its stores: pairs of a thread's number and a byte address."""

    name: str
    accesses: tuple[tuple[int, int], ...]
    value_bytes: int = FP32

    @property
    def addresses(self) -> list[int]:
        """Byte addresses, in the order of the threads."""
        return [address for _, address in self.accesses]

    @property
    def moved(self) -> int:
        """Bytes that move between memory and the warp."""
        return moved(self.addresses)

    @property
    def used(self) -> int:
        """Bytes that the threads ask for, each once."""
        return self.value_bytes * len(set(self.addresses))

    @property
    def lines(self) -> list[MemoryLine]:
        """Accessed lines of 128 B, in the order of memory."""
        lines = []
        ordered = sorted((address, thread) for thread, address in self.accesses)
        for number, accesses in groupby(ordered, key=lambda access: access[0] // LINE):
            addresses, threads = zip(*accesses, strict=True)
            cells = dict.fromkeys(address - number * LINE for address in addresses)
            lines.append(MemoryLine(number * LINE, tuple(cells), threads))
        return lines

    @property
    def step(self) -> int | None:
        """Bytes from the value of one thread to that of the next; None where they differ."""
        apart = {after - before for before, after in pairwise(self.addresses)}
        return apart.pop() if len(apart) == 1 else None

    @property
    def cost(self) -> str:
        """``'Loads move 160 B and use 128 B of it.'``"""
        key = "nothing" if not self.moved else "whole" if self.moved == self.used else "part"
        sizes = {"moved": units.exact(self.moved), "used": units.exact(self.used)}
        return text_of(key, side=text_of(f"side.{self.name}"), **sizes)


@dataclass(frozen=True)
class Warp:
    """A warp that lowers a part of one image, in one order of threads.

    ``number`` counts the warps of the image from 0.
    """

    node: Node
    order: str
    number: int
    value_bytes: int = FP32

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """Threads of the warp that have a value to compute."""
        values = (_in_columns if self.order == COLUMN else _in_rows)(self.node, self.number)
        return tuple(_thread(self.node, self.value_bytes, *value) for value in values)

    @cached_property
    def load(self) -> Side:
        """Loads from the image; threads whose value lies in the padding have none."""
        accesses = ((t.number, t.load) for t in self.threads if t.load is not None)
        return Side(LOAD, tuple(accesses), self.value_bytes)

    @cached_property
    def store(self) -> Side:
        """Stores to the lowered matrix."""
        return Side(STORE, tuple((t.number, t.store) for t in self.threads), self.value_bytes)

    @property
    def sides(self) -> dict[str, Side]:
        """Loads and stores of the warp, by the names ``load`` and ``store``."""
        return {LOAD: self.load, STORE: self.store}

    @property
    def sentences(self) -> list[str]:
        """Sentences on the bytes that move, on the first and the last thread, and on threads
        without access."""
        order, costs = text_of(f"order.{self.order}"), " ".join(s.cost for s in self.sides.values())
        order = f"{order[0].upper()}{order[1:]}"
        names = ("number", "c", "ky", "kx", "oy", "ox")
        ends = (self.threads[0], self.threads[-1])
        threads = [text_of("thread", **{n: getattr(end, n) for n in names}) for end in ends]
        told = " ".join([*threads, *filter(None, [self.idle])])
        return [text_of("which", order=order, number=f"{self.number:,}", costs=costs), told]

    @property
    def place(self) -> str:
        """Values of the lowered matrix of a warp along a row: ``'Channel 0, ky 0, kx 1, ...'``;
        empty for a warp down a column, where they differ."""
        first, last = self.threads[0], self.threads[-1]
        if self.order == COLUMN:
            return ""
        values = {"c": first.c, "ky": first.ky, "kx": first.kx, "row": first.oy, "last": last.oy}
        places = {"first": min(t.ox for t in self.threads), "end": max(t.ox for t in self.threads)}
        return text_of("place" if first.oy == last.oy else "places", **values, **places)

    @property
    def idle(self) -> str:
        """Sentences on the threads without a value and on those in the padding; empty if there are
        none."""
        counts = {"idle": WARP - len(self.threads),
                  "padding": len(self.threads) - len(self.load.accesses)}  # fmt: skip
        return " ".join(text_of(f"{key}_1" if n == 1 else key, count=n)
                        for key, n in counts.items() if n)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Warps:
    """Two warps that lower one image of a layer: one in row order, one in column order.

    The layer has its own stride or another one. ``number`` picks the warp, from 0; without it each
    order shows a warp that no padding reaches. ``order`` is the only order that is told; both are
    if it is empty. ``format`` is the name of the values' number format.
    """

    network: Network
    layer: str
    stride: int
    number: int | None = None
    order: str = ""
    format: str = "fp32"

    @cached_property
    def node(self) -> Node:
        """Layer that is drawn, with the chosen stride."""
        own = find(self.network, self.layer)
        layer = replace(conv(own), stride=self.stride)
        return replace(own, layer=layer, shape=layer.output(*own.input_shapes))

    @cached_property
    def last(self) -> int:
        """Number of the last warp that both orders have."""
        return min(warps(self.node, order) for order in ORDERS) - 1

    @cached_property
    def orders(self) -> dict[str, Warp]:
        """Warp in each order, by the name of the order."""
        return {
            order: Warp(self.node, order, inner(self.node, order) if self.number is None
                        else self.number, formats.find(self.format).nbytes(1))
            for order in ORDERS
        }  # fmt: skip

    @property
    def shown(self) -> dict[str, Warp]:
        """Warps that are drawn and told, by the name of their order."""
        return {n: warp for n, warp in self.orders.items() if self.order in ("", n)}

    @property
    def row(self) -> Warp:
        """Warp whose neighbouring threads are neighbours along a row of the lowered matrix."""
        return self.orders[ROW]

    @property
    def column(self) -> Warp:
        """Warp whose neighbouring threads are neighbours down a column of the lowered matrix."""
        return self.orders[COLUMN]

    # -- in words -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Layer, its settings, its input's shape, and the number of the last warp."""
        settings, shape = self.node.layer.describe(), text(self.node.input_shapes[0])
        return text_of("title", network=self.network.title, layer=self.layer, settings=settings,
                   shape=shape, format=self.format, last=f"{self.last:,}")  # fmt: skip

    @property
    def headline(self) -> str:
        """Finding on loads or stores, whichever differ more: ``'Column order moves 8 times the
        bytes ...'``; the bytes that move, where there is one order."""
        if self.order:
            sides = self.orders[self.order].sides
            sizes = {name: units.exact(side.moved) for name, side in sides.items()}
            return text_of("one", order=text_of(f"order.{self.order}"), **sizes)
        moved = {name: [self.orders[order].sides[name].moved for order in ORDERS] for name in SIDES}
        ratios = {name: Fraction(max(both), min(both)) for name, both in moved.items() if all(both)}
        name = max(reversed(SIDES), key=lambda name: ratios.get(name, 0))
        if ratios.get(name, 1) == 1:
            return text_of("same")
        order = text_of(f"worse.{ORDERS[moved[name].index(max(moved[name]))]}")
        return text_of(
            "more", order=order, ratio=f"{float(ratios[name]):.3g}", side=text_of(f"few.{name}")
        )

    @property
    def sentences(self) -> list[str]:
        sentences = [sentence for warp in self.shown.values() for sentence in warp.sentences]
        return [f"{self.headline}.", *sentences]


def span(numbers: Sequence[int]) -> str:
    """Return numbers as text, with neighbours joined to ranges: ``'0–2, 9–11'``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def text_of(key: str, /, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"warp.{key}", **values)


# -- which value each thread has, by the index map of lowering ------------------------------------


def matrix(node: Node) -> tuple[int, int, int]:
    """Return the rows of the lowered matrix of one image, and the height and width of the
    output."""
    _, high, wide = node.shape
    return node.input_shapes[0][0] * conv(node).kernel ** 2, high, wide


def warps(node: Node, order: str) -> int:
    """Return the number of warps that lower one image; some have fewer than 32 values to
    compute."""
    rows, high, wide = matrix(node)
    if order == COLUMN:
        return -(-prod(matrix(node)) // WARP)
    x = lanes(node)
    return rows * -(-high * x // WARP) * -(-wide // x)


def inner(node: Node, order: str) -> int:
    """Return the number of a warp that no padding reaches, where the image is large enough
    for one."""
    rows, high, wide = matrix(node)
    pad, x = conv(node).padding, lanes(node)
    across = -(-wide // x)
    if order == COLUMN:
        inner_warp = -(-(pad * wide + pad) * rows // WARP)
    elif wide >= 2 * x:
        inner_warp = -(-pad * x // WARP) * across + 1
    else:  # the middle of the window, where a row has no second full warp
        inner_warp = (conv(node).kernel ** 2 // 2) * -(-high * x // WARP) * across
    return min(inner_warp, warps(node, order) - 1)


def near(node: Node) -> list[int]:
    """Return the numbers of the warps that a slider stops at: in row order, one of the first output
    row, which lies in the padding, and those of the next row or rows, for each kx."""
    _, high, wide = matrix(node)
    x = lanes(node)
    across, down = -(-wide // x), -(-high * x // WARP)
    firsts = [(kx * down + min(1, down - 1)) * across for kx in range(conv(node).kernel)]
    beside = [first + n for first in firsts for n in range(across)]
    most = min(warps(node, order) for order in ORDERS) - 1
    first = [1] if across > 1 else []
    return sorted({*first, *(number for number in beside if number <= most)})


def lanes(node: Node) -> int:
    """Return how many threads of a warp stand side by side in one row of the output.

    That is 32, or a smaller power of two where the row is short; the warp then covers several rows.
    """
    return min(WARP, 1 << (node.shape[2] - 1).bit_length())


def _in_rows(node: Node, warp: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield thread, row of the matrix, oy and ox for a warp of a grid (ox | oy | c·k·k): row
    order."""
    _, high, wide = matrix(node)
    x = lanes(node)
    across, down = -(-wide // x), -(-high * x // WARP)
    row, rest = divmod(warp, down * across)
    first, block = divmod(rest, across)
    for number in range(WARP):
        oy, ox = first * (WARP // x) + number // x, block * x + number % x
        if oy < high and ox < wide:
            yield number, row, oy, ox


def _in_columns(node: Node, warp: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield thread, row of the matrix, oy and ox for threads in one line, matrix rows first: column
    order."""
    rows, high, wide = matrix(node)
    for number in range(WARP):
        place, row = divmod(WARP * warp + number, rows)
        if place < high * wide:
            yield number, row, *divmod(place, wide)


def _thread(node: Node, value_bytes: int, number: int, row: int, oy: int, ox: int) -> Thread:
    """Return a thread of a warp with its place in the kernel and both addresses."""
    layer, (_, height, width) = conv(node), node.input_shapes[0]
    c, position = divmod(row, layer.kernel**2)
    ky, kx = divmod(position, layer.kernel)
    settings = layer.stride, layer.padding, layer.dilation
    iy, ix = source(oy, ky, *settings), source(ox, kx, *settings)
    inside = 0 <= iy < height and 0 <= ix < width
    load = value_bytes * ((c * height + iy) * width + ix) if inside else None
    store = value_bytes * ((row * node.shape[1] + oy) * node.shape[2] + ox)
    return Thread(number, c, ky, kx, oy, ox, load, store)


# -- the view ---------------------------------------------------------------------------------


def _warps(now: State, number: int | None = None) -> Warps:
    """Return the warps that a state of the view shows, in both orders."""
    return Warps(now.network, now.layer, now.stride, number, now.order, now.format)


class WarpMemory(View[Warps]):
    """Loads and stores of one warp that lowers an image, drawn on the lines of memory.

    Two orders of threads stand side by side: neighbours along a row of the lowered matrix, and
    neighbours down a column of it.

    >>> view = memlab.views.warp_memory("vgg16", "conv1_2")
    >>> view.rows.row.store.moved, view.rows.column.store.moved
    (128, 1024)
    """

    name, made_by, widest = "warp", "warp_memory", 820
    positional = ("network", "layer")

    network = network_setting(default="vgg16", fixed=True)
    layer = Setting[str](
        doc="the name of a convolution in it", default="conv1_2", fixed=True, code="plain"
    )
    stride = Select(
        STRIDES,
        doc="1, 2 or 4; the layer's own if not given",
        default=lambda now: conv(find(now.network, now.layer)).stride,
        code="always",
    )
    warp = Range(
        0,
        lambda now: _warps(now).last,
        doc="its number, counted from 0; in each order one that no padding reaches if not given",
        default=lambda now: _warps(now).orders[now.order].number if now.order else None,
        stops=lambda now: near(_warps(now).node),
        at=lambda now: _warps(now).row.number,
        box=True,
        follows=["stride"],
    )
    format = Select(FORMATS, doc="number format of the values", default="fp32")
    order: Setting[str] = Setting(
        doc="``'row'`` or ``'column'``, the only order that is shown; both if not given",
        default="",
        check=lambda given: known("order", given, ["", *ORDERS]) if given else "",
        fixed=True,
    )
    numbers = Checkbox(doc="whether all numbers are shown", argument=False, stays=True, key="KeyN")

    def study(self, now: State) -> Warps:
        return _warps(now, now.warp)

    def outline_key(self, now: State) -> object:
        return now.stride, now.warp, now.format

    def test_state(self, now: State) -> str:
        warps = self.rows_of(now)
        moved = (side.moved for order in warps.orders.values() for side in order.sides.values())
        return "|".join(map(str, (now.stride, warps.row.number, *moved)))

    def says(self, scene: PageState) -> str:
        return self.rows_of(scene.now).sentences[0]

    def compose(self, scene: PageState) -> Page:
        warps = self.rows_of(scene.now)
        was = self.rows_of(scene.previous) if scene.previous else None
        paragraphs, listed = [f"{warps.title}.", *warps.sentences[1:]], scene.now.numbers
        blocks = [
            Paragraphs([[(warps.headline, True)]], 20, told=False, gap=3),
            Paragraphs(text_of("see"), 13, told=False),
            *_place(warps),
            _sides(scene.width, [_side(warps, was, name) for name in SIDES]),
            *_idle(warps),
            Paragraphs([warps.sentences[0], *paragraphs], drawn=False),
            Paragraphs(paragraphs, told=False, drawn=listed, gap=14),
            _sides(scene.width, [_line_tables(warps, name, listed) for name in SIDES]),
        ]
        return Page(warps.title, blocks, scene.width, self.says(scene), titled=False)


warp_memory = maker(WarpMemory)


def _sides(width: float, sides: list[PageBlock]) -> PageBlock:
    """Return loads and stores beside each other, or below each other on a narrow page."""
    return SideBySide([(side, 1) for side in sides]) if width >= NARROW else Below(sides)


def _place(warps: Warps) -> Iterator[PageBlock]:
    """Yield the sentence on the values of the warp, where one order is shown and it has one."""
    warp, *others = warps.shown.values()
    if warp.place and not others:
        yield Paragraphs([[(warp.place, True)]], 14, told=False, gap=10)


def _idle(warps: Warps) -> Iterator[PageBlock]:
    """Yield the sentences on threads without access, where one order is shown and it has some."""
    warp, *others = warps.shown.values()
    if warp.idle and not others:
        yield Paragraphs(warp.idle, 13, gap=10, told=False)


# -- loads, or stores -----------------------------------------------------------------------------


def _side(sides: Warps, was: Warps | None, name: str) -> PageBlock:
    """Return the block of one side: the bytes that move in each order, and the lines of memory."""
    parts = []
    for order, warp in sides.shown.items():
        side, before = warp.sides[name], was.orders[order].sides[name] if was else None
        step = "" if side.step is None else text_of("next", step=units.exact(side.step))
        head = [
            Paragraphs(text_of(f"order.{order}"), 13, told=False),
            Paragraphs(
                [[(units.exact(side.moved), True), (text_of("moves"), False)]], 20, told=False
            ),
            Paragraphs(step, 11, dim=True, told=False),
        ]
        pitch = ALONE if sides.order else PITCH
        lines = _lines(side, before, pitch, 6 if step else 6 + LINES[11])
        parts.append((Below([*head, lines]), 1))
    title = Paragraphs(text_of(f"array.{name}"), 13, bold=True, told=False)
    return Below([title, SideBySide(parts, apart=14, gap=6)], gap=16)


def _lines(side: Side, before: Side | None, pitch: float, gap: float) -> Chart:
    """Return a chart of memory lines, with the sectors that move and the values that are used."""
    lines, moves = side.lines, _sectors(side)
    still = [_cells(n, y, 0, SECTOR) for y in range(len(lines)) for n in range(SECTORS)]
    used = [
        _cells(cell // SECTOR, y, cell % SECTOR, side.value_bytes)
        for y, line in enumerate(lines)
        for cell in line.cells
    ]
    marks: list[Mark] = [Rects(still, "grid"), Rects(used, PAINT[side.name], edge=0.4),
                         Rects(moves, "rule"), *_line_facts(side, lines)]  # fmt: skip
    gone = [place for place in _sectors(before) if place not in moves] if before else []
    long = max(len(lines), 1)
    return Chart(Scale(0, WIDE), Scale(long, 0), marks, pitch * long,
                 left=1, right=ROOM, gap=gap, previous=[Rects(gone)] if gone else [])  # fmt: skip


def _line_facts(side: Side, lines: list[MemoryLine]) -> Iterator[Mark]:
    """Yield marks for the fact of each line, and the first and last thread where each stores to a
    line of its own."""
    for y, line in enumerate(lines):
        shares = {"sectors": len(line.sectors), "values": len(line.cells)}
        more = text_of("fact", **shares, threads=span(line.threads))
        fact = Fact(f"{text_of('table.line')} {line.start:,}", more=more)
        yield Rect(0, WIDE, y, y + 1, "target", fact=fact)
    if side.name == STORE and 1 < len(lines) == len(side.accesses):
        for y, line in ((0, lines[0]), (len(lines) - 1, lines[-1])):
            label = text_of("number", number=line.threads[0])
            yield ChartText(WIDE, y + 1, label, 11, dx=7, dy=-1)


def _sectors(side: Side) -> list[Place]:
    """Return the rectangles of all sectors that move."""
    return [
        _cells(sector, y, 0, SECTOR) for y, line in enumerate(side.lines) for sector in line.sectors
    ]


def _cells(sector: int, y: int, first: int, count: int) -> Place:
    """Return the rectangle of ``count`` bytes of a sector from byte ``first`` on, in line ``y``."""
    left = sector * (SECTOR + GAP) + first
    return (left, left + count, y + 0.1, y + 0.8)


# -- all numbers ----------------------------------------------------------------------------------


def _line_tables(sides: Warps, name: str, drawn: bool) -> PageBlock:
    """Return tables of every line in both orders: first byte, moved sectors (``'#..#'``), values,
    threads."""
    tables: list[PageBlock] = []
    for order, warp in sides.shown.items():
        rows = [
            [
                f"{line.start:,}",
                "".join("#" if sector in line.sectors else "." for sector in range(SECTORS)),
                f"{len(line.cells)}",
                span(line.threads),
            ]
            for line in warp.sides[name].lines
        ]
        title = text_of("head", side=text_of(f"array.{name}"), order=text_of(f"order.{order}"))
        heads = [text_of(f"table.{head}") for head in ("line", "sectors", "values", "threads")]
        tables.append(Table(heads, rows, "><>>", title, drawn=drawn, gap=10))
    return Below(tables)
