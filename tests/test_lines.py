"""Lines without NumPy: the same figures as NumPy's, for random lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab import lines
from memlab.lines import plain

figures = st.integers(-9, 9) | st.floats(-9, 9).map(lambda number: round(number, 1))
pairs = st.lists(st.tuples(figures, figures), min_size=1, max_size=12)


def same(asked: Callable[[Any], tuple[Any, ...]]) -> None:
    """What is asked of ``np`` gives the same lines and figures from both."""
    for wanted, found in zip(asked(numpy), asked(plain), strict=True):
        assert listed(wanted) == listed(found)


def listed(found: Any) -> Any:
    """A line as a list, a figure as it is."""
    return found.tolist() if hasattr(found, "tolist") else found


ASKED: dict[str, Callable[[Any, Any, Any], tuple[Any, ...]]] = {
    "arithmetic": lambda np, a, b: (a + b, a - b, a * b, 2 * a, 3 - b, -a, abs(a), a / 10, 7 + a),
    "whole": lambda np, a, b: (a.astype(int) * 3 // 7,),
    "compared": lambda np, a, b: (a < b, a <= 3, a > b, a >= 0, a == b, a != b, (a < b) | (a > 2)),
    "chosen": lambda np, a, b: (a[a < b], a[[0, -1]], a[::-1], np.where(a < b, a, 0), ~(a < b)),
    "extremes": lambda np, a, b: (a.max(), a.min(), a.argmax(), a.argmin(), a[:0].max(initial=0)),
    "counted": lambda np, a, b: ((a < b).sum(), a.any(), np.count_nonzero(a), np.flatnonzero(a)),
    "pairwise": lambda np, a, b: (np.maximum(a, b), np.minimum(2, b), np.clip(a, -1, 4)),
    "running": lambda np, a, b: (np.cumsum(a), np.minimum.accumulate(a), np.diff(a)),
    "rounded": lambda np, a, b: (
        np.rint(a / 2), np.ceil(a), np.append(a, 1), np.concatenate([a, b]),
    ),
    "ordered": lambda np, a, b: (
        np.argsort(a, kind="stable"), np.lexsort((a, b)), np.sort(a),
        np.searchsorted(np.sort(a), b, side="right"), *np.unique(a, return_index=True),
    ),
    "made": lambda np, a, b: (
        np.zeros(3), np.zeros_like(a), np.full(2, 5), np.arange(4), np.arange(-44, 60, 12),
        np.arange(4.5, 30.2, 6), np.zeros(2, np.int64),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ASKED)
@given(pairs)
def test_figures_are_those_of_numpy(what: str, given: list[tuple[float, float]]) -> None:
    """Every function and operator, on lines of floats."""
    columns = [list(column) for column in zip(*given, strict=True)]
    same(lambda np: ASKED[what](np, *(np.array(column, np.float64) for column in columns)))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9)), min_size=1))
def test_sums_at_places_are_those_of_numpy(given: list[tuple[int, int]]) -> None:
    """Births and deaths: a place may come more than once."""

    def asked(np: Any) -> Any:
        line = np.zeros(6, np.int64)
        where, what = (np.array(column, np.int64) for column in zip(*given, strict=True))
        np.add.at(line, where, what)
        np.subtract.at(line, where[:1], what[:1])
        ends = np.array([0, 3, 2, 5, 4])
        return line, np.maximum.reduceat(line, ends)

    same(asked)


@given(st.lists(st.floats(-9, 9), min_size=5, max_size=30), st.integers(1, 5))
def test_windows_are_those_of_numpy(given: list[float], span: int) -> None:
    """The most and the least over so many columns of pixels."""
    at = list(range(0, len(given) - span + 1, 2))
    for best, python in ((lines.most, max), (lines.least, min)):
        found = best(numpy.array(given), span, numpy.array(at))
        assert found.tolist() == [python(given[first : first + span]) for first in at]


BLOCKS = st.lists(
    st.tuples(st.integers(0, 9) | st.integers(0, 2**70), st.integers(-1, 3), st.integers(0, 6))
)


@pytest.mark.parametrize("on", [numpy, plain])
@given(BLOCKS)
def test_sums_over_moments_are_those_moment_by_moment(
    on: Any, given: list[tuple[int, ...]]
) -> None:
    """Blocks that are there before or after all moments, and sums that 64 bits do not count."""
    blocks = [(size, birth, max(birth, 0) + more) for size, birth, more in given]
    sizes, births, deaths = ([block[of] for block in blocks] for of in range(3))
    with patch.object(lines, "np", on):
        born, gone = (on.array(each, on.int64) for each in (births, deaths))
        found = lines.alive(lines.column(sizes), born, gone, 4).tolist()
    assert found == [sum(b[0] for b in blocks if b[1] <= at <= b[2]) for at in range(4)]
    assert all(isinstance(figure, int) for figure in found)
