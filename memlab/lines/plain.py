"""What plans and pictures ask of NumPy, on lists: lines of one axis, by NumPy's names and rules.

Whole numbers are Python's own, so that no sum of them is too large. Figures beyond 2**53 become
floats only where NumPy's would.
"""

from __future__ import annotations

import builtins
import math
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, pairwise, repeat
from typing import Any, NoReturn

from memlab.errors import library

int64, float64, bool_, inf = int, float, bool, math.inf


class Array:
    """A line of figures; one figure and a line, or two lines of one length, give a line."""

    def __init__(self, figures: Iterable[Any]) -> None:
        self._figures = list(figures)

    @property
    def dtype(self) -> type[Any]:
        """The type of the figures; of an empty line float, as in NumPy."""
        return type(self._figures[0]) if self._figures else float

    @property
    def size(self) -> int:
        """How many figures."""
        return len(self._figures)

    def tolist(self) -> list[Any]:
        """The figures."""
        return self._figures.copy()

    def copy(self) -> Array:
        """The same figures in a line of its own."""
        return Array(self._figures)

    def astype(self, dtype: Any) -> Array:
        """The figures in another type."""
        return Array(self._figures if dtype is object else map(dtype, self._figures))

    def __len__(self) -> int:
        return len(self._figures)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._figures)

    def __repr__(self) -> str:
        return f"array({self._figures})"

    def __getitem__(self, at: Any) -> Any:
        """A figure, a slice, those at some places, or those where it is true."""
        if isinstance(at, slice):
            return Array(self._figures[at])
        if isinstance(at, Array | list):
            return Array(map(self._figures.__getitem__, self._places(at)))
        return self._figures[at]

    def __setitem__(self, at: Any, figures: Any) -> None:
        if isinstance(at, int):
            self._figures[at] = figures
            return
        places = range(*at.indices(len(self))) if isinstance(at, slice) else self._places(at)
        for place, figure in zip(places, _against(figures, len(places)), strict=True):
            self._figures[place] = figure

    def _places(self, at: Array | list[Any]) -> list[int]:
        places = list(at)
        if not places or not isinstance(places[0], bool):
            return places
        return [place for place, chosen in zip(range(len(self)), places, strict=True) if chosen]

    def max(self, initial: Any = -inf) -> Any:
        """The largest figure."""
        return _best(max, self._figures, initial)

    def min(self, initial: Any = inf) -> Any:
        """The smallest figure."""
        return _best(min, self._figures, initial)

    def sum(self) -> Any:
        """Of whole numbers or truths."""
        return builtins.sum(self._figures)

    def any(self) -> bool:
        """Whether a figure is not 0."""
        return any(self._figures)

    def argmax(self) -> int:
        """The first place of the largest."""
        return self._figures.index(max(self._figures))

    def argmin(self) -> int:
        """The first place of the smallest."""
        return self._figures.index(min(self._figures))

    def __neg__(self) -> Array:
        return Array(map(operator.neg, self._figures))

    def __abs__(self) -> Array:
        return Array(map(abs, self._figures))

    def __invert__(self) -> Array:
        return Array(map(operator.not_, self._figures))

    def __hash__(self) -> int:
        return id(self)


def _against(other: Any, count: int) -> Iterable[Any]:
    """The figures of a line, or one figure as often."""
    return other if isinstance(other, Array | list | tuple) else [other] * count


def _best(best: Callable[..., Any], figures: list[Any], initial: Any) -> Any:
    if not figures and initial in (-inf, inf):
        raise ValueError("an empty line has no largest and no smallest figure.")
    found = best(figures, default=initial)
    return found if initial in (-inf, inf) else best(found, initial)


def _each(do: Callable[[Any, Any], Any], one: Any, other: Any) -> Array:
    """Of every two figures; at least one of both is a line."""
    lines = [each for each in (one, other) if isinstance(each, Array)]
    if len(lines[0]) != len(lines[-1]):
        raise ValueError(f"lines of {len(lines[0])} and of {len(lines[-1])} figures.")
    return Array(map(do, *(e if isinstance(e, Array) else repeat(e) for e in (one, other))))


