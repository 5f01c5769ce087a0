"""Conversions between fp32 and 8-bit floats in blocks with one scale each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memlab.errors import InputError
from memlab.formats import FORMATS, Format
from memlab.kernels.cpu.small_formats import blockwise
from memlab.kernels.cpu.small_formats.blockwise import narrow_blocks, widen_blocks
from memlab.kernels.cpu.small_formats.conversions import as_words
from memlab.kernels.registry import Array, KernelCall
from tests.kernels.test_contract import allocated, allocates

FORMATS8 = [FORMATS["fp8_e4m3fn"], FORMATS["fp8_e5m2"]]
Stored = tuple[Array, Array]


def narrowed(
    values: Array, format: Format, block: int, key: int | None = None, start: int = 0
) -> Stored:
    """Codes and scales of fp32 values."""
    codes = np.full(values.shape, 7, format.dtype())
    scales = np.full(-(-values.size // block), 77, np.float32)
    narrow_blocks(values, codes, scales, format, block, key, start)
    return codes, scales


def widened(stored: Stored, format: Format, block: int) -> Array:
    target = np.full(stored[0].shape, 77, np.float32)
    widen_blocks(*stored, target, format, block)
    return target


def expected(values: Array, format: Format, block: int) -> Stored:
    """Codes and scales as NumPy computes them, block by block."""
    codes, scales = [], []
    for first in range(0, values.size, block):
        some = values.reshape(-1)[first : first + block]
        scale = np.abs(some).max() / np.float32(format.largest)
        over = (some / (scale or np.float32(1))).clip(-format.largest, format.largest)
        codes.append(over.astype(format.dtype()))
        scales.append(scale)
    return np.concatenate(codes).reshape(values.shape), np.array(scales, np.float32)


def gradients(*shape: int) -> Array:
    """Random values of very different sizes."""
    rng = np.random.default_rng(0)
    return np.array(rng.standard_normal(shape) * 10.0 ** rng.uniform(-9, 3, shape), np.float32)


@pytest.mark.parametrize("format", FORMATS8, ids=str)
@pytest.mark.parametrize("block", [1, 7, 64, 100, 2048, 10_000])
def test_blocks_are_what_numpy_makes_of_them(block: int, format: Format) -> None:
    values = gradients(3, 1001)
    codes, scales = narrowed(values, format, block)
    wanted_codes, wanted_scales = expected(values, format, block)
    assert (as_words(codes) == as_words(wanted_codes)).all()
    assert (scales == wanted_scales).all()
    restored = widened((codes, scales), format, block)
    scale_per_value = np.repeat(scales, block)[: values.size].reshape(values.shape)
    assert (restored == codes.astype(np.float32) * scale_per_value).all()


@pytest.mark.parametrize("format", FORMATS8, ids=str)
def test_the_largest_of_a_block_stays_and_the_others_are_near(format: Format) -> None:
    values, block = gradients(4096), 64
    largest = np.repeat(np.abs(values.reshape(-1, block)).max(1), block)
    for key, steps in ((None, 0.5), (5, 1)):
        restored = widened(narrowed(values, format, block, key), format, block)
        at_most = np.abs(values) * format.epsilon + largest / format.largest * format.smallest
        assert (np.abs(restored - values) <= 1.0001 * steps * at_most).all()
        top = np.abs(values) == largest
        np.testing.assert_allclose(restored[top], values[top], 2e-7)


@pytest.mark.parametrize("format", FORMATS8, ids=str)
@pytest.mark.parametrize("key", [None, 3])
def test_a_block_of_zeros_has_the_scale_0(key: int | None, format: Format) -> None:
    values = np.zeros(10, np.float32)
    values[4:8], values[2] = 5, -0.0
    codes, scales = narrowed(values, format, 4, key)
    assert (scales == np.array([0, 5 / format.largest, 0], np.float32)).all()
    restored = widened((codes, scales), format, 4)
    assert (restored == values).all()
    assert np.signbit(restored[2])


@pytest.mark.parametrize("format", FORMATS8, ids=str)
@pytest.mark.parametrize("key", [None, 3])
def test_no_block_of_numbers_leaves_the_format(key: int | None, format: Format) -> None:
    """A quotient may round to more than the format's largest value, and a scale to 0."""
    powers = 2.0 ** np.arange(-149, 127)
    ones = np.random.default_rng(1).uniform(1, 2, (400, powers.size))
    values = np.array(ones * powers, np.float32)
    restored = widened(narrowed(values, format, 1, key), format, 1)
    assert np.isfinite(restored).all()
    normal = values > 2.0**-110
    np.testing.assert_allclose(restored[normal], values[normal], 2e-7)


