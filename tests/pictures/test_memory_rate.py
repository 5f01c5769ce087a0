"""Reading memory: picture and text say the same, of made-up measurements."""

from __future__ import annotations

from typing import Any

import pytest

from memlab import InputError, views
from memlab.measure import memory_bandwidth
from memlab.pictures.draw.marks import Rect
from memlab.pictures.values.number_text import billions
from memlab.views import MemoryRate
from tests.pictures.measurements import READINGS, read
from tests.pictures.shown import charts, drawn


@pytest.mark.parametrize("name", ["all", "one"])
def test_reading_says_the_same_in_picture_and_text(name: str) -> None:
    view = MemoryRate(READINGS[name])
    labels, text = drawn(view), view.text()
    (chart,) = charts(view)
    bars = [m for m in chart.marks if isinstance(m, Rect)]
    for each, bar in zip(READINGS[name].rates, bars, strict=True):
        figures = f"{billions(each.values)} billion values/s,  {billions(each.bandwidth)} GB/s"
        assert figures in labels
        assert f"{each.format}: {each.bits // 8} B each, {figures}." in text
        assert chart.x.at(bar.x1) == pytest.approx(each.values / 1e9 / chart.x.last)


def test_what_is_said_of_reading() -> None:
    text = MemoryRate(READINGS["all"]).text()
    assert "Reading 268 MB from memory" in text
    assert "30.0 to 30.0 GB/s in every format" in text
    assert (
        "int8 has 0.125 of the bytes of fp64 for each value, and 8.00 times the values are read."
        in text
    )
    assert "The array is 8.00 times the largest cache, 33.6 MB." in text
    assert "does not say how large the caches are" in MemoryRate(READINGS["one"]).text()


def test_what_is_said_of_reading_where_a_cache_is_large() -> None:
    view = MemoryRate(read("fp32", largest=2**27))
    assert view.title == "Reading 268 MB from memory and caches, one core: a processor"
    assert "only 2.00 times the largest cache, 134 MB. A part of it may stay there" in view.text()


def test_a_point_says_its_figures_and_where_it_was_measured() -> None:
    (fact,) = (mark.fact for mark in charts(MemoryRate(READINGS["one"]))[0].marks if mark.fact)
    assert str(fact) == ("fp32: 4 B each; 2 samples, measured here: a processor, 2026-01-31")


@pytest.mark.measures
def test_a_real_reading_is_shown(monkeypatch: Any) -> None:
    monkeypatch.setattr(memory_bandwidth, "LEAST", 2**20)
    monkeypatch.setattr(memory_bandwidth, "caches", dict)
    found = views.memory_rate(("fp32", "int8"), progress=False)
    assert [each.format for each in found.measured.rates] == ["fp32", "int8"]
    drawn(found)


def test_a_notebook_gets_picture_and_text() -> None:
    view = MemoryRate(READINGS["all"])
    assert str(view) == repr(view) == view.text()
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}


def test_bad_input_gives_one_sentence() -> None:
    with pytest.raises(InputError, match="less than a byte"):
        views.memory_rate(("int4",))
