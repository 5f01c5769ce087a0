"""``memlab.run``: one step on real arrays, planned beside measured."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlab import units
from memlab.errors import true_or_false
from memlab.kernels.registry import Array
from memlab.ledger.entries import UNNAMED
from memlab.ledger.ledger import BEFORE, Entry, Ledger
from memlab.placement.placement import ARENA, Placement
from memlab.runtime import memory_guard
from memlab.runtime.async_copies import RAM
from memlab.runtime.backend import Backend
from memlab.runtime.interrupts import outside_the_hook
from memlab.runtime.metering.meter import Meter, MeteredBlock
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.step import Step
from memlab.step.storage import HOST, Size
from memlab.step.tensor import Role

NAMED = 3
"""Number of operations that wrote NaN which the text of a run names."""


@dataclass(frozen=True)
class Run:
    """What a step gave back, what was planned for it, and what it used.

    ``before``, ``inside`` and ``after`` are measured bytes per operation; ``seconds`` leaves out
    the ``compile_seconds`` that Numba took for kernels it met for the first time. ``counted`` is
    how far the device's own counter of used bytes rose, where it has one; ``outside`` names what
    the measurement does not see. Where the step ran in an arena, ``arena`` are its measured
    bytes, and ``nan`` names the operations that wrote NaN where the same step without an arena
    writes none: empty if no operation read free bytes. ``unclear`` names those that wrote NaN where
    there was no room to run the step without the arena too.
    """

    step: Step
    batch: int
    planned: Ledger
    measured: Ledger
    before: list[int]
    inside: list[int]
    after: list[int]
    seconds: float
    compile_seconds: float
    resident_set: int
    loss: float | None
    output: Array | None = None
    parameters: Mapping[str, Array] = field(default_factory=dict, repr=False)
    gradients: Mapping[str, Array] = field(default_factory=dict, repr=False)
    device: str = "cpu"
    simulated: bool = False
    outside: tuple[str, ...] = ()
    counted: int | None = None
    placement: Placement | None = None
    nan: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    host_grain: int = 1

    @property
    def arena(self) -> int | None:
        """The bytes of the arena as the meter saw it allocated; ``None`` where there was none."""
        found = [entry for entry in self.measured.entries if entry.name == ARENA]
        return found[0].size.at(self.batch) if found and self.placement is not None else None

    @property
    def residuals(self) -> list[int]:
        """Per operation, the difference of largest size between measured and planned bytes:
        before, inside or after."""
        plan, batch = self.planned, self.batch
        planned = zip(plan.before(batch), plan.timeline(batch), plan.after(batch), strict=True)
        measured = zip(self.before, self.inside, self.after, strict=True)
        return [
            max((m - p for m, p in zip(seen, due, strict=True)), key=abs)
            for seen, due in zip(measured, planned, strict=True)
        ]

    @property
    def host_residuals(self) -> list[int]:
        """The same of the host's memory, inside each operation. Where maps wait in files, each is
        planned in whole blocks of the file system, of ``host_grain`` bytes."""
        planned = _in_blocks(self.planned, self.batch, self.host_grain)
        seen = self.measured.timeline(self.batch, HOST)
        return [m - p for m, p in zip(seen, planned.timeline(self.batch, HOST), strict=True)]

    @property
    def residual(self) -> int:
        """The largest absolute difference over all operations, in both memories; 0 means that the
        plan held."""
        return max(map(abs, (*self.residuals, *self.host_residuals)))

    @property
    def host_peak(self) -> int:
        """The most bytes that waited in the host's memory, measured; 0 where nothing was moved."""
        return self.measured.peak(self.batch, HOST)

    @property
    def peak(self) -> int:
        """The most bytes that were alive, measured."""
        return max(self.inside)

    def text(self) -> str:
        """Planned, measured, residual, seconds, and what the measurement does not see."""
        planned = self.planned.peak_at(self.batch)
        where = f"at operation {planned.index + 1} of {len(self.inside)}, {planned.row.name}"
        on = "" if self.device == "cpu" else f", on {'the ' * self.simulated}{self.device}"
        slow = "  of the simulator, which say nothing of a GPU" if self.simulated else ""
        lines = [
            f"{self.step.describe()}, batch {self.batch}{on}",
            f"planned   {units.exact(planned.nbytes):>20}  {units.both(planned.nbytes)} {where}",
            f"{self.measured.origin:10}{units.exact(self.peak):>20}  {units.both(self.peak)}",
            *self._on_host(),
            f"residual  {units.exact(self.residual):>20}  over {len(self.inside)} operations: "
            "before, inside, after",
            *self._placed(),
            f"seconds   {self.seconds:>18.3f} s{slow}",
            f"outside   {'; '.join(self.outside)}",
            f"{'':10}{self._beside()}",
        ]
        return "\n".join(lines)

    def _on_host(self) -> list[str]:
        """What waited in the host's memory."""
        planned = self.planned.peak(self.batch, HOST)
        if not planned:
            return []
        blocks = f", in blocks of {units.exact(self.host_grain)}" if self.host_grain > 1 else ""
        return [
            f"on the host {units.exact(planned):>18}  planned, "
            f"{units.exact(self.host_peak)} {self.measured.origin}{blocks}"
        ]

    def _placed(self) -> list[str]:
        """The arena, and who computed with what was free."""
        if self.placement is None or self.arena is None:
            return []
        bound, waste = units.exact(self.placement.lower_bound), units.exact(self.placement.waste)
        lines = [f"arena     {units.exact(self.arena):>20}  lower bound {bound}, waste {waste}"]
        if self.nan:
            lines.append(f"NaN       written by {_some(self.nan)}")
        if self.unclear:
            lines.append(
                f"NaN       written by {_some(self.unclear)}; too little is free to run the step "
                "without the arena and tell why"
            )
        return lines

    def _beside(self) -> str:
        """What another counter says: of other things too, and in steps."""
        if self.counted is None:
            return f"the operating system counted at most {units.both(self.resident_set)}"
        more = units.both(self.counted)
        return f"the device's own counter: at most {more} more than before (in steps of 2 MiB)"

    __str__ = text

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "planned_peak_bytes": self.planned.peak(self.batch),
            "measured_peak_bytes": self.peak,
            "planned_host_bytes": self.planned.peak(self.batch, HOST),
            "measured_host_bytes": self.host_peak,
            "residual_bytes": self.residual,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "resident_set_bytes": self.resident_set,
            "device": self.device,
            "simulated": self.simulated,
            "device_counter_bytes": self.counted,
            "loss": self.loss,
            "placement": self.placement and self.placement.as_dict(),
            "measured_arena_bytes": self.arena,
            "nan": list(self.nan),
            "unclear_nan": list(self.unclear),
        }


