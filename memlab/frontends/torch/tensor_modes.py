"""Running a model's training step to be watched: on fake tensors, or on real ones where it must be.

Fake tensors have shapes and storages, and neither memory nor arithmetic. Import this module only
where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from threading import get_ident
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from memlab import optimizers
from memlab.errors import InputError, one_option, shorten
from memlab.frontends.torch import real_outputs
from memlab.frontends.torch.built_model import Born, Conversion, built, on_meta
from memlab.frontends.torch.cuda.operators import CudaOutputs, cuda_operators
from memlab.frontends.torch.cuda.replaced_kernels import Shared
from memlab.frontends.torch.device_calls import cuda_means_here, step_always
from memlab.frontends.torch.dispatch_mode import (
    Paths,
    Recorder,
    SeenBlock,
    SeenCall,
    nothing,
    of_thread,
)
from memlab.frontends.torch.torch_private_api import LEAVES, MAP, NO_VALUE
from memlab.placement.cuda_cards import CudaCard
from memlab.step.op import Phase
from memlab.step.paused_gc import paused
from memlab.step.tensor import Role

Optimizer = str | Callable[[Any], Any]
"""The name of an optimizer, or what makes one of parameters."""
Change = Callable[[Any], Any]
"""What gives modules of a model other classes, in place, and returns the model."""

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-3),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3),
}
_STATES = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}
"""Number of states that an optimizer keeps of each parameter."""
_STEP = "memlab.explain(step=function, batch=...) takes any step"
_PAIR = {
    tuple: f"try lambda B: (torch.randn(B, 3, 224, 224), torch.randint(1000, (B,))); {_STEP}",
    torch.Tensor: "without a target try (input, None) and loss_fn=lambda output, _: output.sum()",
    dict: "memlab.explain(model, batch) takes a dictionary, for a model that returns its loss",
}
"""Advice for a batch that is no pair, by its type."""
COMPILED = "OptimizedModule"
"""Class of what ``torch.compile`` returns for a module."""
FORMATS = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""Those that autocast can compute in."""


def as_it_is(model: Any) -> Any:
    """Return the model unchanged."""
    return model


def autocast(format: str, device: str) -> Any:
    """Return a context in which PyTorch computes in that format where it may; an empty one changes
    nothing."""
    return torch.autocast(device, FORMATS[format]) if format else contextlib.nullcontext()


@dataclass(frozen=True)
class RecordingRequest:
    """Request for a recording.

    ``build()`` gives the model, ``make_batch(B)`` an input and a target, and ``loss_fn(output,
    target)`` the loss. ``autocast`` is a format or empty; a step adds the gradients of so many
    ``parts``; gradients are set to ``None`` or to zeros before it; ``keep_output`` holds the output
    of the model until the step ends, as a name does in a loop. With a ``card`` the step is that of
    CUDA. ``grad_scaler`` scales the loss, and ``clip_grad_norm`` is the norm that the gradients are
    clipped to. With ``keyword_inputs`` the input is a dictionary of arguments of the model.
    """

    build: Callable[[], Any]
    make_batch: Callable[[int], Any]
    loss_fn: Callable[[Any, Any], Any]
    optimizer: Optimizer = "momentum"
    autocast: str = ""
    parts: int = 1
    set_to_none: bool = True
    keep_output: bool = False
    card: CudaCard | None = None
    grad_scaler: bool = False
    clip_grad_norm: float | None = None
    keyword_inputs: bool = False

    def pair(self, batch: int) -> tuple[Any, Any]:
        """Return an input and a target of real tensors.

        Raises:
            InputError: ``make_batch`` gives no pair.
        """
        pair = self.make_batch(batch)
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InputError(
                f"make_batch({batch}) must give a pair (input, target), got {_described(pair)}; "
                f"{_PAIR.get(type(pair), _PAIR[tuple])}."
            )
        return pair[0], pair[1]


@dataclass(frozen=True, slots=True)
class Trace:
    """Calls and storages of a step as they were seen at one batch."""

    batch: int
    calls: list[SeenCall]
    blocks: list[SeenBlock]
    resized: list[int]


class SteppingScaler(torch.amp.GradScaler):
    """Gradient scaler that always takes the step: whether a gradient is infinite is a question
    about its values, which fake tensors have not."""

    _maybe_opt_step = step_always