@pytest.mark.parametrize("format", FORMATS8, ids=str)
@pytest.mark.parametrize("key", [None, 3])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_spoils_its_block(value: float, key: int | None, format: Format) -> None:
    values = np.ones(12, np.float32)
    values[5] = value
    restored = widened(narrowed(values, format, 4, key), format, 4)
    assert np.isnan(restored[4:8]).all()
    np.testing.assert_allclose(np.delete(restored, range(4, 8)), 1, 1e-6)


@pytest.mark.parametrize("format", FORMATS8, ids=str)
def test_the_mean_of_draws_is_the_value(format: Format) -> None:
    count, block = 200_000, 8
    row = np.array([1, 0.77, -0.3, 0.0123, -4e-3, 7e-5, 2e-6, 0], np.float32)
    drawn = widened(narrowed(np.tile(row, count), format, block, 9), format, block)
    error = drawn.reshape(count, block).astype(np.float64) - row
    standard = error.std(0) / np.sqrt(count)
    assert (np.abs(error.mean(0)) <= 5 * standard + 1e-7 * np.abs(row)).all()
    assert (standard[1:6] > 0).all()


@pytest.mark.parametrize("format", FORMATS8, ids=str)
def test_a_draw_depends_on_the_key_and_the_index_alone(format: Format) -> None:
    values, block = gradients(1000), 64
    whole = narrowed(values, format, block, 6, 30)
    for first, last in ((0, 64), (64, 512), (512, 1000)):
        codes, scales = narrowed(values[first:last], format, block, 6, 30 + first)
        assert (as_words(codes) == as_words(whole[0])[first:last]).all()
        assert (scales == whole[1][first // block :][: scales.size]).all()
    for key, start in ((7, 30), (6, 31)):
        assert (
            as_words(narrowed(values, format, block, key, start)[0]) != as_words(whole[0])
        ).any()


def test_no_value_takes_no_scale() -> None:
    codes, scales = narrowed(np.empty(0, np.float32), FORMATS8[0], 4)
    assert codes.size == scales.size == widened((codes, scales), FORMATS8[0], 4).size == 0


@pytest.mark.parametrize("format", FORMATS8, ids=str)
def test_no_array_is_made(format: Format) -> None:
    values, codes = np.ones(50, np.float32), np.ones(50, format.dtype())
    scales = np.ones(4, np.float32)
    for convert in (
        lambda call: widen_blocks(codes, scales, values, format, 16),
        lambda call: narrow_blocks(values, codes, scales, format, 16),
        lambda call: narrow_blocks(values, codes, scales, format, 16, 3, 5),
    ):
        assert allocated(convert, KernelCall({})) == 0
    loops: list[Any] = [blockwise._widen(format), blockwise._narrow(format)]
    for loop in loops:
        assert not any(allocates(loop, signature) for signature in loop.signatures)


@pytest.mark.parametrize(
    ("name", "scales", "block", "message"),
    [
        ("fp16", np.ones(3, np.float32), 4, "blocks hold 8-bit floats, got fp16; try fp8_e4m3fn"),
        ("int8", np.ones(3, np.float32), 4, "int8 is not converted here; try fp32"),
        ("fp8_e5m2", np.ones(2, np.float32), 4, "10 values in blocks of 4 need 3 float32 scales"),
        ("fp8_e5m2", np.ones(3), 4, r"need 3 float32 scales side by side, got float64 \(3,\)"),
        ("fp8_e5m2", np.ones(6, np.float32)[::2], 4, "side by side"),
        ("fp8_e5m2", np.ones(3, np.float32), 0, "block must be at least 1"),
        ("fp8_e4m3fn", np.ones(3, np.float32), 4, "contiguous arrays of one size, float8_e4m3fn"),
    ],
)
def test_bad_input_gets_one_sentence(name: str, scales: Array, block: int, message: str) -> None:
    values, codes = np.ones(10, np.float32), np.ones(10, FORMATS["fp8_e5m2"].dtype())
    for convert in (
        lambda: widen_blocks(codes, scales, values, FORMATS[name], block),
        lambda: narrow_blocks(values, codes, scales, FORMATS[name], block),
    ):
        with pytest.raises(InputError, match=message):
            convert()
