"""Which forward operation each of backward belongs to, read off what they touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memlab.step.op import Op


def owners(forward: Sequence[Op], backward: Sequence[Op]) -> dict[int, int]:
    """The forward operation to which one of backward belongs, both by number: that with which it
    shares the most operands; of several the first to which no other belongs. Who shares none
    belongs to the last that is free between the owners around it, or to nobody."""
    nearest = _nearest(forward, backward)
    found = {number: near[0] for number, near in enumerate(nearest) if len(near) == 1}
    taken = set(found.values())
    for number in reversed(range(len(backward))):
        if len(nearest[number]) > 1:
            free = [owner for owner in nearest[number] if owner not in taken]
            found[number] = (free or nearest[number])[0]
            taken.add(found[number])
    return found | _between(found, len(forward), len(backward))


def _nearest(forward: Sequence[Op], backward: Sequence[Op]) -> list[list[int]]:
    """For each of backward the forward operations with which it shares the most operands."""
    users: dict[tuple[str, int], list[int]] = {}
    for number, op in enumerate(forward):
        for place in _places(op):
            users.setdefault(place, []).append(number)
    found = []
    for op in backward:
        shared = Counter(user for place in _places(op) for user in users.get(place, ()))
        most = max(shared.values(), default=0)
        found.append(sorted(user for user, count in shared.items() if count == most))
    return found


def _between(found: dict[int, int], above: int, count: int) -> dict[int, int]:
    """Owners for those that have none, below the one before and above the one after."""
    taken, more = set(found.values()), dict[int, int]()
    below = [found.get(number, -1) for number in range(count)]
    for number in reversed(range(count - 1)):
        below[number] = found.get(number, below[number + 1])
    for number in range(count):
        if number not in found:
            free = (n for n in reversed(range(below[number] + 1, above)) if n not in taken)
            owner = next(free, None)
            if owner is not None:
                more[number] = owner
                taken.add(owner)
        above = found.get(number, more.get(number, above))
    return more


def _places(op: Op) -> set[tuple[str, int]]:
    """Where what it touches begins."""
    return {(each.storage.name, each.offset) for each in op.touched()}
