"""Right functions, in other ways than that of the solution: with floats, fractions, NumPy, loops,
and with answers that are generators, sets or decimals."""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations, count, pairwise
from typing import Any

import numpy as np

Answers = dict[str, Callable[..., Any]]


def mean_gradients(x, t, w1, w2):
    """One sample after the other, without an array."""
    first = second = 0.0
    for one, wanted in zip(x.tolist(), t.tolist(), strict=True):
        y = math.tanh(w1 * one + w2)
        g = 2 * (y - wanted) * (1 - y * y)
        first, second = first + g * one, second + g
    return np.array([first, second]) / len(x)


def rows(size, k, stride, pad):
    return math.floor((size + 2 * pad - k) / stride) + 1


def one_by_one(memory, fixed, each):
    def fits(batch):
        return all(a + b * batch <= memory for a, b in zip(fixed, each, strict=True))

    return next(batch for batch in count() if not fits(batch + 1))


def copies(layers):
    for channels, size, k, stride, pad in layers:
        if k > 1 or stride > 1 or pad:
            yield 4 * channels * (k * rows(size, k, stride, pad)) ** 2


def by_divmod(n, k, rows, columns):
    found = []
    for length in (columns, rows, k, k):
        n, rest = divmod(n, length)
        found.append(rest)
    return [n, *found[::-1]]


