"""The rows that the picture and the text of the shifted copies are both made from."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction

from memlab import units
from memlab.networks.graph import Node
from memlab.step.algorithms import pointwise
from memlab.studies.memory import Budget, Verdict, budget
from memlab.views.axis import Axis
from memlab.views.copies import layer as layers
from memlab.views.copies.layer import Workspace
from memlab.views.copies.state import PLACES, State
from memlab.views.copies.windows import SIZE, Lowered

CARD = budget("12 GB card")
RULER = Axis(16 * units.DECIMAL["GB"], 4 * units.DECIMAL["GB"])
"""It holds the layer of the question at its batch, and the card. What is longer breaks it."""


@dataclass(frozen=True)
class Pin:
    """What is pinned: a pixel of the input, or a place of the output; row and column from 0.

    ``stands`` are the cells that belong to it: number of the copy, place in it.
    """

    kind: str
    row: int
    column: int
    stands: tuple[tuple[int, int], ...]
    zeros: int

    @property
    def is_place(self) -> bool:
        """A place of the output, whose window is one column of the matrix."""
        return self.kind == PLACES

    def until(self, step: int) -> tuple[tuple[int, int], ...]:
        """Its cells in the copies that are written."""
        return tuple(stand for stand in self.stands if stand[0] < step)


@dataclass(frozen=True)
class Rows:
    """Everything that is shown, in exact numbers.

    ``count`` copies are made in all and ``step`` of them are written; ``written`` of ``total``
    bytes. ``counts`` says for each pixel of the small input how often it is written so far.
    """

    state: State
    node: Node
    lowered: Lowered
    workspace: Workspace
    count: int
    step: int
    source: int
    total: int
    counts: tuple[int, ...]
    pin: Pin | None
    verdicts: tuple[Verdict, ...]

    @property
    def written(self) -> int:
        """Bytes of the copies that are written."""
        return self.total * self.step // self.count if self.count else 0

    @property
    def now(self) -> Fraction:
        """How many times the input is written."""
        return Fraction(self.written, self.source)

    @property
    def end(self) -> Fraction:
        """How many times the input it will be."""
        return Fraction(self.total, self.source)

    @property
    def factor(self) -> Fraction:
        """k² Ho Wo / (H W), whatever is kept of the copy at once."""
        _, height, width = self.node.input_shapes[0]
        _, rows, columns = self.node.shape
        return Fraction(self.state.k**2 * rows * columns, height * width)

    @property
    def pointwise(self) -> bool:
        """Whether the matrix is the input, so that no copy is made."""
        return not self.count and pointwise(layers.conv(self.node))

    @property
    def tiled(self) -> bool:
        """Whether only a tile of output places is lowered at a time."""
        return self.workspace.name == "im2col-tile"

    @property
    def rim(self) -> int:
        """Zeros on each side of the small picture."""
        return self.state.k // 2 if self.state.pad == "same" else 0

    @property
    def quarters(self) -> bool:
        """Whether each small copy is a quarter of the picture, all of which is kept."""
        quarter = 4 * self.lowered.places**2 == SIZE**2
        return bool(self.count) and quarter and not self.tiled

    @property
    def kept(self) -> int:
        """Rows of output places of each small copy that are kept at once."""
        return 1 if self.tiled else self.lowered.places

    @property
    def cells(self) -> int:
        """Cells of the small matrix that are written and kept."""
        return self.step * self.kept * self.lowered.places

    @property
    def zeros(self) -> int:
        """How many of them are added zeros."""
        upto = self.kept * self.lowered.places
        return sum(copy[:upto].count(None) for copy in self.lowered.copies[: self.step])

    @property
    def values(self) -> int:
        """How many of them are values of the input."""
        return self.cells - self.zeros

    @property
    def covered(self) -> Fraction:
        """How many times the small picture they are."""
        return Fraction(self.cells, SIZE**2)

    @property
    def framed(self) -> bool:
        """Whether the last copy is pointed at: not where all are shown, or where something is
        pinned."""
        return self.pin is None and self.step > 0 and (self.step < self.count or self.count == 1)

    @property
    def current(self) -> tuple[int, int] | None:
        """(ky, kx) of the copy that was written last."""
        return divmod(self.step - 1, self.state.k) if self.step else None


def rows(state: State) -> Rows:
    """The rows of a state; those of the last few states are kept."""
    for known, found in _RECENT:
        if known is state:
            return found
    _RECENT.append((state, _rows(state)))
    return _RECENT[-1][1]


_RECENT: deque[tuple[State, Rows]] = deque(maxlen=4)


def _rows(state: State) -> Rows:
    node, workspace, lowered = state.node, state.workspace, state.lowered
    count = state.count
    step = min(state.step, count)
    budgets = [CARD]
    if state.free is not None:
        budgets.append(Budget("free", state.free, live=True))
    return Rows(
        state,
        node,
        lowered,
        workspace,
        count,
        step,
        layers.source(node, state.batch),
        workspace.size.at(state.batch),
        lowered.counts(step),
        _pin(state, lowered),
        tuple(_verdict(workspace, state.batch, found) for found in budgets),
    )


def _pin(state: State, lowered: Lowered) -> Pin | None:
    if not state.pin:
        return None
    kind, _, digits = state.pin.partition(":")
    number = int(digits)
    if kind == PLACES:
        row, column = divmod(number, lowered.places)
        stands = tuple((index, number) for index in range(len(lowered.copies)))
        zeros = sum(copy[number] is None for copy in lowered.copies)
        return Pin(kind, row, column, stands, zeros)
    row, column = divmod(number, SIZE)
    return Pin(kind, row, column, lowered.stands(number), 0)


def _verdict(workspace: Workspace, batch: int, found: Budget) -> Verdict:
    """Whether the copy alone fits."""
    fits = workspace.size.at(batch) <= found.nbytes
    return Verdict(found, fits, workspace.largest(found.nbytes))
