"""A training step of a PyTorch model that is run, and the bytes that it really takes at its peak.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from memlab.errors import InputError, shorten
from memlab.frontends.torch.tensor_modes import OPTIMIZERS, RecordingRequest, autocast
from memlab.measure.torch_lowering import most_allocated
from memlab.step.paused_gc import paused

SOURCES = {"cpu": "PyTorch's allocator", "cuda": "torch.cuda.max_memory_allocated"}
"""Where the truth comes from, by the type of the device."""


@dataclass(frozen=True)
class AccuracyCase:
    """A model with its data, its loss and its optimizer, at one batch on one device.

    ``build()`` gives the model, ``make_batch(B)`` a pair of input and target, both on the
    processor; they go to the ``device``, ``"cpu"`` or ``"cuda"``. ``autocast`` is ``"bf16"``,
    ``"fp16"`` or empty; ``keep_output`` holds the output of the model until the step ends.
    """

    name: str
    build: Callable[[], Any]
    make_batch: Callable[[int], Any]
    loss_fn: Callable[[Any, Any], Any]
    optimizer: str | Callable[[Any], Any] = "adam"
    batch: int = 32
    autocast: str = ""
    device: str = "cpu"
    keep_output: bool = False

    @property
    def title(self) -> str:
        """Name of the case: ``'resnet50, batch 8, adam'``."""
        name = getattr(self.optimizer, "__name__", "its own optimizer").strip("<>")
        optimizer = self.optimizer if isinstance(self.optimizer, str) else name
        parts = [self.name, f"batch {self.batch}", optimizer]
        return ", ".join([*parts, self.autocast] if self.autocast else parts)

    @property
    def source(self) -> str:
        """Name of the measurement that the truth of a case comes from."""
        return SOURCES[self.device]

    def model(self) -> Any:
        """The model on the device, ready to be trained.

        Raises:
            InputError: ``build`` gives something else.
        """
        with contextlib.nullcontext() if self.device == "cpu" else torch.device(self.device):
            model = self.build()  # fake tensors are made on the device, and cannot be moved
        if not isinstance(model, torch.nn.Module):
            raise InputError(f"build() must give an nn.Module, got {shorten(model)}; try "
                             "build=lambda: MyModel(...).")  # fmt: skip
        model.train()
        there = all(parameter.device.type == self.device for parameter in model.parameters())
        return model if there else model.to(self.device)

    def wish(self) -> RecordingRequest:
        """Request for a recording of the case, with model and batches on the device."""
        return RecordingRequest(
            self.model, self._moved, self.loss_fn, self.optimizer, self.autocast,
            keep_output=self.keep_output,
        )  # fmt: skip

    def data(self) -> tuple[Any, Any]:
        """Real tensors of an input and a target on the device.

        Raises:
            InputError: ``make_batch`` gives no pair.
        """
        return self.wish().pair(self.batch)

    def _moved(self, batch: int) -> Any:
        """Batch of ``make_batch``, moved to the device."""
        pair = self.make_batch(batch)
        if self.device == "cpu":
            return pair
        return tree_map(lambda t: t.to(self.device) if isinstance(t, torch.Tensor) else t, pair)


class StartedTraining:
    """A model that has taken its first step, so that its optimizer has its state."""

    def __init__(self, case: AccuracyCase, model: Any, data: tuple[Any, Any]) -> None:
        self.case, self.model, self.data = case, model, data
        make = case.optimizer if callable(case.optimizer) else OPTIMIZERS[case.optimizer]
        self.optimizer = make(model.parameters())
        self.step()
        self.optimizer.zero_grad()

    def step(self) -> None:
        """Take one training step, as a loop of a user takes it."""
        x, target = self.data
        self.optimizer.zero_grad()
        with autocast(self.case.autocast, self.case.device):
            output = self.model(x)
            loss = self.case.loss_fn(output, target)
        if not self.case.keep_output:
            del output
        loss.backward()
        self.optimizer.step()

    def before(self) -> int:
        """Bytes of everything that is there before a step, each storage once: parameters, buffers,
        states, input and target."""
        states = [list(kept.values()) for kept in self.optimizer.state.values()]
        tensors = [*self.model.parameters(), *self.model.buffers(), *tree_leaves(states),
                   *tree_leaves(self.data)]  # fmt: skip
        storages = [t.untyped_storage() for t in tensors if isinstance(t, torch.Tensor)]
        return sum({storage._cdata: int(storage.nbytes()) for storage in storages}.values())


def peak(case: AccuracyCase) -> int:
    """The bytes at the peak of the second step of a model, those that are there before with them:
    on a processor by the events of PyTorch's allocator, on a GPU by ``max_memory_allocated``.

    A GPU's allocator hands out pieces of 512 bytes, and counts what cuBLAS keeps for itself.
    What the model itself raises comes through.
    """
    devices = [torch.cuda.current_device()] if case.device == "cuda" else []
    with torch.random.fork_rng(devices):  # the user's random numbers stay as they were
        torch.manual_seed(0)
        return _on_gpu(case) if case.device == "cuda" else _on_processor(case)


def _on_processor(case: AccuracyCase) -> int:
    training = StartedTraining(case, case.model(), case.data())
    gc.collect()
    before = training.before()
    with paused():
        _, most = most_allocated(training.step)
    return before + most


def _on_gpu(case: AccuracyCase) -> int:
    gc.collect()
    torch.cuda.synchronize(case.device)
    others = int(torch.cuda.memory_allocated(case.device))
    training = StartedTraining(case, case.model(), case.data())
    gc.collect()
    with paused():
        torch.cuda.reset_peak_memory_stats(case.device)
        training.step()
        torch.cuda.synchronize(case.device)
    return int(torch.cuda.max_memory_allocated(case.device)) - others


def free(device: str) -> int:
    """Bytes that a step can still take on a device."""
    if device == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    from memlab import free_memory

    return free_memory.free_memory()
