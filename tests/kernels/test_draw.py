"""Random numbers of dropout: the same ones whenever they are drawn again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memlab.kernels.registry import Array, KernelCall, find
from memlab.layers import Dropout
from tests.kernels_by_case import as_slice

SHAPE = (3, 4, 5, 6)


def mask(key: int, p: float = 0.5, shape: tuple[int, ...] = SHAPE, format: str = "fp64") -> Array:
    """Result of dropout on an array of ones."""
    dtype = {"fp32": np.float32, "fp64": np.float64}[format]
    arrays = {"x": np.ones(shape, dtype), "y": np.empty(shape, dtype)}
    find("dropout", format=format)(KernelCall(arrays, Dropout(p), key=key))
    return arrays["y"]


def test_backward_drops_what_forward_dropped() -> None:
    arrays = {"dy": np.ones(SHAPE), "dx": np.empty(SHAPE)}
    call = KernelCall(arrays, Dropout(0.5), key=7)
    find("dropout.backward")(call)
    assert (arrays["dx"] == mask(7)).all()
    find("dropout.backward")(replace(call, accumulate=True))
    assert (arrays["dx"] == 2 * mask(7)).all()


def test_the_same_in_any_format_and_layout() -> None:
    dx = np.empty(SHAPE)
    find("dropout.backward")(
        KernelCall({"dy": as_slice(np.ones(SHAPE)), "dx": dx}, Dropout(0.5), key=7)
    )
    assert (dx == mask(7)).all()
    assert ((mask(7, format="fp32") == 0) == (mask(7) == 0)).all()


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_as_many_as_asked_are_dropped(p: float) -> None:
    drawn = mask(3, p, (100, 1000))
    assert abs((drawn == 0).mean() - p) < 0.01
    assert np.unique(drawn[drawn != 0]) == pytest.approx([1 / (1 - p)])


@pytest.mark.parametrize("key", [0, 1, 2**32, 2**63 - 1, 2**64 + 5])
def test_keys_and_neighbours_are_independent(key: int) -> None:
    dropped, other = (mask(k, 0.5, (100, 1000)) == 0 for k in (key, key + 1))
    assert abs((dropped == other).mean() - 0.5) < 0.01
    assert abs((dropped[:, 1:] == dropped[:, :-1]).mean() - 0.5) < 0.01


def test_the_generator_is_splitmix64() -> None:
    """The first numbers for seed 1234567 are those that the authors' C code prints."""
    from memlab.kernels.formulas.random_numbers import GOLDEN, mix

    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    with np.errstate(over="ignore"):
        numbers = [int(mix(np.uint64(1234567) + np.uint64(i) * GOLDEN)) for i in (1, 2, 3)]
    assert numbers == expected
