"""From a recording to a step: every storage a tensor with a role, every call that matters an
operation.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from torch.utils.flop_counter import flop_registry

from memlab.axes import BATCH, NAMES, Dims
from memlab.errors import visible
from memlab.formats import FORMATS, Format
from memlab.frontends.torch.cuda.cudnn import workspace_attributes
from memlab.frontends.torch.recording import (
    BEFORE,
    LEAVE,
    ON_HOST,
    OperatorCall,
    RecordedStorage,
    Recording,
    Spec,
    at,
    specs,
)
from memlab.frontends.torch.torch_private_api import MAP
from memlab.step.op import CALL, Op, Operands, Phase, ending
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.step.storage import DEVICE, HOST, Size, Storage
from memlab.step.tensor import Role, Tensor
from memlab.techniques.application_order import AGAIN, PART, PARTS

_FORMATS = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int64": "int64",
    "int32": "int32",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool",
    "float8_e4m3fn": "fp8_e4m3fn",
    "float8_e5m2": "fp8_e5m2",
}
_BYTES = {"complex128": 16, "complex64": 8, "complex32": 4, "int16": 2, "uint16": 2, "uint32": 4,
          "uint64": 8}  # fmt: skip
"""Of numbers that memlab has no format for: they are counted in bytes."""
_WEIGHT = {1: ("F",), 2: ("O", "F"), 3: ("O", "C", "k"), 4: ("O", "C", "k", "k")}
_NAME_ON_HOST = " on the host"
_CONTAINERS = ("ModuleList", "ModuleDict")


@paused()
def step_of(recording: Recording) -> Step:
    """The step of a recording, for any batch, in the order in which PyTorch ran it.

    A storage that PyTorch holds longer than an operation needs it stands in ``holds`` of the last
    operation that it is held through. Views are no operations.
    """
    return _Conversion(recording).step()


def first_operations(step: Step, calls: Iterable[int]) -> tuple[int, ...]:
    """Return the indices of the operations of a step with which some calls of its recording begin:
    each is the first that runs in the call or after it."""
    numbers = [op.attributes.get(CALL, BEFORE) for op in step.ops]
    return tuple(
        next((index for index, number in enumerate(numbers) if number >= call), len(numbers))
        for call in calls
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Name, layer and stage of a call."""

    name: str
    layer: str
    stage: str


