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

from memlab.lesson.kernel_threads import cuda

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

    return next(batch for batch in count() if not fits(batch + 1))  # 0 where none fits


def layer_by_layer(image, kernels, features):
    """Outputs and parameters as two lists, which are summed up at the end."""
    *_, rows, columns = image
    before, values, weights = image[0], [], []
    for count_ in kernels:
        values.append(count_ * rows * columns)
        rows, columns = math.floor(rows / 2), math.floor(columns / 2)
        values.append(count_ * rows * columns)
        weights += [25 * before * count_, count_]
        before = count_
    for inputs, outputs in pairwise([before * rows * columns, *features]):
        values.append(outputs)
        weights.append((inputs + 1) * outputs)
    return sum(values), sum(weights)


def by_divmod(image, lowered, k, pad):
    n, at = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x, []
    if n >= lowered.size:
        return
    for length in lowered.shape[::-1]:
        n, rest = divmod(n, length)
        at.append(rest)
    ox, oy, kx, ky, c = at
    lowered[c, ky, kx, oy, ox] = np.pad(image, pad)[c + pad, oy + ky, ox + kx]


def each_in_turn(image, lowered, k, pad):
    """As many values as there are, in steps of all threads."""
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad)))
    for n in range(cuda.grid(1), lowered.size, cuda.gridsize(1)):
        c, ky, kx, oy, ox = np.unravel_index(n, lowered.shape)
        lowered[c, ky, kx, oy, ox] = padded[c, oy + ky, ox + kx]


def arrays(features):
    for inputs, outputs in pairwise(features):
        yield from (inputs * outputs, outputs)


def uses(writes, reads):
    return [{*w, *r} for w, r in zip(writes, reads, strict=True)]


def gone(sizes, writes, reads, kept) -> Iterator[int]:
    """Maps that no later operation uses."""
    used = uses(writes, reads)
    for n, blocks in enumerate(used):
        later = set(kept).union(*used[n + 1 :])
        yield sum(sizes[block] for block in blocks - later)


def waiting(maps, kept):
    """Bytes that backward holds at each map that is not kept."""
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


def by_halves(maps, forward, backward, link, room):
    """With the first map on the device and without it, again and again."""

    def best(n, room):
        if n == len(maps):
            return 0, ()
        ways = (maps[n] / link - each[n] for each in (forward, backward))
        cost, gone = best(n + 1, room)
        options = [(cost + sum(max(0, way) for way in ways), (n, *gone))]
        return min([*options, best(n + 1, room - maps[n])] if maps[n] <= room else options)

    return best(0, room)[1]


def by_places(load, compute, places):
    """A table of places: until when each of them is taken."""
    taken, loader, busy = [0] * places, 0, 0
    for n, (one, other) in enumerate(zip(load, compute, strict=True)):
        loader = max(loader, taken[n % places]) + one
        busy = taken[n % places] = max(loader, busy) + other
        yield busy


def backwards(maps, kept):
    """As backward goes: what is on the device at each operation, from the last map to the first."""
    most, end = 0, len(maps)
    for front in [*kept[::-1], -1]:
        part = maps[front + 1 : end]
        again = maps[front] if front >= 0 and end < len(maps) else 0
        held = [sum(part[:n]) + again for n in range(len(part), 0, -1)]
        most = max([most, *held, maps[front] if front >= 0 else 0])
        end = front
    return most, sum(maps[n] for n in kept)


