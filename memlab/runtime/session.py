"""A session: a step whose parameters stay alive, run as often as wanted."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import partial
from math import inf
from pathlib import Path
from types import TracebackType

import numpy.typing as npt
from tqdm import tqdm

from memlab.errors import InputError, flag, known, real, shorten, whole
from memlab.kernels.registry import Array, Call, Kernel
from memlab.optimizers import OPTIMIZERS
from memlab.planner.book import Life, lives
from memlab.planner.placement import Placement
from memlab.runtime import arena, backend, start
from memlab.runtime.arena import Arena
from memlab.runtime.copies import RAM, Host
from memlab.runtime.copies import host as host_memory
from memlab.runtime.dispatch import kernels_of as kernels_of
from memlab.runtime.inputs import Inputs
from memlab.runtime.memory import Memory, Piece
from memlab.runtime.meter import Meter
from memlab.step.op import LOAD, Op, Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role, Tensor
from memlab.techniques.order import PART, PARTS

SETTINGS = {
    "rate": 0.01,
    **{name: value for each in OPTIMIZERS.values() for name, value in each.settings.items()},
    "loss_scale": 2.0**16,
    "scale_interval": 2000,
}
"""Every setting: of the optimizers, where a step takes those of its own, and of a loss scale: where
it starts, and after how many steps without overflow it doubles."""
BOUNDS = {
    "alpha": (0.0, 1.0),
    "beta1": (0.0, 1.0),
    "beta2": (0.0, 1.0),
    "loss_scale": (2.0**-126, 2.0**128),
}
"""The least of some of them, and what they stay below: Adam divides by 1 - beta, RMSProp's mean
moves by 1 - alpha, and a loss scale is a normal fp32. The others are at least 0."""


class Session:
    """Holds the parameters, buffers and optimizer state of a step at one batch, on a device.

    Use it in a ``with`` block, or call ``close``: then all that it held is free. With a
    ``placement``, what is born in the step lies in one arena. ``poison`` fills what is free there
    with NaN, and lets ``nan`` tell which operations wrote one in the last step, and where: a
    number for each array, 0 for none.

    Raises:
        InputError: no such device, no kernel for an operation, a batch that the step does not hold
            for, an unknown name or a wrong shape of a given array, NaN or infinity in one; a seed
            that is no whole number from 0 on; a setting that is no number from 0 on; a placement of
            another step.
    """

    def __init__(
        self,
        step: Step,
        batch: int,
        seed: int = 0,
        parameters: start.Given | None = None,
        settings: Mapping[str, float] | None = None,
        meter: Meter | None = None,
        device: str = "cpu",
        placement: Placement | None = None,
        poison: bool = False,
        host: str | Path | Host = RAM,
    ) -> None:
        if not isinstance(step, Step):
            raise InputError(f"a session runs a step, got {shorten(step)}; try "
                             "memlab.training_step(network).")  # fmt: skip
        self.plan = step
        self.backend = backend.find(device)
        self.batch = step.held(batch)
        self.seed = whole("seed", seed, least=0)
        self.settings = _settings(step.optimizer, {} if settings is None else settings)
        self.kernels = kernels_of(step, device)
        self.lives = lives(step)
        self.ends = _ends(self.lives, len(step.ops))
        self.meter = meter
        self.poison = flag("poison", poison)
        if placement is not None:
            arena.check(placement, step, self.batch, overlapping=True)
        self.copies = self.backend.copies()
        there = host_memory(host)
        self.memory = (
            Memory(self.batch, self.backend, meter, there)
            if placement is None
            else Arena(self.batch, self.backend, meter, placement, poison, there)
        )
        self.nan: dict[str, tuple[int, ...]] = {}
        self.closed = False
        self.steps = 0
        given = {} if parameters is None else parameters
        start.check_names(given, self.residents)
        try:
            for tensor in self.residents:
                self.memory.allocate(tensor.storage, tensor.name)
                write = partial(
                    start.fill_resident,
                    tensor,
                    seed=self.seed,
                    given=given,
                    settings=self.settings,
                )
                self.memory.fill(tensor, write)
        except BaseException:
            self.close()
            raise

    @property
    def residents(self) -> list[Tensor]:
        """What stays alive between steps."""
        return [tensor for tensor in self.plan.live_in if tensor.role is not Role.INPUT]

    def step(
        self,
        x: npt.ArrayLike | Piece | None = None,
        labels: npt.ArrayLike | None = None,
        progress: bool = False,
    ) -> list[tuple[int, int, int]]:
        """Run every operation once; inputs that are not given are drawn. A ``Piece`` is a place on
        the device where ``x`` lies already, which belongs to who lends it.

        Returns, where there is a meter, the bytes before, at most inside and after each operation.

        Raises:
            InputError: an input of another shape or kind, or with NaN or infinity; the session is
                closed.
        """
        if self.closed:
            raise InputError("this session is closed and holds nothing; open another one.")
        self.steps += 1
        self.nan.clear()
        try:
            self._feed(x, labels)
            with self.backend.running(self.plan.threads):
                bar = tqdm(self.plan.ops, delay=1, disable=not progress, leave=False, unit="op")
                counts = [self._operate(index, op) for index, op in enumerate(bar)]
                self.copies.finish()
                return counts
        except BaseException as error:
            self.backend.let_go(error)
            self.close()
            raise

    def _feed(self, x: npt.ArrayLike | Piece | None, labels: npt.ArrayLike | None) -> None:
        """Drop what the last step left, then copy the inputs in."""
        kept = {tensor.storage.name for tensor in self.residents}
        for name in [name for name in self.memory.blocks if name not in kept]:
            self.memory.free(name)
        lent = x if isinstance(x, Piece) else None
        given = None if isinstance(x, Piece) else x
        self.inputs = Inputs(self.plan, self.batch, self.seed + self.steps, given, labels)
        for number, tensor in enumerate(self.inputs.tensors):
            if lent is not None and not number:
                self.memory.blocks[tensor.storage.name] = lent
                continue
            self.memory.allocate(tensor.storage, tensor.name)
            self.memory.fill(tensor, partial(self.inputs.write, tensor.name, tensor, 1))

    def _operate(self, index: int, op: Op) -> tuple[int, int, int]:
        meter, memory = self.meter, self.memory
        self.copies.wait(op.after)
        before = 0
        if meter is not None:
            meter.op = index
            before = meter.start_peak()
        self._allocate(op)
        if op.phase is Phase.COPY:
            self._start(op)
        elif op.kind == LOAD:
            self._load(op)
        else:
            self._start_beside(index)
            self._compute(op, self.kernels[index])
            if self.poison:
                self._look_for_nan(op)
        for tensor in op.workspace.values():
            memory.free(tensor.storage.name)
        for name in self.ends.get(index, ()):
            self.copies.release(name)
            memory.free(name)
        return (before, meter.peak, meter.live) if meter is not None else (0, 0, 0)

    def _allocate(self, op: Op) -> None:
        for tensor in (*op.writes.values(), *op.workspace.values()):
            if tensor.storage.name not in self.memory.blocks:
                self.memory.allocate(tensor.storage, tensor.name)

    def _load(self, op: Op) -> None:
        """The inputs of another part of the batch."""
        for name, tensor in op.writes.items():
            write = partial(self.inputs.write, name, tensor, op.attributes[PART])
            self.memory.fill(tensor, write)

    def _start_beside(self, index: int) -> None:
        """Begin the copies that go to the host while an operation runs, where they run beside it:
        they stand after it, and wait for none but those before it."""
        meter, ops = self.meter, self.plan.ops
        for number in range(index + 1, len(ops) if self.copies.threads else 0):
            op = ops[number]
            if op.phase is not Phase.COPY or ops[index].name in op.after or _to_device(op):
                break
            if meter is not None:
                meter.op = number
            self._allocate(op)
            self._start(op)
        if meter is not None:
            meter.op = index

    def _start(self, op: Op) -> None:
        if not self.copies.started(op.name):
            (source,), (target,) = op.reads.values(), op.writes.values()
            copy = partial(self.memory.copy, source.storage, target.storage)
            self.copies.start(op, copy)

    def _look_for_nan(self, op: Op) -> None:
        from memlab.kernels.nans import nan_places

        written = (*op.writes.values(), *op.updates.values())
        places = tuple(nan_places(self.value(tensor)) for tensor in written)
        if any(places):
            self.nan[op.name] = places

    def _compute(self, op: Op, kernel: Kernel) -> None:
        memory = self.memory
        operands = {**op.reads, **op.writes, **op.updates, **op.workspace}
        addend = operands.pop("addend", None)
        arrays = memory.views(operands)
        if addend is not None:
            self.backend.copy(memory.view(addend), arrays["dx"])
        draw = f"{self.seed} {self.steps} {op.attributes.get('draw', op.name)}"
        kernel(
            Call(
                arrays,
                op.attributes.get("layer"),
                training=self.plan.training,
                accumulate=addend is not None or "dx" in op.updates,
                key=zlib.crc32(draw.encode()),
                settings={**self.settings, "step": float(self.steps)},
                updates=op.updates.keys(),
                parts=op.attributes.get(PARTS, 1),
                slots=op.slots,
            )
        )

    def value(self, tensor: Tensor) -> Array:
        """The values of a tensor that is alive now: themselves on the processor, a copy from
        elsewhere."""
        return self.memory.read(tensor)

    def close(self) -> None:
        """Free everything; copies under way have ended."""
        self.closed = True
        try:
            self.copies.close()
        finally:
            self.memory.clear()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _to_device(op: Op) -> bool:
    """Whether a copy brings a map back: it takes bytes of the device when its turn comes."""
    return any(tensor.storage.memory == DEVICE for tensor in op.writes.values())


def _ends(lives: Mapping[str, Life], operations: int) -> dict[int, list[str]]:
    """The storages that die after each operation."""
    ends: dict[int, list[str]] = {}
    for name, life in lives.items():
        if life.death < operations:
            ends.setdefault(life.death, []).append(name)
    return ends


def _settings(optimizer: str, settings: Mapping[str, float]) -> dict[str, float]:
    """All settings of a step: those that are given, and what the others are by themselves."""
    if not isinstance(settings, Mapping):
        raise InputError(f"settings are numbers by name, got {shorten(settings)}; "
                         "try {'rate': 0.01}.")  # fmt: skip
    found = SETTINGS | dict(OPTIMIZERS[optimizer].settings if optimizer else {})
    for name, value in settings.items():
        known("setting", name, SETTINGS)
        least, below = BOUNDS.get(name, (0.0, inf))
        found[name] = real(name, value, usual=found[name], least=least, below=below)
    return found
