"""Gradients by their size: counts, bars and limits are right, in picture and text."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError, formats, views
from memlab.pictures.draw.marks import Rect
from memlab.runtime.run import Run
from tests.pictures.shown import charts, drawn
from tests.pictures.trainings import COUNTED, MANY, NAN, SPREAD


@cache
def run() -> Run:
    """A step run in fp32 that keeps its gradients."""
    x = memlab.network("small", image=(3, 8, 8)).conv(8, 3, name="first").relu()
    step = memlab.training_step(x.flatten().linear(10).cross_entropy())
    return memlab.run(step, 8, keep="gradients")


@pytest.mark.parametrize("scale", [1.0, 2.0**20, 0.25])
def test_the_counts_are_those_of_numpys_fp16(scale: float) -> None:
    for values in (MANY, SPREAD):
        with np.errstate(over="ignore", under="ignore"):
            held = np.abs((values * np.float32(scale)).astype(np.float16))
        counts = views.gradient_histogram(values, "fp16", scale).tallies[-1].counts
        assert counts["already"] == np.sum(values == 0)
        assert counts["already"] + counts["zero"] == np.sum(held == 0)
        assert counts["beyond"] == np.sum(np.isinf(held))
        assert counts["subnormal"] == np.sum((held > 0) & (held < np.finfo(np.float16).tiny))
        assert sum(counts.values()) == len(values)


@pytest.mark.measures
def test_the_gradients_of_a_run_are_counted_together() -> None:
    histogram = views.gradient_histogram(run(), "fp16", 1.0)
    values = np.concatenate([gradient.reshape(-1) for gradient in run().gradients.values()])
    assert sum(histogram.tallies[0].counts.values()) == len(values)
    assert histogram.tallies == views.gradient_histogram(values, "fp16", 1.0).tallies
    assert histogram.title.startswith("Gradients of the parameters of small, fp32")


@pytest.mark.parametrize("name", ["spread", "fp8", "zeros"])
def test_every_gradient_that_is_not_0_is_in_one_bar(name: str) -> None:
    view = COUNTED[name]()
    for tally, chart in zip(view.tallies, charts(view), strict=True):
        bars = [mark for mark in chart.marks if isinstance(mark, Rect)]
        kept = sum(bar.y1 - bar.y0 for bar in bars if bar.look != "before thin")
        lost = sum(bar.y1 - bar.y0 for bar in bars if bar.look == "before thin")
        assert kept + lost == tally.alive
        assert lost == tally.counts["zero"] + tally.counts["beyond"]


def test_a_bar_says_what_it_counts() -> None:
    (chart,) = charts(views.gradient_histogram(SPREAD))
    facts = [str(mark.fact) for mark in chart.marks if mark.fact]
    assert "2⁻²⁵ – 2⁻²⁴: kept 1, lost 1" in facts


def test_a_scale_moves_every_bar_by_its_power() -> None:
    plain, scaled = views.gradient_histogram(MANY, "fp16", 1024).tallies
    totals = {power + 10: sum(bar) for power, bar in plain.powers.items()}
    assert totals == {power: sum(bar) for power, bar in scaled.powers.items()}


def test_what_a_format_says_of_its_limits() -> None:
    labels = drawn(views.gradient_histogram(MANY))
    assert "2⁻²⁴, the smallest above 0" in labels
    assert "2⁻¹⁴, the smallest with all digits" in labels
    assert "65,504, the largest" in labels
    assert "become NaN" in drawn(views.gradient_histogram(SPREAD, "fp8_e4m3fn"))
    fp16 = formats.find("fp16")
    limits = [value for value, _ in views.gradient_histogram([1.0], "fp16", 1.0).limits]
    assert limits == [fp16.smallest, fp16.smallest_normal, fp16.largest]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (({},), "this run has no gradients; try memlab.run(step, batch, keep='gradients')"),
        (("many",), "gradients are arrays of numbers, got 'many'"),
        (([1.0, NAN],), "the gradients hold NaN or infinity"),
        (([1.0], "fp61"), "unknown format 'fp61'"),
        (([1.0], "int8"), "a floating-point format of at most 32 bits, got int8; try fp16"),
        (([1.0], "fp16", 0), "scale must lie between 2^-64 and 2^64, got 0; try 1024"),
        (([1.0], "fp16", 1e30), "scale must lie between 2^-64 and 2^64, got 1e+30; try 1024"),
    ],
)
def test_gradients_that_cannot_be_counted_get_one_sentence(
    arguments: tuple[Any, ...], says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        views.gradient_histogram(*arguments)


@pytest.mark.measures
def test_a_run_that_kept_no_gradients_is_refused() -> None:
    plain = memlab.run(memlab.training_step(memlab.zoo.build("linear1")), 2)
    with pytest.raises(InputError, match="this run has no gradients"):
        views.gradient_histogram(plain)


def test_a_notebook_gets_picture_and_text() -> None:
    view = views.gradient_histogram(SPREAD, scale=4)
    assert "nan" not in view.svg()
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    assert str(view) == view.text() == repr(view)
