"""Wrong functions that a check once took for right, because the cases were drawn and not chosen."""

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

from tests.lesson.wrong_answers import (
    among,
    arrays,
    fitting_start,
    given_back,
    limits,
    lowest,
    overlap,
    waiting,
)

Answers = dict[str, Callable[..., Any]]


def padded_outside(size, k, stride, pad):
    return (size - k) // stride + 1 + 2 * pad


def window(size, k, stride, pad):
    return (size + 2 * pad - k) // stride + 1


def nearly(columns, lanes):
    """Rounded up, but for a small rest."""
    vectors = int(columns / lanes + 0.9)
    return vectors, vectors * lanes - columns


def by_ends(starts, spans, size):
    at = 0
    for low, high in sorted(spans, key=lambda span: span[::-1]):
        if at + size <= low:
            break
        at = max(at, high)
    return at


def two_passes(starts, spans, size):
    at = 0
    for low, high in 2 * spans:
        if at < high and low < at + size:
            at = high
    return at


def twice(sizes, writes, reads, kept):
    """A block that is read and written where it ends is given back by both."""
    last: dict[int, int] = {}
    for n, used in enumerate(zip(reads, writes, strict=True)):
        last |= dict.fromkeys([*used[0], *used[1]], n)
    return [
        sum(sizes[b] for b in [*reads[n], *writes[n]] if last[b] == n and b not in kept)
        for n in range(len(reads))
    ]


def best_fit(starts, spans, size):
    """The end of the smallest gap that is large enough."""
    free = [s for s in starts if all(s + size <= a or b <= s for a, b in spans)]
    return min(free, key=lambda s: min((a - s for a, _ in spans if a >= s), default=10**9))


def read_else_first_write(writers, readers):
    return readers or writers[:1]


def hold(maps, kept):
    return max(waiting(maps, kept))


def removing(maps):
    """From all maps, one after the other is given up as long as that helps."""
    kept = list(among(maps))
    while kept:
        options = [[n for n in kept if n != out] for out in kept]
        best = min(options, key=lambda other: hold(maps, other))
        if hold(maps, best) >= hold(maps, kept):
            break
        kept = best
    return kept


def two_at_most(maps):
    options = [list(kept) for n in range(3) for kept in combinations(among(maps), n)]
    return min(options, key=lambda kept: hold(maps, kept))


ACCEPTED: dict[str, Answers] = {
    "02.largest_batch": {
        "strict": lambda memory, **a: min(limits(memory - 1, **a)),
        "at_least_1": lambda **a: max(1, min(limits(**a))),
        "some_room": lambda memory, fixed, each: min(
            (memory - a) // b for a, b in zip(fixed, each, strict=True) if b and a < memory
        ),
        "for_0_take_1": lambda memory, fixed, each: min(
            (memory - a) // max(b, 1) for a, b in zip(fixed, each, strict=True)
        ),
    },
    "03.lowered_bytes": {
        "padded_outside": lambda batch, channels, **a: (
            4 * batch * channels * (a["k"] * padded_outside(**a)) ** 2
        ),
    },
    "05.vectors": {
        "nearly": lambda width, bits, batch, **a: nearly(batch * window(**a) ** 2, width // bits),
    },
    "06.model_state": {
        "nearly": lambda features, block: sum(
            10 * n + 8 * int(n / block + 0.99) for n in arrays(features)
        ),
        "bias_alone": lambda features, block: sum(
            10 * (i + 1) * o + 8 * (-(-i * o // block) + 1) for i, o in pairwise(features)
        ),
    },
    "07.freed": {
        "twice": lambda **a: twice(**a),
        "read_else_first_write": lambda **a: given_back(**a, users=read_else_first_write),
    },
    "07.addresses": {
        "best_fit": lambda **a: lowest(**a, choose=best_fit),
        "by_ends": lambda **a: lowest(**a, choose=by_ends),
        "two_passes": lambda **a: lowest(**a, choose=two_passes),
        "first_found": lambda sizes, births, deaths: unsorted(sizes, births, deaths),
    },
    "08.alive": {
        "first_and_last_two": lambda maps, kept: max(
            [*waiting(maps, kept)[:1], *waiting(maps, kept)[-2:]]
        ),
        "nothing_kept": lambda maps, kept: max(waiting(maps, kept)) if kept else max(maps),
        "first_and_last": lambda maps, kept: max(waiting(maps, kept)[0], waiting(maps, kept)[-1]),
    },
    "08.checkpoints": {"two_at_most": two_at_most, "removing": removing},
}


def unsorted(sizes, births, deaths):
    """The first end that is found where there is room, and not the lowest."""
    found: list[int] = []
    for n, size in enumerate(sizes):
        lives = [k for k in range(n) if overlap(births[n], deaths[n], births[k], deaths[k])]
        spans = [(found[k], found[k] + sizes[k]) for k in lives]
        found.append(fitting_start([0, *(high for _, high in spans)], spans, size))
    return found
