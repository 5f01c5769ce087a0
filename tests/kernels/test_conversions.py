"""Conversions between formats: bit for bit those of NumPy and ml_dtypes, and stochastic rounding
whose mean is the value."""

from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest

from memlab.errors import InputError
from memlab.formats import FORMATS, STORED, Format
from memlab.kernels.cpu.compile import compiled
from memlab.kernels.cpu.small_formats import conversions
from memlab.kernels.cpu.small_formats.conversions import as_words, narrow, widen
from memlab.kernels.registry import Array, KernelCall
from tests.kernels.test_contract import allocated, allocates

CUT = [FORMATS[name] for name in STORED if name != "fp32"]
SMALL = [format for format in CUT if not format.padding]
ALL = [*CUT, FORMATS["fp32"]]


def patterns(format: Format) -> Array:
    """Every value of a format of at most 16 bits."""
    return (
        np.arange(2 ** (format.bits - format.unused))
        .astype(f"u{format.bits // 8}")
        .view(format.dtype())
    )


def widened(source: Array, format: Format) -> Array:
    target = np.full(source.shape, 77, np.float32)
    widen(source, target, format)
    return target


def narrowed(source: Array, format: Format, key: int | None = None, start: int = 0) -> Array:
    target = np.full(source.shape, 77, format.dtype())
    narrow(source, target, format, key, start)
    return target


def cut(values: Array) -> Array:
    """Values rounded to tf32 by fp64 arithmetic: whole multiples of the step at each value."""
    exact = values.astype(np.float64)
    exponent = np.maximum(np.frexp(exact)[1] - 1, -126)
    step = np.ldexp(1.0, exponent - 10)
    finite = np.isfinite(exact)
    rounded = np.where(finite, np.rint(np.where(finite, exact, 0) / step) * step, exact)
    with np.errstate(over="ignore", invalid="ignore"):
        return rounded.astype(np.float32)


def expected(values: Array, format: Format) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        if not format.nan:  # ml_dtypes makes 0 of NaN
            values = np.where(np.isnan(values), np.copysign(np.float32(np.inf), values), values)
        return cut(values) if format.name == "tf32" else values.astype(format.dtype())


def assert_same(actual: Array, wanted: Array) -> None:
    """Assert that two arrays have the same bits, where any NaN equals any other."""
    assert actual.dtype == wanted.dtype
    both = np.isnan(actual.astype(np.float32)) & np.isnan(wanted.astype(np.float32))
    assert ((as_words(actual) == as_words(wanted)) | both).all()


def finite(format: Format) -> Array:
    """Values of a format from 0 to the largest, as fp32; for tf32 only those around a few powers of
    2."""
    if format.name == "tf32":
        powers = np.array([0, 1, 2, 63, 126, 127, 128, 200, 253, 254])
        codes = np.add.outer(powers << 10, np.arange(1024)).reshape(-1)
        bits: Array = (codes << 13).astype(np.uint32)
        return bits.view(np.float32)
    every: Array = patterns(format).astype(np.float32)
    return every[np.isfinite(every) & ~np.signbit(every)]


def awkward(format: Format) -> Array:
    """Values of a format, the middles between them, the neighbours of both, values beyond the
    largest, and 0."""
    values = finite(format).astype(np.float64)
    step = values[-1] - values[-2]
    values = np.append(values, values[-1] + step)  # the value that would follow
    middles = (values[1:] + values[:-1]) / 2
    with np.errstate(over="ignore"):
        exact = np.concatenate([values, middles]).astype(np.float32)
    exact = np.append(exact[np.isfinite(exact)], np.finfo(np.float32).max)
    with np.errstate(over="ignore"):
        near = [np.nextafter(exact, np.float32(way)) for way in (-np.inf, np.inf)]
    some = np.concatenate([exact, *near, [np.inf, np.nan, 1e-45, 1e-39, 1e-30]]).astype(np.float32)
    return np.concatenate([some, -some])


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_every_value_is_widened(format: Format) -> None:
    every = patterns(format)
    assert_same(widened(every, format), every.astype(np.float32))


@pytest.mark.parametrize("format", CUT, ids=str)
def test_values_and_the_middles_between_them_are_rounded(format: Format) -> None:
    values = awkward(format)
    assert_same(narrowed(values, format), expected(values, format))


