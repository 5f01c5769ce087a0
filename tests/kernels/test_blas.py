"""Matrix products into given arrays: transposed, accumulated, and with gaps between rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from memlab.kernels.cpu import blas, loop_products
from memlab.kernels.cpu.blas import gemm
from memlab.kernels.registry import Array

TURNS = [False, True]


def drawn(rows: int, columns: int, dtype: type, apart: bool) -> Array:
    values = np.random.default_rng(rows * columns).standard_normal((rows, columns + 3))
    return values.astype(dtype)[:, 2 : 2 + columns] if apart else values[:, 3:].astype(dtype)


@pytest.mark.parametrize("way", [None, loop_products.gemm], ids=["blas", "loops"])
@pytest.mark.parametrize("apart", TURNS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 7, 2), (6, 1, 1), (1, 1, 1), (40, 53, 21)])
def test_a_product(
    shape: tuple[int, int, int], dtype: type, apart: bool, way: Callable[..., None] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if way is not None:
        monkeypatch.setattr(blas, "product", lambda: way)
    rows, columns, inner = shape
    for turn_a, turn_b, accumulate in product(TURNS, TURNS, TURNS):
        a = drawn(*((inner, rows) if turn_a else (rows, inner)), dtype, apart)
        b = drawn(*((columns, inner) if turn_b else (inner, columns)), dtype, apart)
        out = drawn(rows, columns, dtype, apart)
        base = out.base if out.base is not None else out
        frame = base.copy()
        expected = 1.5 * ((a.T if turn_a else a) @ (b.T if turn_b else b)) + out * accumulate
        if not accumulate:
            out[:] = np.nan
        gemm(a, b, out, accumulate, turn_a, turn_b, 1.5)
        assert np.allclose(out, expected, atol=1e-5 if dtype is np.float32 else 1e-13)
        if apart:
            assert (base[:, :2] == frame[:, :2]).all()
            assert (base[:, 2 + columns :] == frame[:, 2 + columns :]).all()


def test_columns_that_lie_apart_are_refused() -> None:
    square = np.ones((4, 4))
    with pytest.raises(AssertionError):
        gemm(square.T, square, np.empty((4, 4)))
