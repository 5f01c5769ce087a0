"""Checks that a plan fits, before anything is allocated: running out of memory is a lesson, not a
crash.

A simulated GPU has a second limit, the reader's time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from memlab import free_memory, units
from memlab.arrays import alive, column
from memlab.errors import InputError
from memlab.free_memory import Room
from memlab.ledger.ledger import Ledger
from memlab.ledger.questions import Fit
from memlab.step.step import Step
from memlab.step.storage import DEVICE, HOST, MEMORIES, Size

if TYPE_CHECKING:
    from memlab.runtime.program import Program

MINUTE = 60 * 10**9
PATIENCE = 5 * MINUTE
OPERATION, BYTE = 10_000, 2_500
"""Nanoseconds that the simulator takes for an arithmetic operation, and for a byte that is moved: a
rule of thumb, within a factor of 3 for layers of some size."""

SWAY = 2**20
"""Bytes by which a process's memory beside its arrays differs from run to run, at most."""

WAITING = {MEMORIES: "with what waits in RAM", (HOST,): "what waits in RAM"}
"""Note on a plan that counts these memories as the device's."""


class DoesNotFitError(InputError):
    """Error about a plan that needs more memory than is free.

    It carries the plan (``ledger``), the batch, the free bytes (``free``), and the largest batch
    that fits (``fit``).
    """

    def __init__(self, ledger: Ledger, batch: int, room: Room) -> None:
        free, under = room.nbytes, f" under {room.limit}" if room.limit else ""
        self.ledger, self.batch, self.free = ledger, batch, free
        self.fit: Fit = ledger.fit(max(0, free - SWAY) if room.limit else free)
        need = ledger.peak(batch)
        largest = (
            f"the largest batch that fits is {self.fit.batch}"
            if self.fit.fits
            else "not even batch 1 fits; try a smaller image"
            if ledger.batches is None
            else "this plan holds for no smaller batch; plan again for one"
        )
        raised = ", or raise that limit" if under else ""
        super().__init__(
            f"refused before anything was allocated: {ledger.describe()} at batch {batch} needs "
            f"{units.both(need)}, {units.both(free)} are free{under}, "
            f"{units.short(need - free)} are missing; {largest}{raised}."
        )


def check(ledger: Ledger, batch: int, room: Room) -> None:
    """Refuse a plan whose peak is above the free memory.

    Raises:
        DoesNotFitError: it does not fit.
    """
    if ledger.peak(batch) > room.nbytes:
        raise DoesNotFitError(ledger, batch, room)


def admit(program: Program, other_bytes: int = 0) -> None:
    """Refuse a program that does not fit into the free memory.

    Offloaded maps that wait in RAM count together with the step, where the device has no memory of
    its own. Files of a folder are no memory.

    Args:
        program: the step that will run.
        other_bytes: bytes of another program that will be alive at the same time.

    Raises:
        DoesNotFitError: it does not fit.
    """
    backend, spans = program.backend, program.spans
    here = backend.room()
    rooms: list[tuple[tuple[str, ...], Room]] = [((DEVICE,), here)]
    if program.host.folder is None and any(span.memory != DEVICE for span in spans):
        if backend.one_memory:
            rooms = [(MEMORIES, here)]
        else:
            rooms.append(((HOST,), free_memory.room()))
    for memories, room in rooms:
        chosen = [span for span in spans if span.memory in memories]
        births = np.array([span.birth for span in chosen], np.int64)
        deaths = np.array([span.death for span in chosen], np.int64)
        line = alive(column([s.nbytes for s in chosen]), births, deaths, len(program.step.ops))
        if max(line) > max(0, room.nbytes - other_bytes):
            ledger = as_device_plan(program.planned, memories)
            raise DoesNotFitError(ledger, program.batch, room.beside(other_bytes))


def as_device_plan(ledger: Ledger, memories: tuple[str, ...]) -> Ledger:
    """Plan of these memories alone, as if they were the device's."""
    if memories == (DEVICE,):
        return ledger
    entries = (replace(e, memory=DEVICE) for e in ledger.entries if e.memory in memories)
    return replace(ledger, entries=tuple(entries), notes=(*ledger.notes, WAITING[memories]))


def check_time(step: Step, batch: int) -> None:
    """Refuse a step that Numba's simulator of a GPU does not finish in a few minutes.

    Raises:
        InputError: it would take longer, as estimated from its operations and bytes.
    """
    time = sum((OPERATION * op.flops + BYTE * op.bytes_moved for op in step.ops), Size())
    if time.at(batch) <= PATIENCE:
        return
    largest = (PATIENCE - time.fixed) // time.per_sample if time.per_sample else 0
    hint = (
        f"the largest batch that takes less is {largest}"
        if largest > 0
        else "not even batch 1 takes less; try a smaller image"
    )
    raise InputError(
        f"refused before anything was allocated: {step.describe()} at batch {batch} would take "
        f"Numba's simulator of a GPU about {time.at(batch) / MINUTE:,.0f}, more than "
        f"{PATIENCE // MINUTE} minutes; {hint}."
    )
