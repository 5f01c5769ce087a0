"""Calls that cuDNN computes, and the most workspace that each may take."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import cast

from memlab.frontends.torch.recording import OperatorCall, Recording, Spec
from memlab.placement.cudnn import FIXED, PER_SAMPLE, convolution_workspace
from memlab.step.storage import Size

_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
_RECURRENT = ("mkldnn_rnn_layer", "mkldnn_rnn_layer_backward")
"""Recurrent layers as a processor runs them: cuDNN keeps a reserve that is not published."""


def workspace_attributes(call: OperatorCall, recording: Recording) -> Mapping[str, int]:
    """Return the attributes of an operation that say how much workspace cuDNN may take inside it;
    none for an operation that cuDNN does not compute."""
    size = None
    if call.kind in ("convolution", "convolution_backward"):
        size = _of_convolution(call)
    elif call.kind in _RECURRENT:
        size = sum((recording.blocks[number].nbytes for number in call.born), Size())
    return {} if size is None else {FIXED: max(size.fixed, 0), PER_SAMPLE: max(size.per_sample, 0)}


def _of_convolution(call: OperatorCall) -> Size:
    """Return the most workspace of a convolution, forward or backward."""
    backward = call.kind == "convolution_backward"
    given = call.args[1:] if backward else call.args
    x, weight = given[0], given[1]
    settings = given[3:]  # forward has a bias there, backward its extents
    stride, _, dilation, transposed, _, groups = settings[:6]
    y: Spec = call.args[0] if backward else cast(Spec, call.outputs[0])
    maps = (y, x) if transposed else (x, y)  # a transposed one is the backward of the other
    plain = {*stride, *dilation} == {1} and groups == 1
    output = tuple(extent.fixed for extent in maps[1].shape[2:])
    operands = sum((_nbytes(spec) for spec in (x, weight, y)), Size())
    return convolution_workspace(
        maps[0].shape[1].fixed, maps[1].shape[1].fixed,
        tuple(extent.fixed for extent in weight.shape[2:]), output, operands, plain,
    )  # fmt: skip


def _nbytes(spec: Spec) -> Size:
    """Return the bytes of a tensor, whose first extent may be the batch."""
    at = [_BYTES.get(spec.dtype, 4) * prod(n.at(batch) for n in spec.shape) for batch in (2, 3)]
    return Size(at[0] - 2 * (at[1] - at[0]), at[1] - at[0])
