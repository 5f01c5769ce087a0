"""The row of a kind of layer: what a step, and every rewrite of a step, asks of it; and the values
in which a layer answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from memlab.axes import BATCH, Dims, Shape
from memlab.devices import EVERY_LAYER
from memlab.formats import Format
from memlab.moved import old_names
from memlab.step import tensor
from memlab.step.op import NONE, Operands
from memlab.step.rewrite_traits import SplitAxis, Traits
from memlab.step.storage import Size
from memlab.step.tensor import Role


class Passes(StrEnum):
    """Rule that turns the gradient of an output into those of the inputs."""

    COMPUTED = "computed"
    """An operation computes them."""
    SAME = "same"
    """Each is a view of it."""
    SLICES = "slices"
    """Each is a slice of it, side by side."""
    FIRST = "first"
    """The gradient of the first input is a view of it, and an operation computes the others."""


class InPlacePairs(NamedTuple):
    """Pairs of an output and inputs that may be written in place, forward and backward: by output,
    the inputs in whose place it may lie (``Traits.over``)."""

    forward: Mapping[str, tuple[str, ...]] = {}
    backward: Mapping[str, tuple[str, ...]] = {}


NOWHERE = InPlacePairs()
IN_PLACE = InPlacePairs({"y": ("x",)}, {"dx": ("dy",)})


@dataclass(frozen=True, kw_only=True)
class LayerKind:
    """Properties of a kind of layer. The first three have no default that could be right.

    ``keeps``: which of its input ``x``, its output ``y`` and its parameters backward reads;
    ``to_learn`` beside them where it computes gradients of its parameters, and ``to_pass_on`` where
    it passes a gradient on. ``cut``: along what it and its backward can be cut. ``cheap``: it
    computes little for each byte that it writes.

    ``autograd``: which of them PyTorch's autograd saves beside those, although nobody reads it: the
    input of a frozen convolution. A test asks PyTorch.
    ``over``: what may lie over what. ``axes``: the names of the axes of an output that is no map,
    sequence or vector. ``is_view``: its output is the input, or a part of it;
    ``identity_in_inference``: so it is there alone. ``moves`` and ``apart``: as in ``Traits``.
    ``joins``: its parameters are updated together with those of the layer that feeds it.
    ``devices`` have kernels for it. ``by_step``: of a sequence it computes each step alone, which
    the kernels of some devices cannot (``Device.sequences``). ``stem`` begins the names that its
    layers get.
    """

    keeps: tuple[str, ...]
    cut: SplitAxis
    cheap: bool

    to_learn: tuple[str, ...] = ()
    to_pass_on: tuple[str, ...] = ()
    autograd: tuple[str, ...] = ()
    over: InPlacePairs = NOWHERE
    passes: Passes = Passes.COMPUTED
    axes: tuple[str, ...] = ()
    is_view: bool = False
    identity_in_inference: bool = False
    moves: bool = False
    apart: bool = False
    joins: bool = False
    devices: tuple[str, ...] = EVERY_LAYER
    by_step: bool = False
    stem: str = ""

    @cached_property
    def traits(self) -> Traits:
        """Traits of the layer's operation in forward."""
        return Traits(self.over.forward, self.cut, self.cheap, moves=self.moves)

    @cached_property
    def backward_traits(self) -> Traits:
        """Traits of the layer's operation in backward."""
        return Traits(self.over.backward, self.cut, moves=self.moves, apart=self.apart)


VIEW = LayerKind(keeps=(), cut=SplitAxis.WHOLE, cheap=False, passes=Passes.SAME, is_view=True)
"""Of a layer that no operation computes."""


@dataclass(frozen=True)
class Flops:
    """Operations of arithmetic of one layer: forward, backward for its parameters, and backward for
    its input.

    ``inference`` is forward without training, where it differs. They are those of the formula,
    whichever algorithm computes it: an addition, a product, a comparison, an absolute value, a
    root, an exponential and a power count as one each, a sigmoid as an exponential, an addition
    and a division.
    """

    forward: Size = Size()
    weights: Size = Size()
    input: Size = Size()
    inference: Size | None = None


def by_value(shape: Shape, forward: int, backward: int, fixed: int = 0) -> Flops:
    """Return the operations for each value of an output, and for each value of a gradient that is
    passed on."""
    values = prod(shape)
    return Flops(Size(fixed, forward * values), input=Size(0, backward * values))


Extras = Mapping[str, tuple[Dims, Format | None]]
"""Small arrays that forward writes for backward alone: axes and format by name, ``None`` for the
format of the step."""


class Per(StrEnum):
    """Unit that a buffer is there for: the operation, or each of its threads."""

    THREAD = "thread"
    BATCH = "sample"
    STEP = "operation"


class Buffer(NamedTuple):
    """Part of a workspace: its axes without batch and threads, and how many copies there are."""

    axes: Dims
    per: Per = Per.THREAD
    format: Format | None = None
    """None for the format of the step."""
    fills: int = 1
    """How often it is written and read for each image (or sample, or operation) in one pass."""


Buffers = Mapping[str, Buffer]
"""The parts of a workspace by the name under which the kernel knows them."""


class KernelChoice(NamedTuple):
    """Kernel of one operation of a layer by its name, and its workspace.

    ``moved`` are the bytes that go to the workspace and back in one pass.
    """

    algorithm: str
    workspace: Operands
    moved: Size


NOTHING = KernelChoice("", NONE, Size())
"""An operation with no workspace and one way to compute it."""


def made(
    algorithm: str, buffers: Buffers, backward: bool, scope: str, of: Format, threads: int = 1
) -> KernelChoice:
    """Return the choice of an algorithm with these buffers. They are named ``"<scope>.workspace"``
    and have the format ``of`` unless they specify their own."""
    if not buffers:
        return _without_workspace(algorithm)
    prefix, moved = f"{scope}.{'backward ' if backward else ''}", Size()
    workspace = {}
    for name, buffer in buffers.items():
        format = buffer.format or of
        scratch = tensor.new(prefix + name, _axes(buffer, threads), format, Role.WORKSPACE)
        moved += _moved(buffer, scratch.size, threads)
        workspace[name] = scratch
    return KernelChoice(algorithm, workspace, moved)


@cache
def _without_workspace(algorithm: str) -> KernelChoice:
    return KernelChoice(algorithm, NONE, Size())


def _axes(buffer: Buffer, threads: int) -> Dims:
    if buffer.per is Per.BATCH:
        return (BATCH, *buffer.axes)
    several = buffer.per is Per.THREAD and threads > 1
    return (("threads", threads), *buffer.axes) if several else buffer.axes


def _moved(buffer: Buffer, size: Size, threads: int) -> Size:
    """Return the bytes that are written and read each time a buffer is filled, for each sample or
    once for the operation."""
    if buffer.per is Per.THREAD:
        return Size(0, 2 * buffer.fills * size.fixed // threads)
    return 2 * buffer.fills * size


if not TYPE_CHECKING:  # a checker of types sees the new names only
    __getattr__ = old_names(__name__)
