"""When every block of memory of a step is alive, and who uses it: found once, in one pass.

The pass refuses what no step may do: read what nobody has written or what was written over, or have
two blocks of one name. The ledger, placement, techniques and runs ask here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from memlab.errors import InputError
from memlab.step.op import Op, Phase
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor

BEFORE = -1
"""The birth of what is alive before the step."""


@dataclass(slots=True, eq=False)
class Lifetime:
    """Life of one block: the tensor in it, and the numbers of the first and the last operation in
    which it is alive, counted from 0.

    ``birth`` is -1 where it was there before the step, ``death`` the number of operations where it
    stays. ``followers`` fill it after its first tensor, each from the operation that writes it.
    """

    tensor: Tensor
    birth: int
    death: int
    followers: tuple[tuple[str, int], ...] = ()
    over: str | None = None
    """The tensor that was last written over all that was there."""
    filled: int = 0
    """Bytes of each sample that later slices have filled, in a block that began as a slice."""

    @property
    def role(self) -> Role:
        """Role of the block: that of the first tensor that lies in it."""
        return self.tensor.role

    @property
    def size(self) -> Size:
        """Size of the whole block."""
        return self.tensor.storage.size

    @property
    def memory(self) -> str:
        """Memory in which the block lies."""
        return self.tensor.storage.memory

    def follow(self, tensor: Tensor, number: int) -> None:
        """Note that a tensor takes the place of the previous one in operation ``number``, or the
        place beside it: then the block is filled slice by slice."""
        first = self.tensor
        if first.pitch is not None and tensor.offset >= (self.filled or _end(first)):
            self.filled = _end(tensor)
            return
        if tensor.name != (self.followers[-1][0] if self.followers else self.tensor.name):
            self.followers = (*self.followers, (tensor.name, number))
        if tensor.pitch is None:
            self.over = tensor.name


def _end(tensor: Tensor) -> int:
    """Return the place behind a tensor in each sample of its block, in bytes."""
    return tensor.offset + tensor.per_sample


@dataclass(slots=True)
class Uses:
    """Numbers of the operations that read a block and of those that write it. An update counts as
    both, and an operation that reads a block twice is listed twice."""

    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)

    @property
    def all(self) -> list[int]:
        """Return all numbers in order, each once."""
        return sorted({*self.reads, *self.writes})


class Lifetimes(Mapping[str, Lifetime]):
    """Lives of all storages of a step except workspaces, by name and in the order of birth.

    A storage lives from its first writer, or from before the step, to its last reader or holder, or
    beyond the step. A copy in a stream of its own holds what it reads until somebody waits for it.
    """

    def __init__(
        self, ops: Sequence[Op], live_in: Sequence[Tensor], live_out: Sequence[Tensor]
    ) -> None:
        self.ops = ops
        self.blocks: list[Lifetime] = []
        """The lives of all storages, workspaces too, in the order of birth."""
        self.twice: Tensor | None = None
        """One whose storage is another object than that of the same name before, though equal."""
        self._found: dict[str, Lifetime] = {}
        self._scratch: dict[str, Tensor] = {}
        self._doubted: set[str] = set()
        self._begin(live_in)
        for number, op in enumerate(ops):
            self._read(op, number)
            self._write(op, number)
            for tensor in op.holds.values():
                if (life := self._found.get(tensor.storage.name)) is not None:
                    life.death = number  # what a technique has taken away is held by nobody
        self._wait()
        self._end(live_out)

    def __getitem__(self, name: str) -> Lifetime:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def names(self) -> Set[str]:
        """Names of all blocks, workspaces too."""
        return self._found.keys() | self._scratch.keys()

    @cached_property
    def uses(self) -> dict[str, Uses]:
        """Operations that read and write every storage except workspaces, by its name."""
        slots_used = {name: Uses() for name in self._found}
        for number, op in enumerate(self.ops):
            for tensor in (*op.reads.values(), *op.updates.values()):
                slots_used[tensor.storage.name].reads.append(number)
            for tensor in (*op.writes.values(), *op.updates.values()):
                slots_used[tensor.storage.name].writes.append(number)
        return slots_used

    def _begin(self, live_in: Sequence[Tensor]) -> None:
        for tensor in live_in:
            if (life := self._found.get(tensor.storage.name)) is None:
                self._found[tensor.storage.name] = life = Lifetime(tensor, BEFORE, 0)
                self.blocks.append(life)
            elif life.tensor.storage is not tensor.storage:
                self._same(life.tensor, tensor)

    def _read(self, op: Op, number: int) -> None:
        """Check that everything an operation reads is there, and that nobody has
        written over it."""
        uses = self._found
        for tensor in (*op.reads.values(), *op.updates.values()):
            life = uses.get(tensor.storage.name)
            if life is None:
                raise InputError(f"{op.name} reads {tensor.name} before anything writes it.")
            if life.tensor.storage is not tensor.storage:
                self._same(life.tensor, tensor)
            if life.over is not None and life.over != tensor.name:
                self._doubted.add(tensor.storage.name)
            if life.tensor.pitch is not None and tensor.pitch is None and not life.followers:
                life.tensor = tensor  # all slices are there: this is what lies in the block
            life.death = number

    def _write(self, op: Op, number: int) -> None:
        """Note the births of an operation's outputs, or the inputs whose place they take."""
        uses = self._found
        for tensor in op.writes.values():
            if (life := uses.get(tensor.storage.name)) is None:
                uses[tensor.storage.name] = life = Lifetime(tensor, number, number)
                self.blocks.append(life)
                continue
            self._same(life.tensor, tensor)
            life.death = number
            life.follow(tensor, number)
        for tensor in op.updates.values():
            if tensor.pitch is None:
                uses[tensor.storage.name].over = tensor.name
        for tensor in op.workspace.values():
            self._same(self._scratch.setdefault(tensor.storage.name, tensor), tensor)
            self.blocks.append(Lifetime(tensor, number, number))

    def _same(self, first: Tensor, tensor: Tensor) -> None:
        """Raise an error if two blocks of one name differ."""
        if first.storage != tensor.storage:
            raise two_blocks(tensor)
        if first.storage is not tensor.storage:
            self.twice = self.twice or tensor

    def _wait(self) -> None:
        """Extend the lives of what copies read, until a later operation waits for the copy."""
        copies = {op.name: op for op in self.ops if op.phase is Phase.COPY}
        for number, op in enumerate(self.ops if copies else ()):
            for name in op.after:
                for tensor in copies.pop(name).reads.values() if name in copies else ():
                    life = self._found[tensor.storage.name]
                    life.death = max(life.death, number - 1)

    def _end(self, live_out: Sequence[Tensor]) -> None:
        """Check that everything that stays is there, and that every block has one name."""
        for tensor in live_out:
            life = self._found.get(tensor.storage.name)
            if life is None:
                raise InputError(f"{tensor.name} should outlive the step, but nothing writes it.")
            if life.tensor.storage is not tensor.storage:
                self._same(life.tensor, tensor)
            life.death = len(self.ops)
        for name in self._scratch.keys() & self._found.keys():
            self._same(self._found[name].tensor, self._scratch[name])
        if self._doubted:
            self._look_again()

    def _look_again(self) -> None:
        """Raise an error where an operation reads a block, under another name, whose content was
        overwritten."""
        contents, doubted = Contents(), self._doubted
        for op in self.ops:
            for tensor in (*op.reads.values(), *op.updates.values()):
                if tensor.storage.name in doubted:
                    contents.read(tensor, op)
            for tensor in (*op.writes.values(), *op.updates.values()):
                if tensor.storage.name in doubted:
                    contents.write(tensor, op)


