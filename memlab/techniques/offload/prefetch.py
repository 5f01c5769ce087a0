"""When maps come back from the host: one layer early, when they are needed, or as a budget asks.

A map that comes back early hides its copy behind other operations, and takes its bytes for longer.
vDNN looks one convolution ahead (``offload.rules``). Here each map comes back as late as costs no
time, and later still where the budget has no room for it: found by going through the operations
once, with all choices that could still be the best (dynamic programming).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import le
from typing import Any, NamedTuple

from memlab.techniques.offload.rules import Candidate, Move

ANY_ORDER = 8
"""Maps of a step up to which one may come back before another that is needed earlier."""
MANY = 1000
"""Choices beside one operation at which the search for the best ways back is given up."""


class TooManyError(Exception):
    """More than that."""


VDNN, NEEDED, BUDGET = PREFETCH = ("vdnn", "needed", "budget")
"""When a map comes back: with the backward of a later layer, no further than the next convolution
(C5); when its reader comes; or as late as time and budget allow."""


def needed(there: Mapping[str, Candidate], chosen: Collection[str]) -> list[Move]:
    """Every chosen map comes back when its first reader comes, which waits for it."""
    away = sorted((each for name, each in there.items() if name in chosen), key=_when)
    return [Move(each.map, each.leaves, each.needed, each.needed) for each in away]


def back(prefetch: str) -> str:
    """The rule in the note of a step; vDNN's goes without saying."""
    return {NEEDED: ", back when needed", BUDGET: ", back as the budget asks"}.get(prefetch, "")


def _when(each: Candidate) -> int:
    return each.needed


class Times(NamedTuple):
    """The end of the last operation, and in seconds for operations by number when a copy beside
    them may start, and when those begin that have anything to do with copies; by name of a map when
    it has left."""

    end: float
    ready: list[float]
    begin: dict[int, float]
    gone: dict[str, float]


def latest(
    hurried: Sequence[Move], first: int, times: Times, takes: Mapping[str, float]
) -> list[Move]:
    """The same moves, each as late as its copy still ends when it did, from those that come back as
    soon as the link lets them; in the order in which they are needed."""
    found: list[Move] = []
    limit = inf
    for move in reversed(hurried):
        limit = min(times.begin[move.waits], limit) - takes[move.map.storage.name]
        at = bisect_right(times.ready, limit, first, move.waits + 1) - 1
        found.append(replace(move, returns=min(max(first, at), move.waits)))
    return found[::-1]


def delayed(moves: Sequence[Move], room: Sequence[float], sizes: Mapping[str, int]) -> list[Move]:
    """The same moves, later where an operation has no room for all that is back and waits: there
    what is needed last comes back after it."""
    ways_back, there, nbytes = [*moves], list[int](), 0
    coming = deque(range(len(moves)))
    for number in range(moves[0].returns, len(room)):
        while coming and ways_back[coming[0]].returns <= number:
            there.append(coming.popleft())
            nbytes += sizes[moves[there[-1]].map.storage.name]
        there = [n for n in there if moves[n].waits > number]
        while there and nbytes > room[number]:
            coming.appendleft(there.pop())
            nbytes -= sizes[moves[coming[0]].map.storage.name]
            ways_back[coming[0]] = replace(moves[coming[0]], returns=number + 1)
    return ways_back


class Trip(NamedTuple):
    """The way back of a map: when it is needed at the latest, the bytes that it takes then, the
    seconds of its copy, and the second at which it has left."""

    move: Move
    nbytes: int
    seconds: float
    gone: float


class Label(NamedTuple):
    """A choice so far: when compute and the copies end, and the copies that nobody has waited for,
    each by its own end. ``begun`` are the operations that copies began beside, last first."""

    end: float
    link: float
    ends: tuple[float, ...]
    begun: tuple[Any, ...] = ()

    @property
    def times(self) -> tuple[float, ...]:
        return self.end, self.link, *self.ends


