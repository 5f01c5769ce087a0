"""Seconds in which the board of the budget searches all its choices, and answers a press."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from memlab.measure.budget.board import BlockState, Board
from memlab.measure.budget.levels import level
from memlab.measure.budget.search import Search
from memlab.measure.timing import Result, interleave, line, machine

LEVELS = (1, 2)
"""Levels that are searched exactly."""
AIM, PRESS = 5.0, 0.15
"""Seconds of a processor: of a search from the start, and of one press."""


def run(repeats: int = 3) -> Result:
    """Time the search of the levels with an exact optimum, from a board without any plan, and the
    plan and clock of a choice with one more block made again."""
    searches = {f"level {number}: all choices": _searching(number) for number in LEVELS}
    presses = {f"level {number}: one block": _pressing(number) for number in LEVELS}
    times = interleave(searches, repeats, 0, process_time)
    lines = [line(name, seconds, AIM) for name, seconds in times.items()]
    times = interleave(presses, repeats, 1, process_time)
    lines += [line(name, seconds, PRESS) for name, seconds in times.items()]
    return Result("budget", machine(), tuple(lines))


def _searching(number: int) -> Callable[[int], object]:
    puzzle = level(number)
    return lambda _: Search(Board(puzzle)).within(puzzle.budget)


def _pressing(number: int) -> Callable[[int], object]:
    board = Board(level(number))
    start = board.read("half place")
    board.rated(start)
    return lambda turn: board.rated(start.with_block(turn, BlockState.AGAIN))
