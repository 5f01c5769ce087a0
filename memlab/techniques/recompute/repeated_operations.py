"""Operations that run more than once: a step in another order, with repeats.

Whatever a schedule of recomputation decides, it is an order of operations. A repeated operation
writes new blocks of memory, and who reads them later reads the newest; what nobody reads any more
is dead. So the memory follows from the order alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from memlab.step.fp32_tiles import rewritten
from memlab.step.op import NONE, Op, Operands, Phase
from memlab.step.step import Step
from memlab.step.storage import Storage
from memlab.step.tensor import Tensor
from memlab.techniques.application_order import AGAIN

T = TypeVar("T")


def resequenced(step: Step, order: Sequence[int]) -> Step:
    """Return the step with its operations in this order; those that stand there again run again,
    unless nobody reads what they would make.

    Dropout draws what it drew before, and the running statistics of a batch norm move once.
    """
    versions = _Versions()
    needed = without_idle(order, [*map(made, step.ops)], [*map(read, step.ops)])
    ops = tuple(versions.run(step.ops[index], index) for index in needed)
    step.check_new(tensor for op in ops if AGAIN in op.attributes for tensor in op.writes.values())
    return replace(step, ops=ops)


def names_of(tensors: Iterable[Tensor]) -> list[str]:
    """Return the names of the storages of these tensors."""
    return [tensor.storage.name for tensor in tensors]


def made(op: Op) -> set[str]:
    """Return the storages that an operation writes anew each time that it runs. One that changes
    something in place runs once, unless it says how it runs again, and its first outputs are
    kept."""
    if op.updates and not op.again:
        return set()
    kept = op.again.kept if op.again else ()
    return {tensor.storage.name for slot, tensor in op.writes.items() if slot not in kept}


def read(op: Op) -> set[str]:
    """Return the storages that an operation reads or changes."""
    return {operand.storage.name for operand in (*op.reads.values(), *op.updates.values())}


def without_idle(
    order: Sequence[int],
    written: Sequence[set[T]],
    read: Sequence[set[T]],
    wanted: Iterable[T] = (),
) -> list[int]:
    """Return the order without repeats whose results nobody reads before they are made again, from
    the storages that each operation makes anew and reads, and those that are ``wanted`` after
    it."""
    times = Counter(order)
    kept: list[int] = []
    wanted = set(wanted)
    for index in reversed(order):
        times[index] -= 1
        if times[index] and wanted.isdisjoint(written[index]):
            continue
        kept.append(index)
        wanted -= written[index]
        wanted |= read[index]
    return kept[::-1]


def repeated(times: int) -> str:
    """End of a name that runs again, so many times by then."""
    return "" if not times else " again" if times == 1 else f" again, {times} times"


class _Versions:
    """Newest block of memory for every storage that was made again."""

    def __init__(self) -> None:
        self.times: Counter[int] = Counter()
        self.newest: dict[str, tuple[Storage, str]] = {}

    def run(self, op: Op, index: int) -> Op:
        """Return the operation on the newest values; where it runs again, it makes new ones."""
        times = self.times[index]
        self.times[index] += 1
        if not times:
            return replace(op, reads=self.read(op.reads), updates=self.read(op.updates))
        suffix = repeated(times)
        repeat = repeatable(op)
        reads = self.read(repeat.reads)
        return replace(
            repeat,
            name=op.name + suffix,
            phase=Phase.BACKWARD,
            reads=reads,
            writes={slot: self.renewed(tensor, suffix) for slot, tensor in repeat.writes.items()},
            workspace={
                slot: renamed(scratch, suffix) for slot, scratch in repeat.workspace.items()
            },
            attributes={"draw": op.name, **repeat.attributes, AGAIN: times},
        )

    def read(self, operands: Operands) -> Operands:
        return {slot: self.current(operand) for slot, operand in operands.items()}

    def current(self, tensor: Tensor) -> Tensor:
        """Return a tensor in the newest block that holds its values."""
        storage, suffix = self.newest.get(tensor.storage.name, (tensor.storage, ""))
        return replace(tensor, name=tensor.name + suffix, storage=storage) if suffix else tensor

    def renewed(self, tensor: Tensor, suffix: str) -> Tensor:
        """Return a tensor in a block of its own, which is the newest from now on."""
        new = renamed(tensor, suffix)
        self.newest[tensor.storage.name] = (new.storage, suffix)
        return new


def renamed(tensor: Tensor, suffix: str) -> Tensor:
    """Return the same values in another block, both named with a suffix."""
    storage = replace(tensor.storage, name=tensor.storage.name + suffix)
    return replace(tensor, name=tensor.name + suffix, storage=storage)


def repeatable(op: Op) -> Op:
    """Return the operation as it may run again: it changes nothing in place and reads the outputs
    that it kept."""
    if not op.again:
        return op
    kept = {name: op.writes[name] for name in op.again.kept}
    new = {name: tensor for name, tensor in op.writes.items() if name not in kept}
    again = rewritten(op, reads={**op.reads, **kept}, writes=new, updates=NONE)
    return replace(again, flops=op.again.flops)
