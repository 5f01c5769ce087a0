"""Products in vectors of any width: the values of NumPy, with nothing written beyond the extent."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from memlab.kernels.cpu import vector_code
from memlab.kernels.cpu.conv_tiles import block_products
from memlab.kernels.cpu.conv_tiles.block_products import ADD, BIAS, ZERO, dot_rows, multiply_panel
from memlab.kernels.cpu.conv_tiles.packing import copy_run
from memlab.kernels.registry import Array

njit: Any = numba.njit
LANES = [1, 2, 4, 8, 16, 32, 64]
ROWS, VECTORS = 2, 2


def product(count: int, bits: int):
    """Product by blocks of 2 rows and 2 vectors of ``count`` lanes."""
    width = count * bits
    block = VECTORS * count

    def multiply(a: Array, b: Array, out: Array, start: int, bias: Array, lanes: int) -> None:
        rows, steps = a.shape
        for row in range(0, rows, ROWS):
            for lane in range(0, lanes, block):
                multiply_panel(
                    width, ROWS, VECTORS, a.reshape(-1), (row * steps, steps, 1),
                    out.reshape(-1), (row * out.shape[1] + lane, out.shape[1]),
                    (min(ROWS, rows - row), lanes - lane, steps), (start, row), bias,
                    b.reshape(-1), (lane, b.shape[1]),
                )  # fmt: skip

    return njit(multiply)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("count", LANES)
def test_a_product_of_any_width(count: int, bits: int) -> None:
    dtype, wide = np.dtype(f"f{bits // 8}"), 3 * VECTORS * count
    multiply, rng = product(count, bits), np.random.default_rng(0)
    a, b, bias = (rng.random(shape).astype(dtype) for shape in ((5, 7), (7, wide), (5,)))
    for lanes_ in (1, 2 * count, wide - 1):
        for start, first in ((ZERO, 0.0), (BIAS, bias[:, None]), (ADD, 3.0)):
            out = np.full((5, wide), 3, dtype)
            multiply(a, b, out, start, bias, lanes_)
            expected = np.full((5, wide), 3, dtype)
            expected[:, :lanes_] = first + (a @ b)[:, :lanes_]
            np.testing.assert_allclose(out, expected, 1e-5 if bits == 32 else 1e-13)


@njit
def copied(source: Array, row: tuple[int, int, int], target: Array, count: int, two: bool) -> None:
    if two:
        copy_run(256, 2, 2, source, row, target, 1, count)
    else:
        copy_run(256, 2, 1, source, row, target, 1, count)


@pytest.mark.parametrize("apart", [1, 2])
@pytest.mark.parametrize(("left", "count"), [(-3, 8), (-3, 2), (0, 7), (5, 8), (30, 3), (-40, 4)])
def test_a_run_of_a_row_is_0_outside_it(apart: int, left: int, count: int) -> None:
    length, source, target = 9, np.arange(40.0), np.full(12, -1.0)
    copied(source, (20, length, left), target, count, apart == 2)
    places = left + apart * np.arange(count)
    expected = np.where((places >= 0) & (places < length), 20.0 + places, 0)
    assert (target[1 : 1 + count] == expected).all()
    assert (np.delete(target, range(1, 1 + count)) == -1).all()


@njit
def dots(a: Array, b: Array, out: Array, extent: tuple[int, int, int], add: bool) -> None:
    dot_rows(
        256, 3, 2, a.reshape(-1), (0, a.shape[1]), b.reshape(-1), (0, b.shape[1]),
        out.reshape(-1), (0, out.shape[1]), extent, add,
    )  # fmt: skip


@pytest.mark.parametrize("count", [1, 4, 7, 11])
@pytest.mark.parametrize(("rows", "columns"), [(3, 2), (1, 2), (2, 1)])
def test_dot_products_of_rows(rows: int, columns: int, count: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 11)), rng.random((2, 11))
    a[:, count:] = b[:, count:] = np.nan  # is not read
    for add in (False, True):
        out = np.full((3, 4), 2.0)
        dots(a, b, out, (rows, columns, count), add)
        expected = np.full((3, 4), 2.0)
        expected[:rows, :columns] = 2 * add + a[:rows, :count] @ b[:columns, :count].T
        np.testing.assert_allclose(out, expected, 1e-13)


def test_a_block_of_sums_fits_the_registers() -> None:
    assert vector_code.BITS in (128, 256, 512)
    assert (
        block_products.ROWS * block_products.VECTORS + block_products.VECTORS
        < vector_code.REGISTERS
    )
    rows, columns = block_products.DOTS
    assert rows * columns + columns < vector_code.REGISTERS


def test_the_sums_of_a_product_are_vectors_of_that_width() -> None:
    multiply = product(4, 32)
    a = np.ones((2, 2), np.float32)
    multiply(a, np.ones((2, 8), np.float32), np.ones((2, 8), np.float32), ZERO, a[0], 8)
    code = multiply.inspect_llvm(multiply.signatures[0])
    assert "@llvm.fmuladd.v4f32" in code
    assert "@llvm.fma." not in code