@pytest.mark.parametrize("format", CUT, ids=str)
def test_any_bits_are_rounded(format: Format) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**32, 2_000_000, np.uint32).view(np.float32)
    near = rng.standard_normal(1_000_000) * 2.0 ** rng.integers(-26, 17, 1_000_000)
    for line in (values, near.astype(np.float32)):
        assert_same(narrowed(line, format), expected(line, format))


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_nothing_is_lost_on_the_way_back(format: Format) -> None:
    every = patterns(format)
    for key in (None, 5):
        assert_same(narrowed(widened(every, format), format, key), every)


@pytest.mark.parametrize("size", [0, 1, 3, 15, 16, 17, 33, 100])
def test_any_number_of_values(size: int) -> None:
    values = np.random.default_rng(2).standard_normal((2, size + 9)).astype(np.float32)
    for format in SMALL:
        target = np.full((2, size + 9), 7, format.dtype())
        narrow(values[0, :size], target[0, :size], format)
        assert_same(target[0, :size], values[0, :size].astype(format.dtype()))
        assert (target[0, size:] == 7).all()
        assert_same(widened(target[0], format), target[0].astype(np.float32))


def test_the_shape_is_free() -> None:
    values = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)
    target = np.empty((4, 6), np.float16)
    narrow(values, target, FORMATS["fp16"])
    assert (target.reshape(-1) == values.reshape(-1).astype(np.float16)).all()


def test_fp32_and_tf32_are_copied_as_they_are() -> None:
    values = awkward(FORMATS["tf32"])
    assert_same(widened(values, FORMATS["tf32"]), values)
    for key in (None, 1):
        assert_same(narrowed(values, FORMATS["fp32"], key), values)


@pytest.mark.parametrize("format", CUT, ids=str)
def test_what_the_format_holds_is_never_moved(format: Format) -> None:
    values = finite(format)
    for sign in (1, -1):
        exact = np.copysign(values, np.float32(sign))
        for key in range(5):
            assert_same(narrowed(exact, format, key).astype(np.float32), exact)


@pytest.mark.parametrize("format", CUT, ids=str)
def test_a_draw_is_one_of_the_two_neighbours(format: Format) -> None:
    values, rng = finite(format), np.random.default_rng(3)
    at = rng.integers(0, values.size - 1, 200_000)
    at = at[at % 1024 != 1023]  # where the values of tf32 have gaps
    low, high = values[at], values[at + 1]
    between = (low + (high - low) * rng.random(at.size, np.float32)).astype(np.float32)
    rounded_values = narrowed(-between, format, 11).astype(np.float32)
    assert ((rounded_values == -low) | (rounded_values == -high)).all()
    assert (rounded_values == -low).any()
    assert (rounded_values == -high).any()


@pytest.mark.parametrize("part", [2.0**-13, 0.125, 0.5, 0.75, 1 - 2.0**-10])
@pytest.mark.parametrize("format", CUT, ids=str)
def test_the_mean_of_draws_is_the_value(format: Format, part: float) -> None:
    """For normal and for subnormal values; bf16 and tf32 have the subnormal range of fp32."""
    count = 200_000
    for low in (1.0, -1.5, 0.0, -3 * format.smallest):
        step = format.epsilon if abs(low) >= 1 else format.smallest
        value = np.float32(low + np.copysign(part * step, low))
        chance = float((np.float64(value) - low) / np.copysign(step, low))
        drawn = narrowed(np.full(count, value), format, 17).astype(np.float64)
        up = ((drawn - low) / np.copysign(step, low)).mean()
        assert abs(up - chance) <= 5 * np.sqrt(chance * (1 - chance) / count)


def test_values_drift_to_no_side() -> None:
    values = np.random.default_rng(4).standard_normal(1_000_000).astype(np.float32)
    for format in CUT:
        error = narrowed(values, format, 23).astype(np.float64) - values
        assert abs(error.mean()) <= 5 * error.std() / np.sqrt(error.size)


def test_beyond_the_largest_value_a_draw_leaves_the_format() -> None:
    for format in (small for small in SMALL if small.nan):
        over = np.array([min(2 * format.largest, FORMATS["fp32"].largest), np.inf], np.float32)
        over = np.repeat(over, 1000)
        assert not np.isfinite(narrowed(over, format, 1).astype(np.float32)).any()
    half = narrowed(np.full(100_000, 65520, np.float32), FORMATS["fp16"], 1)
    assert abs(np.isinf(half).mean() - 0.5) < 5 * 0.5 / np.sqrt(half.size)
    assert np.isnan(narrowed(np.full(9, np.nan, np.float32), FORMATS["fp16"], 1)).all()


