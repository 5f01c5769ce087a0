"""Modules of Numba and llvmlite that kernels are written with instruction by instruction.

They are loaded when the first of them is compiled: where kernels come from a table, they are not
installed, and nothing asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from memlab.free_memory import compiler


class LateModule:
    """Module that is imported when the first of its names is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


ir: Any = LateModule("llvmlite.ir")
types: Any = LateModule("numba.types")


def intrinsic(function: Callable[..., Any], literal: bool = False) -> Any:
    """Make an intrinsic of a function: compiled code that calls it gets the instructions that the
    function writes.

    Args:
        function: writes the instructions, as ``numba.extending.intrinsic`` asks for it.
        literal: True where the function wants the value of an argument that is a constant.
    """
    if not compiler():
        return function
    from numba import extending

    return extending.intrinsic(prefer_literal=literal)(function)
