"""The view of a number: its formula and bits against what is stored, its picture, its answers."""

from fractions import Fraction
from math import inf, isfinite, isnan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memlab
from lessons import stored
from memlab import rounding
from memlab.errors import InputError
from memlab.formats import NUMBERS
from memlab.pictures.number import (
    PAINTS,
    STEPS,
    FormattedNumber,
    NumberBits,
    brief,
    number,
    parse,
    shown,
)
from tests.pictures.shown import send

TYPED = (
    "0.1", "2049", "70000", "-70000", "0", "-0", "1/3", "-1/3", "6e-8", "-1e-10", "1e-400", "3e400",
    "65504", "65520", "464", "448", "-128", "2^-24", "-2^-140", "1.7976931348623157e308", "0.5",
    "inf", "-inf", "nan", "123456789012345678901234567890.123456789",
)  # fmt: skip


def every_number():
    """In every format, where there is one."""
    for name in NUMBERS:
        yield from (
            FormattedNumber(text, name) for text in TYPED if NUMBERS[name].nan or text != "nan"
        )


# -- what was typed -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0.1", Fraction(1, 10)),
        (" -1/3 ", Fraction(-1, 3)),
        ("+70,000", 70000),
        ("1E-8", Fraction(1, 10**8)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("2^-24", Fraction(1, 2**24)),
        ("−10^3", -1000),
        ("-Infinity", -inf),
        ("∞", inf),
        ("٣", 3),
    ],
)
def test_a_number_is_read_as_people_write_it(text, wanted):
    assert parse(text) == wanted


def test_a_negative_0_keeps_its_sign_and_nan_is_nan():
    assert str(parse("-0.00")) == "-0.0"
    assert isnan(parse("NaN"))


GARBAGE = ["", "abc", "1/0", "--1", "1,0", "1e9999", ".", "3^2", "1 / 2 / 3"]


@pytest.mark.parametrize("text", [*GARBAGE, "9" * 50])
def test_garbage_is_one_sentence(text):
    with pytest.raises(InputError, match=r"is no number to show; try 0\.1, 1e-8, 1/3, -inf or nan"):
        number(text)


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "fate", "held"),
    [
        ("0.1", "fp16", "rounded", 0.0999755859375),
        ("2049", "fp16", "rounded", 2048),
        ("70000", "fp16", "infinity", inf),
        ("70000", "fp8_e5m2", "infinity", inf),
        ("70000", "int8", "saturated", 127),
        ("-inf", "int4", "saturated", -8),
        ("-inf", "fp16", "exact", -inf),
        ("1e-10", "fp16", "zero", 0),
        ("464", "fp8_e4m3fn", "rounded", 448),
        ("0.1", "fp64", "rounded", 0.1),
        ("-128", "int8", "exact", -128),
    ],
)
def test_what_becomes_of_a_number(text, name, fate, held):
    found = FormattedNumber(text, name)
    assert (found.fate, found.held) == (fate, held)


def test_nan_that_was_asked_for_is_not_nan_for_want_of_infinity():
    assert FormattedNumber("nan", "fp8_e4m3fn").fate == "nan"
    assert FormattedNumber("70000", "fp8_e4m3fn").fate == "lost"
    assert "no infinity, so it becomes NaN" in FormattedNumber("70000", "fp8_e4m3fn").headline


def test_ties_and_subnormals_are_named():
    assert "half-way" in FormattedNumber("2049").note
    assert not FormattedNumber("2049.01").note
    assert "subnormal" in FormattedNumber("6e-8").note
    assert not FormattedNumber("0").note
    assert not FormattedNumber("127.5", "int8").note  # not to the even one: it saturates
    assert not FormattedNumber("0.25", "int8").note


def test_the_formula_gives_the_value():
    checked = 0
    for found in every_number():
        if isfinite(found.held):
            left = found.formula.split(" = ")[0]
            plain = left.translate({ord("·"): "*", ord("−"): "-", ord("^"): "**"})
            assert eval(plain) == found.held, found
            checked += 1
    assert checked > len(NUMBERS) * len(TYPED) / 2


def test_the_error_and_the_neighbours_are_those_of_the_library():
    for found in every_number():
        assert found.error == rounding.error(found.number, found.format)
        assert "".join(found.bits) == "".join(rounding.bits(found.number, found.format))
        assert [row[0] for row in found.everywhere()] == list(NUMBERS)
        own = next(row for row in found.everywhere() if row[0] == found.name)
        assert own[1:3] == [str(found.format.bits), shown(found.held)]


def test_a_number_stands_where_it_is_between_its_neighbours():
    for found in every_number():
        line = found.line
        if line is None:
            continue
        low, high = rounding.neighbours(found.number, found.name)
        assert list(line.stops) == sorted(line.stops, key=lambda stop: stop[0])
        assert 0 <= line.where <= 1
        if line.solid == (0.0, 1.0):
            part = (found.number - Fraction(low or 0)) / (Fraction(high or 0) - Fraction(low or 0))
            assert line.where == pytest.approx(float(part))
        held = [where for where, value in line.stops if value == found.held]
        assert len(held) == (not isnan(found.held))
        if found.fate == "exact":
            assert held == [line.where]


