"""A step that runs at the addresses of a map, held to the same step without an arena."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memlab import units
from memlab.errors import InputError
from memlab.pictures.addresses.packing import PackingSubject, text_of
from memlab.placement.placement import Placement

if TYPE_CHECKING:
    from memlab.kernels.registry import Array
    from memlab.runtime.run import Run

GFLOP = 10**9
PATIENCE = 150 * GFLOP
"""The work of one step that is worth waiting for."""


@dataclass(frozen=True, slots=True)
class ArrayDifference:
    """Values of one array that differ in any bit, and all that it has."""

    name: str
    values: int
    of: int


@dataclass(frozen=True, repr=False)
class ArenaRun:
    """Outcome of a run. ``what`` is compared: ``"gradients"``, ``"parameters"`` after the update
    where the step frees its gradients, or ``"predictions"`` of an inference, which has no loss.
    ``placement`` is what the run reports, ``arena`` its measured bytes; ``faults`` are the pairs of
    blocks that overlap. Without a fault, what is free was filled with NaN: ``nan`` names the
    operations that read one, and ``unclear`` those that wrote one where there was no room to run
    the same step without an arena."""

    placement: Placement
    arena: int
    loss: float | None
    expected: float | None
    what: str
    differences: tuple[ArrayDifference, ...]
    faults: int
    nan: tuple[str, ...]
    unclear: tuple[str, ...] = ()

    @property
    def same_loss(self) -> bool:
        """The loss is the same, bit for bit; NaN is the same as NaN."""
        return repr(self.loss) == repr(self.expected)

    @property
    def wrong(self) -> tuple[ArrayDifference, ...]:
        """The arrays that differ."""
        return tuple(each for each in self.differences if each.values)

    def sentences(self) -> list[str]:
        """Arena, loss, arrays; who read what is free; one line for every array that differs."""
        planned = self.placement.arena
        amounts = {"measured": self.arena, "planned": planned, "residual": self.arena - planned}
        count, what = len(self.differences), text_of(f"run.what.{self.what}")
        return [
            text_of("run.arena", **{key: units.exact(abs(n)) for key, n in amounts.items()}),
            *self._losses(),
            text_of("run.some_differ" if self.wrong else "run.none_differ", count=count, what=what,
                wrong=len(self.wrong)),
            *self._faults(),
            *(text_of("run.differ", name=found.name, values=f"{found.values:,}", of=f"{found.of:,}")
              for found in self.wrong),
        ]  # fmt: skip

    def _losses(self) -> list[str]:
        if self.loss is None or self.expected is None:
            return []
        key = "same_loss" if self.same_loss else "other_loss"
        return [text_of(f"run.{key}", loss=f"{self.loss:.6f}", expected=f"{self.expected:.6f}")]

    def _faults(self) -> list[str]:
        """Sentence on a silent fault; without one, on who read what is free."""
        if self.faults:
            silent = self.loss is not None and self.same_loss and self.wrong
            return [text_of("run.silent")] if silent else []
        key = "unclear" if self.unclear else "nan" if self.nan else "no_nan"
        return [text_of(f"run.{key}", names=", ".join((self.unclear or self.nan)[:3]))]

    def text(self) -> str:
        """The sentences, one in a line."""
        return "\n".join(self.sentences())

    __str__ = __repr__ = text


def run_map(subject: PackingSubject, placement: Placement, batch: int) -> ArenaRun:
    """Run it twice: at these addresses, and as it was before, without an arena.

    Raises:
        InputError: the toy, or a step that takes long here.
    """
    from memlab.runtime.run import run

    step, plain = subject.step, subject.plain
    if step is None or plain is None:
        raise InputError(text_of("run.toy"))
    work = sum(op.flops.at(batch) for op in step.ops)
    if work > PATIENCE:
        flops = f"{work // GFLOP:,}"
        raise InputError(text_of("run.long", what=subject.label, batch=f"{batch:,}", flops=flops))
    faults = len(placement.overlaps())
    apart = run(plain, batch)
    here = run(step, batch, placement=placement, poison=not faults, overlapping=faults > 0)
    trained = "gradients" if apart.gradients else "parameters"
    what = trained if step.training else "predictions"
    differing = differences(_arrays(apart, what), _arrays(here, what))
    assert here.arena is not None
    assert here.placement is not None
    return ArenaRun(here.placement, here.arena, here.loss, apart.loss, what, differing, faults,
                    here.nan, here.unclear)  # fmt: skip


def _arrays(run: Run, what: str) -> Mapping[str, Array]:
    if what == "predictions":
        return {} if run.output is None else {"prediction": run.output}
    return run.gradients if what == "gradients" else run.parameters


def differences(
    wanted: Mapping[str, Array], got: Mapping[str, Array]
) -> tuple[ArrayDifference, ...]:
    """Every array compared bit for bit: NaN equals NaN, and 0 is not -0."""
    return tuple(
        ArrayDifference(name, int((_bits(array) != _bits(got[name])).sum()), array.size)
        for name, array in wanted.items()
    )


def _bits(array: Array) -> Array:
    import numpy as np  # who runs nothing needs none

    return np.ascontiguousarray(array).view(f"u{array.itemsize}")
