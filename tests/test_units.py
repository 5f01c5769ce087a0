"""Bytes as text and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab import InputError, units
from memlab.lesson import typed_guess
from tests.rows import every_row


@every_row(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (602_112, "602 kB"),
        (99_960, "100 kB"),
        (999_499, "999 kB"),
        (999_999, "1.0 MB"),
        (999_999_999, "1.000 GB"),
        (25_690_112, "25.7 MB"),
        (102_760_448, "103 MB"),
        (2_935_804_128, "2.936 GB"),
        (-219_000_000, "-219 MB"),
        (3 * 10**12, "3.000 TB"),
    ],
)
def test_short(nbytes: int, text: str) -> None:
    assert units.short(nbytes) == text


def test_mb_and_mib_are_different_words() -> None:
    assert units.in_unit(779_021_856, "MiB") == "742.93 MiB"
    assert units.in_unit(779_021_856, "MB") == "779.02 MB"
    assert units.both(2_061_631_488) == "2.062 GB (1.920 GiB)"
    assert units.both(196_608) == "196.608 kB (192.000 KiB)"
    assert units.both(36) == "36 B"


@every_row(
    ("text", "nbytes"),
    [
        ("12GB", 12 * 10**9),
        ("7.5 GiB", 8_053_063_680),
        ("1,048,576", 2**20),
        ("512mib", 2**29),
        ("12 B", 12),
        ("500 kB", 500_000),
        ("1000000", 10**6),
        ("0", 0),
    ],
)
def test_parse(text: str, nbytes: int) -> None:
    assert units.parse(text) == nbytes


@every_row("given", ["12", 12, "999,999", 300])
def test_a_few_bytes_need_their_unit(given: str | int) -> None:
    with pytest.raises(InputError, match=f"{given} has no unit.* or {given} B for bytes"):
        units.parse(given)
    with pytest.raises(InputError, match=r"0.5 has no unit.*; try 0.5 GB\.$"):
        units.parse("0.5")


def test_bytes_from_a_program_need_none() -> None:
    """A toy network is planned in a few bytes, and its plan asked what fits them."""
    assert units.exact_or_parsed(300) == units.parse("300", bare=True) == 300
    with pytest.raises(InputError, match="has no unit"):
        units.exact_or_parsed("300")


@given(st.integers(0, 10**15))
def test_parse_reads_what_exact_writes(nbytes: int) -> None:
    assert units.parse(units.exact(nbytes)) == nbytes


@every_row(
    "text", ["", "GB", "12 apples", "-3GB", "1.5 B", "1e3", "0.3 kB ?", "1,5 GB", "1,2,3", "9" * 99]
)
def test_no_amount_is_one_sentence(text: str) -> None:
    with pytest.raises(InputError) as caught:
        units.parse(text)
    assert "try" in str(caught.value)
    assert "\n" not in str(caught.value)


@every_row("text", ["25 Mb", "1Gb", "8 Kb", "1 Tb", "512 Mib", "1 kIb"])
def test_bits_are_no_bytes(text: str) -> None:
    with pytest.raises(InputError, match=r"are bits, 8 to a byte; for bytes write [kKMGT]i?B"):
        units.parse(text)
    with pytest.raises(InputError, match="are bits"):
        typed_guess.amount(text)


@every_row(
    ("text", "nbytes"), [("8 mb", 8 * 10**6), ("8 KB", 8000), ("8 MIB", 2**23), ("8 bytes", 8)]
)
def test_letters_may_be_small(text: str, nbytes: int) -> None:
    assert units.parse(text) == typed_guess.amount(text).value == nbytes
