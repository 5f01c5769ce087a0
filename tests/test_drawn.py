"""A few cases of a test function are drawn, and a table in one test names the row that fails."""

from itertools import product
from types import SimpleNamespace

import pytest

from tests.drawn import drawn, parameters
from tests.rows import every_row


class Item:
    """A case as pytest collects it."""

    def __init__(self, nodeid, params, marks):
        self.nodeid, self.marks = nodeid, marks
        self.callspec = SimpleNamespace(params=params)

    def get_closest_marker(self, name):
        return name in self.marks


def cases(name, *marks, **values):
    """The cases of a planted test function, a cross of the values."""
    return [
        Item(f"test.py::{name}[{number}]", dict(zip(values, given, strict=True)), marks)
        for number, given in enumerate(product(*values.values()))
    ]


def ids(items, number):
    """The names of the cases that are run."""
    return sorted(item.nodeid for item in drawn(items, number))


def test_the_cases_drawn_differ_in_every_parameter_and_stay_the_same():
    cross = cases("cross", a=range(3), b=range(3))
    found = [parameters(item).params for item in drawn(cross, 2)]
    assert len({given["a"] for given in found}) == len({given["b"] for given in found}) == 2
    assert ids(cross, 2) == ids(cross, 2)
    assert set(ids(cross, 2)) < set(ids(cross, 4))


def test_cases_of_each_kind_are_drawn():
    kinds = [SimpleNamespace(drawn_by=name) for name in ("relu", "relu", "relu", "tanh")]
    assert len(ids(cases("kinds", case=kinds, format=["fp16", "fp32"]), 2)) == 2 * (2 + 1)


@every_row(
    "marks, few, more", [((), 2, 3), (("table",), 2, 6), (("every",), 6, 6), (("measures",), 2, 3)]
)
def test_a_mark_keeps_every_case(marks, few, more):
    marked = cases("marked", *marks, a=range(6))
    assert (len(ids(marked, 2)), len(ids(marked, 3))) == (few, more)


def test_a_row_that_fails_is_named():
    @every_row("a, b", [(1, 2), (3, 3)])
    def differ(a, b):
        assert a != b

    with pytest.raises(AssertionError) as failed:
        differ()
    assert failed.value.__notes__ == ["in the row {'a': 3, 'b': 3}"]


@every_row("a", [1, 2])
def test_a_row_stands_beside_fixtures(a, tmp_path):
    assert a
    assert tmp_path.is_dir()
