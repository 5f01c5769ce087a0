"""The fastest choice of a board within a budget, of all that it offers.

For one combination of switches and parts, the windows of neighbouring blocks (``windows``) say the
peak and the seconds of every choice. So the blocks are gone through one after the other: of all
ways to get to a state of a block, those stay of which no other one keeps fewer bytes and takes less
time. What remains at the last block has the fastest choice within the budget, and nothing is left
out that could be faster.

No choice is faster than its formats and parts alone, since recompute and offload add operations
and waits: combinations that begin slower than the best choice so far are not read. Plan and clock
have the last word on the choice that is returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import inf
from typing import NamedTuple

from memlab import units
from memlab.errors import InputError
from memlab.measure.budget.board import BlockState, Board, Choice, RatedChoice, Switch
from memlab.measure.budget.windows import (
    PICO,
    BlockCost,
    Window,
    Windows,
    block_costs,
    windows_of,
)

CLOSE = 1e-9
"""Seconds by which the clock and the sum of windows may differ: picoseconds are rounded."""
Combination = tuple[frozenset[Switch], int]
"""Switches that are on, and parts of the batch."""


@dataclass(frozen=True)
class Optimum:
    """Fastest choice of a board that was found within a budget.

    ``bound`` are seconds that no choice undercuts; ``exact`` says that no choice is faster than
    this one.
    """

    rated: RatedChoice
    bound: float
    exact: bool


class Path(NamedTuple):
    """Way to two neighbouring blocks: bytes that the blocks before the first of them keep,
    picoseconds up to its end, the states of both (None behind the last block, and before the first
    one), and the way to the two before."""

    below: int
    picoseconds: int
    state: BlockState | None
    next: BlockState | None
    before: Path | None

    @property
    def states(self) -> tuple[BlockState, ...]:
        """States of all blocks up to the first of the two."""
        states: list[BlockState] = []
        path: Path | None = self
        while path is not None and path.state is not None:
            states.append(path.state)
            path = path.before
        return tuple(reversed(states))


class Search:
    """Search over all choices of a board; what it has read once serves every budget."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._windows: dict[Combination, Windows] = {}
        self._least: dict[Combination, float] = {}
        self._costs: dict[Combination, list[BlockCost]] = {}

    @cached_property
    def combinations(self) -> list[Combination]:
        """Switches and parts that the board offers, the ones with the least seconds first. In place
        is always on where it is offered: it changes no operation, so no time, and a block that two
        tensors share is never more than two."""
        level = self.board.level
        always, either = (True,), (True, False)
        offered = [always if switch is Switch.PLACE else either for switch in level.switches]
        combinations = [
            (frozenset(s for s, on in zip(level.switches, turned, strict=True) if on), parts)
            for turned, parts in product(product(*offered), level.parts)
        ]
        return sorted(combinations, key=self.least)

    def least(self, combination: Combination) -> float:
        """Return the seconds that no choice with these switches and parts undercuts: those of its
        formats and parts alone."""
        switches, parts = combination
        alone = switches & {Switch.HALF, Switch.EIGHT}, parts
        if alone not in self._least:
            choice = Choice(*alone, self.board.plain.states)
            self._least[alone] = self.board.rated(choice).seconds
        return self._least[alone]

    def block_costs(self, switches: frozenset[Switch], parts: int) -> list[BlockCost]:
        """Return the costs of every block beside these switches; they are read once."""
        if (switches, parts) not in self._costs:
            self._costs[switches, parts] = block_costs(self.board, switches, parts)
        return self._costs[switches, parts]

    def windows(self, combination: Combination) -> Windows:
        """Return the windows of one combination of switches and parts; they are read once."""
        if combination not in self._windows:
            self._windows[combination] = windows_of(self.board, *combination)
        return self._windows[combination]

    def within(self, budget: int) -> Optimum:
        """Return the fastest choice whose peak is at most ``budget`` bytes.

        Raises:
            InputError: no choice of the board fits.
        """
        room = budget
        while True:
            seconds, choice, bound = self._added_up(room, budget)
            rated = self.board.rated(choice)
            if rated.peak <= budget:
                break
            room -= rated.peak - budget  # windows that add up never come here
        agrees = room == budget and abs(rated.seconds - seconds) < CLOSE
        if not (agrees and all(windows.additive for windows in self._windows.values())):
            return Optimum(rated, self.floor, False)
        return Optimum(rated, min(bound, rated.seconds), bound == inf)

    def _added_up(self, room: int, budget: int) -> tuple[float, Choice, float]:
        """Return the fastest choice that windows say fits into ``room`` bytes: its seconds, the
        choice, and the least seconds of the combinations that were not read."""
        best: tuple[float, Choice] | None = None
        bound, reads = inf, self.board.level.reads or inf
        for number, combination in enumerate(self.combinations):
            least = self.least(combination)
            if best is not None and least >= best[0]:
                break
            if best is not None and number >= reads:
                bound = least
                break
            path = fastest(self.windows(combination), room)
            if path and (best is None or path.picoseconds / PICO < best[0]):
                best = path.picoseconds / PICO, Choice(*combination, path.states)
        if best is None:
            raise self._refusal(budget)
        return *best, bound

    @property
    def floor(self) -> float:
        """Seconds that no choice at all undercuts."""
        return self.least(self.combinations[0])

    def _refusal(self, budget: int) -> InputError:
        return InputError(
            f"no choice of this board fits into {units.exact(budget)}; the least that one takes is "
            f"{units.exact(self.smallest())}; try that budget."
        )

    def smallest(self, without: Switch | None = None) -> int:
        """Return the least bytes that a choice takes, of those that leave a switch off."""
        allowed = (one for one in self.combinations if without not in one[0])
        return min(least_peak(self.windows(combination)) for combination in allowed)

    def line(self, budgets: list[int]) -> list[tuple[int, float]]:
        """Return peak and seconds of the fastest choice within each of some budgets, those that no
        choice fits into left out, from the least bytes to the most."""
        points: dict[int, float] = {}
        for budget in budgets:
            reached = [(path, windows) for windows in self._windows.values()
                       if (path := fastest(windows, budget))]  # fmt: skip
            if reached:
                path, windows = min(reached, key=lambda pair: pair[0].picoseconds)
                points[windows.peak(path.states)] = path.picoseconds / PICO
        return sorted(points.items())


