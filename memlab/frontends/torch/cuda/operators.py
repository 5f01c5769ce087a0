"""Operators that a CUDA device resolves into others than a processor does.

``cuda_operators`` puts Python kernels in their place while a step is recorded on a processor, and
takes them out again. They are composed of the operators that the device runs, so autograd saves
what it saves there. Sources are those of PyTorch 2.13, named at each kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from importlib import import_module
from typing import Any
from unittest import mock

import torch
from torch.nn import functional

from memlab.frontends.torch.cuda import attention
from memlab.frontends.torch.cuda.attention import AttentionCall, Capability
from memlab.frontends.torch.cuda.autocast import CudaAutocast
from memlab.frontends.torch.cuda.replaced_kernels import (
    AUTOCAST,
    AUTOGRAD,
    RECORDED,
    Kernel,
    Library,
    Shared,
    plain_kernel,
)
from memlab.frontends.torch.torch_private_api import FAKE_TENSOR, FOREACH_DEVICES

_aten = torch.ops.aten
_HALVES = (torch.float16, torch.bfloat16)
_CUDNN_ROWS, _CUDNN_EPSILON = 880801, 1e-5
"""Largest batch, and smallest epsilon, of batch norm by cuDNN."""
_ROW = 8
"""Values that a row of a mask is a multiple of in memory-efficient attention."""


@contextmanager
def cuda_operators(capability: Capability | None) -> Iterator[None]:
    """Let operators on a processor resolve as on a CUDA device of this compute capability, inside
    the context and in this thread; None lets them be PyTorch's own, also inside another such
    context. After it the dispatcher and the optimizers are as they were."""
    before = RECORDED.capability
    with _KERNELS.used() if capability else nullcontext():
        RECORDED.capability = capability
        try:
            yield
        finally:
            RECORDED.capability = before


@contextmanager
def _replaced() -> Iterator[None]:
    """Replace kernels, and what else resolves otherwise on CUDA, inside the context."""
    autocast = CudaAutocast()
    with Library() as library:
        for name, kernel in autocast.kernels():
            library.replace(name, AUTOCAST, kernel)
        for name, kernel in _COMPOSED.items():
            library.replace(name, AUTOGRAD, kernel)
        _fuse_rms_norm(library)
        with _foreach(), _clearing(autocast):
            yield


_KERNELS = Shared(_replaced)


@contextmanager
def _clearing(autocast: CudaAutocast) -> Iterator[None]:
    """Let the cast weights go where PyTorch lets its own go: the outermost autocast ends."""
    clear = torch.clear_autocast_cache

    def both() -> None:
        autocast.clear()
        clear()

    with mock.patch.object(torch, "clear_autocast_cache", both):
        yield


@contextmanager
def _foreach() -> Iterator[None]:
    """Let optimizers and ``clip_grad_norm_`` take foreach operators where nothing else is asked
    for, as they do for parameters on CUDA."""
    plain, name = FOREACH_DEVICES(), FOREACH_DEVICES.name

    def devices() -> list[str]:
        return plain() if RECORDED.capability is None else [*plain(), "cpu"]

    with ExitStack() as stack:
        for home in (FOREACH_DEVICES.home, "torch.optim.optimizer"):
            stack.enter_context(mock.patch.object(import_module(home), name, devices))
        yield


def _fuse_rms_norm(library: Library) -> None:
    """Let autograd keep x and a number for each row for ``rms_norm``, as it does where a device has
    a kernel of it (``aten/src/ATen/native/layer_norm.cpp``)."""
    name = "_fused_rms_norm"
    composed = plain_kernel(name, AUTOGRAD)
    library.put(name, "CPU", composed)
    fused = plain_kernel(name, AUTOGRAD)

    def run(keys: Any, x: Any, *args: Any) -> Any:
        on_card = RECORDED.capability is not None and _is_fake(x)
        return (fused if on_card else composed)(keys, x, *args)

    library.put(name, AUTOGRAD, run)


def _is_fake(x: Any) -> bool:
    """Return whether x has no memory. A processor has not the kernels of a card, so real tensors
    take its own."""
    return isinstance(x, FAKE_TENSOR())


def _dropout(plain: Kernel, x: Any, p: float, train: bool) -> Any:
    """Return x without a share of its values; the mask has one byte for each
    (``aten/src/ATen/native/Dropout.cpp``)."""
    if train and 0 < p < 1 and x.numel():
        return _aten.native_dropout(x, p, train)[0]
    return plain(x, p, train)


def _softmax(fused: Any) -> Kernel:
    """Return the kernel that reads fp16 and writes fp32 without a copy between
    (``aten/src/ATen/native/SoftMax.cpp``)."""

    def kernel(plain: Kernel, x: Any, dim: int, dtype: Any = None) -> Any:
        if x.dtype == torch.float16 and dtype == torch.float32 and _is_fake(x):
            return fused(x, dim, True)
        return plain(x, dim, dtype)

    return kernel


def _lstm_cell(
    plain: Kernel, x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    """Return the next states of a cell, whose four gates are one operator
    (``aten/src/ATen/native/RNN.cpp``)."""
    if not _is_fake(x):
        return plain(x, hx, w_ih, w_hh, b_ih, b_hh)
    gates = torch.matmul(x, w_ih.t()), torch.matmul(hx[0], w_hh.t())
    return _aten._thnn_fused_lstm_cell(*gates, hx[1], b_ih, b_hh)[:2]


def _batch_norm(
    plain: Kernel, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool,
    momentum: float, eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """Return batch norm by cuDNN where it can (``aten/src/ATen/native/Normalization.cpp``)."""
    arguments = (x, weight, bias, mean, variance, training, momentum, eps)
    if not (cudnn_enabled and _is_fake(x) and _fits_cudnn(*arguments)):
        return plain(*arguments, cudnn_enabled)
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


def _attention(
    plain: Kernel, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Return attention by the kernel that the card takes
    (``aten/src/ATen/native/transformers/attention.cpp``)."""
    call = AttentionCall(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa)
    capability = RECORDED.capability
    if capability is None or not _is_fake(query):
        arguments = (query, key, value, attn_mask, dropout_p, is_causal)
        return plain(*arguments, scale=scale, enable_gqa=enable_gqa)
    return _ATTENTION[attention.kernel(call, capability)](call, scale)


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
    mask = _as_numbers(call)
    mask = mask if mask is None else _for_all_heads(call, mask)
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
    dtype = call.query.dtype
    zero, infinite = (torch.scalar_tensor(number, dtype=dtype) for number in (0.0, -math.inf))
    return torch.where(mask, zero, infinite)


