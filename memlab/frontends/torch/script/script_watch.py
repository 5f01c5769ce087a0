"""The watch on a script's training steps, in the process that runs the script.

It begins inside the first forward of a model that trains, and ends after the third step of the
optimizer that stepped first: then the process ends, with all processes that it started. Import this
module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import DataLoader

import memlab
from memlab import atomic_files
from memlab.frontends import step_files
from memlab.frontends.torch.any_step import WatchedStep
from memlab.frontends.torch.causes import cause_of_peak
from memlab.frontends.torch.fitting.loop_remedies import LoopRemedy, loop_remedies
from memlab.frontends.torch.loop_objects import holders, live, object_names
from memlab.frontends.torch.measured_workspace import lazy_step
from memlab.frontends.torch.observed_model import sentence
from memlab.frontends.torch.recording_to_step import first_operations
from memlab.frontends.torch.script import outcome
from memlab.frontends.torch.script.processes import end_tree
from memlab.frontends.torch.script.skipped_saves import SkippedSaves
from memlab.frontends.torch.tensor_modes import COMPILED
from memlab.frontends.torch.torch_private_api import LEAVES, NO_MODES, SEQUENCE
from memlab.frontends.torch.watched_loop import LoopRecorder, WatchedLoop, container, top_modules
from memlab.placement.cuda_cards import CudaCard

BOUNDARIES = 3
"""Ends of steps that are watched: between the first two lies a step in which optimizers have their
states, and a third shows whether memory grows."""
LEAST = 2
"""Fewest ends of steps between which one is recorded."""
_STATES = {"SGD": 0, "Adagrad": 1, "RMSprop": 1}
"""Number of states that some optimizers keep of each parameter; others keep two."""
_PACKAGES = tuple(
    {*filter(None, map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))),
     str(Path(torch.__file__).parent), str(Path(memlab.__file__).parent)}
)  # fmt: skip
"""Folders of code that is not the user's."""


def _guarded(method: Callable[..., None]) -> Callable[..., None]:
    """Return a method whose own errors end the process: the script could take them for its own."""

    @wraps(method)
    def guarded(self: ScriptWatch, *args: Any) -> None:
        try:
            method(self, *args)
        except Exception as error:
            self.end("refused", reason=str(error).rstrip(".") or sentence(error))

    return guarded


