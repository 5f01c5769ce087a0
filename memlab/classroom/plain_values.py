"""Plain values between the process that marks and the one that runs a submission, as JSON.

Numbers, texts, lists, arrays: nothing that runs code where it is read. Whole numbers keep their
type, floats every bit. What is none of these, or too large, goes as a ``Foreign``: the name of its
type, and a short text. ``decoded`` trusts nothing: whatever is not as it should be is a ValueError.

>>> decoded(encoded([1, 0.1, (True, None)]))
[1, 0.1, (True, None)]
"""

from __future__ import annotations

import re
from array import array
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from memlab.errors import visible
from memlab.lesson.returned_values import Foreign, Numbers

DEPTH = 40
"""Most lists within each other."""
BITS = 2**16
"""Most bits of a whole number."""
LETTERS = 10**5
"""Most characters of a text."""
BYTES = 2**24
"""Most bytes of an array."""
HASHED = 1000
"""Most values of a set or a dictionary: numbers that are made to collide slow it down."""
LONGEST_FLOAT = 40
"""Most characters of a float with all its bits."""
ENTRIES = 2**22
"""Most numbers of an array, where an empty axis counts as 1."""
SAFE = 2**53
"""Whole numbers below are written as they are."""
TYPES = re.compile(r"[<>|=]?[biuf][1248]")
TOO_LARGE = Foreign("", "a value that is too large to be returned")


def encoded(value: Any, depth: int = DEPTH) -> Any:
    """Return a value that ``returned_values.plain`` made, or the arguments of a case, as what JSON
    can hold."""
    if not depth:
        return encoded(Foreign("", "lists too deep to be returned"), 1)
    kind = type(value)
    if kind in _WRITTEN:
        return _WRITTEN[kind](value, depth - 1)
    if isinstance(value, np.generic):
        return _numpy_single(value, depth)
    return encoded(Foreign(kind.__name__, "a value that cannot be returned"), depth)


def _whole(value: int, depth: int) -> Any:
    if abs(value) < SAFE:
        return value
    return {"whole": hex(value)} if value.bit_length() <= BITS else encoded(TOO_LARGE)


def _text(value: str, depth: int) -> Any:
    return value if len(value) <= LETTERS else encoded(TOO_LARGE)


def _fraction(value: Fraction, depth: int) -> Any:
    parts = value.numerator, value.denominator
    fits = all(type(part) is int and part.bit_length() <= BITS for part in parts)
    return {"fraction": [_whole(part, 1) for part in parts]} if fits else encoded(TOO_LARGE)


def _decimal(value: Decimal, depth: int) -> Any:
    if not value.is_finite():
        return encoded(Foreign("", str(value)))
    fits = abs(value.adjusted()) <= BITS // 4
    return _fraction(Fraction(value), depth) if fits else encoded(TOO_LARGE)


def _hashed(value: Any, depth: int) -> Any:
    if len(value) > HASHED:
        return encoded(TOO_LARGE)
    if isinstance(value, dict):
        return {
            "dict": [[encoded(key, depth), encoded(item, depth)] for key, item in value.items()]
        }
    return {"set": [encoded(item, depth) for item in value]}


def _array(value: Any, depth: int) -> Any:
    if value.dtype.kind == "O":
        return encoded(value.tolist(), depth)
    if value.dtype.kind == "f" and value.dtype.itemsize > 8:
        value = value.astype(np.float64)
    if not TYPES.fullmatch(value.dtype.str):
        return encoded(Foreign("", f"an array of {value.dtype}"))
    if value.nbytes > BYTES or _entries(value.shape) > ENTRIES:
        return encoded(TOO_LARGE)
    return {"array": [value.dtype.str, list(value.shape), b64encode(value.tobytes()).decode()]}


def _entries(shape: tuple[int, ...]) -> int:
    return prod(max(1, length) for length in shape)


def _numpy_single(value: Any, depth: int) -> Any:
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return _whole(int(value), depth)
    if isinstance(value, np.floating):
        return {"float": float(value).hex()}
    return encoded(Foreign("", repr(value)))


_WRITTEN: dict[type, Callable[[Any, int], Any]] = {
    type(None): lambda value, depth: None,
    bool: lambda value, depth: value,
    int: _whole,
    str: _text,
    float: lambda value, depth: {"float": value.hex()},
    Fraction: _fraction,
    Decimal: _decimal,
    list: lambda value, depth: [encoded(item, depth) for item in value],
    tuple: lambda value, depth: {"tuple": [encoded(item, depth) for item in value]},
    set: _hashed,
    frozenset: _hashed,
    dict: _hashed,
    deque: lambda value, depth: [encoded(item, depth) for item in value],
    array: lambda value, depth: [encoded(item, depth) for item in value],
    range: lambda value, depth: (
        [encoded(item, depth) for item in value] if len(value) <= ENTRIES else encoded(TOO_LARGE)
    ),
    np.ndarray: _array,
    Numbers: lambda value, depth: {
        "numbers": [list(value.shape), [encoded(number, depth) for number in value.flat]]
    },
    Foreign: lambda value, depth: {"foreign": [str(value.kind)[:LETTERS], str(value)[:LETTERS]]},
}


