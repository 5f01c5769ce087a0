"""Curves, gradients and sums in several formats: picture and text say the same, and are right."""

import math
import re
import xml.etree.ElementTree as ET
from functools import cache
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import History, InputError, formats, views
from memlab.views.speed import marks
from memlab.views.training import lines, words
from memlab.views.training.sums import figure

NAN, INF = math.nan, math.inf
NUMPYS = {"fp16": np.float16, "fp32": np.float32}


def made_up(*losses, errors=(0.5, 0.02, 0.04), scales=(), step="a step"):
    return History(step, 32, losses, errors, 1_234_567, 1.5, scales)


def falling(count, start=2.0):
    return [start * 0.99**index for index in range(count)]


HISTORIES: dict[str, dict[str, History]] = {
    "one": {"fp32": made_up(2.0, 0.5)},
    "single step": {"fp32": made_up(2.0)},
    "several": {
        "fp32": made_up(*falling(528)),
        "mixed bf16": made_up(*falling(528, 2.1), errors=(0.4, 0.03, 0.05)),
        "mixed fp16": made_up(*falling(528, 1.9), scales=(65536.0, 32768.0)),
        "fp16": made_up(*falling(37), *[NAN] * 491, errors=(1.0, 1.0, 1.0)),
        "once": made_up(*falling(100), INF, *falling(427)),
    },
    "nothing but NaN": {"fp16": made_up(NAN, NAN, errors=(1.0,)), "bf16": made_up(INF, 1.0)},
    "zeros": {"fp16": made_up(1e-8, 0.0, 0.0), "same": made_up(1e-8, 1e-8)},
    "most": {f"a rather long name {i}": made_up(*falling(60)) for i in range(lines.MOST)},
}


@cache
def gradients():
    """Those of a step that was run, in fp32."""
    x = memlab.network("small", image=(3, 8, 8)).conv(8, 3, name="first").relu()
    step = memlab.training_step(x.flatten().linear(10).cross_entropy())
    return memlab.run(step, 8, keep="gradients")


SPREAD = np.array([0, -0.0, 1, -1, 2.0**-14, 2.0**-15, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25,
                   -(2.0**-30), 65504, 65519, 65520, -1e9], np.float32)  # fmt: skip
COUNTED: dict[str, Any] = {
    "run": lambda: views.gradient_histogram(gradients()),
    "scaled run": lambda: views.gradient_histogram(gradients(), scale=1024),
    "spread": lambda: views.gradient_histogram(SPREAD, scale=2.0**-4),
    "bf16": lambda: views.gradient_histogram(gradients(), "bf16"),
    "fp8": lambda: views.gradient_histogram(gradients(), "fp8_e4m3fn", 2.0**20),
    "fp32": lambda: views.gradient_histogram({"w": SPREAD}, "fp32", 3),
    "zeros": lambda: views.gradient_histogram(np.zeros(5)),
    "widest": lambda: views.gradient_histogram([2.0**-149, 1.0, 1e38], "bf16", 2.0**64),
}
SUMMED: dict[str, Any] = {
    "ones": lambda: views.running_sum(),
    "tenths": lambda: views.running_sum(value=0.1),
    "beyond": lambda: views.running_sum(count=1000, value=100.0),
    "one": lambda: views.running_sum(count=1),
    "bf16": lambda: views.running_sum("bf16", 300, 0.1),
    "fp8": lambda: views.running_sum("fp8_e4m3fn", 200, 3),
    "fp32": lambda: views.running_sum("fp32", 500, 0.1),
}
CURVES = {
    name: lambda given=given: views.training_curves(given) for name, given in HISTORIES.items()
}
EVERY = {**{f"curves {n}": m for n, m in CURVES.items()},
         **{f"gradients {n}": m for n, m in COUNTED.items()},
         **{f"sums {n}": m for n, m in SUMMED.items()}}  # fmt: skip


@cache
def made(name):
    return EVERY[name]()


def drawn(view):
    svg = view.draw()
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    return [label.content for label in svg.labels]


@pytest.mark.parametrize("name", EVERY)
def test_a_view_is_drawn_and_a_notebook_gets_picture_and_text(name):
    view = made(name)
    drawn(view)
    ET.fromstring(view.svg())
    assert "nan" not in view.svg()
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}
    assert str(view) == view.text() == repr(view)
    assert view.svg() == EVERY[name]().svg()


