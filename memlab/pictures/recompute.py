"""Memory of a step over time under recompute: a staircase of kept maps, and a wave per segment.

Forward keeps the outputs of some stages (checkpoints) alone. Backward computes the feature maps
between two checkpoints again, one segment at a time. ``Schedules`` holds a step at a batch and its
schedules: one for every k (each k-th stage is a checkpoint), and the best ones of the chain of
stages, which are searched once, when a budget asks for them. The view draws one schedule over time,
and the peaks of all schedules beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from memlab import strings, units
from memlab.arrays import Column, Floats, bytes_by_part
from memlab.assemble.step import training_step
from memlab.clocks import roofline
from memlab.errors import InputError, shorten, whole_number
from memlab.networks.graph import Network
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import (
    Fact,
    Glyph,
    Mark,
    Rect,
    Rects,
    Rule,
)
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import TIGHT, Scale, bytes_over
from memlab.pictures.draw.svg import PHONE
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, Table
from memlab.pictures.draw.theme import PAINTS, Paint
from memlab.pictures.live.setting import Checkbox, NumberBox, Range, Select, Setting, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.mountain.layers import MountainLayer, pile_over_time
from memlab.pictures.mountain.picture import DrawnLayer, Mountain, phases
from memlab.pictures.mountain.stack_parts import StackPart
from memlab.pictures.values.number_text import change, three_digits
from memlab.pictures.values.step_recipe import network_of
from memlab.pictures.values.study import Study
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques import application_order
from memlab.techniques.recompute import chain_optimum, segments
from memlab.techniques.recompute.order_memory import Liveness, Lives
from memlab.techniques.recompute.repeated_operations import repeated
from memlab.techniques.recompute.step_as_chain import cuts

FLOOR = ("parameter", "optimizer_state", "rest")
PARTS = (*FLOOR, "kept", "again", "gradient_map")
"""Parts of a wave from the bottom up. The floor has parameters, optimizer state and the rest;
above it lie maps kept from forward until backward, maps made again or dead before backward,
and gradient maps."""
MOST = 20
"""Largest k that has a wave."""
TRIED, FEW = 96, 24
"""Best schedules of a chain that are all planned; of more than those, ``FEW`` are."""
LITTLE = 0.1
"""Share of the plain peak that a k must save, otherwise it counts as too large."""


@dataclass(frozen=True, eq=False)
class RerunSegment:
    """A run of operations that are computed again without a pause, and the bytes of maps they make.

    ``first`` and ``last`` are places in the order of operations, ``stages`` the first and the last
    stage they belong to, counted from 1. ``nbytes`` counts the maps that outlive the segment.
    """

    first: int
    last: int
    stages: tuple[int, int]
    nbytes: int


@dataclass(frozen=True, eq=False)
class Wave:
    """One schedule of a step: the lives of its blocks, and the bytes of each part inside every
    operation.

    ``k`` is the distance of its checkpoints in stages, 0 for a schedule that does not keep every
    k-th. ``stage`` has the stage of every operation of the step, counted from 1, and 0 for the
    updates.
    """

    lives: Lives
    liveness: Liveness
    stage: Sequence[int]
    k: int = 0

    @property
    def peak(self) -> int:
        """Largest number of bytes alive inside one operation."""
        return self.lives.peak

    @property
    def cost(self) -> int:
        """Nanoseconds of the whole schedule, planned by the clock."""
        return self.lives.cost

    @cached_property
    def at(self) -> int:
        """Place of the peak's operation in the order of operations; the first one of equal
        peaks."""
        return int(self.lives.timeline.argmax())

    @cached_property
    def backward(self) -> int:
        """Place in the order of operations at which backward begins."""
        ops = self.liveness.step.ops
        later = [ops[index].phase is Phase.BACKWARD for index in self.lives.order.tolist()]
        return int(np.argmax(self.lives.again | np.array(later)))

    @cached_property
    def lines(self) -> dict[str, Column]:
        """Bytes of every part of ``PARTS`` inside every operation; the parts add up to the
        timeline."""
        lives, count = self.lives, len(self.lives.order)
        parts = [PARTS[number] for number in self._parts.tolist()]
        lines = bytes_by_part(parts, lives.nbytes, lives.birth, lives.death, count)
        return {part: lines.get(part, np.zeros(count, np.int64)) for part in PARTS}

    @cached_property
    def _parts(self) -> Column:
        """Part that each block belongs to, as its index in ``PARTS``."""
        lives, tensors = self.lives, self.liveness.tensors
        fixed = np.array(
            [_fixed(tensor.role, tensor.storage.size.per_sample) for tensor in tensors]
        )
        waits = (lives.birth < self.backward) & (lives.death >= self.backward)
        maps = np.where(waits, PARTS.index("kept"), PARTS.index("again"))
        parts = fixed[lives.tensor]
        return np.where(parts < 0, maps, parts)

    @property
    def parts(self) -> dict[str, int]:
        """Bytes of every part at the peak, by name."""
        return {part: int(line[self.at]) for part, line in self.lines.items()}

    @property
    def floor(self) -> int:
        """Bytes at the peak that do not grow with the batch."""
        return sum(self.parts[name] for name in FLOOR)

    @property
    def operation(self) -> str:
        """Name of the operation of the peak, marked where that operation runs for the second
        time."""
        order = self.lives.order[: self.at + 1]
        times = int((order == order[-1]).sum()) - 1
        return f"{self.liveness.step.ops[order[-1]].name}{repeated(times)}"

    @property
    def again(self) -> list[int]:
        """Numbers of the stages with operations that are computed again, rising."""
        rerun = self.lives.order[self.lives.again].tolist()
        return sorted({self.stage[index] for index in rerun})

    @property
    def point(self) -> tuple[int, int]:
        """Peak in bytes and time in nanoseconds."""
        return self.peak, self.cost

    def layers(self, longest: float, count: int) -> list[MountainLayer[str]]:
        """Return the parts as layers of a mountain over ``count`` columns of time.

        Args:
            longest: nanoseconds that all columns last together.
            count: number of columns.
        """
        ends = np.cumsum(self.lives.times) * (count / longest)
        return pile_over_time(self.lines, ends, count)

    @property
    def segments(self) -> Iterator[RerunSegment]:
        """Segments that are computed again without a pause, in the order of time."""
        again, lives = self.lives.again, self.lives
        for repeats, run in groupby(range(len(again)), key=again.__getitem__):
            places = list(run)
            if repeats:
                first, last = places[0], places[-1]
                rerun_maps = (lives.birth >= first) & (lives.birth <= last) & (lives.death > last)
                numbers = [self.stage[index] for index in lives.order[places].tolist()]
                ends = min(numbers), max(numbers)
                yield RerunSegment(first, last, ends, int(lives.nbytes[rerun_maps].sum()))


def _fixed(role: Role, per_sample: int) -> int:
    """Return the index in ``PARTS`` of a storage whose role alone decides its part,
    otherwise -1."""
    if not per_sample:
        name = role.value if role.value in FLOOR else "rest"
        return PARTS.index(name)
    return PARTS.index("gradient_map") if role is Role.GRADIENT_MAP else -1


# -- all schedules of a step ----------------------------------------------------------------------


class Schedules:
    """Schedules of a step at a batch, with the memory and the time of each; each is planned once.

    Args:
        step: a training step without techniques.
        batch: samples of the mini-batch.

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
        """Display name of the network."""
        return self.step.label or self.step.network

    @property
    def subject(self) -> str:
        """Network and batch in words: ``'ResNet-50 v1.5, batch 32'``."""
        return text_of("subject", network=self.label, batch=f"{self.batch:,}")

    @property
    def planned(self) -> str:
        """Sentence on the machine whose rates the times are planned with."""
        rates = roofline.rates()
        key = "planned_here" if rates.here else "planned"
        return text_of(key, machine=rates.processor, date=rates.machine["date"])

    def wave(self, operations: Sequence[int], k: int = 0) -> Wave:
        """Return the wave of an order of operations.

        Args:
            operations: indices into the operations of the step; an index that comes twice runs
                twice.
            k: distance of the checkpoints in stages, 0 for another kind of schedule.
        """
        return Wave(self.liveness.of(operations), self.liveness, self.stage, k)

    @cached_property
    def plain(self) -> Wave:
        """Wave of the step without recompute."""
        return self.wave(range(len(self.step.ops)))

    @cached_property
    def every(self) -> dict[int, Wave]:
        """Waves of the schedules that keep every k-th stage, by k from 1 to at most ``MOST``."""
        last = min(MOST, self.stages - 1)
        return {k: self.keeping(k) for k in range(1, last + 1)}

    def keeping(self, k: int) -> Wave:
        """Return the wave of the schedule that keeps every k-th stage."""
        return self.wave(self.cuts.order(segments.every_kth(self.cuts.parts, k)), k)

    @property
    def rule(self) -> int:
        """The k of the rule for stages that are all alike: the root of the number of stages."""
        return segments.root(self.stages)

    @cached_property
    def best(self) -> Wave:
        """Wave with the least peak of all k; of equal peaks the fastest."""
        return min(self.every.values(), key=lambda wave: wave.point)

    @cached_property
    def longest(self) -> int:
        """Nanoseconds of the slowest schedule of all k and of the plain step."""
        return max(wave.cost for wave in (self.plain, *self.every.values()))

    @cached_property
    def points(self) -> int:
        """Number of best schedules (bytes against time) that the chain of stages has."""
        return len(chain_optimum.frontier(self.cuts.chain(self.batch)))

    @cached_property
    def frontier(self) -> tuple[Wave, ...]:
        """Best schedules of whole stages (fact E6), planned, from the least bytes to the least
        time.

        Where the chain has more than ``TRIED`` of them, ``FEW`` are planned. The plain step is
        among them, and a schedule that another one beats in bytes and time is left out.

        Raises:
            InputError: the chain is too long for the search.
        """
        chain = self.cuts.chain(self.batch)
        best = chain_optimum.frontier(chain)
        count = len(best) if len(best) <= TRIED else FEW
        chosen = (round(i * (len(best) - 1) / max(count - 1, 1)) for i in range(count))
        schedules = (chain_optimum.least_time(chain, best[number][0]) for number in chosen)
        candidates = [self.plain, *(self.wave(self.cuts.order(schedule)) for schedule in schedules)]
        unbeaten: list[Wave] = []
        for wave in sorted(candidates, key=lambda wave: wave.point):
            if not unbeaten or wave.cost < unbeaten[-1].cost:
                unbeaten.append(wave)
        return tuple(unbeaten)

    def within(self, budget: int) -> Wave:
        """Return the fastest of the best schedules whose peak is at most ``budget`` bytes.

        Raises:
            InputError: the least peak is larger.
        """
        least = self.frontier[0].peak
        if budget < least:
            raise InputError(
                f"no schedule of whole stages fits into {units.exact(budget)}; the least takes "
                f"{units.exact(least)}; try that, or a smaller batch."
            )
        return max((w for w in self.frontier if w.peak <= budget), key=lambda wave: wave.peak)

    def more(self, wave: Wave) -> str:
        """Return the time that a wave takes longer than the plain step: ``'35 %'``."""
        return f"{100 * (wave.cost / self.plain.cost - 1):.0f} %"


