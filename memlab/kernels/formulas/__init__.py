"""Formulas, index maps and random numbers in plain Python: they stand once, and the kernels of
every device compile them."""

from __future__ import annotations

from collections.abc import Callable
from dis import get_instructions
from types import FunctionType
from typing import Any


def called(function: Callable[..., Any]) -> dict[str, FunctionType]:
    """The functions of this folder that a function calls, by the names that they have there."""
    assert isinstance(function, FunctionType)
    loads = (each for each in get_instructions(function) if each.opname == "LOAD_GLOBAL")
    names = {each.argval: function.__globals__.get(each.argval) for each in loads}
    return {
        name: each
        for name, each in names.items()
        if isinstance(each, FunctionType) and each.__module__.startswith(__name__ + ".")
    }
