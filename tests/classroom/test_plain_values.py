"""Values that cross from a hostile process: they come back as they were, or as no value at all."""

import json
from array import array
from collections import deque
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

from memlab.classroom import running_submission
from memlab.classroom.plain_values import DEPTH, decoded, encoded
from memlab.lesson import returned_values
from memlab.lesson.returned_values import Foreign, Numbers


def back(value):
    """A value that was written as JSON and read again."""
    return decoded(json.loads(json.dumps(encoded(value), allow_nan=False)))


PLAIN = [
    None, True, 0, -7, 2**53, -(2**200), 0.1, -0.0, inf, "", "ß", [], [1, [2.5, ["x"]]],
    (1, (2, None)), {1, 2}, {"a": 1, 2: [3]}, Fraction(1, 3), Numbers((2,), (1, 2.5)),
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_a_plain_value_comes_back_with_its_type(value):
    assert back(value) == value
    assert type(back(value)) is type(value)


@pytest.mark.parametrize("kind", ["int8", "uint64", "float16", "float32", ">f8", "bool"])
def test_an_array_comes_back_bit_for_bit(kind):
    value = np.arange(6).reshape(2, 3).astype(kind)
    assert np.array_equal(back(value), value)
    assert back(value).dtype == value.dtype
    assert back(value).flags.writeable


ALIKE = [
    (Decimal("2.5"), Fraction(5, 2)), (deque([1]), [1]), (array("i", [1]), [1]), (range(2), [0, 1]),
    (np.int32(7), 7), (np.float32(0.1), float(np.float32(0.1))), (np.bool_(True), True),
    (np.array([1, 2**70], object), [1, 2**70]), (frozenset({1}), {1}),
]  # fmt: skip


@pytest.mark.parametrize(("value", "other"), ALIKE, ids=repr)
def test_a_value_of_another_type_comes_back_as_the_numbers_it_holds(value, other):
    assert back(value) == other


FOREIGN = [
    object(), 1j, b"x", 2**70000, Decimal("1e999999999"), Decimal("nan"), "x" * 10**6, len,
    np.datetime64(7, "s"), np.array(["a"]), np.zeros((0, 10**9)), range(10**9),
]  # fmt: skip


@pytest.mark.parametrize("value", FOREIGN, ids=lambda value: type(value).__name__)
def test_what_is_no_plain_value_or_too_large_is_no_number(value):
    assert returned_values.read(back(returned_values.plain(value))) is None


def test_a_class_of_its_own_keeps_its_name_and_runs_nothing():
    class Equal(int):
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

        def __repr__(self):
            raise OSError

    value = back(returned_values.plain(Equal(7)))
    assert type(value) is Foreign
    assert returned_values.own_type(value) == "Equal"


def test_lists_too_deep_and_lists_in_themselves_are_cut():
    deep: list[Any] = [1]
    for _ in range(3 * DEPTH):
        deep = [deep]
    inside: list[Any] = []
    inside.append(inside)
    for value in (deep, inside):
        assert returned_values.read(back(returned_values.plain(value))) is None


def test_control_characters_are_shown():
    assert back("a\x1b[31m") == "a\\x1b[31m"
    assert decoded("\ud800") == "\\ud800"


BROKEN = [
    1.5, {"whole": "7" * 10**5}, {"whole": 7.5}, {"float": []}, {"fraction": [1, 0]}, {"tuple": 1},
    {"array": ["|O8", [1], ""]}, {"array": ["<f8", [2], "AAAA"]},
    {"array": ["<f8", [0, 10**9], ""]},
    {"array": ["<f8", [-1], ""]}, {"array": ["<f1", [0], ""]}, {"numbers": [[2], [1]]},
    {"numbers": [[1], ["x"]]}, {"numbers": [[1], [True]]}, {"numbers": [[1], [{"float": "inf"}]]},
    {"foreign": [1, 2]}, {"dict": [1]}, {"dict": [[[], 1]]}, {"unknown": 1}, {},
    {"tuple": [], "set": []},
]  # fmt: skip


@pytest.mark.parametrize("given", BROKEN, ids=lambda given: str(given)[:40])
def test_a_forged_message_is_refused(given):
    with pytest.raises(ValueError):  # noqa: PT011  # nothing else may come
        decoded(given)


def test_a_value_in_a_set_that_cannot_be_in_one_is_no_number():
    assert decoded({"set": [[1], 2]}) == {Foreign("", "a value in a set"), 2}


def test_a_flood_of_answers_to_cards_is_cut():
    calls = 10**5 * [{"name": "02.halve", "guess": "2"}]
    kept, _ = running_submission.calls_in({"calls": calls, "functions": []})
    assert len(kept) == running_submission.CALLS