class World:
    """Model that was built, with its optimizer, on fake or on real tensors; once it has taken a
    step, its optimizer has its state. ``values`` keeps a fake model from being built on the meta
    device, where numbers have no values; ``on_meta`` says whether it was."""

    def __init__(self, wish: RecordingRequest, real: bool, values: bool = False) -> None:
        self.wish, self.real = wish, real
        self.fake = None if real else real_outputs.Fakes(allow_non_fake_inputs=True)
        self.conversion = None if real else Conversion(self.fake)
        with self.on_card():
            self.model, self.on_meta = self._built(values)
        with self.on_card(), self.inside():
            self.optimizer = optimizer_of(wish.optimizer, self.model)
            self.scaler = SteppingScaler("cpu", enabled=wish.grad_scaler)
        self.paths = Paths(self.model)

    def _built(self, values: bool) -> tuple[Any, bool]:
        """Return the model, and whether it was built on the meta device."""
        if self.conversion is None:
            return built(self.wish.build), False
        born = Born()
        model = None if values else on_meta(self.wish.build, born)
        if model is not None:
            return self.conversion.model(model, born), True
        with born:
            model = built(self.wish.build)
        return self.conversion.model(model, born), False

    @property
    def resident(self) -> int:
        """Bytes of the parameters, their gradients and the states of an optimizer that has a name;
        of any other the states are taken to be those of Adam."""
        parameters = list(self.model.parameters())
        name = self.wish.optimizer if isinstance(self.wish.optimizer, str) else "adam"
        times = [2 + _STATES[name] if each.requires_grad else 1 for each in parameters]
        return sum(
            time * int(parameter.nbytes) for time, parameter in zip(times, parameters, strict=True)
        )

    def lacks_values(self, error: Exception) -> bool:
        """Return whether an error may come from numbers that have no value on the meta device, on
        which this model was built."""
        if not self.on_meta or self.conversion is None:
            return False
        of_meta = re.search(r"\bmeta\b", str(error)) is not None
        return of_meta or (isinstance(error, NO_VALUE()) and self.conversion.numbers)

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Enter the mode in which the tensors of this model are made."""
        card = self.wish.card
        with contextlib.ExitStack() as stack:
            stack.enter_context(cuda_operators(card.capability if card else None))
            if self.fake is not None and self.conversion is not None:
                stack.enter_context(self.fake)
                stack.enter_context(self.conversion.lent())
            yield

    @contextlib.contextmanager
    def on_card(self) -> Iterator[None]:
        """Answer a user's calls of CUDA by the processor inside the context, where the step is that
        of a card. Compiled code runs as it was written: what a compiler makes of it for a card is
        not known here."""
        if self.wish.card is None:
            yield
            return
        with cuda_means_here(self.wish.card), torch.compiler.set_stance("force_eager"):
            yield

    @property
    def compiled(self) -> bool:
        """True if any module of the model is compiled; its class is known by its name, for loading
        the compiler takes seconds."""
        return any(type(module).__name__ == COMPILED for module in self.model.modules())

    @contextlib.contextmanager
    def changed(self, change: Change, options: Mapping[str, Any]) -> Iterator[None]:
        """Change the model inside the context, and options of the request."""
        wish, kinds = self.wish, [(module, type(module)) for module in self.model.modules()]
        self.wish = replace(wish, **options)
        try:
            change(self.model)
            yield
        finally:
            self.wish = wish
            for module, kind in kinds:
                module.__class__ = kind

    def trace(self, batch: int, update: bool = True) -> Trace:
        """Run and record one step at a batch, with or without its update. Objects in a cycle are
        freed after it.

        Raises:
            InputError: ``make_batch`` gives no pair; and whatever the user's code raises.
        """
        with self.on_card():
            return self._trace(batch, update)

    def _trace(self, batch: int, update: bool) -> Trace:
        """Run and record one step, in the context of its card."""
        pair = self.wish.pair(batch)
        recorder = self._recorder()
        with self.inside(), paused(), self.paths, _gradients(self.model, recorder):
            data = MAP()(self._mine, pair)
            if self.wish.set_to_none:
                self.optimizer.zero_grad()
            self._enter(recorder, data)
            x, target = data
            with recorder, self._named(batch):
                held = self._step(recorder, x, target, update)
            if update:
                self._enter_state(recorder)
            recorder.enter(held[-1], Role.FEATURE_MAP, "loss")
            recorder.close()
        return Trace(batch, recorder.calls, recorder.blocks, recorder.resized)

    def _recorder(self) -> Recorder:
        """Return a recorder of one step."""
        if self.conversion is None:
            return Recorder(self.paths)
        truths = CudaOutputs() if self.wish.card else real_outputs.Truths()
        return Recorder(self.paths, truths, self.conversion.tensor)

    def _step(self, recorder: Recorder, x: Any, target: Any, update: bool) -> list[Any]:
        """Run one step of a user's training loop; return the values that its names
        hold at the end."""
        wish = self.wish
        held: list[Any] = []
        recorder.phase = Phase.UPDATE
        if not wish.set_to_none:
            self.optimizer.zero_grad(set_to_none=False)
        for part in range(1, wish.parts + 1):
            recorder.phase, recorder.part = Phase.FORWARD, part
            loss = self._forward(recorder, x, target, held)
            recorder.phase = Phase.BACKWARD
            self.scaler.scale(loss).backward()
        recorder.phase, recorder.part = Phase.UPDATE, 1
        if update:
            self._update()
        return [*held, loss]

    def _update(self) -> None:
        """Clip the gradients if a norm is given, and update the parameters."""
        if self.wish.clip_grad_norm is not None:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.wish.clip_grad_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def _forward(self, recorder: Recorder, x: Any, target: Any, held: list[Any]) -> Any:
        """Return the loss of a part; ``held`` gets the output where a name holds it."""
        wish = self.wish
        self.paths.left = lambda: setattr(recorder, "phase", Phase.LOSS)
        self.paths.entered = lambda: setattr(recorder, "phase", Phase.FORWARD)
        device = next((parameter.device.type for parameter in self.model.parameters()), "cpu")
        with autocast(wish.autocast, device):
            if wish.keep_output:
                held[:] = [self._output(x)]
                loss = wish.loss_fn(held[0], target)
            else:
                loss = wish.loss_fn(self._output(x), target)
            loss = checked_loss(loss)
            loss = loss / wish.parts if wish.parts > 1 else loss
        self.paths.left = self.paths.entered = nothing
        return loss

    def _output(self, x: Any) -> Any:
        return self.model(**x) if self.wish.keyword_inputs else self.model(x)

    @contextlib.contextmanager
    def _named(self, batch: int) -> Iterator[None]:
        """Add to an error of the user's code the batch and the module where it came up."""
        try:
            yield
        except Exception as error:
            where = f"module {self.paths.last!r} began last" if self.paths.last else "no module ran"
            error.add_note(f"memlab was recording a batch of {batch}; {where}.")
            raise

    def _mine(self, value: Any) -> Any:
        """Return a value of ``make_batch`` as a tensor of this mode."""
        if self.fake is None or not isinstance(value, torch.Tensor):
            return value
        return self.fake.from_tensor(value)

    def _enter(self, recorder: Recorder, data: Any) -> None:
        """Book everything that is there before the step."""
        for name, parameter in self.model.named_parameters():
            recorder.enter(parameter, Role.PARAMETER, name)
        for name, parameter in self.model.named_parameters():
            if parameter.grad is not None:
                recorder.enter(parameter.grad, Role.PARAMETER_GRADIENT, f"{name}.grad", name)
        for name, buffer in self.model.named_buffers():
            recorder.enter(buffer, Role.BUFFER, name)
        for title, part in zip(("input", "target"), data, strict=True):
            tensors = [tensor for tensor in LEAVES()(part) if isinstance(tensor, torch.Tensor)]
            for at, tensor in enumerate(tensors):
                recorder.enter(tensor, Role.INPUT, f"{title}.{at}" if len(tensors) > 1 else title)
        self._enter_state(recorder)

    def _enter_state(self, recorder: Recorder) -> None:
        """Book the states that the optimizer keeps."""
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        enter_states(recorder, self.optimizer, names, self.wish.card is not None)


