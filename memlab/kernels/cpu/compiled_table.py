"""Kernels that were compiled beforehand, for a Python without a compiler, such as that of a web
page.

A library holds a function for each kernel and each signature, and a file beside it (``.json``) says
which. A signature is made of what Numba would look at too: the type, the number of axes and the
layout of each array, and the type of each number. Every function takes one address, of words of 64
bits: where an array begins, its extents and its strides; a whole number, or the bits of a float.
What it returns stands in the same words.

Nothing is interpreted: a kernel without code for a signature says so.
"""

from __future__ import annotations

import ctypes
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from inspect import Signature, signature
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from memlab.errors import AbsentInPageError, InputError, shorten
from memlab.free_memory import compiled_beforehand

WORDS = 256
"""Most words of a call."""
CALLS: Counter[str] = Counter()
"""Number of calls of compiled code, by the kernel's name."""
KERNELS: list[TableKernel] = []
"""All kernels that the table has to have."""
STRIDED = "A"
"""Layout of an array whose values may lie apart; code for it takes contiguous ones too."""

LETTERS = {"f": "d", "float32": "d", "u": "Q"}
"""Words that are no signed whole numbers, as ``struct`` writes them; a float of 32 bits is passed
as one of 64."""

_words = (ctypes.c_int64 * WORDS)()


class Code(NamedTuple):
    """Compiled code for one signature: the function, the words of its arguments, and those of its
    results with the function that makes a result of them."""

    function: Callable[[int], int]
    arguments: Struct
    results: Struct
    result: Callable[[Iterator[Any]], Any]


class Table(NamedTuple):
    """A library; the names of its functions, by kernel, then by signature, each with the type of
    its result; and the features and LLVM's name of what it was compiled for."""

    library: ctypes.CDLL
    functions: Mapping[str, Mapping[str, tuple[str, str]]]
    features: frozenset[str]
    triple: str


@cache
def table() -> Table:
    """Load the table of this machine.

    Raises:
        InputError: there is none.
    """
    file = compiled_beforehand()
    if file is None:
        raise InputError("there are no compiled kernels here; try pip install numba scipy.")
    listed = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    library, features = ctypes.CDLL(str(file)), frozenset(listed["features"])
    return Table(library, listed["kernels"], features, listed["triple"])


class TableKernel:
    """Kernel whose code is looked up by the types of its arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func, self.name, self.__doc__ = function, full_name(function), function.__doc__
        self.parameters = signature(function)
        self.codes: dict[tuple[Any, ...], Code] = {}
        KERNELS.append(self)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named or len(args) < len(self.parameters.parameters):
            args = positional(self.parameters, args, named)
        key = tuple(map(_key, args))
        code = self.codes.get(key) or self._find(key, args)
        code.arguments.pack_into(_words, 0, *_flat(args))
        CALLS[self.name] += 1
        if code.function(ctypes.addressof(_words)):
            raise ValueError(f"{self.name} cannot compute {shorten(args)}.")
        return code.result(iter(code.results.unpack_from(_words)))

    def _find(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> Code:
        """Look up the code for arguments, and keep it.

        Raises:
            AbsentInPageError: there is none for their types.
        """
        given = described(args)
        functions = table().functions.get(self.name, {})
        known = taking(functions, given)
        if known is None:
            raise AbsentInPageError(
                f"no code was compiled beforehand for the kernel "
                f"{self.name.removeprefix('memlab.kernels.')} with {given}; what it belongs to "
                "runs on a computer, where memlab compiles what it needs."
            )
        name, returned = functions[known]
        code = self.codes[key] = _code(name, args, returned)
        return code

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


def positional(
    parameters: Signature, args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Arguments of a call in their order, with those that were left out."""
    bound = parameters.bind(*args, **named)
    bound.apply_defaults()
    return bound.args


def full_name(function: Callable[..., Any]) -> str:
    """Name of a function with its module, and with the values that it takes from the function
    around it.

    >>> full_name(full_name)
    'memlab.kernels.cpu.compiled_table.full_name'
    """
    name = f"{function.__module__}.{function.__qualname__}"
    cells = function.__closure__ or ()
    values = [_constant(cell.cell_contents) for cell in cells]
    return f"{name}[{', '.join(values)}]" if values else name


