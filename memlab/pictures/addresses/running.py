"""A run of a step at the addresses of a map, compared with a run of the step without an arena."""

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
"""Largest work of a step that is run here, in operations."""


@dataclass(frozen=True, slots=True)
class ArrayDifference:
    """Number of an array's values that differ in any bit, and number of all its values."""

    name: str
    values: int
    of: int


@dataclass(frozen=True, repr=False)
class ArenaRun:
    """Outcome of a run at planned addresses, compared with a run without an arena.

    ``what`` names the arrays that are compared: ``"gradients"``, or ``"parameters"`` after the
    update where the step frees its gradients, or ``"predictions"`` of an inference, which has no
    loss. ``placement`` is the one that the run reports, ``arena`` its measured bytes. ``faults`` is
    the number of pairs of blocks that overlap.

    Without a fault, free bytes were filled with NaN: ``nan`` names the operations that read one,
    ``unclear`` those that wrote one where there was no room to run the same step without an arena.
    """

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
        """True if both losses are the same, bit for bit; NaN is the same as NaN."""
        return repr(self.loss) == repr(self.expected)

    @property
    def wrong(self) -> tuple[ArrayDifference, ...]:
        """Arrays of the run that differ from those of the same step without shared addresses."""
        return tuple(difference for difference in self.differences if difference.values)

    def sentences(self) -> list[str]:
        """Return the outcome in sentences: arena, loss, arrays, operations that read free bytes,
        and a line for every array that differs."""
        planned = self.placement.arena
        amounts = {"measured": self.arena, "planned": planned, "residual": self.arena - planned}
        count, what = len(self.differences), text_of(f"run.what.{self.what}")
        return [
            text_of("run.arena", **{key: units.exact(abs(n)) for key, n in amounts.items()}),
            *self._losses(),
            text_of("run.some_differ" if self.wrong else "run.none_differ", count=count, what=what,
                wrong=len(self.wrong)),
            *self._faults(),
            *(text_of("run.differ", name=array.name, values=f"{array.values:,}", of=f"{array.of:,}")
              for array in self.wrong),
        ]  # fmt: skip

    @property
    def result(self) -> str:
        """Result in one sentence: whether all arrays are right."""
        key = "some_wrong" if self.wrong else "all_right"
        values = {"count": len(self.differences), "wrong": len(self.wrong)}
        return text_of(f"run.{key}", what=text_of(f"run.what.{self.what}"), **values)

    def _losses(self) -> list[str]:
        """Return a sentence on both losses; none without a loss."""
        if self.loss is None or self.expected is None:
            return []
        key = "same_loss" if self.same_loss else "other_loss"
        return [text_of(f"run.{key}", loss=f"{self.loss:.6f}", expected=f"{self.expected:.6f}")]

    def _faults(self) -> list[str]:
        """Return a sentence about a fault that the loss does not show; without a fault, about the
        operations that read free bytes."""
        if self.faults:
            silent = self.loss is not None and self.same_loss and self.wrong
            return [text_of("run.silent")] if silent else []
        key = "unclear" if self.unclear else "nan" if self.nan else "no_nan"
        return [text_of(f"run.{key}", names=", ".join((self.unclear or self.nan)[:3]))]

    def text(self) -> str:
        """Return the sentences, one in a line."""
        return "\n".join(self.sentences())

    __str__ = __repr__ = text


def run_map(subject: PackingSubject, placement: Placement, batch: int) -> ArenaRun:
    """Run a step twice, at the addresses of a placement and without an arena, and compare the
    results.

    The run without an arena takes the step as it was before it ran in place.

    Args:
        subject: the step.
        placement: addresses of its blocks.
        batch: number of samples.

    Raises:
        InputError: the toy, which has no operations, or a step of more than 150 billion operations.
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
    """Return the arrays of a run that are compared, by name."""
    if what == "predictions":
        return {} if run.output is None else {"prediction": run.output}
    return run.gradients if what == "gradients" else run.parameters


def differences(
    wanted: Mapping[str, Array], got: Mapping[str, Array]
) -> tuple[ArrayDifference, ...]:
    """Return the comparison of every wanted array with the one of the same name, bit for bit: NaN
    equals NaN, and 0 is not -0."""
    return tuple(
        ArrayDifference(name, int((_bits(array) != _bits(got[name])).sum()), array.size)
        for name, array in wanted.items()
    )


def _bits(array: Array) -> Array:
    """Return the bits of an array's values as unsigned integers."""
    import numpy as np  # only a run needs it

    return np.ascontiguousarray(array).view(f"u{array.itemsize}")
