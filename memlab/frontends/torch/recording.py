"""A recording: the calls of operators of one training step in PyTorch, and the storages that come
and go.

A recording is linear in the batch: every number in it that depends on the batch is a ``Size``, an
extent as well as bytes, found from two recordings of the same model. Nothing in it holds a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memlab.step.op import Phase
from memlab.step.storage import Size
from memlab.step.tensor import Role

BEFORE = -1
"""The birth of what is there before the step."""
ON_HOST = "host"
"""Device of a tensor that stays on the host beside a card: an optimizer counts its steps there."""
LEAVE, COME_BACK = "memlab::leave", "memlab::come_back"
"""The operators that copy a storage from the device to the host, and back."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A tensor as an operator got it or gave it: a strided view of a storage.

    ``storage`` is the number of its storage in the recording. ``shape``, ``stride`` and ``offset``
    are in elements and may depend on the batch. ``dtype`` is PyTorch's name, ``"float32"``.
    ``needs_grad`` says whether autograd follows it.
    """

    storage: int
    shape: tuple[Size, ...]
    stride: tuple[Size, ...]
    offset: Size
    dtype: str
    device: str = "cpu"
    needs_grad: bool = False


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """One call of an operator, in the order of the step.

    ``func`` is PyTorch's own object (``aten.convolution.default``). ``args`` and ``kwargs`` are the
    arguments as they were, lists and tuples kept: a ``Spec`` where a tensor was, a ``Size`` where a
    number differs with the batch, and the value itself elsewhere; ``at`` puts a batch in.
    ``outputs`` are the tensors that came back, in order, ``None`` in the place of one that was not
    wanted or is no tensor; a view or a result in place has the storage that was there before.

    ``grad`` is whether autograd was on. ``path`` is the dotted name of the module that called it
    (``"layers.2.0.conv1"``, empty for the model itself, for the loss and for the optimizer); in
    backward that of the call whose backward it is, which ``forward`` numbers where it is known.
    ``again`` says that a checkpoint runs it another time; ``part`` is which of the parts of a batch
    it belongs to whose gradients are added, 1 where there is one.

    ``reads``, ``updates`` (read and changed in place) and ``born`` are numbers of storages.
    """

    number: int
    func: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    outputs: tuple[Spec | None, ...]
    phase: Phase
    grad: bool = True
    path: str = ""
    forward: int | None = None
    again: bool = False
    part: int = 1
    reads: tuple[int, ...] = ()
    updates: tuple[int, ...] = ()
    born: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        """Name of the operator without its overload: ``"convolution"``, ``"_foreach_add_"``."""
        return str(self.func.__name__).partition(".")[0]

    @property
    def copies(self) -> str:
        """``LEAVE`` or ``COME_BACK`` where the call moves bytes between device and host, else
        empty."""
        return f"memlab::{self.kind}" if copies(self.func) else ""

    @property
    def view(self) -> bool:
        """True for a call that takes no memory and changes none: a view, or a question about a
        tensor."""
        return not self.born and not self.updates


def copies(func: Any) -> bool:
    """Return whether an operator moves bytes between device and host."""
    return getattr(func, "namespace", "") == "memlab"


@dataclass(frozen=True, slots=True)
class RecordedStorage:
    """One storage: from the call ``born`` inside which it first exists to the call ``died`` inside
    which it last does, both counted.

    ``born`` is -1 for what was there before the step; ``died`` is the number of calls for what
    stays. ``spec`` is the tensor that it was made for, the first seen. ``name`` is that of the
    parameter, buffer, state or input; empty for what has none. ``owner`` is the name of the
    parameter that a gradient or an optimizer's state belongs to.
    """

    number: int
    nbytes: Size
    born: int
    died: int
    role: Role
    spec: Spec
    name: str = ""
    owner: str = ""


@dataclass(frozen=True)
class Recording:
    """One training step of a model, in its steady state: the optimizer has its state already.

    ``batches`` are those at which it was recorded, of which ``real`` says that it was with real
    tensors and not with fake ones; it holds at any batch. ``modules`` are the paths of all modules
    and the names of their classes, in the order of ``named_modules``; ``model`` is the class of the
    whole. ``notes`` are for
    the reader of the plan. The gradients of so many ``parts`` are added before the update.
    ``valid`` are the batches that it holds for, all where it is ``None``. ``cuda`` says that it is
    the step of a CUDA device, recorded on a processor.
    """

    calls: Sequence[OperatorCall]
    blocks: tuple[RecordedStorage, ...]
    model: str
    optimizer: str
    batches: tuple[int, ...]
    real: bool = False
    modules: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    parts: int = 1
    valid: range | None = None
    cuda: bool = False

    def born(self, call: int) -> list[RecordedStorage]:
        """The storages that are born inside a call."""
        return [self.blocks[number] for number in self.calls[call].born]

    def alive(self, call: int) -> Iterator[RecordedStorage]:
        """The storages alive inside a call, what is born there included."""
        return (block for block in self.blocks if block.born <= call <= block.died)


def at(value: Any, batch: int) -> Any:
    """Return an argument at a batch: every ``Size`` in it as a number; a ``Spec`` stays one, with
    numbers in its shape, stride and offset."""
    if isinstance(value, Size):
        return value.at(batch)
    if isinstance(value, list | tuple):
        return type(value)(at(item, batch) for item in value)
    if isinstance(value, dict):
        return {key: at(item, batch) for key, item in value.items()}
    if isinstance(value, Spec):
        shape, stride = at(value.shape, batch), at(value.stride, batch)
        offset = at(value.offset, batch)
        return Spec(
            value.storage, shape, stride, offset, value.dtype, value.device, value.needs_grad
        )
    return value


def specs(value: Any) -> Iterator[Spec]:
    """Yield the tensors among arguments, in order."""
    if isinstance(value, Spec):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from specs(item)
    elif isinstance(value, Mapping):
        yield from specs(list(value.values()))
