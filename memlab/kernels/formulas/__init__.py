"""Formulas, index maps and random numbers in plain Python, written once and compiled by the kernels
of every device."""

from __future__ import annotations

from collections.abc import Callable
from dis import get_instructions
from types import FunctionType
from typing import Any


def called(function: Callable[..., Any]) -> dict[str, FunctionType]:
    """Functions of this package that a function calls, by the names that it calls them by."""
    assert isinstance(function, FunctionType)
    loads = (each for each in get_instructions(function) if each.opname == "LOAD_GLOBAL")
    names = {each.argval: function.__globals__.get(each.argval) for each in loads}
    return {
        name: each
        for name, each in names.items()
        if isinstance(each, FunctionType) and each.__module__.startswith(__name__ + ".")
    }