class ScriptWatch:
    """Watch on the steps of one script.

    Args:
        script: its file.
        folder: where the outcome is written.
        card: the card whose step it is; None for a processor.
        real: whether the script runs on real tensors.
        saves: the saves that are skipped.
        change: the change with which the steps run, as an outcome lists it; None for none.
    """

    def __init__(
        self, script: str, folder: Path, card: CudaCard | None, real: bool, saves: SkippedSaves,
        change: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.script, self.folder = script, folder
        self.card, self.real, self.saves = card, real, saves
        self.loop: ScriptLoop | None = None
        self.first: Any = None
        self.samples = 0
        self.sequences: list[int] = []
        self.change, self.entered = change, contextlib.ExitStack()
        self.process = os.getpid()

    def start(self) -> None:
        """Wait for the first forward of a model that trains."""
        warnings.filterwarnings("ignore", message=".*global hooks on modules")
        register_module_forward_pre_hook(self._forward_begins)
        register_optimizer_step_pre_hook(self._update_begins)
        register_optimizer_step_post_hook(self._update_ended)
        DataLoader.__iter__ = _unwatched_data(DataLoader.__iter__)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.leave)

    @property
    def steps(self) -> int:
        """Number of steps that have ended under the watch."""
        return len(self.loop.ends) if self.loop else 0

    @_guarded
    def _forward_begins(self, module: Any, inputs: Any) -> None:
        if self.loop is not None or not module.training or not torch.is_grad_enabled():
            return
        if any(parameter.requires_grad for parameter in module.parameters()):
            self.samples = _samples(inputs)
            if not self.samples:
                self._ask_samples(module)
            names = _names(_variables())
            self.loop = ScriptLoop(self.card, self.real, names, self.needs_values)
            if self.change is not None:
                self._enter_change(self.change)
            self.loop.__enter__()
            self.loop.paths.begun(module, inputs)

    def _enter_change(self, change: Mapping[str, Any]) -> None:
        """Let the steps run with a change, until the process ends."""
        names, held, untrained = (change[name] for name in ("names", "holders", "untrained"))
        models = container(top_modules(), self.loop.names if self.loop else {})
        recording: Any = None  # which changes do not ask for
        watched = WatchedStep(recording, models, 0, held, tuple(untrained))
        for remedy in loop_remedies(watched):
            if (remedy.key, list(remedy.names)) == (change["key"], names):
                self.entered.enter_context(remedy.change())
                return
        self.end("refused", reason=f"it has no place for the change {change['key']}")

    def _ask_samples(self, module: Any) -> None:
        """Take the number of samples from the next call of a module, which gets its input by the
        names of arguments; this call does not tell them."""

        def begins(module: Any, inputs: Any, named: Any) -> None:
            handle.remove()
            self.samples = _samples(named)

        handle = module.register_forward_pre_hook(begins, with_kwargs=True)

    def _update_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if isinstance(optimizer, torch.optim.LBFGS) and self.loop and not self.real:
            self.needs_values("LBFGS, which decides by values how often it runs the model")

    @_guarded
    def _update_ended(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.loop is None or os.getpid() != self.process:
            return
        self.first = self.first or optimizer
        if optimizer is self.first:
            if self.change is not None and self.change["detach"]:
                self.loop.detach()
            self.loop.step_ended()
            self.sequences.append(SEQUENCE()())
            if self.steps == BOUNDARIES:
                self.recorded()

    def leave(self) -> None:
        """Leave all modes: in a process that the script forks, and when the watch is over."""
        if self.loop is not None:
            with suppress(Exception):
                self.loop.__exit__()

    # -- ends ------------------------------------------------------------------------------

    def end(self, kind: outcome.Kind, **facts: Any) -> NoReturn:
        """Write an outcome and end this process at once, and all that it started."""
        outcome.write(self.folder, kind, saves=self.saves.skipped, steps=self.steps, **facts)
        end_processes()

    @_guarded
    def needs_values(self, reason: str) -> None:
        """End because an operator needs values; with what was recorded where it is enough. On real
        tensors, before the watch, and in a process that the script forked, do nothing."""
        if self.loop is None or self.real or os.getpid() != self.process:
            return
        if self.steps >= LEAST:
            self.recorded()
        self.end("values", reason=reason, nbytes=_resident())

    def recorded(self) -> NoReturn:
        """Write the recorded step and end this process."""
        loop = self.loop
        assert loop is not None
        variables = _variables()
        growth = loop.growth()
        held = holders(growth.tensors, variables) if growth else {}
        held = _of_all_steps(held, variables, self.sequences[-2])
        graphs = {name: tensor.grad_fn is not None for name, tensor in held.items()}
        several = growth is not None or (self.change is not None and self.change["several"])
        first = -len(loop.ends) if several else -2
        trace = loop.trace(max(self.samples, 1), first)
        recording = loop.recording(trace)
        nbytes, untrained = growth.nbytes if growth else 0, loop.untrained
        watched = WatchedStep(recording, loop.paths.model, nbytes, graphs, tuple(untrained))
        changes = [_as_dict(remedy, watched) for remedy in loop_remedies(watched)]
        self.leave()
        atomic_files.write(self.folder / outcome.MARK, "")
        step = lazy_step(recording, {trace.batch}, progress=False).at(trace.batch)
        cause = cause_of_peak(recording, step, trace.batch)
        self.end(
            "recorded", step=step_files.to_dict(step), modules=dict(recording.modules),
            batch=trace.batch, untrained=untrained, growth=nbytes, holders=graphs, changes=changes,
            cause=cause and asdict(cause), begins=first_operations(step, loop.begins(first)),
        )  # fmt: skip


class ScriptLoop(WatchedLoop):
    """Loop of a script, which tells of an operator that fails on fake tensors before the script
    can."""

    def __init__(
        self, card: CudaCard | None, real: bool, names: dict[int, str],
        failed: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.failed = failed
        super().__init__(card, real, names)

    def _recorder(self) -> LoopRecorder:
        recorder = super()._recorder()
        return ScriptRecorder(self.paths, recorder.truth, recorder.convert, self.failed)


class ScriptRecorder(LoopRecorder):
    """Recorder that tells of an operator that fails, with the reason."""

    def __init__(self, paths: Any, truth: Any, convert: Any, failed: Callable[[str], None]) -> None:
        super().__init__(paths, truth, convert)
        self.failed = failed

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except Exception as error:
            self.failed(sentence(error))
            raise


def _as_dict(remedy: LoopRemedy, watched: WatchedStep) -> dict[str, Any]:
    """Return a change as another run of the script finds it again."""
    return {
        "key": remedy.key, "names": list(remedy.names), "code": list(remedy.code),
        "same": remedy.same, "detach": remedy.detach, "several": bool(watched.growth),
        "holders": dict(watched.holders), "untrained": list(watched.untrained),
    }  # fmt: skip


def end_processes() -> NoReturn:
    """End this process and all that it started at once: nothing of the script runs any more."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    end_tree(os.getpid())
    os._exit(0)


def _unwatched_data(iterate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``DataLoader.__iter__`` that loads data outside of all modes: the watch is on the
    step, and data are real. Memory is not pinned: only a copy to a GPU needs it."""

    @wraps(iterate)
    def begin(self: Any) -> Any:
        self.pin_memory = False
        with NO_MODES()():
            return _Batches(iterate(self))

    return begin


class _Batches:
    """Iterator over batches that are loaded outside of all modes."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> Any:
        with NO_MODES()():
            return next(self._batches)

    def __len__(self) -> int:
        return len(self._batches)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batches, name)


# -- the script's objects ------------------------------------------------------------------------


def _variables() -> dict[str, Any]:
    """Return the variables of the user's functions that run now, by their names; of two with one
    name that of the inner function."""
    variables: dict[str, Any] = {}
    for frame in _frames():
        for name, value in frame.f_locals.items():
            if not name.startswith("__"):
                variables.setdefault(name, value)
    main = vars(sys.modules["__main__"])
    return {name: value for name, value in main.items() if name[:2] != "__"} | variables


def _of_all_steps(held: dict[str, Any], variables: dict[str, Any], sequence: int) -> dict[str, Any]:
    """Return the variables that hold tensors of all steps. A variable that is one tensor has that
    of the last step, unless its graph has nodes from before the one with number ``sequence``."""
    older = {
        name: tensor
        for name, tensor in held.items()
        if variables.get(name) is not tensor or _reaches(tensor, sequence)
    }
    return older or held


def _reaches(tensor: Any, sequence: int) -> bool:
    """Return whether the graph of a tensor has a node from before the one with this number."""
    nodes, visited = [tensor.grad_fn], set[Any]()
    while nodes:
        node = nodes.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        if node._sequence_nr() < sequence:
            return True
        nodes += [before for before, _ in node.next_functions]
    return False


def _names(variables: dict[str, Any]) -> dict[int, str]:
    """Return the names of modules and tensors by their ids; a compiled module is named like the one
    that it was made of."""
    compiled = {
        name: value._orig_mod
        for name, value in variables.items()
        if type(value).__name__ == COMPILED
    }
    return object_names(compiled) | object_names(variables)


def _frames() -> Iterator[Any]:
    """Yield the frames of the user's code, the innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith((*_PACKAGES, "<frozen")):
            yield frame
        frame = frame.f_back  # type: ignore[assignment]  # None after the outermost


def _samples(inputs: Any) -> int:
    """Return the number of samples in the inputs of a model: the first size of its first tensor; 0
    without one."""
    tensors = (value for value in LEAVES()(inputs) if isinstance(value, torch.Tensor))
    return next((int(tensor.shape[0]) for tensor in tensors if tensor.dim()), 0)


def _resident() -> dict[str, int]:
    """Return the bytes of all parameters, their gradients and the states of the optimizers."""
    parameters = {id(p): p for module in live(torch.nn.Module) for p in module.parameters()}
    trained = [parameter for parameter in parameters.values() if parameter.requires_grad]
    gradients = sum(int(parameter.nbytes) for parameter in trained)
    return {
        "parameters": sum(int(parameter.nbytes) for parameter in parameters.values()),
        "gradients": gradients,
        "states": gradients * max(map(_states, live(torch.optim.Optimizer)), default=2),
    }


def _states(optimizer: Any) -> int:
    """Return the number of states that an optimizer keeps of each parameter, by its class."""
    group = optimizer.param_groups[0]
    states = _STATES.get(type(optimizer).__name__, 2)
    momentum, history = bool(group.get("momentum")), int(group.get("history_size", 0))
    return max(states, int(momentum), 2 * history)
