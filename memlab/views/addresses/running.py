"""The step on real arrays in one arena with the addresses of a map, held to the same step without
an arena: bytes, loss, and every gradient bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memlab import strings, units
from memlab.errors import InputError
from memlab.kernels.registry import Array
from memlab.planner.placement import Placement
from memlab.views.addresses.source import PUBLISHED

if TYPE_CHECKING:
    from memlab.runtime.run import Run
    from memlab.views.addresses.source import Source

PATIENCE = 150
"""GFLOP of one step that are worth waiting for."""
GFLOP = 10**9


@dataclass(frozen=True, slots=True)
class Difference:
    """How many values of one array differ in any bit, of how many."""

    name: str
    values: int
    of: int


@dataclass(frozen=True, repr=False)
class Ran:
    """What came out. ``what`` is compared: ``"gradients"``, ``"parameters"`` after the update
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
    differences: tuple[Difference, ...]
    faults: int
    nan: tuple[str, ...]
    unclear: tuple[str, ...] = ()

    @property
    def planned(self) -> int:
        """The bytes of the arena in the plan."""
        return self.placement.arena

    @property
    def same_loss(self) -> bool:
        """The loss is the same, bit for bit; NaN is the same as NaN."""
        return repr(self.loss) == repr(self.expected)

    @property
    def wrong(self) -> tuple[Difference, ...]:
        """The arrays that differ."""
        return tuple(found for found in self.differences if found.values)

    def sentences(self) -> list[str]:
        """Arena, loss, arrays; one line for every array that differs."""
        arena = {"measured": units.exact(self.arena), "planned": units.exact(self.planned)}
        count, what = len(self.differences), _say(f"what.{self.what}")
        lines = [
            _say("arena", residual=units.exact(abs(self.arena - self.planned)), **arena),
            *self._losses(),
            _say(f"{'some' if self.wrong else 'none'}_differ", count=count, what=what,
                 wrong=len(self.wrong)),
        ]  # fmt: skip
        if self.faults and self.loss is not None and self.same_loss and self.wrong:
            lines.append(_say("silent"))
        if not self.faults:
            key = "unclear" if self.unclear else "nan" if self.nan else "no_nan"
            lines.append(_say(key, names=", ".join((self.unclear or self.nan)[:3])))
        rows = [_say("differ", name=d.name, values=f"{d.values:,}", of=f"{d.of:,}")
                for d in self.wrong]  # fmt: skip
        return [*lines, *rows]

    def _losses(self) -> list[str]:
        if self.loss is None or self.expected is None:
            return []
        key = "same_loss" if self.same_loss else "other_loss"
        return [_say(key, loss=f"{self.loss:.6f}", expected=f"{self.expected:.6f}")]

    def news(self) -> str:
        """All of it in one sentence."""
        trained = "news_same" if self.same_loss else "news_other"
        return _say(
            "news" if self.loss is None else trained,
            measured=units.exact(self.arena),
            wrong=len(self.wrong),
            count=len(self.differences),
            what=_say(f"what.{self.what}"),
        )

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    __repr__ = __str__


def run_map(source: Source, placement: Placement, batch: int) -> Ran:
    """Run it twice: at these addresses, and as it was before, without an arena.

    Raises:
        InputError: the toy, or a step that takes long here.
    """
    from memlab.runtime.run import run

    if source.step is None or source.plain is None:
        raise InputError(_say("toy"))
    if source.name == PUBLISHED:
        raise InputError(_say("published"))
    work = sum(op.flops.at(batch) for op in source.step.ops)
    if work > PATIENCE * GFLOP:
        flops = f"{work // GFLOP:,}"
        raise InputError(_say("long", what=source.label, batch=f"{batch:,}", flops=flops))
    faults = placement.overlaps()
    plain = run(source.plain, batch)
    here = run(source.step, batch, placement=placement, poison=not faults, overlapping=bool(faults))
    trained = "gradients" if plain.gradients else "parameters"
    what = trained if source.step.training else "predictions"
    found = _differences(_of(plain, what), _of(here, what))
    assert here.arena is not None
    assert here.placement is not None
    return Ran(
        here.placement, here.arena, here.loss, plain.loss, what, found, len(faults), here.nan,
        here.unclear,
    )  # fmt: skip


def _of(found: Run, what: str) -> Mapping[str, Array]:
    if what == "predictions":
        return {} if found.output is None else {"prediction": found.output}
    return found.gradients if what == "gradients" else found.parameters


def _differences(wanted: Mapping[str, Array], got: Mapping[str, Array]) -> tuple[Difference, ...]:
    return tuple(
        Difference(name, int(np.count_nonzero(_bits(array) != _bits(got[name]))), array.size)
        for name, array in wanted.items()
    )


def _bits(array: Array) -> Array:
    """The values as whole numbers: NaN equals NaN, and 0 is not -0."""
    return np.ascontiguousarray(array).view(f"u{array.itemsize}")


def _say(key: str, **values: object) -> str:
    return strings.get(f"addresses.run.{key}", **values)
