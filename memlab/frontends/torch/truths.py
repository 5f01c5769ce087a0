"""Operators of which a fake tensor has not the bytes of the real one: they run for real, alone.

What they get is made up, zeros of the right shape; what they give becomes fake again, with the
storages that it has. Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from memlab.frontends.torch.recording import Call, Spec, at
from memlab.frontends.torch.torch_internals import MAP, UNSET


def _always(args: Any) -> bool:
    return True


def _narrow(args: Any) -> bool:
    """A map in 16 bits: its statistics are in 32, and fake ones in 16."""
    return bool(args[0].dtype in (torch.bfloat16, torch.float16))


WRONG: dict[str, Callable[[Any], bool]] = {
    "mkldnn_rnn_layer": _always,  # its workspace has no bytes
    "mse_loss": _always,  # a full map lies behind its scalar
    "smooth_l1_loss": _always,
    "huber_loss": _always,
    "native_batch_norm": _narrow,
}
"""By operator, with which arguments."""


APART = {"mkldnn_rnn_layer_backward"}
"""Operators whose outputs have a storage each; of the fake ones, two share one."""

ROUNDED = {"mkldnn_rnn_layer": 5 * 4096}
"""Operators that round parts of an output up to whole pages, and the most bytes that it adds: what
they give is no line in the batch, but stays that near to one."""
_FAR, _ENOUGH = 64, 2**28
"""A batch at which hardly anything is rounded, where an output has no more bytes than that."""


def far(call: Call, near: int, nbytes: int) -> tuple[int, list[int | None]]:
    """A batch far from ``near``, at which the call takes so many bytes, and the bytes of the
    storages of its outputs there, when it runs for real."""
    batch = max(2 * near, min(_FAR, near * _ENOUGH // max(nbytes, 1)))
    args, kwargs = at(call.args, batch), at(dict(call.kwargs), batch)
    with torch.set_grad_enabled(call.grad):
        found = call.func(*_made(args), **_made(kwargs))
    outputs = found if isinstance(found, list | tuple) else [found]
    return batch, [_bytes(each) for each in outputs]


def _bytes(value: Any) -> int | None:
    return value.untyped_storage().nbytes() if isinstance(value, torch.Tensor) else None


def _made(value: Any) -> Any:
    """Zeros in the place of what was a tensor."""
    if isinstance(value, Spec):
        dtype = getattr(torch, value.dtype)
        return torch.empty_strided(value.shape, value.stride, dtype=dtype).zero_()
    if isinstance(value, list | tuple):
        return type(value)(_made(each) for each in value)
    if isinstance(value, dict):
        return {name: _made(each) for name, each in value.items()}
    return value


class Truths:
    """The true outputs of an operator whose fake ones are wrong, as fake tensors."""

    def __call__(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Them, or ``None`` where the fake ones are right."""
        kind = func.__name__.partition(".")[0]
        if kind in APART:
            return _apart(func(*args, **kwargs))
        wrong = WRONG.get(kind)
        if wrong is None or not wrong(args):
            return None
        with UNSET()():  # grad mode stays: what it saves depends on it
            found = func(*MAP()(_real, args), **MAP()(_real, kwargs))
        made: dict[int, Any] = {}
        return MAP()(lambda value: self._fake(value, made), found)

    def _fake(self, value: Any, made: dict[int, Any]) -> Any:
        """A fake tensor in a storage as large as that of the real one; those that share one do."""
        if not isinstance(value, torch.Tensor):
            return value
        storage = value.untyped_storage()
        if storage._cdata not in made:
            count = storage.nbytes() // value.element_size()
            made[storage._cdata] = torch.empty(count, dtype=value.dtype, device=value.device)
        whole = made[storage._cdata]
        return whole.as_strided(value.shape, value.stride(), value.storage_offset())


def _apart(outputs: Any) -> tuple[Any, ...]:
    """The outputs, each in a storage of its own."""
    found: list[Any] = []
    keys: set[int] = set()
    for each in outputs:
        if isinstance(each, torch.Tensor):
            key = each.untyped_storage()._cdata
            each = torch.empty_like(each) if key in keys else each
            keys.add(each.untyped_storage()._cdata)
        found.append(each)
    return tuple(found)


def _real(value: Any) -> Any:
    """Zeros in the place of a fake tensor."""
    if not isinstance(value, torch.Tensor):
        return value
    shape, stride = tuple(value.shape), value.stride()
    return torch.empty_strided(shape, stride, dtype=value.dtype, device=value.device).zero_()
