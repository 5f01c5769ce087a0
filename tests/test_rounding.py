"""Rounding against exact fractions: the values that a format holds are those of its stored codes.

The oracle knows no rule of a format. It reads the values beside a number off the bits that NumPy
and ml_dtypes decode, and compares distances as fractions; of two equal ones the even code wins.
"""

from fractions import Fraction
from functools import cache
from math import copysign, inf, isnan, nan, nextafter
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memlab import rounding
from memlab.errors import InputError
from memlab.formats import NUMBERS
from tests.rows import every_row

FLOATS = {name: entry for name, entry in NUMBERS.items() if entry.kind == "float"}
INTEGERS = {name: entry for name, entry in NUMBERS.items() if entry.kind == "int"}
CAST = [name for name, entry in FLOATS.items() if name != "fp64" and not entry.padding]
"""NumPy and ml_dtypes round to them."""

by_format = pytest.mark.parametrize("name", NUMBERS)
by_float = pytest.mark.parametrize("name", FLOATS)
by_integer = pytest.mark.parametrize("name", INTEGERS)
by_rounding = pytest.mark.parametrize("how", rounding.ROUNDINGS)


# -- the oracle ---------------------------------------------------------------------------------


def unused(name):
    """Stored bits below the mantissa."""
    return 13 if name == "tf32" else 0


def decoded(code, name):
    """The value of a code without its sign."""
    stored = np.array([code << unused(name)], f"u{NUMBERS[name].bits // 8}")
    return float(stored.view(NUMBERS[name].dtype()).astype(np.float64)[0])


@cache
def last(name):
    """The code of the largest finite value."""
    largest = np.array(ml_dtypes.finfo(NUMBERS[name].dtype()).max)
    return int(largest.view(f"u{NUMBERS[name].bits // 8}")) >> unused(name)


def value(code, name):
    """Its value as a fraction; the code after the last counts as one step more."""
    if code <= last(name):
        return Fraction(decoded(code, name))
    return 2 * value(code - 1, name) - value(code - 2, name)


def below(size, name):
    """The highest code whose value is not above a size, found by halving."""
    low, high = 0, last(name)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if value(middle, name) <= size else (low, middle - 1)
    return low


def exact(number, name):
    """What the format keeps of a fraction."""
    size = abs(number)
    code = below(size, name)
    before, after = size - value(code, name), value(code + 1, name) - size
    code += after < before or (after == before and code % 2)
    code = code if NUMBERS[name].nan else min(code, last(name))
    return copysign(decoded(code, name), -1 if number < 0 else 1)


def same(found, wanted):
    """Equal, the sign of 0 and NaN included."""
    if isnan(wanted):
        return isnan(found)
    return found == wanted and copysign(1, found) == copysign(1, wanted)


@st.composite
def beside_a_tie(draw, name):
    """A value of the format, a tie, or what lies close beside one: as a float64."""
    top = last(name) - (name == "fp64")  # a tie above the last float64 is none
    code = draw(st.integers(0, top))
    part = draw(st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1, 4)]))
    number = float(value(code, name) + part * (value(code + 1, name) - value(code, name)))
    number = nextafter(number, draw(st.sampled_from([number, -inf, inf])))
    return draw(st.sampled_from([number, -number]))


def drawn(name):
    top = NUMBERS[name].largest
    near = st.floats(-min(2 * top, 1e308), min(2 * top, 1e308))
    return st.one_of(st.floats(allow_nan=False, allow_infinity=False), near, beside_a_tie(name))


# -- to nearest ---------------------------------------------------------------------------------


@by_float
@settings(deadline=None)
@given(data=st.data())
def test_a_float64_is_rounded_once(name, data):
    number = data.draw(drawn(name))
    wanted = exact(Fraction(number), name) if number else number
    assert same(float(rounding.rounded(number, name)), wanted)
    assert same(rounding.nearest(number, name), wanted)