@settings(deadline=None)
@given(value=st.fractions(), digits=st.integers(2, 20))
def test_a_number_is_written_with_its_first_digits(value, digits):
    plain = brief(value, digits).replace("−", "-")
    assert abs(Fraction(plain) - value) <= abs(value) / 10 ** (digits - 1)
    cut = shown(value).replace("−", "-")
    assert ("…" in cut) == (Fraction(cut.replace("…", "")) != value)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0.1, "0.10000000000000000555…"),
        (2.0**-24, "5.9604644775390625e-8"),
        (-65504.0, "−65504"),
        (1e22, "1e22"),
        (0.0, "0"),
        (-0.0, "−0"),
        (None, "none"),
        (-inf, "−infinity"),
    ],
)
def test_how_numbers_are_written(value, wanted):
    assert shown(value) == wanted


# -- picture and text ---------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(
    typed=st.sampled_from([text for text in TYPED if text != "nan"]),
    name=st.sampled_from(list(NUMBERS)),
    step=st.sampled_from((-STEPS, -1, 0, 0, 0, 1, STEPS)),
)
def test_every_bit_is_drawn_and_nothing_collides(typed, name, step):
    found = FormattedNumber("0.1" if step else typed, name, step)
    view = NumberBits(found.typed, found.name, step=found.step)
    svg = view.page(NumberBits.narrowest).svg()
    assert svg.collisions() == [], found
    assert svg.outside() == [], found
    boxes = [label.content for label in svg.labels if label.content in ("0", "1")]
    bits = "".join(found.bits)
    assert "".join(boxes[: len(bits)]) == bits


def test_a_number_that_is_too_large_is_said_to_be():
    found = FormattedNumber("70000")
    assert found.headline == ("70000 is beyond the last finite value, 65504. It becomes infinity.")
    assert (found.held, found.fate) == (inf, "infinity")
    assert [(field.name, field.bits) for field in found.fields] == [
        ("sign", "0"), ("exponent", "11111"), ("mantissa", "0" * 10)
    ]  # fmt: skip


def test_a_field_says_its_meaning_on_hover():
    page = number("0.1").page().render()
    assert 'data-fact="exponent: 01011; 11, less the bias: 11 − 15 = −4"' in page
    assert 'data-fact="0.10003662109375; another value of the format"' in page


def test_fields_differ_in_more_than_colour():
    looks = [PAINTS[name].pattern for name in ("sign", "exponent", "mantissa")]
    assert len(set(looks)) == 3
    assert PAINTS["top"].pattern != PAINTS["rest"].pattern


def test_a_stored_picture_names_nothing_that_differs_from_machine_to_machine():
    view = number()
    assert not stored.VARIES.search(view.text())
    assert number().svg() == view.svg()
    assert set(view.stored()) == {"image/svg+xml", "text/plain"}
    assert str(view) == view.text()


# -- the widget ---------------------------------------------------------------------------------


def test_the_controls_change_what_is_shown():
    view = number()
    assert (view.value, view.format, view.step) == ("0.1", "fp16", 0)
    shown = send(view, value="70000")
    assert shown["state"] == "70000|fp16|0|infinity|0111110000000000"
    assert "It becomes infinity." in shown["says"]
    assert send(view, format="int8")["state"] == "70000|int8|0|saturated|01111111"
    assert send(view, step=-3)["shown"] == -3
    assert view.rows.held == 124
    assert send(view, step=10**9)["shown"] == STEPS
    assert send(view, value="1")["shown"] == 0


def test_a_step_walks_from_value_to_value():
    view = number("0.1", "fp16")
    view.step = 1
    assert view.rows.held == 0.10003662109375
    assert view.rows.fate == "exact"
    view.step = -1
    assert view.rows.held == rounding.walk(Fraction(1, 10), "fp16", -1)
    assert ", 1 down" in view.text()


@pytest.mark.parametrize(("name", "wanted"), list(NumberBits.presets.items())[:2])
def test_a_button_shows_its_example(name, wanted):
    view = number("5", "int4", step=1)
    send(view, **{name: None})
    assert (view.value, view.format, view.step) == (*wanted.values(), 0)
    assert name in [control.name for control in view.controls()]


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ({"value": "abc"}, "'abc' is no number to show; try 0.1, 1e-8, 1/3, -inf or nan."),
        ({"value": None}, "'' is no number to show"),
        ({"format": "fp17"}, "did you mean 'fp16'"),
        ({"format": "int64"}, "unknown format 'int64'"),
    ],
)
def test_bad_input_gets_one_sentence_and_the_picture_stays(events, says):
    view = number()
    before = view.svg()
    assert says in send(view, **events)["error"]
    assert view.svg() == before
    assert (view.value, view.format) == ("0.1", "fp16")


def test_an_integer_format_refuses_nan_in_one_sentence():
    view = number("nan", "fp16")
    assert "int8 holds no NaN" in send(view, format="int8")["error"]
    assert view.format == "fp16"


BAD: list[Any] = [
    {"value": None},
    {"format": 16},
    {"step": -STEPS - 1},
]


@pytest.mark.parametrize("wrong", BAD)
def test_bad_arguments_get_one_sentence(wrong):
    with pytest.raises(InputError, match=r"; try |did you mean|Known: "):
        number(**wrong)


def test_python_steers_it_and_its_code_makes_it_again():
    view = number(0.1, "bf16")
    view.value = Fraction(1, 3)
    view.format = "fp8_e4m3fn"
    view.step = 2
    with pytest.raises(InputError):
        view.step = 99
    with pytest.raises(InputError):
        view.value = "much"
    again = eval(view.code(), {"memlab": memlab})
    assert again.text() == view.text()
    assert repr(view).startswith("<bits of a number: 1/3, 2 up in fp8_e4m3fn: 8 bits")