def _constant(value: Any) -> str:
    """Value that a function takes from the function around it."""
    function = getattr(value, "py_func", value)
    return full_name(function) if callable(function) else repr(value)


def described(args: tuple[Any, ...]) -> str:
    """Signature of arguments.

    >>> described((np.zeros((2, 3), np.float32), 1, 2.5, (True, None)))
    'float32:2C i f (b n)'
    """
    return " ".join(map(_described, args))


def _described(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({described(value)})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}:{value.ndim}{'C' if value.flags.c_contiguous else STRIDED}"
    return _number(value)


def _key(value: Any) -> Any:
    """Type of an argument as code that was looked up is kept by."""
    if isinstance(value, np.ndarray):
        return value.dtype.char, value.ndim, value.flags.c_contiguous
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return _number(value)


def _number(value: Any) -> str:
    """Type of a number: a truth value, a whole number, a float, or one with a type of its own."""
    if value is None:
        return "n"
    if isinstance(value, bool | np.bool_):
        return "b"
    if isinstance(value, int | np.signedinteger):
        return "i" if value < 2**63 else "u"
    if isinstance(value, np.unsignedinteger):
        return "u" if value.itemsize == 8 else value.dtype.name
    return "f" if isinstance(value, float) else str(value.dtype.name)


def taking(functions: Collection[str], given: str) -> str | None:
    """Signature that code was compiled for and that takes arguments of this one; None if there is
    none."""
    if given in functions:
        return given
    return next((known for known in functions if _takes(known, given)), None)


def _takes(known: str, given: str) -> bool:
    """Return whether code for one signature takes arguments of another: contiguous arrays where
    values may lie apart."""
    ours, theirs = known.split(" "), given.split(" ")
    return len(ours) == len(theirs) and all(
        one == other or one == f"{other.rstrip(')')[:-1]}{STRIDED}{')' * other.count(')')}"
        for one, other in zip(ours, theirs, strict=True)
    )


def _flat(args: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the words of arguments."""
    for value in args:
        if isinstance(value, np.ndarray):
            yield value.ctypes.data
            yield from value.shape
            yield from value.strides
        elif isinstance(value, tuple):
            yield from _flat(value)
        elif value is not None:
            yield value


def _letters(args: tuple[Any, ...]) -> str:
    """Format of the words of arguments, as ``struct`` writes it."""
    letters = ""
    for value in args:
        if isinstance(value, np.ndarray):
            letters += "q" * (1 + 2 * value.ndim)
        elif isinstance(value, tuple):
            letters += _letters(value)
        elif value is not None:
            letters += LETTERS.get(_number(value), "q")
    return letters


def _code(name: str, args: tuple[Any, ...], returned: str) -> Code:
    """Code for a signature, by the name of its function."""
    function = table().library[name]
    function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_int
    letters, result = _result(returned.replace("(", "( ").replace(")", " )").split(), [])
    return Code(function, Struct("<" + _letters(args)), Struct("<" + letters), result)


def _result(names: list[str], parts: list[Callable[[Iterator[Any]], Any]]) -> Any:
    """Format of the words of a result, and the function that makes the result of them."""
    letters = ""
    while names:
        name = names.pop(0)
        if name == ")":
            return letters, partial(_tuple, parts)
        if name == "(":
            inner, whole = _result(names, [])
            letters += inner
            parts.append(whole)
        else:
            letters += LETTERS.get(name, "q") if name != "n" else ""
            parts.append({"n": _nothing, "b": _truth}.get(name, next))
    return letters, parts[0]


def _tuple(parts: list[Callable[[Iterator[Any]], Any]], words: Iterator[Any]) -> tuple[Any, ...]:
    return tuple(part(words) for part in parts)


def _nothing(words: Iterator[Any]) -> None:
    """Take no word."""


def _truth(words: Iterator[Any]) -> bool:
    return bool(next(words))
