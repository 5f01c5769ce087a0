"""Signatures that pages need, gathered by walking declared steps without computing them.

While they are walked, a kernel writes down the types of its arguments and returns. Where it returns
a number that Python goes on with, that number is computed in Python, on arrays that are small.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from inspect import signature
from itertools import product
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.registry import CPUDispatcher

from memlab.kernels.cpu import blas
from memlab.kernels.cpu import compile as compiling
from memlab.kernels.cpu.compiled_table import STRIDED, described, full_name, positional
from memlab.kernels.formulas import called

types: Any = numba.types

WITH_GAPS = frozenset({"memlab.kernels.cpu.loop_products"})
"""Modules whose code is compiled for arrays with gaps alone: it is as fast for others."""


class Needed(NamedTuple):
    """A kernel and the types of its arguments, as the table and as Numba writes them."""

    kernel: Any
    name: str
    given: str
    types: tuple[Any, ...]


NEEDED: dict[tuple[str, str], Needed] = {}
"""All that was gathered so far, by the names of kernel and signature."""


class Kernel(CPUDispatcher):
    """Function that Numba compiles and that Python cannot call: a call is written down."""

    interpreted = False

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named or len(args) < self.py_func.__code__.co_argcount:
            args = positional(signature(self.py_func), args, named)
        if not Kernel.interpreted:
            self.needs(*args)
        if self.py_func.__annotations__.get("return") == "None":
            return None
        return self._interpret(args)

    def needs(self, *args: Any) -> None:
        """Write down that code for the types of these arguments is needed."""
        name, given = full_name(self.py_func), described(args)
        layouts = f"C{STRIDED}"
        if self.py_func.__module__ in WITH_GAPS:
            given, layouts = re.sub("C\\b", STRIDED, given), STRIDED
        if (name, given) not in NEEDED:
            kinds = tuple(_type(value, layouts) for value in args)
            NEEDED[name, given] = Needed(self, name, given, kinds)

    def _interpret(self, args: tuple[Any, ...]) -> Any:
        """Return what the kernel would return."""
        before, Kernel.interpreted = Kernel.interpreted, True
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.py_func(*args)
        except NotImplementedError:  # it is written instruction by instruction
            return 0
        finally:
            Kernel.interpreted = before


def _type(value: Any, layouts: str) -> Any:
    """Type of an argument, in one of the forms that code is compiled for: arrays that can be
    written, contiguous (``C``) or with values that lie apart (``A``)."""
    kind = numba.typeof(value)
    if isinstance(kind, types.Array):
        layout = kind.layout if kind.layout in layouts else STRIDED
        return types.Array(kind.dtype, kind.ndim, layout)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return types.NamedTuple([_type(part, layouts) for part in value], type(value))
    if isinstance(value, tuple):
        return types.Tuple([_type(part, layouts) for part in value])
    return kind


def install() -> None:
    """Let kernels write down their calls from now on, before their modules are imported."""
    compiling.maker = lambda: _kernel  # type: ignore[assignment]  # a function that is cached
    compiling.nothing = compiling.compiled(compiling.nothing.py_func)  # type: ignore[attr-defined]  # Numba's
    blas.product = _loops  # type: ignore[assignment]


def _kernel(function: Callable[..., Any], liberties: AbstractSet[str], keep: bool) -> Kernel:
    """Kernel that writes down its calls."""
    for formula in called(function).values():
        compiling.callable_in_loops(formula)
    options = {"nopython": True, **compiling.options(liberties)}
    return Kernel(py_func=function, targetoptions=options)


def _loops() -> Callable[..., None]:
    """Matrix products of a page."""
    from memlab.kernels.cpu import loop_products

    return loop_products.gemm


def gathered() -> list[Needed]:
    """Walk everything that is declared, and return what it needs, in the order of names."""
    from memlab.kernels import registry

    registry.load()
    for gather in (_steps, _products, _conversions, _lowering, _experiments, _searches, _images):
        gather()
    return [NEEDED[key] for key in sorted(NEEDED)]


def _steps() -> None:
    """Walk every step that is declared."""
    from memlab.errors import InputError
    from memlab.runtime.run import run
    from web.wasm import programs

    for step, batch in programs.steps():
        run(step, batch)
    for step in programs.others():
        with suppress(InputError):
            run(step, 2)


def _products() -> None:
    """Ask for matrix products, whose rows may lie apart, in both formats."""
    from memlab.kernels.cpu import loop_products

    for dtype in (np.float32, np.float64):
        apart = np.ones((4, 6), dtype)[:, :4]
        for turn_a, turn_b in product((False, True), repeat=2):
            loop_products.gemm(apart, apart, apart, False, turn_a, turn_b, 1.0)


def _conversions() -> None:
    """Ask for the conversions of every small format, alone and in blocks."""
    from memlab.formats import FORMATS, STORED
    from memlab.kernels.cpu.small_formats import blockwise, conversions

    for format in (FORMATS[name] for name in STORED if name != "fp32"):
        stored, values = np.zeros(4, format.dtype()), np.zeros(4, np.float32)
        conversions.widen(stored, values, format)
        for key in (None, 0):
            conversions.narrow(values, stored, format, key)
            if format.bits == 8:
                scales = np.ones(2, np.float32)
                blockwise.widen_blocks(stored, scales, values, format, 2)
                blockwise.narrow_blocks(values, stored, scales, format, 2, key)


def _lowering() -> None:
    """Ask for lowering and its adjoint as learners call them."""
    from memlab.kernels.cpu.conv import batch_lowering

    for dtype in (np.float32, np.float64):
        images = np.zeros((2, 4, 6, 6), dtype)
        for groups in (1, 2):
            lowered = batch_lowering.im2col(images, 3, 1, 1, groups=groups)
            batch_lowering.col2im(lowered, images.shape, 3, 1, 1, groups=groups)


def _experiments() -> None:
    """Ask for the loops of lesson 05: in vectors of each width, over an array, and with samples
    innermost."""
    from memlab.kernels.cpu import vector_experiments
    from memlab.kernels.cpu.conv import samples_innermost

    for format, power in product(vector_experiments.available(), range(7)):
        kind = vector_experiments.ARITHMETIC[format]
        if 2**power >= kind.least:
            vector_experiments.micro_kernel(format, 2**power).run(1)
    for name in ("float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64"):
        vector_experiments.total(np.ones(vector_experiments.BLOCK, name))
    for dtype, way in product((np.float32, np.float64), samples_innermost.WAYS):
        x, weight = np.zeros((2, 6, 6, 4), dtype), np.zeros((3, 2, 3, 3), dtype)
        samples_innermost.conv2d(x, weight, np.zeros((3, 6, 6, 4), dtype), 1, 1, way)


def _searches() -> None:
    """Ask for the search for NaN in every format that has one."""
    from memlab.formats import FLOATS
    from memlab.kernels.cpu import nan_search

    for format in FLOATS.values():
        if format.nan:
            values = np.zeros(4, format.dtype())
            values.view(np.uint8)[...] = 0xFF  # NaN, so that its places are hashed
            nan_search.nan_places(values)


def _images() -> None:
    """Ask for the conversion of images in both formats."""
    from memlab.clocks.data_path import AUGMENT
    from memlab.kernels import registry
    from memlab.kernels.registry import KernelCall

    for format, dtype in registry.DTYPES.items():
        images = {"x": np.zeros((2, 1, 3, 3), np.uint8), "y": np.zeros((2, 1, 3, 3), dtype)}
        settings = {"crop": 1, "flip": 1, "mean": 0, "scale": 1}
        registry.find(AUGMENT, format=format)(KernelCall(images, settings=settings))