@by_float
@settings(deadline=None)
@given(data=st.data(), digits=st.integers(20, 60), up=st.sampled_from([-1, 0, 1]))
def test_a_fraction_that_float64_does_not_hold_is_rounded_once(name, data, digits, up):
    code = data.draw(st.integers(0, last(name)))
    middle = (value(code, name) + value(code + 1, name)) / 2
    number = middle * (1 + Fraction(up, 10**digits))
    assert same(rounding.nearest(number, name), exact(number, name))


@every_row(
    ("name", "tie", "wrong"),
    [("bf16", 2**-8, 1.0), ("fp8_e4m3fn", 2**-4, 1.0), ("fp16", 2**-11, 1.0)],
)
def test_a_value_above_a_tie_goes_up_and_by_way_of_fp32_it_would_not(name, tie, wrong):
    number = 1 + tie + 2.0**-40
    assert float(rounding.rounded(number, name)) == 1 + 2 * tie
    by_way = np.float32(number).astype(NUMBERS[name].dtype())
    assert float(by_way) == wrong


@by_integer
@settings(deadline=None)
@given(number=st.floats(-300, 300))
@example(2.5)
@example(-3.5)
def test_an_integer_is_the_nearest_and_saturates(name, number):
    entry = INTEGERS[name]
    wanted = min(max(float(round(Fraction(number))), entry.lowest), entry.largest)
    assert float(rounding.rounded(number, name)) == wanted
    assert rounding.nearest(number, name) == wanted


@every_row("low", [0, 1, 0x0FFF, 0x1000, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001])
@every_row("name", CAST)
def test_what_fp32_holds_is_rounded_as_numpy_and_ml_dtypes_do(name, low):
    """Every upper half of an fp32, with lower halves at and beside the ties of fp16 and bf16."""
    numbers = ((np.arange(2**16, dtype=np.uint32) << 16) + np.uint32(low)).view(np.float32)
    numbers = numbers[~np.isnan(numbers)]
    numbers = np.append(numbers, np.float32(nan)) if NUMBERS[name].nan else numbers
    with np.errstate(all="ignore"):
        wanted = numbers.astype(NUMBERS[name].dtype()).astype(float)
    found = rounding.encode(numbers, name).astype(float)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(wanted))


