"""Operators of which a fake tensor has not the bytes of the real one: they run for real, alone.

What they get is made up, zeros of the right shape; what they give becomes fake again, with the
storages that it has. Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._pytree import tree_map


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


class Truths:
    """The true outputs of an operator whose fake ones are wrong, as fake tensors of a mode."""

    def __init__(self, fake: Any) -> None:
        self.fake = fake

    def __call__(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Them, or ``None`` where the fake ones are right."""
        wrong = WRONG.get(func.__name__.partition(".")[0])
        if wrong is None or not wrong(args):
            return None
        with unset_fake_temporarily(), torch.no_grad():
            found = func(*tree_map(_real, args), **tree_map(_real, kwargs))
        return tree_map(self._fake, found)

    def _fake(self, value: Any) -> Any:
        return self.fake.from_tensor(value) if isinstance(value, torch.Tensor) else value


def _real(value: Any) -> Any:
    """Zeros in the place of a fake tensor."""
    if not isinstance(value, torch.Tensor):
        return value
    shape, stride = tuple(value.shape), value.stride()
    return torch.empty_strided(shape, stride, dtype=value.dtype, device=value.device).zero_()
