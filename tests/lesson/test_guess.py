"""Typed guesses: each becomes an amount that is exact to half a unit of its last digit."""

import unicodedata
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from memlab import units
from memlab.errors import InputError
from memlab.lesson import typed_guess
from memlab.lesson.misconceptions import judge
from tests.rows import every_row


@every_row(
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


@every_row(
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
    "25 MB": ("٢٥ MB", "२५ MB", "۲۵ MB", "\u200f25 MB", "twenty-five MB", "25 MBs"),
    "0.3 GB": (
        "\u0660\u066b\u0663 GB",
        "\u06f0\u066b\u06f3 GB",
        "\u0966.\u0969 GB",
        "\uff10\uff0e\uff13 GB",
    ),
    "1,000 B": ("\u0661\u066c\u0660\u0660\u0660 B", "1\uff0c000 B", "1'000 bytes"),
    "0 B": ("0", "nothing", "none", "zero bytes", "0 B"),
}
SHARED = {
    "0.5 GB": ("½ GB", "1/2 GB", "half a GB", "half a gigabyte", "a half GB", "半 GB"),
    "0.25 GiB": ("¼ GiB", "1/4 GiB", "a quarter of a GiB", "quarter GiB", "¼GiB"),
    "1.5 GB": ("1½ GB", "1 ½ GB", "1 1/2 GB", "one and a half GB", "3/2 GB", "1 and a half GB"),
    "0.875 MB": ("⅞ MB", "7/8 MB", "7\u20448 MB"),
    "6,400,000 B": ("6.4 million bytes", "6.4 million B"),
}
"""Amounts that are read as fractions, with a reach of their own."""
ENDLESS = {"1/3 GB": ("⅓ GB", "a third of a GB", "third GB"), "2/3 MB": ("⅔ MB", "two thirds MB")}
"""Amounts whose digits have no end."""
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
    "2": ("two", "twice", "2 times", "200 %", "double", "twice as many", "twofold", "两倍", "२"),
    "0.5": (
        "half",
        "a half",
        "1/2",
        "50 %",
        "½",
        "half as much",
        "half of it",
        "一半",
        "\u0665\u0660 \u066a",
    ),
    "1.5": (
        "1½",
        "1 1/2",
        "one and a half",
        "3/2",
        "1.5 times",
        "1½ x",
        "150 %",
        "\u0661\u066b\u0665",
    ),
    "0": ("nothing", "none", "zero", "0 %", "0 times"),
    "1": ("the same", "unchanged", "once", "100 %", "one"),
    "16": ("sixteen", "sixteen times", "16-fold", "sixteenfold", "१६"),
    "25": ("twenty-five", "twenty five", "5·5"),
    "1,000": ("thousand", "a thousand", "1e3", "10^3", "1 000", "1_000", "1\u00a0000"),
    "1/3": ("a third", "⅓", "third", "one third", "三分之一", "1:3"),
    "2/3": ("two thirds", "⅔", "2 thirds"),
    "3": ("triple", "threefold", "thrice"),
}


@every_row(("plain", "odd"), [(p, o) for p, all in AMOUNTS.items() for o in all])
def test_a_clear_amount_is_read_however_it_is_written(plain, odd):
    wanted, read = typed_guess.amount(plain), typed_guess.amount(odd)
    assert (read.value, read.half, read.unit) == (wanted.value, wanted.half, wanted.unit)
    assert read.text == wanted.text  # as everybody reads it


@every_row(("plain", "odd"), [(p, o) for p, all in RATIOS.items() for o in all])
def test_a_clear_ratio_is_read_however_it_is_written(plain, odd):
    assert typed_guess.times(odd).value == typed_guess.times(plain).value


@every_row(("plain", "odd"), [(p, o) for p, all in (SHARED | ENDLESS).items() for o in all])
def test_a_fraction_of_a_unit_is_read_and_shown_with_its_value(plain, odd):
    read = typed_guess.amount(odd)
    assert read.text == plain
    assert read.value == typed_guess.amount(plain).value


@every_row(("plain", "odd"), [(p, o) for p, all in RATIOS.items() for o in all])
def test_a_ratio_is_shown_with_its_value(plain, odd):
    shown = typed_guess.times(odd).text
    assert typed_guess.times(shown).value == typed_guess.times(odd).value
    assert typed_guess.times(odd, decimals=1).text in (shown, f"{shown}.0")


@every_row(
    ("typed", "shown"),
    [("half", "0.5"), ("a third", "1/3"), ("1/7", "1/7"), ("1e9", "1,000,000,000"), ("2", "2.0"),
     ("1e-7", "0.0000001"), ("12345678/7", "12345678/7"), ("12.3456789/7", "12.3456789/7"),
     ("225 %", "2.25"), ("4 and a third", "13/3")],
)  # fmt: skip
def test_a_ratio_is_shown_in_full(typed, shown):
    assert typed_guess.times(typed, decimals=1).text == shown


