"""Legal arguments of every exercise, drawn apart from what its check draws: wider, and smaller.

Two functions that agree on thousands of them are taken for the same.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from memlab.lesson.content import lesson_09

Arguments = dict[str, Any]


def window(chance: Random) -> Arguments:
    """A window that fits, with any stride and any padding."""
    while True:
        size, k, pad = chance.randint(1, 20), chance.randint(1, 7), chance.randint(0, 3)
        if size + 2 * pad >= k:
            return {"size": size, "k": k, "stride": chance.randint(1, 4), "pad": pad}


def few(chance: Random, *names: str) -> Arguments:
    return {name: chance.randint(1, 9) for name in names}


def budget(chance: Random) -> Arguments:
    fixed = [chance.randint(0, 60) for _ in range(chance.randint(1, 6))]
    each = [chance.choice((0, 1, 2, 3, chance.randint(1, 30))) for _ in fixed]
    each[chance.randrange(len(each))] = chance.randint(1, 9)
    memory = max(0, max(fixed) + chance.randint(-20, 80))
    return {"memory": memory, "fixed": fixed, "each": each}


def small(chance: Random) -> Arguments:
    """A network whose maps can be pooled as often as it has convolutions."""
    kernels = [chance.randint(1, 9) for _ in range(chance.randint(1, 4))]
    least = 2 ** len(kernels)
    image = [chance.randint(1, 9), *(chance.randint(least, least + 20) for _ in range(2))]
    features = [chance.randint(1, 20) for _ in range(chance.randint(1, 4))]
    return {"image": image, "kernels": kernels, "features": features}


def parts(chance: Random) -> Arguments:
    optimizers = ("sgd", "momentum", "adagrad", "rmsprop", "adam")
    names = ("activations", "parameters", "inputs")
    counts = {name: chance.randint(1, 10**6) for name in names}
    return {**counts, **few(chance, "batch"), "optimizer": chance.choice(optimizers)}


def pointwise(chance: Random) -> tuple[int, ...]:
    return chance.randint(1, 60), chance.randint(1, 20), 1, chance.randint(1, 3), 0


def columns(chance: Random) -> Arguments:
    vector = {"width": chance.choice((128, 256, 512)), "bits": chance.choice((16, 32, 64))}
    return {**vector, **few(chance, "batch"), **window(chance)}


def image(chance: Random) -> Arguments:
    """Any image with any padding, and its matrix, which is not written yet."""
    k, pad = chance.randint(1, 3), chance.randint(0, 2)
    channels, high, wide = chance.randint(1, 3), chance.randint(k, k + 3), chance.randint(k, k + 3)
    values = np.random.default_rng(chance.randrange(2**32)).uniform(1, 2, (channels, high, wide))
    shape = (channels, k, k, high + 2 * pad - k + 1, wide + 2 * pad - k + 1)
    return {
        "image": values.astype(np.float32),
        "lowered": np.full(shape, np.nan, np.float32),
        "k": k,
        "pad": pad,
    }


def step(chance: Random) -> Arguments:
    """Operations that read and write blocks at random, after their birth."""
    operations = range(chance.randint(1, 7))
    births = [chance.choice(operations) for _ in range(chance.randint(1, 6))]

    def numbers(n: int, share: float) -> list[int]:
        return [b for b, birth in enumerate(births) if birth < n and chance.random() < share]

    born = [[b for b, birth in enumerate(births) if birth == n] for n in operations]
    return {
        "sizes": [chance.randint(1, 50) for _ in births],
        "writes": [[*born[n], *numbers(n, 0.15)] for n in operations],
        "reads": [numbers(n, 0.25) for n in operations],
        "kept": [b for b in range(len(births)) if chance.random() < 0.3],
    }


def blocks(chance: Random) -> Arguments:
    births = [chance.randint(0, 8) for _ in range(chance.randint(1, 16))]
    sizes = [chance.randint(1, 6) for _ in births]
    deaths = [birth + chance.randint(0, 4) for birth in births]
    return {"sizes": sizes, "births": births, "deaths": deaths}


def maps(chance: Random) -> Arguments:
    return {"maps": [1000 * chance.randint(1, 200) for _ in range(chance.randint(2, 7))]}


def samples(chance: Random) -> Arguments:
    draw = np.random.default_rng(chance.randrange(2**32))
    x, t = draw.uniform(-2, 2, (2, chance.randint(2, 50)))
    return {"x": x, "t": t, "w1": chance.uniform(-1, 1), "w2": chance.uniform(-1, 1)}


def durations(chance: Random) -> Arguments:
    count = chance.randint(1, 20)
    load, compute = ([chance.randint(1, 50) for _ in range(count)] for _ in range(2))
    return {"load": load, "compute": compute, "places": chance.randint(1, 6)}


def pictures(chance: Random) -> Arguments:
    shape = (chance.randint(1, 12), *(chance.randint(1, 4) for _ in range(3)))
    draw = np.random.default_rng(chance.randrange(2**32))
    images = draw.integers(0, 256, shape, np.uint8)
    return {"images": images, "batch": chance.randint(1, len(images))}


def lives(chance: Random) -> Arguments:
    blocks = []
    for _ in range(chance.randint(1, 20)):
        born, last, freed = sorted(chance.randint(0, 20) for _ in range(3))
        blocks.append((chance.randint(1, 1000), born, last, freed))
    return {"blocks": blocks}


def composed(chance: Random) -> Arguments:
    feature_maps = maps(chance)["maps"]
    places = range(len(feature_maps) - 1)
    return {
        "maps": feature_maps,
        "kept": sorted(chance.sample(places, chance.randint(0, len(places)))),
    }


def pairs(chance: Random) -> Arguments:
    """Tables of pairs, some of which are refused; at least one of them fits."""
    count, numbers = chance.randint(2, 6), (chance.randint(1, 20), chance.randint(1, 20))
    tables: dict[str, list[list[int | None]]] = {}
    refused = {frozenset(chance.sample(range(count), 2)) for _ in range(chance.randrange(count))}
    refused.discard(frozenset({0, 1}))
    for name, most in zip(("peak", "time"), numbers, strict=True):
        cells = {
            frozenset({i, j}): chance.randint(1, 10 * most)
            for i in range(count)
            for j in range(count)
        }
        tables[name] = [
            [None if {i, j} in refused else cells[frozenset({i, j})] for j in range(count)]
            for i in range(count)
        ]
    least = tables["peak"][0][1]
    assert least is not None
    return {**tables, "budget": least + chance.choice((0, 0, chance.randint(0, 100)))}


def growth(chance: Random) -> Arguments:
    """Any growth; in half of the cases both sides are equal at some length."""
    square, length = chance.randint(1, 50), chance.randint(1, 300)
    each, fixed = chance.randint(0, 200 * square), chance.randint(0, 40_000 * square)
    equal = length * (square * length - each)
    return {
        "square": square,
        "each": each,
        "fixed": equal if equal >= 0 and chance.random() < 0.5 else fixed,
    }


def language_model(chance: Random) -> Arguments:
    kv_heads, group, head_size = (chance.randint(1, 12) for _ in range(3))
    return {
        **few(chance, "layers", "texts", "tokens"),
        "features": kv_heads * group * head_size,
        "heads": kv_heads * group,
        "kv_heads": kv_heads,
        "nbytes": chance.choice((1, 2, 4)),
    }


ANY: dict[str, Callable[[Random], Arguments]] = {
    "00.images_that_fit": lambda chance: {
        "card": chance.randint(1, 200),
        "fixed": chance.randint(0, 10 ** chance.randint(1, 12)),
        "each": chance.randint(1, 10 ** chance.randint(1, 10)),
    },
    "01.kept": lambda chance: few(chance, "batch", "inputs", "hidden", "outputs"),
    "01.my_step": samples,
    "02.largest_batch": budget,
    "02.counted": small,
    "02.four_parts": parts,
    "03.lowered_bytes": lambda chance: few(chance, "batch", "channels") | window(chance),
    "04.lower": image,
    "05.vectors": columns,
    "06.model_state": lambda chance: {
        "features": [chance.randint(1, 80) for _ in range(chance.randint(2, 5))],
        "block": chance.choice((16, 32, 64, 128)),
    },
    "07.freed": step,
    "08.checkpoints": maps,
    "09.offloaded": lambda chance: lesson_09.drawn(chance, chance.randint(1, 6)),
    "10.finished": durations,
    "10.means": pictures,
    "11.composed": composed,
    "11.cheapest_pair": pairs,
    "12.late": lives,
    "13.passes": growth,
    "13.cache_bytes": language_model,
}
