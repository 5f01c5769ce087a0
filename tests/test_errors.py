"""What messages say of anything that may be given: one short line."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from memlab.errors import (
    LARGEST,
    InputError,
    divisor,
    known,
    listed,
    one_option,
    real_number,
    several,
    shorten,
    true_or_false,
    unknown,
    visible,
    whole_number,
)
from tests.rows import every_row
from tests.strange import STRANGE, mostly_refused, said

CHECKS: tuple[Callable[[Any], object], ...] = (
    lambda given: whole_number("size", given, most=10),
    lambda given: real_number("rate", given, usual=0.1, least=0, below=1),
    lambda given: divisor("side", given, "size", 12),
    lambda given: known("name", given, ["a", "b"]),
    lambda given: one_option("name", given, {"a": 1}),
    lambda given: true_or_false("bias", given),
    lambda given: several("name", [given], ["a", "b"]),
)


@every_row("given", STRANGE)
def test_what_was_given_is_said_in_one_short_line(given: Any) -> None:
    assert len(shorten(given).splitlines()) == 1
    assert len(str(unknown("name", given, ["a", "b"]))) < 150


@every_row("check", CHECKS)
def test_every_helper_says_one_short_line(check: Callable[[Any], object]) -> None:
    mostly_refused(check)
    assert max(len(said(partial(check, given))) for given in STRANGE) < 150


def test_a_whole_number_has_bounds() -> None:
    assert whole_number("size", np.int64(3)) == whole_number("size", 3.0) == 3
    assert whole_number("size", LARGEST) == LARGEST
    for given, words in (
        (LARGEST + 1, "size must be at most 10^40, got more than 10^40; try 10^40."),
        (-(10**60), "size must be at least 1, got below -10^40; try 1."),
    ):
        with pytest.raises(InputError) as caught:
            whole_number("size", given)
        assert str(caught.value) == words
    with pytest.raises(InputError, match=r"size must be at most 1,000, got 2,000; try 1,000."):
        whole_number("size", 2000, most=1000)


@every_row(("given", "usual"), [(5, 4), (11, 6), (13, 12), (0, 1)])
def test_a_number_that_does_not_divide_is_told_one_that_does(given: int, usual: int) -> None:
    with pytest.raises(InputError, match=rf"side must .*, got {given}; try {usual}\."):
        divisor("side", given, "size", 12)
    assert divisor("side", usual, "size", 12) == usual


def test_a_real_number_is_finite_and_within_its_bounds() -> None:
    assert real_number("rate", np.float32(0.5), usual=0.1) == 0.5
    assert real_number("rate", -3, usual=0.1) == -3.0
    for given in (nan, inf, -inf, "0.1", None, True, 10**400, [0.1]):
        with pytest.raises(InputError, match=r"rate must be a number, got .*; try 0.1."):
            real_number("rate", given, usual=0.1)
    with pytest.raises(InputError, match=r"rate must be at least 0 and below 1, got 1; try 0.1."):
        real_number("rate", 1, usual=0.1, least=0, below=1)


def test_no_name_is_not_listed() -> None:
    assert known("stage", "", ["", "a"]) == ""
    with pytest.raises(InputError, match=r"unknown stage 'x'. Known: a, b.$"):
        known("stage", "x", ["", "a", "b"])


def test_one_text_is_a_list_of_one() -> None:
    assert listed("budgets", "8 GB", "12 GB") == ["8 GB"]
    assert listed("budgets", iter([1, "8 GB"]), "12 GB") == [1, "8 GB"]
    assert listed("budgets", b"ab", "12 GB") == [b"ab"]
    for given in (None, 5, int, np.array(5)):
        with pytest.raises(InputError, match=r"batches must be a list, got .*; try \[1, 16\]."):
            listed("batches", given, 1, 16)


def test_several_names_are_a_list_or_one() -> None:
    assert several("name", "a", ["a", "b"]) == ("a",)
    assert several("name", iter("aba"), ["a", "b"]) == ("a", "b")
    for given in (None, 5, True):
        with pytest.raises(InputError, match=r"names, each a name, must be a list, got .*; try"):
            several("name", given, ["a", "b"])


def test_a_flag_is_a_bool() -> None:
    assert true_or_false("bias", np.True_) is True
    assert true_or_false("bias", False) is False
    with pytest.raises(InputError, match=r"bias must be True or False, got 'no'; try True."):
        true_or_false("bias", "no")


def test_what_takes_everything_is_found() -> None:
    with pytest.raises(AssertionError):
        mostly_refused(lambda given: None)


TERMINAL = "\x1b[31mred\x1b]0;title\x07\x9b2J"
"""What would colour a terminal, name its window and clear it."""


@every_row("text", [TERMINAL, "\ud800", "\uffff", "\u202eabc", "a\nb\0", "\U0010ffff"])
def test_what_no_screen_shows_is_escaped(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert shown.encode()
    assert ast.literal_eval(f'"{shown}"') == text


@every_row("text", ["conv1", "größe · 中文 ²", "1\u00a0kB", "\u0645\u06cc\u200c\u062e"])
def test_what_a_screen_shows_stays(text: str) -> None:
    assert visible(text) == text


def test_a_message_steers_no_terminal() -> None:
    class Steering:
        def __repr__(self) -> str:
            return TERMINAL

    for message in (f"no file {TERMINAL}", shorten(Steering())):
        assert str(InputError(message)).isprintable()
    assert str(InputError("one\ntwo")) == "one\ntwo"