class NamedStep:
    """A training step with the network's name it was asked for by; the name is empty for a given
    step."""

    def __init__(self, step: Step, name: str = "") -> None:
        self.step, self.name = step, name


def subject(given: object) -> NamedStep:
    """Return the named step of a network's name, of a network or of a step; a name is built once.

    Raises:
        InputError: none of these, or a step with techniques in it.
    """
    if isinstance(given, NamedStep):
        return given
    if isinstance(given, str):
        return _named(given)
    step = training_step(given) if isinstance(given, Network) else given
    if not isinstance(step, Step):
        raise InputError(f"give a network, its name or a step, got {shorten(given)}; "
                         "try 'resnet50'.")  # fmt: skip
    if done := application_order.done(step):
        raise InputError(f"this step {done} already; start from the step before that, as "
                         "memlab.training_step(network) makes it.")  # fmt: skip
    return NamedStep(step)


@lru_cache(maxsize=8)
def _named(name: str) -> NamedStep:
    """Return the step of a network of the zoo, by the network's name; the last ones are cached."""
    return NamedStep(training_step(network_of(name)), name)


@lru_cache(maxsize=8)
def schedules(named_step: NamedStep, batch: int) -> Schedules:
    """Return all schedules of a step at a batch; the last few are cached.

    Raises:
        InputError: as ``Schedules``.
    """
    return Schedules(named_step.step, whole_number("batch", batch))


