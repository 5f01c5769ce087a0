"""vDNN's rules (C5, C6): which feature maps go to the host's memory, and when each comes back.

A move has two copies. The one out starts with the last operation of forward that reads the map, and
the next operation waits for it. The one back in starts with an operation of backward, and what
comes after that operation waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memlab.clocks.streams import IN, OUT
from memlab.layers import Conv2d
from memlab.step.op import Op, Phase
from memlab.step.paused_gc import paused
from memlab.step.step import Step
from memlab.step.storage import DEVICE, HOST, Storage
from memlab.step.tensor import Role, Tensor


def is_activation(op: Op) -> bool:
    """Return whether an operation could write over the one tensor that it reads, as a ReLU could:
    its input stays on the device, and its backward starts no prefetch (C5)."""
    return len(op.reads) == 1 and tuple(op.reads) in op.traits.over.values()


@dataclass(frozen=True, slots=True)
class Move:
    """Copy of a feature map to the host and back.

    ``map`` fills the block. ``leaves`` is the operation under which it goes, the last of forward
    that reads it; ``returns`` the operation of backward that starts its way back, and ``waits`` the
    first one that may not start before it is there. Operations are numbered as in the step.
    """

    map: Tensor
    leaves: int
    returns: int
    waits: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """Feature map that may go to the host: where it is read last in forward and
    first in backward."""

    map: Tensor
    leaves: int
    needed: int


def candidates(step: Step) -> dict[str, Candidate]:
    """Return the feature maps, and the input, that forward reads and backward reads again and
    nobody changes in between, by name of their block."""
    fills: dict[str, Tensor] = {}
    for op in _layers(step):
        for tensor in filter(_fills, (*op.reads.values(), *op.updates.values())):
            fills.setdefault(tensor.storage.name, tensor)
    by_name = {name: _candidate(step, tensor) for name, tensor in fills.items()}
    return {name: candidate for name, candidate in by_name.items() if candidate}


def _candidate(step: Step, tensor: Tensor) -> Candidate | None:
    """Return a map as a candidate, unless it stays, or is read in backward by nobody or after a
    change."""
    life, uses = step.lifetimes[tensor.storage.name], step.lifetimes.uses[tensor.storage.name]
    reads, writes = (
        [(n, step.ops[n].phase) for n in numbers] for numbers in (uses.reads, uses.writes)
    )
    later = [tensor for tensor in reads if tensor[1] not in (Phase.FORWARD, Phase.UPDATE)]
    changed = any(phase is not Phase.FORWARD for _, phase in writes)
    if not later or later[0][1] is not Phase.BACKWARD or changed or life.death >= len(step.ops):
        return None
    leaves = max(number for number, phase in reads if phase is Phase.FORWARD)
    return Candidate(tensor, leaves, later[0][0])


def _fills(tensor: Tensor) -> bool:
    """Return whether a tensor is a map of the device, or the input, and all of its block."""
    whole = tensor.offset == 0 and tensor.pitch is None and tensor.size == tensor.storage.size
    maps = tensor.role in (Role.FEATURE_MAP, Role.INPUT) and tensor.format.kind == "float"
    return whole and maps and tensor.storage.memory == DEVICE


# -- policies -----------------------------------------------------------------------------------


def _none(step: Step) -> set[str]:
    return set()


def _conv(step: Step) -> set[str]:
    return {name for op in _layers(step) if op.kind == Conv2d.kind for name in inputs(op)}


def _all(step: Step) -> set[str]:
    layers = [op for op in _layers(step) if not is_activation(op)]
    return {name for op in layers[:-1] for name in inputs(op)}


POLICIES: Mapping[str, Callable[[Step], set[str]]] = {"none": _none, "conv": _conv, "all": _all}
"""The static policies of vDNN (C6): which layers' inputs go, as names of blocks."""


def inputs(op: Op) -> list[str]:
    """Return the blocks of the maps that a layer works on; parameters are none."""
    roles = (Role.FEATURE_MAP, Role.INPUT)
    return [tensor.storage.name for tensor in op.reads.values() if tensor.role in roles]


def _layers(step: Step) -> list[Op]:
    return [op for op in step.ops if op.phase is Phase.FORWARD]


# -- the way back -------------------------------------------------------------------------------


class WayBack:
    """Rule by which maps come back, of a step that is read once for many choices of them: with the
    backward of a later layer, which looks for the nearest earlier layer whose input is away, and
    no further than the next convolution (C5). A reader that finds its input still away fetches
    it, and waits."""

    def __init__(self, step: Step) -> None:
        self.there = candidates(step)
        layers = _layers(step)
        place = {op.layer: number for number, op in enumerate(layers)}
        self._backwards: list[_Backward] = []
        for first, end, layer in _backwards(step):
            number = place.get(layer)
            looks = number is not None and not is_activation(layers[number])
            earlier = list(self._earlier(layers[:number])) if looks else []
            needs = _read(step.ops[first:end], self.there)
            self._backwards.append(_Backward(first, end, needs, earlier))

    def moves(self, chosen: Collection[str]) -> list[Move]:
        """Return the copies of the chosen maps, in the order in which they come back."""
        away = {name: map_ for name, map_ in self.there.items() if name in chosen}
        moves = []
        for here in self._backwards:
            for name in here.needs:
                if name in away:
                    move = away.pop(name)
                    moves.append(Move(move.map, move.leaves, move.needed, move.needed))
            for names in here.earlier:
                if wanted := [name for name in names if name in away]:
                    every = [away.pop(name) for name in wanted]
                    moves += [Move(m.map, m.leaves, here.first, here.end) for m in every]
                    break
            if not away:
                break
        return moves

    def _earlier(self, layers: Sequence[Op]) -> Iterator[list[str]]:
        """Yield the inputs of the layers before, the nearest first, up to the next convolution."""
        for op in reversed(layers):
            if not is_activation(op):
                yield [name for name in dict.fromkeys(inputs(op)) if name in self.there]
                if op.kind == Conv2d.kind:
                    return


