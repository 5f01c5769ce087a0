"""Lesson 04, lowering on CUDA: the value of a thread, the bytes that move for a warp."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random

import numpy as np

from memlab.lesson.content.lesson_02 import FP32
from memlab.lesson.task import Arguments, Slip, task
from memlab.studies.warps import LINE, SECTOR, WARP, sectors
from memlab.studies.warps import moved as bytes_moved

Place = tuple[int, int, int, int, int]
"""c, ky, kx, oy, ox."""


def _draw_thread(chance: Random, size: int) -> Arguments:
    """A thread somewhere behind the first channel: each mistake must show."""
    k, rows, columns = (
        chance.randint(2, 5),
        chance.randint(2, 4 + size),
        chance.randint(2, 4 + size),
    )
    columns += columns == rows
    channel = k * k * rows * columns
    n = chance.randint(channel, channel * (1 + size) - 1)
    return {"n": n, "k": k, "rows": rows, "columns": columns}


def _from(parts: Callable[[int, int, int, int], Place]) -> Slip:
    """What comes out with another way to take the number apart."""
    return lambda truth, a: parts(a["n"], a["k"], a["rows"], a["columns"])


def _unreduced(n: int, k: int, rows: int, columns: int) -> Place:
    line, plane = columns, rows * columns
    return n // (plane * k * k), n // (plane * k), n // plane, n // line, n % columns


_PLACE_SLIPS: dict[str, Slip] = {
    "rows_and_columns": lambda truth, a: (truth[0], truth[2], truth[1], *truth[3:]),
    "transposed": _from(
        lambda n, k, r, c: (n // (r * c * k * k), n // (r * c * k) % k, n // (r * c) % k,
                            n // r % c, n % r)
    ),
    "one_k": _from(
        lambda n, k, r, c: (n // (r * c * k), n // (r * c * k) % k, n // (r * c) % k,
                            n // c % r, n % c)
    ),
    "no_rest": _from(_unreduced),
    "backwards": lambda truth, a: truth[::-1],
}  # fmt: skip


@task("04.place", _draw_thread, slips=_PLACE_SLIPS)
def place(n: int, k: int, rows: int, columns: int) -> Place:
    """Which value of the lowered matrix stands at place ``n`` of its line of values."""
    channels = 1 + n // (k * k * rows * columns)
    found = np.unravel_index(n, (channels, k, k, rows, columns))
    c, ky, kx, oy, ox = map(int, found)
    return c, ky, kx, oy, ox


# -- the bytes of a warp ------------------------------------------------------------------------


def _draw_addresses(chance: Random, size: int) -> Arguments:
    """Values some way apart, each for a few threads, in any order; some threads are far away."""
    apart, threads = (
        chance.choice((1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 16)),
        chance.choice((1, 2, 4, 32)),
    )
    start = chance.choice((0, chance.randrange(64 * size)))
    found = [FP32 * (start + apart * (thread // threads)) for thread in range(WARP)]
    for _ in range(chance.choice((0, 0, 1, 2))):
        found[chance.choice((0, -1, chance.randrange(WARP)))] = FP32 * chance.randrange(128 * size)
    order = chance.choice((sorted, reversed, lambda values: chance.sample(values, WARP)))
    return {"addresses": list(order(found))}


def _show(a: Arguments) -> str:
    return f"addresses {', '.join(map(str, a['addresses'][:5]))}, ..."


def _span(addresses: list[int]) -> int:
    """From the first sector to the last, with all in between."""
    return SECTOR * (max(addresses) // SECTOR - min(addresses) // SECTOR + 1)


def _from_first(addresses: list[int]) -> int:
    """As if a sector began at the first address."""
    return SECTOR * len({(address - addresses[0]) // SECTOR for address in addresses})


_MOVED_SLIPS: dict[str, Slip] = {
    "only_values": lambda truth, a: FP32 * len(set(a["addresses"])),
    "every_value": lambda truth, a: FP32 * len(a["addresses"]),
    "each_thread": lambda truth, a: SECTOR * len(a["addresses"]),
    "whole_lines": lambda truth, a: LINE * len({address // LINE for address in a["addresses"]}),
    "in_between": lambda truth, a: _span(a["addresses"]),
    "count": lambda truth, a: len(sectors(a["addresses"])),
    "not_whole": lambda truth, a: SECTOR * len({address / SECTOR for address in a["addresses"]}),
    "from_first": lambda truth, a: _from_first(a["addresses"]),
}


def _transitions(addresses: list[int]) -> int:
    """How often the sector is another one than that of the thread before."""
    return sum(one // SECTOR != other // SECTOR for one, other in pairwise(addresses))


_MOVED_TRAPS: dict[str, Slip] = {
    "transitions": lambda truth, a: SECTOR * (1 + _transitions(a["addresses"])),
    "every_second": lambda truth, a: bytes_moved(a["addresses"][::2]),
    "all_but_last": lambda truth, a: bytes_moved(a["addresses"][:-1]),
    "all_but_first": lambda truth, a: bytes_moved(a["addresses"][1:]),
    "not_zero": lambda truth, a: bytes_moved(filter(None, a["addresses"])),
    "by_ends": lambda truth, a: bytes_moved(address + FP32 for address in a["addresses"]),
}


@task("04.moved", _draw_addresses, slips=_MOVED_SLIPS, traps=_MOVED_TRAPS, show_case=_show)
def moved(addresses: list[int]) -> int:
    """The bytes that move when a warp accesses these."""
    return bytes_moved(addresses)
