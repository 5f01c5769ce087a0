"""Every technique tried on one step: bytes against time, the optimum of a chain, and lower bounds.

Each technique's step is built and planned, placed where that is its point, and run where that is
asked for. ``memlab compare`` prints the result, and the view of techniques draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from memlab import strings, units
from memlab.assemble.step import training_step
from memlab.claims.revolve import sqrt_slots
from memlab.clocks import roofline
from memlab.clocks.roofline import Machine
from memlab.errors import InputError, shorten, true_or_false
from memlab.hardware import Device
from memlab.ledger.plan import plan
from memlab.networks.graph import Network
from memlab.pictures.values.number_text import columns, duration, signed_percent
from memlab.pictures.values.step_recipe import network_of
from memlab.placement import exact_packing
from memlab.placement.placement import Block, Placement, arrange, blocks, booked
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.techniques import application_order
from memlab.techniques.recompute import chain_optimum, recompute
from memlab.techniques.recompute.exact_order import LARGEST
from memlab.techniques.recompute.order_memory import cost
from memlab.techniques.recompute.step_as_chain import cuts
from memlab.techniques.registry import Applied, applied, find, techniques

if TYPE_CHECKING:
    from memlab.kernels.registry import Array

EXACT = ("technique", "bytes", "plain", "no_reuse", "again", "flops", "seconds", "extra")
RAN = ("measured", "residual", "run", "slower", "results")
SHORT = ("peak", "plain", "no_reuse", "again", "extra", "distance")
"""Columns of the text, of the measurements, and of the picture."""
BEST = ("within", "chain")
"""Techniques that are the best schedules of a chain."""
BESIDE = ("every", "cheap", "greedy")
"""Techniques that are compared with the best schedule of a chain."""
LONGEST = 60
"""Stages of the longest chain whose optimum is searched."""
MOST, ENOUGH = 5, 0.2
"""Most timed runs of each technique, and seconds after which no further run begins."""


def text_of(key: str, **values: object) -> str:
    """Return a text on techniques by its key."""
    return strings.get(f"techniques.{key}", **values)


# -- figures ---------------------------------------------------------------------------------------


class Trade(NamedTuple):
    """A schedule's peak in bytes and its time in nanoseconds."""

    nbytes: int
    cost: int


class Floor(NamedTuple):
    """Lower bound on the peak in bytes for any order of the operations, and the operation that
    needs them."""

    nbytes: int
    operation: str


@dataclass(frozen=True, slots=True)
class MeasuredTechnique:
    """Measurements of a technique's runs: peak, residual (difference from the plan) and seconds.

    ``other`` names the results that differ in any bit from those of the plain step.
    """

    nbytes: int
    residual: int
    seconds: float
    other: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparedTechnique:
    """One technique on a step at a batch: its peak, its time, and what is proved about them.

    ``call`` is the code that makes its ``step``. ``peak`` is the most bytes inside an operation;
    with a ``placement`` (all blocks that the step allocates in one arena) it is the arena and the
    bytes that are there before the step. ``again`` counts the operations that run again, ``flops``
    their work. ``cost`` is nanoseconds by the clock. ``floor`` is a lower bound. ``optimum`` is the
    fastest schedule of the stages of a chain within the same bytes, where it is known.
    """

    key: str
    call: str
    step: Step = field(repr=False)
    peak: int
    operations: int
    again: int
    flops: int
    cost: int
    floor: Floor
    placement: Placement | None = field(default=None, repr=False)
    optimum: Trade | None = None
    measured: MeasuredTechnique | None = None

    @property
    def point(self) -> Trade:
        """Peak in bytes and time in nanoseconds."""
        return Trade(self.peak, self.cost)