# -- one of them -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Waves(Study):
    """One schedule beside the plain step and the other schedules of its kind.

    Without a ``budget`` these keep every k-th stage; with one, in bytes, they are the best
    schedules of the chain of stages.
    """

    all: Schedules
    wave: Wave
    budget: int | None = None

    @property
    def others(self) -> tuple[Wave, ...]:
        """All schedules of this kind: one for every k, or the best schedules from the least bytes
        on."""
        if self.budget is not None:
            return self.all.frontier
        return tuple(self.all.every.values())

    @property
    def state(self) -> str:
        """Name of the finding that this schedule shows, which picks the texts.

        ``'budget'``: a schedule within a budget; ``'floor'``: no k saves much; ``'first'``: the
        best k is 1, and not the rule's; ``'best'``: the least peak; ``'few'``: k is too large,
        there are too few checkpoints; ``'all'``: every stage is a checkpoint, and that saves
        little; ``'many'``: k is too small, there are too many; ``'other'``: none of these.
        """
        wave, best, plain = self.wave, self.all.best, self.all.plain
        if self.budget is not None:
            return "budget"
        little = [other.peak > (1 - LITTLE) * plain.peak for other in (best, wave)]
        if little[0]:
            return "floor"
        if wave.peak == best.peak:
            return "first" if wave.k == 1 != self.all.rule else "best"
        if little[1] and wave.k > best.k:
            return "few"
        if little[1] and wave.k == 1:
            return "all"
        many = wave.k < best.k and wave.parts["kept"] > wave.parts["again"]
        return "many" if many else "other"

    @property
    def title(self) -> str:
        return text_of(f"title.{self.state}", **self._values)

    @property
    def sentences(self) -> list[str]:
        """Sentence on the finding, and one with the exact bytes that are alive at the peak."""
        return [text_of(f"see.{self.state}", k=self.wave.k), self.exactly]

    @property
    def exactly(self) -> str:
        """Sentence with peak, parts and time of the schedule, in exact bytes."""
        wave, plain, parts = self.wave, self.all.plain, self.wave.parts
        sizes = {name: units.exact(parts[name]) for name in PARTS if name not in FLOOR}
        how = "budget" if self.budget is not None else "every"
        return text_of(
            "exactly", what=self.all.subject, how=text_of(f"how.{how}", **self._values),
            peak=units.exact(wave.peak), operation=wave.operation, plain=units.exact(plain.peak),
            time=change(plain.cost, wave.cost), floor=units.exact(wave.floor), **sizes,
        )  # fmt: skip

    @property
    def _values(self) -> dict[str, object]:
        """Return the numbers that are filled into the templates of the picture's texts."""
        schedule_set, wave = self.all, self.wave
        budget = "" if self.budget is None else units.exact(self.budget)
        return {
            "peak": three_digits(wave.peak), "plain": three_digits(schedule_set.plain.peak),
            "more": schedule_set.more(wave),
            "times": f"{schedule_set.plain.peak / wave.peak:.1f}",
            "kept": three_digits(wave.parts["kept"]), "floor": three_digits(wave.floor),
            "k": wave.k,
            "stages": schedule_set.stages, "budget": budget,
            "limit": three_digits(self.budget or 0),
        }  # fmt: skip

    @property
    def notes(self) -> list[str]:
        return [self.all.planned]

    def rows(self) -> list[list[str]]:
        """Return a table of the other schedules in exact bytes, its heads in the first row.

        The columns are k (empty under a budget), peak, floor, kept maps, maps made again, gradient
        maps, and the change in time.
        """
        keys = ("peak", "floor", "kept", "again", "gradient_map", "time")
        rows = [["k" if self.budget is None else "", *(text_of(f"head.{key}") for key in keys)]]
        for wave in self.others:
            sizes = [wave.peak, wave.floor, *(wave.parts[name] for name in PARTS[len(FLOOR) :])]
            more = change(self.all.plain.cost, wave.cost)
            rows.append([str(wave.k or ""), *(f"{nbytes:,}" for nbytes in sizes), more])
        return rows


