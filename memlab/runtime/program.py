"""Program: a step at a batch on a device, with everything that a loop over its operations reads.

The kernel of every operation, its allocations and releases, the places of its operands in their
blocks, and those of the blocks in an arena are determined here, once, and kept in plain lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from memlab.devices import DEVICES
from memlab.errors import InputError, shorten
from memlab.kernels import registry
from memlab.kernels.registry import Kernel, KernelCall
from memlab.ledger.entries import Entry
from memlab.ledger.ledger import Ledger
from memlab.ledger.plan import plan
from memlab.placement.placement import Placement, arrange, blocks, booked
from memlab.runtime import arena, backend
from memlab.runtime.async_copies import RAM, Host
from memlab.runtime.async_copies import host as host_memory
from memlab.runtime.inputs import input_specs
from memlab.runtime.memory import Operand, part_of
from memlab.step.fp32_tiles import COMPUTED, is_staged
from memlab.step.lifetimes import BEFORE
from memlab.step.op import CALL, LOAD, PLANNED, Op, Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role, Tensor
from memlab.techniques import application_order


class OperationTurn(NamedTuple):
    """One operation of a program.

    Attributes:
        op: the operation.
        kernel: its kernel.
        births: tensors whose storages are allocated before it.
        deaths: names of the storages that are freed after it.
        operands: the part of a storage that each operand of the kernel is.
        side_copies: numbers of the copies to the host that may begin together with it. They follow
            right after it, and wait only for operations before it.
    """

    op: Op
    kernel: Kernel
    births: Sequence[Tensor]
    deaths: Sequence[str]
    operands: Mapping[str, Operand]
    side_copies: list[int]


class BlockSpan(NamedTuple):
    """Bytes of a block, and the numbers of the operations in which it is born and dies."""

    memory: str
    nbytes: int
    birth: int
    death: int


class Program:
    """A step at a batch on a device, ready to run.

    Args:
        step: the step.
        batch: samples in a batch.
        device: ``"cpu"`` or ``"cuda"``.
        placement: addresses in one arena, or the name of a placement strategy; None for a block for
            each storage.
        host: place of offloaded maps, ``"ram"`` or a folder.
        overlapping: True to allow a placement in which blocks share bytes while both are alive.
        keep: ``"gradients"`` to let the parameters' gradients outlive the step.

    Attributes:
        residents: tensors that stay alive between steps.
        inputs: inputs that are brought anew for every step.
        parts: number of micro-batches in which they are brought.

    Raises:
        InputError: it is no step, or one without operations; no such device; no such place on the
            host; a batch that the step does not hold for; a placement of another step, or one that
            overlaps without ``overlapping``.
    """

    def __init__(
        self,
        step: Step,
        batch: int,
        device: str = "cpu",
        placement: Placement | str | None = None,
        host: str | Path | Host = RAM,
        overlapping: bool = False,
        keep: str | None = None,
    ) -> None:
        if not isinstance(step, Step):
            raise InputError(
                f"a step is run, got {shorten(step)}; try memlab.training_step(network)."
            )
        step = step if keep is None else step.keep(keep)
        if not step.ops:
            plan(step)  # which says what is missing
        if any(CALL in op.attributes for op in step.ops):
            raise InputError(
                "this step was recorded from another framework: it is planned, rewritten and timed "
                "here, and runs there; try memlab.plan(step)."
            )
        if planned := next(
            (op.attributes[PLANNED] for op in step.ops if PLANNED in op.attributes), ""
        ):
            raise InputError(f"{planned} is planned and not run; leave it out to run the step.")
        self.step, self.batch, self.device = step, step.held(batch), device
        self.backend, self.host = backend.find(device), host_memory(host)
        self.residents = [tensor for tensor in step.live_in if tensor.role is not Role.INPUT]
        self.inputs, self.parts = input_specs(step), application_order.parts(step)
        self.turns: list[OperationTurn] = []
        self.spans = self._resolve_lifetimes()
        if isinstance(placement, str):
            placement = arrange(blocks(step, batch), placement)
        elif placement is not None:
            arena.check(placement, step, self.batch, overlapping)
        self.placement = placement
        if placement is not None:
            self.spans = [s for s in self.spans if s.birth == BEFORE or s.memory != DEVICE]
            self.spans.append(BlockSpan(DEVICE, placement.arena, BEFORE, len(step.ops)))

    def _resolve_lifetimes(self) -> list[BlockSpan]:
        """Determine the storages that are born and die at each operation, and return the spans of
        all blocks."""
        step, count = self.step, len(self.step.ops)
        self.births: list[list[Tensor]] = [[] for _ in range(count)]
        self.deaths: list[list[str]] = [[] for _ in range(count)]
        spans = []
        for life in step.lifetimes.blocks:
            storage, birth, death = life.tensor.storage, life.birth, life.death
            if birth != BEFORE:
                self.births[birth].append(life.tensor)
            if death < count:
                self.deaths[death].append(storage.name)
            spans.append(BlockSpan(storage.memory, storage.size.at(self.batch), birth, death))
        return spans

    def load(self) -> list[OperationTurn]:
        """Return the operations with their kernels; the first call imports the kernels' modules.

        Raises:
            InputError: there is no kernel for one of them.
        """
        if self.turns:
            return self.turns
        leader = None
        for number, kernel in enumerate(kernels_of(self.step, self.device)):
            op = self.step.ops[number]
            operands = {**op.reads, **op.writes, **op.updates, **op.workspace}
            operands.pop("addend", None)  # it is copied into dx before
            parts = {name: (t.storage.name, part_of(t, self.batch)) for name, t in operands.items()}
            turn = OperationTurn(op, kernel, self.births[number], self.deaths[number], parts, [])
            self.turns.append(turn)
            if op.phase is not Phase.COPY:
                leader = turn if op.kind != LOAD else None
            elif leader is None or leader.op.name in op.after or _to_device(op):
                leader = None
            else:
                leader.side_copies.append(number)
        return self.turns

    @cached_property
    def planned(self) -> Ledger:
        """Plan of the program, to be compared with what is measured."""
        ledger = plan(self.step)
        if self.placement is None:
            return ledger
        return booked(ledger, self.placement, self.batch)

    def lend(self, places: Sequence[Tensor]) -> None:
        """Plan the step's input as one of these buffers of a data loader, which live before,
        during and after the step, instead of a block of its own."""
        x, last = self.inputs[0].tensor, len(self.step.ops)
        there = [
            Entry(t.name, t.role, t.storage.size, BEFORE, last, t.axes, t.format.name,
                  memory=t.storage.memory)
            for t in places
        ]  # fmt: skip
        own = [entry for entry in self.planned.entries if entry.name != x.name]
        batches = range(self.batch, self.batch + 1)
        self.planned = replace(self.planned, entries=(*there, *own), batches=batches)
        self.spans = [
            BlockSpan(entry.memory, entry.size.at(self.batch), entry.birth, entry.death)
            for entry in self.planned.entries
        ]


def _to_device(op: Op) -> bool:
    """Return whether a copy brings a map back, and so takes bytes of the device when its turn
    comes."""
    return any(tensor.storage.memory == DEVICE for tensor in op.writes.values())


def kernels_of(step: Step, device: str = "cpu") -> list[Kernel]:
    """Return the kernel of every operation of a step.

    Raises:
        InputError: there is none for one of them on this device.
    """
    registry.load(device)
    row = DEVICES[device]
    if not row.staged and any(is_staged(op) or "mask" in op.writes for op in step.ops):
        able = " or ".join(other.name for other in DEVICES.values() if other.staged)
        raise InputError(
            f"a step that is stored in other formats than it is computed in runs on {able}, got "
            f"{device}; plan it instead of running it there."
        )
    layered = [op for op in step.ops if "layer" in op.attributes and op.phase is not Phase.UPDATE]
    by_step = (op for op in layered if op.attributes["layer"].row.by_step)
    of_sequences = any("T" in dict(t.axes) for op in by_step for t in op.touched())
    if of_sequences and not row.sequences:
        able = " or ".join(other.name for other in DEVICES.values() if other.sequences)
        raise InputError(
            f"linear layers and losses on sequences run on {able}, got {device}; plan this step "
            "instead of running it there."
        )
    return [_kernel_of(op, device) for op in step.ops]


def _no_kernel(call: KernelCall) -> None:
    """Do nothing: the session itself does the operations that only move bytes."""


def _kernel_of(op: Op, device: str) -> Kernel:
    """Kernel of an operation, in the format that it computes in."""
    if op.phase is Phase.COPY or op.kind == LOAD:
        return _no_kernel
    formats = [tensor.format.name for tensor in op.touched() if tensor.format.kind == "float"]
    any_format = op.traits.as_stored or op.traits.moves
    format = COMPUTED.name if is_staged(op) or any_format or not formats else formats[0]
    kernel = registry.find(op.kind, op.algorithm, device, format)
    if not is_staged(op):
        return kernel
    from memlab.kernels.cpu.small_formats.fp32_tiles import Staged, StagedUpdate

    return StagedUpdate(kernel, op) if op.slots else Staged(kernel, op)
