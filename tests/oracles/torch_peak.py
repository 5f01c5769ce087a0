"""What PyTorch holds at the peak of a training step on real tensors, counted storage by storage.

It shares nothing with ``memlab.frontends.torch``. Import it only where PyTorch is installed.
"""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass_type
from torch.utils._pytree import tree_leaves

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
}


class Count(TorchDispatchMode):
    """Bytes alive now and at most; ``parts`` are those of every label at that moment."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.alive: dict[int, tuple[int, str]] = {}
        self.storages: dict[int, Any] = {}
        self.parts: dict[int, tuple[int, str]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(is_traceable_wrapper_subclass_type(kind) for kind in types):
            return NotImplemented  # distributed tensors: the operators inside them are counted
        found = func(*args, **(kwargs or {}))
        for each in tree_leaves(found):
            if isinstance(each, torch.Tensor):
                self.enter(each)
        self.resize()
        if self.now > self.most:
            self.most, self.parts = self.now, dict(self.alive)
        return found

    def resize(self) -> None:
        """Count each storage as large as it is now: FSDP frees the bytes of storages that stay."""
        for key, (nbytes, label) in self.alive.items():
            storage = self.storages[key]()
            if storage is not None and storage.nbytes() != nbytes:
                self.now += storage.nbytes() - nbytes
                self.alive[key] = storage.nbytes(), label

    def enter(self, tensor: Any, label: str = "") -> None:
        if is_traceable_wrapper_subclass_type(type(tensor)):
            parts = (getattr(tensor, name) for name in tensor.__tensor_flatten__()[0])
            for part in parts:
                if isinstance(part, torch.Tensor):
                    self.enter(part, label)
            return
        storage = tensor.untyped_storage()
        key, nbytes = storage._cdata, storage.nbytes()
        if key in self.alive:
            return
        self.alive[key], self.storages[key] = (nbytes, label), weakref.ref(storage)
        self.now += nbytes
        weakref.finalize(storage, self.leave, key)

    def leave(self, key: int) -> None:
        self.now -= self.alive.pop(key)[0]

    def total(self, label: str) -> int:
        """Bytes of a label at the peak."""
        return sum(nbytes for nbytes, name in self.parts.values() if name == label)


def count(
    build: Any, make_batch: Any, loss_fn: Any, batch: int, optimizer: Any = "momentum",
    autocast: str = "", accumulate: int = 1, set_to_none: bool = True, keep_output: bool = False,
) -> Count:  # fmt: skip
    """The second step of a model."""
    model = build().train()
    make = optimizer if callable(optimizer) else OPTIMIZERS[optimizer]
    optimizer, (x, target) = make(model.parameters()), make_batch(batch)
    amp = torch.autocast("cpu", torch.bfloat16) if autocast else contextlib.nullcontext()

    def step() -> Any:
        optimizer.zero_grad(set_to_none=set_to_none)
        for _ in range(accumulate):
            with amp:
                if keep_output:
                    y = model(x)  # a name that holds it
                    loss = loss_fn(y, target)
                else:
                    loss = loss_fn(model(x), target)
                loss = loss / accumulate if accumulate > 1 else loss
            loss.backward()
        optimizer.step()
        return loss

    step()
    if set_to_none:
        optimizer.zero_grad()
    gc.collect()
    gc.disable()
    counted = Count()
    kept = [each for each in model.parameters() if each.grad is not None]
    states = [s for state in optimizer.state.values() for s in state.values()]
    for label, tensors in (
        ("parameter", [*model.parameters()]), ("buffer", [*model.buffers()]),
        ("parameter_gradient", [each.grad for each in kept]),
        ("optimizer_state", [s for s in states if isinstance(s, torch.Tensor)]),
        ("input", tree_leaves((x, target))),
    ):  # fmt: skip
        for tensor in tensors:
            counted.enter(tensor, label)
    with counted:
        step()
    gc.enable()
    return counted
