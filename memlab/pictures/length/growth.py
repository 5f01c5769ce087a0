"""Peak of a training step by the length of its texts: planned at a length, and over all lengths.

A ``TextStep`` is the plan of one length: the bytes of each part inside every operation. A
``TrainingRecipe`` makes them, and holds what follows for all lengths: every block is a polynomial
of second degree in the length, so three plans give the curves; a figure that is named is that of
the plan of its own length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np

from memlab.arrays import Column, Floats, bytes_by_part, column
from memlab.assemble.step import training_step
from memlab.layers.attention import TILE
from memlab.networks.graph import Network
from memlab.networks.language_models import LanguageModel
from memlab.step.lifetimes import Lifetime
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.chunked_loss import chunked_loss

FLOOR = (Role.PARAMETER, Role.OPTIMIZER_STATE, Role.PARAMETER_GRADIENT)
REST, OTHERS, LOGITS, MATRICES = "rest", "others", "logits", "matrices"
PARTS = (*map(str, FLOOR), REST, str(Role.GRADIENT_MAP), OTHERS, LOGITS, MATRICES)
"""Parts of the bytes from the bottom up. Above the floor lie the rest (input, labels, workspace)
and gradient maps, then feature maps: attention's matrices, logits with their probabilities, and the
others."""
LENGTHS = (TILE, 2 * TILE, 3 * TILE)
"""Lengths in tokens whose plans give the curves: from one tile of fused attention on, it is whole,
and the loss has as many chunks as are asked for, of equal lengths."""
MOST = 1 << 20
"""The longest text that is looked for, in tokens."""


# -- one length ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextPeak:
    """Bytes by part inside the operation of the peak, the first of several."""

    parts: Mapping[str, int]
    operation: str

    @property
    def nbytes(self) -> int:
        """Bytes of the peak."""
        return sum(self.parts.values())

    @property
    def floor(self) -> int:
        """Bytes of the model state at the peak."""
        return sum(self.parts[role] for role in FLOOR)


class TextStep:
    """Plan of a training step on texts of one length: bytes of every part inside every operation.

    ``fixed`` and ``per_text`` have the shape (parts, operations): ``fixed + batch * per_text`` are
    the bytes at a batch.
    """

    def __init__(self, step: Step) -> None:
        self.names = [op.name for op in step.ops]
        blocks, part_of = step.lifetimes.blocks, part_finder(step)
        parts = [part_of(block) for block in blocks]
        births, deaths = (np.array([getattr(b, end) for b in blocks], np.int64)
                          for end in ("birth", "death"))  # fmt: skip
        self.fixed, self.per_text = (
            self._lines(parts, column([getattr(b.size, size) for b in blocks]), births, deaths)
            for size in ("fixed", "per_sample")
        )

    def _lines(self, parts: list[str], sizes: Column, births: Column, deaths: Column) -> Column:
        lines = bytes_by_part(parts, sizes, births, deaths, len(self.names))
        none = np.zeros(len(self.names), np.int64)
        return np.array([lines.get(part, none) for part in PARTS])

    def peak(self, batch: int) -> TextPeak:
        """Return the peak at a batch, by part."""
        lines = self.fixed + batch * self.per_text
        at = int(lines.sum(axis=0).argmax())
        return TextPeak(dict(zip(PARTS, lines[:, at].tolist(), strict=True)), self.names[at])

    def largest(self, parts: Sequence[str], batch: int) -> dict[str, int]:
        """Return the bytes of some parts inside the operation in which they have most together."""
        chosen = [PARTS.index(str(part)) for part in parts]
        lines = self.fixed[chosen] + batch * self.per_text[chosen]
        at = int(lines.sum(axis=0).argmax())
        return dict(zip(map(str, parts), lines[:, at].tolist(), strict=True))


def part_finder(step: Step) -> Callable[[Lifetime], str]:
    """Return the function that tells the part of a block of a step."""
    losses = [op for op in step.ops if op.kind == "softmax_cross_entropy"]
    logits = {t.storage.name for op in losses for t in (op.reads["x"], op.writes["probabilities"])}

    def part_of(block: Lifetime) -> str:
        if block.role is not Role.FEATURE_MAP:
            named = block.role in (*FLOOR, Role.GRADIENT_MAP)
            return str(block.role) if named else REST
        if block.tensor.storage.name in logits:
            return LOGITS
        square = sum(name == "T" for name, _ in block.tensor.axes) == 2
        return MATRICES if square else OTHERS

    return part_of


# -- all lengths -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingRecipe:
    """Way to train a language model with Adam in fp32, at any length of its texts.

    ``fused`` computes attention without its matrices, ``chunks`` is the number of parts in which
    the loss is computed (``memlab.chunked_loss``), 1 for the whole.
    """

    model: LanguageModel
    fused: bool = False
    chunks: int = 1

    def network(self, length: int) -> Network:
        """Return the network for texts of ``length`` tokens."""
        return self.model.network(length, "fused" if self.fused else "matrix")

    def step(self, length: int) -> Step:
        """Return the training step on texts of ``length`` tokens."""
        return chunked_loss(training_step(self.network(length), "adam"), self.chunks)

    def plan(self, length: int) -> TextStep:
        """Return the plan of texts of ``length`` tokens; the last ones are cached."""
        return _planned(self, length)

    def peak(self, length: int, batch: int) -> TextPeak:
        """Return the planned peak of ``batch`` texts of ``length`` tokens, by part."""
        return self.plan(length).peak(batch)

    @property
    def curves(self) -> LengthCurves:
        """Peaks at all lengths; computed once."""
        return _curves(self)

    def longest(self, budget: int, batch: int) -> int:
        """Return the most tokens at which the planned peak of ``batch`` texts is at most ``budget``
        bytes; 0 if one token is too much, and at most ``MOST``.

        A longer text never needs fewer bytes, so the plans of two lengths next to each other
        decide.
        """
        curves = self.curves
        guess = last_true(lambda n: curves.peak(n, batch) <= budget, LENGTHS[0], MOST)
        return last_true(lambda n: self.peak(n, batch).nbytes <= budget, guess, MOST)


@lru_cache(maxsize=256)
def _planned(recipe: TrainingRecipe, length: int) -> TextStep:
    return TextStep(recipe.step(length))


@lru_cache(maxsize=32)
def _curves(recipe: TrainingRecipe) -> LengthCurves:
    return LengthCurves(recipe)


def last_true(holds: Callable[[int], bool], near: int, most: int) -> int:
    """Return the largest number from 0 to ``most`` for which ``holds`` is true, which is true up to
    a number and false above it; 0 needs no check. The search begins at ``near``."""
    low, high = _bracket(holds, near, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _bracket(holds: Callable[[int], bool], near: int, most: int) -> tuple[int, int]:
    """Return a number for which ``holds`` is true and a larger one for which it is not, near to a
    number; ``most + 1`` counts as one for which it is not."""
    at = min(max(near, 1), most)
    up = holds(at)
    for reach in (1 << power for power in count()):
        there = min(at + reach, most + 1) if up else max(at - reach, 0)
        true = there == 0 or (there <= most and holds(there))
        if true is not up:
            return (at, there) if up else (there, at)
        at = there
    raise AssertionError("unreachable: 0 holds and most + 1 does not")


class LengthCurves:
    """Bytes of every part over all lengths from one tile on, as polynomials of the length.

    They are exact at multiples of a tile (128 tokens). At other lengths the chunks of a loss differ
    by a token, and the curve lies between them.
    """

    def __init__(self, recipe: TrainingRecipe) -> None:
        plans = [recipe.plan(length) for length in LENGTHS]
        self._fixed, self._per_text = (
            _coefficients([getattr(plan, size) for plan in plans]) for size in ("fixed", "per_text")
        )

    def peak(self, length: int, batch: int) -> float:
        """Return the bytes of the peak at one length, an ``int`` where they are exact."""
        whole, rest = divmod(length, TILE)
        most = _value(self._at(batch).sum(axis=1), length / TILE if rest else whole).max()
        return float(most) if rest else int(most)

    def parts(self, lengths: Floats, batch: int) -> dict[str, Floats]:
        """Return the bytes of every part at the peak of each length, of shape (lengths,)."""
        coefficients = self._at(batch).astype(np.float64)
        total, tiles = coefficients.sum(axis=1), lengths / TILE
        places = [int(_value(total, tile).argmax()) for tile in tiles.tolist()]
        return dict(zip(PARTS, _value(coefficients[:, :, places], tiles), strict=True))

    def _at(self, batch: int) -> Column:
        """Coefficients at a batch, of shape (3, parts, operations)."""
        coefficients: Column = self._fixed + batch * self._per_text
        return coefficients


def _coefficients(lines: list[Column]) -> Column:
    """Return the coefficients of the polynomials through the bytes at ``LENGTHS``, of shape
    (3, ...), from the constant on; their variable counts tiles."""
    first, middle, last = lines
    square = (last - 2 * middle + first) // 2
    slope = middle - first - 3 * square
    return np.array([first - slope - square, slope, square])


def _value(coefficients: Column, tiles: Column | float) -> Column:
    """Return the value of polynomials at one length in tiles, or at one for each of the last
    axis."""
    constant, slope, square = coefficients
    value: Column = constant + (slope + square * tiles) * tiles
    return value
