"""Autocast as CUDA does it: the operators that it casts, and kernels that cast them on a processor.

The lists are those of ``ATen/autocast_mode.h`` for CUDA; a test compares them with the installed
header. The processor has other lists, so while a step is recorded for a card, a Python kernel
stands in the place of every operator that either of the two treats.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from memlab.frontends.torch.cuda.replaced_kernels import AUTOCAST, Kernel, operator, registered
from memlab.frontends.torch.torch_private_api import (
    DISPATCH_KEY,
    KEY_EXCLUDED,
    SET_KEY_EXCLUDED,
)

DEVICE = "cpu"
"""Type of the device whose autocast state decides while a step is recorded."""

LOWER_PRECISION = (
    "_convolution.deprecated", "_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc",
    "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input", "convolution", "prelu",
    "addmm", "addmv", "addr", "matmul", "einsum", "mm", "mv", "linalg_vecdot", "linear", "addbmm",
    "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot", "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell",
    "_scaled_dot_product_flash_attention", "scaled_dot_product_attention",
)  # fmt: skip
"""Operators that compute in 16 bits."""
FP32 = (
    "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal",
    "rsqrt", "sinh", "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus",
    "layer_norm", "native_layer_norm", "rms_norm", "group_norm", "frobenius_norm.dim",
    "nuclear_norm", "nuclear_norm.dim", "cosine_similarity", "poisson_nll_loss",
    "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div", "l1_loss",
    "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss",
    "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss",
    "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp",
    "upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_nearest2d",
    "_upsample_nearest_exact2d", "upsample_nearest3d", "_upsample_nearest_exact3d",
    "upsample_linear1d", "upsample_bilinear2d", "_upsample_bilinear2d_aa", "upsample_trilinear3d",
    "upsample_bicubic2d", "_upsample_bicubic2d_aa",
)  # fmt: skip
"""Operators whose inputs are cast to fp32."""
FP32_RESULT = (
    "prod", "prod.dim_int", "softmax.int", "log_softmax.int", "cumprod", "cumsum",
    "linalg_vector_norm", "linalg_matrix_norm", "linalg_matrix_norm.str_ord", "sum",
    "sum.dim_IntList",
)  # fmt: skip
"""Operators that read their inputs as they are, and are asked for a result in fp32."""
FP32_OVERLOAD = {
    "norm.Scalar": "norm.ScalarOpt_dtype",
    "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype",
}
"""Operators that another overload, with a result in fp32, is called for."""
WIDEST = (
    "addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sampler", "index_put",
    "tensordot", "scatter_add",
)  # fmt: skip
"""Operators whose inputs are cast to the widest of their formats."""
REFUSED = ("binary_cross_entropy",)
"""Operators that raise an error under autocast."""
_CUDNN_ALONE = ("cudnn_convolution", "cudnn_convolution_transpose")
"""Operators that only code for cuDNN calls."""

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)


def listed() -> set[str]:
    """Return the names of all operators that autocast on CUDA treats."""
    return {*LOWER_PRECISION, *FP32, *FP32_RESULT, *FP32_OVERLOAD, *WIDEST, *REFUSED,
            *_CUDNN_ALONE}  # fmt: skip


class CudaAutocast(threading.local):
    """Kernels by which the processor's autocast treats operators as CUDA's does, with the weights
    that they have cast in this thread since the outermost autocast began."""

    def __init__(self) -> None:
        self.weights: dict[int, tuple[Any, Any]] = {}

    def kernels(self) -> Iterator[tuple[str, Kernel | None]]:
        """Yield the name of every operator that needs another kernel, and the kernel; None where
        autocast lets the operator be."""
        for name in LOWER_PRECISION:
            yield name, self._cast(operator(name), lambda args: torch.get_autocast_dtype(DEVICE))
        for name in FP32:
            yield name, self._cast(operator(name), lambda args: torch.float32)
        for name in WIDEST:
            yield name, self._cast(operator(name), _widest)
        for name in FP32_RESULT:
            yield name, _with_fp32_result(operator(name))
        for name, other in FP32_OVERLOAD.items():
            yield name, _by_overload(operator(name), operator(other))
        for name in REFUSED:
            yield name, _refuse(name)
        for name in registered(AUTOCAST) - listed():
            yield name, None

    def clear(self) -> None:
        """Let the cast weights go."""
        self.weights.clear()

    def _cast(self, op: Any, wanted: Callable[[Any], Any]) -> Kernel:
        """Return the kernel that casts all inputs to a format, the last first as compiled code
        does, and calls the operator."""

        def kernel(plain: Kernel, *args: Any, **kwargs: Any) -> Any:
            dtype = wanted((args, tuple(kwargs.values())))
            with _without_autocast():
                named = self.cast(kwargs, dtype)
                return op(*[self.cast(value, dtype) for value in reversed(args)][::-1], **named)

        return kernel

    def cast(self, value: Any, dtype: Any) -> Any:
        """Return an argument with its tensors in a format; others than fp16, bf16 and fp32 stay."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value, dtype) if _eligible(value) else value
        if isinstance(value, list | tuple):
            return type(value)(self.cast(item, dtype) for item in value)
        if isinstance(value, dict):
            return {name: self.cast(item, dtype) for name, item in value.items()}
        return value

    def _tensor(self, tensor: Any, dtype: Any) -> Any:
        if tensor.dtype == dtype:
            return tensor
        if not _is_cached(tensor, dtype):
            return tensor.to(dtype)
        if id(tensor) not in self.weights:
            with torch.enable_grad():  # a later use may need a gradient
                self.weights[id(tensor)] = tensor, tensor.to(dtype)
        return self.weights[id(tensor)][1]


