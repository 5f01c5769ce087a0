"""Lowering (im2col) on the device, by both algorithms, and col2im, compared with the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numba import cuda

from memlab import InputError, kernels
from memlab.kernels import cuda as on_device
from memlab.kernels.cuda.conv.im2col import WAYS, fold, lower
from memlab.kernels.formulas import windows
from memlab.kernels.operands import ConvWindow
from tests.drawn import examples

SETTINGS = [
    ((2, 3, 4, 5), (3, 1, 1, 1)),
    ((1, 2, 5, 4), (3, 2, 0, 1)),
    ((2, 1, 7, 6), (2, 3, 2, 3)),
    ((1, 1, 9, 3), (4, 2, 3, 2)),
    ((1, 2, 2, 2), (3, 1, 3, 1)),
    ((3, 2, 3, 4), (1, 1, 0, 1)),
    ((1, 1, 1, 20), (1, 3, 1, 1)),
]


def whole_numbers(shape: Any) -> Any:
    """Random whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(0).integers(-99, 99, shape).astype(np.float64)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("shape", "how"), SETTINGS)
def test_the_same_values_as_the_processor(shape: Any, how: Any, way: str) -> None:
    x, named = whole_numbers(shape), dict(zip(("k", "stride", "pad", "dilation"), how, strict=True))
    lowered = on_device.im2col(cuda.to_device(x), **named, way=way).copy_to_host()
    assert lowered.tobytes() == kernels.im2col(x, *how).tobytes()


@pytest.mark.parametrize(("shape", "how"), SETTINGS)
def test_the_same_way_back(shape: Any, how: Any) -> None:
    y = whole_numbers(kernels.im2col(whole_numbers(shape), *how).shape)
    images = on_device.col2im(cuda.to_device(y), shape, *how).copy_to_host()
    assert (images == kernels.col2im(y, shape, *how)).all()


def test_groups_see_the_same_rows() -> None:
    x = whole_numbers((2, 4, 3, 2))
    grouped = on_device.im2col(cuda.to_device(x), 3, pad=1, groups=2)
    assert tuple(grouped.shape) == (2, 2, 2 * 9, 6)
    expected = kernels.im2col(x, 3, pad=1, groups=2)
    assert (grouped.copy_to_host() == expected).all()
    back = on_device.col2im(grouped, x.shape, 3, pad=1, groups=2)
    assert (back.copy_to_host() == kernels.col2im(expected, x.shape, 3, pad=1, groups=2)).all()


def test_out_is_written_and_returned() -> None:
    x = whole_numbers((1, 2, 4, 3)).astype(np.float32)
    out = cuda.to_device(np.full((1, 18, 2), np.nan, np.float32))
    assert on_device.im2col(cuda.to_device(x), 3, out=out) is out
    assert (out.copy_to_host() == kernels.im2col(x, 3)).all()
    back = cuda.to_device(np.full_like(x, np.nan))
    assert on_device.col2im(out, x.shape, 3, out=back) is back
    assert (back.copy_to_host() == kernels.col2im(out.copy_to_host(), x.shape, 3)).all()


def test_images_may_be_slices_of_larger_samples() -> None:
    """Operands of a kernel may be slices; the public functions refuse them."""
    samples = whole_numbers((2, 4, 5, 3))
    x, at = samples[:, 1:3], ConvWindow(5, 3, 5, 3, 3, 1, 1, 1)
    there = cuda.to_device(samples)
    lowered = cuda.to_device(np.full((2, 2, 3, 3, 5, 3), np.nan))
    lower(there[:, 1:3], lowered, at)
    expected = kernels.im2col(x.copy(), 3, pad=1)
    assert (lowered.copy_to_host().reshape(expected.shape) == expected).all()
    fold(lowered, there[:, 1:3], at, accumulate=True)
    samples[:, 1:3] += kernels.col2im(expected, x.shape, 3, pad=1)
    assert (there.copy_to_host() == samples).all()


def test_an_image_of_padding_alone_is_zeros() -> None:
    lowered = on_device.im2col(cuda.to_device(np.ones((1, 2, 0, 4))), 3, pad=2)
    assert tuple(lowered.shape) == (1, 18, 2 * 6)
    assert (lowered.copy_to_host() == 0).all()


@given(st.integers(0, 9), st.integers(0, 5), st.integers(1, 4), st.integers(0, 4),
       st.integers(1, 3))  # fmt: skip
@examples(100)
def test_a_row_is_read_by_the_places_that_it_is_the_source_of(row, position, stride, pad, dilation):
    there = (stride, pad, dilation)
    place = windows.reader(row, position, *there)
    readers = [o for o in range(40) if windows.source(o, position, *there) == row]
    assert [place] == readers if readers else place < 0
    assume(readers)
    assert windows.source(place, position, *there) == row


X = np.ones((2, 4, 6, 5))
THERE = cuda.to_device(X)
LOWERED = cuda.to_device(np.ones((2, 36, 12)))
BOTH = cuda.to_device(np.ones(2000))
REFUSED = {
    "x must be an array on the device, got ndarray; try cuda": lambda: on_device.im2col(X, 3),
    "x must have 4 axes": lambda: on_device.im2col(LOWERED, 3),
    "x must be fp32 or fp64": lambda: on_device.im2col(cuda.to_device(X.astype("i4")), 3),
    "x must be contiguous": lambda: on_device.im2col(THERE[:, 1:3], 3),
    "a kernel that reaches over 7 does not fit": lambda: on_device.im2col(THERE, 7),
    "3 groups do not divide 4 channels": lambda: on_device.im2col(THERE, 3, groups=3),
    "stride must be at least 1, got 0": lambda: on_device.im2col(THERE, 3, stride=0),
    "unknown way 'fast'": lambda: on_device.im2col(THERE, 3, way="fast"),
    "result of shape .* does not fit": lambda: on_device.im2col(THERE, 1, pad=2**25),
    "out is float64 of shape": lambda: on_device.im2col(THERE, 2, out=LOWERED),
    "out must be an array on the device": lambda: on_device.im2col(THERE, 3, out=X),
    "out must lie outside": lambda: on_device.im2col(
        BOTH[:240].reshape(2, 4, 6, 5), 3, out=BOTH[200:1064].reshape(2, 36, 12)
    ),
    "lowered has shape": lambda: on_device.col2im(LOWERED, (2, 4, 6, 6), 3),
    r"shape must be \(N, C, H, W\), got 5": lambda: on_device.col2im(LOWERED, 5, 3),  # type: ignore[arg-type]  # wrong on purpose
}


@pytest.mark.parametrize("says", REFUSED)
def test_bad_input_gets_one_sentence(says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        REFUSED[says]()
    sentence = str(refused.value)
    assert sentence.endswith(".")
    assert ". " not in sentence.replace("?", "").removesuffix(" Known: coalesced, naive.")


def test_the_package_names_what_it_has() -> None:
    with pytest.raises(AttributeError, match="has no 'im2row'; it has CudaTarget"):
        on_device.im2row  # noqa: B018
