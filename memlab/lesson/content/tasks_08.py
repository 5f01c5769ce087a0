"""Lesson 08, recompute: the maps that backward finds, and the choice of those to keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from math import isqrt
from random import Random
from typing import Any

from memlab.errors import InputError, shorten
from memlab.lesson import chains
from memlab.lesson.task import Arguments, Slip, task
from memlab.planner.book import plan
from memlab.step.build import training_step
from memlab.techniques.recompute import recompute

Kept = tuple[int, ...]
"""Numbers of maps from 0, rising."""
MOST = 7
"""The most maps: there are 64 choices then, and each is planned."""


@lru_cache(maxsize=4096)
def bytes_held(maps: tuple[int, ...], kept: Kept) -> int:
    """The most bytes of maps in backward of a step that keeps these, planned (E1, E5)."""
    step = training_step(chains.convolutions(maps), "sgd")
    return chains.held(plan(recompute(step, "keep", layers=[f"conv{n + 1}" for n in kept])))


def choices(count: int) -> list[Kept]:
    """Everything that can be kept of so many maps; the last one is never dropped."""
    return [kept for n in range(count) for kept in combinations(range(count - 1), n)]


def _maps(chance: Random, count: int) -> list[int]:
    return [chains.CHANNEL * chance.randint(1, 200) for _ in range(count)]


# -- what is alive ------------------------------------------------------------------------------


def _draw_kept(chance: Random, size: int) -> Arguments:
    """In the larger cases at least 2 maps are kept, and some are dropped behind the last one."""
    count = min(2 + size, MOST)
    found = choices(count)
    if count > 4:
        found = [kept for kept in found if 2 <= len(kept) <= count - 3]
    return {"maps": _maps(chance, count), "kept": list(chance.choice(found))}


def _segments(a: Arguments) -> list[list[int]]:
    """The maps between those that are kept, from the first to the last."""
    ends = [-1, *a["kept"], len(a["maps"])]
    return [a["maps"][one + 1 : two] for one, two in zip(ends, ends[1:], strict=False)]


def _stored(a: Arguments) -> list[int]:
    return [a["maps"][n] for n in a["kept"]]


_MOST_SLIPS: dict[str, Slip] = {
    "all_maps": lambda truth, a: sum(a["maps"]),
    "kept_alone": lambda truth, a: sum(_stored(a)),
    "segment_alone": lambda truth, a: max(map(sum, _segments(a))),
    "all_kept": lambda truth, a: sum(_stored(a)) + max(map(sum, _segments(a))),
    "one_before": lambda truth, a: max(
        before + sum(between)
        for before, between in zip([0, *_stored(a)], _segments(a), strict=True)
    ),
    "only_last": lambda truth, a: sum(_stored(a)) + sum(_segments(a)[-1]),
    "no_last": lambda truth, a: max(
        [sum(_stored(a)[:n]) + sum(between) for n, between in enumerate(_segments(a)[:-1])],
        default=0,
    ),
    "in_all": lambda truth, a: sum(
        sum(_stored(a)[:n]) + sum(between) for n, between in enumerate(_segments(a))
    ),
}


@task("08.alive", _draw_kept, slips=_MOST_SLIPS)
def alive(maps: list[int], kept: list[int]) -> int:
    """The most bytes of maps that backward holds, of a step that is planned."""
    return bytes_held(tuple(maps), tuple(kept))


# -- what to keep -------------------------------------------------------------------------------


def _draw_maps(chance: Random, size: int) -> Arguments:
    """In the larger cases the best choice keeps 2 maps or more, and no simple rule finds it."""
    count = min(2 + size // 2, MOST)
    while True:
        found: Arguments = {"maps": _maps(chance, count)}
        truth = best(**found)
        if count < MOST or truth not in (slip(truth, found) for slip in _BEST_SLIPS.values()):
            return found


def _with(kept: Callable[[list[int]], Sequence[int]]) -> Slip:
    """The bytes that another choice takes."""
    return lambda truth, a: bytes_held(tuple(a["maps"]), tuple(sorted(kept(a["maps"]))))


def _every_root(maps: list[int]) -> Sequence[int]:
    k = (isqrt(4 * len(maps)) + 1) // 2
    return range(k - 1, len(maps) - 1, k)


def _single(order: Callable[..., int]) -> Slip:
    """One map alone is kept: the smallest, or the largest."""
    return _with(lambda maps: [order(range(len(maps) - 1), key=lambda n: maps[n])])


_BEST_SLIPS: dict[str, Slip] = {
    "nothing_saved": _with(lambda maps: []),
    "every_root": _with(_every_root),
    "middle": _with(lambda maps: [(len(maps) - 1) // 2]),
    "smallest": _single(min),
    "largest": _single(max),
    "one_alone": lambda truth, a: min(
        bytes_held(tuple(a["maps"]), (n,)) for n in range(len(a["maps"]) - 1)
    ),
}


def _score(given: Any, a: Arguments) -> int:
    """The bytes of the step that keeps what was chosen.

    Raises:
        InputError: no choice among these maps.
    """
    last = len(a["maps"]) - 2
    if not isinstance(given, list | tuple) or not {*given} <= {*range(last + 1)}:
        raise InputError(
            f"A choice is a list of numbers from 0 to {last}, or empty, got {shorten(given)}."
        )
    return bytes_held(tuple(a["maps"]), tuple(sorted({*given})))


@task("08.checkpoints", _draw_maps, slips=_BEST_SLIPS, score=_score)
def checkpoints(maps: list[int]) -> int:
    """The least bytes of all choices: each is planned."""
    return best(maps)


def best(maps: list[int]) -> int:
    return min(bytes_held(tuple(maps), kept) for kept in choices(len(maps)))
