"""What PyTorch holds at the peak of a training step on real tensors, counted storage by storage.

It shares nothing with ``memlab.frontends.torch``. Import it only where PyTorch is installed.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections import Counter
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


FILLS = {
    torch.ops.aten.index_add.default, torch.ops.aten.index_put.default,
    torch.ops.aten.scatter.src, torch.ops.aten.scatter_add.default,
    torch.ops.aten.masked_scatter.default,
}  # fmt: skip
"""Operators that autograd calls in place on zeros unless a dispatch mode is entered."""


class Count(TorchDispatchMode):
    """Bytes alive at most; ``parts`` are those of every label at that moment."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0
        self.alive: dict[int, tuple[int, str]] = {}
        self.storages: dict[int, Any] = {}
        self.parts: dict[int, tuple[int, str]] = {}
        self.nodes: dict[int, int | None] = {}
        self.summed: tuple[Any, dict[int, tuple[int, str]]] | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # no function stands between autograd's engine and this one

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(is_traceable_wrapper_subclass_type(kind) for kind in types):
            return NotImplemented  # distributed tensors: the operators inside them are counted
        self.settle()
        found = func(*args, **(kwargs or {}))
        for each in tree_leaves(found):
            if isinstance(each, torch.Tensor):
                self.enter(each)
                key = each.untyped_storage()._cdata
                self.nodes.setdefault(key, number(torch._C._current_autograd_node()))
        self.resize()
        if self.in_place(func, sys._getframe(1), args):
            self.summed = args[0].untyped_storage()._cdata, dict(self.alive)
        else:
            self.note(self.alive)
        return found

    def in_place(self, func: Any, frame: Any, args: Any) -> bool:
        """Whether autograd calls this operator in place where no dispatch mode is entered."""
        if func in FILLS:
            node = torch._C._current_autograd_node()
            key = args[0].untyped_storage()._cdata
            own = node is not None and self.nodes[key] == number(node)
            return own and frame.f_code.co_name == "_engine_run_backward"
        return func is torch.ops.aten.add.Tensor and self.by_engine(frame, *args)

    def by_engine(self, frame: Any, first: Any, second: Any, **kwargs: Any) -> bool:
        """Whether autograd's engine adds what this node gives to what is there for the next one."""
        node = torch._C._current_autograd_node()
        if node is None or torch.is_grad_enabled() or not isinstance(second, torch.Tensor):
            return False
        if frame.f_code.co_name != "_engine_run_backward" or second.shape != first.shape:
            return False
        key = first.untyped_storage()._cdata
        twice = max(Counter(filter(lambda to: to[0] is not None, node.next_functions)).values())
        dense = torch.ops.aten.is_non_overlapping_and_dense.default(first)
        return dense and not first._is_view() and (twice > 1 or self.nodes[key] != number(node))

    def note(self, alive: dict[int, tuple[int, str]]) -> None:
        """Compare what is alive with the most that was."""
        now = sum(nbytes for nbytes, _ in alive.values())
        if now > self.most:
            self.most, self.parts = now, dict(alive)

    def settle(self) -> None:
        """Count the last sum of two gradients by autograd, or the last filling of zeros, as
        one in place if nothing holds the first any more: so it runs on real tensors, unless a
        dispatch mode is entered."""
        if self.summed is None:
            return
        (first, alive), self.summed = self.summed, None
        if first not in self.alive:
            del alive[first]
        self.note(alive)

    def resize(self) -> None:
        """Count each storage as large as it is now: FSDP frees the bytes of storages that stay."""
        for key, (nbytes, label) in self.alive.items():
            storage = self.storages[key]()
            if storage is not None and storage.nbytes() != nbytes:
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
        weakref.finalize(storage, self.leave, key)

    def leave(self, key: int) -> None:
        del self.alive[key]
        self.nodes.pop(key, None)

    def total(self, label: str) -> int:
        """Bytes of a label at the peak."""
        return sum(nbytes for nbytes, name in self.parts.values() if name == label)


def number(node: Any) -> int | None:
    """Number of a node of autograd, where one runs."""
    return None if node is None else node._sequence_nr()


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
        counted.settle()
    gc.enable()
    return counted