def enter_states(
    recorder: Recorder,
    optimizer: Any,
    names: Mapping[int, str],
    on_card: bool,
    mine: Change = as_it_is,
) -> None:
    """Book the states that an optimizer keeps, by the names of the parameters that have these ids.
    ``mine`` gives a tensor as operators see it. A card's optimizer counts its steps on the host
    unless it is fused."""
    stay = {
        id(parameter)
        for group in getattr(optimizer, "param_groups", ())
        if group.get("fused") or group.get("capturable")
        for parameter in group["params"]
    }
    for parameter, kept in optimizer.state.items():
        owner = names.get(id(parameter), "")
        values = kept.items() if isinstance(kept, dict) else ()
        for name, state in values:
            if isinstance(state, torch.Tensor):
                full_name = ".".join(filter(None, (owner, str(name))))
                state = mine(state)
                recorder.enter(state, Role.OPTIMIZER_STATE, full_name, owner)
                if on_card and not state.dim() and id(parameter) not in stay:
                    recorder.keep_on_host(state)


def checked_loss(loss: Any) -> Any:
    """Return a loss that backward can begin from.

    Raises:
        InputError: not one number that depends on a parameter.
    """
    if isinstance(loss, tuple | list | dict) and len(loss):
        key = next(iter(loss)) if isinstance(loss, dict) else 0
        advice = f"try loss_fn=lambda output, target: loss(output, target)[{key!r}]"
    elif not isinstance(loss, torch.Tensor):
        advice = "try loss_fn=torch.nn.functional.cross_entropy"
    elif loss.numel() != 1:
        advice = "try loss_fn=lambda output, target: loss(output, target).mean()"
    elif not loss.requires_grad:
        raise InputError(
            "the loss depends on no parameter that is trained; train one (requires_grad), or for "
            "inference try memlab.explain(step=lambda x: model(x), batch=x)."
        )
    else:
        return loss
    raise InputError(f"loss_fn must give one number, a tensor, got {_described(loss)}; {advice}.")


