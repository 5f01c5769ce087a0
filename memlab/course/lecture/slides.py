"""Slides of the lecture: pages of 1280 x 720 with large type, and the figures that they show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from memlab import hardware, strings, units, zoo
from memlab.layers.layer import Node
from memlab.lesson.material import quantities
from memlab.measure import lecture_layer as bench
from memlab.measure import recorded_figures
from memlab.measure.convolution import RIVAL
from memlab.networks.graph import Network
from memlab.pictures.draw.svg import Box, Svg
from memlab.pictures.shifted_copies.cells import CopiedCells, Corner, Matrix, group, letter, square
from memlab.pictures.shifted_copies.lowering import (
    AlgorithmWorkspace,
    Lowering,
    Written,
    amount,
    changed,
    conv,
    input_bytes,
    lowered_bytes,
    workspace,
)
from memlab.pictures.shifted_copies.small_picture import SIZE, Pin, SmallPicture
from memlab.pictures.values.number_text import duration

# -- figures --------------------------------------------------------------------------------------

NETWORK, LAYER, BATCH = "vgg16", "conv1_2", 128
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
WAYS = {"im2col-batch": "batch", "im2col-image": "image", "im2col-tile": "tile", "offsets": "table"}
"""Algorithms, from the most workspace to the least, each by the name that its scene has for it."""
CARD = hardware.find("12 GB card")


@cache
def network() -> Network:
    """Return the network of the lecture's question."""
    return zoo.build(NETWORK)


@cache
def layer(k: int = 3, stride: int = 1, pad: str = "same") -> Node:
    """Return the layer of the lecture's question, also with another kernel, stride or padding."""
    return changed(network().by_name[LAYER], k, stride, pad)


def lowering(k: int = 3, stride: int = 1, pad: str = "same", **more: Any) -> Lowering:
    """Return the picture data of the layer's lowering: all copies, at the batch of the question."""
    return Lowering(network(), LAYER, k, stride, pad, **{"batch": BATCH, "step": k * k, **more})


def kernel() -> int:
    """Return the kernel size k of the layer."""
    return conv(network().by_name[LAYER]).kernel


def source(batch: int = BATCH) -> int:
    """Return the bytes of the layer's input."""
    return input_bytes(layer(), batch)


def lowered(node: Node, batch: int = BATCH) -> int:
    """Bytes of the lowered copy of a layer's input; 0 where that is the input itself."""
    return lowered_bytes(node, batch)


def mistake(name: str) -> int:
    """Return the bytes that somebody gets who makes a mistake, by its name."""
    causes = quantities.lowered(layer(), BATCH).causes
    return int(next(cause.value for cause in causes if cause.name == name))


def answers() -> tuple[int, ...]:
    """Return the answers of the vote in bytes: as large as the input, k, k² and k⁴
    times as large."""
    copy = lowered(layer())
    return mistake("not_lowered"), mistake("one_k"), copy, mistake("lowered_twice")


def way(name: str) -> AlgorithmWorkspace:
    """Return the workspace of an algorithm for the layer."""
    return workspace(layer(), name)


def fits(node: Node) -> int:
    """Return the largest batch whose lowered copy fits on the card."""
    return CARD.memory.value // lowered(node, 1)


@cache
def pointwise_network(name: str = "resnet50") -> Network:
    """Return a network with many 1 x 1 convolutions."""
    return zoo.build(name)


def text_of(key: str, /, **values: Any) -> str:
    """Return a text of the lecture with its values filled in."""
    return strings.get(f"lecture.{key}", **values)


# -- slides ---------------------------------------------------------------------------------------

WIDE, HIGH = 1280, 720
LEFT, RIGHT = 64, 1216
CELL = 16
U = SIZE * CELL
"""The side of the input. The page is 9 of them wide: 9 copies in a row fill it."""
TOP = 100
INPUT, COPIES, MATRIX = (0, 9), (46, 0), (8, 28)
"""Corners in cells, counted from the left edge and from ``TOP``."""
TEXT = 256
"""Left edge of texts beside the input."""
TITLE, MOTTO = 64, 700
"""Baselines of the title and of the line at the foot, in pixels."""