# -- curves -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HISTORIES)
def test_curves_and_text_show_every_training_with_its_error(name):
    view = views.training_curves(HISTORIES[name])
    labels = drawn(view)
    text = view.text()
    for way in view.rows.ways:
        error = words.percent(way.history.error)
        assert any(way.name.startswith(label.rstrip("…")) for label in labels)
        assert error in labels
        (line,) = (line for line in text.split("\n") if line.startswith(f"{way.name}  "))
        assert error in line
        assert way.state in labels
        assert f"{way.name}: {way.state}." in text or words.figure(way.level) in line
    assert " ".join(view.rows.headline.split()) in " ".join(text.split())


def test_a_loss_that_is_no_number_is_told_and_marked():
    view = views.training_curves(HISTORIES["several"])
    labels = drawn(view)
    assert "loss NaN or infinite from step 38 on" in labels
    assert "loss NaN or infinite in 1 of 528 steps, first in step 101" in labels
    assert "fp16: loss NaN or infinite from step 38 on." in view.text()
    assert sum(lines.CROSS in part for part in view.draw().parts) == 2
    assert "65,536 → 32,768" in view.text()


def test_a_point_is_the_mean_of_steps_and_none_where_one_is_no_number():
    fine, broken = (
        views.training_curves({"a": made_up(*losses)}).rows.ways[0]
        for losses in (range(1, 241), (*range(1, 7), NAN, *range(8, 241)))
    )
    assert fine.window == 4
    assert fine.points[:2] == [(2.5, 2.5), (6.5, 6.5)]
    assert [point for point in fine.points if point not in broken.points] == [(6.5, 6.5)]


def test_an_error_at_the_end_is_the_mean_of_the_last_third():
    history = made_up(1.0, errors=(0.9, 0.8, 0.7, 0.6, 0.2, 0.1))
    assert history.error == pytest.approx(0.15)
    view = views.training_curves({"a": history})
    assert "15.0 %" in drawn(view)
    assert "Test error at the end: mean of the last epochs, 2 of 6." in drawn(view)


def test_no_two_lines_are_told_apart_by_colour_alone():
    assert len({(shape, filled) for shape, _, filled in marks.LOOKS}) == lines.MOST


@pytest.mark.parametrize(
    "given", [{}, 3, [made_up(1.0)], {"a": 3}, {str(i): made_up(1.0) for i in range(11)}]
)
def test_only_trainings_are_drawn(given):
    with pytest.raises(InputError, match=r"got .*; try .*memlab\.train\(network, data\)"):
        views.training_curves(given)


# -- gradients ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1024.0, 2.0**20, 0.25])
def test_the_counts_are_those_of_numpys_fp16(scale):
    of_run = np.concatenate([each.reshape(-1) for each in gradients().gradients.values()])
    for given, values in ((gradients(), of_run), (SPREAD, SPREAD)):
        with np.errstate(over="ignore", under="ignore"):
            held = np.abs((values * np.float32(scale)).astype(np.float16))
        counts = views.gradient_histogram(given, scale=scale).rows.tallies[-1].counts
        assert counts["already"] == np.sum(values == 0)
        assert counts["already"] + counts["zero"] == np.sum(held == 0)
        assert counts["beyond"] == np.sum(np.isinf(held))
        assert counts["subnormal"] == np.sum((held > 0) & (held < np.finfo(np.float16).tiny))
        assert sum(counts.values()) == len(values)


@pytest.mark.parametrize("name", COUNTED)
def test_gradients_are_counted_alike_in_picture_and_text(name):
    view = COUNTED[name]()
    labels, text = drawn(view), view.text()
    for row in view.rows.table:
        assert {cell for cell in row if cell} <= {*labels}
        assert re.search(r"\s+".join(map(re.escape, row)), text)
    for sentence in view.rows.sentences:
        assert sentence in " ".join(labels)
        assert sentence in text
    for _, limit in view.rows.lines:
        assert limit in labels
        assert limit in text


@pytest.mark.parametrize("name", COUNTED)
def test_every_gradient_that_is_not_0_is_in_one_bar(name):
    view = COUNTED[name]()
    kept = lost = 0
    for tally in view.rows.tallies:
        bars = tally.powers.values()
        assert sum(map(sum, bars)) == tally.alive
        assert sum(bar[1] for bar in bars) == tally.counts["zero"] + tally.counts["beyond"]
        kept += sum(bar[0] > 0 for bar in bars)
        lost += sum(bar[1] > 0 for bar in bars)
    parts = view.draw().parts
    assert sum(part.startswith("<use") and "url(" in part for part in parts) == kept
    assert sum(part.startswith("<rect") and "before" in part for part in parts) == lost


def test_a_scale_moves_every_bar_by_its_power():
    plain, scaled = views.gradient_histogram(gradients(), scale=1024).rows.tallies
    totals = {power + 10: sum(bar) for power, bar in plain.powers.items()}
    assert totals == {power: sum(bar) for power, bar in scaled.powers.items()}


