"""Bytes of arrays that a learner's function keeps from call to call, to be added to its measured
peak.

A function keeps an array in the variables that its code names, in closures, defaults and
attributes, in the containers that these hold, and in the functions that it calls. An array that is
reached in any other way is not counted.
"""

from __future__ import annotations

import dis
import gc
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from memlab.lesson.guarded_call import PACKAGE

MOST_OBJECTS = 10**5
"""Most objects that are searched."""
NAMING = {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "IMPORT_NAME"}
INSTALLED = (
    PACKAGE,
    *(sysconfig.get_paths()[name] for name in ("purelib", "platlib")),
    str(Path(np.__file__).parents[1]),  # where NumPy is, so are the others
)
LIBRARIES = (*INSTALLED, sysconfig.get_paths()["stdlib"])


@dataclass(frozen=True)
class KeptBytes:
    """Bytes of the arrays that a function keeps from call to call (``nbytes``), and whether it
    keeps a thread or an executor that can work for it (``threads``)."""

    nbytes: int
    threads: bool


def kept_bytes(function: Callable[..., Any]) -> KeptBytes:
    """Return the bytes of the arrays that a function keeps from call to call.

    Each array counts once; where the function keeps a view, the array that owns the memory counts
    in full.
    """
    owners, threads = dict[int, Any](), False
    for value in _reachable_objects(function):
        if isinstance(value, np.ndarray):
            owner = _memory_owner(value)
            owners[id(owner)] = owner
        threads = threads or isinstance(value, (Thread, Executor))
    return KeptBytes(sum(owner.nbytes for owner in owners.values()), threads)


def _memory_owner(array: Any) -> Any:
    """Return the array that owns the memory of a view; an array that is no view is its own
    owner."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _reachable_objects(function: Callable[..., Any]) -> Iterator[Any]:
    """Yield every object that a function can reach, once each, up to ``MOST_OBJECTS``; objects of
    libraries, and what only they hold, are left out."""
    seen: dict[int, Any] = {}
    left: list[Any] = [function]
    while left and len(seen) < MOST_OBJECTS:
        value = left.pop()
        if id(value) in seen or _belongs_to_library(value):
            continue
        seen[id(value)] = value
        yield value
        if isinstance(value, FunctionType):
            left += _objects_of_function(value)
        elif not isinstance(value, np.ndarray):
            left += gc.get_referents(value)


def _belongs_to_library(value: Any) -> bool:
    """True for a module, for a function or class of a library, and for an instance of a class that
    an installed package defines. Instances of Python's own classes may hold the learner's
    values: False."""
    if isinstance(value, ModuleType):
        return True
    if isinstance(value, FunctionType):
        return value.__code__.co_filename.startswith(LIBRARIES)
    if isinstance(value, type):
        return _source_file(value).startswith(LIBRARIES)
    return not isinstance(value, np.ndarray) and _source_file(type(value)).startswith(INSTALLED)


def _source_file(kind: type) -> str:
    """Path of the file that defines a class; empty for a class of a notebook, or one written in
    C."""
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


def _objects_of_function(function: FunctionType) -> Iterator[Any]:
    """Yield the objects that a function carries (closure, defaults, attributes), and the global
    variables and modules that its code names."""
    yield from (function.__closure__, function.__defaults__, function.__kwdefaults__)
    yield vars(function)
    names = set(_global_names(function.__code__))
    attributes = {name for code in _nested_codes(function.__code__) for name in code.co_names}
    spaces = {name: sys.modules[name] for name in names & sys.modules.keys()}
    spaces |= {name: function.__globals__[name] for name in names & function.__globals__.keys()}
    for value in spaces.values():
        yield value
        if isinstance(value, ModuleType):
            yield from _named_attributes(value, attributes, {id(value)})


def _named_attributes(module: ModuleType, names: set[str], seen: set[int]) -> Iterator[Any]:
    """Yield the attributes of a module whose names occur in the code, as in ``np.place``;
    submodules are searched too."""
    for name in names & vars(module).keys():
        value = vars(module)[name]
        if not isinstance(value, ModuleType):
            yield value
        elif id(value) not in seen:
            seen.add(id(value))
            yield from _named_attributes(value, names, seen)


def _global_names(code: CodeType) -> Iterator[str]:
    """Yield the names of the global variables and modules that the code of a function uses."""
    for code_type in _nested_codes(code):
        for line in dis.get_instructions(code_type):
            if line.opname in NAMING:
                yield str(line.argval)


def _nested_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code object of a function, then those of the functions defined inside it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _nested_codes(value)