def decoded(given: Any, depth: int = DEPTH + 2) -> Any:
    """Return the value that ``encoded`` wrote.

    Raises:
        ValueError: it is nothing that ``encoded`` writes.
    """
    if not depth:
        raise ValueError("lists too deep")
    kind = type(given)
    if given is None or kind in (bool, int):
        return given
    if kind is str:
        return safe_text(given)
    if kind is list:
        return [decoded(item, depth - 1) for item in given]
    if kind is dict and len(given) == 1:
        ((name, inner),) = given.items()
        if name in _READ:
            return _READ[name](inner, depth - 1)
    raise ValueError("no plain value")


def safe_text(given: Any) -> str:
    """Return a text that can be written anywhere, with its control characters shown.

    Raises:
        ValueError: it is no text.
    """
    if type(given) is not str:
        raise ValueError("no text")
    text = given.encode("utf-8", "backslashreplace").decode()
    return text if text.isascii() and text.isprintable() else visible(text, "\n")


def _read_whole(given: Any, depth: int = 1) -> int:
    if type(given) is int:
        return given
    match given:
        case {"whole": str(digits)} if len(digits) <= BITS // 4 + 3:
            return int(digits, 16)
    raise ValueError("no whole number")


def _read_float(given: Any, depth: int) -> float:
    if type(given) is not str or len(given) > LONGEST_FLOAT:
        raise ValueError("no float")
    return float.fromhex(given)


def _read_fraction(given: Any, depth: int) -> Fraction:
    match given:
        case [above, below] if (divisor := _read_whole(below)) != 0:
            return Fraction(_read_whole(above), divisor)
    raise ValueError("no fraction")


def _read_list(given: Any, depth: int, most: int = ENTRIES) -> list[Any]:
    if type(given) is not list or len(given) > most:
        raise ValueError("no list")
    return [decoded(item, depth) for item in given]


def _read_set(given: Any, depth: int) -> set[Any]:
    items = _read_list(given, depth, HASHED)
    return {item if _is_single(item) else Foreign("", "a value in a set") for item in items}


def _is_single(value: Any) -> bool:
    return type(value) in (bool, int, float, str, Fraction, Foreign, type(None))


def _read_dict(given: Any, depth: int) -> dict[Any, Any]:
    pairs = _read_list(given, depth, HASHED)
    if not all(type(pair) is list and len(pair) == 2 and _is_single(pair[0]) for pair in pairs):
        raise ValueError("no dictionary")
    return dict(pairs)


def _read_shape(given: Any) -> tuple[int, ...]:
    if type(given) is not list or len(given) > DEPTH or not all(type(n) is int for n in given):
        raise ValueError("no shape")
    if any(n < 0 for n in given) or _entries(tuple(given)) > ENTRIES:
        raise ValueError("no shape")
    return tuple(given)


def _read_array(given: Any, depth: int) -> Any:
    match given:
        case [str(kind), shape, str(data)] if TYPES.fullmatch(kind):
            try:
                values = np.frombuffer(b64decode(data, validate=True), np.dtype(kind))
                return values.reshape(_read_shape(shape)).copy()
            except TypeError:  # no such format
                raise ValueError("no array") from None
    raise ValueError("no array")


def _read_numbers(given: Any, depth: int) -> Numbers:
    match given:
        case [shape, list(flat)]:
            numbers = tuple(decoded(number, 2) for number in flat)
            whole = all(type(number) in (int, float) for number in numbers)
            finite = all(abs(number) < float("inf") for number in numbers if type(number) is float)
            if whole and finite and prod(_read_shape(shape)) == len(numbers):
                return Numbers(_read_shape(shape), numbers)
    raise ValueError("no numbers")


def _read_foreign(given: Any, depth: int) -> Foreign:
    match given:
        case [kind, shown]:
            return Foreign(safe_text(kind)[:100], safe_text(shown)[:100])
    raise ValueError("no stand-in")


_READ: dict[str, Callable[[Any, int], Any]] = {
    "whole": lambda given, depth: _read_whole({"whole": given}),
    "float": _read_float,
    "fraction": _read_fraction,
    "tuple": lambda given, depth: tuple(_read_list(given, depth)),
    "set": _read_set,
    "dict": _read_dict,
    "array": _read_array,
    "numbers": _read_numbers,
    "foreign": _read_foreign,
}