@pytest.mark.parametrize("format", CUT, ids=str)
def test_a_draw_depends_on_the_key_and_the_index_alone(format: Format) -> None:
    values = np.random.default_rng(5).standard_normal(10_000).astype(np.float32)
    whole = narrowed(values, format, 2**64 + 3, 40)
    assert_same(whole, narrowed(values, format, 2**64 + 3, 40))
    for first, last in ((0, 1), (1, 778), (778, 10_000)):
        part = narrowed(values[first:last], format, 2**64 + 3, 40 + first)
        assert_same(part, whole[first:last])
    for key, start in ((4, 40), (2**64 + 3, 41)):
        assert (as_words(narrowed(values, format, key, start)) != as_words(whole)).any()


def test_draws_of_neighbours_and_of_keys_are_independent() -> None:
    halves = np.full(100_000, 1 + 2.0**-11, np.float32)
    first, second = (narrowed(halves, FORMATS["fp16"], key) > 1 for key in (8, 9))
    for one, other in ((first, second), (first[1:], first[:-1])):
        assert abs((one == other).mean() - 0.5) < 5 * 0.5 / np.sqrt(one.size)


@pytest.mark.parametrize("format", ALL, ids=str)
def test_no_array_is_made(format: Format) -> None:
    values, stored = np.ones((3, 50), np.float32), np.ones((3, 50), format.dtype())
    for convert in (
        lambda call: widen(stored, values, format),
        lambda call: narrow(values, stored, format),
        lambda call: narrow(values, stored, format, 3, 5),
    ):
        assert allocated(convert, KernelCall({})) == 0
    for loop in () if format.name == "fp32" else loops(format):
        assert not any(allocates(loop, signature) for signature in loop.signatures)


def loops(format: Format) -> list[Any]:
    """Compiled loops of a format, which a test has called."""
    loops_of_format: list[Any] = [conversions._narrow(format)]
    return (
        loops_of_format if format.name == "tf32" else [*loops_of_format, conversions._widen(format)]
    )


def fills_vectors(loop: Any, signature: Any) -> bool:
    """Return whether newly compiled code for a signature has vectors of 32-bit numbers."""
    options = {name: value for name, value in loop.targetoptions.items() if name != "nopython"}
    fresh = numba.njit(**options)(loop.py_func)
    fresh.compile(signature)
    return re.search(r"= (and|or|select) .*<\d+ x i32>", fresh.inspect_llvm(signature)) is not None


@pytest.mark.parametrize("format", CUT, ids=str)
def test_the_loops_fill_vectors(format: Format) -> None:
    values = np.ones(4, np.float32)
    if format in SMALL:
        widened(narrowed(values, format), format)
    narrowed(values, format, 1)
    for loop in loops(format):
        for signature in loop.signatures:
            assert fills_vectors(loop, signature), signature


def test_a_loop_that_fills_no_vector_is_seen() -> None:
    @compiled
    def chained(values: Array, stored: Array) -> None:
        for i in range(1, values.size):
            stored[i] = stored[i - 1] | (values[i] & np.uint32(stored[i - 1] >> np.uint32(3)))

    words32 = np.ones(9, np.uint32)
    chained(words32, words32.copy())
    assert not fills_vectors(chained, chained.signatures[0])  # type: ignore[attr-defined]  # Numba adds them


@pytest.mark.parametrize(
    ("stored", "values", "name", "message"),
    [
        (np.zeros(3, np.float16), np.zeros(4, np.float32), "fp16", r"of one size, float16"),
        (np.zeros(4, np.uint16), np.zeros(4, np.float32), "fp16", r"got uint16 \(4,\)"),
        (np.zeros(4, np.float16), np.zeros(4), "fp16", r"and float64 \(4,\)"),
        (np.zeros((4, 2), np.float16)[:, 0], np.zeros(4, np.float32), "fp16", "contiguous"),
        (np.zeros(4, np.int8), np.zeros(4, np.float32), "int8", "try fp32, tf32, bf16, fp16"),
        (np.zeros(4), np.zeros(4, np.float32), "fp64", "fp64 is not converted"),
    ],
)
def test_other_arrays_get_one_sentence(
    stored: Array, values: Array, name: str, message: str
) -> None:
    for convert in (
        lambda: widen(stored, values, FORMATS[name]),
        lambda: narrow(values, stored, FORMATS[name]),
    ):
        with pytest.raises(InputError, match=message):
            convert()


def test_a_start_before_0_gets_one_sentence() -> None:
    with pytest.raises(InputError, match="start must be at least 0"):
        narrowed(np.zeros(1, np.float32), FORMATS["fp16"], 1, -1)