@dataclass(frozen=True)
class TechniqueStudy:
    """Comparison of all techniques on one step at a batch, in exact bytes.

    ``budget`` is the one of the chain, in bytes: ``given`` by the reader, or halfway. ``trades``
    are bytes and time of the best schedules of a chain of ``stages``, empty where the chain is too
    long; ``schedules`` counts those that the search found. ``left_out`` has the keys of the
    techniques that are missing.
    """

    network: str
    batch: int
    rows: tuple[ComparedTechnique, ...]
    budget: int | None = None
    given: bool = False
    stages: int = 0
    trades: tuple[Trade, ...] = ()
    schedules: int = 0
    left_out: tuple[str, ...] = ()
    machine: Machine | None = None

    # -- figures

    def row(self, key: str) -> ComparedTechnique:
        """Return the row of a technique by its key."""
        return next(row for row in self.rows if row.key == key)

    @property
    def plain(self) -> ComparedTechnique:
        """Row of the step without techniques."""
        return self.row("plain")

    @property
    def least(self) -> ComparedTechnique:
        """Row of the least peak; of equal ones the fastest, then the first."""
        return min(self.rows, key=lambda row: row.point)

    @property
    def floor(self) -> Floor:
        """Lower bound on the peak that holds for the operations of every row, in any order."""
        return min((row.floor for row in self.rows), key=lambda row: row.nbytes)

    @property
    def measured(self) -> bool:
        """True if the rows were also run."""
        return self.plain.measured is not None

    @property
    def held(self) -> bool:
        """True if every run used the planned bytes and had the results of the plain step."""
        runs = [row.measured for row in self.rows if row.measured]
        return not any(run.residual or run.other for run in runs)

    def ratio(self, row: ComparedTechnique, key: str = "plain") -> str:
        """Return the peak of a row divided by that of the row ``key``: ``'0.552'``."""
        return f"{row.peak / self.row(key).peak:,.3f}"

    def extra(self, cost: int) -> float:
        """Return by how many percent ``cost`` nanoseconds are longer than the plain step."""
        return 100 * (cost / self.plain.cost - 1) if self.plain.cost else 0.0

    def slower(self, row: ComparedTechnique) -> float | None:
        """Return by how many percent a row's run took longer than the plain step's; None without
        runs.

        It is negative for a faster run.
        """
        if row.measured is None or self.plain.measured is None:
            return None
        return 100 * (row.measured.seconds / self.plain.measured.seconds - 1)

    # -- sentences

    @property
    def title(self) -> str:
        """Title with network and batch: ``'ResNet-50 v1.5, batch 8: techniques for one step,
        ...'``."""
        return text_of("title", network=self.network, batch=f"{self.batch:,}")

    @property
    def headline(self) -> str:
        """Sentence on the technique of the least peak, and on its time."""
        row = self.least
        ratios = {key: self.ratio(row, key) for key in ("plain", "no_reuse")}
        values = {"name": self.name(row), "peak": units.short(row.peak)}
        return text_of("least", **values, **ratios, extra=self.time(row))

    def name(self, row: ComparedTechnique) -> str:
        """Return the display name of a row: ``'chain, 697 MB'``."""
        budget = "" if self.budget is None else units.short(self.budget)
        own = strings.has(f"techniques.name.{row.key}")
        return text_of(f"name.{row.key}", budget=budget) if own else find(row.key).label

    def about(self, row: ComparedTechnique) -> str:
        """Return the effect of a technique in a few words: ``'outputs overwrite
        inputs that are not read again'``."""
        own = strings.has(f"techniques.about.{row.key}")
        return text_of(f"about.{row.key}") if own else find(row.key).note

    def time(self, row: ComparedTechnique) -> str:
        """Return the change in time against the plain step, by the clock: ``'+20.2 %'``."""
        return signed_percent(self.extra(row.cost))

    def distance(self, row: ComparedTechnique) -> str:
        """Return words on the distance from what is proved: the optimum where it is known, else a
        bound."""
        if row.placement is not None:
            if row.placement.how == "exact" or not row.placement.waste:
                return text_of("distance.proved")
            return text_of("distance.arena", bytes=units.short(row.placement.waste))
        if row.key in (*BEST, "exact"):
            return text_of("distance.exact" if row.key == "exact" else "distance.optimum")
        if row.optimum is not None:
            later = self.extra(row.cost) - self.extra(row.optimum.cost)
            key = "alike" if abs(later) < 0.05 else "more" if later > 0 else "less"
            return text_of(f"distance.{key}", time=signed_percent(abs(later)).removeprefix("+"))
        return text_of("distance.floor", ratio=f"{row.peak / self.floor.nbytes:,.2f}")

    def notes(self) -> list[str]:
        """Return notes on the line of best schedules, the bound, the budget, the clock, and what is
        left out."""
        operations = self.plain.operations
        numbers = {"stages": self.stages, "all": self.schedules, "operations": operations}
        lines = []
        if self.trades:
            key = "line" if len(self.trades) > 1 else "one"
            lines.append(text_of(f"note.{key}", count=len(self.trades), **numbers))
        lines.append(text_of("note.floor", operation=self.floor.operation))
        if self.budget is not None:
            key = "given" if self.given else "halfway"
            lines.append(text_of(f"note.{key}", budget=units.exact(self.budget)))
        lines += [text_of(f"note.{key}", **numbers) for key in self.left_out]
        lines.append(self._clock())
        return [*lines, text_of("note.measured")] if self.measured else lines

    def _clock(self) -> str:
        """Return a note on the machine whose rates the seconds are planned with."""
        on = self.machine or roofline.rates()
        if isinstance(on, Device):
            return text_of("note.figures", machine=on.title)
        key = "planned_here" if on.here else "planned"
        return text_of(f"note.{key}", machine=on.processor, date=on.machine["date"])

    # -- text

    def text(self) -> str:
        """Return the whole comparison as text, with every byte."""
        head = [f"{self.title}.", self.headline]
        parts = [head, self.table(), self.distances(), self.calls(), self.notes()]
        return "\n\n".join("\n".join(part) for part in parts)

    def cells(self, *keys: str) -> list[list[str]]:
        """Return the heads of some columns in the first row, then the cells of each technique."""
        heads = {key: text_of(f"table.{key}") for key in (*EXACT, *RAN, *SHORT)}
        return [
            [texts[name] for name in keys] for texts in (heads, *map(self.row_texts, self.rows))
        ]

    def row_texts(self, row: ComparedTechnique) -> dict[str, str]:
        """Return the figures of a row as texts by column, short and exact; those
        of its runs, too."""
        values = {
            "technique": self.name(row),
            "peak": units.short(row.peak),
            "bytes": f"{row.peak:,}",
            "plain": self.ratio(row),
            "no_reuse": self.ratio(row, "no_reuse"),
            "again": f"{row.again:,}",
            "flops": f"{row.flops:,}",
            "seconds": _seconds(row.cost),
            "extra": self.time(row),
            "distance": self.distance(row),
        }
        if (seen := row.measured) is not None:
            names = ", ".join(text_of(f"result.{other}") for other in seen.other)
            values |= {
                "measured": f"{seen.nbytes:,}",
                "residual": f"{seen.residual:,}",
                "run": duration(seen.seconds),
                "slower": signed_percent(self.slower(row) or 0.0),
                "results": text_of("unlike", names=names) if names else text_of("alike"),
            }
        return values

    def table(self) -> list[str]:
        """Return a table as lines: one for every technique, in exact bytes."""
        keys = EXACT + (RAN if self.measured else ())
        return columns(self.cells(*keys), align="<" + ">" * (len(EXACT) + len(RAN) - 2) + "<")

    def distances(self) -> list[str]:
        """Return sentences on the distance of each row from what is proved, in exact bytes."""
        lines = [f"{self.name(row)}: {self._exact_distance(row)}." for row in self.rows]
        floor = self.floor
        both = {"bytes": f"{floor.nbytes:,}", "short": units.short(floor.nbytes)}
        lines.append(text_of("twin.floor", **both, operation=floor.operation))
        if len(self.trades) > 1:
            first, last = (_trade(trade) for trade in (self.trades[0], self.trades[-1]))
            lines.append(text_of("twin.trades", first=first, last=last))
        return lines

    def _exact_distance(self, row: ComparedTechnique) -> str:
        """Return the distance of a row from what is proved, in exact bytes."""
        placement, distance = row.placement, self.distance(row)
        if placement is not None:
            arena = placement.arena
            digits = {"arena": arena, "there": row.peak - arena, "bound": placement.lower_bound,
                      "waste": placement.waste}  # fmt: skip
            texts = {key: f"{nbytes:,}" for key, nbytes in digits.items()}
            return text_of("twin.placed", distance=distance, **texts)
        if row.optimum is not None:
            return text_of("twin.within", distance=distance, best=_trade(row.optimum))
        return distance

    def calls(self) -> list[str]:
        """Return lines with the effect of each technique and the call that makes its step."""
        lines = [text_of("twin.calls")]
        for row in self.rows:
            lines += [f"{self.name(row)}: {self.about(row)}", f"    {row.call}"]
        return lines

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as a dictionary for JSON."""
        trades = [{"bytes": t.nbytes, "planned_seconds": t.cost / 1e9} for t in self.trades]
        return {
            "batch": self.batch,
            "budget_bytes": self.budget,
            "lower_bound_bytes": self.floor.nbytes,
            "stages": self.stages,
            "trades": trades,
            "left_out": list(self.left_out),
            "techniques": [self._facts(row) for row in self.rows],
        }

    def _facts(self, row: ComparedTechnique) -> dict[str, Any]:
        """Return the figures of a row as a dictionary for JSON."""
        placement = row.placement
        return {
            "technique": row.key,
            "name": self.name(row),
            "call": row.call,
            "peak_bytes": row.peak,
            "ratio_to_plain": row.peak / self.plain.peak,
            "ratio_to_no_reuse": row.peak / self.row("no_reuse").peak,
            "arena_bytes": placement and placement.arena,
            "arena_lower_bound_bytes": placement and placement.lower_bound,
            "optimum_bytes": row.optimum and row.optimum.nbytes,
            "operations": row.operations,
            "runs_again": row.again,
            "runs_again_flops": row.flops,
            "planned_seconds": row.cost / 1e9,
            "measured": row.measured and asdict(row.measured),
        }


def _seconds(cost: int) -> str:
    """Return nanoseconds as exact seconds: ``'2.592430455'``."""
    return f"{cost / 10**9:,.9f}"


def _trade(trade: Trade) -> str:
    """Return a trade as words, with exact bytes and seconds."""
    return text_of("twin.trade", bytes=f"{trade.nbytes:,}", seconds=_seconds(trade.cost))


# -- how they are made -----------------------------------------------------------------------------


def compare_techniques(
    subject: str | Network | Step,
    batch: int = 8,
    budget: int | str | None = None,
    measure: bool = False,
    progress: bool = True,
    device: str | Machine | None = None,
) -> TechniqueStudy:
    """Compare the bytes and the time of every technique on a training step at a batch.

    Args:
        subject: a name of ``memlab.zoo``, a network, or a step without techniques.
        batch: samples of the mini-batch.
        budget: the most bytes of the peak, or ``'2GB'``, for the fastest schedule of a chain below
            it; if not given, halfway from the least peak of the chain to the plain one.
        measure: also run each technique.
        progress: show the progress of the runs.
        device: device whose time is planned, as in ``memlab.clock``.

    Raises:
        InputError: no network or step, one with techniques in it, or a batch that it does not hold
            for; a budget below the least peak of the chain; what does not fit or has no kernel,
            before anything runs.
    """
    limit = None if budget is None else units.exact_or_parsed(budget)
    step, measure = _step(subject), true_or_false("measure", measure)
    number = step.held(batch)
    machine = roofline.machine(device)
    chosen = _choices(step, number, limit, device)
    known = trades(step, number, machine) if chosen.chained else ()
    rows = [_planned(candidate, number, known, machine) for candidate in chosen.techniques]
    return TechniqueStudy(
        network=step.label or step.network,
        batch=number,
        rows=tuple(_measured(rows, number, progress) if measure else rows),
        budget=chosen.budget,
        given=budget is not None,
        stages=chosen.stages,
        trades=unbeaten([*known, *(row.point for row in rows if row.key in BEST)]),
        schedules=len(known),
        left_out=chosen.left_out,
        machine=machine,
    )


def _step(subject: object) -> Step:
    """Return the training step of a name, a network or a step.

    Raises:
        InputError: none of these, or a step with techniques in it.
    """
    if isinstance(subject, str):
        subject = network_of(subject)
    if isinstance(subject, Network):
        subject = training_step(subject)
    if not isinstance(subject, Step):
        raise InputError(
            f"techniques are compared on a network or a step, got {shorten(subject)}; try "
            "memlab.views.techniques('resnet50')."
        )
    if done := application_order.done(subject):
        raise InputError(
            f"techniques are compared on a step without any, and this one {done}; try "
            "memlab.training_step(network)."
        )
    return subject


# -- which techniques, and the step that each makes -----------------------------------------------


class TechniqueChoice(NamedTuple):
    """A technique to compare, by its key: the call that makes its step, and the step.

    ``placed`` is True where all blocks that the step allocates get addresses in one arena.
    """

    key: str
    call: str
    step: Step
    placed: bool = False


class Choices(NamedTuple):
    """Techniques to compare, and the keys of those that are left out.

    ``stages`` counts the stages of the step as a chain, ``chained`` is True where the best
    schedules of that chain can be searched, and ``budget`` is in bytes.
    """

    techniques: list[TechniqueChoice]
    left_out: tuple[str, ...]
    stages: int = 0
    chained: bool = False
    budget: int | None = None


def _choices(step: Step, batch: int, budget: int | None, device: str | Machine | None) -> Choices:
    """Return the techniques to compare on a step, each with its step."""
    alone = {row.name: _applied(row.name, applied(row.name), step)
             for row in techniques().values() if row.compared}  # fmt: skip
    shared = alone.pop("in_place")
    choices = [alone.pop("no_reuse"), TechniqueChoice("plain", "step", step), shared]
    choices += [_placed_choice("placed", shared.call, shared.step, batch), *alone.values()]
    if not step.training:
        return Choices(choices, ("inference",))
    stages = len(cuts(step).parts)
    chained = stages <= LONGEST
    choices += [
        _recomputed("every", step, "every"),
        _recomputed("cheap", step, "cheap"),
    ]
    if chained:
        budget = _halfway_budget(step, batch) if budget is None else budget
        choices += _chain_choices(step, batch, budget, device)
    else:
        budget = None
        choices.append(_recomputed("slots", step, "slots", k=sqrt_slots(stages)[1]))
    least, proved, last = choices[-1], _exact_choices(step, batch, device), applied("in_place")
    combined = _placed_choice("combined", last.line(least.call), last(least.step), batch)
    choices += [*proved, combined]
    left_out = (("chain", not chained), ("exact", not proved))
    out = tuple(key for key, missing in left_out if missing)
    return Choices(choices, out, stages, chained, budget)


def _halfway_budget(step: Step, batch: int) -> int | None:
    """Return the bytes halfway from the least peak of the chain to the plain peak; None if they are
    equal."""
    least, most = (
        plan(variant).peak(batch) for variant in (recompute(step, "chain", batch=batch), step)
    )
    return (least + most) // 2 if least < most else None


def _applied(key: str, by: Applied, step: Step) -> TechniqueChoice:
    """Return the choice of one technique, applied to a step."""
    return TechniqueChoice(key, by.line(), by(step))


def _recomputed(key: str, step: Step, how: str, **given: Any) -> TechniqueChoice:
    """Return the choice of one method of recompute, applied to a step."""
    return _applied(key, applied("recompute", how, **given), step)


def _placed_choice(key: str, call: str, step: Step, batch: int) -> TechniqueChoice:
    """Return the choice of a step whose blocks all get an address in one arena."""
    return TechniqueChoice(key, f"memlab.place({call}, {batch})", step, placed=True)


def _chain_choices(
    step: Step, batch: int, budget: int | None, device: str | Machine | None
) -> Iterator[TechniqueChoice]:
    """Yield the searches over the stages of a chain; the one of the least peak comes last."""
    yield _recomputed("greedy", step, "greedy", batch=batch, device=device)
    if budget is not None:
        yield _recomputed("within", step, "chain", batch=batch, budget=budget, device=device)
    yield _recomputed("chain", step, "chain", batch=batch, device=device)


def _exact_choices(step: Step, batch: int, device: str | Machine | None) -> list[TechniqueChoice]:
    """Return the order of the least peak of a small step; empty where it cannot be proved in
    seconds."""
    if len(step.ops) > LARGEST:
        return []
    try:
        return [_recomputed("exact", step, "exact", batch=batch, device=device)]
    except InputError:
        return []


# -- planned ------------------------------------------------------------------------------------


def _planned(
    choice: TechniqueChoice, batch: int, known: Sequence[Trade], machine: Machine
) -> ComparedTechnique:
    """Return the row of a technique as its step is planned."""
    step, ledger = choice.step, plan(choice.step)
    placement = _placement(blocks(step, batch)) if choice.placed else None
    if placement is not None:
        ledger = booked(ledger, placement, batch)
    peak = ledger.peak(batch)
    again = [op for op in step.ops if application_order.AGAIN in op.attributes]
    in_chain = known and choice.key in BESIDE
    return ComparedTechnique(
        key=choice.key,
        call=choice.call,
        step=step,
        peak=peak,
        operations=len(step.ops),
        again=len(again),
        flops=sum((op.flops for op in again), Size()).at(batch),
        cost=cost(step.ops, batch, machine),
        floor=floor(step, batch),
        placement=placement,
        optimum=within(peak, known) if in_chain else None,
    )


@lru_cache(maxsize=8)
def _placement(live_blocks: tuple[Block, ...]) -> Placement:
    """Return the smallest arena where it is proved in seconds, else the best that the heuristics
    find."""
    if len(live_blocks) <= exact_packing.MOST:
        try:
            return arrange(live_blocks, "exact")
        except InputError:  # no proof in time
            pass
    return arrange(live_blocks, "best")


# -- the optimum -------------------------------------------------------------------------------


def trades(step: Step, batch: int, machine: Machine | None = None) -> tuple[Trade, ...]:
    """Return bytes and time of the best schedules of a step's stages, by increasing bytes (fact
    E6).

    Args:
        step: a training step that is a chain of stages.
        batch: samples of the mini-batch.
        machine: machine whose rates plan the time; this one if not given.
    """
    stages = cuts(step, machine)
    constant = stages.throughout(batch)
    rest = cost((step.ops[number] for number in stages.rest), batch, machine)
    best = chain_optimum.frontier(stages.chain(batch))
    return tuple(Trade(nbytes + constant, spent + rest) for nbytes, spent in best)


def unbeaten(candidates: Iterable[Trade]) -> tuple[Trade, ...]:
    """Return the trades that no other one beats in both bytes and time, by increasing bytes."""
    front: list[Trade] = []
    for candidate in sorted(candidates):
        if not front or candidate.cost < front[-1].cost:
            front.append(candidate)
    return tuple(front)


def within(nbytes: int, known: Iterable[Trade]) -> Trade | None:
    """Return the fastest trade with at most ``nbytes``; None where all have more."""
    fits = (candidate for candidate in known if candidate.nbytes <= nbytes)
    return min(fits, key=lambda candidate: (candidate.cost, candidate.nbytes), default=None)


def floor(step: Step, batch: int) -> Floor:
    """Return a lower bound on the peak of a step for any order of its operations.

    It adds the bytes that live before the step and after it to those that the largest operation
    touches.
    """
    after = {tensor.storage.name for tensor in step.live_out}
    there = {tensor.storage for tensor in step.live_in if tensor.storage.name in after}
    always = sum(storage.size.at(batch) for storage in there)
    bounds = []
    for op in step.ops:
        touched = {tensor.storage for tensor in (*op.touched(), *op.workspace.values())} - there
        bounds.append(Floor(always + sum(storage.size.at(batch) for storage in touched), op.name))
    return max(bounds, key=lambda bound: bound.nbytes)


# -- measured -----------------------------------------------------------------------------------


class Results(NamedTuple):
    """Loss, gradients, parameters and output of a run."""

    loss: float | None
    gradients: Mapping[str, Array]
    parameters: Mapping[str, Array]
    output: Array | None

    def unlike(self, other: Results) -> tuple[str, ...]:
        """Return the names of the results that differ from another run's in any bit."""
        pairs = zip(self._fields, self, other, strict=True)
        return tuple(name for name, mine, theirs in pairs if not _same(mine, theirs))