def _described(value: Any) -> str:
    """Return a value in a few words: of a tensor its shape, of a collection its type and length."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list | dict):
        return f"a {type(value).__name__} of {len(value)}"
    return shorten(value)


@contextlib.contextmanager
def _gradients(model: Any, recorder: Recorder) -> Iterator[None]:
    """Book the gradient that autograd adds to a parameter as such, whatever it was born as, and the
    calls of an optimizer as the update, also where it steps inside backward."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    phases: list[Phase] = []
    thread = get_ident()

    def accumulated(parameter: Any) -> None:
        if parameter.grad is not None and (name := names.get(id(parameter))):
            recorder.enter(parameter.grad, Role.PARAMETER_GRADIENT, f"{name}.grad", name)

    def begins(optimizer: Any, args: Any, kwargs: Any) -> None:
        if not of_thread(thread):
            return
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                accumulated(parameter)  # its hook may come later than that of who steps
        phases.append(recorder.phase)
        recorder.phase = Phase.UPDATE

    def ended(optimizer: Any, args: Any, kwargs: Any) -> None:
        if of_thread(thread):
            recorder.phase = phases.pop()

    handles = [
        parameter.register_post_accumulate_grad_hook(accumulated)
        for parameter in model.parameters()
        if parameter.requires_grad and parameter.is_leaf
    ]
    handles += [register_optimizer_step_pre_hook(begins), register_optimizer_step_post_hook(ended)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep fake tensors from writing the trace of each error of the user into a log."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


quiet = Shared(_quiet).used
"""As ``_quiet``, for any number of recordings at once."""


def optimizer_of(optimizer: Optimizer, model: Any) -> Any:
    """Return the optimizer of a model.

    Raises:
        InputError: no such name, no parameters, or something that does not step.
    """
    make = optimizer if callable(optimizer) else one_option("optimizer", optimizer, OPTIMIZERS)
    if next(model.parameters(), None) is None:
        raise InputError(f"the model has no parameters, and nothing is trained; {_STEP}.")
    stepper = make(model.parameters())
    if not callable(getattr(stepper, "step", None)):
        raise InputError(
            f"optimizer(parameters) must give an optimizer, got {shorten(stepper)}; "
            "try lambda p: torch.optim.SGD(p, lr=0.1)."
        )
    return stepper


def title(optimizer: Any) -> str:
    """Return the name of an optimizer, by which memlab knows it where it does."""
    optimizer = next(iter(getattr(optimizer, "optimizers", ())), optimizer)
    name = type(optimizer).__name__
    if name == "SGD":
        return "momentum" if optimizer.defaults.get("momentum") else "sgd"
    return name.lower() if name.lower() in optimizers.OPTIMIZERS else name