# -- the blocks one after the other ----------------------------------------------------------------


def fastest(windows: Windows, budget: float) -> Path | None:
    """Return the fastest choice of one combination within a budget, None where nothing fits; of
    equal ones the one that keeps the fewest bytes."""
    paths = [Path(0, 0, None, state, None) for state in windows.kept[0]]
    for number in range(len(windows.kept)):
        paths = [*_unbeaten(_steps(windows, number, paths, budget))]
    return min(paths, key=lambda path: (path.picoseconds, path.below), default=None)


def _steps(windows: Windows, number: int, paths: list[Path], budget: float) -> Iterator[Path]:
    """Yield the ways on through the window of a block that stay within the budget."""
    ahead: dict[tuple[BlockState | None, BlockState | None], list[tuple[BlockState | None, Window]]]
    ahead = {}
    for (before, state, behind), window in windows.by_triple[number].items():
        ahead.setdefault((before, state), []).append((behind, window))
    kept = windows.kept[number - 1] if number else {}
    for path in paths:
        below = path.below + (kept[path.state] if path.state is not None else 0)
        for behind, window in ahead[path.state, path.next]:
            if path.below + window.nbytes <= budget:
                seconds = path.picoseconds + window.picoseconds
                yield Path(below, seconds, path.next, behind, path)


def _unbeaten(paths: Iterator[Path]) -> Iterator[Path]:
    """Yield the ways to each two states of which no other keeps as few bytes in as little time."""
    least: dict[tuple[BlockState | None, BlockState | None], int] = {}
    for path in sorted(paths, key=lambda path: path[:2]):
        states = path.state, path.next
        if states not in least or path.picoseconds < least[states]:
            least[states] = path.picoseconds
            yield path


def least_peak(windows: Windows) -> int:
    """Return the least peak of one combination, by halving the budgets between which it lies."""
    count = len(windows.kept)
    low, high = 0, min(windows.peak((state,) * count) for state in windows.kept[0])
    while high - low > 1:
        middle = (low + high) // 2
        if fastest(windows, middle):
            high = middle
        else:
            low = middle
    return high
