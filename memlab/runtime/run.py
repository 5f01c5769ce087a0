"""``memlab.run``: one step on real arrays, with its plan and its measurement side by side."""

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

from memlab import free_memory, units
from memlab.errors import IN_PAGE, true_or_false
from memlab.kernels.cpu.threads import NO_THREADS, threads_start
from memlab.kernels.registry import Array
from memlab.ledger.entries import UNNAMED
from memlab.ledger.ledger import BEFORE, Entry, Ledger
from memlab.placement.placement import ARENA, Placement
from memlab.rounding import decode
from memlab.runtime import memory_guard
from memlab.runtime.async_copies import RAM
from memlab.runtime.backend import Backend
from memlab.runtime.interrupts import outside_the_hook
from memlab.runtime.metering.meter import Meter, MeteredBlock
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import HOST, Size
from memlab.step.tensor import Role

COUNTER = "the memory of this page has" if IN_PAGE else "the operating system counted at most"
"""Counter of bytes beside the measurement, as the text of a run names it."""
NAMED = 3
"""Number of operations that wrote NaN which the text of a run names."""


@dataclass(frozen=True)
class Run:
    """Results of a step that ran once, its plan, and its measurement.

    Attributes:
        step: the step.
        batch: samples in the batch.
        planned: the plan.
        measured: the measured blocks, in the form of a plan.
        before: measured bytes before each operation.
        inside: most measured bytes inside each operation.
        after: measured bytes after each operation.
        seconds: running time, without ``compile_seconds``.
        compile_seconds: time that Numba took to compile kernels that it met for the first time.
        resident_set: most bytes that the operating system counted for this process, or those of a
            web page's memory.
        loss: loss of a training step; None for an inference.
        output: output of an inference; None for a training step.
        parameters: parameters and buffers after the step, by name.
        gradients: gradients of the parameters, by name, if they were kept.
        device: name of the device.
        simulated: True if the device is a simulated GPU.
        outside: kinds of memory that the measurement does not see.
        counted: largest rise of the device's own counter of used bytes; None if it has none.
        placement: the placement, if the step ran in an arena.
        nan: operations that wrote NaN in the arena, and do not without it. Empty if no operation
            read free bytes.
        unclear: operations that wrote NaN, if there was no room to run the step without the arena
            too.
        host_grain: unit in bytes in which the host's memory is allocated.
        in_turn: True if what runs on threads of its own elsewhere ran in turn, because no thread
            can start here.

    >>> import memlab
    >>> net = memlab.network("small", features=8).linear(16).relu().linear(4).cross_entropy()
    >>> run = memlab.run(memlab.training_step(net), batch=2)
    >>> run.peak == run.planned.peak(batch=2), run.residual
    (True, 0)
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
    in_turn: bool = False

    @property
    def arena(self) -> int | None:
        """Measured bytes of the arena; None if there was none."""
        entries = [entry for entry in self.measured.entries if entry.name == ARENA]
        return entries[0].size.at(self.batch) if entries and self.placement is not None else None

    @property
    def residuals(self) -> list[int]:
        """Measured minus planned bytes, for each operation: before, inside or after it, whichever
        differs most."""
        plan, batch = self.planned, self.batch
        planned = zip(plan.before(batch), plan.timeline(batch), plan.after(batch), strict=True)
        measured = zip(self.before, self.inside, self.after, strict=True)
        return [
            max((m - p for m, p in zip(seen, due, strict=True)), key=abs)
            for seen, due in zip(measured, planned, strict=True)
        ]

    @property
    def host_residuals(self) -> list[int]:
        """Measured minus planned bytes of the host's memory, inside each operation.

        Where maps wait in files, each of them is planned in whole blocks of the file system, of
        ``host_grain`` bytes.
        """
        planned = _in_whole_grains(self.planned, self.batch, self.host_grain)
        seen = self.measured.timeline(self.batch, HOST)
        return [m - p for m, p in zip(seen, planned.timeline(self.batch, HOST), strict=True)]

    @property
    def residual(self) -> int:
        """Largest absolute difference of measured and planned bytes, over all operations and both
        memories; 0 means that the plan held."""
        return max(map(abs, (*self.residuals, *self.host_residuals)))

    @property
    def host_peak(self) -> int:
        """Most measured bytes that waited in the host's memory; 0 if nothing was offloaded."""
        return self.measured.peak(self.batch, HOST)

    @property
    def peak(self) -> int:
        """Most measured bytes that were alive on the device."""
        return max(self.inside)

    def text(self) -> str:
        """Planned and measured peak, residual, seconds, and the memory that the measurement does
        not see, as text."""
        planned = self.planned.peak_at(self.batch)
        where = f"at operation {planned.index + 1} of {len(self.inside)}, {planned.row.name}"
        on = "" if self.device == "cpu" else f", on {'the ' * self.simulated}{self.device}"
        slow = "  of the simulator, which say nothing of a GPU" if self.simulated else ""
        lines = [
            f"{self.step.describe()}, batch {self.batch}{on}",
            f"planned   {units.exact(planned.nbytes):>20}  {units.both(planned.nbytes)} {where}",
            f"{self.measured.origin:10}{units.exact(self.peak):>20}  {units.both(self.peak)}",
            *self._host_lines(),
            f"residual  {units.exact(self.residual):>20}  over {len(self.inside)} operations: "
            "before, inside, after",
            *self._arena_lines(),
            f"seconds   {self.seconds:>18.3f} s{slow}",
            *(
                [f"threads   {NO_THREADS}: copies and parts of kernels ran in turn"]
                if self.in_turn
                else []
            ),
            f"outside   {'; '.join(self.outside)}",
            f"{'':10}{self._other_counter()}",
        ]
        return "\n".join(lines)

    def _host_lines(self) -> list[str]:
        """Line of text about the host's memory, if the plan uses it."""
        planned = self.planned.peak(self.batch, HOST)
        if not planned:
            return []
        blocks = f", in blocks of {units.exact(self.host_grain)}" if self.host_grain > 1 else ""
        return [
            f"on the host {units.exact(planned):>18}  planned, "
            f"{units.exact(self.host_peak)} {self.measured.origin}{blocks}"
        ]

    def _arena_lines(self) -> list[str]:
        """Lines of text about the arena, and about operations that computed with free bytes."""
        if self.placement is None or self.arena is None:
            return []
        bound, waste = units.exact(self.placement.lower_bound), units.exact(self.placement.waste)
        lines = [f"arena     {units.exact(self.arena):>20}  lower bound {bound}, waste {waste}"]
        if self.nan:
            lines.append(f"NaN       written by {_first_names(self.nan)}")
        if self.unclear:
            lines.append(
                f"NaN       written by {_first_names(self.unclear)}; too little is free to run the "
                "step without the arena and tell why"
            )
        return lines

    def _other_counter(self) -> str:
        """Text about another counter of bytes, which counts other things too, in larger units."""
        if self.counted is None:
            return f"{COUNTER} {units.both(self.resident_set)}"
        more = units.both(self.counted)
        return f"the device's own counter: at most {more} more than before (in steps of 2 MiB)"

    __str__ = text

    def as_dict(self) -> dict[str, Any]:
        """Plan and measurement as a dictionary for JSON; bytes and seconds."""
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

    A step that offloads moves its maps to the ``host``. Copies run beside the kernels: in threads
    of their own, or on a GPU in streams of their own, from and to page-locked memory. On a GPU a
    block that is freed ends the overlap, since the driver then waits for the device, and a copy to
    a file waits for its own end. To measure time there, use RAM and a ``placement``, whose arena
    frees nothing within a step.

    Args:
        step: a training or inference step.
        batch: samples in a batch.
        x: inputs, (batch, ...) as the network's input; None to draw them from ``seed``.
        labels: labels, int64; None to draw them from ``seed``.
        parameters: initial values by name; parameters that are not given are drawn from ``seed``.
        seed: seed of everything that is drawn.
        settings: settings of the optimizer, such as ``{"rate": 0.01}``.
        keep: ``"gradients"`` to keep the parameters' gradients, in the plan too.
        progress: True to show a progress bar.
        device: ``"cpu"``, or ``"cuda"``: a GPU, or Numba's simulator where there is none, for small
            steps.
        placement: a placement (``memlab.place(step, batch)``), or the name of a placement strategy.
            Everything that is born in the step then lies in one arena, at these addresses.
        poison: True to fill free bytes of the arena with NaN, so that no read of them stays unseen.
            If an operation wrote NaN, the step runs once more without the arena if that fits, since
            the training itself may have overflowed.
        overlapping: True to allow a placement in which blocks share bytes while both are alive; the
            results are then wrong.
        host: place of offloaded maps: ``"ram"``, or a folder, where they wait in files.

    Returns:
        Results of the step, its plan and its measurement.

    Raises:
        DoesNotFitError: the plan needs more than is free; nothing was allocated.
        InputError: an input has another shape or format, or holds NaN or infinity; an operation has
            no kernel on this device; the step is too large for the simulator; or ``Program`` or
            ``Session`` refuses an argument.

    >>> import memlab
    >>> conv = memlab.network("small", image=(3, 8, 8)).conv(4, 3)
    >>> step = memlab.training_step(conv.relu().flatten().linear(10).cross_entropy())
    >>> run = memlab.run(step, batch=2)
    >>> run.peak == memlab.plan(step).peak(batch=2), run.residual
    (True, 0)
    """
    for name, flag in (("progress", progress), ("poison", poison), ("overlapping", overlapping)):
        true_or_false(name, flag)
    program = Program(step, batch, device, placement, host, overlapping, keep)
    memory_guard.admit(program)
    program.load()  # its modules have arrays of their own, which are no part of the step
    if program.backend.simulated:
        memory_guard.check_time(program.step, program.batch)
    from memlab.runtime.metering.compile_time import Compilations, install_listener

    poison = poison and program.placement is not None
    with (
        outside_the_hook(),
        install_listener(program.backend.compiling, Compilations()) as compiling,
        Meter(hook=program.backend.hook()) as meter,
    ):
        session = Session(program, seed, parameters, settings, meter, poison)
        begin = time.perf_counter()
        counts = session.step(x, labels, progress)
        seconds = time.perf_counter() - begin - compiling.seconds
        seen = _measured_ledger(program.planned, meter.seen, program.batch, program.backend)
    results = _results(session)
    session.close()
    before, inside, after = (list(column) for column in zip(*counts, strict=True))
    again = partial(Session, seed=seed, parameters=parameters, settings=settings, poison=True)
    nan, unclear = _operations_with_nan(session, again, x, labels, progress)
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
        device=program.backend.name,
        simulated=program.backend.simulated,
        outside=program.backend.outside,
        counted=program.backend.device_counter(),
        placement=program.placement,
        nan=nan,
        unclear=unclear,
        host_grain=program.host.grain,
        in_turn=not threads_start() and _uses_threads(program.step),
    )


def _uses_threads(step: Step) -> bool:
    """Return whether a step copies beside its kernels, or has kernels of several threads."""
    return step.threads > 1 or any(op.phase is Phase.COPY for op in step.ops)


def _measured_ledger(
    planned: Ledger, seen: list[MeteredBlock], batch: int, backend: Backend
) -> Ledger:
    """Blocks that the meter saw, as a ledger; blocks that memlab asked for have their planned
    names."""
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
    origin = "simulated" if backend.simulated else "measured"
    return replace(planned, entries=tuple(entries), origin=origin, batches=range(batch, batch + 1))


def resident_set() -> int:
    """Most bytes that the operating system has counted for this process; shown beside a
    measurement, and no measure of a plan. In a web page no system counts, but its memory never
    shrinks."""
    if IN_PAGE:
        return free_memory.page_memory().nbytes
    import psutil

    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def _results(session: Session) -> dict[str, Any]:
    """Results of a step, by the fields of ``Run`` that hold them."""
    step, placement = session.program.step, session.program.placement
    born = {block.name for block in placement.blocks} if placement is not None else set()
    live: dict[Role, dict[str, Array]] = {role: {} for role in Role}
    for tensor in step.live_out:
        values = session.value(tensor)  # a view of an arena would keep all of it
        values = decode(values, tensor.format) if tensor.format.as_bits else values
        live[tensor.role][tensor.name] = np.array(values) if tensor.storage.name in born else values
    (output, *_) = live[Role.FEATURE_MAP].values()
    return {
        "loss": float(output[()]) if step.training else None,
        "output": None if step.training else output,
        "parameters": live[Role.PARAMETER] | live[Role.BUFFER],
        "gradients": live[Role.PARAMETER_GRADIENT],
    }


def _in_whole_grains(ledger: Ledger, batch: int, grain: int) -> Ledger:
    """Plan at one batch, with each block of the host's memory rounded up to whole grains."""
    if grain == 1:
        return ledger
    entries = [
        replace(e, size=Size(-(-e.size.at(batch) // grain) * grain)) if e.memory == HOST else e
        for e in ledger.entries
    ]
    return replace(ledger, entries=tuple(entries))


def _operations_with_nan(
    session: Session,
    again: Callable[..., Session],
    x: npt.ArrayLike | None,
    labels: npt.ArrayLike | None,
    progress: bool,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Operations that wrote NaN in an arena but not, or at other places, without it; and all that
    wrote NaN, if there is no room to run without it."""
    nan, placed = session.nan, session.program
    if not nan:
        return (), ()
    program = Program(placed.step, placed.batch, placed.device, host=placed.host)
    try:
        memory_guard.admit(program)
    except memory_guard.DoesNotFitError:
        return (), tuple(nan)
    with again(program) as plain:
        plain.step(x, labels, progress)
        return tuple(name for name in nan if plain.nan.get(name) != nan[name]), ()


def _first_names(names: Sequence[str]) -> str:
    """Text with the first names, and the number of others."""
    others = f" and {len(names) - NAMED} others" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{others}"
