"""Tiles in fp32 for an operation whose tensors are stored in small formats.

A tile of every small operand is widened into a buffer, the fp32 kernel runs on the buffers, and
what it wrote is rounded back. The buffers are workspace, so that the plan knows of them. The traits
of an operation say along what it can be cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from math import prod
from typing import Any

from memlab.axes import BATCH, Dims
from memlab.formats import FORMATS, Format
from memlab.step import tensor
from memlab.step.op import GRADIENT, PARAMETER, Op, UpdateSlot
from memlab.step.rewrite_traits import SplitAxis
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor

COMPUTED = FORMATS["fp32"]
"""What every tile is computed in."""
SUFFIX = " in fp32"
"""After the name of an operand, the name of its buffer."""
ONE = " of one sample"
"""After the name of a sum over the samples, the name of what one of them adds."""

LEAST, MOST, MATRIX, MAPS = 2**10, 2**14, 2**18, 2**12
"""Values in a tile: at least and at most where values are cut, at most in one of a weight matrix,
and about as many in the maps of one sample, which are a quarter of all."""


CHECK, ADJUST = "check_finite", "adjust_scale"
"""The kinds of the two operations of a dynamic loss scale."""

SCALE, OVERFLOW = "loss scale", "overflow"
"""The tensors of a loss scale: the factor, and whether a gradient overflowed."""
STEPS, TAKEN = "steps without overflow", "updates taken"
"""Its counts: since the scale last moved, and since the start."""


def cut(op: Op) -> SplitAxis:
    """Return the axis along which an operation is split into tiles. Some operations need other
    axes: the gradient of the loss is scaled as a whole, the bits of a mask begin anew with every
    sample, and the outputs of a linear layer on sequences are not contiguous."""
    if op.slots or SCALE in op.reads:
        return SplitAxis.PARAMETERS if op.slots else SplitAxis.WHOLE
    axis = op.traits.cut
    if axis is SplitAxis.OUTPUTS and len(op.reads["dy" if "dy" in op.reads else "x"].axes) > 2:
        return SplitAxis.SAMPLES
    masked = "mask" in op.reads or "mask" in op.writes
    return SplitAxis.SAMPLES if masked and axis is SplitAxis.VALUES else axis


def small(format: Format) -> bool:
    """True if values of a format are widened to fp32 before arithmetic."""
    is_less = format.bits <= COMPUTED.bits and format is not COMPUTED
    return format.kind == "float" and is_less


def is_staged(op: Op) -> bool:
    """True if an operation computes on fp32 buffers."""
    return "cut" in op.attributes


def with_fp32_tiles(op: Op, **changes: Any) -> Op:
    """Return the operation on tensors of other formats, with the fp32 buffers that
    these require."""
    return _moving(op, _with_buffers(replace(op, **changes)))


def rewritten(op: Op, **changes: Any) -> Op:
    """Return the operation with changed fields. If it computes on buffers, these are derived anew
    from its operands; if it computes in the formats of its tensors, it still does."""
    new = replace(op, **changes)
    return _moving(op, _with_buffers(new) if is_staged(op) else new)


def _moving(op: Op, new: Op) -> Op:
    """Return the new operation with its own moved bytes in place of those of the old one."""
    moved = op.bytes_moved + -1 * _traffic(op) + _traffic(new)
    return replace(new, bytes_moved=moved)


def _with_buffers(op: Op) -> Op:
    own = tiles(op)
    kept = {name: t for name, t in op.workspace.items() if name not in own}
    attributes = {name: value for name, value in op.attributes.items() if name not in _OWN}
    if not _needs_tiles(op):
        return replace(op, workspace=kept, attributes=attributes)
    along = cut(op)
    buffers = {
        name + SUFFIX: tensor.new(f"{op.name}.{name}{SUFFIX}", axes, COMPUTED, Role.WORKSPACE)
        for name, axes in _buffers(op, along)
    }
    attributes |= {"cut": along, "tile": extent(op, along)}
    return replace(op, workspace={**kept, **buffers}, attributes=attributes)


_OWN = ("cut", "tile")
"""The attributes that a staged operation has more."""


def _needs_tiles(op: Op) -> bool:
    """True if an operation cannot compute on its tensors in the format in which they are stored."""
    formats = {touched.format for touched in op.touched()}
    as_stored = op.transfers or op.traits.as_stored
    if as_stored or (op.traits.moves and len(formats) == 1):
        return False
    return SCALE in op.reads or any(map(small, formats))


def tiles(op: Op) -> dict[str, Tensor]:
    """Return the fp32 buffers of a staged operation, beside the workspace of its algorithm."""
    return {name: scratch for name, scratch in op.workspace.items() if name.endswith(SUFFIX)}


def _traffic(op: Op) -> Size:
    """Return the bytes read and written, without workspace. In a staged operation, every value that
    is widened or rounded also passes through a buffer once."""
    total = conversions(op)
    for group, times in ((op.reads, 1), (op.writes, 1), (op.updates, 2)):
        for operand in group.values():
            total += times * operand.size
    return total


def conversions(op: Op, formats: Collection[str] | None = None) -> Size:
    """Return the bytes that pass through the fp32 buffers of an operation: those of the named
    ``formats``, or of all small ones. Each value is written to a buffer and read from it once."""
    total = Size()
    for operand in operands(op).values() if is_staged(op) else ():
        if small(operand.format) and (formats is None or operand.format.name in formats):
            total += _values(operand) * (2 * COMPUTED.bits // 8)
    return total


def _values(operand: Tensor) -> Size:
    """Number of values of a tensor."""
    fixed, per_sample = (
        8 * n // operand.format.bits for n in (operand.size.fixed, operand.size.per_sample)
    )
    return Size(fixed, per_sample)


def extent(op: Op, along: SplitAxis) -> int:
    """Number of values, channels or outputs that a tile has; a whole operation has one tile."""
    if along in (SplitAxis.VALUES, SplitAxis.PARAMETERS):
        sizes = (_values(operand) for operand in operands(op).values())
        longest = max(size.fixed + size.per_sample for size in sizes)
        return min(MOST, max(LEAST, longest))
    if along is SplitAxis.CHANNELS:
        _, (_, channels), *plane = op.reads["x"].axes
        return min(-(-channels // 4), max(1, MAPS // prod(size for _, size in plane)))
    if along is SplitAxis.OUTPUTS:
        tensors = operands(op)
        weight = tensors["weight" if "weight" in tensors else "dweight"]
        (_, outputs), (_, inputs) = weight.axes
        return min(outputs, max(1, MATRIX // inputs))
    return 1


def _buffers(op: Op, along: SplitAxis) -> Iterator[tuple[str, Dims]]:
    """Yield the operand and the axes of every buffer."""
    if along is SplitAxis.PARAMETERS:
        yield from _of_update(op)
        return
    tile = ("tile", extent(op, along))
    for name, operand in operands(op).items():
        if name == "addend":
            continue  # copied into dx before the operation
        if small(operand.format):
            yield name, _axes(name, operand.axes, along, tile)
        if along is SplitAxis.SAMPLES and name in op.writes and BATCH not in operand.axes:
            yield name + ONE, operand.axes


def _axes(name: str, axes: Dims, along: SplitAxis, tile: tuple[str, int]) -> Dims:
    """Axes of the buffer that holds a tile of an operand."""
    if along is SplitAxis.VALUES:
        return (tile,)
    if along is SplitAxis.SAMPLES:
        return tuple(axis for axis in axes if axis != BATCH)
    if along is SplitAxis.CHANNELS:
        return (BATCH, tile, *axes[2:]) if BATCH in axes else (tile,)
    if along is SplitAxis.OUTPUTS and name not in ("x", "dx"):
        return (BATCH, tile) if BATCH in axes else (tile, *axes[1:])
    return axes


def _of_update(op: Op) -> Iterator[tuple[str, Dims]]:
    """Yield the buffers of an update. The parameters take turns in one buffer for each part: the
    parameter, its gradient, and each state."""
    tile = (("tile", extent(op, SplitAxis.PARAMETERS)),)
    for part in dict.fromkeys(part for slot in op.slots for part in _widened(op, slot)):
        yield part, tile


def _widened(op: Op, slot: UpdateSlot) -> Iterator[str]:
    """Yield the parts of an update of one parameter that are computed on buffers."""
    tensors = operands(op)
    for part, name in slot.parts.items():
        copied = part == PARAMETER and slot.master
        scaled = part == GRADIENT and SCALE in op.reads
        if scaled or (small(tensors[name].format) and not copied):
            yield part


def operands(op: Op) -> dict[str, Tensor]:
    """Return all tensors that an operation reads, writes or updates, by name."""
    return {**op.reads, **op.writes, **op.updates}