@dataclass(slots=True)
class Contents:
    """State of every storage, as the writes of a step change it. When a tensor is overwritten,
    other tensors in the same storage must not be read any more, except views that are created
    later."""

    writers: dict[str, list[Op]] = field(default_factory=dict)
    """The operations that wrote the whole of each storage, in order."""
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many of them had done so when a tensor was written, or read first."""

    def read(self, tensor: Tensor, op: Op) -> None:
        """Raise an error if a tensor is read whose values were overwritten.

        Raises:
            InputError: it was overwritten; the message says by which operation.
        """
        writers = self.writers.get(tensor.storage.name, ())
        known = self.seen.setdefault((tensor.storage.name, tensor.name), len(writers))
        if known < len(writers):
            raise InputError(
                f"{writers[known].name} overwrites {tensor.name}, which {op.name} still reads; "
                "give it a block of memory of its own."
            )

    def write(self, tensor: Tensor, op: Op) -> None:
        """Note that a tensor is written. Writing a slice of each sample leaves the other slices as
        they were."""
        writers = self.writers.setdefault(tensor.storage.name, [])
        if tensor.pitch is None:
            writers.append(op)
        self.seen[tensor.storage.name, tensor.name] = len(writers)


def two_blocks(tensor: Tensor) -> InputError:
    """Error for a block with the name of another one."""
    name = tensor.storage.name
    return InputError(f"two blocks of memory are named {name!r}; rename a layer.")