def text_of(key: str, /, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"recompute.{key}", **values)


NETWORKS = ("resnet50", "resnet200")
"""Networks of the menu: peak over k without a minimum inside, and with one."""
TIME, GAP, BARS = 560, 90, 280
"""Columns of the waves, of a gap, and of the bars of all k; all are equally wide."""
WIDE = TIME + GAP + BARS
TALL, STRIP = 280, 10
"""Pixels: height of the chart, and of the strip below it."""
STOPS = 60
"""Most stops of the slider of a budget."""
MADE = Paint("#009E73", 0.10, "dots")
"""Look of maps that are made again, or dead before backward."""
PAINT = {
    "parameter": PAINTS[Role.PARAMETER], "optimizer_state": PAINTS[Role.OPTIMIZER_STATE],
    "rest": PAINTS[Role.PARAMETER_GRADIENT], "kept": PAINTS[Role.FEATURE_MAP], "again": MADE,
    "gradient_map": PAINTS[Role.GRADIENT_MAP],
}  # fmt: skip
SHADE, AGAIN = Paint("currentColor", 0.06), Paint("currentColor", 0.9)
"""Looks of operations that run again: behind the waves, and on the strip below them."""
ANCHORS: tuple[tuple[str, float], ...] = ("middle", 0.0), ("start", -6.0)
"""Anchors of a label above a bar, with their shift in pixels."""