def run(
    step: Step,
    batch: int,
    x: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    parameters: Mapping[str, npt.ArrayLike] | None = None,
    seed: int = 0,
    settings: Mapping[str, float] | None = None,
    keep: str | None = None,
    progress: bool = False,
    device: str = "cpu",
    placement: Placement | str | None = None,
    poison: bool = True,
    overlapping: bool = False,
    host: str | Path = RAM,
) -> Run:
    """Run a step once, allocating and freeing exactly when its plan says, and measure it.

    With a ``placement`` (one of ``memlab.place(step, batch)``, or the name of a way to place),
    everything that is born in the step lies in one arena at those addresses. ``poison`` then fills
    what is free with NaN, so that no read of it stays unseen; where an operation wrote NaN, the
    step runs once more without the arena if that fits, since the training itself may have
    overflowed.
    ``overlapping`` also lets a placement run in which blocks share bytes while both are alive: its
    results are wrong.

    A step that offloads moves its maps to the ``host``: ``"ram"``, or a folder, where they wait in
    files. Copies run beside the kernels: in threads of their own, on a GPU in streams of their own,
    from and to page-locked memory. There a block that is freed ends the overlap, as the driver then
    waits for the device, and a copy to a file waits for its own end: for the time, take a
    ``placement``, whose arena frees nothing within a step, and RAM.

    ``x`` has the shape (batch, ...) of the network's input and ``labels`` are int64; what is not
    given is drawn from ``seed``. ``keep='gradients'`` keeps the parameters' gradients, in the plan
    too. ``settings`` are the optimizer's. ``device`` is ``"cpu"`` or ``"cuda"``: a GPU, or Numba's
    simulator where there is none, for small steps.

    Raises:
        DoesNotFitError: the plan needs more than is free; nothing was allocated.
        InputError: an input of another shape or format, or with NaN or infinity in it; no kernel
            for an operation on that device; too large a step for the simulator; or what a
            ``Session`` refuses.
    """
    for name, given in (("progress", progress), ("poison", poison), ("overlapping", overlapping)):
        true_or_false(name, given)
    program = Program(step, batch, device, placement, host, overlapping, keep)
    memory_guard.admit(program)
    program.load()  # its modules have arrays of their own, which are no part of the step
    if program.place.simulated:
        memory_guard.check_time(program.step, program.batch)
    from memlab.runtime.metering.compile_time import Compilations, install_listener

    poison = poison and program.placement is not None
    with (
        outside_the_hook(),
        install_listener(program.place.compiling, Compilations()) as compiling,
        Meter(hook=program.place.hook()) as meter,
    ):
        session = Session(program, seed, parameters, settings, meter, poison)
        begin = time.perf_counter()
        counts = session.step(x, labels, progress)
        seconds = time.perf_counter() - begin - compiling.seconds
        seen = _measured(program.planned, meter.seen, program.batch, program.place)
    results = _results(session)
    session.close()
    before, inside, after = (list(column) for column in zip(*counts, strict=True))
    again = partial(Session, seed=seed, parameters=parameters, settings=settings, poison=True)
    nan, unclear = _poisoned(session, again, x, labels, progress)
    return Run(
        program.step,
        program.batch,
        program.planned,
        seen,
        before,
        inside,
        after,
        seconds,
        compiling.seconds,
        resident_set(),
        **results,
        device=program.place.name,
        simulated=program.place.simulated,
        outside=program.place.outside,
        counted=program.place.counted(),
        placement=program.placement,
        nan=nan,
        unclear=unclear,
        host_grain=program.host.grain,
    )


