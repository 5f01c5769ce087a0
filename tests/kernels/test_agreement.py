"""Every algorithm of convolution compared with the direct one, in every setting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.kernels.registry import Array
from memlab.layers import Conv2d, algorithms
from tests.drawn import examples
from tests.kernels_by_case import Case, Trial, distance

NAMES = [name for name in algorithms.on("cpu") if name != "direct"]
sides = st.integers(3, 12)
NEAR = {"fp64": 1e-10, "fp32": 1e-5}


def results(layer: Conv2d, shape: tuple[int, ...], name: str, format: str) -> dict[str, Array]:
    """Output and all gradients of a batch of 2."""
    trial = Trial(Case(layer, (shape,), name), 2, format)
    return {"y": trial.forward()["y"], **trial.backward(trial.weights())}


def agree(layer: Conv2d, shape: tuple[int, ...], name: str, format: str) -> None:
    outputs = results(layer, shape, name, format)
    for key, expected in results(layer, shape, "direct", format).items():
        assert distance(outputs[key], expected.astype(np.float64)) < NEAR[format], key


@pytest.mark.parametrize("name", NAMES)
@given(st.integers(1, 3), sides, sides, st.integers(1, 4), st.integers(0, 3), st.booleans(),
       st.sampled_from(list(NEAR)))  # fmt: skip
@examples(25)
def test_a_3x3_kernel_agrees_with_the_loops(
    name: str, channels: int, height: int, width: int, out: int, pad: int, bias: bool, format: str
) -> None:
    agree(Conv2d(out, 3, pad=pad, bias=bias), (channels, height, width), name, format)


@pytest.mark.parametrize("name", NAMES)
@given(st.integers(1, 2), sides, sides, st.integers(1, 3), st.integers(1, 3), st.integers(0, 3),
       st.integers(1, 2), st.integers(1, 2))  # fmt: skip
@examples(25)
def test_any_setting_agrees_with_the_loops(
    name: str, inner: int, height: int, width: int, kernel: int, stride: int, pad: int,
    dilation: int, groups: int,
) -> None:  # fmt: skip
    pad = max(pad, dilation)  # so that the kernel fits
    layer = Conv2d(2 * groups, kernel, stride, pad, dilation, groups)
    agree(layer, (inner * groups, height, width), name, "fp64")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(3, 61, 67), (2, 9, 1100)], ids=str)
def test_a_map_larger_than_any_buffer_agrees_with_the_loops(
    shape: tuple[int, ...], name: str
) -> None:
    agree(Conv2d(4, 3, pad=1), shape, name, "fp64")
