"""The smallest arena of a few blocks, proved: a mixed-integer program for HiGHS."""

from __future__ import annotations

from itertools import combinations
from math import gcd
from typing import Any

import numpy as np

from memlab.arrays import Floats
from memlab.errors import InputError
from memlab.placement.integer_program import milp, scipy
from memlab.placement.packing import Load, Packing, first_fit

MOST = 40
"""Blocks. The pairs that live together decide how long it takes, and they grow faster."""
SECONDS = 60.0


def solve(load: Load, most: int, seconds: float = SECONDS) -> Packing:
    """Return the smallest packing with the blocks in order of their addresses. A packing of
    ``most`` bytes is known to exist.

    Every block has an address, and every two that live together have a bit: which lies below.

    Raises:
        InputError: more than 40 blocks, no proof within these seconds, or SciPy is not installed.
    """
    count = len(load.sizes)
    if count > MOST:
        raise InputError(
            f"an exact placement is for at most {MOST} blocks, got {count}; try how='best'."
        )
    unit = gcd(*load.sizes)
    sizes = [size // unit for size in load.sizes]
    least, most = load.bound()[0] // unit, most // unit
    pairs = [pair for pair in combinations(range(count), 2) if _meet(load, *pair)]
    constraints = _constraints(sizes, pairs, most)
    total = count + len(pairs) + 1
    solution = milp(
        "an exact placement",
        c=np.eye(total)[-1],
        integrality=np.r_[np.zeros(count), np.ones(len(pairs)), 0],
        bounds=(
            np.r_[np.zeros(total - 1), least],
            np.r_[np.array([most - size for size in sizes]), np.ones(len(pairs)), most],
        ),
        constraints=constraints,
        options={"time_limit": seconds, "mip_rel_gap": 0},
    )
    if solution.status == 0:
        order = load.order(lambda n: (round(solution.x[n]),))
        addresses = first_fit(load, order)
        if load.top(addresses) <= round(solution.fun) * unit:  # exact again, in whole bytes
            return order, addresses
    raise InputError(
        f"no proof of an optimum of these {count} blocks within {seconds:g} s; try how='best'."
    )


def _meet(load: Load, one: int, other: int) -> bool:
    """True if both blocks have bytes, and an operation in which both are alive."""
    return bool(
        load.sizes[one] and load.sizes[other]
        and load.births[one] <= load.deaths[other]
        and load.births[other] <= load.deaths[one]
    )  # fmt: skip


def _constraints(
    sizes: list[int], pairs: list[tuple[int, int]], most: int
) -> tuple[Any, float, Floats]:
    """Constraints of a packing: of each pair the lower block ends where the upper begins, and every
    block ends at the top or below.

    Columns: the addresses, a bit for each pair (1: the first of the two is below), the top.
    """
    sparse = scipy("scipy.sparse", "an exact placement")
    count, total = len(sizes), len(sizes) + len(pairs) + 1
    rows = sparse.lil_matrix((2 * len(pairs) + count, total))
    upper = np.zeros(2 * len(pairs) + count)
    for number, (one, other) in enumerate(pairs):
        first, second, bit = 2 * number, 2 * number + 1, count + number
        rows[first, one], rows[first, other], rows[first, bit] = 1, -1, most
        rows[second, other], rows[second, one], rows[second, bit] = 1, -1, -most
        upper[first], upper[second] = most - sizes[one], -sizes[other]
    for n, size in enumerate(sizes):
        row = 2 * len(pairs) + n
        rows[row, n], rows[row, total - 1], upper[row] = 1, -1, -size
    return rows.tocsr(), -np.inf, upper
