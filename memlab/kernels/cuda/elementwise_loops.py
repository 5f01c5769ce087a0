"""Kernels over values, made from the formulas of ``memlab.kernels.device_independent``.

A thread takes values of a sample at regular distances, so that neighbouring threads read
neighbouring values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import numpy as np
from numba import cuda

from memlab.kernels import device_independent
from memlab.kernels.cuda.compile import Values, compiled, inlined, launch, planes, values
from memlab.kernels.cuda.flat_arrays import launch_on_values, line
from memlab.kernels.device_independent import SETTING, Update, has_parameter, value_count
from memlab.kernels.formulas.accumulation import write_or_add
from memlab.kernels.registry import Array
from memlab.optimizers import OPTIMIZERS

_U = np.uint64
Formula = Callable[..., Any]


def kernel_of_one_value(function: Formula) -> Any:
    """Kernel for ``y = f(x)``, or ``y += f(x)``."""
    f = inlined(function)
    value = f if has_parameter(function, SETTING) else inlined(lambda x, setting: f(x))

    def loop(
        x: Values, x_pitch: int, y: Values, y_pitch: int, batch: int, count: int, setting: float,
        add: bool,
    ) -> None:  # fmt: skip
        number = y.dtype.type(setting)
        b = cuda.blockIdx.y
        while b < batch:
            i = cuda.grid(1)
            while i < count:
                write_or_add(y, _U(b * y_pitch + i), value(x[_U(b * x_pitch + i)], number), add)
                i += cuda.gridsize(1)
            b += cuda.gridDim.y

    return compiled(loop, function)


def kernel_of_two_values(function: Formula) -> Any:
    """Kernel for ``y = f(x, other)``, or ``y += f(x, other)``."""
    f = inlined(function)
    value = (
        f if has_parameter(function, SETTING) else inlined(lambda x, other, setting: f(x, other))
    )

    def loop(
        x: Values, x_pitch: int, other: Values, other_pitch: int, y: Values, y_pitch: int,
        batch: int, count: int, setting: float, add: bool,
    ) -> None:  # fmt: skip
        number = y.dtype.type(setting)
        b = cuda.blockIdx.y
        while b < batch:
            i = cuda.grid(1)
            while i < count:
                here = x[_U(b * x_pitch + i)]
                there = other[_U(b * other_pitch + i)]
                write_or_add(y, _U(b * y_pitch + i), value(here, there, number), add)
                i += cuda.gridsize(1)
            b += cuda.gridDim.y

    return compiled(loop, function)


def kernel_over_arrays(kind: str, of: Update) -> Any:
    """Kernel for the formula of an optimizer, which changes value ``i`` of a parameter and of its
    states."""
    f = inlined(of.formula)

    def loop(arrays: Any, settings: Any, count: int) -> None:
        i = cuda.grid(1)
        while i < count:
            f(i, arrays, settings)
            i += cuda.gridsize(1)

    loop.__annotations__ |= {
        "arrays": Annotated[Array, "values", OPTIMIZERS[kind].arrays],
        "settings": Annotated[float, "values", of.settings_count],
    }
    return compiled(loop, of.formula)


device_independent.load()
FORMULA_KERNELS = {
    f: (kernel_of_one_value if value_count(f) == 1 else kernel_of_two_values)(f)
    for f in device_independent.FORMULAS
}
UPDATES = {
    of.formula: kernel_over_arrays(kind, of) for kind, of in device_independent.UPDATES.items()
}


def apply_formula(formula: Formula, *arrays: Array, add: bool = False, setting: float = 0) -> None:
    """Apply a formula to the values of all arrays but the last, and put the results into the last.

    Args:
        formula: function of one value or two, and of a ``setting`` if it takes one.
        arrays: inputs, then the output, all of one shape.
        add: True to add the results to the output.
        setting: the formula's last argument, the same for all values.
    """
    launch_on_values(FORMULA_KERNELS[formula], list(arrays), setting, add)


def update(formula: Formula, arrays: Iterable[Array], settings: Iterable[float]) -> None:
    """Apply an optimizer's formula to every value of a parameter, its gradient and its states.

    The settings are converted to the format of the parameter.
    """
    lines = tuple(line(array) for array in arrays)
    number, count = lines[0].dtype.type, lines[0].size
    launch(UPDATES[formula], values(count), lines, tuple(map(number, settings)), count)


def at_every_place(operands: type) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that makes a kernel of a function and calls it for every place of some
    maps.

    The function takes an image, a channel, a row, a column, and the operands.

    Args:
        operands: class of the operands: a named tuple with annotations.
    """

    def lift(function: Callable[..., None]) -> Any:
        f = inlined(function)

        def loop(batch: int, channels: int, rows: int, columns: int, of: Any) -> None:
            left, top, plane = cuda.grid(3)
            across, down, along = cuda.gridsize(3)
            while plane < batch * channels:
                b, c = plane // channels, plane % channels
                row = top
                while row < rows:
                    column = left
                    while column < columns:
                        f(b, c, row, column, of)
                        column += across
                    row += down
                plane += along

        loop.__annotations__["of"] = operands
        return compiled(loop, function)

    return lift


def every_place(maps: Any) -> tuple[Any, ...]:
    """Launch shape for every place of maps (B, C, H, W), followed by their extents, as arguments of
    ``launch``."""
    batch, channels, rows, columns = maps.shape
    return planes(columns, rows, batch * channels), *maps.shape
