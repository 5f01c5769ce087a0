"""Lesson 08, recompute: the choice of the maps to keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from math import isqrt
from random import Random
from typing import Any

from memlab.build.step import training_step
from memlab.errors import InputError, shorten
from memlab.ledger.plan import plan
from memlab.lesson import chains, returned_values
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.techniques.recompute import recompute

Kept = tuple[int, ...]
"""Numbers of maps from 0, rising."""
MOST = 9
"""The most maps: there are 256 choices then."""


@lru_cache(maxsize=4096)
def planned(maps: tuple[int, ...], kept: Kept) -> int:
    """The most bytes of maps in backward of a step that keeps these (E1, E5)."""
    step = training_step(chains.layers(maps), "sgd")
    names = [f"fc{number + 1}" for number in kept]
    return chains.held(plan(recompute(step, "keep", layers=names)))


def counted(maps: Sequence[int], kept: Sequence[int]) -> int:
    """The same by the lengths of the segments: quick, for comparing choices and for wrong ways."""
    stored = [maps[number] for number in kept]
    return max(sum(stored[:n]) + sum(part) for n, part in enumerate(segments(maps, kept)))


def segments(maps: Sequence[int], kept: Sequence[int]) -> list[Sequence[int]]:
    """The maps between those that are kept, from the first to the last."""
    ends = [-1, *kept, len(maps)]
    return [maps[one + 1 : two] for one, two in pairwise(ends)]


def choices(count: int) -> list[Kept]:
    """Everything that can be kept of so many maps; the last one is never dropped."""
    return [kept for n in range(count) for kept in combinations(range(count - 1), n)]


def _maps(chance: Random, size: int) -> list[int]:
    """At least 2, so that something can be kept."""
    return [chains.KB * chance.randint(1, 200) for _ in range(min(1 + size, MOST))]


# -- what to keep -------------------------------------------------------------------------------


def _draw_maps(chance: Random, size: int) -> Arguments:
    return {"maps": _maps(chance, size)}


def _with(kept: Callable[[list[int]], Sequence[int]]) -> Slip:
    """The bytes that another choice takes."""
    return lambda truth, a: counted(a["maps"], kept(a["maps"]))


def _every_root(maps: list[int]) -> Sequence[int]:
    k = (isqrt(4 * len(maps)) + 1) // 2
    return range(k - 1, len(maps) - 1, k)


def _single(order: Callable[..., int]) -> Slip:
    """One map alone is kept: the smallest, or the largest."""
    return _with(lambda maps: [order(range(len(maps) - 1), key=lambda n: maps[n])])


_CHOICE_SLIPS: dict[str, Slip] = {
    "nothing_saved": _with(lambda maps: []),
    "every_root": _with(_every_root),
    "middle": _with(lambda maps: [(len(maps) - 1) // 2]),
    "smallest": _single(min),
    "largest": _single(max),
    "one_alone": lambda truth, a: min(
        counted(a["maps"], [number]) for number in range(len(a["maps"]) - 1)
    ),
}


def _score(given: Any, a: Arguments) -> int:
    """The bytes of the step that keeps what was chosen.

    Raises:
        InputError: no choice among these maps.
    """
    last, numbers = len(a["maps"]) - 2, returned_values.read(given)
    chosen = set() if numbers is None else {*numbers.flat}
    if numbers is None or len(numbers.shape) != 1 or not chosen <= {*range(last + 1)}:
        allowed = f"a list of numbers from 0 to {last}, or []" if last else "[0] or []"
        raise InputError(f"Of {last + 2} maps a choice is {allowed}, got {shorten(given)}.")
    return planned(tuple(a["maps"]), tuple(sorted(map(int, chosen))))


def _best(maps: list[int], most: int = MOST) -> Kept:
    """The best choice of at most so many."""
    few = (kept for kept in choices(len(maps)) if len(kept) <= most)
    return min(few, key=lambda kept: counted(maps, kept))


def _by_steps(maps: list[int], start: Kept, change: Callable[[Kept, int], Kept]) -> Kept:
    """One change after the other, the best each time, as long as one helps."""
    kept = start
    while True:
        changed = [change(kept, number) for number in range(len(maps) - 1)]
        best = min(changed, key=lambda other: counted(maps, other), default=kept)
        if counted(maps, best) >= counted(maps, kept):
            return kept
        kept = best


def _added(kept: Kept, number: int) -> Kept:
    return tuple(sorted({*kept, number}))


def _removed(kept: Kept, number: int) -> Kept:
    return tuple(other for other in kept if other != number)


_CHOICE_TRAPS: dict[str, Slip] = {
    "two_at_most": _with(lambda maps: _best(maps, 2)),
    "three_at_most": _with(lambda maps: _best(maps, 3)),
    "adding": _with(lambda maps: _by_steps(maps, (), _added)),
    "removing": _with(lambda maps: _by_steps(maps, tuple(range(len(maps) - 1)), _removed)),
}


@task("08.checkpoints", _draw_maps, slips=_CHOICE_SLIPS, traps=_CHOICE_TRAPS, score=_score)
def checkpoints(maps: list[int]) -> int:
    """The bytes of the best of all choices, of a step that is planned."""
    return planned(tuple(maps), _best(maps))
