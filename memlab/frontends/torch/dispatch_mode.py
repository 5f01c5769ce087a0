"""Watching one training step: every call of an operator and the module that it comes from, every
storage from birth to death.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from threading import get_ident
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from memlab.errors import InputError
from memlab.frontends.torch.cuda.replaced_kernels import Shared
from memlab.frontends.torch.recording import BEFORE, ON_HOST, copies
from memlab.frontends.torch.torch_private_api import (
    BACKWARD,
    FAKE_TENSOR,
    MAP,
    MODE,
    NODE,
    SEQUENCE,
    WRAPPER,
)
from memlab.step.op import Phase
from memlab.step.tensor import Role

_ENGINE = BACKWARD().__code__
"""Code of PyTorch that runs backward: it is the frame around a call that no Python code makes."""
_sequence, _node, _FAKE = SEQUENCE(), NODE(), FAKE_TENSOR()
_wraps: Callable[[Any], bool] = cache(WRAPPER())

_SAME = {"add_", "addcdiv_", "addcmul_", "div_", "lerp_", "mul_", "neg_", "sub_"}
"""Operators of an optimizer that give back what they change, whatever is in it."""

STAYS = -2
"""The death of what was still there when the step ended."""

_ASIDE = {"prim", "prims", "profiler"}
"""Namespaces of what computes nothing: questions, the marks of a profiler."""
_DEVICE = torch.ops.prim.device.default
"""What autograd asks of every fake tensor."""

_aten = torch.ops.aten
_ADD = _aten.add.Tensor
_FILLS = {
    _aten.index_add.default: _aten.index_add_.default,
    _aten.index_put.default: _aten.index_put_.default,
    _aten.scatter.src: _aten.scatter_.src,
    _aten.scatter_add.default: _aten.scatter_add_.default,
    _aten.masked_scatter.default: _aten.masked_scatter_.default,
}
"""Operators by which autograd fills zeros that it made, and those that it takes unless a dispatch
mode is entered (``isTensorSubclassLike`` in PyTorch's ``FunctionsManual.cpp``)."""
_IN_PLACE = {_ADD: _aten.add_.Tensor, **_FILLS}

_DETACH = torch.ops.aten.detach.default
"""What hooks of saved tensors call before the operation that saves them; it has no backward."""

_HIDDEN = {
    "native_batch_norm": (3, 4),
    "cudnn_batch_norm": (3, 4),
    "miopen_batch_norm": (3, 4),
}
"""Arguments that an operator changes and its schema does not tell: the running statistics."""


class SeenTensor(NamedTuple):
    """Tensor as it is seen at one batch; ``recording.Spec`` is the same for any batch."""

    storage: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: str
    device: str
    needs_grad: bool


@dataclass(slots=True)
class SeenCall:
    """Call of an operator as it is seen at one batch; ``recording.OperatorCall`` is the same for
    any batch."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    phase: Phase
    grad: bool
    path: str
    forward: int | None
    again: bool
    part: int
    reads: list[int] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)
    born: list[int] = field(default_factory=list)
    outputs: list[SeenTensor | None] = field(default_factory=list)


@dataclass(slots=True)
class SeenBlock:
    """Storage as it is seen at one batch. ``foreign`` ones were not made by a call
    that was seen."""

    nbytes: int
    born: int
    died: int
    role: Role | None
    spec: SeenTensor
    name: str = ""
    owner: str = ""
    foreign: bool = False


class Paths:
    """Stack of the modules whose forward runs now in this thread, from the outermost to the
    innermost, while it is entered.

    A module that is used under several names has the first; one that is no part of the model, such
    as a loss, has that of its class. ``entered`` and ``left`` are told when the model itself begins
    and ends.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.modules = {name: type(module).__name__ for name, module in model.named_modules()}
        self.stack: list[str] = []
        self.last = ""
        self.entered: Callable[[], None] = nothing
        self.left: Callable[[], None] = nothing
        self._names = {id(module): name for name, module in model.named_modules()}
        self._handles: list[Any] = []
        self._thread = get_ident()

    @property
    def now(self) -> str:
        """Name of the innermost module whose forward runs; empty in the model itself and outside
        it."""
        return self.stack[-1] if self.stack else ""

    def __enter__(self) -> Paths:
        self.stack.clear()
        self._thread = get_ident()
        self._handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _enter(self, module: Any, inputs: Any) -> None:
        if not of_thread(self._thread):
            return
        if module is self.model:
            self.entered()
        name = self._names.get(id(module))
        if name is None:
            name = self.now or type(module).__name__
        self.stack.append(name)
        self.last = name

    def _leave(self, module: Any, inputs: Any, output: Any) -> None:
        if not of_thread(self._thread):
            return
        if self.stack:
            self.stack.pop()
        if module is self.model:
            self.left()


def of_thread(thread: int) -> bool:
    """Return whether this code runs in that thread, or in one that autograd runs backward in."""
    return get_ident() == thread or _inside_backward()


def nothing() -> None:
    """Do nothing: the default of a function that is called when a module begins or ends."""


class Recorder(MODE()):  # type: ignore[misc]  # PyTorch makes this class when it is asked for
    """Dispatch mode that notes every call, and every storage that a call returns, while it is
    entered.

    A storage that a call first returns is born there; it dies after the last call before nothing
    holds it any more. ``truth`` computes the outputs of operators of which fake ones are wrong;
    ``convert`` makes a fake tensor of a real one that the model did not register.
    """

    def __init__(
        self,
        paths: Paths,
        truth: Callable[..., Any] | None = None,
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        self.paths, self.truth, self.convert = paths, truth, convert
        self.phase, self.part = Phase.FORWARD, 1
        self.calls: list[SeenCall] = []
        self.blocks: list[SeenBlock] = []
        self.resized: list[int] = []
        self._alive: dict[int, int] = {}
        self._watched: dict[int, weakref.ref[Any]] = {}
        self._forward: dict[int, int] = {}
        self._regrown: list[int] = []
        self._made_by: dict[int, int] = {}
        self._in_place: SeenCall | None = None
        self._contexts: list[ExitStack] = []
        self._unseen: dict[int, weakref.ref[Any]] = {}

    def __enter__(self) -> Any:
        stack = ExitStack()
        stack.enter_context(_WATCHED_RESIZES.used())
        _RESIZED.append(self._resize)
        stack.callback(_RESIZED.remove, self._resize)
        self._contexts.append(stack)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._contexts.pop().close()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Tell PyTorch not to skip dynamo: its wrapper around every call would take a tenth of the
        time."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _DEVICE:
            return args[0].fake_device
        if any(map(_wraps, types)):
            return NotImplemented  # it calls operators on the tensors inside it, which are seen
        kwargs = kwargs or {}
        if func.namespace in _ASIDE:
            return func(*args, **kwargs)
        real = self.convert is not None and _any_real((args, kwargs))
        if real and not self.stays_real((args, kwargs)):
            args, kwargs = MAP()(self._fake, (args, kwargs))
        self._add_in_place()
        call = self._begun(func, args, kwargs)
        out = self._computed(func, args, kwargs)
        number = len(self.calls)
        self._given(out, call, number)
        if self._regrown:
            self._bear(call)
        self.calls.append(call)
        if self.phase is Phase.BACKWARD and call.born and (node := _node()) is not None:
            self._made_by.update(dict.fromkeys(call.born, node._sequence_nr()))
            frame = sys._getframe(1)
            by_autograd = func in _IN_PLACE and frame.f_code is _ENGINE and not args[0]._is_view()
            if by_autograd and self._is_in_place(call, node):
                self._in_place = call
        return out

    def stays_real(self, values: Any) -> bool:
        """Return whether an operator runs on real tensors that it is given."""
        return False

    def _fake(self, value: Any) -> Any:
        """Return a fake tensor in the place of a real one. A number stays one: PyTorch treats those
        that it wraps in another way."""
        return self.convert(value) if self.convert and _is_real(value) else value

    def _computed(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Output of a call; a fake update in place needs no computing."""
        if self.truth is not None:
            same = self.phase is Phase.UPDATE and func.__name__.partition(".")[0] in _SAME
            if same and type(args[0]) is _FAKE and args[0].constant is None:
                return args[0]
            if (output := self.truth(func, args, kwargs)) is not None:
                return output
        return func(*args, **kwargs)

    # -- storages ------------------------------------------------------------------------------

    def enter(self, tensor: Any, role: Role | None, name: str = "", owner: str = "") -> None:
        """Book a tensor that is there before the step, or give a role to a storage
        that is known; of a tensor that has its values in others, book those."""
        if _wraps(type(tensor)):
            for part in (getattr(tensor, part) for part in tensor.__tensor_flatten__()[0]):
                if isinstance(part, torch.Tensor):
                    self.enter(part, role, name, owner)
            return
        number = self._alive.get(tensor.untyped_storage()._cdata)
        if number is None:
            number = self._block(tensor, BEFORE)
        block = self.blocks[number]
        if block.role is None:
            block.role, block.name, block.owner, block.foreign = role, name, owner, False

    def keep_on_host(self, tensor: Any) -> None:
        """Book a known tensor as one that lies on the host beside a card."""
        block = self.blocks[self._alive[tensor.untyped_storage()._cdata]]
        block.spec = block.spec._replace(device=ON_HOST)

    def number(self, tensor: Any) -> int | None:
        """The number of the storage of a tensor, where it was seen."""
        return self._alive.get(tensor.untyped_storage()._cdata)

    def close(self) -> None:
        """Stop watching storages: everything that is alive now outlives the step."""
        self._add_in_place()
        for number in self._regrown:
            self.blocks[number].born = len(self.calls) - 1
            self.calls[-1].born.append(number)
        self._regrown.clear()
        self._watched.clear()
        self._alive.clear()

    def _block(self, tensor: Any, born: int) -> int:
        storage = tensor.untyped_storage()
        key, number = storage._cdata, len(self.blocks)
        self._alive[key] = number
        self._watched[number] = weakref.ref(storage, partial(self._died, number, key))
        spec = _seen(tensor, number)
        self.blocks.append(SeenBlock(storage.nbytes(), born, STAYS, None, spec))
        return number

    def _resize(self, storage: Any) -> None:
        """Book a storage that was resized between two calls as another one, which the next call
        makes: FSDP frees gathered parameters so, and gathers them again."""
        key = storage._cdata
        number, new = self._alive.get(key), len(self.blocks)
        if number is None:
            self._unseen[key] = weakref.ref(storage, lambda _: self._unseen.pop(key, None))
            return
        old = self.blocks[number]
        if number in self._regrown:
            old.nbytes = storage.nbytes()
        if storage.nbytes() == old.nbytes:
            return
        old.died, old.foreign = len(self.calls) - 1, False
        self._watched.pop(number)
        self._alive[key] = new
        self._watched[new] = weakref.ref(storage, partial(self._died, new, key))
        spec = old.spec._replace(storage=new)
        self.blocks.append(SeenBlock(storage.nbytes(), len(self.calls), STAYS, None, spec))
        self._regrown.append(new)

    def _bear(self, call: SeenCall) -> None:
        """Let a call make the storages that were resized before it."""
        call.reads = [number for number in call.reads if number not in self._regrown]
        call.updates = [number for number in call.updates if number not in self._regrown]
        call.born += self._regrown
        self._regrown.clear()

    def _died(self, number: int, key: int, _: object) -> None:
        if self._alive.get(key) == number:
            del self._alive[key]
        self._watched.pop(number, None)
        self.blocks[number].died = len(self.calls) - 1
        if number in self._regrown:  # no call has used it
            self.blocks[number].nbytes = 0

    def _is_in_place(self, call: SeenCall, node: Any) -> bool:
        """Return whether autograd calls this in place where no dispatch mode is entered, if nothing
        else holds what it changes."""
        if call.func is _ADD:
            return self._adds_gradients(call, node)
        return bool(self._made_by.get(call.args[0].storage) == node._sequence_nr())

    def _adds_gradients(self, call: SeenCall, node: Any) -> bool:
        """Return whether an addition that no Python code calls in backward is that of a gradient
        which this node of autograd gives to one that came before, and no part of its formula."""
        first, second = call.args
        if call.grad or not isinstance(second, SeenTensor) or not _is_dense(first):
            return False
        makers = [self._made_by.get(tensor.storage) for tensor in (first, second)]
        if None in makers or (first.shape, first.dtype) != (second.shape, second.dtype):
            return False
        targets = [target for target in node.next_functions if target[0] is not None]
        return makers[0] != node._sequence_nr() or len(set(targets)) < len(targets)

    def _add_in_place(self) -> None:
        """Book the last call as an update if by it autograd added a gradient to another, or filled
        zeros, that nothing else held, and that are no view, which holds its base.

        Autograd does so in place, but not while a dispatch mode is entered (``accumulate`` in
        PyTorch's ``input_buffer.cpp``): only the recording has a new storage.
        """
        call, self._in_place = self._in_place, None
        if call is None:
            return
        (number,), (first, *_) = call.born, call.reads
        gradient, total = self.blocks[first], self.blocks[number]
        if gradient.died != len(self.calls) - 1 or number != len(self.blocks) - 1:
            return
        call.func, call.born, call.outputs = _IN_PLACE[call.func], [], [call.args[0]]
        call.reads, call.updates = call.reads[1:], [first]
        gradient.died = total.died
        gradient.role = gradient.role or total.role
        self.blocks.pop()
        watched = self._watched.pop(number, None)
        if (storage := watched() if watched else None) is not None:
            key = storage._cdata
            self._alive[key] = first
            self._watched[first] = weakref.ref(storage, partial(self._died, first, key))

    # -- calls ---------------------------------------------------------------------------------

    def _begun(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> SeenCall:
        """Return the record of a call as it begins: its module, its phase and its arguments."""
        grad = torch.is_grad_enabled()
        again = grad and self.phase is Phase.BACKWARD and _inside_backward()
        path, forward = self._whose(func, again)
        call = SeenCall(func, (), {}, self.phase, grad, path, forward, again, self.part)
        positions, names = written(func)
        call.args = tuple(
            self._taken(argument, call.updates if at in positions else call.reads)
            for at, argument in enumerate(args)
        )
        call.kwargs = {
            name: self._taken(argument, call.updates if name in names else call.reads)
            for name, argument in kwargs.items()
        }
        return call

    def _whose(self, func: Any, again: bool) -> tuple[str, int | None]:
        """Return the path of the module that makes a call, and in backward the number of the call
        of forward whose backward it is."""
        if self.phase is not Phase.BACKWARD or (again and self.paths.stack):
            saves = func is _DETACH or copies(func)
            if self.phase in (Phase.FORWARD, Phase.LOSS) and not saves:
                number = _sequence() - 1
                self._forward.setdefault(number, len(self.calls))
            return self.paths.now, None
        if again:  # a checkpoint calls a function: what calls it next to a module is around that
            return self.paths.last.rpartition(".")[0], None
        node = _node()
        forward = self._forward.get(node._sequence_nr()) if node is not None else None
        if forward is not None:
            return self.calls[forward].path, forward
        last = self.calls[-1] if self.calls else None
        backward = last is not None and last.phase is Phase.BACKWARD
        return (last.path, last.forward) if last is not None and backward else ("", None)

    def _taken(self, value: Any, into: list[int]) -> Any:
        """Return an argument with a ``SeenTensor`` for each tensor, and note the storages."""
        if isinstance(value, torch.Tensor):
            key = _storage(value)._cdata
            number = self._alive.get(key)
            if number is None:
                number = self._first(value, key)
            if number not in into:
                into.append(number)
            return _seen(value, number)
        if isinstance(value, list | tuple):
            return type(value)([self._taken(item, into) for item in value])
        return value

    def _first(self, tensor: Any, key: int) -> int:
        """Book a storage that a call reads and that no call made; where its bytes came since the
        step began, this call makes it."""
        if self._unseen.pop(key, None) is not None:
            number = self._block(tensor, len(self.calls))
            self._regrown.append(number)
        else:
            number = self._block(tensor, BEFORE)
            self.blocks[number].foreign = True
        return number

    def _given(self, out: Any, call: SeenCall, at: int) -> None:
        """Book the outputs of a call: storages that are new are born."""
        if isinstance(out, torch.Tensor):
            storage = _storage(out)
            number = self._alive.get(storage._cdata)
            if number is None:
                number = self._block(out, at)
                call.born.append(number)
            elif storage.nbytes() != self.blocks[number].nbytes:
                self.resized.append(number)
                self.blocks[number].nbytes = max(storage.nbytes(), self.blocks[number].nbytes)
            call.outputs.append(_seen(out, number))
        elif isinstance(out, list | tuple):
            for item in out:
                self._given(item, call, at)
        else:
            call.outputs.append(None)


@cache
def written(func: Any) -> tuple[frozenset[int], frozenset[str]]:
    """The arguments that an operator changes in place: by position, and by name."""
    arguments = func._schema.arguments
    changed = [
        (at, argument.name)
        for at, argument in enumerate(arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    hidden = _HIDDEN.get(func.__name__.partition(".")[0], ())
    changed += [(at, arguments[at].name) for at in hidden]
    return frozenset(at for at, _ in changed), frozenset(name for _, name in changed)


def _inside_backward() -> bool:
    """Return whether a node of autograd runs: calls that run there with autograd on are run again
    by a checkpoint."""
    return _node() is not None


def _storage(tensor: Any) -> Any:
    if tensor.layout is not torch.strided:
        raise InputError(
            f"a tensor of layout {tensor.layout} has no bytes of its own that memlab could follow; "
            "try dense ones, as with nn.Embedding(sparse=False)."
        )
    return tensor.untyped_storage()


def _is_dense(tensor: SeenTensor) -> bool:
    """Return whether the numbers of a tensor lie side by side, in any order of its dimensions."""
    dense = 1
    for stride, size in sorted(zip(tensor.stride, tensor.shape, strict=True)):
        if size != 1 and stride != dense:
            return False
        dense *= size
    return True


def _seen(tensor: Any, number: int) -> SeenTensor:
    return SeenTensor(
        number,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
        _name(tensor.dtype),
        (getattr(tensor, "fake_device", None) or tensor.device).type,
        tensor.requires_grad,
    )


@cache
def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _is_real(value: Any) -> bool:
    """Return whether a value is a real tensor, and no number."""
    kind = type(value)
    return kind is not _FAKE and isinstance(value, torch.Tensor) and value.dim() > 0


def _any_real(values: Any) -> bool:
    """Return whether there is a real tensor among arguments."""
    kind = type(values)
    if kind is tuple or kind is list:
        return any(map(_any_real, values))
    if kind is dict:
        return any(map(_any_real, values.values()))
    return _is_real(values)


_RESIZED: list[Callable[[Any], None]] = []
"""Recorders that are told of every storage that is resized, which no dispatch mode sees."""


@contextmanager
def _watched_resizes() -> Iterator[None]:
    """Tell the recorders of every storage that is resized inside the context."""
    kind, resize = torch.UntypedStorage, torch.UntypedStorage.resize_

    def resize_(storage: Any, size: int) -> Any:
        result = resize(storage, size)
        for resized in list(_RESIZED):
            resized(storage)
        return result

    with mock.patch.object(kind, "resize_", resize_):
        yield


_WATCHED_RESIZES = Shared(_watched_resizes)