def smallest(fits: Callable[[int, int, int], bool]) -> Callable[..., int]:
    """The first batch at which each layer fits, by its columns, all lanes and the percentage."""

    def found(lanes, percent, places):
        for batch in count(1):
            columns = [batch * each for each in places]
            if all(fits(n, -(-n // lanes) * lanes, percent) for n in columns):
                return batch
        return None

    return found


def arrays(features):
    for inputs, outputs in pairwise(features):
        yield from (inputs * outputs, outputs)


def uses(writes, reads):
    return [{*w, *r} for w, r in zip(writes, reads, strict=True)]


def gone(sizes, writes, reads, kept) -> Iterator[int]:
    """What no later operation uses."""
    used = uses(writes, reads)
    for n, blocks in enumerate(used):
        later = set(kept).union(*used[n + 1 :])
        yield sum(sizes[block] for block in blocks - later)


def alive_inside(sizes, writes, reads, kept):
    used, n = uses(writes, reads), len(reads)
    first = [min(i for i in range(n) if b in used[i]) for b in range(len(sizes))]
    last = [n if b in kept else max(i for i in range(n) if b in used[i]) for b in range(len(sizes))]
    return [
        sum(size for size, a, z in zip(sizes, first, last, strict=True) if a <= i <= z)
        for i in range(n)
    ]


def byte_by_byte(sizes, births, deaths):
    """Every address is tried, from 0 on."""
    taken = np.zeros((max(deaths) + 1, 2 * sum(sizes)), bool)
    found = []
    for size, birth, death in zip(sizes, births, deaths, strict=True):
        life = taken[birth : death + 1]
        at = next(at for at in count() if not life[:, at : at + size].any())
        life[:, at : at + size] = True
        found.append(at)
    return np.array(found)


def waiting(maps, kept):
    """What backward holds at each map that is not kept."""
    marks = [-1, *kept, len(maps)]
    for n, (start, end) in enumerate(pairwise(marks)):
        yield sum(maps[place] for place in kept[:n]) + sum(maps[start + 1 : end])


def by_table(maps):
    """The best choice without trying all: from the last segment back."""

    @cache
    def best(start, held):
        options = [(held + sum(maps[start:]), ())]
        for place in range(start, len(maps) - 1):
            peak, kept = best(place + 1, held + maps[place])
            options.append((max(held + sum(maps[start:place]), peak), (place, *kept)))
        return min(options)

    return best(0, 0)[1]


def by_sets(maps):
    places = range(len(maps) - 1)
    tried = (set(kept) for n in range(len(maps)) for kept in combinations(places, n))
    return min(tried, key=lambda kept: max(waiting(maps, sorted(kept))))


RIGHT: dict[str, Answers] = {
    "00.mebibytes": {
        "twice": lambda nbytes: nbytes / 1024 / 1024,
        "fraction": lambda nbytes: Fraction(nbytes, 2**20),
        "decimal": lambda nbytes: Decimal(nbytes) / 2**20,
    },
    "01.kept": {
        "floats": lambda batch, inputs, hidden, outputs: (
            4.0 * (batch * (inputs + hidden + 2 * outputs) + 1)
            + 4.0 * ((inputs + 1) * hidden + (hidden + 1) * outputs)
        ),
    },
    "01.my_step": {"one_by_one": mean_gradients},
    "02.output_bytes": {
        "floats": lambda batch, channels, size, kernels, k, stride, pad: (
            4 * batch * kernels * rows(size, k, stride, pad) ** 2
        ),
        "decimal": lambda batch, channels, size, kernels, k, stride, pad: Decimal(
            4 * batch * kernels * len(range(0, size + 2 * pad - k + 1, stride)) ** 2
        ),
    },
    "02.largest_batch": {
        "floats": lambda memory, fixed, each: min(
            int((memory - a) / b) for a, b in zip(fixed, each, strict=True) if b > 0
        ),
        "one_by_one": one_by_one,
        "decimal": lambda memory, fixed, each: min(
            Decimal(memory - a) // b for a, b in zip(fixed, each, strict=True) if b
        ),
    },
    "03.lowered_bytes": {
        "floats": lambda batch, channels, size, k, stride, pad: (
            4.0 * batch * channels * (k * rows(size, k, stride, pad)) ** 2
        ),
    },
    "03.images_together": {
        "floats": lambda limit, layers: math.floor(limit / max(copies(layers))),
        "one_by_one": lambda limit, layers: next(
            n for n in count() if (n + 1) * max(copies(layers)) > limit
        ),
    },
    "04.place": {
        "numpy": lambda n, k, rows, columns: np.unravel_index(n, (10**6, k, k, rows, columns)),
        "divmod": by_divmod,
        "generator": lambda n, k, rows, columns: iter(by_divmod(n, k, rows, columns)),
    },
    "04.moved": {
        "numpy": lambda addresses: 32 * np.unique(np.array(addresses) // 32).size,
        "dict": lambda addresses: 32 * len({a - a % 32: a for a in addresses}),
    },
    "05.vectors": {
        "ceil": lambda width, bits, batch, **a: (
            math.ceil(batch * rows(**a) ** 2 * bits / width),
            -(batch * rows(**a) ** 2) % (width / bits),
        ),
    },
    "05.smallest_batch": {
        "share": smallest(lambda n, room, percent: (room - n) / room <= percent / 100),
        "percent": smallest(lambda n, room, percent: (room - n) / room * 100 <= percent),
        "used": smallest(lambda n, room, percent: 1 - n / room <= percent / 100),
        "at_least": smallest(lambda n, room, percent: n / room >= 1 - percent / 100),
        "per_cent": smallest(lambda n, room, percent: 100 - 100 * n / room <= percent),
        "exact": smallest(lambda n, room, percent: Fraction(room - n, room) * 100 <= percent),
    },
    "06.mask_bytes": {
        "ceil": lambda batch, channels, size: batch * math.ceil(channels * size**2 / 8),
        "filled": lambda batch, channels, size: batch * ((channels * size * size + 7) // 8),
    },
    "06.model_state": {
        "ceil": lambda features, block: sum(
            10 * n + 8 * math.ceil(n / block) for n in arrays(features)
        ),
        "decimal": lambda features, block: sum(
            Decimal(10 * n + 8 * len(range(0, n, block))) for n in arrays(features)
        ),
    },
    "07.freed": {
        "generator": gone,
        "list": lambda **a: list(gone(**a)),
        "dict": lambda **a: dict(enumerate(gone(**a))).values(),
    },
    "07.peak": {"lives": lambda **a: max(alive_inside(**a))},
    "07.addresses": {
        "bytes": byte_by_byte,
        "floats": lambda **a: byte_by_byte(**a) * 1.0,
    },
    "08.alive": {"generator": lambda maps, kept: max(waiting(maps, kept))},
    "08.checkpoints": {
        "table": by_table,
        "set": by_sets,
        "generator": lambda maps: iter(by_table(maps)),
        "array": lambda maps: np.array(by_table(maps), int),
    },
}
