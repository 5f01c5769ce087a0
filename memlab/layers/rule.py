"""The row that each kind of layer has in the table of rules, and the axes of what it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memlab.axes import Dims
from memlab.formats import Format
from memlab.layers.layer import Node
from memlab.step.storage import Size

Extras = Mapping[str, tuple[Dims, Format]]


@dataclass(frozen=True)
class Flops:
    """Operations of one layer: forward, backward for what it learns, backward for its input.

    ``inference`` is forward without training, where it differs.
    """

    forward: Size
    weights: Size = Size()
    input: Size = Size()
    inference: Size | None = None


def _no_extras(node: Node, format: Format) -> Extras:
    return {}


@dataclass(frozen=True)
class Rule:
    """One row of the table.

    ``axes`` are the names of the axes of an output that is no map, sequence or vector. A workspace
    is there once for each thread; ``fills`` is how often it is filled for a sample.
    """

    flops: Callable[[Node], Flops]
    keeps: tuple[str, ...] = ()
    extras: Callable[[Node, Format], Extras] = _no_extras
    backward_reads_weight: bool = False
    axes: tuple[str, ...] = ()
    forward_workspace: Callable[[Node], Dims] = lambda node: ()
    backward_workspace: Callable[[Node], Dims] = lambda node: ()
    fills: Callable[[Node], int] = lambda node: 1
    is_view: bool = False
    gradient_is_view: bool = False
    identity_in_inference: bool = False
    devices: tuple[str, ...] = ("cpu", "cuda")
    """Those that have kernels for it."""