def _is_cached(tensor: Any, dtype: Any) -> bool:
    """Return whether autocast keeps the cast copy of a tensor: of an fp32 leaf that learns."""
    return (
        torch.is_autocast_cache_enabled()
        and dtype == torch.get_autocast_dtype(DEVICE)
        and tensor.dtype == torch.float32
        and tensor.requires_grad
        and tensor.is_leaf
        and not tensor._is_view()
    )


def _eligible(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in _FLOATS


def _widest(args: Any) -> Any:
    """Return the widest format among the tensors of arguments."""
    if isinstance(args, list | tuple):
        formats = [_widest(item) for item in args]
        return torch.float32 if torch.float32 in formats else torch.get_autocast_dtype(DEVICE)
    return args.dtype if _eligible(args) else torch.get_autocast_dtype(DEVICE)


def _with_fp32_result(op: Any) -> Kernel:
    """Return the kernel that asks an operator for fp32 where no format is asked for."""
    at = [argument.name for argument in op._schema.arguments].index("dtype")

    def kernel(plain: Kernel, *args: Any, **kwargs: Any) -> Any:
        with _without_autocast():
            asked = kwargs.get("dtype") or (args[at] if at < len(args) else None)
            if asked is not None or not _eligible(args[0]):
                return op(*args, **kwargs)
            return op(*args[:at], **{**kwargs, "dtype": torch.float32})

    return kernel


def _by_overload(op: Any, other: Any) -> Kernel:
    """Return the kernel that calls another overload, with a result in fp32."""

    def kernel(plain: Kernel, *args: Any, **kwargs: Any) -> Any:
        with _without_autocast():
            if not _eligible(args[0]):
                return op(*args, **kwargs)
            return other(*args, **kwargs, dtype=torch.float32)

    return kernel


def _refuse(name: str) -> Kernel:
    def kernel(plain: Kernel, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"{name} and nn.BCELoss are unsafe to autocast on a CUDA device; try "
            "binary_cross_entropy_with_logits or nn.BCEWithLogitsLoss."
        )

    return kernel


@contextmanager
def _without_autocast() -> Iterator[None]:
    """Let operators go past autocast inside the context."""
    key = getattr(DISPATCH_KEY(), AUTOCAST)
    before = KEY_EXCLUDED()(key)
    SET_KEY_EXCLUDED()(key, True)
    try:
        yield
    finally:
        SET_KEY_EXCLUDED()(key, before)
