"""Operators that a CUDA device resolves into others than a processor does.

``cuda_operators`` puts Python kernels in their place while a step is recorded on a processor, and
takes them out again. They are composed of the operators that the device runs, so autograd saves
what it saves there. Sources are those of PyTorch 2.13, named at each kernel.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from unittest import mock

import torch
from torch.nn import functional

from memlab.frontends.torch.cuda import attention
from memlab.frontends.torch.cuda.attention import AttentionCall, Capability
from memlab.frontends.torch.cuda.autocast import KEY, CudaAutocast, Kernel, operator
from memlab.frontends.torch.torch_private_api import FOREACH_DEVICES

_aten = torch.ops.aten
_AUTOGRAD = "AutogradCPU"
_HALVES = (torch.float16, torch.bfloat16)
_CUDNN_ROWS, _CUDNN_EPSILON = 880801, 1e-5
"""Largest batch, and smallest epsilon, of batch norm by cuDNN."""


@contextmanager
def cuda_operators(capability: Capability) -> Iterator[None]:
    """Let operators on a processor resolve as on a CUDA device of this compute capability, inside
    the context; after it the dispatcher and the optimizers are as they were."""
    autocast = CudaAutocast()
    library = torch.library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is replaced
            for name, kernel in autocast.kernels():
                library.impl(name, kernel, KEY)
            for name, kernel in _composed(capability).items():
                library.impl(name, kernel, _AUTOGRAD)
        with _foreach(), _clearing(autocast):
            yield
    finally:
        library._destroy()


@contextmanager
def _clearing(autocast: CudaAutocast) -> Iterator[None]:
    """Let the cast weights go where PyTorch lets its own go: the outermost autocast ends."""
    clear = torch.clear_autocast_cache

    def both() -> None:
        autocast.clear()
        clear()

    with mock.patch.object(torch, "clear_autocast_cache", both):
        yield
    autocast.clear()


@contextmanager
def _foreach() -> Iterator[None]:
    """Let optimizers and ``clip_grad_norm_`` take foreach operators where nothing else is asked
    for, as they do for parameters on CUDA."""
    devices, name = [*FOREACH_DEVICES()(), "cpu"], FOREACH_DEVICES.name
    with (
        mock.patch.object(import_module(FOREACH_DEVICES.home), name, return_value=devices),
        mock.patch.object(import_module("torch.optim.optimizer"), name, return_value=devices),
    ):
        yield


def _composed(capability: Capability) -> dict[str, Kernel]:
    """Return the kernels of operators that are composed of others on CUDA, by name."""
    return {
        "dropout": _dropout,
        "scaled_dot_product_attention": _attention(capability),
        "_batch_norm_impl_index": _batch_norm,
        "rms_norm": _rms_norm,
        "softmax.int": _softmax("softmax.int", _aten._softmax.default),
        "log_softmax.int": _softmax("log_softmax.int", _aten._log_softmax.default),
    }


def _dropout(x: Any, p: float, train: bool) -> Any:
    """Return x without a share of its values; the mask has one byte for each
    (``aten/src/ATen/native/Dropout.cpp``)."""
    if train and 0 < p < 1 and x.numel():
        return _aten.native_dropout(x, p, train)[0]
    return operator("dropout").decompose(x, p, train)


def _softmax(name: str, fused: Any) -> Kernel:
    """Return the kernel that reads fp16 and writes fp32 without a copy between
    (``aten/src/ATen/native/SoftMax.cpp``)."""
    op = operator(name)

    def kernel(x: Any, dim: int, dtype: Any = None) -> Any:
        if x.dtype == torch.float16 and dtype == torch.float32:
            return fused(x, dim, True)
        return op.decompose(x, dim, dtype)

    return kernel


def _rms_norm(x: Any, shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Return x over the root of its mean square, by one operator that keeps a number for each row
    (``aten/src/ATen/native/layer_norm.cpp``)."""
    return _aten._fused_rms_norm(x, shape, weight, eps)[0]


def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float,
    eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """Return batch norm by cuDNN where it can (``aten/src/ATen/native/Normalization.cpp``)."""
    arguments = (x, weight, bias, mean, variance, training, momentum, eps)
    if not (cudnn_enabled and _fits_cudnn(*arguments)):
        return operator("_batch_norm_impl_index").decompose(*arguments, cudnn_enabled)
    x = x.contiguous(memory_format=_suggested_format(x))
    return (*_aten.cudnn_batch_norm(x, *arguments[1:]), 1)


