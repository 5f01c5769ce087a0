"""Kernels for a GPU: types of their arguments, compilation, list and launch.

A kernel's annotations are its signature, so every kernel can be compiled, and looked at, where
there is no GPU. Arrays are passed to it as lines of values, whatever their shape.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from itertools import product
from types import FunctionType
from typing import Annotated, Any, NamedTuple, get_type_hints

from numba import cuda, types

from memlab.kernels.cuda.simulator import simulation
from memlab.kernels.cuda.target import simulated, target
from memlab.kernels.formulas import called
from memlab.kernels.registry import DTYPES, Array

Function = Callable[..., Any]
Shape = tuple[tuple[int, ...], tuple[int, ...]]
"""Shape of a launch: blocks in the grid, threads in a block."""

Values = Annotated[Array, "values"]
"""Line of values in the format of the step."""
Bytes = Annotated[Array, "bytes"]
Labels = Annotated[Array, "labels"]
Places = Annotated[Array, "places"]
"""Line of places in a window, in the narrowest format that holds them."""

ELEMENTS = {
    "values": tuple(getattr(types, dtype) for dtype in DTYPES.values()),
    "bytes": (types.uint8,),
    "labels": (types.int64,),
    "places": (types.uint8, types.int32),
}
NUMBERS = {"int": types.int64, "float": types.float64, "bool": types.boolean}

SIMULATED = simulated()


class Compiled(NamedTuple):
    """Kernel as a Python function, with its name and the types of its arguments in one format."""

    name: str
    function: Function
    signature: tuple[Any, ...]


FUNCTIONS: dict[str, Function] = {}
"""Every kernel, by ``file.name``."""


def compiled(function: Function, of: Function | None = None) -> Any:
    """Make a kernel of a function, and list it; it is compiled at its first launch per format.

    Functions of ``memlab.kernels.formulas`` that it calls become part of it.

    Args:
        function: the kernel in Python.
        of: the function that the kernel was made from, if it is listed under that function's name.
    """
    named, expanded = of or function, _with_formulas_inlined(function)
    file = named.__module__.rpartition(".")[2]
    FUNCTIONS[f"{file}.{named.__name__.lstrip('_')}"] = expanded
    return cuda.jit(expanded)


def inlined(function: Function, here: dict[str, Any] | None = None) -> Any:
    """Function whose code becomes part of the kernels that call it.

    Args:
        function: the function in Python.
        here: globals of the kernels' file, for a function of another file that uses ``cuda`` and no
            other global. The simulator replaces ``cuda`` only in the globals of the kernels' file.
    """
    if not SIMULATED:
        return cuda.jit(device=True, inline="always")(_with_formulas_inlined(function))
    return function if here is None else FunctionType(function.__code__, here)


def _with_formulas_inlined(function: Function) -> Function:
    """Copy of a function in which the functions of ``memlab.kernels.formulas`` that it calls are
    inlined.

    The simulator calls them as they are, so there the function itself is returned.
    """
    maps = {} if SIMULATED else called(function)
    if not maps:
        return function
    assert isinstance(function, FunctionType)
    names = function.__globals__ | {name: inlined(formula) for name, formula in maps.items()}
    copy = FunctionType(function.__code__, names, closure=function.__closure__)
    return update_wrapper(copy, function)


def all_kernels() -> list[Compiled]:
    """Every kernel that is loaded, by name, once for each signature that it is called with."""
    return [
        Compiled(name, function, signature)
        for name, function in sorted(FUNCTIONS.items())
        for signature in signatures(function)
    ]


def signatures(function: Function) -> list[tuple[Any, ...]]:
    """Types of a kernel's arguments, once for each choice of formats."""
    hints = get_type_hints(function, include_extras=True)
    del hints["return"]
    chosen = [dict(zip(ELEMENTS, choice, strict=True)) for choice in product(*ELEMENTS.values())]
    choices = [tuple(_type(hint, elements) for hint in hints.values()) for elements in chosen]
    return list(dict.fromkeys(choices))


def _type(hint: Any, elements: dict[str, Any]) -> Any:
    """Numba's type for an annotation: one or several lines of values, several numbers in the format
    of the values, a named tuple of those, or a number."""
    if hasattr(hint, "__metadata__"):
        name, *count = hint.__metadata__
        kind = elements[name] if hint.__origin__ is float else elements[name][::1]
        return types.UniTuple(kind, *count) if count else kind
    if hasattr(hint, "_fields"):
        own = get_type_hints(hint, include_extras=True).values()
        kinds = [_type(field, elements) for field in own]
        if len(set(kinds)) == 1:
            return types.NamedUniTuple(kinds[0], len(kinds), hint)
        return types.NamedTuple(kinds, hint)
    return NUMBERS[hint.__name__]


def launch(kernel: Any, shape: Shape, *arguments: Any) -> None:
    """Run a kernel; on a GPU it may still be running when this returns."""
    if target().simulated:
        with simulation():
            kernel[shape](*arguments)
    else:
        kernel[shape](*arguments)


# -- blocks and threads --------------------------------------------------------------------------


THREADS = 4 if SIMULATED else 256
"""Threads in a block."""
BLOCKS = 2 if SIMULATED else 2**11
"""Largest number of blocks whose threads go on to another value; a GPU gets several for each of its
multiprocessors."""
WIDE, HIGH = (2, 2) if SIMULATED else (2**31 - 1, 2**16 - 1)
"""Most blocks along the first axis of a grid, and along the two others: CUDA's limits."""
DEEP = 2 if SIMULATED else 8
"""Largest number of threads of a block along its third axis."""


def values(count: int, batch: int = 1) -> Shape:
    """Launch shape in which threads take the ``count`` values of each sample in turns."""
    high = min(batch, HIGH)
    wide = min(-(-count // THREADS), max(1, BLOCKS // high))
    return (wide, high), (THREADS, 1)


def results(count: int, columns: int) -> Shape:
    """Launch shape with a block of THREADS threads for each of ``count`` results, arranged for rows
    of ``columns`` values."""
    return (count,), _lanes(columns, THREADS)


def planes(columns: int, rows: int, planes: int, deep: int = 1) -> Shape:
    """Launch shape with a thread, or ``deep`` threads, for each place of each plane; neighbours are
    in one row."""
    z = min(deep, DEEP)
    x, y = _lanes(columns, 1 << (THREADS // z).bit_length() - 1)
    grid = min(-(-columns // x), WIDE), min(-(-rows // y), HIGH), min(planes, HIGH)
    return grid, (x, y, z)


def _lanes(columns: int, threads: int) -> tuple[int, int]:
    """Columns and rows of a block with a power of two of threads: one row, or several where rows
    are short."""
    x = min(threads, 1 << (columns - 1).bit_length())
    return x, threads // x
