"""Vector lanes: picture and text say the same, of made-up measurements."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memlab import InputError, views
from memlab.pictures.draw.marks import Fact, Points
from memlab.pictures.values.number_text import billions
from memlab.views import VectorLanes
from tests.pictures.measurements import FP32, LANES
from tests.pictures.shown import charts, drawn


def facts(view: Any) -> list[Fact]:
    return [mark.fact for chart in charts(view) for mark in chart.marks if mark.fact]


@pytest.mark.parametrize("name", ["fp32", "forced", "unbroken"])
def test_every_loop_is_in_the_text_and_those_around_the_end_of_the_gain_are_points(
    name: str,
) -> None:
    view, (curve,) = VectorLanes(LANES[name]), LANES[name].curves
    (chart,) = charts(view)
    lines = [line.split() for line in view.text().split("\n")]
    for loop in curve.points:
        assert [str(loop.lanes), billions(loop.rate)] in lines
    points = [mark.points[0] for mark in chart.marks if isinstance(mark, Points) and mark.fact]
    assert [x for x, _ in points] == [loop.lanes for loop in view.points]
    assert points[-1][0] <= max(16, 2 * curve.knee.lanes)
    for (x, y), loop in zip(points, view.points, strict=True):
        assert y == loop.rate / 1e9
        assert 0 < chart.x.at(x) <= 1
        assert 0 < chart.y.at(y) <= 1
    assert chart.x.at(8) == 2 * chart.x.at(4)  # linear, from 0
    assert chart.y.at(8) == 2 * chart.y.at(4)


@pytest.mark.parametrize("name", ["fp32", "forced", "unbroken"])
def test_one_ring_stands_where_the_gain_ends(name: str) -> None:
    view, (curve,) = VectorLanes(LANES[name]), LANES[name].curves
    (chart,) = charts(view)
    rings = [m.points for m in chart.marks if isinstance(m, Points) and m.look == "ring"]
    assert rings == [[(curve.knee.lanes, curve.knee.rate / 1e9)]] * curve.ends
    label = f"no gain from here: {curve.knee.lanes} lanes"
    assert drawn(view).count(label) == curve.ends


def test_a_point_says_its_figures() -> None:
    fact = "1 lanes of the vector: 14.0 billion operations per second; 3 samples, measured here: "
    assert str(facts(VectorLanes(FP32))[0]) == f"{fact}a processor, 2026-01-31"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("fp32", "Up to 16 lanes, twice as many lanes compute twice as many operations: 512 bits "
                 "at once."),
        ("fp32", "A register holds 512 bits, or 16 lanes: this processor has the feature "
                 "avx512f. The measurement and the registers agree."),
        ("fp32", "Up to there, the curve differs from a straight line by at most 0.0 %; beyond, it "
                 "gains at most 1.0 %."),
        ("fp32", "For a plain loop, a + b in fp32, the compiler itself chose 512 bits: zmm 16 "
                 "times, ymm 4 times."),
        ("parts", "this processor computes them in 2 parts of 256 bits"),
        ("forced", "compiled for avx2"),
        ("forced", "avx2 is the widest feature of the chosen target. The measurement and"),
        ("forced", "At 64 lanes it falls to 0.51 of that: too few sums of this width fit in the 16 "
                   "registers."),
        ("lost", "At 8 lanes it falls to 0.50 of that"),
        ("narrow", "the compiler itself used no vectors of a known width"),
        ("unbroken", "Up to 64 lanes, the most that were measured, twice as many lanes"),
        ("wider", "this processor names no feature with wider ones. The curve rises beyond one "
                  "register: this processor computes 2 registers at a time."),
        ("wider", "wall-clock time"),
    ],
)  # fmt: skip
def test_what_is_said(name: str, says: str) -> None:
    assert says in VectorLanes(LANES[name]).text()


@pytest.mark.parametrize(("name", "says"), [("fp32", "falls"), ("unbroken", "agree")])
def test_what_is_not_said(name: str, says: str) -> None:
    assert says not in VectorLanes(LANES[name]).text()


def test_the_picture_has_the_finding_and_no_footnotes() -> None:
    seen = " ".join(drawn(VectorLanes(FP32)))
    assert "Measured here: a processor" in seen
    for note in ("Best of", "compiler", "straight line"):
        assert note in VectorLanes(FP32).text()
        assert note not in seen


def test_a_notebook_gets_picture_and_text() -> None:
    view = VectorLanes(FP32)
    assert str(view) == repr(view) == view.text()
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"format": "fp16"}, "unknown format of vectors 'fp16'"),
        ({"target": "avx1024"}, "unknown target 'avx1024'"),
    ],
)
def test_bad_input_gives_one_sentence(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        views.vector_lanes(**arguments)
    with pytest.raises(InputError, match="less than a byte"):
        views.memory_rate(("int4",))