@dataclass(frozen=True)
class Return:
    """What is asked: the ways back of maps in the order in which they are needed, from an operation
    on that starts when ``ready``. ``seconds`` are those of an operation beside so many bytes that
    are back; None where they leave it no room. ``rest`` are at least the seconds from an operation
    to the last that needs a map; what does not end before ``most`` is passed over.

    In ``any_order`` a map may come back before one that is needed earlier.
    """

    trips: list[Trip]
    first: int
    ready: float
    seconds: Callable[[int, int], float | None]
    rest: Sequence[float]
    most: float = inf
    any_order: bool = False

    def moves(self) -> list[Move] | None:
        """The ways back that end first, and of these late ones; None where none fits and ends
        before ``most``.

        Raises:
            TooManyError: there are too many choices.
        """
        states = {0: [Label(self.ready, 0.0, ())]}
        for number in range(self.first, self.trips[-1].move.waits + 1):
            found: dict[int, list[Label]] = {}
            for mask in sorted(states, key=int.bit_count):  # who begins late comes first
                for label in states[mask]:
                    for state, after in self._after(number, mask, label):
                        if after.end + self.rest[number + 1] < self.most * (1 - 1e-12):
                            _keep(found.setdefault(state, []), after)
            states = found
            if sum(map(len, states.values())) > MANY:
                raise TooManyError
        ends = [label for labels in states.values() for label in labels]
        if not ends:
            return None
        begun = min(ends, key=lambda label: label.end).begun
        return [replace(self.trips[n].move, returns=number) for n, number in _unrolled(begun)]

    def _after(self, number: int, mask: int, label: Label) -> Iterator[tuple[int, Label]]:
        """What follows from an operation: all that it needs has come back, and for each choice of
        what else begins beside it, as long as a later beginning would not be as good."""
        pending = [n for n in _bits(mask) if self.trips[n].move.waits >= number]
        due = [n for n, trip in enumerate(self.trips) if trip.move.waits == number]
        ends = dict(zip(pending, label.ends, strict=True))
        start = max([label.end, *(ends.pop(n) for n in due if n in ends)])
        link, begun, begin = label.link, label.begun, start
        for n in due:
            if not mask >> n & 1:
                link = begin = max(link, start, self.trips[n].gone) + self.trips[n].seconds
                mask, begun = mask | 1 << n, (n, number, begun)
        yield from self._beside(number, mask, Label(begin, link, (), begun), ends, start)

    def _beside(
        self,
        number: int,
        mask: int,
        label: Label,
        ends: dict[int, float],
        start: float,
        least: int = 0,
    ) -> Iterator[tuple[int, Label]]:
        seconds = self.seconds(number, sum(self.trips[n].nbytes for n in _bits(mask)))
        if seconds is None:
            return
        end = label.end + seconds
        yield mask, label._replace(end=end, ends=tuple(ends[n] for n in sorted(ends)))
        for n in range(least, len(self.trips)):
            trip = self.trips[n]
            if mask >> n & 1:
                continue
            if (at := max(label.link, start, trip.gone)) < end:
                link = at + trip.seconds
                after = label._replace(link=link, begun=(n, number, label.begun))
                yield from self._beside(
                    number, mask | 1 << n, after, ends | {n: link}, start, n + 1
                )
            if not self.any_order:
                break


def _keep(labels: list[Label], new: Label) -> None:
    """Add a label, unless one is as good at all times; drop those that it is as good as."""
    if any(all(map(le, one.times, new.times)) for one in labels):
        return
    labels[:] = [one for one in labels if not all(map(le, new.times, one.times))]
    labels.append(new)


def _bits(mask: int) -> list[int]:
    return [n for n in range(mask.bit_length()) if mask >> n & 1]


def _unrolled(begun: tuple[Any, ...]) -> list[tuple[int, int]]:
    """From the last to the first: here from the first to the last."""
    found = []
    while begun:
        n, number, begun = begun
        found.append((n, number))
    return found[::-1]
