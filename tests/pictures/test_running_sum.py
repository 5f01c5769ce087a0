"""Sums of equal values: those of NumPy, said alike in picture and text."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from memlab import InputError, views
from memlab.pictures.draw.marks import Points
from memlab.pictures.running_sum import total
from tests.pictures.shown import charts, drawn
from tests.pictures.trainings import SUMMED


@pytest.mark.parametrize(("format", "value"), [("fp16", 1.0), ("fp16", 0.1), ("fp16", 100.0),
                                               ("fp32", 0.1)])  # fmt: skip
def test_sums_are_those_of_numpy(format: str, value: float) -> None:
    running = views.running_sum(format, 1000, value)
    given = np.full(1000, value, np.float16 if format == "fp16" else np.float32)
    wide = np.float32 if format == "fp16" else np.float64
    with np.errstate(over="ignore"):
        assert np.array_equal(running.methods[0].sums, np.add.accumulate(given))
    assert np.array_equal(running.methods[1].sums, np.add.accumulate(given.astype(wide)))
    assert running.exact == math.fsum(given.tolist())


def test_pairs_are_added_half_by_half() -> None:
    given = np.full(1000, 0.1, np.float16)

    def pairs(values: Any) -> Any:
        half = len(values) // 2
        return pairs(values[:half]) + pairs(values[half:]) if half else values[0]

    sums = views.running_sum("fp16", 1000, 0.1).methods[2].sums
    assert all(pairs(given[:count]) == sums[count - 1] for count in (1, 2, 3, 7, 64, 999, 1000))


def test_the_sum_of_ones_stays_at_2048_and_of_tenths_at_256() -> None:
    ones, tenths = SUMMED["ones"](), SUMMED["tenths"]()
    assert [method.end for method in ones.methods] == [2048, 4096, 4096]
    assert ones.sentences == [
        "Added one by one in fp16, the sum stays at 2,048 after 2,048 values. Exact: 4,096.",
        "The next number after 2,048 is 2 larger, and 1 is at most half of that, "
        "so the sum is rounded back.",
    ]
    assert [method.end for method in tenths.methods] == [256, 409.5, 409.5]
    assert tenths.sentences[1].startswith("The next number after 256 is 0.25 larger")
    assert "which is 0.0999755859375 in fp16" in tenths.text()


@pytest.mark.parametrize("name", ["ones", "beyond", "fp8"])
def test_sums_end_alike_in_picture_and_text(name: str) -> None:
    view = SUMMED[name]()
    labels, text = drawn(view), view.text()
    (chart,) = charts(view)
    points = [mark for mark in chart.marks if isinstance(mark, Points)]
    for method, mark in zip(view.methods, points, strict=True):
        end = total(method.end)
        assert {method.name, end} <= {*labels}
        ends = [line for line in text.split("\n") if line.startswith(f"{method.name}  ")]
        assert any(re.search(rf"  {re.escape(end)}( |$)", line) for line in ends)
        if math.isfinite(method.end):
            assert mark.points == [(view.count, method.end)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fp61",), "unknown format 'fp61'"),
        (("int8",), "sums need a floating-point format of at most 32 bits, got int8"),
        (("fp16", 0), "count must be at least 1"),
        (("fp16", 10**6), "count must be at most 65,536, got 1,000,000"),
        (("fp16", 10, -1), "value must be above 0, got -1; try 1."),
        (("fp16", 10, float("nan")), "value must be above 0, got nan"),
        (("fp16", 10, 1e-9), "1e-09 is 0 in fp16"),
        (("fp8_e4m3fn", 10, 1e9), "1e+09 is nan in fp8_e4m3fn"),
    ],
)
def test_sums_that_cannot_be_made_get_one_sentence(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        views.running_sum(*arguments)


def test_a_notebook_gets_picture_and_text() -> None:
    view = views.running_sum()
    assert "nan" not in view.svg()
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    assert str(view) == view.text() == repr(view)
