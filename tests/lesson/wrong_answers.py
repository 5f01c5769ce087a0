"""Wrong ways, as learners write them: for every exercise a function for each of its slips."""

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from memlab.lesson.kernel_threads import cuda


def layers(batch, inputs, hidden, outputs, *, maps=None, loss=1, parameters=None, each=4):
    """Bytes of the exercise ``kept``, with one part replaced."""
    widths = inputs + hidden + 2 * outputs if maps is None else maps
    weights = inputs * hidden + hidden + hidden * outputs + outputs
    return each * (batch * widths + (weights if parameters is None else parameters) + loss)


def gradients(x, t, w1, w2, slope=lambda y: 1 - y * y):
    y = w1 * x
    y += w2
    np.tanh(y, out=y)
    g = y - t
    g *= 2
    g *= slope(y)
    dw2 = g.mean()
    g *= x
    return g.mean(), dw2


def limits(memory, fixed, each):
    return [(memory - a) // b for a, b in zip(fixed, each, strict=True) if b]


def small(image, kernels, features, *, bias=1, window=25, channels=True, pool=1, linear=1, maps=1):
    """Activations and parameters of a small network, with one part replaced."""
    (before, rows, columns), values, weights = image, 0, 0
    for n in kernels:
        weights += n * (window * (before if channels else 1) + bias)
        values += maps * n * rows * columns
        before, rows, columns = n, rows // 2, columns // 2
        values += pool * n * rows * columns
    inputs = before * rows * columns
    for place, outputs in enumerate(features):
        weights += outputs * (inputs + bias)
        values += linear * outputs * (maps if place < len(features) - 1 else 1)
        inputs = outputs
    return [values, weights]


ARRAYS = {"sgd": 2, "momentum": 3, "adagrad": 3, "rmsprop": 3, "adam": 4}


def rule(activations, parameters, inputs, batch, optimizer, *, each=4, copies=0, less=0):
    """The 4 parts of the rule of thumb, with one replaced."""
    held = copies or ARRAYS[optimizer] - less
    maps = each * activations * batch
    return [maps, maps, each * held * parameters, each * inputs * batch]


def copy_bytes(batch, channels, size, k, stride, pad, each=4, taps=2):
    rows = (size + 2 * pad - k) // stride + 1
    return each * batch * channels * k**taps * rows * rows


AXES = ("c", "ky", "kx", "oy", "ox")


def store(image, lowered, k, pad, order=AXES, turned=False, wraps=False, zeros=True, first=False):
    """One thread of a kernel that lowers, with one part replaced."""
    sizes, at, n = dict(zip(AXES, lowered.shape, strict=True)), {}, cuda.grid(1)
    for axis in order[::-1]:
        n, at[axis] = divmod(n, sizes[axis])
    if n:
        return
    c, ky, kx, oy, ox = (at[axis] for axis in AXES)
    iy, ix = (oy + kx - pad, ox + ky - pad) if turned else (oy + ky - pad, ox + kx - pad)
    inside = iy < image.shape[1] and ix < image.shape[2] and (wraps or (iy >= 0 and ix >= 0))
    if inside or zeros:
        lowered[c, ky, kx, oy, ox] = image[0 if first else c, iy, ix] if inside else 0


def filled(columns, lanes):
    """Number of vectors, and of their idle lanes."""
    return -(-columns // lanes), -columns % lanes


def row_vectors(width, bits, batch, size, k, stride, pad, power=2, count=filled):
    rows = (size + 2 * pad - k) // stride + 1
    return count(batch * rows**power, width // bits)


def arrays(features):
    """Values of each weight and each bias."""
    return [n for i, outputs in enumerate(features[1:]) for n in (features[i] * outputs, outputs)]


def state_of(features, block, each=10, scale=4):
    """Bytes of a model state: ``each`` for a value, 2 scales for a block."""
    return sum(each * n + 2 * scale * -(-n // block) for n in arrays(features))


def parts_of(maps, kept):
    """The maps between those that are kept, and the kept ones before each part."""
    starts, ends = [0, *(n + 1 for n in kept)], [*kept, len(maps)]
    between = [sum(maps[a:b]) for a, b in zip(starts, ends, strict=True)]
    return between, [[maps[n] for n in kept[:i]] for i in range(len(ends))]


def waiting(maps, kept):
    """The bytes of each part and of all kept maps before it."""
    return [part + sum(before) for part, before in zip(*parts_of(maps, kept), strict=True)]


def roots(maps):
    k = round(len(maps) ** 0.5)
    return list(range(k - 1, len(maps) - 1, k))


def among(maps):
    """The maps that may be dropped."""
    return range(len(maps) - 1)


NEVER = 10**6
"""An operation that does not come."""


def needed(writers, readers):
    return writers + readers


def given_back(sizes, writes, reads, kept, users=needed, later=0):
    """Bytes that each operation gives back; ``users`` are those that need a block."""
    nbytes = [0] * len(reads)
    for block in set(range(len(sizes))) - set(kept):
        writers = [n for n, blocks in enumerate(writes) if block in blocks]
        readers = [n for n, blocks in enumerate(reads) if block in blocks]
        end = max(users(writers, readers) or writers) + later
        if end < len(reads):
            nbytes[end] += sizes[block]
    return nbytes


def at_own_number(sizes, writes, reads, kept):
    """Bytes at the number of each block, as if it were that of an operation."""
    nbytes = [0] * len(reads)
    for block in set(range(min(len(sizes), len(reads)))) - set(kept):
        nbytes[block] += sizes[block]
    return nbytes


def fitting_start(starts, spans, size):
    return next(s for s in starts if all(s + size <= a or b <= s for a, b in spans))


def overlap(birth, death, other_birth, other_death):
    return other_birth <= death and birth <= other_death


def lowest(sizes, births, deaths, choose=fitting_start, meet=overlap):
    """The address of one block after the other."""
    addresses: list[int] = []
    for n, size in enumerate(sizes):
        lives = [k for k in range(n) if meet(births[n], deaths[n], births[k], deaths[k])]
        spans = [(addresses[k], addresses[k] + sizes[k]) for k in lives]
        addresses.append(choose(sorted([0, *(high for _, high in spans)]), spans, size))
    return addresses


def delay(maps, ways, link, n):
    """Seconds that compute waits for one map, on all its ways."""
    return sum(max(0, maps[n] / link - way[n]) for way in ways)


def leaves(maps, chosen):
    return sum(maps) - sum(maps[n] for n in chosen)


def until_it_fits(maps, room, key):
    """One map after the other goes."""
    gone: list[int] = []
    for n in sorted(range(len(maps)), key=key):
        if leaves(maps, gone) > room:
            gone.append(n)
    return gone


def that_fit(maps, room):
    places = range(len(maps))
    every = [chosen for n in range(len(maps) + 1) for chosen in combinations(places, n)]
    return [list(chosen) for chosen in every if leaves(maps, chosen) <= room]


def least_delay(maps, ways, link, room):
    fit = that_fit(maps, room)
    return min(fit, key=lambda chosen: sum(delay(maps, ways, link, n) for n in chosen))


def in_front(maps, kept):
    """The bytes of each segment, and those of the checkpoint in front of it."""
    between, before = parts_of(maps, kept)
    return [
        (part, stored[-1] if stored else 0) for part, stored in zip(between, before, strict=True)
    ]


def stored(maps, kept):
    """Bytes of all checkpoints."""
    return sum(maps[n] for n in kept)


def pairs_that_fit(peak, budget):
    """Pairs of two techniques that are not refused and fit."""
    numbers = range(len(peak))
    return [
        (i, j) for i in numbers for j in numbers[i + 1 :] if peak[i][j] and peak[i][j] <= budget
    ]


def ends(load, compute, places, *, early=False, queue=True, what="done"):
    """The exercise ``finished``, with one part replaced."""
    loaded: list[int] = []
    begun: list[int] = []
    done: list[int] = []
    for n in range(len(load)):
        taken = begun if early else done
        free = taken[n - places] if n >= places else 0
        loaded.append(max(loaded[-1] if n else 0, free) + load[n])
        begun.append(max(loaded[n], done[-1] if n and queue else 0))
        done.append(begun[n] + compute[n])
    return {"loaded": loaded, "begun": begun, "done": done}[what]


def of_parts(images, batch, *, by=255, rest=True):
    count = len(images) if rest else len(images) // batch * batch
    return [images[n : n + batch].mean() / by for n in range(0, count, batch)]


def most_held(blocks, end, more=0):
    return most_of(blocks, end, range(1 + max(block[3] for block in blocks)), more)


def most_of(blocks, end, times, more=0):
    alive = ([b[0] for b in blocks if b[1] <= t <= b[end] + more] for t in times)
    return max(map(sum, alive), default=0)


def first_above(square, each, fixed):
    """Number of tokens at which the matrices pass the rest."""
    n = 1
    while square * n * n <= each * n + fixed:
        n += 1
    return n


def cache(kv_heads, heads, layers, features, texts, tokens, nbytes, *, arrays=2):
    """Bytes of keys and values."""
    return arrays * layers * kv_heads * (features // heads) * texts * tokens * nbytes


ZOO: dict[str, dict[str, Any]] = {
    "00.images_that_fit": {
        "below": lambda card, fixed, each: (card * 10**9 - fixed) // each,
        "no_fixed": lambda card, fixed, each: card * 10**9 // each,
        "in_gb": lambda card, fixed, each: (card - fixed) // each,
        "in_gb.0": lambda card, fixed, each: max(0, (card - fixed) // each),
        "summed": lambda card, fixed, each: card * 10**9 // (fixed + each),
        "gib": lambda card, fixed, each: (card * 2**30 - fixed) // each,
        "gib.0": lambda card, fixed, each: max(0, (card * 2**30 - fixed) // each),
        "strict": lambda card, fixed, each: (card * 10**9 - fixed - 1) // each,
        "strict.0": lambda card, fixed, each: max(0, (card * 10**9 - fixed - 1) // each),
        "one_more": lambda card, fixed, each: (card * 10**9 - fixed) // each + 1,
        "one_more.0": lambda card, fixed, each: max(0, (card * 10**9 - fixed) // each) + 1,
        "one_more.up": lambda card, fixed, each: max(0, math.ceil((card * 10**9 - fixed) / each)),
        "one_more.round": lambda card, fixed, each: max(0, round((card * 10**9 - fixed) / each)),
        "not_whole": lambda card, fixed, each: (card * 10**9 - fixed) / each,
        "not_whole.0": lambda card, fixed, each: max(0, (card * 10**9 - fixed) / each),
    },
    "01.kept": {
        "values": lambda **a: layers(**a, each=1),
        "bits": lambda **a: layers(**a, each=32),
        "no_loss": lambda **a: layers(**a, loss=0),
        "hidden_twice": lambda **a: layers(
            **a, maps=a["inputs"] + 2 * a["hidden"] + 2 * a["outputs"]
        ),
        "no_input": lambda **a: layers(**a, maps=a["hidden"] + 2 * a["outputs"]),
        "no_hidden": lambda **a: layers(**a, maps=a["inputs"] + 2 * a["outputs"]),
        "one_output": lambda **a: layers(**a, maps=a["inputs"] + a["hidden"] + a["outputs"]),
        "one_output.none": lambda **a: layers(**a, maps=a["inputs"] + a["hidden"]),
        "no_bias": lambda **a: layers(
            **a, parameters=a["inputs"] * a["hidden"] + a["hidden"] * a["outputs"]
        ),
        "no_bias.first": lambda **a: layers(
            **a,
            parameters=a["inputs"] * a["hidden"] + a["hidden"] * a["outputs"] + a["outputs"],
        ),
        "no_bias.second": lambda **a: layers(
            **a,
            parameters=a["inputs"] * a["hidden"] + a["hidden"] * a["outputs"] + a["hidden"],
        ),
        "no_parameters": lambda **a: layers(**a, parameters=0),
        "gradients": lambda **a: 2 * layers(**a) - layers(**a, parameters=0),
        "one_sample": lambda **a: layers(**{**a, "batch": 1}),
    },
    "01.my_step": {
        "no_tanh": lambda **a: gradients(**a, slope=np.ones_like),
        "no_tanh.square": lambda **a: gradients(**a, slope=lambda y: 1 - y),
        "sign": lambda **a: [-value for value in gradients(**a)],
        "sum": lambda **a: [len(a["x"]) * value for value in gradients(**a)],
        "half": lambda **a: [value / 2 for value in gradients(**a)],
        "no_x": lambda **a: [gradients(**a)[1]] * 2,
        "swapped": lambda **a: gradients(**a)[::-1],
    },
    "02.largest_batch": {
        "no_floor": lambda memory, fixed, each: min(memory // b for b in each if b),
        "one_more": lambda **a: min(limits(**a)) + 1,
        "one_more.0": lambda **a: 1 + (min(limits(**a)) if a["memory"] >= max(a["fixed"]) else 0),
        "one_more.up": lambda memory, fixed, each: max(
            0, min(-((a - memory) // b) for a, b in zip(fixed, each, strict=True) if b)
        ),
        "strict": lambda memory, **a: max(0, min(limits(memory - 1, **a))),
        "below": lambda **a: min(limits(**a)),
        "below.0": lambda **a: max(0, min(limits(**a))),
        "largest": lambda **a: max(limits(**a)),
        "largest.0": lambda **a: max(0, max(limits(**a))),
        "mixed": lambda memory, fixed, each: (memory - max(fixed)) // max(each),
        "mixed.0": lambda memory, fixed, each: max(0, (memory - max(fixed)) // max(each)),
        "sum": lambda memory, fixed, each: (memory - sum(fixed)) // sum(each),
        "sum.0": lambda memory, fixed, each: max(0, (memory - sum(fixed)) // sum(each)),
        "not_whole": lambda memory, fixed, each: min(
            (memory - a) / b for a, b in zip(fixed, each, strict=True) if b
        ),
        "not_whole.0": lambda memory, fixed, each: max(
            0, min((memory - a) / b for a, b in zip(fixed, each, strict=True) if b)
        ),
    },
    "02.counted": {
        "no_bias": lambda **a: small(**a, bias=0),
        "one_channel": lambda **a: small(**a, channels=False),
        "one_side": lambda **a: small(**a, window=5),
        "no_pool": lambda **a: small(**a, pool=0),
        "no_linear": lambda **a: small(**a, linear=0),
        "with_relu": lambda **a: small(**a, maps=2),
        "with_input": lambda **a: [
            small(**a)[0] + a["image"][0] * a["image"][1] * a["image"][2],
            small(**a)[1],
        ],
        "swapped": lambda **a: small(**a)[::-1],
    },
    "02.four_parts": {
        "values": lambda **a: rule(**a, each=1),
        "bits": lambda **a: rule(**a, each=32),
        "one_sample": lambda **a: rule(**{**a, "batch": 1}),
        "three": lambda **a: rule(**a, copies=3),
        "no_state": lambda **a: rule(**a, copies=2),
        "once": lambda **a: rule(**a, copies=1),
        "state_alone": lambda **a: rule(**a, less=1),
        "each_sample": lambda **a: [
            n * (a["batch"] if place == 2 else 1) for place, n in enumerate(rule(**a))
        ],
        "both": lambda **a: [2 * rule(**a)[0], *rule(**a)[1:]],
        "one_input": lambda **a: [*rule(**a)[:3], 4 * a["inputs"]],
    },
    "03.lowered_bytes": {
        "values": lambda **a: copy_bytes(**a, each=1),
        "bits": lambda **a: copy_bytes(**a, each=32),
        "batch": lambda **a: copy_bytes(**{**a, "batch": 1}),
        "one_k": lambda **a: copy_bytes(**a, taps=1),
        "not_lowered": lambda **a: 4 * a["batch"] * a["channels"] * a["size"] ** 2,
        "stride": lambda **a: copy_bytes(**{**a, "stride": 1}),
        "padding": lambda **a: copy_bytes(**{**a, "pad": 0}),
        "one_channel": lambda **a: copy_bytes(**{**a, "channels": 1}),
        "input_places": lambda batch, channels, size, k, stride, pad: (
            4 * batch * channels * k * k * size * size
        ),
        "one_side": lambda batch, channels, size, k, stride, pad: (
            4 * batch * channels * k * k * ((size - k + pad) // stride + 1) ** 2
        ),
        "not_whole": lambda batch, channels, size, k, stride, pad: (
            4 * batch * channels * k * k * ((size + 2 * pad - k) / stride + 1) ** 2
        ),
        "one_less": lambda batch, channels, size, k, stride, pad: (
            4 * batch * channels * k * k * ((size + 2 * pad - k) // stride) ** 2
        ),
    },
    "04.lower": {
        "rows_and_columns": lambda **a: store(**a, turned=True),
        "no_padding": lambda **a: store(**{**a, "pad": 0}),
        "first_channel": lambda **a: store(**a, first=True),
        "wraps": lambda **a: store(**a, wraps=True),
        "nothing_outside": lambda **a: store(**a, zeros=False),
        "down_a_column": lambda **a: store(**a, order=("oy", "ox", "c", "ky", "kx")),
        "transposed": lambda **a: store(**a, order=("c", "ky", "kx", "ox", "oy")),
    },
    "05.vectors": {
        "samples": lambda **a: filled(a["batch"], a["width"] // a["bits"]),
        "one_image": lambda **a: row_vectors(**{**a, "batch": 1}),
        "one_direction": lambda **a: row_vectors(**a, power=1),
        "stride": lambda **a: row_vectors(**{**a, "stride": 1}),
        "padding": lambda **a: row_vectors(**{**a, "pad": 0}),
        "by_bytes": lambda **a: row_vectors(**{**a, "width": 8 * a["width"]}),
        "each_image": lambda **a: [a["batch"] * n for n in row_vectors(**{**a, "batch": 1})],
        "windows": lambda **a: row_vectors(
            **a, count=lambda columns, lanes: filled(a["k"] ** 2 * columns, lanes)
        ),
        "floor": lambda **a: row_vectors(
            **a, count=lambda columns, lanes: (columns // lanes, columns // lanes * lanes - columns)
        ),
        "not_whole": lambda **a: row_vectors(
            **a, count=lambda columns, lanes: (columns / lanes, columns / lanes * lanes - columns)
        ),
        "one_more": lambda **a: row_vectors(
            **a, count=lambda columns, lanes: (columns // lanes + 1, lanes - columns % lanes)
        ),
        "full": lambda **a: row_vectors(**a, count=divmod),
        "used": lambda **a: row_vectors(
            **a, count=lambda columns, lanes: (-(-columns // lanes), columns % lanes)
        ),
        "whole": lambda **a: row_vectors(
            **a, count=lambda columns, lanes: (-(-columns // lanes), lanes - columns % lanes)
        ),
    },
    "06.model_state": {
        "no_master": lambda **a: state_of(**a, each=2 + 2 + 2),
        "two_missing": lambda **a: state_of(**a, each=2 + 4 + 2),
        "one_state": lambda **a: state_of(**a, each=2 + 2 + 4 + 1, scale=2),
        "fp32_states": lambda features, block: 16 * sum(arrays(features)),
        "no_scales": lambda **a: state_of(**a, scale=0),
        "one_scale": lambda **a: state_of(**a, scale=2),
        "scale_bytes": lambda **a: state_of(**a, scale=1),
        "full_blocks": lambda features, block: sum(
            10 * n + 8 * (n // block) for n in arrays(features)
        ),
        "one_more": lambda features, block: sum(
            10 * n + 8 * (n // block + 1) for n in arrays(features)
        ),
        "not_whole": lambda features, block: sum(10 * n + 8 * n / block for n in arrays(features)),
        "padded": lambda features, block: sum(
            8 * n + 2 * (block + 4) * -(-n // block) for n in arrays(features)
        ),
        "together": lambda features, block: (
            10 * sum(arrays(features)) + 8 * -(-sum(arrays(features)) // block)
        ),
        "layers": lambda features, block: sum(
            10 * (i + 1) * o + 8 * -(-(i + 1) * o // block) for i, o in pairwise(features)
        ),
        "both_states": lambda features, block: sum(
            10 * n + 4 * -(-2 * n // block) for n in arrays(features)
        ),
        "no_bias": lambda features, block: sum(
            10 * n + 8 * -(-n // block) for n in arrays(features)[::2]
        ),
    },
    "07.freed": {
        "block_as_index": at_own_number,
        "kept_too": lambda sizes, writes, reads, kept: given_back(sizes, writes, reads, ()),
        "first_reader": lambda **a: given_back(**a, users=lambda writers, readers: readers[:1]),
        "never_read": lambda **a: given_back(
            **a, users=lambda writers, readers: readers or [NEVER]
        ),
        "one_later": lambda **a: given_back(**a, later=1),
        "blocks": lambda sizes, **a: given_back([1] * len(sizes), **a),
        "all_read": lambda sizes, reads, **a: [sum(sizes[b] for b in each) for each in reads],
    },
    "08.checkpoints": {
        "nothing_saved": lambda maps: list(among(maps)),
        "every_root": roots,
        "middle": lambda maps: [(len(maps) - 1) // 2],
        "smallest": lambda maps: [min(among(maps), key=lambda n: maps[n])],
        "largest": lambda maps: [max(among(maps), key=lambda n: maps[n])],
        "one_alone": lambda maps: [min(among(maps), key=lambda n: max(waiting(maps, [n])))],
    },
    "09.offloaded": {
        "all_go": lambda maps, **a: list(range(len(maps))),
        "from_the_first": lambda maps, room, **a: until_it_fits(maps, room, lambda n: n),
        "largest": lambda maps, room, **a: until_it_fits(maps, room, lambda n: (-maps[n], n)),
        "shortest": lambda maps, forward, backward, link, room: until_it_fits(
            maps, room, lambda n: (delay(maps, (forward, backward), link, n), n)
        ),
        "way_out": lambda maps, forward, backward, link, room: least_delay(
            maps, (forward,), link, room
        ),
        "fewest_bytes": lambda maps, room, **a: min(
            that_fit(maps, room), key=lambda chosen: sum(maps[n] for n in chosen)
        ),
    },
    "10.finished": {
        "in_turn": lambda load, compute, places: [
            sum(load[: n + 1]) + sum(compute[: n + 1]) for n in range(len(load))
        ],
        "no_limit": lambda load, compute, places: ends(load, compute, len(load)),
        "overwritten": lambda **a: ends(**a, early=True),
        "one_less": lambda load, compute, places: ends(load, compute, max(1, places - 1)),
        "at_once": lambda **a: ends(**a, queue=False),
        "begun": lambda **a: ends(**a, what="begun"),
        "loaded": lambda **a: ends(**a, what="loaded"),
    },
    "10.means": {
        "stored": lambda images, batch: of_parts(images, batch, by=1),
        "sum": lambda images, batch: [
            images[n : n + batch].sum() / 255 for n in range(0, len(images), batch)
        ],
        "no_rest": lambda images, batch: of_parts(images, batch, rest=False),
        "each": lambda images, batch: [image.mean() / 255 for image in images],
        "all": lambda images, batch: [images.mean() / 255],
    },
    "11.composed": {
        "recompute_alone": lambda maps, kept: [max(waiting(maps, kept)), stored(maps, kept)],
        "offload_alone": lambda maps, kept: [max(maps), sum(maps[:-1])],
        "segment_alone": lambda maps, kept: [
            max(part for part, _ in in_front(maps, kept)),
            stored(maps, kept),
        ],
        "last_back": lambda maps, kept: [
            max(part + front for part, front in in_front(maps, kept)),
            stored(maps, kept),
        ],
        "one_on_host": lambda maps, kept: [
            max(
                *(part + front for part, front in in_front(maps, kept)[:-1]),
                *in_front(maps, kept)[-1],
                0,
            ),
            max([maps[n] for n in kept], default=0),
        ],
        "added": lambda maps, kept: [
            max(waiting(maps, kept)) - stored(maps, kept),
            stored(maps, kept),
        ],
    },
    "11.cheapest_pair": {
        "fewest_bytes": lambda peak, time, budget: min(
            pairs_that_fit(peak, budget), key=lambda pair: peak[pair[0]][pair[1]]
        ),
        "added_time": lambda peak, time, budget: min(
            pairs_that_fit(peak, budget), key=lambda pair: sum(time[n][n] for n in pair)
        ),
        "first_that_fits": lambda peak, time, budget: pairs_that_fit(peak, budget)[0],
        "nearest": lambda peak, time, budget: max(
            pairs_that_fit(peak, budget), key=lambda pair: peak[pair[0]][pair[1]]
        ),
    },
    "12.late": {
        "sum": lambda blocks: 2 * [sum(block[0] for block in blocks)],
        "exclusive": lambda blocks: [most_held(blocks, 3, -1), most_held(blocks, 2, -1)],
        "swapped": lambda blocks: [most_held(blocks, 2), most_held(blocks, 3)],
        "held": lambda blocks: 2 * [most_held(blocks, 3)],
        "saved": lambda blocks: [most_held(blocks, 3), most_held(blocks, 3) - most_held(blocks, 2)],
        "stops": lambda blocks: [
            most_of(blocks, end, range(max(block[end] for block in blocks))) for end in (3, 2)
        ],
        "blocks": lambda blocks: [most_of(blocks, end, range(len(blocks))) for end in (3, 2)],
    },
    "13.passes": {
        "no_fixed": lambda square, each, fixed: first_above(square, each, 0),
        "no_each": lambda square, each, fixed: first_above(square, 0, fixed),
        "equal": lambda square, each, fixed: first_above(square, each, fixed - 1),
        "before": lambda square, each, fixed: first_above(square, each, fixed) - 1,
        "not_square": lambda square, each, fixed: (each + fixed) // square + 1,
        "not_whole": lambda square, each, fixed: (
            (each + math.sqrt(each**2 + 4 * square * fixed)) / (2 * square)
        ),
    },
    "13.cache_bytes": {
        "one_of_two": lambda **a: cache(**a, arrays=1),
        "all_heads": lambda kv_heads, heads, **a: cache(heads, heads, **a),
        "one_head": lambda kv_heads, heads, **a: cache(1, heads, **a),
        "whole_width": lambda heads, **a: cache(heads=1, **a),
        "group": lambda kv_heads, heads, **a: cache(heads // kv_heads, heads, **a),
        "one_layer": lambda layers, **a: cache(layers=1, **a),
        "one_text": lambda texts, **a: cache(texts=1, **a),
        "in_values": lambda nbytes, **a: cache(nbytes=1, **a),
        "queries": lambda kv_heads, heads, **a: (
            cache(kv_heads, heads, **a) + cache(heads, heads, arrays=1, **a)
        ),
    },
}
