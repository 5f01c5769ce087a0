"""What was typed becomes an amount that reaches half a unit of its last digit."""

from fractions import Fraction
from random import Random

import pytest

from memlab import units
from memlab.errors import InputError
from memlab.lesson import typed_guess
from memlab.lesson.misconceptions import judge


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
        (96.0, 96, Fraction(1, 2)),
        ("1 KB", 1000, 500),
        ("6.4e6 B", 6_400_000, 50_000),
        ("6.4 x 10^6 B", 6_400_000, 50_000),
        ("2^20 B", 2**20, Fraction(1, 2)),
        ("32·64·28·28·4 B", 6_422_528, Fraction(1, 2)),
    ],
)
def test_an_amount_reaches_half_of_its_last_digit(text, value, half):
    read = typed_guess.amount(text)
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
        ("1/4", Fraction(1, 4), Fraction(1, 800)),
        ("225 %", Fraction(9, 4), Fraction(1, 200)),
    ],
)
def test_a_ratio_reaches_half_of_its_last_digit(text, value, half):
    read = typed_guess.times(text)
    assert (read.value, read.half) == (value, half)


# -- the ways to write one number ------------------------------------------------------------------

AMOUNTS = {
    "2.5 GB": (
        *("2,5 GB", "2.5GB", "2.5 gb", "2.5 GB.", "2.5 gigabytes", "2.5 GBs"),
        *("2.5 Gigabyte", "~2.5 GB", "about 2.5 GB", "≈2.5 GB", "≈ 2.5 GB", "= 2.5 GB", "'2.5 GB'"),
        *(
            '"2.5 GB."',
            "\u201c2.5 GB\u201d",
            "\uff12.\uff15 \uff27\uff22",
            "2.5\u00a0GB",
            "2.5-GB",
            "约 2.5 GB",
        ),
    ),
    "6,422,528 B": (
        *("6422528 B", "6 422 528 B", "6\u2009422\u2009528 B", "6\u202f422\u202f528 B"),
        *("6_422_528 B", "6'422'528 B", "6\u2019422\u2019528 B", "6.422.528 B", "6,422,528 bytes"),
        *("6 422 528 byte", "6422528 字节", "٦٤٢٢٥٢٨ B"),
    ),
    "1,234.5 kB": (
        "1234.5 kB",
        "1234,5 kB",
        "1.234,5 kB",
        "1 234,5 kB",
        "1 234.5 kB",
        "1'234.5 kB",
    ),
    "1 GiB": ("1 gibibyte", "one GiB", "1 gibibytes", "1GiB"),
    "0.5 MB": (".5 MB", ",5 MB", "0,5 MB"),
}
RATIOS = {
    "9": (
        *("9x", "x9", "×9", "9 ×", "9 times", "9-fold", "9 fold", "ninefold", "nine", "nine times"),
        *(
            "= 9",
            "≈ 9",
            "~9",
            "9.",
            "'9'",
            "\uff19",
            "9 times as many",
            "9 times larger",
            "9 倍",
            "9:1",
        ),
        *("3·3", "3*3", "3 x 3", "3x3", "3X3", "3 x3", "3×3", "3^2", "3**2", "3²", "900 %"),
        *("9x as much", "3 x 3 times"),
    ),
    "2.25": ("2,25", "225 %", "225%", "2.25x", "x 2.25", "9/4"),
    "0.25": ("1/4", "25 %", "a quarter", ".25", "1:4", "0,25"),
    "2": ("two", "twice", "2 times", "200 %"),
    "0.5": ("half", "a half", "1/2", "50 %"),
}


@pytest.mark.parametrize(("plain", "odd"), [(p, o) for p, all in AMOUNTS.items() for o in all])
def test_a_clear_amount_is_read_however_it_is_written(plain, odd):
    wanted, read = typed_guess.amount(plain), typed_guess.amount(odd)
    assert (read.value, read.half, read.unit) == (wanted.value, wanted.half, wanted.unit)
    assert read.text == wanted.text  # as everybody reads it


@pytest.mark.parametrize(("plain", "odd"), [(p, o) for p, all in RATIOS.items() for o in all])
def test_a_clear_ratio_is_read_however_it_is_written(plain, odd):
    assert typed_guess.times(odd).value == typed_guess.times(plain).value


def test_a_comma_that_may_stand_between_thousands_does():
    assert typed_guess.amount("2,500 GB").value == 2_500 * 10**9
    assert typed_guess.amount("2.500 GB").value == 2_500 * 10**6
    assert typed_guess.amount("0,500 GB").value == 500 * 10**6
    assert typed_guess.times("1,024").value == 1024


def ways(value, unit, chance):
    """One amount with all its digits, in many ways to write it."""
    digits = f"{value:,}"
    marks = (",", "", " ", "_", "'", "\u2009", "\u202f") + (".",) * (digits.count(",") > 1)
    written = digits.replace(",", chance.choice(marks))
    lead = chance.choice(("", "", "about ", "~", "≈ ", "= ", '"'))
    name = chance.choice({"B": ("B", "bytes", "byte", "b")}.get(unit, (unit, unit.lower())))
    tail = chance.choice(("", ".", " ")) + ('"' if lead == '"' else "")
    return f"{lead}{written}{chance.choice((' ', '', '  '))}{name}{tail}"


