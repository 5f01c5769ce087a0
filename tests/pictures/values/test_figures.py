"""Figures as text: durations, ratios, powers."""

from __future__ import annotations

import math

import pytest

from memlab.pictures.values.number_text import (
    duration,
    exact_text,
    figure,
    power_text,
    ratio,
    three_digits,
)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (0.0, "0"), (0.01352, "0.0135"), (2.0, "2"), (1234.0, "1,230"), (1e-7, "10⁻⁷"),
        (2.64e-7, "2.64·10⁻⁷"), (math.inf, "infinity"), (math.nan, "NaN"),
    ],
)  # fmt: skip
def test_a_figure_has_three_digits(value: float, says: str) -> None:
    assert figure(value) == says


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(1.834, "1.83 s"), (0.99951, "1.00 s"), (0.0342, "34.2 ms"), (0.00052, "520 µs")],
)
def test_a_duration_has_three_digits(seconds: float, says: str) -> None:
    assert duration(seconds) == says


@pytest.mark.parametrize(
    ("value", "says"), [(9.994, "9.99"), (9.996, "10.0"), (99.94, "99.9"), (99.96, "100")]
)
def test_what_is_rounded_up_to_a_power_of_ten_still_has_three_digits(
    value: float, says: str
) -> None:
    assert ratio(value) == says
    assert three_digits(round(1e6 * value)) == f"{says} MB"


def test_ratios_have_three_digits_and_powers_are_raised() -> None:
    assert [ratio(value) for value in (1.254, 57.04, 200_704.0)] == ["1.25", "57.0", "200,704"]
    assert power_text(-24) == "2⁻²⁴"
    assert power_text(7, 10) == "10⁷"


def test_a_rounded_text_gives_way_to_the_whole_bytes() -> None:
    assert exact_text("12 GB", 12 * 10**9) == "12 GB"
    assert exact_text("12.9 GB", 12_884_901_888) == "12884901888 B"
