"""Modules whose saved tensors wait in host memory, and the lines of code that make them do so.

What is printed to be pasted is the text of the functions that are called here. A recording sees two
operators in the place of the copies, for on a processor both memories are one. Import this module
only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from memlab.frontends.torch.fitting import wrapping
from memlab.frontends.torch.recording import COME_BACK, LEAVE


# fmt: off
class Waiting:
    """Bytes of a storage that wait in host memory, for all tensors that autograd saved of it."""

    def __init__(self, there, device):
        self.there, self.device, self.left, self.back = there, device, 0, None

    def whole(self, come_back):
        """Return the storage on the device, where it stays until all tensors that were saved of it
        have come back."""
        back = self.back
        if back is None:
            back = come_back(self.there, self.device)
        self.left -= 1
        self.back = back if self.left > 0 else None
        return back


def plain(x):
    """Return whether the values of a tensor are the bytes of its storage as they are."""
    lazy = x.is_conj() or x.is_neg()
    return x.layout == torch.strided and not lazy and not is_traceable_wrapper_subclass(x)


def leave(x):
    """Return a copy of the storage of a tensor in host memory."""
    count = x.untyped_storage().nbytes() // x.element_size()
    there = torch.empty(count, dtype=x.dtype, device="cpu", pin_memory=x.is_cuda)
    return there.copy_(x.as_strided((count,), (1,), 0))


def come_back(there, device):
    """Return the storage on a device again."""
    return torch.empty_like(there, device=device).copy_(there)


def wait_on_host(module, leave=leave, come_back=come_back):
    """Let the tensors that autograd saves inside a module wait in host memory until backward needs
    them."""
    kind = type(module)

    def forward(self, *args, **kwargs):
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor) and x.is_leaf]
        there = [x for x in (*self.parameters(), *self.buffers(), *given) if plain(x)]
        there = [x.untyped_storage() for x in there]
        stays = {storage._cdata for storage in there}

        def goes(x, root):
            parameter = root.is_leaf and root.requires_grad
            moves = x.dim() > 1 and plain(x) and not parameter
            return moves and x.untyped_storage()._cdata not in stays

        def pack(x):
            root = x if x._base is None else x._base  # what counts the changes in place
            if not goes(x, root):
                return None, x.detach(), x._version
            now = x._version, x.dtype
            waiting = getattr(root, "_waits_on_host", {}).get(now, lambda: None)()
            if waiting is None:
                waiting = Waiting(leave(x.detach()), x.device)
                root._waits_on_host = {now: weakref.ref(waiting)}
            waiting.left += 1
            return waiting, x.shape, x.stride(), x.storage_offset()

        def unpack(packed):
            waiting, *how = packed
            if waiting is not None:
                return waiting.whole(come_back).as_strided(*how)
            x, version = how
            if x._version != version:
                raise RuntimeError("what backward needs was changed in place after it was saved")
            return x

        with saved_tensors_hooks(pack, unpack):
            return kind.forward(self, *args, **kwargs)

    module.__class__ = type(kind.__name__, (kind,), {"forward": forward})
# fmt: on


_IMPORTS = """\
import weakref

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
"""


def wrap(model: Any, names: Sequence[str]) -> Any:
    """Wrap the modules of these names, so that tensors that they save wait on the host; return the
    model, which is changed in place.

    Raises:
        InputError: as ``wrapping.checked``.
    """
    for module in wrapping.checked(model, names):
        wait_on_host(module)
    return model


def wrap_recorded(model: Any, names: Sequence[str]) -> Any:
    """Wrap the modules of these names with operators that a recording sees as copies to another
    memory.

    Raises:
        InputError: as ``wrapping.checked``.
    """
    for module in wrapping.checked(model, names):
        wait_on_host(module, _leaves, _comes_back)
    return model


def code(names: Sequence[str]) -> str:
    """Return the lines of code that wrap these modules, to be pasted after the line that makes
    ``model``."""
    parts = (Waiting, plain, leave, come_back, wait_on_host)
    return wrapping.pasted(_IMPORTS, parts, names)


# -- what a recording sees ----------------------------------------------------------------------


def _left(x):
    """Copy a tensor to the host; a fake one leaves a placeholder."""
    return torch.empty(x.untyped_storage().nbytes() // x.element_size(), dtype=x.dtype)


def _came_back(there, device):
    return torch.empty_like(there, device=device)


_operator = torch.library.custom_op
_leaves = _operator(LEAVE, leave, mutates_args=(), schema="(Tensor x) -> Tensor")
_leaves.register_fake(_left)
_comes_back = _operator(
    COME_BACK, come_back, mutates_args=(), schema="(Tensor there, Device device) -> Tensor"
)
_comes_back.register_fake(_came_back)