def place(corner: Corner) -> Corner:
    """Return the pixel position of a corner that is given in cells."""
    return LEFT + corner[0] * CELL, TOP + corner[1] * CELL


@dataclass
class LectureSlide(Svg):
    """One slide of the lecture."""

    width: float = WIDE
    height: float = HIGH
    key: str = "k2"

    # -- words

    def write(
        self, x: float, y: float, key: str, size: float = 34, /, bold: bool = False,
        dim: bool = False, anchor: str = "start", **values: Any,
    ) -> Box:  # fmt: skip
        """Draw a text of the strings file, with its values filled in, and return its box."""
        return self.text(x, y, text_of(key, **values), size, anchor, bold, dim)

    def title(self, key: str, /, **values: Any) -> None:
        """Draw the title, which states the finding of the scene."""
        self.write(LEFT, TITLE, key, 42, bold=True, **values)

    def motto(self, key: str = "motto.planned", **values: Any) -> None:
        """Draw the line at the foot that says how to read the picture."""
        self.write(LEFT, MOTTO, key, 28, dim=True, **values)

    def hero(self, number: str, key: str, y: float = 306, **values: Any) -> None:
        """Draw the main number of the scene in large type, with its explanation below."""
        digits, cross, rest = number.partition(" ×")
        box = self.text(TEXT, y, digits, 96, bold=True)
        if cross:
            box = self.text(box.right + 18, y - 1, "×", 72)
        if rest:
            self.text(box.right + 18, y, rest.strip(), 96, bold=True)
        self.write(TEXT, y + 50, key, 36, **values)

    def label(self, x: float, y: float, key: str, **values: Any) -> None:
        """Draw the name of a part of the picture."""
        self.write(x, y, key, 30, **values)

    def says(self, name: str, x: float, y: float, kind: str, anchor: str | None = None) -> None:
        """Add an empty text that the browser fills in."""
        self.add("text", "", x=x, y=y, class_=kind, text_anchor=anchor, data_says=name)

    # -- areas

    def square(self, x: float, y: float, side: float, **how: Any) -> None:
        """Draw a square."""
        self.rect(Box(x, y, x + side, y + side), **how)

    def boxes(self, x: float, y: float, side: float, columns: int, rows: int, look: str) -> None:
        """Draw an area divided into ``columns`` by ``rows`` squares."""
        self.rect(Box(x, y, x + columns * side, y + rows * side), class_=look)
        across = "".join(f"M{x:g} {y + i * side:g}h{columns * side:g}" for i in range(1, rows))
        down = "".join(f"M{x + i * side:g} {y:g}v{rows * side:g}" for i in range(1, columns))
        if across or down:
            self.path(across + down, class_="seam" if look == "on" else "thin")

    def area(self) -> None:
        """Draw the input as an area."""
        x, y = place(INPUT)
        self.label(x, y - 16, "label.input")
        self.square(x, y, U, class_="on")

    # -- the small picture

    @contextmanager
    def cells(self, corner: Corner = (LEFT, TOP), cell: float = CELL) -> Iterator[None]:
        """Open a group whose coordinates are in cells."""
        with group(self, *corner, cell):
            yield

    def input(self) -> None:
        """Draw the input as a picture."""
        x, y = place(INPUT)
        self.label(x, y - 16, "label.input")
        with self.cells((x, y)):
            self.parts.append(letter())
            self.path(square(0, 0, SIZE), class_="edge input")

    def copies(self, layer: Lowering, pin: Pin | None = None, moving: bool = False) -> None:
        """Draw the input and its copies."""
        x, y = place(INPUT)
        self.label(x, y - 16, "label.input")
        with self.cells():
            CopiedCells(layer, COPIES, pin, False, INPUT, moving).write(self)

    def matrix(self, layer: Lowering, pin: Pin | None = None, dimmed: bool = False) -> None:
        """Draw the lowered matrix below the copies."""
        self.label(LEFT, 626, "label.matrix")
        with self.cells(), self.group(class_="dimmed" if dimmed else None):
            Matrix(layer, MATRIX, pin, False).write(self)

    def bars(
        self, y: float, figures: recorded_figures.RecordedFigures, names: dict[str, str]
    ) -> None:
        """Draw bytes and time of some algorithms as bars, row by row, each column scaled to its
        longest; recorded figures are hatched."""
        left, right, high = 340, 820, 44
        self.write(left, y - 18, "rivals.bytes", 30, dim=True)
        self.write(right, y - 18, "rivals.time", 30, dim=True)
        most = max(taken(figures, name) for name in names) or 1
        slowest = max(seconds(figures, name) for name in names)
        for index, (name, text) in enumerate(names.items()):
            top, nbytes, time = y + 92 * index, taken(figures, name), seconds(figures, name)
            self.text(LEFT, top + 34, text, 34, bold=True)
            wide = 250 * nbytes / most
            look = "timed" if name == RIVAL else "on"
            self.rect(Box(left, top, left + max(wide, 1), top + high), class_=look)
            label = amount(nbytes) if wide > 2 or not nbytes else text_of("need.small")
            self.text(left + wide + 14, top + 33, label, 30)
            end = right + 230 * time / slowest
            self.rect(Box(right, top, end, top + high), class_="timed")
            self.text(end + 14, top + 33, duration(time), 30, bold=True)
        self.write(LEFT, MOTTO, "recorded", 28, dim=True, where=where(figures))

    def zeros(self, y: float) -> None:
        """Draw a sample of the added zeros."""
        with self.cells((TEXT, y), 32):
            self.path("M0 .5h1", class_="zero-run")
            self.path(square(0, 0, 1), class_="edge")


