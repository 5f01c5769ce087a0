"""Changes to try on a user's own training step, each as a context in which the step runs.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from memlab.frontends.torch.any_step import WatchedStep
from memlab.frontends.torch.fitting import sequence_segments, wrapping
from memlab.frontends.torch.loop_objects import live
from memlab.frontends.torch.watched_loop import Models


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
    kinds = {path: type(module).__name__ for path, module in watched.models.named_modules()}
    for _, group in groupby(sequence_segments.sequences(kinds), partial(_variable, watched)):
        names = tuple(group)
        change = partial(_changed, sequence_segments.wrap, watched.models, names)
        code = wrapping.lines(*_within(watched, names), "sequence_segments")
        shown = tuple(name or type(watched.models).__name__ for name in names)
        yield LoopRemedy("in_segments", change, code, shown)
    for names in blocks(watched.models):
        change = partial(_changed, wrapping.wrap, watched.models, names)
        yield LoopRemedy("again", change, wrapping.lines(*_within(watched, names)), names)


def blocks(model: Any) -> list[tuple[str, ...]]:
    """Return the paths of the blocks that a model has several of in a row, for each outermost list
    or sequence of modules of one class."""
    rows: list[tuple[str, ...]] = []
    for path, module in model.named_modules():
        inside = any(path.startswith(f"{name}.") for row in rows for name in row)
        kinds = [type(child) for child in module.children()]
        repeated = isinstance(module, torch.nn.ModuleList | torch.nn.Sequential) and len(kinds) > 1
        if repeated and len(set(kinds)) == 1 and not inside:
            rows.append(tuple(f"{path}.{name}".lstrip(".") for name in module._modules))
    return rows


def _variable(watched: WatchedStep, name: str) -> str:
    """Return the variable of the model that a module belongs to."""
    return name.partition(".")[0] if isinstance(watched.models, Models) else "model"


def _within(watched: WatchedStep, names: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the variable of a model, and the paths of modules inside it."""
    if isinstance(watched.models, Models):
        return _variable(watched, names[0]), tuple(name.partition(".")[2] for name in names)
    return "model", names


@contextlib.contextmanager
def _changed(
    wrap: Callable[[Any, tuple[str, ...]], Any], models: Any, names: tuple[str, ...]
) -> Iterator[None]:
    """Give modules other classes, which let them run again in backward."""
    modules = wrapping.checked(models, names)
    kinds = [type(module) for module in modules]
    wrap(models, names)
    try:
        yield
    finally:
        for module, kind in zip(modules, kinds, strict=True):
            module.__class__ = kind


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
        if enabled:  # else the module began before
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
