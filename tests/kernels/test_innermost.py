"""Convolution of samples that are neighbours in memory, compared with the kernels of steps."""

from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest

from memlab import InputError
from memlab.kernels import registry
from memlab.kernels.cpu.conv import samples_innermost
from memlab.kernels.cpu.conv.samples_innermost import WAYS, conv2d
from memlab.kernels.registry import Array, KernelCall
from memlab.layers import Conv2d
from memlab.measure.convolution import ConvolutionCase, operation

SETTINGS = [(3, 1, 1), (3, 2, 1), (1, 1, 0), (2, 3, 2), (5, 1, 0)]
"""Kernel, stride, padding."""


def by_a_step(x: Array, weight: Array, stride: int, pad: int) -> Array:
    """Result of the kernel that a step uses by default, in fp64."""
    layer = Conv2d(len(weight), weight.shape[2], stride, pad, bias=False)
    op = operation(ConvolutionCase("layer", x.shape[1:], layer), "im2col-image")
    arrays = {
        name: np.empty(tensor.shape(len(x)))
        for name, tensor in {**op.writes, **op.workspace}.items()
    }
    registry.find("conv2d", "im2col-image", format="fp64")(
        KernelCall({"x": x, "weight": weight} | arrays, layer)
    )
    return arrays["y"]


def drawn(shape: tuple[int, ...], dtype: str = "f8") -> Array:
    """Random whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("k", "stride", "pad"), SETTINGS)
def test_every_way_computes_what_a_step_computes(
    k: int, stride: int, pad: int, way: str, dtype: str
) -> None:
    weight = drawn((11, 3, k, k))
    for batch in (1, 2, 7, 16, 19, 33):
        x = drawn((batch, 3, 6, 7))
        expected = by_a_step(x, weight, stride, pad).transpose(1, 2, 3, 0)
        out = np.full(expected.shape, np.nan, dtype)
        innermost_x = np.ascontiguousarray(x.transpose(1, 2, 3, 0), dtype)
        conv2d(innermost_x, weight.astype(dtype), out, stride, pad, way)
        assert (out == expected).all()


@pytest.mark.parametrize("way", WAYS)
def test_nothing_beyond_the_arrays_is_written(way: str) -> None:
    shape = (9, 4, 4, 5)
    line = np.full(2 + 9 * 4 * 4 * 5, -1.0, np.float32)
    conv2d(
        drawn((2, 4, 4, 5), "f4"), drawn((9, 2, 3, 3), "f4"), line[1:-1].reshape(shape), 1, 1, way
    )
    assert line[0] == line[-1] == -1


def lanes_of(function: Any) -> set[int]:
    """Lanes of the vectors in a function's code, compiled again because a cached function has no
    readable code."""
    fresh: Any = numba.njit(function.py_func)
    out = np.zeros(64, np.float32)
    fresh(out, 2.0, np.ones(64, np.float32))
    assert (out == 2).all()
    return {int(n) for n in re.findall(r"<(\d+) x float>", " ".join(fresh.inspect_llvm().values()))}


def test_one_lane_is_no_vector_and_the_plain_loop_is_one() -> None:
    assert max(lanes_of(samples_innermost.add)) > 1
    assert lanes_of(samples_innermost.add_in_one_lane) == {1}


X, WEIGHT, OUT = (np.zeros(s, np.float32) for s in ((2, 5, 5, 4), (3, 2, 3, 3), (3, 3, 3, 4)))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((X, WEIGHT, OUT, 1, 0, "lanes"), "unknown way 'lanes'"),
        ((X[0], WEIGHT, OUT), "x must have 4 axes, got shape (5, 5, 4)"),
        ((X.astype(int), WEIGHT, OUT), "x must be fp32 or fp64"),
        ((X, WEIGHT[:, :1].copy(), OUT), "weight is float32 of shape (3, 1, 3, 3)"),
        ((X, WEIGHT[..., :2].copy(), OUT), "weight is float32 of shape (3, 2, 3, 2)"),
        ((X, WEIGHT.astype("f8"), OUT), "weight is float64"),
        ((X, WEIGHT, OUT, 2), "out is float32 of shape (3, 3, 3, 4)"),
        ((X, WEIGHT, np.broadcast_to(OUT[:1], OUT.shape)), "out must be contiguous"),
        ((OUT, np.zeros((3, 3, 1, 1), np.float32), OUT), "out must be writable and lie outside"),
        ((X, WEIGHT, OUT, 0), "stride must be at least 1"),
        ((X, WEIGHT, OUT, 1, -1), "pad must be at least 0"),
        ((X[:, ::2, ::2], WEIGHT, OUT), "x must be contiguous"),
        ((X[:, :2, :2].copy(), WEIGHT, OUT), "a kernel that reaches over 3 does not fit into 2"),
        ((X[..., :0].copy(), WEIGHT, OUT[..., :0].copy()), "(2, 5, 5, 0)"),
    ],
)
def test_what_does_not_fit_gives_one_sentence(arguments: tuple[object, ...], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)) as error:
        conv2d(*arguments)  # type: ignore[arg-type]  # wrong on purpose
    assert "\n" not in str(error.value)
