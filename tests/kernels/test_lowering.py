"""Lowering (im2col) and col2im of a batch, compared with PyTorch and with their definition."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memlab import InputError, kernels
from memlab.kernels.cpu.conv import batch_lowering
from memlab.kernels.cpu.conv.im2col import col2im, im2col
from memlab.kernels.formulas import windows
from memlab.kernels.registry import Array
from tests.drawn import examples
from tests.oracles.requirement import torch_or_skip

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
@examples(200)
def test_lowering_and_back(
    height: int, width: int, kernel: int, stride: int, pad: int, dilation: int, add: bool
) -> None:
    reach = dilation * (kernel - 1)
    assume(reach < min(height, width) + 2 * pad)
    rows, columns = ((n + 2 * pad - reach - 1) // stride + 1 for n in (height, width))
    shape = (2, kernel, kernel, rows, columns)
    rng = np.random.default_rng(0)
    image, lowered = whole_numbers(rng, (2, height, width)), np.full(shape, np.nan)
    im2col(image, lowered, stride, pad, dilation)
    expected = lowered_by_formula(image, shape, (stride, pad, dilation))
    assert (lowered == expected).all()
    # col2im is the transpose of im2col: <im2col(image), w> = <image, col2im(w)>
    weights = whole_numbers(rng, shape)
    total, back = np.sum(lowered * weights), np.full_like(image, 1.0 if add else np.nan)
    col2im(weights, back, stride, pad, dilation, add)
    assert total == np.sum(image * (back - add))


def whole_numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Random whole numbers, whose sums are exact in any order."""
    return rng.integers(-99, 99, shape).astype(np.float64)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 9), st.integers(0, 9))
def test_a_later_kernel_position_reads_the_same_values(stride, dilation, place, position):
    positions, places = windows.recurrence(stride, dilation)
    assert positions >= 1
    later = windows.source(place, position + positions, stride, 2, dilation)
    assert later == windows.source(place + places, position, stride, 2, dilation)


# -- the public functions -----------------------------------------------------------------------

EDGES = [
    ((1, 1, 5, 3000), 3, 1, 1, 1),
    ((1, 2, 3000, 5), 3, 1, 1, 1),
    ((2, 2, 4, 5), 5, 1, 4, 2),
    ((1, 2, 40, 70), 7, 2, 3, 1),
    ((1, 2, 41, 67), 4, 2, 3, 3),
    ((1, 1, 33, 65), 11, 4, 2, 1),
    ((2, 1, 6, 6), 1, 1, 0, 1),
    ((2, 1, 9, 7), 1, 3, 2, 1),
    ((2, 1, 1, 1), 1, 1, 0, 1),
    ((1, 1, 2, 2), 9, 5, 9, 2),
]


def drawn(count):
    """Random images on which a kernel fits, with any stride, padding and dilation."""
    rng = np.random.default_rng(0)
    yield from EDGES
    while count:
        k, stride, pad, dilation = (int(rng.integers(*r)) for r in ((1, 8), (1, 5), (0, 6), (1, 4)))
        shape = tuple(int(n) for n in rng.integers(1, (4, 5, 45, 45)))
        if rng.random() < 0.4:  # output and image of one size
            stride, pad = 1, dilation * (k - 1) // 2
        if dilation * (k - 1) < min(shape[2:]) + 2 * pad:
            count -= 1
            yield shape, k, stride, pad, dilation


def test_the_same_as_pytorch_bit_for_bit():
    torch = torch_or_skip()
    rng = np.random.default_rng(1)
    for turn, (shape, k, stride, pad, dilation) in enumerate(drawn(300)):
        x = whole_numbers(rng, shape).astype(np.float32 if turn % 2 else np.float64)
        lowered = kernels.im2col(x, k, stride, pad, dilation)
        there = {"kernel_size": k, "stride": stride, "padding": pad, "dilation": dilation}
        expected = torch.nn.functional.unfold(torch.from_numpy(x), **there)
        assert lowered.tobytes() == expected.numpy().tobytes(), (shape, there)
        y = whole_numbers(rng, lowered.shape).astype(x.dtype)
        folded = torch.nn.functional.fold(torch.from_numpy(y), shape[2:], **there)
        back = kernels.col2im(y, shape, k, stride, pad, dilation)
        assert (back == folded.numpy()).all(), (shape, there)


def test_the_way_back_is_the_exact_adjoint_and_leaves_its_input():
    rng = np.random.default_rng(2)
    for shape, *how in drawn(300):
        x = whole_numbers(rng, shape)
        lowered = kernels.im2col(x, *how)
        y = whole_numbers(rng, lowered.shape)
        before = y.copy()
        assert np.sum(lowered * y) == np.sum(x * kernels.col2im(y, shape, *how)), (shape, how)
        assert (y == before).all()


