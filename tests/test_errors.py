"""What messages say of anything that may be given: one short line."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from memlab.errors import (
    LARGEST,
    InputError,
    flag,
    known,
    pick,
    real,
    several,
    shorten,
    unknown,
    whole,
)


class Silent:
    def __repr__(self) -> str:
        raise ValueError("no text")


def deep(levels: int = 200_000) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


STRANGE: tuple[Any, ...] = (
    None, True, "", "a\nb", "x" * 1000, "\udc80", 1.5, nan, inf, 10**5000, -(10**5000), [], {},
    {"a"}, deep(), Silent(), np.zeros((40, 40)), np.array(["a", "b"]), object(), lambda: None, int,
)  # fmt: skip


@pytest.mark.parametrize("given", STRANGE, ids=lambda given: type(given).__name__)
def test_every_helper_says_one_short_line_of_what_was_given(given: Any) -> None:
    assert len(shorten(given).splitlines()) <= 1
    assert len(str(unknown("name", given, ["a", "b"]))) < 150
    for check in (
        lambda: whole("size", given, most=10),
        lambda: real("rate", given, usual=0.1, least=0, below=1),
        lambda: known("name", given, ["a", "b"]),
        lambda: pick("name", given, {"a": 1}),
        lambda: flag("bias", [given]),
        lambda: several("name", [given], ["a", "b"]),
    ):
        with pytest.raises(InputError) as caught:
            check()
        assert len(str(caught.value).splitlines()) == 1
        assert len(str(caught.value)) < 150


def test_a_whole_number_has_bounds() -> None:
    assert whole("size", np.int64(3)) == whole("size", 3.0) == 3
    assert whole("size", LARGEST) == LARGEST
    for given, words in (
        (LARGEST + 1, "size must be at most 10^40, got more than 10^40; try 10^40."),
        (-(10**60), "size must be at least 1, got below -10^40; try 1."),
    ):
        with pytest.raises(InputError) as caught:
            whole("size", given)
        assert str(caught.value) == words
    with pytest.raises(InputError, match=r"size must be at most 1,000, got 2,000; try 1,000."):
        whole("size", 2000, most=1000)


def test_a_real_number_is_finite_and_within_its_bounds() -> None:
    assert real("rate", np.float32(0.5), usual=0.1) == 0.5
    assert real("rate", -3, usual=0.1) == -3.0
    for given in (nan, inf, -inf, "0.1", None, True, 10**400, [0.1]):
        with pytest.raises(InputError, match=r"rate must be a number, got .*; try 0.1."):
            real("rate", given, usual=0.1)
    with pytest.raises(InputError, match=r"rate must be at least 0 and below 1, got 1; try 0.1."):
        real("rate", 1, usual=0.1, least=0, below=1)


def test_no_name_is_not_listed() -> None:
    assert known("stage", "", ["", "a"]) == ""
    with pytest.raises(InputError, match=r"unknown stage 'x'. Known: a, b.$"):
        known("stage", "x", ["", "a", "b"])


def test_several_names_are_a_list_or_one() -> None:
    assert several("name", "a", ["a", "b"]) == ("a",)
    assert several("name", iter("aba"), ["a", "b"]) == ("a", "b")
    for given in (None, 5, True):
        with pytest.raises(InputError, match=r"give a list of names, each a name, got .*; try"):
            several("name", given, ["a", "b"])


def test_a_flag_is_a_bool() -> None:
    assert flag("bias", np.True_) is True
    assert flag("bias", False) is False
    with pytest.raises(InputError, match=r"bias must be True or False, got 'no'; try True."):
        flag("bias", "no")
