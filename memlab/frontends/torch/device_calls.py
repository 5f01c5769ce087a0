"""A user's calls of CUDA, answered by the processor.

On a machine without a GPU, ``.cuda()``, ``.to("cuda")`` and ``device="cuda"`` of a user's model are
errors, and on a CPU build of PyTorch a fake CUDA tensor that needs a gradient ends the process.
Inside ``cuda_means_here`` these calls give tensors of the processor. Autocast and a gradient
scaler, which turn themselves off without a GPU, stay on. Import this module only where PyTorch is
installed: memlab does not need it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import torch
from torch.amp.autocast_mode import autocast
from torch.amp.grad_scaler import GradScaler
from torch.overrides import TorchFunctionMode

from memlab.frontends.torch.cuda.replaced_kernels import Shared
from memlab.frontends.torch.torch_private_api import CONSTRUCTORS, DEVICES, MODES, SCALED_STEP
from memlab.placement.cuda_cards import CARDS, USUAL, CudaCard

_HERE = torch.device("cpu")
_constructors = CONSTRUCTORS()


@contextlib.contextmanager
def cuda_means_here(card: CudaCard = USUAL) -> Iterator[None]:
    """Let the processor answer every call of CUDA inside the context: devices of tensors and
    modules, ``torch.cuda``, autocast, ``GradScaler`` and ``torch.load``; questions about the device
    are answered for the card. Afterwards, also after an exception, all is as before."""
    import_module("torch._dynamo")  # keeps PyTorch's own functions in tables when it is loaded
    with _ANSWERED.used(), _DeviceCalls():
        before = _THREAD.card
        _THREAD.card = card
        try:
            yield
        finally:
            _THREAD.card = before


class _Thread(threading.local):
    """Card that this thread's calls are answered for; without one PyTorch answers itself."""

    card: CudaCard | None = None


_THREAD = _Thread()


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    """Replace PyTorch's questions and constructors inside the context."""
    with contextlib.ExitStack() as stack:
        for owner, name, answer in _answers():
            stack.enter_context(_replaced(owner, name, answer))
        yield


_ANSWERED = Shared(_answered)


def means_here() -> bool:
    """Return whether the processor answers calls of CUDA now."""
    modes: list[object] = MODES()()
    return any(isinstance(mode, _DeviceCalls) for mode in modes)


def is_cuda(device: Any) -> bool:
    """Return whether a value means a CUDA device; a number is that of a GPU."""
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    return isinstance(device, int) and not isinstance(device, bool)


class _DeviceCalls(TorchFunctionMode):
    """Mode in which tensors that are asked for on CUDA are on the processor. Pinned memory is plain
    memory: only a copy to a GPU needs it."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func is torch.Tensor.cuda:
            return args[0].to(_HERE, **_memory_format(kwargs))
        if func is torch.Tensor.to:
            args = (args[0], *map(_moved, args[1:]))
        if func in _constructors():
            _create_here(kwargs)
        elif "device" in kwargs:
            kwargs["device"] = _moved(kwargs["device"])
        return func(*args, **kwargs)


def _create_here(kwargs: dict[str, Any]) -> None:
    """Let a function create a tensor on the processor in the place of CUDA, also where CUDA is the
    default."""
    kwargs.pop("pin_memory", None)
    device = kwargs.get("device")
    if is_cuda(DEVICES().CURRENT_DEVICE if device is None else device):
        kwargs["device"] = _HERE


def _memory_format(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if name == "memory_format"}


def _moved(device: Any) -> Any:
    """Return the processor in the place of a CUDA device; any other value unchanged."""
    return _HERE if is_cuda(device) else device


# -- functions that ask for CUDA without a tensor -------------------------------------------------


def _answers() -> Iterator[tuple[Any, str, Any]]:
    """Yield what is replaced, by its owner and its name, and what answers in its place."""
    cuda = torch.cuda
    yield cuda, "is_available", lambda: True
    yield cuda, "is_bf16_supported", lambda including_emulation=True: True
    yield cuda, "device_count", lambda: 1
    yield cuda, "current_device", lambda: 0
    yield cuda, "is_current_stream_capturing", lambda: False
    yield cuda, "get_device_name", lambda device=None: _card().title
    yield cuda, "get_device_capability", lambda device=None: _card().capability
    yield cuda, "get_device_properties", lambda device=None: _properties(_card())
    yield cuda, "mem_get_info", lambda device=None: (_memory(_card()), _memory(_card()))
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved",
                 "max_memory_reserved"):  # fmt: skip
        yield cuda, name, lambda device=None: 0
    for name in ("synchronize", "set_device", "empty_cache", "reset_peak_memory_stats",
                 "reset_max_memory_allocated", "ipc_collect", "init"):  # fmt: skip
        yield cuda, name, _nothing
    yield cuda, "memory_summary", lambda device=None, abbreviated=False: ""
    yield cuda, "memory_stats", lambda device=None: {}
    yield cuda, "get_rng_state", lambda device=None: torch.get_rng_state()
    yield cuda, "set_rng_state", lambda new_state, device=None: torch.set_rng_state(new_state)
    for name in ("Event", "Stream", "current_stream", "default_stream"):
        yield cuda, name, _Queue
    yield cuda, "stream", contextlib.nullcontext
    yield autocast, "__init__", _autocast_here(autocast.__init__)
    yield torch, "is_autocast_enabled", _of_type(torch.is_autocast_enabled)
    yield torch, "get_autocast_dtype", _of_type(torch.get_autocast_dtype)
    SCALED_STEP.of(GradScaler)
    yield GradScaler, SCALED_STEP.name, step_always
    yield GradScaler, "get_scale", _first_scale
    yield torch, "load", _load_here(torch.load)
    yield torch.nn.Module, "to", _module_to(torch.nn.Module.to)


class _Queue:
    """Stream or event of a device that has nothing to wait for. No time passes between events, but
    for a millisecond, by which code may divide."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.record = self.synchronize = self.wait = _nothing
        self.wait_stream = self.wait_event = _nothing

    def query(self) -> bool:
        """Return that all has been done."""
        return True

    def elapsed_time(self, end: Any) -> float:
        """Return the milliseconds between two events."""
        return 1.0

    def record_event(self, event: Any = None) -> Any:
        """Return an event."""
        return _Queue() if event is None else event