class _Conversion:
    """Conversion of one recording into names, tensors and operations."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.calls = list(recording.calls)
        self.kept = [call for call in self.calls if self.matters(call)]
        self.numbers = {call.number: index for index, call in enumerate(self.kept)}
        self.names: Counter[str] = Counter()
        self.classes = {visible(path): name for path, name in recording.modules.items()}
        self.owners = {
            block.number: visible(block.owner or block.name)
            for block in recording.blocks
            if block.owner or block.role is Role.PARAMETER
        }
        self.places = [self.place(call) for call in self.kept]
        self.tensors: dict[int, Tensor] = {}
        for block in filter(_counted, recording.blocks):
            self.tensors[block.number] = self.tensor(block)

    def step(self) -> Step:
        """Return the step of the recording."""
        held = self.held()
        ops = tuple(
            self.op(index, call, held.get(index, {})) for index, call in enumerate(self.kept)
        )
        before = [
            block for block in self.recording.blocks if block.born == BEFORE and _counted(block)
        ]
        stays = [block for block in before if self._resident(block)]
        stays += [block for block in self.recording.blocks if self._outlives(block)]
        return Step(
            ops,
            tuple(self.tensors[storage.number] for storage in before),
            tuple(self.tensors[number.number] for number in stays),
            network=visible(self.recording.model),
            label=visible(self.recording.model),
            format=_format(_commonest(self.recording.blocks))[0].name,
            optimizer=self.recording.optimizer,
            notes=tuple(map(visible, self.recording.notes)),
            batches=self.recording.valid,
        )

    def matters(self, call: OperatorCall) -> bool:
        """Return whether a call takes memory or changes any; its outputs may have no bytes."""
        return bool(call.updates) or any(_counted(self.recording.blocks[n]) for n in call.born)

    def _outlives(self, block: RecordedStorage) -> bool:
        """Return whether a storage that was born in the step is there in the next one, too: the
        loss, which is read, and a state that was made anew."""
        stays = block.born != BEFORE and block.died >= len(self.recording.calls) and _counted(block)
        return stays and (block.role is Role.OPTIMIZER_STATE or block.name == "loss")

    def held(self) -> dict[int, Operands]:
        """Tensors that PyTorch lets go only after an operation that does not need them, by the
        number of the operation."""
        last: dict[int, int] = {}
        for index, call in enumerate(self.kept):
            for number in (*call.reads, *call.updates, *call.born):
                last[number] = index
        end, ends = len(self.kept) - 1, self.ends()
        held_by_op: dict[int, dict[str, Tensor]] = {}
        for block in self.recording.blocks:
            if block.number not in self.tensors or (self._resident(block)):
                continue
            died = ends[block.died] if block.died < len(ends) else end
            if died > last.get(block.number, BEFORE):
                slots = held_by_op.setdefault(died, {})
                slots[f"held{len(slots)}"] = self.tensors[block.number]
        return dict(held_by_op)

    def _resident(self, block: RecordedStorage) -> bool:
        """Return whether a storage outlives the step anyway."""
        before = block.born == BEFORE and block.role is not Role.INPUT
        return self._outlives(block) or (before and block.died >= len(self.recording.calls))

    def ends(self) -> list[int]:
        """Return for every call the number of the last operation that has begun by then."""
        ends, last = [], BEFORE
        for number in range(len(self.recording.calls)):
            last = self.numbers.get(number, last)
            ends.append(last)
        return ends

    # -- operations ----------------------------------------------------------------------------

    def place(self, call: OperatorCall) -> _Place:
        """Name, module and stage of a call: ``"layer1.0.conv1.convolution"``, in backward
        ``"layer1.0.conv1.convolution.backward"``, in the update ``"fc.weight.add"``."""
        path, kind = visible(call.path), call.kind.strip("_")
        layer = path
        if call.phase is Phase.UPDATE:
            path = self.owner(call)
            layer = path.rpartition(".")[0]
        elif call.phase is Phase.LOSS:
            path = layer = path or "loss"
        elif call.copies:
            kind = call.kind.replace("_", " ")
        elif call.again:
            kind += " again"
        elif call.phase is Phase.BACKWARD:
            of = kind if call.forward is None else self.calls[call.forward].kind.strip("_")
            kind = f"{of}.backward"
            path = layer = path or "loss"
        name = self.unique(".".join(filter(None, (path, kind))) + ending(call.part))
        return _Place(name, layer, self.stage(layer))

    def owner(self, call: OperatorCall) -> str:
        """The one parameter that a call of the update is for; empty where it is for several."""
        owners = {self.owners.get(number) for number in (*call.updates, *call.reads)} - {None}
        owner = owners.pop() if len(owners) == 1 else None
        self.owners |= {number: owner for number in call.born if owner is not None}
        return owner or ""

    def stage(self, layer: str) -> str:
        """The outermost module, or the one inside it where that is a list of modules."""
        parts = layer.split(".")
        for count in range(1, len(parts) + 1):
            path = ".".join(parts[:count])
            if self.classes.get(path) not in _CONTAINERS:
                return path
        return layer

    def unique(self, name: str) -> str:
        """Return a name that was not given before, with a number where it was."""
        self.names[name] += 1
        times = self.names[name]
        return name if times == 1 else self.unique(f"{name} ({times})")

    def op(self, index: int, call: OperatorCall, holds: Operands) -> Op:
        """Return a call as an operation."""
        place = self.places[index]
        updates = self.operands("at", call.updates)
        return Op(
            place.name,
            call.kind,
            Phase.COPY if call.copies else call.phase,
            self.operands("in", (tensor for tensor in call.reads if tensor not in call.updates)),
            self.operands("out", call.born),
            updates,
            attributes=self.attributes(call),
            flops=_flops(call),
            bytes_moved=_moved(call),
            layer=place.layer,
            stage=place.stage,
            holds=holds,
        )

    def operands(self, slot: str, numbers: Iterable[int]) -> Operands:
        """Return storages by the names of operands: ``in0``, ``in1``; empty ones are left out."""
        operands = [self.tensors[number] for number in numbers if number in self.tensors]
        return {f"{slot}{index}": tensor for index, tensor in enumerate(operands)}

    def attributes(self, call: OperatorCall) -> Mapping[str, Any]:
        """Return the attributes of an operation: its number in the recording, and whether it runs
        another time or for a part."""
        attributes: dict[str, Any] = {CALL: call.number}
        if call.again:
            attributes[AGAIN] = 1
        if self.recording.parts > 1 and call.phase is not Phase.UPDATE:
            attributes |= {PART: call.part, PARTS: self.recording.parts}
        if self.recording.cuda:
            attributes |= workspace_attributes(call, self.recording)
        return attributes

    # -- tensors -------------------------------------------------------------------------------

    def tensor(self, block: RecordedStorage) -> Tensor:
        """A storage as the tensor that fills it."""
        name = self.unique(visible(block.name) or self.made(block))
        format, axes = axes_of(block)
        on_host = self.copied(block) == LEAVE or block.spec.device == ON_HOST
        memory = HOST if on_host else DEVICE
        return Tensor(name, Storage(name, block.nbytes, memory), axes, format, block.role)

    def copied(self, block: RecordedStorage) -> str:
        """Return ``LEAVE`` or ``COME_BACK`` where a copy made the storage, else empty."""
        return "" if block.born == BEFORE else self.calls[block.born].copies

    def made(self, block: RecordedStorage) -> str:
        """Return the name of a storage that has none: that of the operation that made it, with a
        number where it made several."""
        if block.born == BEFORE:
            return "constant"
        if copied := self.copied(block):
            of = self.tensors[self.calls[block.born].reads[0]].name
            return (
                f"{of}{_NAME_ON_HOST}"
                if copied == LEAVE
                else f"{of.removesuffix(_NAME_ON_HOST)} back"
            )
        born = self.calls[block.born].born
        name = self.places[self.numbers[block.born]].name
        return f"{name}.y" if len(born) == 1 else f"{name}.y{born.index(block.number)}"


def _counted(block: RecordedStorage) -> bool:
    return bool(block.nbytes)


def _commonest(blocks: Iterable[RecordedStorage]) -> str:
    """The format that most bytes of the parameters have."""
    counter: Counter[str] = Counter()
    for block in blocks:
        if block.role is Role.PARAMETER:
            counter[block.spec.dtype] += block.nbytes.fixed
    return counter.most_common(1)[0][0] if counter else "float32"


def _format(dtype: str) -> tuple[Format, int]:
    """The format of a dtype, and how many values of it make one of that dtype."""
    known = _FORMATS.get(dtype)
    return (FORMATS[known], 1) if known else (FORMATS["uint8"], _BYTES.get(dtype, 1))


def axes_of(block: RecordedStorage) -> tuple[Format, Dims]:
    """The format and the named axes of what fills a storage; no axes where its bytes are not the
    product of any."""
    format, times = _format(block.spec.dtype)
    axes = _axes(block.spec.shape, block.role)
    if axes is not None and times > 1:
        axes = (*axes, ("bytes", times))
    if axes is None or _bytes(axes, format) != block.nbytes:
        return format, ()
    return format, axes


@lru_cache(maxsize=4096)
def _axes(shape: tuple[Size, ...], role: Role) -> Dims | None:
    """Names for the extents of a shape; ``None`` where the batch is not a factor of it, once."""
    grows = [index for index, extent in enumerate(shape) if extent.per_sample]
    if not grows:
        kept = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)
        return _named(tuple(extent.fixed for extent in shape), _WEIGHT if role in kept else NAMES)
    if len(grows) > 1 or shape[grows[0]].fixed:
        return None
    where, per_sample = grows[0], shape[grows[0]].per_sample
    before = tuple(one.fixed for one in shape[:where])
    after = (*((per_sample,) if per_sample > 1 else ()), *(one.fixed for one in shape[where + 1 :]))
    if before:
        return (*_named(before, {}), BATCH, *_named(after, {}, len(before)))
    return (BATCH, *_named(after, NAMES))


def _named(extents: tuple[int, ...], names: Mapping[int, tuple[str, ...]], first: int = 0) -> Dims:
    known = names.get(len(extents)) or tuple(f"d{first + n}" for n in range(len(extents)))
    return tuple(zip(known, extents, strict=True))


def _bytes(axes: Dims, format: Format) -> Size:
    nbytes = format.nbytes(prod(extent for name, extent in axes if (name, extent) != BATCH))
    return Size(0, nbytes) if BATCH in axes else Size(nbytes)


# -- costs -------------------------------------------------------------------------------------


def _moved(call: OperatorCall) -> Size:
    """Return the bytes of the tensors that a call reads and writes, each as large as it is seen."""
    touched = specs((call.args, call.kwargs, call.outputs))
    return sum((_spec_bytes(spec.shape, spec.dtype) for spec in touched), Size())


@lru_cache(maxsize=4096)
def _spec_bytes(shape: tuple[Size, ...], dtype: str) -> Size:
    format, times = _format(dtype)
    return _line(lambda batch: format.nbytes(times * prod(extent.at(batch) for extent in shape)))


def _line(count: Any) -> Size:
    """Size at any batch, from its values at 2 and 3."""
    two, three = count(2), count(3)
    return Size(two - 2 * (three - two), three - two) if two != three else Size(two)


def _flops(call: OperatorCall) -> Size:
    """By PyTorch's own formulas where it has one, else one for each value that it writes; none for
    a copy to another memory."""
    if call.copies:
        return Size()
    formula = flop_registry.get(call.func.overloadpacket)
    if formula is None:
        return sum((_values(spec.shape) for spec in specs(call.outputs)), Size())
    return _line(lambda batch: _counted_flops(formula, call, batch))


@lru_cache(maxsize=4096)
def _values(shape: tuple[Size, ...]) -> Size:
    return _line(lambda batch: prod(extent.at(batch) for extent in shape))


def _counted_flops(formula: Any, call: OperatorCall, batch: int) -> int:
    args, kwargs, outputs = (
        MAP()(_shape, at(argument, batch)) for argument in (call.args, call.kwargs, call.outputs)
    )
    out = outputs[0] if len(outputs) == 1 else outputs
    return int(formula(*args, **kwargs, out_val=out))


def _shape(value: Any) -> Any:
    """Return the shape of a recorded tensor in its place; any other value unchanged."""
    return value.shape if isinstance(value, Spec) else value
