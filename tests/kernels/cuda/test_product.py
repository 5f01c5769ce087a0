"""Matrix products on the device: transposed, accumulated, and with gaps between rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product as combined
from typing import Any

import numpy as np
import pytest
from numba import cuda

from memlab import InputError
from memlab.kernels.cuda import target
from memlab.kernels.cuda.conv import matrix_product as module
from memlab.kernels.cuda.conv import tiled_product
from memlab.kernels.cuda.conv.matrix_product import WAYS, product
from memlab.kernels.registry import Array
from memlab.layers import Conv2d
from tests.kernels_by_case import Case, Trial, distance

TURNS = [False, True]


def drawn(rows: int, columns: int, dtype: Any, apart: bool) -> Array:
    """Random matrix, contiguous or with gaps between its rows."""
    values = np.random.default_rng(rows * columns).standard_normal((rows, columns + 3))
    return values.astype(dtype)[:, 2 : 2 + columns] if apart else values[:, 3:].astype(dtype)


def sent(array: Array) -> Any:
    """Copy of a matrix on the device, with the same gaps between its rows."""
    if array.flags.c_contiguous:
        return cuda.to_device(array)
    assert array.base is not None
    return cuda.to_device(array.base)[:, 2 : 2 + array.shape[1]]


def check(
    way: str, shape: tuple[int, int, int], dtype: Any, apart: bool, turns: tuple[bool, bool, bool]
) -> None:
    (rows, columns, inner), (turn_a, turn_b, add) = shape, turns
    a = drawn(*((inner, rows) if turn_a else (rows, inner)), dtype, apart)
    b = drawn(*((columns, inner) if turn_b else (inner, columns)), dtype, apart)
    out = drawn(rows, columns, dtype, apart)
    expected = (a.T if turn_a else a) @ (b.T if turn_b else b) + out * add
    there = sent(out if add else np.full_like(out, np.nan))
    product(sent(a), sent(b), there, add, turn_a, turn_b, way)
    near = 1e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(there.copy_to_host(), expected, near, near)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("turns", list(combined(TURNS, TURNS, TURNS)), ids=str)
def test_a_product(way: str, turns: tuple[bool, bool, bool]) -> None:
    check(way, (5, 6, 9), np.float64, False, turns)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 7, 2), (6, 1, 1), (10, 11, 3)])
def test_any_shape_in_any_format(way: str, shape: tuple[int, int, int]) -> None:
    check(way, shape, np.float32, False, (False, False, True))
    check(way, shape, np.float64, True, (False, True, False))


@pytest.fixture
def as_large_as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give tiles the size that they have on a GPU; the simulator reads it when a kernel runs."""
    if not target().simulated:
        pytest.skip("on a GPU, they always are")
    sizes = {"SIDE": 16, "PER_THREAD": 4, "DEPTH": 8, "TILE": 64, "SPLIT": 4, "PADDED": 72}
    for name, size in sizes.items():
        monkeypatch.setattr(tiled_product, name, size)
    monkeypatch.setattr(module, "SQUARE", 16)


@pytest.mark.usefixtures("as_large_as_on_a_gpu")
@pytest.mark.parametrize("way", WAYS)
def test_a_product_of_large_tiles(way: str) -> None:
    shape = (50, 61, 11) if way == "fast" else (13, 14, 18)
    for turns in [(False, False, False), (True, True, True)]:
        check(way, shape, np.float64, False, turns)


@pytest.mark.usefixtures("as_large_as_on_a_gpu")
def test_an_implicit_product_of_large_tiles() -> None:
    """The convolution has one channel more than a step of the product takes."""
    case = Case(Conv2d(9, 2, 2, 1, bias=False), ((9, 3, 2),), "implicit-gemm")
    trial = Trial(case, 1, target="cudasim")
    known = Trial(replace(case, algorithm="direct"), 1)
    dy = trial.weights()
    outputs = trial.forward() | trial.backward(dy)
    for name, expected in (known.forward() | known.backward(dy)).items():
        assert distance(outputs[name], expected) < 1e-12, name


def test_shapes_that_do_not_fit_are_one_sentence() -> None:
    a, b, out = (cuda.to_device(np.ones(shape)) for shape in ((2, 3), (4, 3), (2, 4)))
    product(a, b, out, transpose_b=True)
    with pytest.raises(InputError, match=r"\(2, 3\) and \(4, 3\) have no product of shape \(2, 4"):
        product(a, b, out)
    with pytest.raises(InputError, match=r"\(2, 3\) and \(3, 4\) have no product of shape \(4, 3"):
        product(a, b, b, transpose_b=True)


def test_an_unknown_way_is_one_sentence() -> None:
    with pytest.raises(InputError, match="unknown way 'quick'"):
        check("quick", (1, 1, 1), np.float64, False, (False, False, False))
