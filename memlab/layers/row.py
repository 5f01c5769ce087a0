"""The row of a kind of layer: what a step, and every rewrite of a step, asks of it.

One row per kind. The counts of operations are those of the formula, whichever algorithm computes
it; an addition, a product, a comparison, a root, an exponential and a power count as one each, a
sigmoid as an exponential, an addition and a division.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from memlab.axes import Dims
from memlab.formats import Format
from memlab.layers.layer import Node
from memlab.step.storage import Size
from memlab.step.traits import Again, Cut, Traits

Extras = Mapping[str, tuple[Dims, Format]]
Over = Mapping[str, tuple[str, ...]]
"""By output, the inputs in whose place it may lie."""

NOWHERE: Over = {}
OUTPUT: Over = {"y": ("x",)}
GRADIENT: Over = {"dx": ("dy",)}


@dataclass(frozen=True)
class Flops:
    """Operations of one layer: forward, backward for what it learns, backward for its input.

    ``inference`` is forward without training, where it differs.
    """

    forward: Size = Size()
    weights: Size = Size()
    input: Size = Size()
    inference: Size | None = None


class Passes(StrEnum):
    """How the gradient of an output becomes those of the inputs."""

    COMPUTED = "computed"
    """An operation computes them."""
    SAME = "same"
    """Each is a view of it."""
    SLICES = "slices"
    """Each is a slice of it, side by side."""


class Reads(StrEnum):
    """When the backward operation of a layer reads its weight."""

    NEVER = "never"
    PASSING = "passing"
    """Where it passes a gradient on."""
    ALWAYS = "always"


def _no_extras(node: Node, format: Format) -> Extras:
    return {}


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is known of a kind of layer. What stands first has no default that could be right.

    ``keeps``: which of its input ``x`` and output ``y`` backward reads. ``cut``: along what it and
    its backward can be cut. ``over``, ``backward_over``: as in ``Traits``. ``cheap``: it computes
    little for each byte that it writes.

    ``extras`` are small arrays that forward writes for backward alone. ``axes`` are the names of
    the axes of an output that is no map, sequence or vector. A workspace is there once for each
    thread; ``fills`` is how often it is filled for a sample. ``again``: how it runs another time
    where it updates something in forward. ``moves``, ``wide``, ``apart``: as in ``Traits``.
    ``joins``: its parameters are updated together with those of the layer that feeds it.
    ``devices`` have kernels for it, and those in ``vectors`` only for one vector in each sample.
    """

    flops: Callable[[Node], Flops]
    keeps: tuple[str, ...]
    cut: Cut
    over: Over
    backward_over: Over
    cheap: bool

    extras: Callable[[Node, Format], Extras] = _no_extras
    backward_reads_weight: Reads = Reads.NEVER
    axes: tuple[str, ...] = ()
    forward_workspace: Callable[[Node], Dims] = lambda node: ()
    backward_workspace: Callable[[Node], Dims] = lambda node: ()
    fills: Callable[[Node], int] = lambda node: 1
    again: Callable[[Node], Again] | None = None
    is_view: bool = False
    passes: Passes = Passes.COMPUTED
    identity_in_inference: bool = False
    moves: bool = False
    wide: bool = False
    apart: bool = False
    joins: bool = False
    devices: tuple[str, ...] = ("cpu", "cuda")
    vectors: tuple[str, ...] = field(default=())

    @cached_property
    def traits(self) -> Traits:
        """Those of its operation in forward."""
        return Traits(self.over, self.cut, self.cheap, moves=self.moves, wide=self.wide)

    @cached_property
    def backward_traits(self) -> Traits:
        """Those of its operation in backward."""
        return Traits(
            self.backward_over, self.cut, moves=self.moves, wide=self.wide, apart=self.apart
        )
