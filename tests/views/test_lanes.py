"""Vector lanes and reading memory: picture and text say the same, of made-up measurements."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from memlab import InputError, views
from memlab.bench import reading
from memlab.studies.figures import billions
from memlab.views import MemoryRate, VectorLanes, lanes
from memlab.views.draw.chart import Chart
from memlab.views.draw.marks import Fact, Points
from memlab.views.draw.svg import Svg
from tests.views.measurements import ALL, LANES, READINGS


def drawn(view: Any) -> list[str]:
    """The texts of the picture, whose words are as large as they must be."""
    svg: Svg = view.page().svg()
    assert min(label.size for label in svg.labels) >= 11
    return [label.content for label in svg.labels]


def chart(view: Any) -> Chart:
    (found,) = (block for block in view.page().blocks if isinstance(block, Chart))
    return found


def facts(view: Any) -> list[Fact]:
    return [mark.fact for mark in chart(view).marks if mark.fact]


# -- lanes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LANES)
def test_picture_and_text_have_the_same_marks_and_rates(name: str) -> None:
    view = VectorLanes(LANES[name])
    labels, text = drawn(view), view.text()
    for count, label in view.marks:
        assert label in labels
        assert f"{count} lanes: {label}." in text
    for each in LANES[name].curves:
        assert f"{each.format} {lanes.bend(each)}" in labels
        assert lanes.width(each) in text
        assert (f"{billions(each.knee.rate)}*" in text) is each.ends


@pytest.mark.parametrize("name", LANES)
def test_every_point_is_inside_and_says_its_figures(name: str) -> None:
    found = chart(VectorLanes(LANES[name]))
    points = [p for p in found.marks if isinstance(p, Points) and p.fact]
    assert len(points) == sum(len(each.points) for each in LANES[name].curves)
    for (place,) in (each.points for each in points):
        assert 0 <= found.x.at(place[0]) <= 1
        assert 0 <= found.y.at(place[1]) <= 1
    first = LANES[name].curves[0]
    said = (
        f"{first.format}, {first.points[0].lanes} lanes: {billions(first.points[0].rate)} billion"
    )
    assert str(points[0].fact).startswith(said)
    assert "measured here: a processor, 2026-01-31" in str(points[0].fact)


def test_the_table_has_a_row_for_every_number_of_lanes() -> None:
    lines = VectorLanes(ALL).text().split("\n")
    first = lines.index("operations per second, in billions:") + 1
    table = [line.split() for line in lines[first : first + 8]]
    assert [row[0] for row in table] == ["lanes", "1", "2", "4", "8", "16", "32", "64"]
    assert table[0][1:] == ["fp64", "fp32", "bf16", "int8"]
    assert table[1][1:] == ["14.0", "14.0", "-", "-"]
    assert table[4][1:] == ["112*", "112", "112", "-"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("all", "fp32: linear up to 16 lanes, 512 bits. Measured: off by at most 0.0 % up to "
                "there, at most 1.0 % more beyond."),
        ("all", "A register holds 512 bits, 16 fp32 lanes: the features of this processor name "
                "avx512f. Measurement and registers agree."),
        ("all", "16 lanes: 512 bits: 16 fp32 lanes in a register (avx512f), and measured."),
        ("all", "32 lanes: 1024 bits: 32 fp32 lanes, as a GPU warp: 32 threads × 32 bits."),
        ("all", "fp64 : fp32 : bf16 : int8 = 1.00 : 2.00 : 4.00 : 8.00"),
        ("all", "The compiler itself chose 512 bits for a plain loop, a + b in fp32: zmm 16 times, "
                "ymm 4 times."),
        ("parts", "8 lanes: 256 bits: 8 fp32 lanes, measured."),
        ("parts", "this processor computes them in 2 parts of 256 bits"),
        ("forced", "compiled for avx2"),
        ("forced", "it was forced, avx2 is the widest that it has. Measurement and"),
        ("forced", "256 bits: 8 fp32 lanes in a register (avx2, forced), and measured"),
        ("forced", "Where a line falls, too few sums of so many lanes fit the 16 registers."),
        ("forced", "more beyond. At 64 lanes fp64 falls to 0.51 times its"),
        ("lost", "up to there, no more beyond."),
        ("lost", "At 8 lanes fp32 falls to 0.50 times its operations at 4 lanes."),
        ("forced", "Not computed in vectors here: bf16, int8."),
        ("one", "8 lanes: 512 bits: 8 fp64 lanes in a register (avx512f), and measured."),
        ("one", "The compiler itself made no vectors of a known width"),
        ("unbroken", "int8: linear up to 64 lanes, 512 bits, the most that were measured"),
        ("wider", "no feature of this processor names a wider one. The curve rises beyond one "
                  "register: this processor computes 2 of them at a time."),
        ("wider", "time on the wall"),
    ],
)  # fmt: skip
def test_what_is_said(name: str, says: str) -> None:
    assert says in VectorLanes(LANES[name]).text()


@pytest.mark.parametrize(
    ("name", "says"),
    [("one", "GPU warp"), ("unbroken", "measured."), ("all", "falls"), ("unbroken", "agree")],
)
def test_what_is_not_said(name: str, says: str) -> None:
    assert says not in VectorLanes(LANES[name]).text()


def test_formats_differ_in_more_than_colour_and_knees_have_rings() -> None:
    parts = VectorLanes(ALL).page().svg().parts
    shapes = {found[1] for part in parts if (found := re.search(r'd="([^"]+)".*translate', part))}
    assert len(shapes) == 4
    assert sum("<circle" in part for part in parts) == sum(each.ends for each in ALL.curves) == 3


# -- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READINGS)
def test_reading_says_the_same_in_picture_and_text(name: str) -> None:
    view = MemoryRate(READINGS[name])
    labels, text = drawn(view), view.text()
    for each in READINGS[name].rates:
        values, speed = billions(each.values), billions(each.bandwidth)
        assert f"{each.format}: {values} billion/s, {speed} GB/s" in labels
        (line,) = (line for line in text.split("\n") if line.startswith(f"{each.format}  "))
        assert line.split() == [each.format, str(each.bits // 8), values, speed]
    assert len(facts(view)) == len(READINGS[name].rates)


def test_what_is_said_of_reading() -> None:
    text = MemoryRate(READINGS["all"]).text()
    assert "Reading 268 MB from memory" in text
    assert "30.0 to 30.0 GB/s in every format" in text
    assert "int8 against fp64: 0.125 of the bytes for each value, 8.00 times the values." in text
    assert "The array is 8.00 times the largest cache, 33.6 MB." in text
    assert "does not say how large the caches are" in MemoryRate(READINGS["one"]).text()


def test_a_point_says_its_figures_and_where_it_was_measured() -> None:
    assert str(facts(MemoryRate(READINGS["one"]))[0]) == (
        "fp32: 0.50 billion/s, 2.00 GB/s; 2 samples, measured here: a processor, 2026-01-31"
    )


@pytest.mark.measures
def test_a_real_reading_is_shown(monkeypatch: Any) -> None:
    monkeypatch.setattr(reading, "LEAST", 2**20)
    monkeypatch.setattr(reading, "caches", dict)
    found = views.memory_rate(("fp32", "int8"), progress=False)
    assert [each.format for each in found.measured.rates] == ["fp32", "int8"]
    drawn(found)


@pytest.mark.parametrize("view", [VectorLanes(ALL), MemoryRate(READINGS["all"])])
def test_a_notebook_gets_picture_and_text(view: Any) -> None:
    assert str(view) == repr(view) == view.text()
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    values = json.loads(json.dumps(view.as_dict(), default=str))
    assert values["title"] == view.title
    assert values.keys() - {"title", "sentences", "notes"} == {*vars(view)}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"formats": ("fp16",)}, "unknown format of vectors 'fp16'"),
        ({"target": "avx1024"}, "unknown target 'avx1024'"),
    ],
)
def test_bad_input_gives_one_sentence(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        views.vector_lanes(**arguments)
    with pytest.raises(InputError, match="less than a byte"):
        views.memory_rate(("int4",))
