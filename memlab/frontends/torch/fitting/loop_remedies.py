"""Changes to try on a user's own training step, each as a context in which the step runs.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from memlab.frontends.torch.any_step import WatchedStep
from memlab.frontends.torch.loop_objects import live


@dataclass(frozen=True)
class LoopRemedy:
    """A change of a step: ``change`` is a context in which the step runs with it.

    ``key`` is the name of its texts, ``code`` are the lines to paste, ``names`` the modules that it
    is about; ``same`` is True if it computes the same numbers, bit for bit. With ``detach`` tensors
    that hold a graph after a step are detached from it.
    """

    key: str
    change: Callable[[], contextlib.AbstractContextManager[Any]]
    code: tuple[str, ...]
    names: tuple[str, ...] = ()
    same: bool = True
    detach: bool = False


def loop_remedies(watched: WatchedStep) -> Iterator[LoopRemedy]:
    """Yield the changes to try on a step, the mildest first."""
    if watched.untrained:
        yield LoopRemedy(
            "no_grad", _without_gradients, ("with torch.no_grad():", "    output = model(x)"),
            watched.untrained,
        )  # fmt: skip
    if names := tuple(name for name, graph in watched.holders.items() if graph):
        code = tuple(f"{name} += loss.item()  # or loss.detach()" for name in names)
        yield LoopRemedy("detach", contextlib.nullcontext, code, names, detach=True)
    lines = ("for group in optimizer.param_groups:", "    group['foreach'] = False")
    yield LoopRemedy("foreach", partial(_groups, foreach=False), lines)
    fused = "optimizer = torch.optim.Adam(parameters, lr, fused=True)  # your optimizer's class"
    yield LoopRemedy("fused", partial(_groups, foreach=False, fused=True), (fused,), same=False)
    lines = ("with torch.autocast('cuda', torch.bfloat16):", "    loss = loss_fn(model(x), y)")
    yield LoopRemedy("autocast", _autocast, lines, same=False)


@contextlib.contextmanager
def _groups(**options: bool) -> Iterator[None]:
    """Give every group of every optimizer other options."""
    groups = [group for each in live(torch.optim.Optimizer) for group in each.param_groups]
    changed = [group for group in groups if options.keys() <= group.keys()]
    before = [{name: group[name] for name in options} for group in changed]
    for group in changed:
        group.update(options)
    try:
        yield
    finally:
        for group, old in zip(changed, before, strict=True):
            group.update(old)


@contextlib.contextmanager
def _autocast() -> Iterator[None]:
    """Compute in bfloat16 where autocast does."""
    with torch.autocast("cpu", torch.bfloat16):
        yield


@contextlib.contextmanager
def _without_gradients() -> Iterator[None]:
    """Run models that are in evaluation mode without gradients."""
    enabled: list[bool] = []

    def begins(module: Any, inputs: Any) -> None:
        enabled.append(torch.is_grad_enabled())
        if not module.training:
            torch.set_grad_enabled(False)

    def ends(module: Any, inputs: Any, output: Any) -> None:
        torch.set_grad_enabled(enabled.pop())

    handles = [
        register_module_forward_pre_hook(begins),
        register_module_forward_hook(ends, always_call=True),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
