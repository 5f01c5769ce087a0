"""Loops that are made of formulas (``memlab.kernels.device_independent``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from memlab.kernels.cpu.compile import callable_in_loops, compiled
from memlab.kernels.cpu.flat_arrays import lines
from memlab.kernels.device_independent import values_of
from memlab.kernels.registry import Array

Extra = tuple[Any, ...]
"""What a formula takes beside the values."""


def of_one(f: Callable[..., Any]) -> Callable[..., None]:
    """The loops for ``y = f(x)`` and ``y += f(x)``. Where x and y are one array, the compiler is
    told so, and takes whole vectors."""

    @compiled
    def loop(x: Array, y: Array, add: bool, extra: Extra) -> None:
        if add:
            for i in range(y.size):
                y[i] += f(x[i], *extra)
        elif x.ctypes.data == y.ctypes.data:
            for i in range(y.size):
                y[i] = f(y[i], *extra)
        else:
            for i in range(y.size):
                y[i] = f(x[i], *extra)

    return loop


def of_two(f: Callable[..., Any]) -> Callable[..., None]:
    """The loops for ``y = f(x, other)`` and ``y += f(x, other)``; x and y may be one array."""

    @compiled
    def loop(x: Array, other: Array, y: Array, add: bool, extra: Extra) -> None:
        if add:
            for i in range(y.size):
                y[i] += f(x[i], other[i], *extra)
        elif x.ctypes.data == y.ctypes.data:
            for i in range(y.size):
                y[i] = f(y[i], other[i], *extra)
        else:
            for i in range(y.size):
                y[i] = f(x[i], other[i], *extra)

    return loop


def of_arrays(f: Callable[..., Any]) -> Callable[..., None]:
    """The loop for a formula that changes value ``i`` of several arrays."""

    @compiled
    def loop(arrays: tuple[Array, ...], settings: tuple[float, ...]) -> None:
        for i in range(arrays[0].size):
            f(i, arrays, settings)

    return loop


class _Loops(dict[Callable[..., Any], Callable[..., None]]):
    """By formula, made when they are first needed."""

    def __missing__(self, formula: Callable[..., Any]) -> Callable[..., None]:
        way = {0: of_arrays, 1: of_one, 2: of_two}[values_of(formula)]
        made = self[formula] = way(callable_in_loops(formula))
        return made


LOOPS = _Loops()


def each(
    formula: Callable[..., Any], *arrays: Array, add: bool = False, setting: float | None = None
) -> None:
    """Put a formula of the values of all arrays but the last into, or onto, those of the last."""
    loop, extra = LOOPS[formula], () if setting is None else (setting,)
    for line in lines(*arrays):
        loop(*line, add, extra)


def update(formula: Callable[..., None], arrays: Iterable[Array], settings: Extra) -> None:
    """Change every value of a parameter and of its states."""
    LOOPS[formula](tuple(array.reshape(-1) for array in arrays), settings)
