"""The kernel of ``scaled_dot_product_attention`` that a CUDA device takes.

The rules are those of ``aten/src/ATen/native/transformers/cuda/sdp_utils.cpp`` in PyTorch 2.13:
flash attention comes first, then memory-efficient attention, then the formula written out; on
compute capability 9.0, 10.0 and 10.3 cuDNN comes before all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Capability = tuple[int, int]
FLASH, EFFICIENT, CUDNN, MATH = "flash", "efficient", "cudnn", "math"
_HALVES = (torch.float16, torch.bfloat16)
_LATEST = (12, 1)
"""Last capability that the fused kernels are built for."""


@dataclass(frozen=True, slots=True)
class AttentionCall:
    """Arguments of one call, as far as they decide about its kernel: ``query``, ``key`` and
    ``value`` of shape (batch, heads, tokens, width), and a mask or None."""

    query: Any
    key: Any
    value: Any
    mask: Any = None
    dropout: float = 0.0
    causal: bool = False
    grouped: bool = False

    @property
    def tensors(self) -> tuple[Any, Any, Any]:
        """Query, key and value."""
        return self.query, self.key, self.value

    @property
    def widths(self) -> tuple[int, int, int]:
        """Last extents of query, key and value."""
        return self.query.shape[-1], self.key.shape[-1], self.value.shape[-1]

    @property
    def learns(self) -> bool:
        """True if a gradient of query, key or value is needed."""
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in self.tensors)


def kernel(call: AttentionCall, capability: Capability) -> str:
    """Return the kernel that a device of this compute capability takes: ``"flash"``,
    ``"efficient"``, ``"cudnn"`` or ``"math"``."""
    order = [FLASH, EFFICIENT]
    if capability in ((9, 0), (10, 0), (10, 3)):
        order.insert(0, CUDNN)
    if _dense(call):
        for name in order:
            if _ENABLED[name]() and _RULES[name](call, capability):
                return name
    return MATH


def _dense(call: AttentionCall) -> bool:
    """Return whether the fused kernels take these tensors at all: four extents, none of them 0, and
    values of a row beside each other, also in a mask."""
    rows = (*call.tensors, call.mask) if call.mask is not None else call.tensors
    return all(tensor.dim() == 4 and tensor.numel() for tensor in call.tensors) and all(
        tensor.stride(-1) == 1 for tensor in rows
    )


def _flash(call: AttentionCall, capability: Capability) -> bool:
    query, key, value = call.widths
    square = not call.causal or call.query.shape[2] == call.key.shape[2]
    return (
        (8, 0) <= capability <= _LATEST
        and call.query.dtype in _HALVES
        and call.mask is None
        and query == key == value <= 256
        and not (call.learns and _too_wide(query, call.dropout, capability))
        and square
        and _same_heads(call, call.grouped)
    )


def _too_wide(width: int, dropout: float, capability: Capability) -> bool:
    """Return whether flash attention has no backward at this width: rows of more than 192 values,
    on cards with less shared memory; without dropout, more than 224 are allowed again."""
    small = (8, 6) <= capability <= (8, 9) or (12, 0) <= capability <= _LATEST
    return small and (192 < width <= 224 or (width > 224 and dropout > 0))


def _efficient(call: AttentionCall, capability: Capability) -> bool:
    query, key, value = call.widths
    dtype = call.query.dtype
    known = dtype in (torch.float16, torch.float32) or (
        dtype == torch.bfloat16 and capability >= (8, 0)
    )
    step = _alignment(dtype, capability)
    return (
        (5, 0) <= capability <= _LATEST
        and known
        and query == key
        and query % step == 0
        and value % step == 0
        and _same_heads(call, grouped=False)
    )


def _cudnn(call: AttentionCall, capability: Capability) -> bool:
    query, key, value = call.widths
    limit = 256 if capability == (9, 0) else 192 if (query, value) == (192, 128) else 128
    return (
        call.query.dtype in _HALVES
        and query == key
        and all(width % 8 == 0 and width <= limit for width in (query, value))
        and (call.dropout * 16).is_integer()
        and (call.query.shape[2] > 1 or not call.dropout)
        and call.key.shape[2] > 1
        and _masked_by_cudnn(call)
        and _same_heads(call, call.grouped)
    )


def _masked_by_cudnn(call: AttentionCall) -> bool:
    """Return whether there is no mask, or one that does not learn, for all heads or for each."""
    mask = call.mask
    if mask is None:
        return True
    batch, heads, queries, _ = call.query.shape
    extents = (batch, heads, queries, call.key.shape[2])[-mask.dim() :]
    pairs = zip(mask.shape, extents, strict=False)
    fits = all(given in (1, extent) for given, extent in pairs)
    return mask.dim() in (2, 4) and not mask.requires_grad and fits


def _same_heads(call: AttentionCall, grouped: bool) -> bool:
    """Return whether batches and heads are alike; grouped, those of the query may be a multiple."""
    query, key, value = (tensor.shape[:2] for tensor in call.tensors)
    if query[0] != key[0] or query[0] != value[0]:
        return False
    if grouped:
        return bool(key[1] == value[1] and query[1] % key[1] == 0)
    return bool(query[1] == key[1] == value[1])


def _alignment(dtype: Any, capability: Capability) -> int:
    """Return the number of values that a row must be a multiple of: 16 bytes on tensor cores."""
    halves = dtype in _HALVES
    if capability >= (8, 0):
        return 8 if halves else 4
    return 8 if halves and capability >= (7, 0) else 1


_RULES: dict[str, Callable[[AttentionCall, Capability], bool]] = {
    FLASH: _flash,
    EFFICIENT: _efficient,
    CUDNN: _cudnn,
}
_ENABLED: dict[str, Callable[[], bool]] = {
    FLASH: lambda: torch.backends.cuda.flash_sdp_enabled(),
    EFFICIENT: lambda: torch.backends.cuda.mem_efficient_sdp_enabled(),
    CUDNN: lambda: torch.backends.cuda.cudnn_sdp_enabled(),
}
