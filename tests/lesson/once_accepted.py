"""Wrong functions that a check once took for right, because the cases were drawn and not chosen."""

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

from tests.lesson.wrong_answers import (
    among,
    arrays,
    delay,
    given_back,
    limits,
    until_it_fits,
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


def twice(sizes, writes, reads, kept):
    """A block that is read and written where it ends is given back by both."""
    last: dict[int, int] = {}
    for n, used in enumerate(zip(reads, writes, strict=True)):
        last |= dict.fromkeys([*used[0], *used[1]], n)
    return [
        sum(sizes[b] for b in [*reads[n], *writes[n]] if last[b] == n and b not in kept)
        for n in range(len(reads))
    ]


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


def cheapest_bytes(maps, forward, backward, link, room):
    """The least wait for each byte goes first."""
    ways = (forward, backward)
    return until_it_fits(maps, room, lambda n: delay(maps, ways, link, n) / maps[n])


def one_alone(peak, time, budget):
    """The fastest pair, or one technique alone but the first."""
    numbers = range(len(peak))
    places = [(i, j) for i in numbers for j in numbers[1:] if peak[i][j] is not None]
    fit = [(i, j) for i, j in places if peak[i][j] <= budget]
    return min(fit, key=lambda pair: time[pair[0]][pair[1]])


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
    "08.checkpoints": {"two_at_most": two_at_most, "removing": removing},
    "09.offloaded": {"cheapest_bytes": cheapest_bytes},
    "11.cheapest_pair": {"one_alone": one_alone},
}
