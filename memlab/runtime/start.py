"""What a run starts from: parameters, statistics and inputs, drawn from a seed or given."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from math import prod

import numpy as np
import numpy.typing as npt

from memlab.errors import InputError, unknown
from memlab.kernels.registry import Array
from memlab.step.tensor import Role, Tensor

Given = Mapping[str, npt.ArrayLike]


def fill_resident(tensor: Tensor, values: Array, seed: int, given: Given) -> None:
    """Set a parameter, a buffer or a state: as given, else drawn (weights) or constant.

    Weights are normal with variance 2 / fan-in (He et al. 2015); scales and running variances
    start at 1, the rest at 0.

    Raises:
        InputError: a given array of another shape.
    """
    if tensor.name in given:
        _copy(tensor.name, np.asarray(given[tensor.name]), values)
    elif tensor.role is Role.PARAMETER and len(tensor.axes) > 1:
        fan_in = prod(extent for _, extent in tensor.axes[1:])
        values[...] = _normal(seed, tensor.name, values.shape)
        values *= np.sqrt(2 / fan_in)
    else:
        is_scale = tensor.role is Role.PARAMETER and tensor.name.endswith(".weight")
        values[...] = 1 if is_scale or tensor.name.endswith("running_var") else 0


def fill_input(tensor: Tensor, values: Array, seed: int, given: npt.ArrayLike | None) -> None:
    """Set the input, the labels or the target.

    Raises:
        InputError: a given array of another shape or kind, or with NaN or infinity in it.
    """
    if given is not None:
        array = np.asarray(given)
        _check_kind(tensor, array)
        _copy(tensor.name, array, values)
    elif tensor.format.kind == "int":
        values[...] = np.random.default_rng(_key(seed, tensor.name)).integers(0, 2, values.shape)
    else:
        values[...] = _normal(seed, tensor.name, values.shape)


def check_names(given: Given, known: Mapping[str, Tensor]) -> None:
    """Refuse a given array that no tensor of the step has the name of.

    Raises:
        InputError: there is one.
    """
    for name in given:
        if name not in known:
            raise unknown("parameter", name, known)


def check_labels(labels: Array, classes: int) -> None:
    """Refuse a label that names no class.

    Raises:
        InputError: a label below 0, or of ``classes`` or more.
    """
    if not 0 <= labels.min() <= labels.max() < classes:
        raise InputError(
            f"labels must lie between 0 and {classes - 1}, got {labels.min()} to {labels.max()}; "
            "try a network with more classes."
        )


def _normal(seed: int, name: str, shape: tuple[int, ...]) -> Array:
    """Drawn in fp32, so that a run in fp64 starts from the same numbers."""
    return np.random.default_rng(_key(seed, name)).standard_normal(shape, np.float32)


def _key(seed: int, name: str) -> list[int]:
    return [seed, zlib.crc32(name.encode())]


def _check_kind(tensor: Tensor, array: Array) -> None:
    wanted = "iu" if tensor.format.kind == "int" else "f"
    if array.dtype.kind not in wanted + ("iu" if wanted == "f" else ""):
        raise InputError(
            f"{tensor.name} must hold {'whole numbers' if wanted == 'iu' else 'numbers'}, got "
            f"{array.dtype}; try .astype({tensor.format.stored_as!r})."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{tensor.name} holds NaN or infinity; clean it before the run.")


def _copy(name: str, array: Array, values: Array) -> None:
    if array.shape != values.shape:
        raise InputError(
            f"{name} must have the shape {values.shape}, got {array.shape}; "
            "the first extent of an input is the batch."
        )
    values[...] = array