def _suggested_format(x: Any) -> Any:
    """Return the memory format that PyTorch suggests for a tensor."""
    if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
        return torch.contiguous_format if x.is_contiguous() else torch.channels_last
    if x.dim() == 5 and x.is_contiguous(memory_format=torch.channels_last_3d):
        return torch.contiguous_format if x.is_contiguous() else torch.channels_last_3d
    return torch.contiguous_format


def _fits_cudnn(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float,
    eps: float,
) -> bool:  # fmt: skip
    if weight is None or bias is None or torch.bfloat16 in (x.dtype, weight.dtype):
        return False
    statistics = (mean is None) == (variance is None) and (mean is not None or training)
    return bool(
        statistics
        and (x.dtype != torch.float16 or weight.dtype == torch.float32)
        and x.dim() >= 3
        and x.shape[0] <= _CUDNN_ROWS
        and eps >= _CUDNN_EPSILON
    )


# -- attention ---------------------------------------------------------------------------------


def _attention(capability: Capability) -> Kernel:
    """Return the kernel of attention (``aten/src/ATen/native/transformers/attention.cpp``)."""

    def run(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        call = AttentionCall(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa)
        return _ATTENTION[attention.kernel(call, capability)](call, scale)

    return run


def _flash(call: AttentionCall, scale: float | None) -> Any:
    width = call.query.shape[-1]
    scale = 1 / math.sqrt(width) if scale is None else scale
    more = -width % 8
    query, key, value = (functional.pad(t, (0, more)) if more else t for t in call.tensors)
    out = _aten._scaled_dot_product_flash_attention(
        query, key, value, call.dropout, call.causal, False, scale=scale
    )[0]
    return out[..., :width] if more else out


def _efficient(call: AttentionCall, scale: float | None) -> Any:
    mask = _aligned(_as_numbers(call))
    return _aten._scaled_dot_product_efficient_attention(
        *call.tensors, mask, call.learns, call.dropout, call.causal, scale=scale
    )[0]


def _cudnn(call: AttentionCall, scale: float | None) -> Any:
    return _aten._scaled_dot_product_cudnn_attention(
        *call.tensors, _as_numbers(call), call.learns, call.dropout, call.causal, False, scale=scale
    )[0]


def _math(call: AttentionCall, scale: float | None) -> Any:
    return _aten._scaled_dot_product_attention_math(
        *call.tensors, _as_numbers(call), call.dropout, call.causal, None, scale=scale,
        enable_gqa=call.grouped,
    )[0]  # fmt: skip


def _as_numbers(call: AttentionCall) -> Any:
    """Return the mask as numbers that are added to the scores: minus infinity where a mask of
    truths is false."""
    mask = call.mask
    if mask is None or mask.dtype != torch.bool:
        return mask
    numbers = torch.zeros_like(mask, dtype=call.query.dtype)
    return numbers.masked_fill_(mask.logical_not(), -math.inf)


def _aligned(mask: Any) -> Any:
    """Return a mask whose rows begin at a multiple of 16 values, with the extents of the mask."""
    if mask is None or mask.shape[-1] % 16 == 0:
        return mask
    return functional.pad(mask, (0, -mask.shape[-1] % 16))[..., : mask.shape[-1]]


_ATTENTION: dict[str, Callable[[AttentionCall, float | None], Any]] = {
    attention.FLASH: _flash,
    attention.EFFICIENT: _efficient,
    attention.CUDNN: _cudnn,
    attention.MATH: _math,
}


# -- outputs that have other bytes on a card ---------------------------------------------------


class CudaOutputs:
    """Outputs of operators that CUDA computes in other formats than the fake tensors of a
    processor: statistics of norms of 16-bit inputs are in fp32."""

    def __call__(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return the outputs of a call, or None where those of the processor are right."""
        if func.__name__.partition(".")[0] not in _NORMS or args[0].dtype not in _HALVES:
            return None
        out, *statistics = func(*args, **kwargs)
        return (out, *(tensor.to(torch.float32) for tensor in statistics))


_NORMS = {"native_layer_norm", "native_group_norm", "native_batch_norm"}
