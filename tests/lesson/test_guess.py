"""What was typed becomes an amount that reaches half a unit of its last digit."""

from fractions import Fraction

import pytest

from memlab.errors import InputError
from memlab.lesson import guess


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("6.4 MB", 6_400_000, 50_000),
        ("6.40MB", 6_400_000, 5_000),
        ("6,422,528 B", 6_422_528, Fraction(1, 2)),
        ("3 gib", 3 * 2**30, 2**29),
        ("100 kB", 100_000, 500),
        (" 96 b ", 96, Fraction(1, 2)),
        (96, 96, Fraction(1, 2)),
        ("1 KB", 1000, 500),
    ],
)
def test_an_amount_reaches_half_of_its_last_digit(text, value, half):
    read = guess.amount(text)
    assert (read.value, read.half) == (value, half)
    assert read.holds(value + half)
    assert not read.holds(value + half + Fraction(1, 1000))


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        (9, 9, Fraction(1, 2)),
        ("9", 9, Fraction(1, 2)),
        ("x9", 9, Fraction(1, 2)),
        ("9 times", 9, Fraction(1, 2)),
        (2.25, Fraction(9, 4), Fraction(1, 200)),
        ("1,000 ×", 1000, Fraction(1, 2)),
        ("1.10", Fraction(11, 10), Fraction(1, 200)),
    ],
)
def test_a_ratio_reaches_half_of_its_last_digit(text, value, half):
    read = guess.times(text)
    assert (read.value, read.half) == (value, half)


@pytest.mark.parametrize("text", ["0 GB", "0 B", "0.00 MB"])
def test_nothing_is_no_rounded_amount(text):
    assert not guess.amount(text).holds(1)
    assert guess.amount(text).holds(0)


def test_a_computed_ratio_is_not_held_to_the_digits_of_a_float():
    assert guess.times(843765435 / 456419487).holds(Fraction(843765435, 456419487))
    assert guess.times("9X").text == guess.times("x 9 times").text == "9"


@pytest.mark.parametrize("given", [10**5000, "9" * 5000], ids=["number", "text"])
def test_thousands_of_digits_get_one_sentence(given):
    for read in (guess.amount, guess.times):
        with pytest.raises(InputError, match="; give"):
            read(given)


@pytest.mark.parametrize("text", ["", "6.4", "MB", "-3 MB", "6.4 MW", "1e9 B", "1,2 MB", "nan B"])
def test_no_amount_gets_one_sentence(text):
    with pytest.raises(InputError, match=r"is no amount of memory; give a number and its unit"):
        guess.amount(text)


@pytest.mark.parametrize("text", ["", "many", "-3", "nan", "1/2", True, "9" * 50])
def test_no_ratio_gets_one_sentence(text):
    with pytest.raises(InputError, match="is no number of times; give one such as 9"):
        guess.times(text)


def test_units_that_texts_mix_up_are_twins():
    twin, other = guess.amount("6.4 MB").twin, guess.amount("2 GiB").twin
    assert twin
    assert other
    assert twin.value == guess.amount("6.4 MiB").value
    assert twin.value == Fraction("6.4") * 2**20
    assert other.value == 2 * 10**9
    assert other.unit == "GB"
    assert guess.amount("96 B").twin is None
    assert guess.times(9).twin is None


def test_a_ratio_is_read_to_the_decimals_of_its_question():
    assert guess.times(2, decimals=1) == guess.times("2.0")
    assert guess.times("2 times", decimals=1).half == Fraction(1, 20)
    assert guess.times("2.25", decimals=1) == guess.times("2.25")