def _same(first: object, second: object) -> bool:
    """Return whether two results are equal bit for bit; NaN equals NaN."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            _same(first[name], second[name]) for name in first
        )
    import numpy as np

    return np.asarray(first).tobytes() == np.asarray(second).tobytes()


def _measured(
    rows: Sequence[ComparedTechnique], batch: int, progress: bool
) -> list[ComparedTechnique]:
    """Run every technique and return the rows with the measurements.

    A step that cannot run is refused before the first run. Each step also runs once with its
    gradients kept, to compare them.
    """
    from memlab.runtime import backend, memory_guard
    from memlab.runtime.program import kernels_of

    room = backend.find("cpu").room()
    for step in (step for row in rows for step in (row.step, _keeping_gradients(row.step))):
        memory_guard.check(plan(step), batch, room)
        kernels_of(step, "cpu")
    expected = _results(next(row for row in rows if row.key == "plain"), batch, progress)
    measured = []
    for row in rows:
        other = _results(row, batch, progress).unlike(expected)
        peaks, residuals, seconds = zip(*_timed_runs(row, batch, progress), strict=True)
        seen = MeasuredTechnique(max(peaks), max(residuals), median(seconds), other)
        measured.append(replace(row, measured=seen))
    return measured


def _timed_runs(row: ComparedTechnique, batch: int, progress: bool) -> list[tuple[int, int, float]]:
    """Return peak, residual and seconds of up to ``MOST`` runs; of one alone where
    it takes long."""
    from memlab.runtime.run import run

    runs = list[tuple[int, int, float]]()
    while len(runs) < MOST and sum(seconds for _, _, seconds in runs) < ENOUGH:
        done = run(row.step, batch, placement=row.placement, poison=False, progress=progress)
        runs.append((done.peak, done.residual, done.seconds))
    return runs


def _keeping_gradients(step: Step) -> Step:
    """Return a training step that keeps its gradients; another step as it is."""
    return step.keep("gradients") if step.training else step


def _results(row: ComparedTechnique, batch: int, progress: bool) -> Results:
    """Return the results of a run that fills freed memory, so that a read of it
    would change them."""
    from memlab.runtime.run import run

    step = _keeping_gradients(row.step)
    placement = None if row.placement is None else arrange(blocks(step, batch))
    done = run(step, batch, placement=placement, progress=progress)
    return Results(done.loss, done.gradients, done.parameters, done.output)
