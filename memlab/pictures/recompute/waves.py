"""What recomputing a step does to its memory over time: a staircase of what is kept, and waves.

Forward keeps the outputs of some stages, its checkpoints. Backward makes the maps between two of
them again, one segment at a time. ``Schedules`` has a step at a batch with all of them: a wave for
every k, and the best ones of its chain of stages, which are found once, when a budget asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby

import numpy as np

from memlab import strings, units
from memlab.arrays import Column, bytes_by_part
from memlab.build.step import training_step
from memlab.clocks import roofline
from memlab.errors import InputError, shorten, whole
from memlab.networks.graph import Network
from memlab.pictures.mountain.layers import Layer, pile_over_time
from memlab.pictures.values.number_text import change, three
from memlab.pictures.values.recipe import network_of
from memlab.pictures.values.study import Study
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques import order
from memlab.techniques.recompute import chain_optimum, segments
from memlab.techniques.recompute.order_memory import Liveness, Lives
from memlab.techniques.recompute.repeats import repeated
from memlab.techniques.recompute.step_as_chain import cuts

FLOOR = ("parameter", "optimizer_state", "rest")
PARTS = (*FLOOR, "kept", "again", "gradient_map")
"""The slices of a wave, from the bottom up: of the floor the parameters, the optimizer's state and
the rest; of the mountain what waits from forward until backward, what is made again or gone before
backward, and the gradients of maps."""
MOST = 20
"""Every k up to this one has its wave."""
TRIED, FEW = 96, 24
"""Up to so many best schedules of a chain are all planned; of more, so many."""
LITTLE = 0.1
"""A k that saves less of the plain peak is too large."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Operations that run again without a pause, and the bytes of maps that they make."""

    first: int
    last: int
    stages: tuple[int, int]
    nbytes: int


@dataclass(frozen=True, eq=False)
class Wave:
    """One schedule of a step: its blocks, and its slices inside every operation.

    ``k`` is its segment in stages, 0 where it is no schedule of every k-th; ``stage`` is that of
    every operation of the step, from 1, 0 for the updates.
    """

    lives: Lives
    liveness: Liveness
    stage: Sequence[int]
    k: int = 0

    @property
    def peak(self) -> int:
        """The most bytes inside one operation."""
        return self.lives.peak

    @property
    def cost(self) -> int:
        """Nanoseconds by the clock."""
        return self.lives.cost

    @cached_property
    def at(self) -> int:
        """The operation of the peak, by its place in the order; the first of them."""
        return int(self.lives.timeline.argmax())

    @cached_property
    def backward(self) -> int:
        """Where backward begins, by place in the order."""
        ops = self.liveness.step.ops
        later = [ops[index].phase is Phase.BACKWARD for index in self.lives.order.tolist()]
        return int(np.argmax(self.lives.again | np.array(later)))

    @cached_property
    def lines(self) -> dict[str, Column]:
        """The bytes of every part inside every operation; they add up to the timeline."""
        lives, count = self.lives, len(self.lives.order)
        parts = [PARTS[number] for number in self._parts.tolist()]
        lines = bytes_by_part(parts, lives.nbytes, lives.birth, lives.death, count)
        return {part: lines.get(part, np.zeros(count, np.int64)) for part in PARTS}

    @cached_property
    def _parts(self) -> Column:
        """The part that each block belongs to, by its number in ``PARTS``."""
        lives, tensors = self.lives, self.liveness.tensors
        fixed = np.array([_fixed(each.role, each.storage.size.per_sample) for each in tensors])
        waits = (lives.birth < self.backward) & (lives.death >= self.backward)
        maps = np.where(waits, PARTS.index("kept"), PARTS.index("again"))
        found = fixed[lives.tensor]
        return np.where(found < 0, maps, found)

    @property
    def parts(self) -> dict[str, int]:
        """The bytes of every part at the peak."""
        return {part: int(line[self.at]) for part, line in self.lines.items()}

    @property
    def floor(self) -> int:
        """The bytes at the peak that do not grow with the batch."""
        return sum(self.parts[name] for name in FLOOR)

    @property
    def operation(self) -> str:
        """The name of the operation of the peak."""
        order = self.lives.order[: self.at + 1]
        times = int((order == order[-1]).sum()) - 1
        return f"{self.liveness.step.ops[order[-1]].name}{repeated(times)}"

    @property
    def point(self) -> tuple[int, int]:
        """Bytes and nanoseconds."""
        return self.peak, self.cost

    def layers(self, longest: float, count: int) -> list[Layer[str]]:
        """Its parts over so many columns of time, which last ``longest`` together."""
        ends = np.cumsum(self.lives.times) * (count / longest)
        return pile_over_time(self.lines, ends, count)

    @property
    def segments(self) -> Iterator[Segment]:
        """What runs again without a pause, in order."""
        again, lives = self.lives.again, self.lives
        for repeats, run in groupby(range(len(again)), key=again.__getitem__):
            places = list(run)
            if repeats:
                first, last = places[0], places[-1]
                made = (lives.birth >= first) & (lives.birth <= last) & (lives.death > last)
                numbers = [self.stage[index] for index in lives.order[places].tolist()]
                ends = min(numbers), max(numbers)
                yield Segment(first, last, ends, int(lives.nbytes[made].sum()))