# -- scenes ---------------------------------------------------------------------------------------

ANSWERS = ("A", "B", "C", "D")
TIMES = bench.TIMES
"""Number of times that the copy is written; the median time is shown."""


@cache
def rivals() -> recorded_figures.RecordedFigures | None:
    """Return the recorded time and bytes of every algorithm for one image of the layer; None if
    another layer was recorded."""
    known = (bench.NETWORK, bench.LAYER) == (NETWORK, LAYER)
    return recorded_figures.load(bench.FILE) if known else None


def where(figures: recorded_figures.RecordedFigures) -> str:
    """Return machine and date of recorded figures, in short."""
    machine = figures.result.machine
    return f"{machine.processor}, {machine.cores} cores, {machine.system}, {machine.date}"


def seconds(figures: recorded_figures.RecordedFigures, name: str) -> float:
    """Return the recorded time of an algorithm."""
    return figures.line(name).value


def taken(figures: recorded_figures.RecordedFigures, name: str) -> int:
    """Return the bytes that an algorithm needs besides input, weights and output: planned, or
    recorded for PyTorch."""
    rival = f"{RIVAL} with oneDNN, workspace" if name == RIVAL else f"{name}, workspace"
    return round(figures.line(rival).value)


@dataclass(frozen=True)
class RecordedCopy(Written):
    """Run that wrote the lowered copy of one image, with machine and date."""

    where: str

    @classmethod
    def kept(cls) -> RecordedCopy | None:
        """Return the recorded run if it is of this layer; None otherwise."""
        if (figures := rivals()) is None:
            return None
        size, measured = lowered(layer(), 1), round(figures.line(f"{bench.COPY}, measured").value)
        return cls(size, measured, seconds(figures, bench.COPY), where(figures))

    def text(self) -> str:
        """Return the run in words."""
        return text_of("run.text", planned=units.exact(self.planned), residual=self.residual,
                   measured=units.exact(self.measured), ms=self.ms, where=self.where)  # fmt: skip


@dataclass(frozen=True)
class LectureScene:
    """One scene of the lecture: its slides, a description in words of each slide (``twins``), and
    notes.

    ``auto`` plays by itself from one slide to another, ``stops`` are the slides at which the key
    for the next one halts, and on the first ``pinned`` slides other pixels and places can be
    pinned.
    """

    name: str
    slides: Sequence[LectureSlide]
    twins: Sequence[str]
    notes: str
    auto: tuple[int, int] | None = None
    stops: Sequence[int] = ()
    pinned: int = 0

    def __post_init__(self) -> None:
        assert len(self.twins) == len(self.slides), self.name


def shared(small: SmallPicture, first: int, second: int) -> int:
    """Return the number of values that the windows of two places have in common."""
    here, there = ({copy[place] for copy in small.copies} for place in (first, second))
    return len((here & there) - {None})