def _measured(planned: Ledger, seen: list[MeteredBlock], batch: int, place: Backend) -> Ledger:
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


def resident_set() -> int:
    """The most bytes that the operating system has counted for this process: shown beside a
    measurement, and no measure of a plan."""
    import psutil

    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def _results(session: Session) -> dict[str, Any]:
    """What a step gives back, by the fields of a run that hold it."""
    step, placement = session.program.step, session.program.placement
    born = {block.name for block in placement.blocks} if placement is not None else set()
    live: dict[Role, dict[str, Array]] = {role: {} for role in Role}
    for tensor in step.live_out:
        values = session.value(tensor)  # a view of an arena would keep all of it
        live[tensor.role][tensor.name] = np.array(values) if tensor.storage.name in born else values
    (output, *_) = live[Role.FEATURE_MAP].values()
    return {
        "loss": float(output[()]) if step.training else None,
        "output": None if step.training else output,
        "parameters": live[Role.PARAMETER] | live[Role.BUFFER],
        "gradients": live[Role.PARAMETER_GRADIENT],
    }


def _in_blocks(ledger: Ledger, batch: int, grain: int) -> Ledger:
    """The same plan at one batch, with each block of the host's memory in whole grains."""
    if grain == 1:
        return ledger
    entries = [
        replace(e, size=Size(-(-e.size.at(batch) // grain) * grain)) if e.memory == HOST else e
        for e in ledger.entries
    ]
    return replace(ledger, entries=tuple(entries))


def _poisoned(
    session: Session,
    again: Callable[..., Session],
    x: npt.ArrayLike | None,
    labels: npt.ArrayLike | None,
    progress: bool,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of the operations that wrote NaN in an arena those that do not write it at the same places
    outside; and all of them, where there is no room outside."""
    found, placed = session.nan, session.program
    if not found:
        return (), ()
    program = Program(placed.step, placed.batch, placed.device, host=placed.host)
    try:
        memory_guard.admit(program)
    except memory_guard.DoesNotFitError:
        return (), tuple(found)
    with again(program) as plain:
        plain.step(x, labels, progress)
        return tuple(name for name in found if plain.nan.get(name) != found[name]), ()


def _some(names: Sequence[str]) -> str:
    """The first of them, and how many others there are."""
    others = f" and {len(names) - NAMED} others" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{others}"