def _fixed(role: Role, per_sample: int) -> int:
    """The part of a storage that is told by its role, or -1."""
    if not per_sample:
        name = role.value if role.value in FLOOR else "rest"
        return PARTS.index(name)
    return PARTS.index("gradient_map") if role is Role.GRADIENT_MAP else -1


# -- all schedules of a step ----------------------------------------------------------------------


class Schedules:
    """A step at a batch, and what its schedules take; each is found once.

    Raises:
        InputError: a step that keeps nothing or is one stage, or a batch that it does not hold for.
    """

    def __init__(self, step: Step, batch: int) -> None:
        self.step, self.batch, self.cuts = step, step.held(batch), cuts(step)
        self.stages = len(self.cuts.parts)
        if self.stages < 2:
            raise InputError("this step is one stage, so no output can be kept between two; "
                             "try memlab.views.recompute('resnet50').")  # fmt: skip
        self.liveness = Liveness(step, batch)
        self.stage = [0] * len(step.ops)
        for number, part in enumerate(self.cuts.parts, 1):
            for index in (*part.forward, *part.backward):
                self.stage[index] = number

    @property
    def label(self) -> str:
        """The network, for people."""
        return self.step.label or self.step.network

    @property
    def subject(self) -> str:
        """``'ResNet-50 v1.5, batch 32'``."""
        return say("subject", network=self.label, batch=f"{self.batch:,}")

    @property
    def planned(self) -> str:
        """Where its time comes from."""
        rates = roofline.rates()
        key = "planned_here" if rates.here else "planned"
        return say(key, machine=rates.processor, date=rates.machine["date"])

    def wave(self, operations: Sequence[int], k: int = 0) -> Wave:
        """The wave of an order of operations."""
        return Wave(self.liveness.of(operations), self.liveness, self.stage, k)

    @cached_property
    def plain(self) -> Wave:
        """The step as it is."""
        return self.wave(range(len(self.step.ops)))

    @cached_property
    def every(self) -> dict[int, Wave]:
        """Every k-th stage kept, for all k."""
        last = min(MOST, self.stages - 1)
        return {k: self._every(k) for k in range(1, last + 1)}

    def _every(self, k: int) -> Wave:
        return self.wave(self.cuts.order(segments.every_kth(self.cuts.parts, k)), k)

    @property
    def rule(self) -> int:
        """The k of the rule for stages that are all alike: the root of their number."""
        return segments.root(self.stages)

    @cached_property
    def best(self) -> Wave:
        """The least peak of all k; of equal ones the fastest."""
        return min(self.every.values(), key=lambda wave: wave.point)

    @cached_property
    def longest(self) -> int:
        """Nanoseconds of the slowest of all k."""
        return max(wave.cost for wave in (self.plain, *self.every.values()))

    @cached_property
    def points(self) -> int:
        """How many best schedules the chain has."""
        return len(chain_optimum.frontier(self.cuts.chain(self.batch)))

    @cached_property
    def frontier(self) -> tuple[Wave, ...]:
        """The best schedules of whole stages (fact E6) as they are planned, from the least bytes to
        the least time; where there are many, some of them.

        Raises:
            InputError: the chain is too long for the search.
        """
        chain = self.cuts.chain(self.batch)
        best = chain_optimum.frontier(chain)
        count = len(best) if len(best) <= TRIED else FEW
        chosen = (round(i * (len(best) - 1) / max(count - 1, 1)) for i in range(count))
        schedules = (chain_optimum.least_time(chain, best[number][0]) for number in chosen)
        found = [self.plain, *(self.wave(self.cuts.order(each)) for each in schedules)]
        kept: list[Wave] = []
        for wave in sorted(found, key=lambda wave: wave.point):
            if not kept or wave.cost < kept[-1].cost:
                kept.append(wave)
        return tuple(kept)

    def within(self, budget: int) -> Wave:
        """The fastest of the best schedules whose peak is at most a budget.

        Raises:
            InputError: the least takes more.
        """
        least = self.frontier[0].peak
        if budget < least:
            raise InputError(
                f"no schedule of whole stages fits into {units.exact(budget)}; the least takes "
                f"{units.exact(least)}; try that, or a smaller batch."
            )
        return max((w for w in self.frontier if w.peak <= budget), key=lambda wave: wave.peak)

    def more(self, wave: Wave) -> str:
        """How much longer than plain it takes: ``'35 %'``."""
        return f"{100 * (wave.cost / self.plain.cost - 1):.0f} %"


