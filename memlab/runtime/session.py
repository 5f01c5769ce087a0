"""Session: a step whose parameters stay alive, run as often as wanted."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import partial
from math import inf

import numpy.typing as npt

from memlab.errors import InputError, known, real_number, shorten, true_or_false, whole_number
from memlab.kernels.registry import Array, KernelCall
from memlab.optimizers import OPTIMIZERS
from memlab.progress_bar import progress_bar
from memlab.runtime import initial_values
from memlab.runtime.arena import Arena
from memlab.runtime.inputs import Inputs, unmetered
from memlab.runtime.memory import Piece, RunMemory
from memlab.runtime.metering.meter import Meter
from memlab.runtime.program import OperationTurn, Program
from memlab.step.op import LOAD, Op, Phase
from memlab.step.tensor import Role, Tensor
from memlab.techniques.application_order import CHUNKS, PART, PARTS

SETTINGS = {
    "rate": 0.01,
    **{name: value for row in OPTIMIZERS.values() for name, value in row.settings.items()},
    "loss_scale": 2.0**16,
    "scale_interval": 2000,
}
"""Default of every setting: those of all optimizers (a step uses its own optimizer's defaults), and
of the loss scale: its first value, and the number of steps without overflow after which it
doubles."""
BOUNDS = {
    "alpha": (0.0, 1.0),
    "beta1": (0.0, 1.0),
    "beta2": (0.0, 1.0),
    "loss_scale": (2.0**-126, 2.0**128),
}
"""Least value of some settings, and the bound that they stay below: Adam divides by 1 - beta,
RMSProp's mean moves by 1 - alpha, and a loss scale is a normal fp32. All others are at least 0."""


class Session:
    """Memory of a program with its parameters, buffers and optimizer state, to run its step
    repeatedly.

    Use it in a ``with`` block, or call ``close``: then all of its memory is free.

    Args:
        program: the step at a batch on a device.
        seed: seed of everything that is drawn.
        parameters: initial values by name; others are drawn.
        settings: settings of the optimizer, such as ``{"rate": 0.01}``.
        meter: the meter that measures, if any.
        poison: True to fill free bytes of an arena with NaN. ``nan`` then holds, for each operation
            that wrote NaN in the last step, a number for the places of NaN in each of its arrays, 0
            for none.

    Raises:
        InputError: an operation has no kernel; a given array has an unknown name or a wrong shape,
            or holds NaN or infinity; the seed is no whole number from 0 on; or a setting is unknown
            or out of range.
    """

    def __init__(
        self,
        program: Program,
        seed: int = 0,
        parameters: initial_values.GivenArrays | None = None,
        settings: Mapping[str, float] | None = None,
        meter: Meter | None = None,
        poison: bool = False,
    ) -> None:
        self.program, self.backend, batch = program, program.backend, program.batch
        self.seed = whole_number("seed", seed, least=0)
        self.settings = _settings(program.step.optimizer, {} if settings is None else settings)
        self.turns, self.residents = program.load(), program.residents
        self.meter = meter
        self.poison = true_or_false("poison", poison)
        self.copies = self.backend.copies()
        self.memory = (
            RunMemory(batch, self.backend, meter, program.host)
            if program.placement is None
            else Arena(batch, self.backend, meter, program.placement, poison, program.host)
        )
        self.nan: dict[str, tuple[int, ...]] = {}
        self.closed = False
        self.steps = 0
        given = {} if parameters is None else parameters
        initial_values.check_names(given, self.residents)
        try:
            for tensor in self.residents:
                self.memory.allocate(tensor.storage, tensor.name)
                name, begins = tensor.start.of or tensor.name, tensor.start
                array = (
                    initial_values.as_numbers(tensor, name, given[name]) if name in given else None
                )
                draws = initial_values.generator(self.seed, name) if begins.deviation else None
                write = partial(
                    initial_values.fill,
                    tensor,
                    given=array,
                    start=begins,
                    draws=draws,
                    settings=self.settings,
                )
                self.backend.fill(self.memory.view(tensor), write)
        except BaseException:
            self.close()
            raise

    def step(
        self,
        x: npt.ArrayLike | Piece | None = None,
        labels: npt.ArrayLike | None = None,
        progress: bool = False,
    ) -> list[tuple[int, int, int]]:
        """Run every operation once, and return the measured bytes of each.

        Args:
            x: inputs of the whole batch; None to draw them. A ``Piece`` is a place on the device
                where they are already; it stays its owner's.
            labels: labels of the whole batch; None to draw them.
            progress: True to show a progress bar.

        Returns:
            For each operation, the bytes before it, the most inside it, and those after it; zeros
            without a meter.

        Raises:
            InputError: an input has another shape or kind, or holds NaN or infinity; or the session
                is closed.
        """
        if self.closed:
            raise InputError("this session is closed and holds nothing; open another one.")
        self.steps += 1
        self.current = {**self.settings, "step": float(self.steps)}
        self.nan.clear()
        try:
            self._copy_inputs_in(x, labels)
            with self.backend.kernel_context(self.program.step.threads):
                bar = progress_bar(
                    self.turns, delay=1, disable=not progress, leave=False, unit="op"
                )
                counts = [self._run_operation(index, turn) for index, turn in enumerate(bar)]
                self.copies.finish()
                return counts
        except BaseException as error:
            self.backend.drop_references(error)
            self.close()
            raise

    def _copy_inputs_in(
        self, x: npt.ArrayLike | Piece | None, labels: npt.ArrayLike | None
    ) -> None:
        """Drop what the last step left, then copy the inputs in."""
        resident_names = {tensor.storage.name for tensor in self.residents}
        for name in [name for name in self.memory.blocks if name not in resident_names]:
            self.memory.free(name)
        lent = x if isinstance(x, Piece) else None
        given = None if isinstance(x, Piece) else x
        program, seed = self.program, self.seed + self.steps
        self.inputs = Inputs(program.inputs, program.batch, program.parts, seed, given, labels)
        for number, (tensor, *_) in enumerate(self.program.inputs):
            if lent is not None and not number:
                self.memory.blocks[tensor.storage.name] = lent
                continue
            self.memory.allocate(tensor.storage, tensor.name)
            write = partial(self.inputs.write, tensor.name, tensor, 1)
            self.backend.fill(self.memory.view(tensor), write)

    def _run_operation(self, index: int, turn: OperationTurn) -> tuple[int, int, int]:
        """Run one operation with its allocations and releases; return the bytes before, at most
        inside, and after it."""
        meter, memory, op = self.meter, self.memory, turn.op
        for name in op.after:
            self.copies.wait(name)
        before = meter.begin(index) if meter is not None else 0
        if op.phase is Phase.COPY:
            self._begin_copy(turn)
        else:
            for tensor in turn.births:
                memory.allocate(tensor.storage, tensor.name)
            if turn.side_copies and self.copies.threads:
                self._begin_side_copies(index, turn)
            if op.kind == LOAD:
                self._load(op)
            else:
                self._compute(turn)
        for name in turn.deaths:
            self.copies.release(name)
            memory.free(name)
        return (before, meter.peak, meter.live) if meter is not None else (0, 0, 0)

    def _begin_copy(self, turn: OperationTurn) -> None:
        """Begin the copy of an operation, if it did not begin beside an earlier operation."""
        if self.copies.started(turn.op.name):
            return
        for tensor in turn.births:
            self.memory.allocate(tensor.storage, tensor.name)
        (source,), (target,) = turn.op.reads.values(), turn.op.writes.values()
        self.copies.start(turn.op, partial(self.memory.copy, source.storage, target.storage))

    def _load(self, op: Op) -> None:
        """Copy in the inputs of another part of the batch."""
        for name, tensor in op.writes.items():
            write = partial(self.inputs.write, name, tensor, op.attributes[PART])
            self.backend.fill(self.memory.view(tensor), partial(unmetered, write))

    def _begin_side_copies(self, index: int, turn: OperationTurn) -> None:
        """Begin the copies to the host that run beside an operation; their allocations are recorded
        under their own numbers."""
        for number in turn.side_copies:
            if self.meter is not None:
                self.meter.op = number
            self._begin_copy(self.turns[number])
        if self.meter is not None:
            self.meter.op = index

    def _look_for_nan(self, op: Op) -> None:
        """Record the places of NaN in everything that an operation wrote."""
        from memlab.kernels.cpu.nan_search import nan_places

        written = (*op.writes.values(), *op.updates.values())
        places = tuple(nan_places(self.value(tensor), tensor.format) for tensor in written)
        if any(places):
            self.nan[op.name] = places

    def _compute(self, turn: OperationTurn) -> None:
        """Call the kernel of an operation."""
        op, arrays = turn.op, self.memory.views(turn.operands)
        addend = op.reads.get("addend")
        if addend is not None:
            self.backend.copy(self.memory.view(addend), arrays["dx"])
        draw = f"{self.seed} {self.steps} {op.attributes.get('draw', op.name)}"
        turn.kernel(
            KernelCall(
                arrays,
                op.attributes.get("layer"),
                training=self.program.step.training,
                accumulate=addend is not None or "dx" in op.updates,
                key=zlib.crc32(draw.encode()),
                settings=self.current,
                updates=op.updates.keys(),
                parts=op.attributes.get(PARTS, 1),
                chunks=op.attributes.get(CHUNKS, 1),
                slots=op.slots,
            )
        )
        if self.poison:
            self._look_for_nan(op)

    def value(self, tensor: Tensor) -> Array:
        """Values of a tensor that is alive now: the array itself on the processor, a copy from
        other devices."""
        return self.backend.read(self.memory.view(tensor))

    @property
    def output(self) -> Array:
        """Loss of the last training step, or output of the last inference."""
        live_out = self.program.step.live_out
        return self.value(next(t for t in live_out if t.role is Role.FEATURE_MAP))

    def close(self) -> None:
        """Free all memory, after the copies under way have ended."""
        self.closed = True
        try:
            self.copies.close()
        finally:
            self.memory.clear()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _settings(optimizer: str, settings: Mapping[str, float]) -> dict[str, float]:
    """All settings of a step: those that are given, and the defaults of the others."""
    if not isinstance(settings, Mapping):
        raise InputError(f"settings are numbers by name, got {shorten(settings)}; "
                         "try {'rate': 0.01}.")  # fmt: skip
    merged = SETTINGS | dict(OPTIMIZERS[optimizer].settings if optimizer in OPTIMIZERS else {})
    for name, value in settings.items():
        known("setting", name, SETTINGS)
        least, below = BOUNDS.get(name, (0.0, inf))
        merged[name] = real_number(name, value, usual=merged[name], least=least, below=below)
    return merged