def _for_all_heads(call: AttentionCall, mask: Any) -> Any:
    """Return a mask whose rows begin at a multiple of 8 values, seen as one of each head."""
    if any(stride % _ROW for stride in mask.stride()[:-1]):
        more = _ROW - mask.shape[-1] % _ROW
        mask = functional.pad(mask, (0, more))[..., : mask.shape[-1]]
    return mask.expand(*call.query.shape[:3], call.key.shape[2])


_ATTENTION: dict[str, Callable[[AttentionCall, float | None], Any]] = {
    attention.FLASH: _flash,
    attention.EFFICIENT: _efficient,
    attention.CUDNN: _cudnn,
    attention.MATH: _math,
}


_COMPOSED: dict[str, Kernel] = {
    "dropout": _dropout,
    "scaled_dot_product_attention": _attention,
    "_batch_norm_impl_index": _batch_norm,
    "lstm_cell": _lstm_cell,
    "softmax.int": _softmax(_aten._softmax.default),
    "log_softmax.int": _softmax(_aten._log_softmax.default),
}
"""Kernels of operators that are composed of others on CUDA, by name."""

# -- outputs that have other bytes on a card ---------------------------------------------------


class CudaOutputs:
    """Outputs of operators that CUDA computes in other formats and extents than the fake tensors of
    a processor."""

    def __call__(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return the outputs of a call, or None where those of the processor are right."""
        correct = _CORRECTIONS.get(func.__name__.partition(".")[0])
        return correct(func(*args, **kwargs), args) if correct else None


def _of_layer_norm(outputs: Any, args: Any) -> Any:
    """Return statistics in the format that they are summed in."""
    out, *statistics = outputs
    return (out, *(_summed(tensor, tensor.shape) for tensor in statistics))


def _of_batch_norm(outputs: Any, args: Any) -> Any:
    """Return statistics in the format that they are summed in, in evaluation too."""
    out, *statistics = outputs
    return (out, *(_summed(tensor, args[0].shape[1:2]) for tensor in statistics))


def _of_cudnn_batch_norm(outputs: Any, args: Any) -> Any:
    """Return statistics in the format that they are summed in, and the reserve as it is."""
    out, mean, deviation, reserve = outputs
    return out, _summed(mean, mean.shape), _summed(deviation, deviation.shape), reserve


def _summed(tensor: Any, shape: Any) -> Any:
    """Return a tensor in a shape, and in fp32 instead of 16 bits."""
    dtype = torch.float32 if tensor.dtype in _HALVES else tensor.dtype
    same = (tensor.dtype, tensor.shape) == (dtype, shape)
    return tensor if same else tensor.new_empty(shape, dtype=dtype)


def _of_embedding_bag(outputs: Any, args: Any) -> Any:
    """Return the bag of each word and its size; indices of maxima only where bags are maxima."""
    out, _, _, indices = outputs
    maxima = len(args) > 4 and args[4] == 2
    words, bags = args[1].shape[0], args[2].shape[0]
    new = args[1].new_empty
    return out, new(words), new(bags), indices if maxima else new(0)


def _of_log_sigmoid(outputs: Any, args: Any) -> Any:
    """Return no buffer beside the result."""
    return outputs[0], outputs[1].new_empty(0)


_CORRECTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "native_layer_norm": _of_layer_norm,
    "native_batch_norm": _of_batch_norm,
    "cudnn_batch_norm": _of_cudnn_batch_norm,
    "_embedding_bag": _of_embedding_bag,
    "log_sigmoid_forward": _of_log_sigmoid,
}
"""Corrections of the outputs of a processor, by operator."""