def some_codes(name, most):
    """Every code of a short format, and codes from 0 on at equal distances of a long one."""
    return range(0, last(name) + 1, max(1, last(name) // most))


@by_float
def test_every_value_of_a_format_stays(name):
    held = np.array([decoded(code, name) for code in some_codes(name, 5000)])
    for how in rounding.ROUNDINGS:
        kept = rounding.rounded(np.concatenate([held, -held]), name, how, seed=3)
        assert np.array_equal(kept, np.concatenate([held, -held]))


@every_row(
    ("number", "name", "wanted"),
    [
        (70000, "fp16", inf),
        (65519.99, "fp16", 65504),
        (65520, "fp16", inf),
        (-1e39, "bf16", -inf),
        (-61440, "fp8_e5m2", -inf),
        (464, "fp8_e4m3fn", 448),
        (464.0000001, "fp8_e4m3fn", nan),
        (70000, "fp8_e4m3fn", nan),
        (-inf, "fp8_e4m3fn", nan),
        (inf, "fp16", inf),
        (nan, "bf16", nan),
        (70000, "int8", 127),
        (-inf, "int8", -128),
        (inf, "int4", 7),
        (-1e-9, "fp16", -0.0),
        (-0.0, "fp8_e5m2", -0.0),
        (-0.3, "int8", 0.0),
        (2049, "fp16", 2048),
        (0.1, "fp16", 0.0999755859375),
    ],
)
def test_beyond_the_range_and_at_0(number, name, wanted):
    assert same(float(rounding.rounded(number, name)), wanted)
    assert same(rounding.nearest(number, name), wanted)


def test_numbers_that_float64_cannot_hold_are_still_numbers():
    whole: Any = np.int64(2**53 + 1)
    found: Any = rounding.error(10**400, "int8")
    assert rounding.nearest(10**400, "fp64") == inf
    assert rounding.nearest(-Fraction(1, 10**400), "fp64") == 0
    assert rounding.nearest(Fraction(1, 3), "fp64") == 1 / 3
    assert found.absolute == 127 - 10**400
    assert rounding.nearest(whole, "fp64") == 2**53


# -- stochastic ---------------------------------------------------------------------------------

DRAWS = 40_000


@pytest.mark.table
@by_format
@pytest.mark.parametrize("part", [Fraction(1, 8), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_value_goes_up_as_often_as_it_is_on_its_way(name, part, sign):
    low = Fraction(3)
    high = low + rounding.ulp(low, name)
    number = float(low + part * (high - low))
    share = (Fraction(number) - low) / (high - low)  # what float64 keeps of it
    kept = rounding.rounded(np.full(DRAWS, sign * number), name, "stochastic", seed=11)
    ups = int((kept == sign * float(high)).sum())
    assert ups + int((kept == sign * float(low)).sum()) == DRAWS
    assert abs(ups - DRAWS * share) <= 5 * (DRAWS * share * (1 - share)) ** 0.5


@pytest.mark.table
@by_format
def test_the_mean_error_is_0(name):
    entry = NUMBERS[name]
    numbers = np.random.default_rng(5).uniform(-6.5, 6.5, DRAWS)
    errors = rounding.rounded(numbers, name, "stochastic", seed=7) - numbers
    steps = np.array([1.0 if entry.kind == "int" else 4 * entry.epsilon])
    assert abs(errors.mean()) <= 5 * steps[0] / 2 / DRAWS**0.5
    down = np.floor(numbers) - numbers  # a planted error: never up
    assert abs(down.mean()) > 5 / 2 / DRAWS**0.5


@pytest.mark.table
@by_format
def test_draws_follow_the_seed(name):
    numbers = np.linspace(-5.05, 5.05, 999).astype(np.float64)

    def once(seed):
        return rounding.encode(numbers, name, "stochastic", seed=seed).tobytes()

    assert once(1) == once(1)
    assert (once(1) != once(2)) == (name != "fp64")


@by_rounding
def test_infinities_and_nan_stay(how):
    kept = rounding.rounded([inf, -inf, nan, 0.0], "fp16", how)
    assert np.array_equal(kept, [inf, -inf, nan, 0.0], equal_nan=True)
    assert rounding.rounded([1e9, -1e9], "int4", how).tolist() == [7, -8]
    assert rounding.rounded([66000.0, -inf], "fp16", how).tolist() == [inf, -inf]


# -- stored arrays ------------------------------------------------------------------------------


@pytest.mark.table
@by_format
@by_rounding
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_an_array_keeps_its_shape_and_has_the_type_of_the_format(name, how, shape):
    stored = rounding.encode(np.full(shape, 1.3), name, how)
    assert isinstance(stored, np.ndarray)
    assert (stored.shape, stored.dtype) == (shape, NUMBERS[name].dtype())
    back = rounding.decode(stored, name)
    assert (back.shape, back.dtype) == (shape, np.dtype(np.float64))
    assert np.array_equal(back, rounding.rounded(np.full(shape, 1.3), name, how))


def test_arrays_of_any_number_type_are_taken():
    for kind in (np.float16, np.float32, np.int32, np.uint8, np.bool_, ml_dtypes.bfloat16):
        assert rounding.rounded(np.array([0, 1], kind), "fp8_e5m2").tolist() == [0, 1]
    assert rounding.rounded(ml_dtypes.int4(-3), "int8") == -3


def test_a_scale_is_what_a_stored_1_is_worth():
    stored = rounding.encode([0.1, -0.26, 9.0], "int8", scale=0.05)
    assert stored.tolist() == [2, -5, 127]
    assert rounding.decode(stored, "int8", scale=0.05) == pytest.approx([0.1, -0.25, 6.35])
    assert rounding.rounded([1.0], "fp8_e4m3fn", scale=0.003).tolist() == [0.96]
    assert rounding.encode([1.0], "int8", scale=5e-324).tolist() == [127]


def test_the_low_bits_of_tf32_are_0():
    numbers = np.random.default_rng(0).normal(size=1000)
    assert not (rounding.encode(numbers, "tf32").view(np.uint32) & 0x1FFF).any()


@every_row("scale", [0, -1.0, nan, inf, "1", None, 10**400])
def test_a_scale_is_above_0(scale):
    with pytest.raises(InputError, match=r"scale must be above 0, got .*; try 0.05"):
        rounding.encode([1.0], "int8", scale=scale)
    with pytest.raises(InputError, match="scale"):
        rounding.decode(np.zeros(1, np.int8), "int8", scale=scale)


@every_row("values", ["0.1", [1, "x"], [[1], [2, 3]], [1j], None, {}, [None]])
def test_values_are_real_numbers(values):
    with pytest.raises(InputError, match=r"values must be real numbers, got .*; try"):
        rounding.encode(values, "fp16")


WRONG: list[Any] = [True, "0.1", None, 1j]


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="did you mean 'fp16'"):
        rounding.encode([1.0], "fp17")
    with pytest.raises(InputError, match="unknown format 'int64'"):
        rounding.rounded([1.0], "int64")
    with pytest.raises(InputError, match="did you mean 'nearest'"):
        rounding.rounded([1.0], "fp16", "nearst")
    seed: Any = 0.5
    with pytest.raises(InputError, match="seed must be a whole number"):
        rounding.encode([1.0], "fp16", "stochastic", seed=seed)
    with pytest.raises(InputError, match="int8 holds no NaN"):
        rounding.encode([nan], "int8")
    with pytest.raises(InputError, match="fp16 is stored as float16, got float32; try encode"):
        rounding.decode(np.zeros(2, np.float32), "fp16")
    for wrong in WRONG:
        with pytest.raises(InputError, match="give a real number"):
            rounding.nearest(wrong, "fp16")
    with pytest.raises(InputError, match="NaN has no neighbours"):
        rounding.neighbours(nan, "fp16")
    with pytest.raises(InputError, match="a step is between numbers, got inf"):
        rounding.ulp(inf, "fp16")


# -- one number ---------------------------------------------------------------------------------


@by_float
@settings(deadline=None)
@given(data=st.data())
def test_neighbours_are_the_values_on_both_sides(name, data):
    number = data.draw(drawn(name))
    low, high = rounding.neighbours(number, name)
    beyond = inf if NUMBERS[name].infinities else None
    code = below(abs(Fraction(number)), name)
    after = decoded(code + 1, name) if code < last(name) else beyond
    if value(code, name) == abs(Fraction(number)):
        before = decoded(code - 1, name) if code else -decoded(1, name)
    else:
        before = decoded(code, name)
    mirrored = (after and -after, -before) if number < 0 else (before, after)
    assert (low, high) == mirrored


def test_at_the_ends_there_may_be_no_neighbour():
    assert rounding.neighbours(70000, "fp16") == (65504, inf)
    assert rounding.neighbours(inf, "fp16") == (65504, None)
    assert rounding.neighbours(-inf, "fp16") == (None, -65504)
    assert rounding.neighbours(448, "fp8_e4m3fn") == (416, None)
    assert rounding.neighbours(9999, "fp8_e4m3fn") == (448, None)
    assert rounding.neighbours(-128, "int8") == (None, -127)
    assert rounding.neighbours(-500, "int8") == (None, -128)
    assert rounding.neighbours(7, "int4") == (6, None)
    assert rounding.neighbours(0, "fp16") == (-(2.0**-24), 2.0**-24)
    assert rounding.neighbours(Fraction(5, 2), "int4") == (2, 3)


@by_float
def test_bits_are_those_of_the_stored_code(name):
    for code in (*some_codes(name, 500), last(name)):
        sign, exponent, mantissa = rounding.bits(-decoded(code, name), name)
        assert (len(exponent), len(mantissa)) == (NUMBERS[name].exponent, NUMBERS[name].mantissa)
        assert (sign, int(exponent + mantissa, 2)) == ("1", code)


def test_bits_of_what_is_no_number_and_of_integers():
    assert rounding.bits(inf, "fp16") == ("0", "11111", "0000000000")
    assert rounding.bits(nan, "fp16") == ("0", "11111", "1000000000")
    assert rounding.bits(-9999, "fp8_e4m3fn") == ("1", "1111", "111")
    assert rounding.bits(-128, "int8") == ("1", "", "0000000")
    assert rounding.bits(-1, "int4") == ("1", "", "111")
    assert rounding.bits(5.2, "int4") == ("0", "", "101")


@pytest.mark.table
@by_format
@settings(deadline=None)
@given(number=st.floats(-1e6, 1e6))
def test_an_error_is_at_most_half_a_step_where_nothing_is_cut_off(name, number):
    entry, found = NUMBERS[name], rounding.error(number, name)
    if not entry.lowest <= number <= entry.largest:
        return
    assert found is not None
    assert found.absolute == Fraction(rounding.nearest(number, name)) - Fraction(number)
    assert abs(found.ulps) <= Fraction(1, 2)
    assert found.ulps * rounding.ulp(number, name) == found.absolute
    assert found.relative * abs(Fraction(number)) == found.absolute


def test_the_error_of_what_is_cut_off_or_lost():
    found: list[Any] = [
        rounding.error(*each) for each in ((70000, "int8"), (1e-30, "fp16"), (0, "fp16"))
    ]
    assert found[0] == (-69873, Fraction(-69873, 70000), -69873)
    assert found[1].relative == -1
    assert found[2] == (0, 0, 0)
    assert rounding.error(70000, "fp16") is None
    assert rounding.error(inf, "int8") is None
    assert rounding.ulp(Fraction(1), "fp16") == Fraction(1, 1024)


@by_float
def test_a_walk_goes_from_value_to_value_and_stops_at_the_ends(name):
    entry = NUMBERS[name]
    up = rounding.neighbours(Fraction(1), name)[1]
    assert rounding.walk(1, name, 1) == up
    assert rounding.walk(up, name, -1) == 1
    assert rounding.walk(0, name, 1) == entry.smallest == -rounding.walk(0, name, -1)
    assert rounding.walk(entry.largest, name, 9) == (inf if entry.infinities else entry.largest)
    assert rounding.walk(entry.lowest, name, -9) == (-inf if entry.infinities else entry.lowest)
    assert not entry.nan or isnan(rounding.walk(nan, name, 1))


def test_a_walk_comes_back_from_infinity_and_stays_in_the_integers():
    assert rounding.walk(70000, "fp16", -1) == 65504
    assert rounding.walk(-70000, "fp16", 2) == -65472
    assert rounding.walk(126, "int8", 5) == 127
    assert rounding.walk(70000, "int8", -5) == 122
    assert isnan(rounding.walk(70000, "fp8_e4m3fn", -5))


# -- as bits, where ml_dtypes is not installed --------------------------------------------------


OTHERS = [name for name, each in NUMBERS.items() if each.stored_as.startswith("ml_dtypes")]


@pytest.mark.parametrize("name", OTHERS)
def test_bits_are_those_of_ml_dtypes(name):
    each = NUMBERS[name]
    codes = np.arange(2 ** (8 * each.nbytes(1))).astype(f"u{each.nbytes(1)}")
    used = each.bits if each.kind == "int" else 1 + each.exponent + each.mantissa
    codes = codes[: 2**used]  # a format of fewer bits leaves the others of its byte alone
    with np.errstate(invalid="ignore"):
        values = codes.view(each.dtype()).astype(np.float64)
    np.testing.assert_array_equal(rounding.from_bits(codes, each), values)
    stored = rounding.to_bits(values, each)
    numbers = ~np.isnan(values)
    np.testing.assert_array_equal(stored[numbers], codes[numbers])
    assert np.isnan(rounding.from_bits(stored[~numbers], each)).all()


@pytest.mark.parametrize("name", OTHERS)
def test_without_ml_dtypes_the_same_is_stored(name, monkeypatch):
    values = np.random.default_rng(0).standard_normal((3, 200)) * [[1e-3], [1], [7]]
    own = rounding.encode(values, name)
    back = rounding.decode(own, name)
    monkeypatch.setattr("memlab.formats._other_types", lambda: None)
    stored = rounding.encode(values, name)
    kept = (1 << NUMBERS[name].bits) - 1
    np.testing.assert_array_equal(stored, own.view(stored.dtype) & kept)
    np.testing.assert_array_equal(rounding.decode(stored, name), back)
