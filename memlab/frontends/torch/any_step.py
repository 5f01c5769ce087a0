"""A training step of the user's own, recorded: ``step(batch)`` with any models and optimizers.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch

from memlab.errors import InputError, shorten
from memlab.frontends.torch.loop_objects import holders, live, object_names, restored, variables
from memlab.frontends.torch.observed_model import BATCHES, THIRD, RealTensorsWarning, sentence
from memlab.frontends.torch.recording import Recording
from memlab.frontends.torch.tensor_modes import Trace
from memlab.frontends.torch.torch_private_api import LEAVES
from memlab.frontends.torch.watched_loop import STEPS, WatchedLoop
from memlab.placement.cuda_cards import CudaCard
from memlab.units import short

TRY = "explain(step=train_step, batch=(x, y))"
"""Example of a call, for error sentences."""
Context = Callable[[], contextlib.AbstractContextManager[Any]]


@dataclass(frozen=True)
class StepRequest:
    """Request for the recording of a user's step.

    ``step`` gets the batch ``batch``, or nothing where it takes no argument. With ``make_batch``
    the batch is a number of samples, and the step gets what ``make_batch`` gives for it. ``card``
    is the card whose step it is, None for a processor. It runs on ``real`` tensors, on fake ones
    (False), or on those that can (None).

    ``change`` is a context in which the step runs. With ``detach`` tensors that hold a graph after
    a step are detached from it. With ``several`` some steps are recorded also where memory does not
    grow.
    """

    step: Callable[..., Any]
    batch: Any = None
    make_batch: Callable[[int], Any] | None = None
    card: CudaCard | None = None
    real: bool | None = None
    change: Context = contextlib.nullcontext
    detach: bool = False
    several: bool = False

    @property
    def data(self) -> Any:
        """The batch that the step gets."""
        return self.batch if self.make_batch is None else self.make_batch(self.batch)

    @property
    def samples(self) -> int:
        """Number of samples of a step."""
        return samples_of(self.batch) if self.make_batch is None else int(self.batch)

    def at(self, samples: int) -> StepRequest:
        """Return the request for another number of samples."""
        return replace(self, batch=samples)


@dataclass(frozen=True)
class WatchedStep:
    """Recording of a user's step, and the growth of memory from step to step.

    Where memory grows by ``growth`` bytes in each step, the recording is of several steps. They
    begin with the calls ``begins``.
    ``holders`` are the variables that hold what grows, by their names, and whether each holds the
    graph of a loss. ``models`` contains the models of the step, or is the only one; ``untrained``
    are the names of those that ran in evaluation mode with gradients.
    """

    recording: Recording
    models: Any
    growth: int = 0
    holders: Mapping[str, bool] = field(default_factory=dict)
    untrained: tuple[str, ...] = ()
    begins: tuple[int, ...] = ()


def watched(request: StepRequest) -> WatchedStep:
    """Run a step some times and record it: on fake tensors, or where an operator needs values, on
    real ones. Afterwards models, optimizers and variables have their state from before.

    Warns:
        RealTensorsWarning: the step cannot run on fake tensors; said before it runs on real ones.

    Raises:
        InputError: ``step`` is no function, runs no operator, or runs in several processes. Its own
            errors are raised unchanged.
    """
    _check_processes()
    if request.real:
        return _watched(request)
    try:
        return _watched(replace(request, real=False))
    except InputError:
        raise
    except Exception as error:
        if request.real is False:
            raise
        _warn(sentence(error), variables(request.step))
    return _watched(replace(request, real=True))


def _check_processes() -> None:
    """Refuse a step that waits for other processes.

    Raises:
        InputError: this process is one of several in a group of ``torch.distributed``.
    """
    group = torch.distributed
    if group.is_available() and group.is_initialized() and (count := group.get_world_size()) > 1:
        raise InputError(
            f"this process trains together with others, {count} in all, which would wait for the "
            "steps that memlab runs; explain the step of one process, in a group of "
            "world_size=1."
        )


def _watched(request: StepRequest) -> WatchedStep:
    """Run the step and record it, on real tensors or on fake ones: for any batch where there is
    ``make_batch`` and sizes grow in a line with the batch, else for one batch alone."""
    if request.make_batch is not None:
        with contextlib.suppress(InputError):
            one, *others = (_run(request.at(samples)) for samples in (*BATCHES, THIRD))
            if not one.growth:
                recording = one.loop.recording(one.trace, [other.trace for other in others])
                models = one.loop.paths.model
                return WatchedStep(recording, models, untrained=tuple(one.loop.untrained))
    run = _run(request)
    recording = run.loop.recording(run.trace)
    models, untrained = run.loop.paths.model, tuple(run.loop.untrained)
    return WatchedStep(recording, models, run.growth, run.holders, untrained, run.begins)


class _Run(NamedTuple):
    """Steps that have run, and the growth of memory in each, with the variables that hold it, and
    the calls with which the recorded steps begin."""

    loop: WatchedLoop
    trace: Trace
    growth: int
    holders: Mapping[str, bool]
    begins: tuple[int, ...]


def _run(request: StepRequest) -> _Run:
    """Run the step some times.

    Raises:
        InputError: it runs no operator.
    """
    step, call = request.step, _call(request.step, request.data)
    with torch.random.fork_rng(devices=[]), restored(step, bool(request.real)), request.change():
        loop = WatchedLoop(request.card, bool(request.real), object_names(variables(step)))
        with loop:
            for _ in range(STEPS):
                call()
                if request.detach:
                    loop.detach()
                loop.step_ended()
        if not loop.recorder.calls:
            raise InputError(
                f"step runs no operator of PyTorch, got {shorten(step)}; give the function that "
                f"runs forward, backward and the update: {TRY}."
            )
        growth = loop.growth()
        first = -STEPS if growth or request.several else -2
        held = holders(growth.tensors, variables(step)) if growth else {}
        graphs = {name: tensor.grad_fn is not None for name, tensor in held.items()}
        trace = loop.trace(request.samples, first)
        nbytes = growth.nbytes if growth else 0
        return _Run(loop, trace, nbytes, graphs, loop.begins(first))


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
