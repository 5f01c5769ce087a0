"""Lesson 09, offload: the reference count at a fork, and the choice of the maps that go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from random import Random
from typing import Any

from memlab.build.step import inference_step, training_step
from memlab.clocks.streams import Schedule, clock
from memlab.errors import InputError, shorten
from memlab.ledger.plan import plan
from memlab.lesson import returned_values
from memlab.lesson.exercise_task import Arguments, Slip, task
from memlab.networks.builder import network
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.techniques.offload import offload

Reads = list[list[int]]
"""For each operation of forward, the numbers of the maps that it reads."""

# -- after which operation a map may leave ------------------------------------------------------


def forked(chance: Random, operations: int, share: float = 0.4) -> Reads:
    """A chain with shortcuts: operation n reads map n, and perhaps an earlier one too."""
    return [
        sorted({n, chance.randrange(n)}) if n and chance.random() < share else [n]
        for n in range(operations)
    ]


def _draw_reads(chance: Random, size: int) -> Arguments:
    reads = forked(chance, 1 + size)
    return {"sizes": [chance.randint(1, 100 * size) for _ in reads], "reads": reads}


def _deaths(reads: Reads) -> list[int]:
    """The last reader of each map, by the plan of a forward pass with these shortcuts."""
    maps = [network("forked", features=1)]
    for each in reads:
        first, *others = (maps[number] for number in each)
        maps.append(first.add(*others) if others else first.linear(1, bias=False))
    step = inference_step(maps[-1].squared_error())
    ends = {entry.name: entry.death for entry in plan(step).entries}
    return [ends[name] for name in ("input", *(op.layer for op in step.ops[:-1]))]


def _moved(a: Arguments, ends: Sequence[int]) -> list[int]:
    found = [0] * len(a["reads"])
    for size, end in zip(a["sizes"], ends, strict=True):
        if end < len(found):
            found[end] += size
    return found


def _readers(a: Arguments, number: int) -> list[int]:
    return [n for n, each in enumerate(a["reads"]) if number in each]


def _at(pick: Callable[[list[int]], int]) -> Slip:
    return lambda truth, a: _moved(a, [pick(_readers(a, n)) for n in range(len(a["reads"]))])


_LEAVING_SLIPS: dict[str, Slip] = {
    "first_reader": _at(min),
    "one_later": _at(lambda readers: readers[-1] + 1),
    "every_reader": lambda truth, a: [sum(a["sizes"][n] for n in each) for each in a["reads"]],
    "at_the_turn": lambda truth, a: [*[0] * (len(a["reads"]) - 1), sum(a["sizes"])],
    "maps": lambda truth, a: _moved({**a, "sizes": [1] * len(a["sizes"])}, _deaths(a["reads"])),
}
_LEAVING_TRAPS: dict[str, Slip] = {
    "second_reader": _at(lambda readers: readers[:2][-1]),
    "chain": lambda truth, a: list(a["sizes"]),
}


@task("09.leaving", _draw_reads, slips=_LEAVING_SLIPS, traps=_LEAVING_TRAPS)
def leaving(sizes: list[int], reads: Reads) -> list[int]:
    """Bytes that leave under each operation: of maps that it reads as the last one (C5)."""
    return _moved({"sizes": sizes, "reads": reads}, _deaths(reads))


# -- which maps go ------------------------------------------------------------------------------

BATCH, SIDE, CARD, LINK = 64, 32, "titan x", 12 * 10**9
"""Images, their height and width, the machine, and its link in bytes per second."""
UNIT = 4 * BATCH * SIDE**2
"""Bytes of a map for each channel."""
MOST, LAST = 7, 64
"""The most maps that may go, and the channels behind them."""
Chosen = tuple[int, ...]
"""Numbers of maps from 0, rising."""


@lru_cache(maxsize=512)
def _chain(maps: tuple[int, ...]) -> Step:
    """Convolutions that read maps of so many bytes, and two more."""
    first, *others = (nbytes // UNIT for nbytes in maps)
    x = network("chain", image=(first, SIDE, SIDE))
    for channels in (*others, LAST, LAST):
        x = x.conv(channels, 3, pad="same", bias=False)
    return training_step(x.max_pool("all").flatten().linear(2).cross_entropy(), "sgd")


@lru_cache(maxsize=512)
def _alone(maps: tuple[int, ...]) -> Schedule:
    return clock(_chain(maps), BATCH, CARD)


@lru_cache(maxsize=4096)
def planned(maps: tuple[int, ...], chosen: Chosen) -> int:
    """Nanoseconds of the step from which these maps go."""
    names = ["input" if number == 0 else f"conv{number}" for number in chosen]
    step = _chain(maps)
    moved = offload(step, maps=names) if names else step
    return round(1e9 * clock(moved, BATCH, CARD, f"{LINK} B/s").seconds)


def counted(a: Arguments, chosen: Sequence[int]) -> int:
    """The same as the plain step and the waits of each map: quick, for comparing choices."""
    return round(1e9 * (_alone(tuple(a["maps"])).seconds + sum(waits(a, n) for n in chosen)))


def waits(a: Arguments, number: int) -> float:
    """Seconds that compute waits for a map: on its way out, and on its way back."""
    return sum(_way(a, number, half) for half in ("forward", "backward"))


def _way(a: Arguments, number: int, half: str) -> float:
    return max(0.0, float(a["maps"][number] / a["link"] - a[half][number]))


def arguments(maps: list[int], room: int) -> Arguments:
    """A case: the seconds that each way can hide behind are those of the clock."""
    slots = _alone(tuple(maps)).slots

    def seconds(number: int, phase: Phase) -> float:
        layer = f"conv{number}"
        return sum(s.seconds for s in slots if s.op.layer == layer and s.op.phase is phase)

    count = range(len(maps))
    return {
        "maps": maps,
        "forward": [seconds(n + 1, Phase.FORWARD) for n in count],
        "backward": [seconds(n + 2, Phase.BACKWARD) for n in count],
        "link": LINK,
        "room": room,
    }


def drawn(chance: Random, count: int) -> Arguments:
    """So many maps, and room for some of them."""
    maps = [UNIT * chance.randint(8, 160) for _ in range(count)]
    stay = chance.sample(maps, chance.randrange(count))
    return arguments(maps, sum(stay))


def choices(a: Arguments) -> list[Chosen]:
    """All that leave no more than there is room for."""
    count = len(a["maps"])
    every = (c for n in range(count + 1) for c in combinations(range(count), n))
    return [chosen for chosen in every if stays(a, chosen) <= a["room"]]


def stays(a: Arguments, chosen: Sequence[int]) -> int:
    """Bytes of the maps that do not go."""
    return int(sum(a["maps"]) - sum(a["maps"][number] for number in chosen))


def _with(choose: Callable[[Arguments], Sequence[int]]) -> Slip:
    return lambda truth, a: counted(a, choose(a))


def _in_order(key: Callable[[Arguments, int], float]) -> Slip:
    """One after the other, until the others have room."""

    def choose(a: Arguments) -> list[int]:
        chosen: list[int] = []
        for number in sorted(range(len(a["maps"])), key=lambda n: (key(a, n), n)):
            if stays(a, chosen) > a["room"]:
                chosen.append(number)
        return chosen

    return _with(choose)


def _by(half: str) -> Slip:
    """The best choice for somebody who counts one way."""
    return _with(lambda a: min(choices(a), key=lambda c: sum(_way(a, n, half) for n in c)))


_OFFLOAD_SLIPS: dict[str, Slip] = {
    "all_go": _with(lambda a: range(len(a["maps"]))),
    "from_the_first": _in_order(lambda a, n: n),
    "largest": _in_order(lambda a, n: -a["maps"][n]),
    "shortest": _in_order(waits),
    "way_out": _by("forward"),
}
_OFFLOAD_TRAPS: dict[str, Slip] = {
    "way_back": _by("backward"),
    "per_byte": _in_order(lambda a, n: waits(a, n) / a["maps"][n]),
    "fewest_bytes": _with(lambda a: max(choices(a), key=lambda c: stays(a, c))),
}


def _score(given: Any, a: Arguments) -> int:
    """Nanoseconds of the step from which the chosen maps go.

    Raises:
        InputError: no choice among these maps, or one that leaves too much.
    """
    last, numbers = len(a["maps"]) - 1, returned_values.read(given)
    chosen = set() if numbers is None else {*numbers.flat}
    if numbers is None or len(numbers.shape) != 1 or not chosen <= {*range(last + 1)}:
        raise InputError(
            f"Of {last + 1} maps a choice is a list of numbers from 0 to {last}, "
            f"got {shorten(given)}."
        )
    found = tuple(sorted(map(int, chosen)))
    if (left := stays(a, found)) > a["room"]:
        raise InputError(f"That leaves {left:,} B on the device, and room is {a['room']:,} B.")
    return planned(tuple(a["maps"]), found)


@task("09.offloaded", lambda chance, size: drawn(chance, min(1 + size // 2, MOST)),
      slips=_OFFLOAD_SLIPS, traps=_OFFLOAD_TRAPS, score=_score)  # fmt: skip
def offloaded(
    maps: list[int], forward: list[float], backward: list[float], link: int, room: int
) -> int:
    """Nanoseconds of the step with the best of all choices, by the clock."""
    a = {"maps": maps, "forward": forward, "backward": backward, "link": link, "room": room}
    return planned(tuple(maps), min(choices(a), key=lambda chosen: counted(a, chosen)))
