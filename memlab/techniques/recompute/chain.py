"""A training step as a chain of stages, and what a schedule of it uses: bytes and time.

The costs of a stage are whole numbers of any one unit; its bytes are those of Beaumont et al. 2019
(arXiv 1911.13214), split by what happens to its input and by what a run is for, so that a schedule
takes what the step takes that follows from it, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np

from memlab.arrays import alive, column
from memlab.errors import InputError, whole_number

Schedule = tuple[int, ...]
"""``+i`` is the forward of stage i (from 1), ``-i`` its backward. The last forward of a stage keeps
what its backward reads; every other one keeps only its output."""


class StageRun(NamedTuple):
    """One way to run a stage: its cost, and the most bytes inside it, where its input stays, which
    is not counted, and where its input goes, which is."""

    cost: int
    staying: int
    going: int


@dataclass(frozen=True, slots=True)
class Ways:
    """Ways to run a stage of a chain, where nothing runs again that nobody reads.

    Its ``first`` forward, and one that ``keeps``; forwards that run ``again`` for the output alone,
    for what is kept too (``both``), or for what is kept alone (``ends``), which is a part of that;
    and the ``backward``. ``own`` and ``source``: whether the backward reads the output and the
    input of the stage. ``once``: bytes that the first forward leaves (statistics of a batch), and
    ``before``: those that are there before it (labels), both until the backward, whose bytes they
    are among.
    """

    first: StageRun
    keeps: StageRun
    again: StageRun
    both: StageRun
    ends: StageRun
    backward: StageRun
    own: bool = True
    source: bool = True
    once: int = 0
    before: int = 0

    def forward(self, again: bool, output: bool, kept: bool) -> StageRun:
        """Return the forward for a run that wants the output, the kept values, or both."""
        if not again:
            return self.keeps if kept else self.first
        return self.again if not kept else self.both if output else self.ends


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a chain: its cost and its bytes.

    ``forward`` and ``backward`` are costs. ``output``: bytes of its output. ``kept``: alive after a
    forward that keeps, output included, input not. ``gradient``: of the gradient of its output. The
    most bytes inside an operation: ``passing`` in a forward that keeps nothing and lets its input
    go, input and output included; ``staying`` in the same where the input stays, which is not
    counted; ``keeping`` in a forward that keeps, input not counted; ``reversing`` in its backward,
    with kept values, both gradients and ``left``, input not counted. ``left``: what its backward
    leaves until the end (gradients of parameters). Without ``ways`` every forward is like the
    first, and the backward reads the input and the output.

    Raises:
        InputError: a figure is no whole number of at least 0, or what is kept is less than the
            output.
    """

    forward: int
    backward: int
    output: int
    kept: int
    gradient: int
    passing: int
    staying: int
    keeping: int
    reversing: int
    left: int = 0
    ways: Ways | None = None

    def __post_init__(self) -> None:
        for field in fields(self)[:-1]:
            figure = whole_number(f"{field.name} of a stage", getattr(self, field.name), least=0)
            object.__setattr__(self, field.name, figure)
        if self.kept < self.output:
            raise InputError(
                f"kept of a stage includes its output of {self.output} bytes, got {self.kept}."
            )

    def told(self, above: int) -> Ways:
        """Return the ways to run the stage; ``above`` are the bytes of its input."""
        if self.ways is not None:
            return self.ways
        passes = StageRun(self.forward, self.staying, self.passing)
        keeps = StageRun(self.forward, self.keeping, self.keeping + above)
        backward = StageRun(self.backward, self.reversing, self.reversing + above)
        return Ways(passes, keeps, passes, keeps, keeps, backward)


@dataclass(frozen=True)
class Chain:
    """Stages, each of which reads the output of the one before. ``input``: the bytes that the first
    one reads, alive until it needs them no more; 0 where they are not counted. ``rest``: the most
    bytes inside an operation after the last backward.

    Raises:
        InputError: no stage, or no whole number of bytes.
    """

    stages: tuple[Stage, ...]
    input: int = 0
    rest: int = 0

    def __post_init__(self) -> None:
        for name in ("input", "rest"):
            figure = whole_number(f"{name} of a chain", getattr(self, name), least=0)
            object.__setattr__(self, name, figure)
        if not self.stages:
            raise InputError("a chain has at least 1 stage, got none.")

    def __len__(self) -> int:
        return len(self.stages)

    def above(self, number: int) -> int:
        """Return the bytes of the input of a stage, counted from 0."""
        return self.stages[number - 1].output if number else self.input

    def beside(self, number: int) -> int:
        """Return the bytes that a stage, counted from 0, keeps beside its output."""
        return self.stages[number].kept - self.stages[number].output

    def bare(self, number: int) -> bool:
        """Return whether the backward of a stage, counted from 0, reads nothing of its forward."""
        return not (self.ways[number].own or self.ways[number].source or self.beside(number))

    @cached_property
    def ways(self) -> tuple[Ways, ...]:
        """For every stage of the chain, the ways in which it can run forward."""
        return tuple(stage.told(self.above(n)) for n, stage in enumerate(self.stages))