def test_every_way_to_write_a_right_value_is_right_and_of_a_wrong_value_wrong():
    chance = Random(16)
    for _ in range(2000):
        unit = chance.choice(tuple(units.UNITS))
        value = chance.choice((chance.randint(1, 99), chance.randint(1, 10**9)))
        truth = value * units.UNITS[unit]
        assert judge(typed_guess.amount(ways(value, unit, chance)), truth).right
        wrong = 2 * value + chance.choice((1, 2, 10))  # not right in the unit's twin either
        given = ways(wrong, unit, chance)
        assert not judge(typed_guess.amount(given), truth).right, (given, value, unit)


def test_every_way_to_write_a_right_ratio_is_right_and_of_a_wrong_one_wrong():
    chance = Random(16)
    for _ in range(2000):
        above, below = chance.randint(1, 60), chance.randint(1, 12)
        truth = Fraction(above, below)
        exact = chance.choice((f"{above}/{below}", f"{above}:{below}", f"{above} / {below}"))
        digits = f"{float(truth):.3f}"
        shapes = (
            digits,
            f"{float(truth):.2f}".replace(".", ","),
            f"{digits} x",
            f"x{digits}",
            f"{digits} times",
        )
        percent = f"{float(100 * truth):.2f} %"
        for given in (exact, chance.choice(shapes), percent):
            assert judge(typed_guess.times(given), truth).right, given
        for given in (f"{above + 1}/{below}", f"{float(truth * 2):.3f}", f"{float(truth):.3f} %"):
            assert not judge(typed_guess.times(given), truth).right, (given, truth)


# -- what is no guess ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["0 GB", "0 B", "0.00 MB", "zero B", "0 x 64 B", "0^2 B"])
def test_nothing_is_no_rounded_amount(text):
    assert not typed_guess.amount(text).holds(1)
    assert typed_guess.amount(text).holds(0)


@pytest.mark.parametrize("text", ["0", "zero", "0.0", "0 %", "0x", "0 * 9", "zero times"])
def test_nothing_is_no_rounded_ratio(text):
    assert not typed_guess.times(text).holds(Fraction("0.001"))
    assert typed_guess.times(text).holds(0)
    assert not typed_guess.times("0.4").holds(0)


def test_a_computed_ratio_is_not_held_to_the_digits_of_a_float():
    assert typed_guess.times(843765435 / 456419487).holds(Fraction(843765435, 456419487))
    assert {typed_guess.times(text).text for text in ("9X", "x 9 times", "3x3", "3^2", "9e0")} == {
        "9"
    }


@pytest.mark.parametrize("given", [10**5000, "9" * 5000], ids=["number", "text"])
def test_thousands_of_digits_get_one_sentence(given):
    for read in (typed_guess.amount, typed_guess.times):
        with pytest.raises(InputError, match="; give"):
            read(given)


@pytest.mark.parametrize(
    "given", ["10^99", "9e99", "1e20 · 1e30", "9" * 40, "1e-99", "1e-20 · 1e-9"]
)
def test_a_number_beyond_anything_gets_one_sentence(given):
    for read, text in ((typed_guess.amount, f"{given} B"), (typed_guess.times, given)):
        with pytest.raises(InputError, match="; give"):
            read(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "6.4", "MB", "-3 MB", "6.4 MW", "1,2,3 MB", "nan B", "6 4 MB", "6.4 M", "x B"),
        *("1 GB or 2 GB", "12,34,567 B", "1.2.3 MB", "6.4 MB/s", "1__000 B", "k² B", 6.4, True),
    ],
)
def test_no_amount_gets_one_sentence(text):
    with pytest.raises(InputError, match=r"is no amount of memory; give a number and its unit"):
        typed_guess.amount(text)


def test_a_number_without_its_unit_is_asked_about():
    with pytest.raises(InputError, match="no unit; if it is a number of bytes, write 6,422,528 B"):
        typed_guess.amount("6 422 528")


@pytest.mark.parametrize("text", ["6.4 megabits", "6.4 bits", "6.4 Mb"])
def test_bits_are_no_bytes(text):
    with pytest.raises(InputError, match="are bits, 8 to a byte"):
        typed_guess.amount(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "many",
            "-3",
            "nan",
            "1/0",
            "1/2/3",
            "9 or 10",
            "1,2,3",
            "k^2",
            "9 MB",
            True,
            "9" * 50,
        ),
        *("9 x or 10", "2倍3", "9 times 10", "xx3"),
    ],
)
def test_no_ratio_gets_one_sentence(text):
    with pytest.raises(InputError, match="is no number of times; give one such as 9"):
        typed_guess.times(text)


def test_units_that_texts_mix_up_are_twins():
    twin, other = typed_guess.amount("6.4 MB").twin, typed_guess.amount("2 GiB").twin
    assert twin
    assert other
    assert twin.value == typed_guess.amount("6.4 MiB").value
    assert twin.value == Fraction("6.4") * 2**20
    assert other.value == 2 * 10**9
    assert other.unit == "GB"
    assert typed_guess.amount("96 B").twin is None
    assert typed_guess.times(9).twin is None


def test_a_ratio_is_read_to_the_decimals_of_its_question():
    assert typed_guess.times(2, decimals=1) == typed_guess.times("2.0")
    assert typed_guess.times("2 times", decimals=1).half == Fraction(1, 20)
    assert typed_guess.times("2.25", decimals=1).half == Fraction(1, 20)  # more than it asks for
    assert typed_guess.times("1.81", decimals=1).holds(Fraction("1.8487"))
    assert not typed_guess.times("1.79", decimals=1).holds(Fraction("1.8487"))
    assert not typed_guess.times("0", decimals=1).holds(Fraction("0.01"))
