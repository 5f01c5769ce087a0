"""Lowering puts every value where the formula says, and col2im takes it back."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memlab.kernels.lowering import col2im, im2col
from memlab.kernels.registry import Array

few = st.integers(1, 3)
sides = st.integers(1, 9)


def lowered_by_formula(image: Array, shape: tuple[int, ...], settings: tuple[int, ...]) -> Array:
    stride, pad, dilation = settings
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad)))
    lowered = np.empty(shape)
    for c, ky, kx, oy, ox in np.ndindex(shape):
        iy, ix = oy * stride + ky * dilation, ox * stride + kx * dilation
        lowered[c, ky, kx, oy, ox] = padded[c, iy, ix]
    return lowered


@given(sides, sides, st.integers(1, 5), few, st.integers(0, 5), few, st.booleans())
@settings(max_examples=200, deadline=None)
def test_lowering_and_back(
    height: int, width: int, kernel: int, stride: int, pad: int, dilation: int, add: bool
) -> None:
    reach = dilation * (kernel - 1)
    assume(reach < min(height, width) + 2 * pad)
    rows, columns = ((n + 2 * pad - reach - 1) // stride + 1 for n in (height, width))
    shape = (2, kernel, kernel, rows, columns)
    rng = np.random.default_rng(0)
    image, lowered = rng.random((2, height, width)), np.full(shape, np.nan)
    im2col(image, lowered, stride, pad, dilation)
    expected = lowered_by_formula(image, shape, (stride, pad, dilation))
    assert (lowered == expected).all()
    # col2im is the transpose of im2col: <im2col(image), w> = <image, col2im(w)>
    weights = rng.random(shape)
    total, back = np.sum(lowered * weights), np.full_like(image, 1.0 if add else np.nan)
    col2im(weights, back, stride, pad, dilation, add)
    assert np.isclose(total, np.sum(image * (back - add)))
