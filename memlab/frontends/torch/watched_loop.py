"""A user's own training loop, watched as it runs: any models, optimizers and closures.

The loop runs on the user's own objects. While it is watched, every operator gets fake tensors in
the place of real ones, so nothing is computed and no value changes; where an operator needs values,
the loop has to run on real tensors. Import this module only where PyTorch is installed: memlab does
not need it.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, takewhile
from typing import Any
from unittest import mock

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from memlab.frontends.torch import real_outputs
from memlab.frontends.torch.built_model import Conversion
from memlab.frontends.torch.cuda.operators import CudaOutputs, cuda_operators
from memlab.frontends.torch.cuda.replaced_kernels import WITHOUT_WARNINGS
from memlab.frontends.torch.device_calls import cuda_means_here, step_always
from memlab.frontends.torch.dispatch_mode import (
    STAYS,
    Paths,
    Recorder,
    SeenBlock,
    SeenCall,
    SeenTensor,
    of_thread,
)
from memlab.frontends.torch.loop_objects import live
from memlab.frontends.torch.observed_model import Matched, checked
from memlab.frontends.torch.recording import BEFORE, Recording
from memlab.frontends.torch.tensor_modes import COMPILED, Trace, enter_states, quiet
from memlab.frontends.torch.torch_private_api import (
    BACKWARD,
    FAKE_TENSOR,
    LEAVES,
    SCALED_STEP,
    UNSET,
)
from memlab.placement.cuda_cards import CudaCard
from memlab.step.op import Phase
from memlab.step.paused_gc import paused
from memlab.step.tensor import Role

_FAKE = FAKE_TENSOR()
_ITEM = torch.ops.aten._local_scalar_dense.default
_DECISIONS = {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isposinf", "isneginf", "any",
              "all", "logical_not", "logical_and", "logical_or", "bitwise_not", "bitwise_and",
              "bitwise_or", "mul"}  # fmt: skip
"""Operators whose outcome is one truth, also where they run on one number."""
STEPS = 4
"""Number of steps that are watched: in the first one optimizers make their states, and three more
show whether memory grows."""
NO_MODEL = "loop"
"""Name of a loop in which no module runs."""


class ValueNeededError(RuntimeError):
    """Error for a loop whose way depends on values that fake tensors have not."""


class LoopPaths(Paths):
    """Stack of the modules that run now, in a loop with any number of models.

    ``entered`` and ``left`` are told when the outermost module with a name begins and ends. ``ran``
    has the modules that ran, by their ids.
    """

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.ran: dict[int, Any] = {}
        self.untrained: dict[int, Any] = {}
        self._named: list[bool] = []

    def _enter(self, module: Any, inputs: Any) -> None:
        if not of_thread(self._thread):
            return
        self.ran[id(module)] = module
        known = id(module) in self._names
        if known and not any(self._named):
            self.entered()
            if torch.is_grad_enabled() and not module.training:
                self.untrained[id(module)] = module
        self._named.append(known)
        super()._enter(module, inputs)

    def _leave(self, module: Any, inputs: Any, output: Any) -> None:
        if not of_thread(self._thread):
            return
        super()._leave(module, inputs, output)
        if self._named and self._named.pop() and not any(self._named):
            self.left()

    def begun(self, module: Any, inputs: Any) -> None:
        """Enter a module whose forward has begun already."""
        self._enter(module, inputs)

    def rename(self, model: Any) -> None:
        """Take the names of the modules from another container."""
        fresh = Paths(model)
        self.model, self.modules, self._names = model, fresh.modules, fresh._names


class LoopRecorder(Recorder):
    """Recorder of a loop. It answers a loop that reads a value which comes from a model as if all
    numbers with digits were 1.0: ``loss.item()`` is 1.0, ``torch.isnan(loss)`` is False; a count is
    0. ``answered`` counts these. Whole numbers of the user's data keep their values."""

    def __init__(self, paths: Paths, truth: Any = None, convert: Any = None) -> None:
        super().__init__(paths, truth, convert)
        self.answered = 0
        self.first_seen: dict[int, int] = {}
        self._shared: dict[int, set[int]] = {}
        self._standing: dict[int, weakref.ref[Any]] = {}
        self._from_values: dict[int, bool | None] = {}

    def stays_real(self, values: Any) -> bool:
        """Return whether an operator can run on the user's own whole numbers."""
        tensors = [value for value in LEAVES()(values) if isinstance(value, torch.Tensor)]
        return all(type(each) is not _FAKE and not _has_digits(each) for each in tensors)

    def _fake(self, value: Any) -> Any:
        new = super()._fake(value)
        if new is not value:
            key = value.untyped_storage()._cdata
            number = self._alive.get(key)
            if number is not None:  # it was read as it is before
                self._share(number, key, new.untyped_storage())
        return new

    def _share(self, number: int, key: int, storage: Any) -> None:
        """Let a fake storage and a real one stand for each other: one block until both are gone."""
        other = storage._cdata
        if other not in self._alive:
            self._alive[other] = number
            self._shared.setdefault(number, {key}).add(other)
            died = partial(self._died, number, other)
            self._standing[other] = weakref.ref(storage, died)

    def _died(self, number: int, key: int, reference: object) -> None:
        super()._died(number, key, reference)
        self._standing.pop(key, None)
        if number in self._shared:
            self._shared[number].discard(key)
            if self._shared[number]:
                self.blocks[number].died = STAYS

    def _computed(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.convert is not None and args:
            if func is _ITEM and (answer := self._answer(args[0])) is not None:
                self.answered += 1
                return answer
            tensors = any(isinstance(value, torch.Tensor) for value in LEAVES()((args, kwargs)))
            whole = self.stays_real((args, kwargs)) if tensors else _makes_whole(func, args, kwargs)
            if whole:
                with UNSET()():
                    return func(*args, **kwargs)
        return super()._computed(func, args, kwargs)

    def go_on_with_forward(self) -> None:
        """Count what seemed to be the loss as forward: another module runs after it."""
        for call in takewhile(lambda call: call.phase is Phase.LOSS, reversed(self.calls)):
            call.phase = Phase.FORWARD

    def array(self, tensor: Any) -> Any:
        """Return a fake tensor as an array of NumPy, whose items are the answers to its values."""
        answer = self._answer(tensor)
        if answer is None:
            raise ValueNeededError("an array of NumPy, which needs values")
        self.answered += 1
        with UNSET()():
            return torch.full(tuple(tensor.shape), answer, dtype=tensor.dtype).numpy()

    def _answer(self, tensor: Any) -> float | int | bool | None:
        """Return the answer to a question for the value of a fake tensor; None where it is asked of
        one that no model gave."""
        if type(tensor) is not _FAKE or tensor.constant is not None:
            return None
        if _has_digits(tensor):
            return 1.0
        number = self.number(tensor)
        if number not in self._from_values:
            return None
        return self._from_values[number] if tensor.dtype is torch.bool else 0

    def _given(self, out: Any, call: SeenCall, at: int) -> None:
        super()._given(out, call, at)
        if not isinstance(out, torch.Tensor) or _has_digits(out):
            return
        used = (*call.reads, *call.updates)
        if any(_is_float(self.blocks[n].spec) or n in self._from_values for n in used):
            number = self.number(out)
            if number is not None and number not in self._from_values:
                self._from_values[number] = self._decided(call) if out.dtype is torch.bool else None

    def _decided(self, call: SeenCall) -> bool | None:
        """Return the outcome of a comparison if all numbers with digits are 1.0; None where it is
        decided by others."""
        kind = call.func.__name__.partition(".")[0]
        if kind not in _DECISIONS:
            return None
        values = [self._usual(value) if type(value) is SeenTensor else value for value in call.args]
        if any(value is None for value in values):
            return None
        with UNSET()():
            return bool(values[0] if kind in ("any", "all") else call.func(*values))

    def _usual(self, seen: SeenTensor) -> Any:
        """Return a number in the place of a tensor; None where no number can be taken."""
        if _is_float(seen):
            return torch.tensor(1.0)
        outcome = self._from_values.get(seen.storage) if seen.dtype == "bool" else None
        return None if outcome is None else torch.tensor(outcome)

    def _first(self, tensor: Any, key: int) -> int:
        number = fake_key = None
        if self.convert is not None and type(tensor) is not _FAKE:
            fake_key = self.convert(tensor).untyped_storage()._cdata
            number = self._alive.get(fake_key)
        if number is None or fake_key is None:
            number = super()._first(tensor, key)
            self.first_seen[number] = len(self.calls)
        else:  # the fake one that stands for it was read before
            self._share(number, fake_key, tensor.untyped_storage())
        return number


def _makes_whole(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an operator that gets no tensor makes one of whole numbers: a random order of
    samples, positions, a mask."""
    dtype = kwargs.get("dtype")
    if dtype is None:
        numbers = func.__name__.partition(".")[0] in ("arange", "randperm", "randint")
        return numbers and not any(isinstance(value, float) for value in args)
    return not (dtype.is_floating_point or dtype.is_complex)


def _has_digits(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating_point or tensor.dtype.is_complex)


def _is_float(seen: SeenTensor) -> bool:
    return "float" in seen.dtype or "complex" in seen.dtype


@dataclass(frozen=True)
class Growth:
    """Growth of memory from step to step: its bytes in each, and the tensors that are held."""

    nbytes: int
    tensors: tuple[Any, ...] = ()


class WatchedLoop:
    """Training loop that is watched while this context lasts; ``step_ended`` ends a step.

    ``card`` is the card whose step it is, None for a processor. With ``real`` it runs on real
    tensors. ``names`` are those of objects, by their ids, for modules and tensors that are known by
    the name of a variable.
    """

    def __init__(
        self, card: CudaCard | None = None, real: bool = False, names: dict[int, str] | None = None
    ) -> None:
        self.card, self.real, self.names = card, real, names or {}
        self.fake = None if real else real_outputs.Fakes(allow_non_fake_inputs=True)
        self.conversion = None if self.fake is None else Conversion(self.fake)
        self.paths = LoopPaths(torch.nn.Module())
        self.optimizers: dict[int, Any] = {}
        self.ends: list[int] = []
        self._alive: list[int] = []
        self._contexts = contextlib.ExitStack()
        self.recorder = self._recorder()

    def _recorder(self) -> LoopRecorder:
        if self.conversion is None:
            return LoopRecorder(self.paths)
        truths = CudaOutputs() if self.card else real_outputs.Truths()
        return LoopRecorder(self.paths, truths, self.conversion.tensor)

    # -- watching ------------------------------------------------------------------------------

    def __enter__(self) -> WatchedLoop:
        self.paths.rename(container(top_modules(), self.names))
        with contextlib.ExitStack() as stack:
            here = self.card is not None and not _on_gpu()
            if self.card is not None and here:
                stack.enter_context(cuda_means_here(self.card))
            stack.enter_context(torch.compiler.set_stance("force_eager"))
            stack.enter_context(WITHOUT_WARNINGS.used())
            capability = self.card.capability if self.card and here else None
            stack.enter_context(cuda_operators(capability))
            stack.enter_context(quiet())
            if self.fake is not None:
                stack.enter_context(self.fake)
            stack.enter_context(paused())
            stack.enter_context(self.paths)
            stack.enter_context(self._phases())
            stack.enter_context(self._answers())
            stack.enter_context(self.recorder)
            self._contexts = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._contexts.close()

    @contextlib.contextmanager
    def _answers(self) -> Iterator[None]:
        """Answer a loop that writes the value of a fake tensor, or makes an array of it."""
        array = self.recorder.array

        def written(tensor: Any, form: str) -> str:
            return format(tensor.item(), form) if form and not tensor.dim() else repr(tensor)

        answers = {"__format__": written, "numpy": lambda tensor, **_: array(tensor),
                   "tolist": lambda tensor: array(tensor).tolist()}  # fmt: skip
        with contextlib.ExitStack() as stack:
            for name, answer in {} if self.real else answers.items():
                stack.enter_context(mock.patch.object(_FAKE, name, answer))
            yield

    @contextlib.contextmanager
    def _phases(self) -> Iterator[None]:
        """Follow the phases of the loop: a module begins forward, its end the loss; backward and
        the steps of optimizers tell themselves, and zeros for gradients belong to the update."""
        recorder = self.recorder

        def entered() -> None:
            if recorder.phase is not Phase.BACKWARD:
                recorder.phase = Phase.FORWARD
                recorder.go_on_with_forward()

        def left() -> None:
            if recorder.phase is Phase.FORWARD:
                recorder.phase = Phase.LOSS

        def begins(optimizer: Any, args: Any, kwargs: Any) -> None:
            if isinstance(optimizer, torch.optim.LBFGS) and not self.real:
                raise ValueNeededError("LBFGS, which decides by values how often it runs the model")
            self.optimizers[id(optimizer)] = optimizer
            self._enter_gradients(optimizer)
            recorder.phase = Phase.UPDATE

        def run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            creates_graph = bool(args[2]) if len(args) > 2 else False
            before = recorder.phase
            if not creates_graph:
                recorder.phase = Phase.BACKWARD
            try:
                return engine(outputs, *args, **kwargs)
            finally:
                if before is Phase.BACKWARD or creates_graph:
                    recorder.phase = before
                else:
                    recorder.phase = Phase.UPDATE

        engine, scaler = BACKWARD(), torch.amp.GradScaler
        self.paths.entered, self.paths.left = entered, left
        handle = register_optimizer_step_pre_hook(begins)
        with contextlib.ExitStack() as stack:
            stack.callback(handle.remove)
            stack.enter_context(mock.patch.object(torch.autograd, BACKWARD.name, run_backward))
            if not self.real:
                SCALED_STEP.of(scaler)
                stack.enter_context(mock.patch.object(scaler, SCALED_STEP.name, step_always))
            yield

    # -- steps ---------------------------------------------------------------------------------

    def step_ended(self) -> None:
        """End a step: what follows is the next one."""
        models = container(self._used(), self.names)
        self.paths.rename(models)
        self._enter(models)
        self.ends.append(len(self.recorder.calls))
        there = (block for block in self.recorder.blocks if block.died == STAYS)
        self._alive.append(sum(block.nbytes for block in there))
        self.recorder.phase = Phase.FORWARD

    def _used(self) -> list[Any]:
        """Return the outermost modules of which one ran, or a parameter was read or changed."""
        ran = self.paths.ran

        def used(module: Any) -> bool:
            inside = any(id(each) in ran for each in module.modules())
            return inside or any(map(self._was_seen, module.parameters()))

        return [module for module in top_modules() if used(module)]

    def _was_seen(self, tensor: Any) -> bool:
        if self.conversion is None:
            return self.recorder.number(tensor) is not None
        return tensor in self.conversion

    def _mine(self, tensor: Any) -> Any:
        """Return a tensor as operators see it here: numbers, and whole numbers that were read, stay
        as they are."""
        if self.conversion is None or not tensor.dim() or self.recorder.number(tensor) is not None:
            return tensor
        return self.conversion.tensor(tensor)

    def _enter(self, models: Any) -> None:
        """Book the parameters, gradients and buffers of the models, and the states of optimizers,
        that are there now."""
        recorder = self.recorder
        named = dict(models.named_parameters())
        for name, buffer in models.named_buffers():
            recorder.enter(self._mine(buffer), Role.BUFFER, name)
        known = {id(parameter) for parameter in named.values()}
        for optimizer in self.optimizers.values():
            for parameter in _parameters(optimizer):
                if id(parameter) not in known:
                    known.add(id(parameter))
                    named[self.names.get(id(parameter), f"parameter {len(named)}")] = parameter
        names = {id(parameter): name for name, parameter in named.items()}
        for name, parameter in named.items():
            recorder.enter(self._mine(parameter), Role.PARAMETER, name)
            self._enter_gradient(parameter, name)
        for optimizer in self.optimizers.values():
            enter_states(recorder, optimizer, names, self.card is not None, self._mine)

    def _enter_gradients(self, optimizer: Any) -> None:
        """Book the gradients that an optimizer is about to use."""
        names = {id(p): name for name, p in self.paths.model.named_parameters()}
        for parameter in _parameters(optimizer):
            self._enter_gradient(parameter, names.get(id(parameter), ""))

    def _enter_gradient(self, parameter: Any, name: str) -> None:
        if parameter.grad is not None:
            gradient = f"{name}.grad" if name else ""
            self.recorder.enter(self._mine(parameter.grad), Role.PARAMETER_GRADIENT, gradient, name)

    @property
    def untrained(self) -> list[str]:
        """Names of the models that ran in evaluation mode while gradients were enabled."""
        untrained = self.paths.untrained.items()
        paths = {id(module): path for path, module in self.paths.model.named_modules()}
        return [self.names.get(key) or paths.get(key) or type(module).__name__
                for key, module in untrained]  # fmt: skip

    # -- what was seen -------------------------------------------------------------------------

    def growth(self) -> Growth | None:
        """Return the bytes by which memory grows in each step; None where it does not."""
        steps = [after - before for before, after in pairwise(self._alive)][-2:]
        if len(steps) < 2 or min(steps) <= 0:
            return None
        return Growth(steps[-1], tuple(self._held(self.ends[0], self.ends[-1])))

    def _seen_by(self, number: int, block: SeenBlock) -> int:
        return self.recorder.first_seen.get(number, block.born)

    def detach(self) -> None:
        """Detach every tensor that is held after a step from its graph, but for views, which
        PyTorch refuses to."""
        for tensor in list(self._held(0, len(self.recorder.calls))):
            if tensor.grad_fn is not None and not tensor._is_view():
                tensor.detach_()

    def _held(self, start: int, end: int) -> Iterator[Any]:
        """Yield tensors that are held from one step to the next, and are no parameters or states:
        they keep memory, their own or that of a graph."""
        for tensor in live(torch.Tensor):
            number = self.recorder.number(tensor) if tensor.layout is torch.strided else None
            if number is None:
                continue
            block = self.recorder.blocks[number]
            kept = start <= block.born < end or tensor.grad_fn is not None
            if block.role is None and block.born < end and kept:
                yield tensor

    def trace(self, batch: int, first: int = -2, last: int = -1) -> Trace:
        """Return the calls and storages between two ends of steps, of the last step where none are
        given; ``batch`` is the number of samples in a step."""
        return self._cut(batch, self.ends[first], self.ends[last])

    def begins(self, first: int) -> tuple[int, ...]:
        """Return the calls with which the steps after an end begin, in a trace from that end."""
        return tuple(end - self.ends[first] for end in self.ends[first:-1])

    def recording(self, one: Trace, others: Sequence[Trace] = ()) -> Recording:
        """Return the recording of a trace, for its batch alone; with two others of the same loop at
        other batches, for any batch: sizes are found from the trace and the first of them, and held
        against the second.

        Raises:
            InputError: the traces differ in more than sizes, or a size is no line in the batch.
        """
        matched = Matched(one, others[0] if others else one)
        if others:
            checked(matched, others[1], lambda: others[1])
        optimizers = [type(optimizer).__name__ for optimizer in self.optimizers.values()]
        return Recording(
            matched.calls(),
            matched.blocks(),
            self.label,
            " and ".join(dict.fromkeys(optimizers)),
            (one.batch, others[0].batch) if others else (one.batch,),
            self.real,
            self.paths.modules,
            tuple(self._notes(one)),
            valid=None if others else range(one.batch, one.batch + 1),
            cuda=self.card is not None,
        )

    @property
    def label(self) -> str:
        """Class of the only model, or the names of several: ``"generator and critic"``."""
        models = self.paths.model
        if not isinstance(models, Models):
            return type(models).__name__
        return " and ".join(name for name, _ in models.named_children()) or NO_MODEL

    def _notes(self, trace: Trace) -> Iterator[str]:
        yield "recorded from your own loop"
        if self.card:
            yield f"as CUDA runs it, {self.card.title}"
        if self.real:
            yield "recorded on real tensors"
        if any(type(module).__name__ == COMPILED for module in self.paths.ran.values()):
            yield "compiled code planned as it was written"
        if self.recorder.answered:
            yield "values that the loop reads from a model are taken as 1, 0 or False"
        if trace.resized:
            yield f"{len(set(trace.resized))} storages change size, counted at their largest"

    def _cut(self, batch: int, first: int, last: int) -> Trace:
        """Return the calls from ``first`` up to ``last``, and the storages that are there."""
        numbers: dict[int, int] = {}
        blocks: list[SeenBlock] = []
        for number, block in enumerate(self.recorder.blocks):
            there = block.born < last and (block.died == STAYS or block.died >= first)
            if not there or self._seen_by(number, block) >= last:
                continue
            numbers[number] = len(blocks)
            blocks.append(self._shifted(block, numbers[number], first, last))
        calls = [_renumbered(call, numbers, first) for call in self.recorder.calls[first:last]]
        resized = [numbers[number] for number in self.recorder.resized if number in numbers]
        return Trace(batch, calls, blocks, resized)

    def _shifted(self, block: SeenBlock, number: int, first: int, last: int) -> SeenBlock:
        """Return a storage as it is seen from ``first`` to ``last``."""
        born = BEFORE if block.born < first else block.born - first
        died = STAYS if block.died == STAYS or block.died >= last else block.died - first
        data = block.foreign and block.role is None and bool(block.spec.shape)
        earlier = born == BEFORE and block.role is None and not block.foreign
        name = "input" if data else "kept from an earlier step" if earlier else ""
        return replace(
            block,
            born=born,
            died=died,
            spec=block.spec._replace(storage=number),
            role=Role.INPUT if data else Role.FEATURE_MAP if earlier else block.role,
            foreign=block.foreign and not data,
            name=block.name or name,
        )


class Models(torch.nn.Module):
    """Container of the models of a loop."""


def container(modules: Sequence[Any], names: dict[int, str]) -> Any:
    """Return one module with all modules in it by the names of their variables, or of their classes
    where they have none; the module itself where it is the only one."""
    models = [module for module in modules if next(module.parameters(), None) is not None]
    if len(models) == 1:
        return models[0]
    together = Models()
    for model in models:
        name = names.get(id(model), type(model).__name__.lower()).replace(".", "_")
        taken = sum(key.rstrip("0123456789") == name for key in together._modules)
        together.add_module(f"{name}{taken + 1}" if taken else name, model)
    return together


def _renumbered(call: SeenCall, numbers: dict[int, int], first: int) -> SeenCall:
    """Return a call with the numbers of the storages and calls of a part of a trace."""

    def value_of(value: Any) -> Any:
        if isinstance(value, SeenTensor):
            return value._replace(storage=numbers[value.storage])
        if isinstance(value, list | tuple):
            return type(value)([value_of(each) for each in value])
        return value

    forward = None if call.forward is None or call.forward < first else call.forward - first
    return replace(
        call,
        args=value_of(call.args),
        kwargs={name: value_of(value) for name, value in call.kwargs.items()},
        outputs=value_of(call.outputs),
        forward=forward,
        reads=[numbers[number] for number in call.reads],
        updates=[numbers[number] for number in call.updates],
        born=[numbers[number] for number in call.born],
    )


def _on_gpu() -> bool:
    """Return whether a model lies on a GPU: its operators choose their kernels themselves then."""
    models = live(torch.nn.Module)
    return any(p.is_cuda for model in models for p in model._parameters.values() if p is not None)


def top_modules() -> list[Any]:
    """Return the modules that are there now and are no part of another one."""
    modules = [
        each
        for each in live(torch.nn.Module)
        if not isinstance(each, Models) and type(each).__name__ != COMPILED
    ]
    children = {id(child) for module in modules for child in module._modules.values()}
    return [module for module in modules if id(module) not in children]


def _parameters(optimizer: Any) -> list[Any]:
    """Return the parameters that an optimizer updates."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
