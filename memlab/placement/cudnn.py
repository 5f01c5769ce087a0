"""Workspace that cuDNN may take inside an operation, which no plan knows: an upper end for it.

cuDNN chooses an algorithm by a heuristic that is not published, and PyTorch sets no limit. The
upper end is the largest of the algorithms whose workspace is known: Winograd's in tiles of 4 x 4
outputs for the whole batch, not fused (Lavin and Gray, arXiv 1509.09308), and copies of all
operands in channels-last order, which tensor cores read.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from memlab.formats import FORMATS
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.storage import Size, Storage
from memlab.step.tensor import Role, Tensor

FIXED, PER_SAMPLE = "cudnn workspace", "cudnn workspace per sample"
"""Attributes of an operation: bytes of workspace at most, ``FIXED + batch * PER_SAMPLE``."""
_TILE, _INSIDE = 4, 36
"""Outputs of a tile along one axis, and values of a tile in Winograd's domain with a 3 x 3
kernel."""


def convolution_workspace(
    channels: int, filters: int, kernel: tuple[int, ...], output: tuple[int, ...], operands: Size,
    plain: bool,
) -> Size:  # fmt: skip
    """Return the most workspace that a convolution may take.

    Args:
        channels: channels of the input.
        filters: channels of the output.
        kernel: extents of the kernel.
        output: extents of the output map.
        operands: bytes of input, kernel and output together.
        plain: True for stride 1 without dilation and groups, which Winograd's algorithm needs.
    """
    if not (plain and tuple(kernel) == (3, 3)):
        return operands
    tiles = ceil(output[0] / _TILE) * ceil(output[1] / _TILE)
    width = FORMATS["fp32"].nbytes(1)
    fixed = _INSIDE * channels * filters * width
    per_sample = _INSIDE * (channels + filters) * tiles * width
    return Size(max(fixed, operands.fixed), max(per_sample, operands.per_sample))


def with_largest_workspace(step: Step) -> Step:
    """Return the step whose operations take the most workspace that cuDNN may take."""
    return replace(step, ops=tuple(map(_with_workspace, step.ops)))


def has_workspace(step: Step) -> bool:
    """Return whether cuDNN computes any operation of the step."""
    return any(FIXED in op.attributes for op in step.ops)


def _with_workspace(op: Op) -> Op:
    if FIXED not in op.attributes:
        return op
    size, name = Size(op.attributes[FIXED], op.attributes[PER_SAMPLE]), f"{op.name}.cudnn"
    tensor = Tensor(name, Storage(name, size), (), FORMATS["uint8"], Role.WORKSPACE)
    return replace(op, workspace={**op.workspace, "cudnn": tensor})