def _card() -> CudaCard:
    """Return the card that this thread's calls are answered for."""
    assert _THREAD.card is not None
    return _THREAD.card


def _memory(card: CudaCard) -> int:
    """Return the bytes of a card, those of the largest one where they are not known."""
    return card.memory or max(other.memory for other in CARDS.values())


def _properties(card: CudaCard) -> SimpleNamespace:
    """Return the properties of a device that code asks for most."""
    major, minor = card.capability
    return SimpleNamespace(
        name=card.title, major=major, minor=minor, total_memory=_memory(card),
        multi_processor_count=1,
    )  # fmt: skip


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace a function inside the context, in the threads whose calls are answered."""
    before = getattr(owner, name)

    @wraps(before)
    def function(*args: Any, **kwargs: Any) -> Any:
        return (value if _THREAD.card else before)(*args, **kwargs)

    setattr(owner, name, function)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing: there is no GPU to wait for."""


def _type_here(kind: str) -> str:
    return "cpu" if is_cuda(kind) else kind


def _autocast_here(begin: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor of autocast that turns on the processor's for CUDA, in the dtype that
    CUDA has unless one is given."""
    cuda_dtype = torch.get_autocast_dtype("cuda")

    @wraps(begin)
    def begin_here(
        self: Any, device_type: Any, dtype: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", cuda_dtype if dtype is None else dtype
        begin(self, device_type, dtype, *args, **kwargs)

    return begin_here


def _of_type(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Return a question about autocast that is asked of the processor in the place of CUDA, which
    it is about where no device is named."""

    @wraps(ask)
    def asked(device_type: str = "cuda") -> Any:
        return ask(_type_here(device_type))

    return asked


def step_always(self: Any, optimizer: Any, optimizer_state: Any, *args: Any, **kwargs: Any) -> Any:
    """Take the step of the optimizer, as in a step whose gradients are finite; a fake tensor has no
    value to be asked for."""
    return optimizer.step(*args, **kwargs)


def _first_scale(self: Any) -> float:
    """Return the scale that the scaler begins with, which is its scale as long as all gradients are
    finite."""
    return float(self._init_scale) if self.is_enabled() else 1.0


def _load_here(load: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``torch.load`` with tensors of a GPU put on the processor."""

    @wraps(load)
    def load_here(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        here = map_location is None or is_cuda(map_location)
        return load(f, "cpu" if here else map_location, *args, **kwargs)

    return load_here


def _module_to(to: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``Module.to`` with the processor in the place of CUDA, also where a GPU is given by
    its number, which PyTorch does not understand without one."""

    @wraps(to)
    def to_here(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = _moved(kwargs["device"])
        return to(self, *map(_moved, args), **kwargs)

    return to_here