def by_time(peak, time, budget):
    """From the fastest pair to the slowest: the first that fits."""
    places = [(n // len(peak), n % len(peak)) for n in range(len(peak) ** 2)]
    there = [(time[i][j], i, j) for i, j in places if i != j and time[i][j] is not None]
    return next([i, j] for _, i, j in sorted(there) if peak[i][j] <= budget)


def with_names(images, batch):
    """A new array each time: the old one lives until its name has another."""
    means = []
    for first in range(0, len(images), batch):
        x = images[first : first + batch].astype(np.float32)
        x /= 255
        means.append(float(x.mean()))
    return means


def held_most(blocks, end):
    """By events: what comes and goes, in order."""
    events = sorted(
        event for block in blocks for event in ((block[1], 0, block[0]), (block[end], 1, -block[0]))
    )
    now = most = 0
    for *_, nbytes in events:
        now += nbytes
        most = max(most, now)
    return most


def by_halving(square, each, fixed):
    """The length is enclosed by powers of 2, then halved."""

    def more(n):
        return square * n * n > each * n + fixed

    high = next(2**power for power in count() if more(2**power))
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if more(middle) else (middle, high)
    return high


RIGHT: dict[str, Answers] = {
    "00.images_that_fit": {
        "power": lambda card, fixed, each: max((card * 1000**3 - fixed) // each, 0),
        "fraction": lambda card, fixed, each: int(Fraction(max(0, card * 10**9 - fixed), each)),
        "decimal": lambda card, fixed, each: max(
            0, (Decimal(card) * 10**9 - fixed) // Decimal(each)
        ),
    },
    "01.kept": {
        "floats": lambda batch, inputs, hidden, outputs: (
            4.0 * (batch * (inputs + hidden + 2 * outputs) + 1)
            + 4.0 * ((inputs + 1) * hidden + (hidden + 1) * outputs)
        ),
    },
    "01.my_step": {"one_by_one": mean_gradients},
    "02.largest_batch": {
        "floats": lambda memory, fixed, each: min(
            max(0, int((memory - a) / b)) if b else 0 if a > memory else math.inf
            for a, b in zip(fixed, each, strict=True)
        ),
        "one_by_one": one_by_one,
        "decimal": lambda memory, fixed, each: (
            min(Decimal(memory - a) // b for a, b in zip(fixed, each, strict=True) if b)
            if max(fixed) <= memory
            else 0
        ),
    },
    "02.counted": {"layer_by_layer": layer_by_layer},
    "02.four_parts": {
        "floats": lambda activations, parameters, inputs, batch, optimizer: (
            4.0 * batch * activations,
            4.0 * batch * activations,
            parameters * {"sgd": 8.0, "adam": 16.0}.get(optimizer, 12.0),
            np.float64(batch) * 4 * inputs,
        ),
    },
    "03.lowered_bytes": {
        "floats": lambda batch, channels, size, k, stride, pad: (
            4.0 * batch * channels * (k * rows(size, k, stride, pad)) ** 2
        ),
    },
    "04.lower": {"divmod": by_divmod, "each_in_turn": each_in_turn},
    "05.vectors": {
        "ceil": lambda width, bits, batch, **a: (
            math.ceil(batch * rows(**a) ** 2 * bits / width),
            -(batch * rows(**a) ** 2) % (width / bits),
        ),
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
    "08.checkpoints": {
        "table": by_table,
        "set": by_sets,
        "generator": lambda maps: iter(by_table(maps)),
        "array": lambda maps: np.array(by_table(maps), int),
    },
    "09.offloaded": {
        "by_halves": by_halves,
        "array": lambda **a: np.array(by_halves(**a), int),
    },
    "10.finished": {
        "places": by_places,
        "list": lambda **a: np.array(list(by_places(**a))),
    },
    "10.means": {"names": with_names},
    "11.composed": {"backwards": backwards, "array": lambda **a: np.array(backwards(**a))},
    "11.cheapest_pair": {
        "sorted": by_time,
        "set": lambda **a: set(by_time(**a)),
        "array": lambda **a: np.array(by_time(**a)[::-1], int),
    },
    "12.late": {
        "moments": lambda blocks: [held_most(blocks, 3), held_most(blocks, 2)],
        "array": lambda blocks: np.array([held_most(blocks, 3), held_most(blocks, 2)]),
    },
    "13.passes": {
        "halving": by_halving,
        "root": lambda square, each, fixed: (
            (each + math.isqrt(each * each + 4 * square * fixed)) // (2 * square) + 1
        ),
        "fraction": lambda square, each, fixed: next(
            n for n in count(1) if n > Fraction(each, square) + Fraction(fixed, square * n)
        ),
    },
    "13.cache_bytes": {
        "floats": lambda layers, features, heads, kv_heads, texts, tokens, nbytes: (
            2.0 * layers * features * (kv_heads / heads) * texts * tokens * nbytes
        ),
        "loops": lambda layers, features, heads, kv_heads, texts, tokens, nbytes: sum(
            kv_heads * (features // heads) * tokens * nbytes
            for _ in ("keys", "values")
            for _ in range(layers)
            for _ in range(texts)
        ),
        "fraction": lambda layers, features, heads, kv_heads, texts, tokens, nbytes: (
            Fraction(kv_heads, heads) * 2 * layers * features * texts * tokens * nbytes
        ),
    },
}