class Subject:
    """A step, and the name by which it was asked for, empty where it was given."""

    def __init__(self, step: Step, name: str = "") -> None:
        self.step, self.name = step, name


def subject(given: object) -> Subject:
    """A network by its name, a network or a step as a subject; the same one for the same name.

    Raises:
        InputError: none of these, or a step with techniques in it.
    """
    if isinstance(given, Subject):
        return given
    if isinstance(given, str):
        return _named(given)
    step = training_step(given) if isinstance(given, Network) else given
    if not isinstance(step, Step):
        raise InputError(f"give a network, its name or a step, got {shorten(given)}; "
                         "try 'resnet50'.")  # fmt: skip
    if done := order.done(step):
        raise InputError(f"this step {done} already; start from the step before that, as "
                         "memlab.training_step(network) makes it.")  # fmt: skip
    return Subject(step)


@lru_cache(maxsize=8)
def _named(name: str) -> Subject:
    return Subject(training_step(network_of(name)), name)


@lru_cache(maxsize=8)
def schedules(found: Subject, batch: int) -> Schedules:
    """All schedules of a subject at a batch; those of the last few are kept.

    Raises:
        InputError: as ``Schedules``.
    """
    return Schedules(found.step, whole("batch", batch))


# -- one of them -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Waves(Study):
    """One schedule beside the plain step and the others of its kind: of every k-th stage, or, with
    a ``budget`` in bytes, of the best ones."""

    all: Schedules
    wave: Wave
    budget: int | None = None

    @property
    def others(self) -> tuple[Wave, ...]:
        """All of its kind: every k, or the best schedules from the least bytes on."""
        if self.budget is not None:
            return self.all.frontier
        return tuple(self.all.every.values())

    @property
    def state(self) -> str:
        """What it is an example of: ``'budget'``, ``'floor'`` (no k saves much), ``'first'`` (the
        best k is 1, and not the rule's), ``'best'``, ``'few'`` (k too large: too few checkpoints),
        ``'many'`` (k too small), ``'other'``."""
        wave, best, plain = self.wave, self.all.best, self.all.plain
        if self.budget is not None:
            return "budget"
        little = [each.peak > (1 - LITTLE) * plain.peak for each in (best, wave)]
        if little[0]:
            return "floor"
        if wave.peak == best.peak:
            return "first" if wave.k == 1 != self.all.rule else "best"
        if little[1]:
            return "few"
        many = wave.k < best.k and wave.parts["kept"] > wave.parts["again"]
        return "many" if many else "other"

    @property
    def title(self) -> str:
        return say(f"title.{self.state}", **self._values)

    @property
    def sentences(self) -> list[str]:
        """What to see, then what is alive at the peak, exactly."""
        return [say(f"see.{self.state}"), self.exactly]

    @property
    def exactly(self) -> str:
        """Bytes and time, with every digit."""
        wave, plain, parts = self.wave, self.all.plain, self.wave.parts
        sizes = {name: units.exact(parts[name]) for name in PARTS if name not in FLOOR}
        how = "budget" if self.budget is not None else "every"
        return say(
            "exactly", what=self.all.subject, how=say(f"how.{how}", **self._values),
            peak=units.exact(wave.peak), operation=wave.operation, plain=units.exact(plain.peak),
            time=change(plain.cost, wave.cost), floor=units.exact(wave.floor), **sizes,
        )  # fmt: skip

    @property
    def _values(self) -> dict[str, object]:
        found, wave = self.all, self.wave
        budget = "" if self.budget is None else units.exact(self.budget)
        return {
            "peak": three(wave.peak), "plain": three(found.plain.peak), "more": found.more(wave),
            "kept": three(wave.parts["kept"]), "floor": three(wave.floor), "k": wave.k,
            "stages": found.stages, "budget": budget, "limit": three(self.budget or 0),
        }  # fmt: skip

    @property
    def notes(self) -> list[str]:
        return [self.all.planned]

    def rows(self) -> list[list[str]]:
        """The others with every byte: k or bytes, peak, floor, kept, again, gradient maps, time."""
        keys = ("peak", "floor", "kept", "again", "gradient_map", "time")
        rows = [["k" if self.budget is None else "", *(say(f"head.{key}") for key in keys)]]
        for wave in self.others:
            sizes = [wave.peak, wave.floor, *(wave.parts[name] for name in PARTS[len(FLOOR) :])]
            more = change(self.all.plain.cost, wave.cost)
            rows.append([str(wave.k or ""), *(f"{nbytes:,}" for nbytes in sizes), more])
        return rows


def say(key: str, /, **values: object) -> str:
    """A text about recomputing."""
    return strings.get(f"recompute.{key}", **values)
