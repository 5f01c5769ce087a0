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
    code = get_instructions(function)
    names = [step.argval for step in code if step.opname == "LOAD_GLOBAL"]
    values = {name: function.__globals__.get(name) for name in names}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, FunctionType) and value.__module__.startswith(__name__ + ".")
    }