class _Backward(NamedTuple):
    """Backward of a layer: its operations, the maps that they need, and those that they may fetch,
    nearest first."""

    first: int
    end: int
    needs: list[str]
    earlier: list[list[str]]


def _read(ops: Iterable[Op], away: Mapping[str, Candidate]) -> list[str]:
    names = (tensor.storage.name for op in ops for tensor in op.reads.values())
    return [name for name in dict.fromkeys(names) if name in away]


def _backwards(step: Step) -> list[tuple[int, int, str]]:
    """Return the backward of every layer: its first operation, the one after its last, its name."""
    backward_ops: list[tuple[int, int, str]] = []
    for number, op in enumerate(step.ops):
        if op.phase is Phase.BACKWARD:
            if backward_ops and backward_ops[-1][2] == op.layer and backward_ops[-1][1] == number:
                backward_ops[-1] = (backward_ops[-1][0], number + 1, op.layer)
            else:
                backward_ops.append((number, number + 1, op.layer))
    return backward_ops


# -- the step of it -----------------------------------------------------------------------------


@paused()
def moved(step: Step, moves: Sequence[Move], note: str) -> Step:
    """Return the step with the copies of these moves, each in its stream."""
    ops = tuple(_CopyWriter(step, moves).ops())
    step.check_new(t for op in ops if op.phase is Phase.COPY for t in op.writes.values())
    return replace(step, ops=ops, notes=(*step.notes, note))


def by_number(moves: Iterable[Move], which: str) -> dict[int, list[Move]]:
    """Return moves by one of their operations: ``"leaves"`` or ``"returns"``."""
    by_op: dict[int, list[Move]] = {}
    for move in moves:
        by_op.setdefault(getattr(move, which), []).append(move)
    return by_op


class _CopyWriter:
    """Writer of the operations in order, with the copies and the operations that wait for them."""

    def __init__(self, step: Step, moves: Sequence[Move]) -> None:
        self.step = step
        self.out, self.back = by_number(moves, "leaves"), by_number(moves, "returns")
        self.homes: dict[str, Storage] = {}
        self.waiting: dict[int, list[str]] = {}

    def ops(self) -> Iterator[Op]:
        before: tuple[str, ...] = ()
        for number, op in enumerate(self.step.ops):
            starts = (*before, *self.waiting.get(number, ()))
            for move in self.back.get(number, ()):
                copy = self.copy(IN, move, starts)
                self.waiting.setdefault(move.waits, []).append(copy.name)
                self.homes[move.map.storage.name] = copy.writes["y"].storage
                yield copy
            waits = (*op.after, *self.waiting.get(number, ()))
            yield self.at_home(replace(op, after=waits))
            for move in self.out.get(number, ()):
                copy = self.copy(OUT, move, starts)
                self.waiting.setdefault(number + 1, []).append(copy.name)
                yield copy
            before = (op.name,)

    def copy(self, kind: str, move: Move, after: tuple[str, ...]) -> Op:
        """Return one copy of a map; it starts when the operation beside it does."""
        tensor = move.map
        there = _at(tensor, " on the host", HOST)
        pair = (tensor, there) if kind == OUT else (there, _at(tensor, " back", DEVICE))
        return Op(
            f"{kind} {tensor.name}",
            kind,
            Phase.COPY,
            reads={"x": pair[0]},
            writes={"y": pair[1]},
            bytes_moved=2 * tensor.storage.size,
            layer=self.step.ops[move.leaves].layer,
            stage=self.step.ops[move.leaves].stage,
            stream=kind,
            after=after,
        )

    def at_home(self, op: Op) -> Op:
        """Return the operation on the maps where they lie now."""
        if not any(tensor.storage.name in self.homes for tensor in op.reads.values()):
            return op
        reads = {slot: self.lies(tensor) for slot, tensor in op.reads.items()}
        return replace(op, reads=reads)

    def lies(self, tensor: Tensor) -> Tensor:
        home = self.homes.get(tensor.storage.name)
        return tensor if home is None else replace(tensor, name=f"{tensor.name} back", storage=home)


def _at(tensor: Tensor, suffix: str, memory: str) -> Tensor:
    storage = Storage(tensor.storage.name + suffix, tensor.storage.size, memory)
    return replace(tensor, name=tensor.name + suffix, storage=storage)


VDNN, NEEDED = PREFETCH = ("vdnn", "needed")
"""When a map comes back: with the backward of a later layer, no further than the next convolution
(C5), or when its reader comes."""


def needed(there: Mapping[str, Candidate], chosen: Collection[str]) -> list[Move]:
    """Return moves by which every chosen map comes back when its first reader comes, which waits
    for it."""
    away = sorted((move for name, move in there.items() if name in chosen), key=_when)
    return [Move(move.map, move.leaves, move.needed, move.needed) for move in away]


def back(prefetch: str) -> str:
    """Return the words for the rule in the note of a step; vDNN's goes without saying."""
    return ", back when needed" if prefetch == NEEDED else ""


def _when(candidate: Candidate) -> int:
    return candidate.needed
