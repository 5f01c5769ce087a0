"""Bytes that PyTorch's autograd saves in a forward pass, each storage once.

Import it only where PyTorch is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def saved_bytes(forward: Callable[[], Tensor], apart: Iterable[Tensor] = ()) -> int:
    """Bytes of the storages that wait for backward, without those of ``apart``, the parameters, and
    without single numbers: the loss saves by how many labels it divides."""
    known = {tensor.untyped_storage().data_ptr() for tensor in apart}
    found: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if tensor.dim() and storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = forward()  # alive until the storages are counted, or addresses come twice
    assert result.requires_grad
    return sum(found.values())
