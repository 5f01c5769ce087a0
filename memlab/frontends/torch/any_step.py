"""A training step of the user's own, recorded: ``step(batch)`` with any models and optimizers.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from memlab.errors import InputError, shorten
from memlab.frontends.torch.loop_objects import holders, live, object_names, restored, variables
from memlab.frontends.torch.observed_model import RealTensorsWarning, sentence
from memlab.frontends.torch.recording import Recording
from memlab.frontends.torch.torch_private_api import LEAVES
from memlab.frontends.torch.watched_loop import STEPS, WatchedLoop
from memlab.placement.cuda_cards import CudaCard
from memlab.units import short

TRY = "explain(step=train_step, batch=(x, y))"
"""Example of a call, for error sentences."""
Context = Callable[[], contextlib.AbstractContextManager[Any]]


@dataclass(frozen=True)
class WatchedStep:
    """Recording of a user's step, and the growth of memory from step to step.

    Where memory grows by ``growth`` bytes in each step, the recording is of several steps.
    ``holders`` are the variables that hold what grows, by their names, and whether each holds the
    graph of a loss. ``untrained`` are the models that ran in evaluation mode with gradients.
    """

    recording: Recording
    growth: int = 0
    holders: Mapping[str, bool] | None = None
    untrained: tuple[str, ...] = ()


def watched(
    step: Callable[..., Any],
    batch: Any,
    card: CudaCard | None = None,
    real: bool | None = None,
    change: Context = contextlib.nullcontext,
    detach: bool = False,
    several: bool = False,
) -> WatchedStep:
    """Run a step some times and record it: on fake tensors, or where an operator needs values, on
    real ones. Afterwards models, optimizers and variables have their state from before.

    Args:
        step: the function, which gets the batch, or nothing where it takes no argument.
        batch: the batch that it gets.
        card: the card whose step it is, None for a processor.
        real: run on real tensors (``True``), on fake ones (``False``), or on those that can.
        change: a context in which the step runs.
        detach: detach tensors that hold a graph after a step from it.
        several: record several steps also where memory does not grow.

    Warns:
        RealTensorsWarning: the step cannot run on fake tensors; said before it runs on real ones.

    Raises:
        InputError: ``step`` is no function, or runs no operator. Its own errors are raised
            unchanged.
    """
    run = partial(_watched, step, _call(step, batch), batch, card, change, detach, several)
    if real:
        return run(True)
    try:
        return run(False)
    except InputError:
        raise
    except Exception as error:
        if real is False:
            raise
        _warn(sentence(error), variables(step))
    return run(True)


def _call(step: Callable[..., Any], batch: Any) -> Callable[[], Any]:
    """Return the call of a step with its batch.

    Raises:
        InputError: it cannot be called with one batch.
    """
    if not callable(step):
        raise InputError(f"step must be a function, got {shorten(step)}; try {TRY}.")
    with contextlib.suppress(TypeError, ValueError):  # one that Python cannot look into
        if not inspect.signature(step).parameters:
            return step
    if batch is None:
        raise InputError(f"step takes a batch, and batch is left out; try {TRY}.")
    return lambda: step(batch)


def samples_of(batch: Any) -> int:
    """Return the number of samples of a batch: the first size of its first tensor, or 1."""
    tensors = (value for value in LEAVES()(_plain(batch)) if isinstance(value, torch.Tensor))
    sizes = (int(tensor.shape[0]) for tensor in tensors if tensor.dim())
    return max(next(sizes, 1), 1)


def _plain(batch: Any) -> Any:
    """Return a mapping of any class as a dictionary."""
    return dict(batch) if isinstance(batch, Mapping) else batch


def _watched(
    step: Callable[..., Any],
    run: Callable[[], Any],
    batch: Any,
    card: CudaCard | None,
    change: Context,
    detach: bool,
    several: bool,
    real: bool,
) -> WatchedStep:
    """Run the step and record it, on real tensors or on fake ones."""
    with torch.random.fork_rng(devices=[]), restored(step, real), change():
        loop = WatchedLoop(card, real, object_names(variables(step)))
        with loop:
            for _ in range(STEPS):
                run()
                if detach:
                    loop.detach()
                loop.step_ended()
        if not loop.recorder.calls:
            raise InputError(
                f"step runs no operator of PyTorch, got {shorten(step)}; give the function that "
                f"runs forward, backward and the update: {TRY}."
            )
        growth = loop.growth()
        recording = loop.recording(samples_of(batch), -STEPS if growth or several else -2)
        if growth is None:
            return WatchedStep(recording, untrained=tuple(loop.untrained))
        held = holders(growth.tensors, variables(step))
        graphs = {name: tensor.grad_fn is not None for name, tensor in held.items()}
        return WatchedStep(recording, growth.nbytes, graphs, tuple(loop.untrained))


def _warn(reason: str, objects: Mapping[str, Any]) -> None:
    """Say that the step runs on real tensors, before it does, and the bytes that are there."""
    modules = [value for value in objects.values() if isinstance(value, torch.nn.Module)]
    parameters = {id(p): p for module in modules or live(torch.nn.Module)
                  for p in module.parameters()}  # fmt: skip
    nbytes = sum(int(parameter.nbytes) for parameter in parameters.values())
    warnings.warn(
        f"memlab now runs this step {STEPS} times on real tensors, because fake ones gave {reason};"
        f" beside its own memory this takes {short(nbytes)} for a copy of the parameters, from "
        "which they are restored, and it may take long.",
        RealTensorsWarning,
        stacklevel=3,
    )