@dataclass(frozen=True, slots=True)
class Usage:
    """The most bytes alive inside an operation, and the sum of the costs."""

    peak: int
    cost: int


def simulate(chain: Chain, schedule: Sequence[int]) -> Usage:
    """Walk through a schedule, every value alive from its making to its last use before it is made
    again; a forward that runs again for nobody is left out.

    Raises:
        InputError: the schedule runs a stage that there is not, reads what is not made yet, or
            does not run every backward once, from the last to the first.
    """
    _check(schedule, len(chain))
    uses = _uses(chain, schedule)
    blocks = [*_throughout(chain, schedule), *_passing(chain, schedule, uses)]
    sizes, births, deaths = zip(*blocks, strict=True)
    line = alive(column(sizes), np.array(births), np.array(deaths), len(schedule))
    return Usage(max(int(line.max()), chain.rest), sum(use.run.cost for use in uses if use))


class _Use(NamedTuple):
    """Stage that an entry of a schedule runs, and whether its input goes; and the last readers of
    its output and of what it keeps."""

    run: StageRun
    closes: bool
    output: int = 0
    kept: int = 0


def _uses(chain: Chain, schedule: Sequence[int]) -> list[_Use | None]:
    """Return for each entry of a schedule its use; None where nobody uses it."""
    slots_used: list[_Use | None] = []
    read, kept = dict[int, int](), dict[int, int]()  # stage -> where its newest values are read
    first = {run: at for at, run in reversed([*enumerate(schedule)])}
    for at, run in reversed([*enumerate(schedule)]):
        number, again = abs(run), run > 0 and first[run] < at
        output, values = (read.pop(run, 0), kept.pop(run, 0)) if run > 0 else (0, 0)
        if again and not (output or values):
            slots_used.append(None)
            continue
        ways = chain.ways[number - 1]
        if run < 0 and ways.own:
            read[number] = at
        if run < 0 and (ways.own or chain.beside(number - 1)):
            kept[number] = at
        way = ways.backward if run < 0 else ways.forward(again, output > 0, values > 0)
        reads = run > 0 or ways.source
        slots_used.append(_Use(way, reads and number - 1 not in read, output, values))
        if reads:
            read.setdefault(number - 1, at)
    return slots_used[::-1]


Block = tuple[int, int, int]
"""Bytes, and the first and the last entry of a schedule beside which they are."""


def _throughout(chain: Chain, schedule: Sequence[int]) -> Iterator[Block]:
    """Bytes that are there once for every stage: until its backward, between two, and after it."""
    turn = {run: at for at, run in reversed([*enumerate(schedule)])}
    for number, (stage, ways) in enumerate(zip(chain.stages, chain.ways, strict=True), 1):
        yield ways.before, 0, turn[-number] - 1
        yield ways.once, turn[number] + 1, turn[-number] - 1
        yield stage.left, turn[-number] + 1, len(schedule)
        if number < len(chain):
            yield stage.gradient, turn[-number - 1] + 1, turn[-number] - 1


def _passing(chain: Chain, schedule: Sequence[int], uses: Sequence[_Use | None]) -> Iterator[Block]:
    """Bytes each run allocates, charged to the last run that reads them."""
    for at, (run, use) in enumerate(zip(schedule, uses, strict=True)):
        if use is None:
            continue
        yield use.run.going if use.closes else use.run.staying, at, at
        if use.closes and abs(run) == 1:
            yield chain.input, 0, at - 1
        if run > 0:
            yield chain.stages[run - 1].output, at + 1, max(use.output - 1, at)
            yield chain.beside(run - 1), at + 1, max(use.kept - 1, at)


def _check(schedule: Sequence[int], stages: int) -> None:
    reached, due = {0}, stages  # the backward that comes next
    for run in schedule:
        number = abs(whole_number("an entry of a schedule", run, least=-stages))
        if not 1 <= number <= stages:
            raise InputError(f"stages go from 1 to {stages}, got {run} in a schedule.")
        if number > due or (run < 0 and number < due):
            raise InputError(
                f"stage {number} cannot run {'back' if run < 0 else 'for'}ward where "
                f"{f'the backward of stage {due} is next' if due else 'all backwards are done'}."
            )
        missing = {number - 1, number if run < 0 else 0} - reached
        if missing:
            raise InputError(f"{run:+d} reads what stage {max(missing)} has not made yet.")
        reached.add(number)
        due -= run < 0
    if due:
        raise InputError(f"a schedule runs every backward, but that of stage {due} is missing.")
