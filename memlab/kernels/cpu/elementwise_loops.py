"""Loops over values, made from the formulas of ``memlab.kernels.device_independent``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from memlab.kernels.cpu.compile import callable_in_loops, compiled
from memlab.kernels.cpu.flat_arrays import lines
from memlab.kernels.device_independent import value_count
from memlab.kernels.registry import Array

Extra = tuple[Any, ...]
"""Arguments of a formula after the values."""


def loop_of_one_value(f: Callable[..., Any]) -> Callable[..., None]:
    """Compiled loop for ``y = f(x)`` and ``y += f(x)``.

    There is a loop of its own for x and y in the same memory, so that the compiler knows it and
    uses vectors.
    """

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


def loop_of_two_values(f: Callable[..., Any]) -> Callable[..., None]:
    """Compiled loop for ``y = f(x, other)`` and ``y += f(x, other)``; x and y may be the same
    memory."""

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


def loop_over_arrays(f: Callable[..., Any]) -> Callable[..., None]:
    """Compiled loop that calls a formula for every index ``i`` of several arrays, which it changes
    in place."""

    @compiled
    def loop(arrays: tuple[Array, ...], settings: tuple[float, ...]) -> None:
        for i in range(arrays[0].size):
            f(i, arrays, settings)

    return loop


class _Loops(dict[Callable[..., Any], Callable[..., None]]):
    """Compiled loops by formula, made at the first use of each."""

    def __missing__(self, formula: Callable[..., Any]) -> Callable[..., None]:
        make_loop = {0: loop_over_arrays, 1: loop_of_one_value, 2: loop_of_two_values}[
            value_count(formula)
        ]
        loop = self[formula] = make_loop(callable_in_loops(formula))
        return loop


LOOPS = _Loops()


def apply_formula(
    formula: Callable[..., Any], *arrays: Array, add: bool = False, setting: float | None = None
) -> None:
    """Apply a formula to the values of all arrays but the last, and put the results into the last.

    Args:
        formula: function of one value or two, and of a ``setting`` if it is given.
        arrays: inputs, then the output, all with the same number of values.
        add: True to add the results to the output.
        setting: the formula's last argument, the same for all values.
    """
    loop, extra = LOOPS[formula], () if setting is None else (setting,)
    for line in lines(*arrays):
        loop(*line, add, extra)


def update(formula: Callable[..., None], arrays: Iterable[Array], settings: Extra) -> None:
    """Apply an optimizer's formula to every value of a parameter, its gradient and its states."""
    LOOPS[formula](tuple(array.reshape(-1) for array in arrays), settings)
