"""Chains of equal stages: how many forward steps a number of slots costs, and in which order.

A slot holds what one step must keep. All counts are exact; the recurrences are those of Gruslys et
al. 2016 (arXiv 1606.03401). Both are the one that Griewank & Walther 2000 solved in closed form
(Revolve), which gives every count and every schedule here at once, without a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, isqrt

from memlab.errors import InputError, real_number, whole_number
from memlab.techniques.recompute.chain import Schedule

LONGEST = 10_000_000
"""The most entries of a schedule."""


def internal_state(t: int, m: int) -> int:
    """Return the number of forward steps that are needed to run ``t`` steps forward and backward
    with ``m`` slots, where each slot holds everything that the backward of a step reads (fact
    E2).

    C(t, m) = min over 1 <= y <= t of y + C(t - y, m - 1) + C(y - 1, m), C(t, 1) = t (t + 1) / 2,
    C(0, m) = 0: the recurrence of ``revolve(t + 1, m)``.

    >>> internal_state(10, 3), internal_state(1000, 50)
    (18, 1950)

    Raises:
        InputError: no whole numbers of at least 1.
    """
    return _revolve(whole_number("t (steps)", t) + 1, whole_number("m (slots)", m))


def hidden_state(t: int, m: int) -> int:
    """Return the number of forward steps where a slot holds only the state between two steps. Each
    step then runs forward again right before its backward, and the initial state takes a slot
    too (fact E3).

    C(t, m) = min over 1 <= y < t of y + C(t - y, m - 1) + C(y, m), C(t, m >= t) = 2 t - 1: the
    recurrence of ``revolve(t, m)``, with one more forward for each step.

    >>> hidden_state(10, 3), hidden_state(1000, 50)
    (25, 2948)

    Raises:
        InputError: no whole numbers of at least 1.
    """
    return _revolve(whole_number("t (steps)", t), whole_number("m (slots)", m)) + int(t)


def revolve(l: int, s: int) -> int:  # noqa: E741  # the paper's name
    """Return the number of forward steps, without the one right before each backward: r l - C(s +
    r, s + 1) with the least r for which C(s + r, s) >= l (fact E4; Griewank & Walther 2000).

    >>> revolve(10, 3), revolve(1000, 50)
    (15, 1948)

    Raises:
        InputError: no whole numbers of at least 1.
    """
    return _revolve(whole_number("l (steps)", l), whole_number("s (slots)", s))


def sqrt_slots(n: int) -> tuple[int, int]:
    """Return the best k and the k + ceil(n / k) slots that are needed to keep every k-th of ``n``
    values and one segment of k (fact E1; Chen et al. 2016, arXiv 1604.06174). Of equally good
    values of k, the smallest is returned.

    >>> sqrt_slots(1000)
    (28, 64)

    Raises:
        InputError: no whole number of at least 1.
    """
    count = whole_number("n (values)", n)
    slots = 1 + isqrt(4 * count - 1)  # 2 sqrt(n) rounded up, and k (slots - k) holds n values
    k = max((slots - isqrt(slots * slots - 4 * count) - 1) // 2, 1)
    while k * (slots - k) < count:  # the square root was rounded down
        k += 1
    return k, slots


def extra_time(t: int, forwards: int, backward: float = 2) -> float:
    """Return the share by which ``t`` steps take longer where ``forwards`` forward steps run
    instead of ``t``. A backward step takes as long as ``backward`` forward steps.

    >>> round(100 * extra_time(1000, internal_state(1000, 50)), 1)
    31.7

    Raises:
        InputError: fewer forward steps than steps.
    """
    steps = whole_number("t (steps)", t)
    again = whole_number("forwards", forwards, least=steps) - steps
    return again / (steps * (1 + real_number("backward", backward, usual=2, least=0)))


def internal_schedule(t: int, m: int) -> Schedule:
    """Return the schedule of ``internal_state(t, m)`` forward steps.

    >>> internal_schedule(3, 2)
    (1, 2, 3, -3, 2, -2, -1)

    Args:
        t: steps of the chain, at least 1.
        m: slots, at least 1; a slot holds the internal state of one step.

    Raises:
        InputError: no whole numbers of at least 1, or more than ten million entries.
    """
    steps, slots = whole_number("t (steps)", t), whole_number("m (slots)", m)
    return _checked(steps, internal_state(steps, slots), _internal(steps, slots))


def _checked(t: int, forwards: int, schedule: Iterator[int]) -> Schedule:
    if t + forwards > LONGEST:
        raise InputError(
            f"this schedule has {t + forwards:,} entries, more than {LONGEST:,}; "
            "try fewer steps or more slots."
        )
    return tuple(schedule)


def _internal(t: int, m: int) -> Iterator[int]:
    todo = [(1, t, m)]  # steps first..last with that many slots, the next one on top
    while todo:
        first, last, slots = todo.pop()
        if first > last:
            continue
        if not slots:  # the step that was kept
            yield -last
            continue
        kept = first + _advance(last - first + 2, slots) - 1
        yield from range(first, kept + 1)
        todo += [(first, kept - 1, slots), (kept, kept, 0), (kept + 1, last, slots - 1)]


def _revolve(length: int, slots: int) -> int:
    rounds = _rounds(length, slots)
    return rounds * length - comb(slots + rounds, slots + 1)


def _rounds(length: int, slots: int) -> int:
    """Largest number of times that a step runs forward: the least r for which C(slots + r, slots)
    >= length, by doubling and halving."""
    above = 1
    while comb(slots + above, slots) < length:
        above *= 2
    below = above // 2  # 0 or too few
    while above - below > 1:
        middle = (below + above) // 2
        enough = comb(slots + middle, slots) >= length
        below, above = (below, middle) if enough else (middle, above)
    return above if length > 1 else 0


def _advance(length: int, slots: int) -> int:
    """Return the smallest optimal y of the recurrence, for a length of at least 2. The remainder
    must need at most r rounds with one slot less, and the first y steps at least r - 2."""
    rounds = _rounds(length, slots)
    before = comb(slots + rounds - 2, slots) if rounds > 1 else 1
    return max(before, length - comb(slots - 1 + rounds, slots - 1))
