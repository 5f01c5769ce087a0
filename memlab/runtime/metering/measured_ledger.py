"""What was measured: the meter's blocks as a ledger, and what the operating system counted."""

from __future__ import annotations

import sys
from dataclasses import replace

from memlab.ledger.entries import UNNAMED
from memlab.ledger.ledger import BEFORE, Entry, Ledger
from memlab.runtime.backend import Backend
from memlab.runtime.metering.meter import Seen
from memlab.step.storage import Size
from memlab.step.tensor import Role


def resident_set() -> int:
    """The most bytes that the operating system has counted for this process: shown beside a
    measurement, and no measure of a plan."""
    import psutil

    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def ledger(planned: Ledger, seen: list[Seen], batch: int, place: Backend) -> Ledger:
    """What the meter saw as a ledger: blocks that memlab asked for under their names."""
    roles = {entry.name: entry for entry in planned.entries}
    operations = len(planned.rows)
    entries = []
    for block in seen:
        if block.death == BEFORE:
            continue  # drawing the first values took it; it is no part of the step
        death = operations if block.death is None else block.death
        known = roles.get(block.label)
        if known is None:
            entry = Entry(UNNAMED, Role.WORKSPACE, Size(block.nbytes), block.birth, death,
                          memory=block.memory)  # fmt: skip
        else:
            entry = replace(known, size=Size(block.nbytes), birth=block.birth, death=death)
        entries.append(entry)
    origin = "simulated" if place.simulated else "measured"
    return replace(planned, entries=tuple(entries), origin=origin, batches=range(batch, batch + 1))
