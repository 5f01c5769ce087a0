"""Values that a run starts from: parameters, statistics and inputs, drawn from a seed or given."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from memlab.errors import InputError, shorten, unknown
from memlab.formats import PADDED
from memlab.kernels.registry import Array
from memlab.rounding import encode
from memlab.step.initial_values import InitialValue
from memlab.step.tensor import Tensor

GivenArrays = Mapping[str, npt.ArrayLike]
PIECE = 2**18
"""Number of values that are drawn at once."""
MORE = {"labels": "more classes", "tokens": "a larger vocabulary"}
"""Change of the network that lets it take larger labels or tokens."""


def fill(
    tensor: Tensor,
    values: Array,
    given: Array | None,
    start: InitialValue,
    draws: np.random.Generator | None = None,
    settings: Mapping[str, float] | None = None,
) -> None:
    """Set the values of a tensor that a step reads: those that were given, or its initial values.

    A master copy starts with the values of its parameter before these are rounded.

    Args:
        tensor: the tensor.
        values: its array, which is written.
        given: an array from the user, or None.
        start: how the tensor starts if nothing is given.
        draws: random numbers, for a tensor that starts with drawn values.
        settings: settings of the step, for a tensor that starts with one of them.

    Raises:
        InputError: the given array has another shape, a value beyond the format, or a negative
            value where a mean or sum of squares is needed.
    """
    pieces: Iterable[tuple[Array, npt.ArrayLike]]
    if given is not None:
        pieces = [(values, _checked(tensor, given, values.shape))]
    elif draws is not None and start.below:
        pieces = [(values, draws.integers(0, start.below, values.shape))]
    elif draws is not None:
        pieces = _draw(values, draws, start.deviation)
    else:
        pieces = [(values, settings[start.setting] if settings and start.setting else start.value)]
    as_bits = values.dtype.kind == "u" and tensor.format.as_bits
    for piece, numbers in pieces:
        piece[...] = encode(numbers, tensor.format) if as_bits else numbers
    if tensor.format.name in PADDED:  # kept in arrays of fp32, which do not round by themselves
        from memlab.kernels.cpu.small_formats.conversions import narrow

        narrow(values, values, tensor.format)


def generator(seed: int, name: str) -> np.random.Generator:
    """Random number generator for the values of the tensor of this name."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def check_names(given: GivenArrays, residents: Iterable[Tensor]) -> None:
    """Refuse a given array whose name is not that of a tensor of the step.

    A master copy is given under the name of its parameter.

    Raises:
        InputError: a name is unknown, or the arrays are not given by name.
    """
    if not isinstance(given, Mapping):
        raise InputError(
            f"parameters are arrays by name, got {shorten(given)}; try {{'conv1.weight': ...}}."
        )
    known = [tensor.name for tensor in residents if not tensor.start.of]
    for name in given:
        if name not in known:
            raise unknown("parameter", name, known)


def check_numbers(what: str, values: Array, below: int) -> None:
    """Refuse labels that name no class, or tokens that have no row in the table.

    Args:
        what: ``"labels"`` or ``"tokens"``.
        values: the numbers.
        below: number of classes, or of rows.

    Raises:
        InputError: a number is below 0, or not below ``below``.
    """
    if not 0 <= values.min() <= values.max() < below:
        raise InputError(
            f"{what} must lie between 0 and {below - 1}, got {values.min()} to {values.max()}; "
            f"try a network with {MORE[what]}."
        )


def _draw(
    values: Array, draws: np.random.Generator, deviation: float
) -> Iterator[tuple[Array, Array]]:
    """Yield the pieces of an array, each with its values from a normal distribution, drawn in fp32,
    so that a run in fp64 starts from the same numbers.

    They are drawn piece by piece, because the plan has no room for a second array of that size.
    """
    assert values.flags.c_contiguous  # else the flat array would be a copy
    flat = values.reshape(-1)
    for first in range(0, flat.size, PIECE):
        part = flat[first : first + PIECE]
        drawn = draws.standard_normal(part.size, np.float32)
        wide = drawn.astype(np.float64) if values.dtype == np.float64 else drawn
        wide *= np.float64(deviation)  # a number of Python would be rounded to fp32 first
        yield part, wide


def as_numbers(tensor: Tensor, name: str, given: npt.ArrayLike) -> Array:
    """Given values of a tensor, as an array of numbers of the right kind.

    Args:
        tensor: the tensor that the values are for.
        name: its name, for messages.
        given: values from the user.

    Raises:
        InputError: they are no array of numbers, of another kind, or hold NaN or infinity.
    """
    try:
        array = np.asarray(given)
        array = array.astype(np.float32) if array.dtype.kind == "V" else array
    except (TypeError, ValueError):  # lists of several lengths, records
        raise InputError(
            f"{name} must be an array of numbers, got {shorten(given)}; try numpy.zeros(...)."
        ) from None
    wanted = "iu" if tensor.format.kind == "int" else "fiu"
    if array.dtype.kind not in wanted:
        raise InputError(
            f"{name} must hold {'numbers' if 'f' in wanted else 'whole numbers'}, got "
            f"{array.dtype}; try .astype({tensor.format.stored_as!r})."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinity; clean it before the run.")
    return array


def _checked(tensor: Tensor, array: Array, shape: tuple[int, ...]) -> Array:
    """Return a given array, after checks of signs, shape and range."""
    name = tensor.start.of or tensor.name
    if tensor.start.squares and array.min(initial=0) < 0:
        raise InputError(
            f"{name} holds {array.min()}, and a mean or sum of squares is at least 0; try 1."
        )
    if array.shape != shape:
        raise InputError(
            f"{name} must have the shape {shape}, got {array.shape}; "
            "the first extent of an input is the batch."
        )
    if tensor.format.kind == "float":
        _check_range(tensor, float(max(array.max(initial=0), -float(array.min(initial=0)))))
    return array


def _check_range(tensor: Tensor, most: float) -> None:
    """Refuse a value beyond the largest of the tensor's format."""
    if most > tensor.format.largest:
        raise InputError(
            f"{tensor.name} holds {most:g}, and {tensor.format} no value beyond "
            f"{tensor.format.largest:g}; scale it, or store it in another format."
        )