def _schedules_of(now: State) -> Schedules:
    """Return all schedules of the step and batch of a state of the view."""
    return schedules(now.what, now.batch)


def stops(schedules: Schedules) -> list[int]:
    """Return the budgets in bytes at which a slider stops: the least peak, round ones, and the
    plain peak."""
    plain, least = schedules.plain.peak, schedules.frontier[0].peak
    steps = (factor * 10**power for power in range(18) for factor in (1, 2, 5))
    step = next(step for step in steps if plain - least <= STOPS * step)
    between = (step * at for at in range(least // step + 1, -(-plain // step)))
    return list(dict.fromkeys([least, *between, plain]))


def _halfway(now: State) -> int:
    """Return the budget of a slider's stop halfway between the least peak and the plain one."""
    schedules = _schedules_of(now)
    middle = (schedules.frontier[0].peak + schedules.plain.peak) // 2
    return next(stop for stop in stops(schedules) if stop >= middle)


def of_subjects(**given: Any) -> Setting[NamedStep]:
    """Return the setting that takes the network or step to recompute."""
    return Setting(
        doc="a name of ``memlab.zoo``, a network or a step of yours",
        default="resnet50",
        check=subject,
        code="plain",
        write=lambda step: repr(step.name) if step.name else "step",
        **given,
    )


class Recompute(View[Waves]):
    """Memory and time of a step under recompute, as waves over time, for every k or in a budget.

    >>> view = memlab.views.recompute("resnet50", k=4)
    >>> view.peak
    1581468900
    >>> view.rows.all.plain.peak
    2942651620
    """

    name, made_by, widest = "recompute", "recompute", 960
    positional = ("what", "k", "batch")
    presets: ClassVar = {
        "surprise": {"what": "resnet50", "k": 1},
        "break": {"what": "resnet200", "k": 1},
    }
    """A network whose best k is the smallest one; and a k that is too small."""

    what = of_subjects()
    network = Select(
        NETWORKS,
        doc="the network, where it is one of these",
        argument=False,
        when=lambda now: now.what.name in NETWORKS,
        get=lambda now: now.what.name,
        put=lambda now, name: {"what": name},
    )
    k = Range(
        1,
        lambda now: max(_schedules_of(now).every),
        doc="every k-th stage is kept; by the rule, the root of their number, if not given",
        default=lambda now: min(_schedules_of(now).rule, max(_schedules_of(now).every)),
        follows=["what"],
        when=lambda now: now.budget is None,
        code="always",
    )
    budget = Range(
        doc="the most bytes of the peak, or ``'2 GB'``: then the fastest schedule of whole stages "
        "below it, in place of every k-th",
        default=None,
        check=units.parse,
        stops=lambda now: stops(_schedules_of(now)),
        follows=["what", "batch"],
        when=lambda now: now.budget is not None,
    )
    batch = NumberBox(
        doc="the mini-batch size",
        default=32,
        place="more",
        code="always",
        brief=lambda now: text_of("batch", batch=f"{now.batch:,}"),
    )
    numbers = Checkbox(
        doc="whether every k is listed with its bytes", argument=False, stays=True, key="KeyN"
    )

    @property
    def peak(self) -> int:
        """Bytes of the peak on display."""
        return self.rows.wave.peak

    def study(self, now: State) -> Waves:
        schedules = _schedules_of(now)
        wave = schedules.every[now.k] if now.budget is None else schedules.within(now.budget)
        return Waves(schedules, wave, now.budget)

    def outline_key(self, now: State) -> object:
        return now.replace(numbers=False)

    def buttons(self, now: State) -> dict[str, str]:
        mode = "by_budget" if now.budget is None else "by_k"
        modes = {"mode": mode} if {"k", "budget"} <= {*now.only} or not now.only else {}
        offered = self.presets if now.what.name in NETWORKS else ()
        return modes | {name: name for name in ("start", *offered, "copy")}

    def on_action(self, now: State, name: str, value: object) -> State | None:
        if name == "mode":
            return self.changed(now, budget=_halfway(now) if now.budget is None else None)
        if name == "take":
            return self.changed(now, budget=value)
        return None

    def test_state(self, now: State) -> str:
        waves = self.rows_of(now)
        return "|".join(map(str, (waves.wave.k, waves.budget, waves.wave.peak, waves.wave.cost)))

    def says(self, scene: PageState) -> str:
        waves = self.rows_of(scene.now)
        return f"{waves.all.subject}. {waves.title}."

    def compose(self, scene: PageState) -> Page:
        waves, listed = self.rows_of(scene.now), scene.now.numbers
        heads, *rows = waves.rows()
        blocks: list[PageBlock] = [
            Paragraphs(waves.title, 20, bold=True, gap=3),
            Paragraphs(waves.sentences[0], 13),
            _waves(waves),
            _strip(waves, phone=scene.width < PHONE),
            Key(list(_key(waves)), gap=4),
            Paragraphs([waves.exactly, *waves.notes], drawn=listed, gap=10),
            Table(heads, rows, drawn=listed, gap=8),
        ]
        return Page(waves.title, blocks, scene.width, self.says(scene), titled=False)


recompute = maker(Recompute)


# -- the waves, and the bars beside them -----------------------------------------------------------


def _waves(waves: Waves) -> Chart:
    """Return the chart: bytes over time on the left, the peaks of all schedules on the right, one
    axis."""
    wave, mountain = waves.wave, mountain_of(waves)
    peak, limit = mountain.at(mountain.top), waves.budget
    marks: list[Mark] = [
        *_rerun_columns(waves, mountain.end),
        *mountain.stack(),
        *_bars(waves, mountain.end),
        Rule(y=wave.peak, span=(peak, _bar(waves)[0]), look="rule", dashes="1.5 3", crossed=True),
        *mountain.peak(wave.peak),
        ChartText(
            TIME + GAP / 2, wave.peak, three_digits(wave.peak), 13, "middle", dy=-7, bold=True
        ),
        *mountain.limits([] if limit is None else [(text_of("limit"), limit)]),
        *_phases(waves, mountain.end),
        *mountain.was(text_of("plain")),
        *mountain.names(),
    ]
    y = bytes_over(waves.all.plain.peak, TIGHT)
    return Chart(Scale(0, WIDE), y, marks, TALL, y_axis=Axis(), left=62, right=6, above=26,
                 previous=mountain.previous, gap=6)  # fmt: skip


def mountain_of(waves: Waves) -> Mountain:
    """Return the mountain of the chosen schedule over time, with the plain step as a dashed
    outline."""
    layers, plain = (wave.layers(waves.all.longest * WIDE / TIME, WIDE)
                     for wave in (waves.wave, waves.all.plain))  # fmt: skip
    slices = [DrawnLayer(low, high, PAINT[part], name_of(part)) for part, low, high in layers]
    ground = next(layer.high for layer in reversed(layers) if layer.part in FLOOR)
    end = bytes_over(waves.all.plain.peak, TIGHT).last
    return Mountain(slices, end, ground, plain[-1].high, time=True)


def name_of(part: str) -> str:
    """Return the display name of a part of a wave."""
    if part in FLOOR:
        return StackPart(Role.PARAMETER_GRADIENT if part == "rest" else Role(part), False).label
    return text_of({"again": "made", "gradient_map": "gradients"}.get(part, part))


def _key(waves: Waves) -> Iterator[tuple[Paint, str]]:
    """Yield a legend entry for each part that some schedule has bytes of at its peak."""
    for part in PARTS:
        if any(wave.parts[part] for wave in waves.others):
            yield PAINT[part], name_of(part)


def _rerun_columns(waves: Waves, high: float) -> Iterator[Mark]:
    """Yield marks for a faint column for each segment that runs again, which names its stages on
    hover."""
    for first, last, fact in _repeats(waves):
        yield Rect(first, last, 0, high, SHADE, edge=0)
        yield Rect(first, last, 0, high, "target", fact=fact)


def _repeats(waves: Waves) -> Iterator[tuple[float, float, Fact]]:
    """Yield the left and right end of each segment in columns of time, and the fact on the maps it
    makes."""
    ends = _ends(waves)
    for segment in waves.wave.segments:
        first, last = segment.stages
        key = "segment_one" if first == last else "segment"
        fact = Fact(text_of(key, first=first, last=last, stage=first), nbytes=segment.nbytes)
        yield float(ends[segment.first]), float(ends[segment.last + 1]), fact


def _ends(waves: Waves) -> Floats:
    """Return the columns at which the operations end, after a leading 0."""
    return np.concatenate(([0], np.cumsum(waves.wave.lives.times))) * (TIME / waves.all.longest)


def _phases(waves: Waves, high: float) -> Iterator[Mark]:
    """Yield marks for brackets over forward and backward, and the heading of the bars."""
    ends = _ends(waves)
    yield from phases(float(ends[waves.wave.backward]), float(ends[-1]))
    head = text_of("each" if waves.budget is None else "each_budget")
    yield ChartText(TIME + GAP, high, head, 12, dy=-12, bold=True)


def _slots(waves: Waves) -> list[tuple[float, float]]:
    """Return the left and right end of every bar, in columns."""
    count = len(waves.others)
    pitch = BARS / count
    return [
        (TIME + GAP + pitch * i + pitch * 0.1, TIME + GAP + pitch * (i + 0.9)) for i in range(count)
    ]


def _bar(waves: Waves) -> tuple[float, float]:
    """Return the left and right end of the chosen schedule's bar."""
    return _slots(waves)[waves.others.index(waves.wave)]


def _bars(waves: Waves, high: float) -> Iterator[Mark]:
    """Yield marks for a stacked bar for each schedule; the chosen one is framed, the least one
    named."""
    slots, others = _slots(waves), waves.others
    low = np.zeros(len(others))
    for name in PARTS:
        top = low + np.array([float(wave.parts[name]) for wave in others])
        ends = zip(slots, low.tolist(), top.tolist(), strict=True)
        yield Rects([(*slot, a, b) for slot, a, b in ends], PAINT[name], edge=0.5)
        low = top
    yield Rule(y=waves.all.plain.peak, span=(TIME + GAP, WIDE), look="before")
    left, right = _bar(waves)
    yield Rect(left - 1.5, right + 1.5, 0, waves.wave.peak, "limit")
    yield from _targets(waves, high)
    best = min(others, key=lambda wave: wave.point)
    left, right = slots[others.index(best)]
    spots = [((left + right) / 2, best.peak, anchor, dx, dy) for dy in (-7.0, -22.0, -40.0, -60.0)
              for anchor, dx in ANCHORS]  # fmt: skip
    yield Label(text_of("least"), spots, 12, bold=True, chip=True)
    yield from _part_names(waves)


def _targets(waves: Waves, high: float) -> Iterator[Mark]:
    """Yield marks for a target over each bar that tells its bytes and time; a press takes its k or
    its budget."""
    for slot, wave in zip(_slots(waves), waves.others, strict=True):
        if waves.budget is None:
            text, send = text_of("bar", k=wave.k), ("k", wave.k)
        else:
            text, send = text_of("bar_budget", peak=three_digits(wave.peak)), ("take", wave.peak)
        fact = Fact(text, nbytes=wave.peak, more=text_of("time", more=waves.all.more(wave)))
        yield Rect(*slot, 0, high, "target", fact=fact, send=send)


def _part_names(waves: Waves) -> Iterator[Mark]:
    """Yield marks for the names of the floor and of the kept maps, left of the bars."""
    first = waves.others[0].parts
    floor = sum(first[name] for name in FLOOR)
    yield ChartText(TIME + GAP, floor / 2, text_of("floor"), 11, "end", dx=-4, dy=4)
    place = TIME + GAP, floor + first["kept"] / 2, "end", -4
    yield Label(text_of("kept"), [(*place, dy) for dy in (4, -10, -22)], 11)


# -- below them: what runs again, time, k ---------------------------------------------------------


def _strip(waves: Waves, phone: bool) -> Chart:
    """Return the chart below the waves: segments that run again, the added time, and numbers of
    bars."""
    all_, wave = waves.all, waves.wave
    end, plain = (TIME * schedule.cost / all_.longest for schedule in (wave, all_.plain))
    low = 34
    marks: list[Mark] = [
        Rects([(0, end, low, low + STRIP)], "rule"),
        Rects([(a, b, low, low + STRIP) for a, b, _ in _repeats(waves)], AGAIN),
        ChartText(0, low, text_of("again"), 11, "end", dx=-6, dy=-1),
        ChartText(0, 4, text_of("axis"), 11, dy=16 if phone else 0, dim=True),
        Rule(x=plain, span=(6, low + STRIP + 6), look="before"),
        Rule(x=end, span=(6, low + STRIP + 6), look="rule"),
    ]
    if end - plain > 1:
        marks += [
            Rule(y=18, span=(plain, end), look="rule", width=1.4),
            Glyph(end, 18, "M0 0L-7-3.5V3.5Z", marker=">"),
            _more(text_of("time", more=all_.more(wave)), plain, end),
        ]
    marks += _numbers(waves) if waves.budget is None else ()
    text = f"{text_of('axis').rstrip(' →')}: {text_of('time', more=all_.more(wave))}"
    return Chart(Scale(0, WIDE), Scale(0, 46), marks, 46, left=62, right=6,
                 below=16 if phone else 0, told=[text])  # fmt: skip


def _more(text: str, plain: float, end: float) -> ChartText:
    """Return the label of the added time: below its arrow, or after an arrow that is short."""
    if end - plain < 130:
        return ChartText(end, 18, text, 12, dx=6, dy=4, bold=True)
    return ChartText((plain + end) / 2, 4, text, 12, "middle", bold=True)


def _numbers(waves: Waves) -> Iterator[Mark]:
    """Yield marks for the first k, the last one and the chosen one below their bars."""
    slots = [(a + b) / 2 for a, b in _slots(waves)]
    k, last = waves.wave.k, len(slots)
    yield ChartText(slots[k - 1], 32, text_of("k", k=k), 12, "middle", bold=True, held=True)
    for number in (1, last):
        places = [(slots[number - 1], 32, "middle", 0.0, 0.0)]
        yield Label(f"{number}", places, 11, apart=5)
    if waves.all.rule <= last:
        places = [(slots[waves.all.rule - 1], 17, "middle", 0.0, 0.0)]
        yield Label(text_of("rule"), places, 11, dim=True)
