"""Low-rank adapters (LoRA; Hu et al. 2021, arXiv 2106.09685): the product that is added to the
output of a linear layer.

An adapter learns two small matrices beside a frozen one: ``A`` makes ``rank`` values of the input,
``B`` makes a change of the output of them. ``A`` is a linear layer; this is the other half, which
adds the change to what the frozen layer gave. Where that layer computes several outputs side by
side, as queries, keys and values, a chosen part of them has an adapter of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from memlab.axes import Shape
from memlab.errors import InputError, listed, real_number, shorten, whole_number
from memlab.layers.layer import Layer, Weights, text, validate
from memlab.layers.layer_kind import Flops, InPlacePairs, LayerKind, Passes
from memlab.step.rewrite_traits import SplitAxis
from memlab.step.storage import Size


@dataclass(frozen=True)
class LowRank(Layer):
    """Sum ``y = x0 + alpha / rank * x1 B^T`` of the output ``x0`` of a linear layer and of what
    ``rank`` values ``x1`` say of it.

    ``x0`` is cut into ``of`` parts of the same length. Those of ``parts``, counted from 0, get a
    change; ``x1`` has ``rank`` values for each of them. ``B`` begins at 0, so that at first nothing
    changes.
    """

    rank: int
    alpha: float
    parts: tuple[int, ...] = (0,)
    of: int = 1
    kind: ClassVar[str] = "low_rank"
    arity: ClassVar[int | None] = 2
    row: ClassVar[LayerKind] = LayerKind(
        keeps=(), cut=SplitAxis.SAMPLES, cheap=True, to_learn=("x1",), to_pass_on=("weight",),
        passes=Passes.FIRST, over=InPlacePairs({"y": ("x0",)}), devices=("cpu",),
    )  # fmt: skip

    def __post_init__(self) -> None:
        validate(self, "low rank", "rank")
        validate(self, "low rank", "alpha", real_number, usual=32)
        validate(self, "low rank", "of")
        object.__setattr__(self, "parts", _checked(self.parts, self.of))

    @property
    def scale(self) -> float:
        """Factor of what is added: ``alpha / rank``."""
        return self.alpha / self.rank

    def output(self, *inputs: Shape) -> Shape:
        if len(inputs) != 2:
            raise InputError("low rank needs two inputs; give the values of A as the second.")
        base, small = inputs
        wanted = (*base[:-1], self.rank * len(self.parts))
        if len(base) > 2 or base[-1] % self.of or small != wanted:
            raise InputError(
                f"low rank of rank {self.rank} needs outputs of a linear layer that {self.of} "
                f"divides and {text(wanted)} values of A, got {text(base)} and {text(small)}; try "
                f"linear({wanted[-1]}) for A."
            )
        return base

    def parameters(self, *inputs: Shape) -> tuple[Weights, ...]:
        outputs = inputs[0][-1] // self.of * len(self.parts)
        return (Weights("weight", (("K", outputs), ("r", self.rank))),)

    def describe(self) -> str:
        parts = ", ".join(str(part + 1) for part in self.parts)
        where = f", parts {parts} of {self.of}" if self.of > 1 else ""
        return f"rank {self.rank}, scale {self.scale:g}{where}"

    def flops(self, y: Shape, *inputs: Shape) -> Flops:
        """Return the operations: a product, which is scaled and added; backward has two products,
        each of them scaled."""
        changed, small = prod(y) // self.of * len(self.parts), prod(inputs[1])
        products = 2 * changed * self.rank
        return Flops(
            forward=Size(0, products + 2 * changed),
            weights=Size(changed // prod(y[:-1]) * self.rank, products),
            input=Size(0, products + small),
        )


def _checked(given: Sequence[int], of: int) -> tuple[int, ...]:
    """Return the numbers of the parts that get a change.

    Raises:
        InputError: none, one twice, or one that is not there.
    """
    numbers = [
        whole_number("low rank: a part", part, least=0, most=of - 1)
        for part in listed("low rank: parts", given, 0)
    ]
    if not numbers or len(set(numbers)) < len(numbers):
        raise InputError(f"low rank: parts are numbers, each once, got {shorten(given)}; try (0,).")
    return tuple(numbers)
