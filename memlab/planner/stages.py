"""A training step as a chain of stages, and what a schedule of it uses: bytes and time.

The costs of a stage are whole numbers of any one unit; its bytes are those of Beaumont et al. 2019
(arXiv 1911.13214), split by what happens to its input, so that a plan is exact to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from memlab.errors import InputError, whole

Schedule = tuple[int, ...]
"""``+i`` is the forward of stage i (from 1), ``-i`` its backward. The last forward of a stage keeps
what its backward reads; every other one keeps only its output."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: what it costs and how many bytes it takes.

    ``forward`` and ``backward`` are costs. ``output``: bytes of its output. ``kept``: alive after
    a forward that keeps, output included, input not. ``gradient``: of the gradient of its output.
    The most bytes inside an operation: ``passing`` in a forward that keeps nothing and lets its
    input go, input and output included; ``staying`` in the same where the input stays, which is
    not counted; ``keeping`` in a forward that keeps, input not counted; ``reversing`` in its
    backward, with kept values, both gradients and ``left``, input not counted. ``left``: what its
    backward leaves until the end (gradients of parameters).

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

    def __post_init__(self) -> None:
        for field in fields(self):
            figure = whole(f"{field.name} of a stage", getattr(self, field.name), least=0)
            object.__setattr__(self, field.name, figure)
        if self.kept < self.output:
            raise InputError(
                f"kept of a stage includes its output of {self.output} bytes, got {self.kept}."
            )


@dataclass(frozen=True)
class Chain:
    """Stages, each of which reads the output of the one before. ``input``: the bytes that the first
    one reads, alive to the end; 0 where they are not counted.

    Raises:
        InputError: no stage, or no whole number of bytes.
    """

    stages: tuple[Stage, ...]
    input: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "input", whole("input of a chain", self.input, least=0))
        if not self.stages:
            raise InputError("a chain has at least 1 stage, got none.")

    def __len__(self) -> int:
        return len(self.stages)


@dataclass(frozen=True, slots=True)
class Usage:
    """The most bytes alive inside an operation, and the sum of the costs."""

    peak: int
    cost: int


def simulate(chain: Chain, schedule: Sequence[int]) -> Usage:
    """Walk through a schedule, every value alive from its making to its last use before it is made
    again.

    Raises:
        InputError: the schedule runs a stage that there is not, reads what is not made yet, or
            does not run every backward once, from the last to the first.
    """
    _check(schedule, len(chain))
    ends = _last_uses(schedule)
    held = {0: (chain.input, len(schedule))}  # stage -> bytes of its values, and their last use
    live, peak, cost = chain.input, 0, 0
    for at, run in enumerate(schedule):
        number = abs(run)
        stage = chain.stages[number - 1]
        above, until = held[number - 1]
        if run < 0:
            incoming = 0 if number == len(chain) else stage.gradient
            outgoing = 0 if number == 1 else chain.stages[number - 2].gradient
            live -= held.pop(number)[0] + incoming
            peak = max(peak, live + stage.reversing)
            live += outgoing + stage.left
            cost += stage.backward
        else:
            keeps = schedule[ends[at]] == -number
            if keeps or until > at:
                inside = live + (stage.keeping if keeps else stage.staying)
            else:
                inside = live - above + stage.passing
            peak = max(peak, inside)
            if ends[at] > at:
                held[number] = (stage.kept if keeps else stage.output, ends[at])
                live += held[number][0]
            cost += stage.forward
        if until == at:
            live -= held.pop(number - 1)[0]
    return Usage(peak, cost)


def _last_uses(schedule: Sequence[int]) -> list[int]:
    """For each entry, where what it makes is read last before it is made again; itself if never."""
    ends = list(range(len(schedule)))
    read: dict[int, int] = {}
    for at in reversed(ends):
        run = schedule[at]
        if run > 0:
            ends[at] = read.pop(run, at)
        else:
            read.setdefault(-run, at)
        read.setdefault(abs(run) - 1, at)
    return ends


def _check(schedule: Sequence[int], stages: int) -> None:
    made, due = {0}, stages  # the backward that comes next
    for run in schedule:
        number = abs(whole("an entry of a schedule", run, least=-stages))
        if not 1 <= number <= stages:
            raise InputError(f"stages go from 1 to {stages}, got {run} in a schedule.")
        if number > due or (run < 0 and number < due):
            raise InputError(
                f"stage {number} cannot run {'back' if run < 0 else 'for'}ward where "
                f"{f'the backward of stage {due} is next' if due else 'all backwards are done'}."
            )
        missing = {number - 1, number if run < 0 else 0} - made
        if missing:
            raise InputError(f"{run:+d} reads what stage {max(missing)} has not made yet.")
        made.add(number)
        due -= run < 0
    if due:
        raise InputError(f"a schedule runs every backward, but that of stage {due} is missing.")
