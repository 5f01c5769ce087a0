"""Curves, gradients and sums in several formats: picture and text say the same, and are right."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError, formats, views
from memlab.pictures import training_values as training
from memlab.pictures.draw.marks import CROSS, Glyph, Points, Rect
from memlab.pictures.draw.scale import Log, ratios_around
from memlab.pictures.values.number_text import figure, share
from memlab.runtime.run import Run
from tests.pictures.shown import charts, drawn
from tests.pictures.trainings import COUNTED, HISTORIES, MANY, NAN, SPREAD, SUMMED, history


@cache
def run() -> Run:
    """Of a step, in fp32, with its gradients."""
    x = memlab.network("small", image=(3, 8, 8)).conv(8, 3, name="first").relu()
    step = memlab.training_step(x.flatten().linear(10).cross_entropy())
    return memlab.run(step, 8, keep="gradients")


@pytest.mark.parametrize(
    "view",
    [
        views.training_curves(HISTORIES["several"]),
        views.gradient_histogram(SPREAD, scale=4),
        views.running_sum(),
    ],
    ids=lambda view: type(view).__name__,
)
def test_a_notebook_gets_picture_and_text(view: Any) -> None:
    assert "nan" not in view.svg()
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    assert str(view) == view.text() == repr(view)


# -- curves -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HISTORIES)
def test_curves_and_text_show_every_training_with_its_error(name: str) -> None:
    view = views.training_curves(HISTORIES[name])
    labels, text = drawn(view), view.text()
    for way in view.rows.ways:
        error = share(way.history.error)
        assert any(way.name.startswith(label.rstrip("…")) for label in labels)
        assert error in labels
        (line,) = (line for line in text.split("\n") if line.startswith(f"{way.name}  "))
        assert error in line
        assert way.state in " ".join(labels)
        assert f"{way.name}: {way.state}." in text or figure(way.level) in line


def test_a_name_stands_beside_its_error() -> None:
    view = views.training_curves(HISTORIES["several"])
    at = {label.content: label.box for label in view.page().svg().labels}
    for name, error in (("fp16", "100.0 %"), ("mixed bf16", "5.0 %")):
        assert at[name].top == pytest.approx(at[error].top)
        assert at[name].right < at[error].left
    states = [
        box.right for content, box in at.items() if content.startswith(("loss NaN", "steps,"))
    ]
    assert max(states) < at["test error at the end"].left


def test_a_loss_that_is_no_number_is_told_and_marked() -> None:
    view = views.training_curves(HISTORIES["several"])
    labels = " ".join(drawn(view))
    assert "loss NaN or infinite from step 38 on" in labels
    assert "loss NaN or infinite in 1 of 528 steps, first in step 101" in labels
    assert "fp16: loss NaN or infinite from step 38 on." in view.text()
    crosses = [mark for mark in charts(view)[0].marks if isinstance(mark, Glyph)]
    assert [(mark.x, mark.d) for mark in crosses] == [(38, CROSS), (101, CROSS)]
    assert "65,536 → 32,768" in view.text()


def test_a_point_is_the_mean_of_steps_and_none_where_one_is_no_number() -> None:
    fine, broken = (
        training.losses({"a": history(*losses)}).ways[0]
        for losses in (range(1, 241), (*range(1, 7), NAN, *range(8, 241)))
    )
    assert fine.window == 4
    assert fine.points[:2] == [(2.5, 2.5), (6.5, 6.5)]
    assert [point for point in fine.points if point not in broken.points] == [(6.5, 6.5)]


def test_an_error_at_the_end_is_the_mean_of_the_last_third() -> None:
    found = history(1.0, errors=(0.9, 0.8, 0.7, 0.6, 0.2, 0.1))
    assert found.error == pytest.approx(0.15)
    view = views.training_curves({"a": found})
    assert "15.0 %" in drawn(view)
    assert "Test error at the end: mean of the last epochs, 2 of 6." in drawn(view)


@pytest.mark.parametrize(
    "given", [{}, 3, [history(1.0)], {"a": 3}, {str(i): history(1.0) for i in range(11)}]
)
def test_only_trainings_are_drawn(given: Any) -> None:
    with pytest.raises(InputError, match=r"got .*; try .*memlab\.train\(network, data\)"):
        views.training_curves(given)


@pytest.mark.parametrize("ends", [(1e-9, 1e-8), (0.013, 2.9), (1.0, 1.0), (1e-30, 1e30)])
def test_an_axis_of_ratios_has_a_few_lines_around_its_values(ends: tuple[float, float]) -> None:
    found = ratios_around(ends, figure)
    assert isinstance(found, Log)
    assert 0 < found.at(ends[0]) <= found.at(ends[1]) < 1
    assert 2 <= len(found.ticks) <= 9
    assert found.at(0.0) == 0


# -- gradients ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1024.0, 2.0**20, 0.25])
def test_the_counts_are_those_of_numpys_fp16(scale: float) -> None:
    for values in (MANY, SPREAD):
        with np.errstate(over="ignore", under="ignore"):
            held = np.abs((values * np.float32(scale)).astype(np.float16))
        counts = training.gradients(values, "fp16", scale).tallies[-1].counts
        assert counts["already"] == np.sum(values == 0)
        assert counts["already"] + counts["zero"] == np.sum(held == 0)
        assert counts["beyond"] == np.sum(np.isinf(held))
        assert counts["subnormal"] == np.sum((held > 0) & (held < np.finfo(np.float16).tiny))
        assert sum(counts.values()) == len(values)


@pytest.mark.measures
def test_the_gradients_of_a_run_are_counted_together() -> None:
    found = training.gradients(run(), "fp16", 1.0)
    values = np.concatenate([each.reshape(-1) for each in run().gradients.values()])
    assert sum(found.tallies[0].counts.values()) == len(values)
    assert found.tallies == training.gradients(values, "fp16", 1.0).tallies
    assert found.title.startswith("Gradients of the parameters of small, fp32")


@pytest.mark.parametrize("name", COUNTED)
def test_every_gradient_that_is_not_0_is_in_one_bar(name: str) -> None:
    view = COUNTED[name]()
    for tally, chart in zip(view.rows.tallies, charts(view), strict=True):
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
    plain, scaled = training.gradients(MANY, "fp16", 1024).tallies
    totals = {power + 10: sum(bar) for power, bar in plain.powers.items()}
    assert totals == {power: sum(bar) for power, bar in scaled.powers.items()}


def test_what_a_format_says_of_its_limits() -> None:
    labels = drawn(views.gradient_histogram(MANY))
    assert "2⁻²⁴, the smallest above 0" in labels
    assert "2⁻¹⁴, the smallest with all digits" in labels
    assert "65,504, the largest" in labels
    assert "become NaN" in drawn(views.gradient_histogram(SPREAD, "fp8_e4m3fn"))
    fp16 = formats.find("fp16")
    limits = [value for value, _ in training.gradients([1.0], "fp16", 1.0).limits]
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
        (([1.0], "fp16", "big"), "scale must lie between 2^-64 and 2^64, got 'big'; try 1024"),
        (([1.0], "fp16", 1e30), "scale must lie between 2^-64 and 2^64, got 1e+30; try 1024"),
        (([1.0], "fp64"), "a floating-point format of at most 32 bits, got fp64; try fp16"),
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


# -- sums ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "value"), [("fp16", 1.0), ("fp16", 0.1), ("fp16", 100.0),
                                               ("fp32", 0.1)])  # fmt: skip
def test_sums_are_those_of_numpy(format: str, value: float) -> None:
    found = training.sums(format, 1000, value)
    given = np.full(1000, value, np.float16 if format == "fp16" else np.float32)
    wide = np.float32 if format == "fp16" else np.float64
    with np.errstate(over="ignore"):
        assert np.array_equal(found.ways[0].sums, np.add.accumulate(given))
    assert np.array_equal(found.ways[1].sums, np.add.accumulate(given.astype(wide)))
    assert found.exact == math.fsum(given.tolist())


def test_pairs_are_added_half_by_half() -> None:
    given = np.full(1000, 0.1, np.float16)

    def pairs(values: Any) -> Any:
        half = len(values) // 2
        return pairs(values[:half]) + pairs(values[half:]) if half else values[0]

    sums = training.sums("fp16", 1000, 0.1).ways[2].sums
    assert all(pairs(given[:count]) == sums[count - 1] for count in (1, 2, 3, 7, 64, 999, 1000))


def test_the_sum_of_ones_stays_at_2048_and_of_tenths_at_256() -> None:
    ones, tenths = SUMMED["ones"](), SUMMED["tenths"]()
    assert [way.end for way in ones.rows.ways] == [2048, 4096, 4096]
    assert ones.rows.sentences == [
        "One by one in fp16, the sum stays at 2,048 from 2,048 values on. Exact: 4,096.",
        "The next number after 2,048 is 2 away, and 1 is at most half of that: "
        "the sum rounds back.",
    ]
    assert [way.end for way in tenths.rows.ways] == [256, 409.5, 409.5]
    assert tenths.rows.sentences[1].startswith("The next number after 256 is 0.25 away")
    assert "which is 0.0999755859375 in fp16" in tenths.text()


@pytest.mark.parametrize("name", SUMMED)
def test_sums_end_alike_in_picture_and_text(name: str) -> None:
    view = SUMMED[name]()
    labels, text = drawn(view), view.text()
    (chart,) = charts(view)
    points = [mark for mark in chart.marks if isinstance(mark, Points)]
    for way, mark in zip(view.rows.ways, points, strict=True):
        said = training.total(way.end)
        assert {way.name, said} <= {*labels}
        ends = [line for line in text.split("\n") if line.startswith(f"{way.name}  ")]
        assert any(re.search(rf"  {re.escape(said)}( |$)", line) for line in ends)
        if math.isfinite(way.end):
            assert mark.points == [(view.rows.count, way.end)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fp61",), "unknown format 'fp61'"),
        (("int8",), "sums need a floating-point format of at most 32 bits, got int8"),
        (("fp64",), "sums need a floating-point format of at most 32 bits, got fp64"),
        (("fp16", 0), "count must be at least 1"),
        (("fp16", 10**6), "count must be at most 65,536, got 1,000,000"),
        (("fp16", 10, -1), "value must be above 0, got -1; try 1."),
        (("fp16", 10, "1"), "value must be above 0, got '1'"),
        (("fp16", 10, 0), "value must be above 0, got 0; try 1."),
        (("fp16", 10, float("nan")), "value must be above 0, got nan"),
        (("fp16", 10, 1e-9), "1e-09 is 0 in fp16"),
        (("fp16", 10, 1e9), "1e+09 is inf in fp16"),
        (("fp8_e4m3fn", 10, 1e9), "1e+09 is nan in fp8_e4m3fn"),
    ],
)
def test_sums_that_cannot_be_made_get_one_sentence(arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        views.running_sum(*arguments)


# -- studies ------------------------------------------------------------------------------------


def rows(make: Callable[[], Any]) -> Any:
    """What a view shows."""
    return make().rows


STUDIES: dict[str, Callable[[], Any]] = {
    **{name: partial(training.losses, given) for name, given in HISTORIES.items()},
    **{f"gradients {name}": partial(rows, make) for name, make in COUNTED.items()},
    **{f"sums {name}": partial(rows, make) for name, make in SUMMED.items()},
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_text_and_values(name: str) -> None:
    found = STUDIES[name]()
    assert found.text().split("\n") == [f"{found.title}.", *found.sentences, *found.notes]
    values = json.loads(json.dumps(found.as_dict(), default=str))
    assert values["title"] == found.title
    assert values["ways" if "ways" in vars(found) else "tallies"]
