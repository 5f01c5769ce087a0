"""What PyTorch holds at the peak of a training step, by role.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.torch_step import TorchStep, started
from memlab.assemble.step import training_step
from memlab.measure.torch_lowering import most_allocated
from memlab.networks.graph import Network
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.tensor import Role

Kept = dict[Role, list[Any]]


def at_peak(network: Network, batch: int, threads: int) -> dict[Role, int]:
    """Bytes of every role where the second step of SGD with momentum holds the most.

    A storage counts from the operation that gives it back until nothing holds it. The allocator
    sees more, inside operations: by how much its peak is above this one is booked as workspace.
    """
    torch.set_num_threads(threads)
    there, x, labels = _started(network, batch)
    there.step(x, labels)  # from now on the optimizer has its state
    kept = _kept(there, x, labels)
    found = _booked(there, x, labels, kept)
    there.optimizer.zero_grad()
    before = sum(tensor.untyped_storage().nbytes() for each in kept.values() for tensor in each)
    _, more = most_allocated(lambda: there.step(x, labels))
    return {**found, Role.WORKSPACE: before + more - sum(found.values())}


def _started(network: Network, batch: int) -> tuple[TorchStep, Any, Any]:
    """A step in PyTorch from the values that memlab begins with, and what it reads."""
    with Session(Program(training_step(network), batch)) as session:
        there = started(network, session)
    return there, torch.randn((batch, *network.input_shape)), torch.zeros(batch, dtype=torch.int64)


def _kept(there: TorchStep, x: Any, labels: Any) -> Kept:
    """What is there before a step."""
    arrays = list(there.arrays.values())
    state = [value for values in there.optimizer.state.values() for value in values.values()]
    return {
        Role.INPUT: [x, labels],
        Role.PARAMETER: [array for array in arrays if array.requires_grad],
        Role.BUFFER: [array for array in arrays if not array.requires_grad],
        Role.OPTIMIZER_STATE: [value for value in state if isinstance(value, torch.Tensor)],
    }


def _booked(there: TorchStep, x: Any, labels: Any, kept: Kept) -> dict[Role, int]:
    """One step under the book."""
    there.optimizer.zero_grad()
    gc.collect()
    book = _Book(kept)
    with book:
        loss = there.loss(x, labels)
        book.forward_ends()
        loss.backward()
        there.optimizer.step()
    return book.at_peak()


class _Book(TorchDispatchMode):
    """Every storage by its number: bytes, role, and the events of its birth and its death."""

    def __init__(self, kept: Kept) -> None:
        super().__init__()
        self.nbytes: list[int] = []
        self.roles: list[Role] = []
        self.events: list[tuple[int, int]] = []
        self.alive: dict[int, int] = {}
        for role, tensors in kept.items():
            for tensor in tensors:
                self.enter(tensor, role)
        self.hooks = [
            parameter.register_post_accumulate_grad_hook(self._gradient)
            for parameter in kept[Role.PARAMETER]
        ]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(found):
            if isinstance(tensor, torch.Tensor):
                self.enter(tensor, Role.GRADIENT_MAP)
        return found

    def enter(self, tensor: Any, role: Role) -> None:
        """Book a storage that is not known, until it is let go."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.alive:
            return
        number = self.alive[key] = len(self.nbytes)
        self.nbytes.append(storage.nbytes())
        self.roles.append(role)
        self.events.append((number, 1))
        weakref.finalize(storage, self._leave, number, key)

    def forward_ends(self) -> None:
        """What forward has made and not let go is kept for backward."""
        for number in self.alive.values():
            if self.roles[number] is Role.GRADIENT_MAP:
                self.roles[number] = Role.FEATURE_MAP

    def at_peak(self) -> dict[Role, int]:
        """Bytes of every role at the moment that holds the most."""
        for hook in self.hooks:
            hook.remove()
        now: Counter[Role] = Counter()
        most: Counter[Role] = Counter()
        for number, sign in self.events:
            now[self.roles[number]] += sign * self.nbytes[number]
            if now.total() > most.total():
                most = now.copy()
        return dict(most)

    def _leave(self, number: int, key: int) -> None:
        if self.alive.get(key) == number:
            del self.alive[key]
        self.events.append((number, -1))

    def _gradient(self, parameter: Any) -> None:
        key = parameter.grad.untyped_storage()._cdata
        self.roles[self.alive[key]] = Role.PARAMETER_GRADIENT