@pytest.mark.parametrize("shape", [(1, 1, 4, 5), (1, 1, 40, 50)])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_what_lies_in_the_padding_is_left_out(shape, stride):
    """Values in the padding are NaN, so they must be left out, and not multiplied by 0."""
    outside = kernels.im2col(np.ones(shape), 3, stride, 1) == 0
    lowered = np.where(outside, np.nan, 1.0)
    back = kernels.col2im(lowered, shape, 3, stride, 1)
    assert back.sum() == np.nansum(lowered) == (~outside).sum()


def test_groups_see_the_same_rows():
    x = np.random.default_rng(3).random((2, 6, 5, 4))
    whole = kernels.im2col(x, 3, pad=1)
    grouped = kernels.im2col(x, 3, pad=1, groups=3)
    assert grouped.shape == (2, 3, 2 * 9, 20)
    assert (grouped.reshape(whole.shape) == whole).all()
    back = kernels.col2im(grouped, x.shape, 3, pad=1, groups=3)
    assert (back == kernels.col2im(whole, x.shape, 3, pad=1)).all()


def unaligned(array):
    bytes_ = np.zeros(array.nbytes + 1, np.uint8)
    view = bytes_[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


LAYOUTS: dict[str, Any] = {
    "Fortran": np.asfortranarray,
    "every other column": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[::-1, :, ::-1].copy()[::-1, :, ::-1],
    "channels last": lambda a: (
        a.transpose(0, 2, 1).copy().transpose(0, 2, 1)
        if a.ndim == 3
        else a.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)
    ),
    "read-only": read_only,
    "unaligned": unaligned,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_gives_the_right_answer(layout):
    rng = np.random.default_rng(4)
    x, y = rng.random((2, 3, 6, 5)), rng.random((2, 27, 30))
    there = LAYOUTS[layout]
    assert (kernels.im2col(there(x), 3, 1, 1) == kernels.im2col(x, 3, 1, 1)).all()
    expected = kernels.col2im(y, x.shape, 3, 1, 1)
    assert (kernels.col2im(there(y), x.shape, 3, 1, 1) == expected).all()


def test_a_repeated_image_is_lowered_as_what_it_shows():
    x = np.broadcast_to(np.arange(12.0).reshape(1, 1, 3, 4), (3, 2, 3, 4))
    assert (kernels.im2col(x, 2) == kernels.im2col(x.copy(), 2)).all()


def test_out_is_written_and_returned():
    x = np.random.default_rng(5).random((2, 3, 6, 5))
    out = np.full((2, 27, 9), np.nan)
    assert kernels.im2col(x, 3, stride=2, pad=1, out=out) is out
    assert (out == kernels.im2col(x, 3, stride=2, pad=1)).all()
    back = np.full(x.shape, np.nan)
    assert kernels.col2im(out, x.shape, 3, 2, 1, out=back) is back
    assert (back == kernels.col2im(out, x.shape, 3, 2, 1)).all()


@pytest.mark.parametrize("shape", [(0, 3, 5, 4), (2, 0, 5, 4)])
def test_nothing_gives_nothing(shape):
    n, c = shape[:2]
    lowered = kernels.im2col(np.ones(shape), 3)
    assert lowered.shape == (n, 9 * c, 6)
    assert kernels.col2im(lowered, shape, 3).shape == shape


def test_an_image_of_padding_alone_is_zeros():
    lowered = kernels.im2col(np.ones((1, 2, 0, 4)), 3, pad=2)
    assert lowered.shape == (1, 18, 2 * 6)
    assert (lowered == 0).all()
    assert kernels.col2im(lowered, (1, 2, 0, 4), 3, pad=2).shape == (1, 2, 0, 4)


def test_a_stride_beyond_the_image_takes_one_place():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    assert kernels.im2col(x, 1, stride=2**31 - 1).tolist() == [[[0.0]]]
    assert kernels.col2im(np.ones((1, 1, 1)), x.shape, 1, stride=2**31 - 1).sum() == 1


X, Y = np.ones((2, 4, 6, 5)), np.ones((2, 36, 12))
WRONG: Any = {"k": (3, 3), "list": [1.0], "shape": 5}
BOTH = np.ones(2 * 36 * 12 + 240)


def inside_both():
    return BOTH[100:340].reshape(X.shape), BOTH[: Y.size].reshape(Y.shape)


REFUSED = {
    "a kernel that reaches over 7 does not fit": lambda: kernels.im2col(X, 7),
    "reaches over 9 does not fit": lambda: kernels.col2im(Y, X.shape, 3, dilation=4),
    "stride must be at least 1, got 0": lambda: kernels.im2col(X, 3, stride=0),
    "dilation must be at least 1, got 0": lambda: kernels.im2col(X, 3, dilation=0),
    "pad must be at least 0, got -1": lambda: kernels.im2col(X, 3, pad=-1),
    "k must be at least 1, got 0": lambda: kernels.im2col(X, 0),
    r"k must be a whole number, got \(3, 3\)": lambda: kernels.im2col(X, WRONG["k"]),
    "k must be a whole number, got True": lambda: kernels.im2col(X, True),
    "stride must be at most 2,147,483,647": lambda: kernels.im2col(X, 1, stride=2**31),
    "3 groups do not divide 4 channels": lambda: kernels.im2col(X, 3, groups=3),
    "groups must be at least 1, got 0": lambda: kernels.col2im(Y, X.shape, 3, groups=0),
    "must have 4 axes": lambda: kernels.im2col(X[0], 3),
    "must be a NumPy array without a mask, got list": lambda: kernels.im2col(X.tolist(), 3),
    "without a mask, got MaskedArray": lambda: kernels.im2col(np.ma.masked_equal(X, 1), 3),
    "must be fp32 or fp64, got <f2": lambda: kernels.im2col(X.astype("<f2"), 3),
    "must be fp32 or fp64, got >f8": lambda: kernels.im2col(X.astype(">f8"), 3),
    "must be fp32 or fp64, got .u1": lambda: kernels.im2col(X.astype(np.uint8), 3),
    "result of shape .* does not fit": lambda: kernels.im2col(X, 1, pad=2**25),
    "0 B, does not fit": lambda: kernels.im2col(X[:0], 2**31 - 1, pad=2**30),
    "out is float64 of shape": lambda: kernels.im2col(X, 3, out=np.ones((2, 36, 13))),
    "out is float32 of shape": lambda: kernels.im2col(X, 3, out=np.ones((2, 36, 12), "f4")),
    "out must have 3 axes": lambda: kernels.im2col(X, 3, out=np.ones((2, 36, 4, 3))),
    "out must be a NumPy array": lambda: kernels.im2col(X, 3, out=WRONG["list"]),
    "out must be contiguous and writable": lambda: kernels.im2col(X, 3, out=Y.copy("F")),
    "must be contiguous and writable; ": lambda: kernels.im2col(X, 3, out=read_only(Y.copy())),
    "contiguous and writable": lambda: kernels.im2col(X, 3, out=unaligned(Y)),
    "out must lie outside": lambda: kernels.im2col(inside_both()[0], 3, out=inside_both()[1]),
    "must lie outside": lambda: kernels.col2im(
        inside_both()[1], X.shape, 3, out=inside_both()[0]
    ),
    r"shape must be \(N, C, H, W\), got 5": lambda: kernels.col2im(Y, WRONG["shape"], 3),
    r"shape must be \(N, C, H, W\), got \(2, 4\)": lambda: kernels.col2im(Y, (2, 4), 3),
    "shape must be at least 0": lambda: kernels.col2im(Y, (-2, 4, 6, 5), 3),
    "lowered has shape": lambda: kernels.col2im(Y, (2, 4, 6, 6), 3),
    "lowered must have 4 axes": lambda: kernels.col2im(Y, X.shape, 3, groups=2),
}  # fmt: skip


@pytest.mark.parametrize("says", REFUSED)
def test_bad_input_gets_one_sentence(says):
    with pytest.raises(InputError, match=says) as refused:
        REFUSED[says]()
    sentence = str(refused.value)
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "; try" in sentence


def test_a_result_beyond_the_free_memory_is_refused(monkeypatch):
    monkeypatch.setattr(batch_lowering, "LARGE", 100)
    monkeypatch.setattr(batch_lowering, "free_memory", lambda: 2 * 36 * 12 * 8 - 1)
    with pytest.raises(InputError, match=r"shape .* does not fit"):
        kernels.im2col(X, 3)
    monkeypatch.setattr(batch_lowering, "free_memory", lambda: 2 * 36 * 12 * 8)
    assert kernels.im2col(X, 3).shape == Y.shape


def test_importing_the_package_loads_no_numba():
    code = "import sys, memlab.kernels as k; dir(k); sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_no_kernel():
    with pytest.raises(AttributeError, match="it has col2im, im2col"):
        kernels.im2row  # noqa: B018


READ_ONLY_CACHE = """
from numba.core import caching
def refuse(self):
    raise OSError(30, "Read-only file system")
caching._CacheLocator.ensure_cache_path = refuse
import numpy, memlab.kernels
x = numpy.arange(4, dtype=numpy.float32).reshape(1, 1, 2, 2)
print(memlab.kernels.im2col(x, 2).ravel().tolist())
"""


def test_a_read_only_cache_folder_gives_the_right_answer():
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY_CACHE], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[0.0, 1.0, 2.0, 3.0]\n"
