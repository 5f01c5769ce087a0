"""Backward of a ReLU from one bit per value, compared with backward from the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memlab.errors import InputError
from memlab.kernels.cpu.small_formats import bitmask
from memlab.kernels.cpu.small_formats.bitmask import pack_positive, relu_backward_masked
from memlab.kernels.registry import Array, KernelCall, find
from tests.kernels.test_contract import allocated, allocates
from tests.kernels_by_case import as_slice

DTYPES = {"fp32": np.float32, "fp64": np.float64}
SHAPES = [(1, 1), (3, 7), (2, 8), (3, 9), (2, 31), (2, 32), (3, 33), (1, 64), (2, 3, 5, 7),
          (4, 2, 5, 5), (5,), (2, 1000)]  # fmt: skip


def drawn(shape: tuple[int, ...], dtype: type[Any], seed: int = 0) -> Array:
    """Random values around 0, with zeros, NaN and infinities among them."""
    rng = np.random.default_rng(seed)
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45])
    values = np.where(rng.random(shape) < 0.3, rng.choice(special, shape), rng.normal(size=shape))
    return values.astype(dtype)


def blank(y: Array) -> Array:
    """Mask for an array, with all bits set."""
    return np.full((len(y), -(-y[0].size // 8)), 255, np.uint8)


def packed(y: Array) -> Array:
    mask = blank(y)
    pack_positive(y, mask)
    return mask


def expected(y: Array) -> Array:
    return np.packbits(~(y <= 0).reshape(len(y), -1), axis=1, bitorder="little")


@pytest.mark.parametrize("format", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_bits_are_those_of_numpy(shape: tuple[int, ...], format: str) -> None:
    y = drawn(shape, DTYPES[format])
    assert (packed(y) == expected(y)).all()


@pytest.mark.parametrize("format", DTYPES)
def test_samples_may_lie_apart(format: str) -> None:
    y = drawn((3, 4, 3, 3), DTYPES[format])
    rows = np.full((3, 9), 99, np.uint8)
    pack_positive(as_slice(y), rows[:, 2:7])
    assert (rows[:, 2:7] == expected(y)).all()
    assert (np.delete(rows, range(2, 7), 1) == 99).all()


def backward(arrays: dict[str, Array], dx: Array, accumulate: bool) -> Array:
    """Gradient of the input as the kernel computes it from a mask."""
    into = dx.copy()
    kernel = find("relu.backward", format={4: "fp32", 8: "fp64"}[dx.itemsize])
    kernel(KernelCall({**arrays, "dx": into}, accumulate=accumulate))
    return into


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("format", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_backward_from_a_mask_is_backward_from_y(
    shape: tuple[int, ...], format: str, accumulate: bool
) -> None:
    x, dy, dx = (drawn(shape, DTYPES[format], seed) for seed in range(3))
    arrays = {"x": x, "y": np.empty_like(x), "mask": blank(x)}
    find("relu", format=format)(KernelCall(arrays))
    assert (arrays["mask"] == expected(x)).all()
    plain = backward({"dy": dy, "y": arrays["y"]}, dx, accumulate)
    masked = backward({"dy": dy, "mask": arrays["mask"]}, dx, accumulate)
    assert plain.tobytes() == masked.tobytes()


@pytest.mark.parametrize("accumulate", [False, True])
def test_backward_reads_and_writes_slices(accumulate: bool) -> None:
    y, dy, dx = (drawn((3, 4, 3, 3), np.float32, seed) for seed in range(3))
    dense, into = dx.copy(), as_slice(dx)
    relu_backward_masked(dy, packed(y), dense, accumulate)
    relu_backward_masked(as_slice(dy), packed(y), into, accumulate)
    assert into.tobytes() == dense.tobytes()
    large = into.base
    assert large is not None
    assert np.isnan(large[:, 0]).all()
    assert np.isnan(large[:, 5:]).all()


def test_without_a_mask_nothing_changes() -> None:
    x = drawn((2, 9), np.float64)
    y = np.empty_like(x)
    find("relu")(KernelCall({"x": x, "y": y}))
    np.testing.assert_array_equal(y, np.where(x <= 0, 0, x))


@pytest.mark.parametrize("format", DTYPES)
def test_no_array_is_made(format: str) -> None:
    y, dy = (drawn((3, 5, 3, 3), DTYPES[format], seed) for seed in range(2))
    mask, dx = packed(y), np.zeros_like(y)
    for gradient in (dy, as_slice(dy)):
        arrays = {"x": gradient, "y": y, "dy": gradient, "dx": dx, "mask": mask}
        for kind in ("relu", "relu.backward"):
            assert allocated(find(kind, format=format), KernelCall(arrays)) == 0
    loops: list[Any] = [bitmask._pack, bitmask._backward]
    for loop in loops:
        assert not any(allocates(loop, signature) for signature in loop.signatures)


def test_another_mask_gets_one_sentence() -> None:
    y = np.ones((2, 9), np.float32)
    for mask in (np.zeros((2, 1), np.uint8), np.zeros((3, 2), np.uint8), np.zeros((2, 2), bool)):
        with pytest.raises(InputError, match=r"shape \(2, 9\) is uint8 \(2, 2\), got"):
            pack_positive(y, mask)
        with pytest.raises(InputError, match=r"is uint8 \(2, 2\), got"):
            relu_backward_masked(y, mask, y, False)
    with pytest.raises(InputError, match="dy and dx have one shape"):
        relu_backward_masked(y[:, :8], packed(y), y, False)
