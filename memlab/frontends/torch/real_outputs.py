"""Fake tensors: in short for many calls; and operators of which they have not the bytes of real
ones: those run for real, alone.

What they get is made up, zeros of the right shape; what they give becomes fake again, with the
storages that it has. Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import torch

from memlab.frontends.torch.recording import OperatorCall, Spec, at
from memlab.frontends.torch.torch_private_api import (
    FAKE,
    FAKE_TENSOR,
    FOREACH_TYPES,
    MAP,
    OPTIMIZER_TYPES,
    UNSET,
)

_FAKE = FAKE_TENSOR()
_PLAIN = {
    int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format,
}  # fmt: skip


class Fakes(FAKE()):  # type: ignore[misc]  # PyTorch makes this class when it is asked for
    """Mode of fake tensors with a cache of results. PyTorch keys it by all arguments, which took a
    quarter of a recording; the usual arguments get a shorter key here.

    Inside the mode optimizers and ``clip_grad_norm_`` take fake tensors for tensors: they ask for
    their class before they take foreach operators.
    """

    def __enter__(self) -> Any:
        for kinds in (FOREACH_TYPES(), OPTIMIZER_TYPES()):
            kinds.append(_FAKE)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for kinds in (FOREACH_TYPES(), OPTIMIZER_TYPES()):
            kinds.remove(_FAKE)

    def _cache_key(self, state: Any, func: Any, args: Any, kwargs: Any) -> Any:
        key = [func, torch.get_default_dtype(), torch.is_inference_mode_enabled()]
        usual = self._put(key, args) and self._put(key, chain.from_iterable(kwargs.items()))
        if usual and _FAKE in key:  # else the result is where PyTorch is set to make tensors
            return tuple(key)
        return super()._cache_key(state, func, args, kwargs)

    def _put(self, key: list[Any], values: Iterable[Any]) -> bool:
        """Add everything that decides about a result to a key; return whether all values are usual
        ones."""
        for value in values:
            kind = type(value)
            key.append(kind)
            if kind is _FAKE:
                if not self._usual(value):
                    return False
                key += (
                    value.dtype, value.shape, value.stride(), value.storage_offset(),
                    value.untyped_storage().nbytes(), value.fake_device, value.requires_grad,
                    value.is_conj(), value.is_neg(), value.is_inference(),
                )  # fmt: skip
            elif kind in _PLAIN:
                key.append(value)
            elif kind is list or kind is tuple:
                key.append(len(value))
                if not self._put(key, value):
                    return False
            else:
                return False
        return True

    def _usual(self, tensor: Any) -> bool:
        return (
            tensor.fake_mode is self
            and tensor.constant is None
            and tensor.layout is torch.strided
            and not tensor.is_quantized
        )


# -- operators that run for real -----------------------------------------------------------------


def _always(args: Any) -> bool:
    return True


def _narrow(args: Any) -> bool:
    """Return whether the input of batch norm is in 16 bits: its statistics are in 32, and fake ones
    in 16."""
    return bool(args[0].dtype in (torch.bfloat16, torch.float16))


def _any_wide(args: Any) -> bool:
    """Return whether a tensor is in 32 bits."""
    return any(isinstance(each, torch.Tensor) and each.dtype == torch.float32 for each in args)


WRONG: dict[str, Callable[[Any], bool]] = {
    "mkldnn_rnn_layer": _always,  # its workspace has no bytes
    "mse_loss": _always,  # a full map lies behind its scalar
    "smooth_l1_loss": _always,
    "huber_loss": _always,
    "binary_cross_entropy": _always,
    "soft_margin_loss": _always,
    "native_batch_norm": _narrow,
}
"""By operator, with which arguments."""


APART = {"mkldnn_rnn_layer_backward"}
"""Operators whose outputs have a storage each; of the fake ones, two share one."""

MIXED = {"native_layer_norm", "native_group_norm"}
"""Operators whose statistics are in 32 bits where the input is in 16 and the weight in 32, as under
autocast; fake ones are in 16."""

ROUNDED = {"mkldnn_rnn_layer": 5 * 4096}
"""Operators that round parts of an output up to whole pages, and the most bytes that it adds: what
they give is no line in the batch, but stays that near to one."""
_FAR, _ENOUGH = 64, 2**28
"""A batch at which hardly anything is rounded, where an output has no more bytes than that."""


def far(call: OperatorCall, near: int, nbytes: int) -> tuple[int, list[int | None]]:
    """Return a batch far from ``near``, at which the call takes so many bytes, and the bytes of the
    storages of its outputs there, when it runs for real."""
    batch = max(2 * near, min(_FAR, near * _ENOUGH // max(nbytes, 1)))
    args, kwargs = at(call.args, batch), at(dict(call.kwargs), batch)
    with torch.set_grad_enabled(call.grad):
        output = call.func(*MAP()(_made, args), **MAP()(_made, kwargs))
    outputs = output if isinstance(output, list | tuple) else [output]
    return batch, [_bytes(output) for output in outputs]


def _bytes(value: Any) -> int | None:
    return value.untyped_storage().nbytes() if isinstance(value, torch.Tensor) else None


def _made(value: Any) -> Any:
    """Return zeros in the place of a recorded tensor."""
    if not isinstance(value, Spec):
        return value
    dtype = getattr(torch, value.dtype)
    return torch.empty_strided(value.shape, value.stride, dtype=dtype).zero_()


class Truths:
    """Real outputs of operators whose fake ones are wrong, as fake tensors."""

    def __call__(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return the real outputs of a call as fake tensors; ``None`` where the fake ones are
        right."""
        kind = func.__name__.partition(".")[0]
        if kind in APART:
            return _apart(func(*args, **kwargs))
        if kind in MIXED and _narrow(args) and _any_wide(args[1:]):
            output, *statistics = func(*args, **kwargs)
            return (output, *(torch.empty_like(each, dtype=torch.float32) for each in statistics))
        wrong = WRONG.get(kind)
        if wrong is None or not wrong(args):
            return None
        with UNSET()():  # grad mode stays: what it saves depends on it
            output = func(*MAP()(_real, args), **MAP()(_real, kwargs))
        real_tensors: dict[int, Any] = {}
        return MAP()(lambda value: self._fake(value, real_tensors), output)

    def _fake(self, value: Any, real_tensors: dict[int, Any]) -> Any:
        """Return a fake tensor in a storage as large as that of the real one; tensors that share
        one do so again."""
        if not isinstance(value, torch.Tensor):
            return value
        storage = value.untyped_storage()
        if storage._cdata not in real_tensors:
            count = storage.nbytes() // value.element_size()
            real_tensors[storage._cdata] = torch.empty(
                count, dtype=value.dtype, device=value.device
            )
        whole = real_tensors[storage._cdata]
        return whole.as_strided(value.shape, value.stride(), value.storage_offset())


def _apart(outputs: Any) -> tuple[Any, ...]:
    """Return the outputs, each in a storage of its own."""
    apart: list[Any] = []
    keys: set[int] = set()
    for output in outputs:
        if isinstance(output, torch.Tensor):
            key = output.untyped_storage()._cdata
            output = torch.empty_like(output) if key in keys else output
            keys.add(output.untyped_storage()._cdata)
        apart.append(output)
    return tuple(apart)


def _real(value: Any) -> Any:
    """Return zeros in the place of a fake tensor."""
    if not isinstance(value, torch.Tensor):
        return value
    shape, stride = tuple(value.shape), value.stride()
    return torch.empty_strided(shape, stride, dtype=value.dtype, device=value.device).zero_()