def _binary(do: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator of two lines, and the one that is asked of the right one."""

    def left(self: Array, other: Any) -> Array:
        return _each(do, self, other)

    def right(self: Array, other: Any) -> Array:
        return _each(do, other, self)

    return left, right


for _name in ("add", "sub", "mul", "truediv", "floordiv", "and_", "or_"):
    _left, _right = _binary(getattr(operator, _name))
    setattr(Array, f"__{_name.strip('_')}__", _left)
    setattr(Array, f"__r{_name.strip('_')}__", _right)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Array, f"__{_name}__", _binary(getattr(operator, _name))[0])


class _Best:
    """``maximum`` and ``minimum``."""

    def __init__(self, best: Callable[..., Any]) -> None:
        self.best = best

    def __call__(self, one: Any, other: Any) -> Any:
        """Of every two figures."""
        lines = isinstance(one, Array) or isinstance(other, Array)
        return _each(self.best, one, other) if lines else self.best(one, other)

    def accumulate(self, line: Array) -> Array:
        """Of all figures up to each."""
        return Array(accumulate(line, self.best))

    def reduceat(self, line: Array, ends: Array) -> Array:
        """From each place to the next one; where that is not later, the figure there."""
        places, figures = ends.tolist(), line.tolist()
        stops = [*places[1:], len(figures)]
        return Array(
            self.best(figures[first : max(stop, first + 1)])
            for first, stop in zip(places, stops, strict=True)
        )


class _At:
    """``add`` and ``subtract``, in place."""

    def __init__(self, do: Callable[[Any, Any], Any]) -> None:
        self.do = do

    def at(self, line: Array, places: Array, figures: Any) -> None:
        """At each place, also where it comes twice."""
        for place, figure in zip(places, _against(figures, len(places)), strict=True):
            line[place] = self.do(line[place], figure)


maximum, minimum = _Best(max), _Best(min)
add, subtract = _At(operator.add), _At(operator.sub)


def array(figures: Any, dtype: Any = None) -> Any:
    """A line; of one figure the figure."""
    if not isinstance(figures, Iterable):
        return figures
    return Array(figures) if dtype is None else Array(figures).astype(dtype)


def full(count: int, figure: Any) -> Array:
    """A line of one figure."""
    return Array([figure] * count)


def zeros(count: int, dtype: Any = float) -> Array:
    """A line of nothing."""
    return full(count, 0 if dtype is object else dtype())


def zeros_like(line: Array) -> Array:
    """As many zeros of the same type."""
    return zeros(len(line), line.dtype)


def ones(count: int) -> Array:
    """A line of ones."""
    return full(count, 1.0)


def arange(first: Any, stop: Any = None, step: Any = 1) -> Array:
    """From a figure to the last one before another, in equal steps."""
    first, stop = (0, first) if stop is None else (first, stop)
    count, step = max(0, math.ceil((stop - first) / step)), first + step - first
    return Array(first + index * step for index in range(count))


def append(line: Array, more: Any) -> Array:
    """A line, and one figure or another line after it."""
    return concatenate([line, _against(more, 1)])


def concatenate(lines: Iterable[Iterable[Any]]) -> Array:
    """One after the other."""
    return Array(figure for line in lines for figure in line)


def cumsum(line: Iterable[Any]) -> Array:
    """The sums of all figures up to each."""
    return Array(accumulate(line))


def diff(line: Array) -> Array:
    """How much each is more than the one before."""
    return Array(b - a for a, b in pairwise(line))


def sum(lines: Sequence[Any], axis: int = 0) -> Any:
    """Of some lines, for every place."""
    return reduce(operator.add, lines)


def rint(line: Array) -> Array:
    """Rounded to whole figures, of two the even one; floats as before."""
    return Array(float(round(figure)) for figure in line)


def ceil(line: Array) -> Array:
    """The next whole figures; floats as before."""
    return Array(float(math.ceil(figure)) for figure in line)


def log(figure: Any) -> Any:
    """The natural logarithm."""
    return Array(map(math.log, figure)) if isinstance(figure, Array) else math.log(figure)


def isfinite(figure: Any) -> Any:
    """Whether it is a number."""
    return Array(map(math.isfinite, figure)) if isinstance(figure, Array) else math.isfinite(figure)


def clip(line: Array, low: Any, high: Any) -> Array:
    """No less than one figure, and then no more than the other."""
    found: Array = minimum(maximum(line, low), high)
    return found


def where(chosen: Array, yes: Any, no: Any) -> Array:
    """One figure where it is true, and the other one where it is not."""
    lines = (_against(each, len(chosen)) for each in (yes, no))
    return Array(a if here else b for here, a, b in zip(chosen, *lines, strict=True))


def flatnonzero(line: Iterable[Any]) -> Array:
    """The places of what is not 0."""
    return Array(place for place, figure in enumerate(line) if figure)


def count_nonzero(line: Array) -> int:
    """How many are not 0."""
    return len(flatnonzero(line))


def argmax(line: Array) -> int:
    """The first place of the largest."""
    return line.argmax()


def argsort(line: Array, kind: str = "stable") -> Array:
    """The places in the order of their figures, equal ones in their own."""
    return Array(sorted(range(len(line)), key=line.tolist().__getitem__))


def lexsort(keys: tuple[Any, ...]) -> Array:
    """The places in the order of the last key, where that is equal of the one before it."""
    columns = list(zip(*reversed(keys), strict=True))
    return Array(sorted(range(len(columns)), key=columns.__getitem__))


def sort(line: Array) -> Array:
    """The figures in order."""
    return Array(sorted(line))


def searchsorted(line: Array, wanted: Any, side: str = "left") -> Any:
    """Where figures would stand in a line in order: before equal ones, or to their right."""
    find, figures = bisect_left if side == "left" else bisect_right, line.tolist()
    if isinstance(wanted, Array):
        return Array(find(figures, each) for each in wanted)
    return find(figures, wanted)


def unique(line: Array, return_index: bool = False) -> Any:
    """The different figures in order, and where each comes first."""
    first: dict[Any, int] = {}
    for place, figure in enumerate(line):
        first.setdefault(figure, place)
    found = sorted(first)
    places = Array(first[figure] for figure in found)
    return (Array(found), places) if return_index else Array(found)


def __getattr__(name: str) -> NoReturn:
    """All else of NumPy.

    Raises:
        InputError: it is not installed.
    """
    if not name.startswith("_"):
        library("numpy", "computing with arrays")
    raise AttributeError(name)
