"""A program: a step at a batch on a device, with all that a loop over its operations reads.

The kernel of every operation, what it allocates and frees, where its operands lie in their blocks
and the blocks in an arena: it is found out here, once, and kept in plain lists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from memlab.devices import Room
from memlab.errors import InputError, shorten
from memlab.kernels.registry import Kernel
from memlab.lines import alive, column, np
from memlab.planner.book import plan
from memlab.planner.ledger import Ledger
from memlab.planner.placement import Placement, arrange, blocks, booked
from memlab.runtime import arena, backend, guard
from memlab.runtime.copies import RAM, Host
from memlab.runtime.copies import host as host_memory
from memlab.runtime.dispatch import kernels_of as kernels_of
from memlab.runtime.inputs import wanted
from memlab.runtime.memory import Operand, part_of
from memlab.step.lifetimes import BEFORE
from memlab.step.op import LOAD, Op, Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role, Tensor
from memlab.techniques import order


class Turn(NamedTuple):
    """One operation: ``births`` are allocated before it, ``deaths`` freed after it, by the names of
    their storages. ``operands`` say for its ``kernel`` which part of which storage each is.
    ``beside`` are the numbers of the copies to the host that may begin
    with it, although they stand after it."""

    op: Op
    kernel: Kernel
    births: Sequence[Tensor]
    deaths: Sequence[str]
    operands: Mapping[str, Operand]
    beside: Sequence[int]


class Span(NamedTuple):
    """Bytes of a block, and the operations in which it is alive, both counted."""

    memory: str
    nbytes: int
    birth: int
    death: int


class Program:
    """A step at a batch on a device; in one arena, where there is a ``placement`` of it: itself,
    or the name of a way to place. Maps that are moved wait in ``host``.

    ``load`` gives its operations, ``residents`` stay alive between steps, ``inputs`` are brought
    anew in so many ``parts``, and ``planned`` is its ledger.

    Raises:
        InputError: no step, or one without operations; no such device; no memory to wait in; a
            batch that the step does not hold for; a placement of another step, or one that
            overlaps where ``overlapping`` does not allow it.
    """

    def __init__(
        self,
        step: Step,
        batch: int,
        device: str = "cpu",
        placement: Placement | str | None = None,
        host: str | Path | Host = RAM,
        overlapping: bool = False,
    ) -> None:
        if not isinstance(step, Step):
            raise InputError(f"a step is run, got {shorten(step)}; try "
                             "memlab.training_step(network).")  # fmt: skip
        if not step.ops:
            plan(step)  # which says what is missing
        self.step, self.batch, self.device = step, step.held(batch), device
        self.place, self.host = backend.find(device), host_memory(host)
        self.residents = [tensor for tensor in step.live_in if tensor.role is not Role.INPUT]
        self.inputs, self.parts = wanted(step), order.parts(step)
        self.turns: list[Turn] = []
        self._resolve_lifetimes()
        if isinstance(placement, str):
            placement = arrange(blocks(step, batch), placement)
        elif placement is not None:
            arena.check(placement, step, self.batch, overlapping)
        self.placement = placement

    def _resolve_lifetimes(self) -> None:
        """What is allocated and freed at each operation, and the bytes of it all."""
        step, count = self.step, len(self.step.ops)
        self.births: list[list[Tensor]] = [[] for _ in range(count)]
        self.deaths: list[list[str]] = [[] for _ in range(count)]
        self.spans = []
        for life in step.lifetimes.blocks:
            storage, birth, death = life.tensor.storage, life.birth, life.death
            if birth != BEFORE:
                self.births[birth].append(life.tensor)
            if death < count:
                self.deaths[death].append(storage.name)
            self.spans.append(Span(storage.memory, storage.size.at(self.batch), birth, death))

    def load(self) -> list[Turn]:
        """Its operations with their kernels, whose modules are loaded here.

        Raises:
            InputError: no kernel for one of them.
        """
        if not self.turns:
            ops = self.step.ops
            kernels, beside = kernels_of(self.step, self.device), _beside(ops)
            columns = ops, kernels, self.births, self.deaths, map(self._operands, ops), beside
            self.turns = [Turn(*each) for each in zip(*columns, strict=True)]
        return self.turns

    def _operands(self, op: Op) -> dict[str, Operand]:
        """Where a kernel finds its operands; an addend is copied into ``dx`` before."""
        operands = {**op.reads, **op.writes, **op.updates, **op.workspace}
        operands.pop("addend", None)
        return {name: (t.storage.name, part_of(t, self.batch)) for name, t in operands.items()}

    @cached_property
    def planned(self) -> Ledger:
        """The plan of it, to be held against what is measured."""
        ledger = plan(self.step)
        if self.placement is None:
            return ledger
        return booked(ledger, self.placement, self.batch)

    def peak(self, memories: Collection[str] = (DEVICE,)) -> int:
        """The most bytes that are alive in these memories inside one operation."""
        spans = [span for span in self.spans if span.memory in memories]
        if self.placement is not None:
            spans = [s for s in spans if s.birth == BEFORE or s.memory != DEVICE]
            spans.append(Span(DEVICE, self.placement.arena, BEFORE, len(self.step.ops)))
        births = np.array([span.birth for span in spans], np.int64)
        deaths = np.array([span.death for span in spans], np.int64)
        sizes = column([span.nbytes for span in spans])
        return int(max(alive(sizes, births, deaths, len(self.step.ops)), default=0))

    def lacks(self) -> list[tuple[tuple[str, ...], Room]]:
        """Where it does not fit now: memories whose bytes lie together, and their room."""
        rooms = guard.rooms({span.memory for span in self.spans}, self.place, self.host)
        return [(each, room) for each, room in rooms if self.peak(each) > room.nbytes]


def _beside(ops: Sequence[Op]) -> list[list[int]]:
    """By operation, the copies to the host that may begin with it: those right after it which wait
    for none but those before it. One that brings a map back takes bytes of the device when its turn
    comes."""
    found: list[list[int]] = [[] for _ in ops]
    leader = None
    for number, op in enumerate(ops):
        if op.phase is not Phase.COPY:
            leader = None if op.kind == LOAD else number
        elif leader is not None:
            (target,) = op.writes.values()
            if ops[leader].name in op.after or target.storage.memory == DEVICE:
                leader = None
            else:
                found[leader].append(number)
    return found