SIGNS = {
    sign: Fraction(unicodedata.numeric(sign)).limit_denominator(100)
    for sign in map(chr, range(0x2190))
    if unicodedata.decomposition(sign).startswith("<fraction>") and sign != "\u215f"
}
"""Fractions in one sign; the last one is a numerator alone."""


@every_row("sign", SIGNS)
def test_every_fraction_in_one_sign_is_read(sign):
    assert typed_guess.times(sign).value == SIGNS[sign]
    assert typed_guess.amount(f"{sign} kB").value == 1000 * SIGNS[sign]
    assert typed_guess.amount(f"7{sign} GiB").value == (7 + SIGNS[sign]) * 2**30


DIGITS = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) == "Nd"]


@drawn(
    number=st.integers(0, 10**9),
    below=st.integers(1, 999) | st.none(),
    zero=st.sampled_from([d for d in DIGITS if unicodedata.decimal(d) == 0]),
    point=st.sampled_from((".", ",", "\u066b", "\uff0e")),
    unit=st.sampled_from(sorted(units.UNITS)),
    space=st.sampled_from(("", " ", "\u00a0", "\u202f", "\u200b", "\u200f")),
)
def test_digits_of_every_script_are_read(number, below, zero, point, unit, space):
    def of(text):
        return "".join(chr(ord(zero) + int(digit)) for digit in text)

    rest = "" if below is None else point + of(f"{below:04}")
    value = number + (Fraction(below, 10_000) if below else 0)
    read = typed_guess.amount(f"{of(str(number))}{rest}{space}{unit}")
    assert read.value == value * units.UNITS[unit]
    assert typed_guess.amount(read.text) == read


@drawn(
    st.text(
        alphabet=st.sampled_from([*"0123456789.,/ x%+-e^ahlfird½⅓²\u0662\u066bMGBik"]), max_size=12
    )
)
def test_what_is_shown_of_a_guess_has_its_value_or_is_what_was_typed(text):
    for read in (typed_guess.amount, lambda t: typed_guess.times(t, decimals=1)):
        try:
            guess = read(text)
        except InputError:
            continue
        assert read(guess.text).value == guess.value


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
        for given in (f"{2 * above}/{below}", f"{float(truth * 2):.3f}", f"{float(truth):.3f} %"):
            assert not judge(typed_guess.times(given), truth).right, (given, truth)


# -- what is no guess ------------------------------------------------------------------------------


@every_row("text", ["0 GB", "0 B", "0.00 MB", "zero B", "0 x 64 B", "0^2 B"])
def test_nothing_is_no_rounded_amount(text):
    assert not typed_guess.amount(text).holds(1)
    assert typed_guess.amount(text).holds(0)


@every_row("text", ["0", "zero", "0.0", "0 %", "0x", "0 * 9", "zero times"])
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


@every_row("given", ["10^99", "9e99", "1e20 · 1e30", "9" * 40, "1e-99", "1e-20 · 1e-9"])
def test_a_number_beyond_anything_gets_one_sentence(given):
    for read, text in ((typed_guess.amount, f"{given} B"), (typed_guess.times, given)):
        with pytest.raises(InputError, match="; give"):
            read(text)


@every_row(
    "text",
    [
        *("", "6.4", "MB", "-3 MB", "6.4 MW", "1,2,3 MB", "nan B", "6 4 MB", "6.4 M", "x B"),
        *("0x10 B", "0xff B", "0X1F kB", "0b10 B", "half", "1/0 GB", "½", "half half GB"),
        *("1 GB or 2 GB", "12,34,567 B", "1.2.3 MB", "6.4 MB/s", "1__000 B", "k² B", 6.4, True),
    ],
)
def test_no_amount_gets_one_sentence(text):
    with pytest.raises(InputError, match=r"is no amount of memory; give a number and its unit"):
        typed_guess.amount(text)


def test_a_number_without_its_unit_is_asked_about():
    with pytest.raises(InputError, match="no unit; if it is a number of bytes, write 6,422,528 B"):
        typed_guess.amount("6 422 528")


@every_row(
    "text",
    [
        "6.4 megabits",
        "6.4 bits",
        "6.4 Mb",
        "6.4 MBit",
        "6.4 Mbit",
        "6.4 Mbits",
        "1 Gibit",
        "9 kbit",
    ],
)
def test_bits_are_no_bytes(text):
    with pytest.raises(InputError, match="are bits, 8 to a byte"):
        typed_guess.amount(text)


@every_row(
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
        *("0x10", "+50 %", "half half", "-½", "as many", "a", "and a half"),
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
    assert typed_guess.times("2.00", decimals=1).half == Fraction(1, 20)  # more than it asks for
    assert typed_guess.times("2.25", decimals=1).half == Fraction(1, 200)
    assert typed_guess.times("1.8", decimals=1).holds(Fraction("1.8487"))
    assert not typed_guess.times("1.81", decimals=1).holds(Fraction("1.8487"))
    assert not typed_guess.times("0", decimals=1).holds(Fraction("0.01"))