def test_what_a_format_says_of_its_limits():
    labels = drawn(views.gradient_histogram(gradients()))
    assert "2⁻²⁴, the smallest above 0" in labels
    assert "2⁻¹⁴, the smallest with all digits" in labels
    assert "65,504, the largest" in labels
    assert "become NaN" in drawn(views.gradient_histogram(SPREAD, "fp8_e4m3fn"))


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
def test_gradients_that_cannot_be_counted_get_one_sentence(arguments, says):
    with pytest.raises(InputError, match=re.escape(says)):
        views.gradient_histogram(*arguments)


def test_a_run_that_kept_no_gradients_is_refused():
    run = memlab.run(memlab.training_step(memlab.zoo.build("linear1")), 2)
    with pytest.raises(InputError, match="this run has no gradients"):
        views.gradient_histogram(run)


# -- sums ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "value"), [("fp16", 1.0), ("fp16", 0.1), ("fp16", 100.0),
                                               ("fp32", 0.1)])  # fmt: skip
def test_sums_are_those_of_numpy(format, value):
    found = views.running_sum(format, 1000, value).rows
    given = np.full(1000, value, NUMPYS[format])
    wide = np.float32 if format == "fp16" else np.float64
    with np.errstate(over="ignore"):
        assert np.array_equal(found.ways[0].sums, np.add.accumulate(given))
    assert np.array_equal(found.ways[1].sums, np.add.accumulate(given.astype(wide)))
    assert found.exact == math.fsum(given.tolist())


def test_pairs_are_added_half_by_half():
    given = np.full(1000, 0.1, np.float16)

    def pairs(values):
        half = len(values) // 2
        return pairs(values[:half]) + pairs(values[half:]) if half else values[0]

    sums = views.running_sum("fp16", 1000, 0.1).rows.ways[2].sums
    assert all(pairs(given[:count]) == sums[count - 1] for count in (1, 2, 3, 7, 64, 999, 1000))


def test_the_sum_of_ones_stays_at_2048_and_of_tenths_at_256():
    ones, tenths = made("sums ones"), made("sums tenths")
    assert [way.end for way in ones.rows.ways] == [2048, 4096, 4096]
    assert ones.rows.headline == [
        "One by one in fp16, the sum stays at 2,048 from 2,048 values on. Exact: 4,096.",
        "The next number after 2,048 is 2 away, and 1 is at most half of that: "
        "the sum rounds back.",
    ]
    assert [way.end for way in tenths.rows.ways] == [256, 409.5, 409.5]
    assert tenths.rows.headline[1].startswith("The next number after 256 is 0.25 away")
    assert "which is 0.0999755859375 in fp16" in tenths.text()


@pytest.mark.parametrize("name", SUMMED)
def test_sums_end_alike_in_picture_and_text(name):
    view = made(f"sums {name}")
    labels, text = drawn(view), view.text()
    for way in view.rows.ways:
        assert way.name in labels
        ends = [line for line in text.split("\n") if line.startswith(f"{way.name}  ")]
        assert figure(way.end) in labels
        assert any(re.search(rf"  {re.escape(figure(way.end))}( |$)", line) for line in ends)
    for sentence in view.rows.headline:
        assert sentence in " ".join(labels)
        assert sentence in text


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
def test_sums_that_cannot_be_made_get_one_sentence(arguments, says):
    with pytest.raises(InputError, match=re.escape(says)):
        views.running_sum(*arguments)


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (0.0, "0"), (0.01352, "0.0135"), (2.0, "2"), (1234.0, "1,230"), (1e-7, "10⁻⁷"),
        (2.64e-7, "2.64·10⁻⁷"), (INF, "infinity"), (NAN, "NaN"),
    ],
)  # fmt: skip
def test_a_figure_has_three_digits(value, says):
    assert words.figure(value) == says


@pytest.mark.parametrize("ends", [(1e-9, 1e-8), (0.013, 2.9), (1.0, 1.0), (1e-30, 1e30)])
def test_an_axis_of_ratios_has_a_few_lines_around_its_values(ends):
    found = lines.powers(ends)
    assert 0 < found.place(ends[0]) <= found.place(ends[1]) < 1
    assert 2 <= len(found.ticks) <= 9
    assert found.place(0.0) == 0


def test_the_smallest_numbers_are_those_of_the_format():
    found = views.gradient_histogram([1.0], "fp16").rows
    fp16 = formats.find("fp16")
    assert [value for value, _ in found.lines] == [
        fp16.smallest,
        fp16.smallest_normal,
        fp16.largest,
    ]
