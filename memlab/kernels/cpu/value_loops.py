"""Loops that are made of formulas (``memlab.kernels.everywhere``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from memlab.kernels.cpu.arrays import lines, start
from memlab.kernels.cpu.compile import callable_in_loops, compiled
from memlab.kernels.everywhere import values_of
from memlab.kernels.registry import Array

Extra = tuple[Any, ...]
"""What a formula takes beside the values."""


class Lines(NamedTuple):
    """The loops of a formula: each writes a line of values, adds to it, or changes it. Told that a
    line is both operand and result, the compiler takes whole vectors."""

    write: Callable[..., None]
    add: Callable[..., None]
    change: Callable[..., None]


def of_one(f: Callable[..., Any]) -> Lines:
    """The loops for ``y = f(x)``."""

    @compiled
    def write(x: Array, y: Array, extra: Extra) -> None:
        for i in range(y.size):
            y[i] = f(x[i], *extra)

    @compiled
    def add(x: Array, y: Array, extra: Extra) -> None:
        for i in range(y.size):
            y[i] += f(x[i], *extra)

    @compiled
    def change(y: Array, extra: Extra) -> None:
        for i in range(y.size):
            y[i] = f(y[i], *extra)

    return Lines(write, add, change)


def of_two(f: Callable[..., Any]) -> Lines:
    """The loops for ``y = f(x, other)``."""

    @compiled
    def write(x: Array, other: Array, y: Array, extra: Extra) -> None:
        for i in range(y.size):
            y[i] = f(x[i], other[i], *extra)

    @compiled
    def add(x: Array, other: Array, y: Array, extra: Extra) -> None:
        for i in range(y.size):
            y[i] += f(x[i], other[i], *extra)

    @compiled
    def change(other: Array, y: Array, extra: Extra) -> None:
        for i in range(y.size):
            y[i] = f(y[i], other[i], *extra)

    return Lines(write, add, change)


def of_arrays(f: Callable[..., Any]) -> Callable[..., None]:
    """The loop for a formula that changes value ``i`` of several arrays."""

    @compiled
    def loop(arrays: tuple[Array, ...], settings: tuple[float, ...]) -> None:
        for i in range(arrays[0].size):
            f(i, arrays, settings)

    return loop


class _Made(dict[Callable[..., Any], Any]):
    """Loops by formula, made when they are first needed."""

    def __init__(self, *ways: Callable[..., Any]) -> None:
        super().__init__()
        self.ways = ways

    def __missing__(self, formula: Callable[..., Any]) -> Any:
        """By how many values the formula takes, where there are several ways."""
        way = self.ways[0 if len(self.ways) == 1 else values_of(formula) - 1]
        made = self[formula] = way(callable_in_loops(formula))
        return made


LINES, CHANGES = _Made(of_one, of_two), _Made(of_arrays)


def each(
    formula: Callable[..., Any], *arrays: Array, add: bool = False, setting: float | None = None
) -> None:
    """Put a formula of the values of all arrays but the last into, or onto, those of the last."""
    made: Lines = LINES[formula]
    extra = () if setting is None else (setting,)
    for x, *others, y in lines(*arrays):
        if add:
            made.add(x, *others, y, extra)
        elif start(x) == start(y):
            made.change(*others, y, extra)
        else:
            made.write(x, *others, y, extra)


def update(formula: Callable[..., None], arrays: Iterable[Array], settings: Extra) -> None:
    """Change every value of a parameter and of its states."""
    CHANGES[formula](tuple(array.reshape(-1) for array in arrays), settings)
