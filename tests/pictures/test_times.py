"""Time beside bytes: bars, curve and text say the same, of a measurement and of made-up ones."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import memlab
from memlab import InputError, this_machine, views
from memlab.layers.algorithms import ALGORITHMS as KNOWN
from memlab.layers.algorithms import on
from memlab.measure.convolution import RIVAL
from memlab.measure.timing import Timing
from memlab.networks.graph import Network
from memlab.pictures.algorithm_times import BenchmarkTimes, rows_of
from memlab.pictures.draw import theme
from memlab.pictures.draw.marks import Line, Points, Rect
from memlab.pictures.draw.scale import Log
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import duration
from memlab.pictures.values.timings import Algorithms
from memlab.views import AlgorithmTimes
from tests.pictures.measurements import ALGORITHMS, FALLING, LIBRARIES, MACHINE, PLOTS, result
from tests.pictures.shown import charts, drawn


@cache
def measured() -> tuple[Network, AlgorithmTimes]:
    """A real measurement, of a layer that takes microseconds."""
    x = memlab.network("small", image=(8, 12, 12)).conv(4, 3, pad=1, name="first")
    net = x.conv(4, 3, stride=2).flatten().linear(3).cross_entropy()
    return net, views.algorithm_times(net, "first", batch=2, progress=False)


# -- the same figures in pictures and text ------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
def test_pictures_and_text_show_every_way_with_its_figures(name: str) -> None:
    found, view = Algorithms(ALGORITHMS[name]), AlgorithmTimes(ALGORITHMS[name])
    in_bars, in_curve = drawn(view), " | ".join(drawn(view.curve()))
    for each in found.measured.timings:
        shown, time = found.name(each), duration(each.seconds)
        assert {shown, timings.workspace(each), f"{time}  {found.against(each)} ×"} <= {*in_bars}
        assert shown in in_curve
        assert time in in_curve
        (line,) = (line for line in view.text().split("\n") if line.startswith(f"{shown}  "))
        for said in (time, timings.workspace(each), f"{found.against(each)} x", timings.way(each)):
            assert said in line


@pytest.mark.parametrize("name", ALGORITHMS)
def test_machine_date_core_and_clock_are_in_both(name: str) -> None:
    view = AlgorithmTimes(ALGORITHMS[name])
    clock = "processor time" if ALGORITHMS[name].threads == 1 else "time on the wall"
    for shown in (view.svg(), view.text(), view.curve().svg(), view.curve().text()):
        for said in ("a processor", "2026-01-31", "core B", clock):
            assert said in shown
        assert "core A" not in shown


def test_every_library_is_named_where_none_is_known_to_multiply() -> None:
    found = AlgorithmTimes(replace(FALLING, blas=("BLAS of one", "BLAS of another"))).text()
    assert "BLAS of one" in found
    assert "BLAS of another" in found
    assert timings.products(LIBRARIES) == ["Matrix products: BLAS of scipy, core B."]


def test_every_algorithm_has_words_for_what_it_does() -> None:
    assert all(timings.way(Timing(name, 0, (1.0,))) for name in KNOWN)
    assert timings.way(Timing(RIVAL, None, (1.0,))) == ""


# -- axes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_curve_has_a_point_for_every_way_that_says_its_figures(name: str) -> None:
    found = Algorithms(ALGORITHMS[name])
    (chart,) = charts(AlgorithmTimes(ALGORITHMS[name]).curve())
    points = [mark for mark in chart.marks if isinstance(mark, Points)]
    for each, mark in zip(found.own, points, strict=True):
        ((x, y),) = mark.points
        assert (x, y) == (each.workspace or x, each.seconds)
        assert 0 <= chart.x.at(x) <= 1
        assert 0 <= chart.y.at(y) < 1
        figures = f"{duration(each.seconds)}, {found.against(each)} ×"
        said = f"{each.name}: {figures}; 1 samples, measured here: a processor"
        assert str(mark.fact).startswith(said)


def test_what_is_joined_goes_from_the_whole_batch_to_no_copy() -> None:
    shuffled = replace(FALLING, timings=tuple(reversed(FALLING.timings)))
    assert [each.name for each in Algorithms(shuffled).joined] == [*timings.PATH]
    (chart,) = charts(AlgorithmTimes(FALLING).curve())
    (line,) = (mark for mark in chart.marks if isinstance(mark, Line))
    xs = [chart.x.at(x) for x, _ in line.points]
    assert xs == sorted(xs, reverse=True)


def test_a_bar_is_as_long_as_its_time() -> None:
    times = charts(AlgorithmTimes(FALLING))[1]
    assert times.x.at(1.9) <= 1
    assert times.x.at(1.9) / times.x.at(0.04) == pytest.approx(1.9 / 0.04)
    assert [label for _, label in times.x.ticks] == ["0", "0.5", "1", "1.5", "2 s"]


def test_times_far_apart_stand_by_their_ratios() -> None:
    (chart,) = charts(AlgorithmTimes(FALLING).curve())
    assert isinstance(chart.y, Log)
    assert [label for _, label in chart.y.ticks] == [
        *("20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s", "2 s")
    ]
    note = "not from 0: equal distances are equal ratios"
    assert note in drawn(AlgorithmTimes(FALLING).curve())
    assert note not in drawn(AlgorithmTimes(ALGORITHMS["one"]).curve())


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("falling", "0 B, 100 B, 1 kB, 10 kB, 100 kB, 1 MB, 10 MB, 100 MB, 1 GB"),
        ("nothing", "0 B, 1 B, 10 B"),
        ("one", "10 MB, 100 MB"),
        ("same", "1 kB, 10 kB"),
        ("every", "1 B, 10 B, 100 B, 1 kB, 10 kB, 100 kB, 1 MB"),
    ],
)
def test_every_amount_but_nothing_has_a_length(name: str, labels: str) -> None:
    (chart,) = charts(AlgorithmTimes(ALGORITHMS[name]).curve())
    assert ", ".join(label for _, label in chart.x.ticks) == labels
    for each in Algorithms(ALGORITHMS[name]).own:
        assert (chart.x.at(each.workspace) > 0) == ((each.workspace or 0) > 1)


# -- a real measurement -------------------------------------------------------------------------


@pytest.mark.measures
def test_the_figures_are_those_of_the_plan() -> None:
    net, view = measured()
    step = memlab.inference_step(net, algorithm="im2col-batch")
    planned = next(op for op in step.ops if op.layer == "first").workspace["workspace"].size.at(2)
    sizes = {each.name: each.workspace for each in view.measured.timings}
    assert sizes["im2col-batch"] == planned == 2 * 8 * 9 * 12 * 12 * 4
    assert sizes["im2col-image"] == planned // 2
    assert sizes["direct"] == 0
    assert all(each.seconds > 0 for each in view.measured.timings)
    assert view.curve().measured is view.measured


@pytest.mark.measures
def test_several_threads_have_a_workspace_each_and_are_said() -> None:
    net, one = measured()
    two = views.algorithm_times(net, "first", 2, "im2col-tile", threads=2, progress=False)
    size = next(t.workspace for t in one.measured.timings if t.name == "im2col-tile")
    assert size is not None
    assert two.measured.timings[0].workspace == 2 * size > 0
    assert "fp32, 2 threads" in two.text()
    assert "time on the wall" in two.text()


def test_a_notebook_gets_picture_and_text() -> None:
    for shown in (AlgorithmTimes(FALLING), AlgorithmTimes(FALLING).curve()):
        assert str(shown) == shown.text() == repr(shown)
        assert shown._repr_mimebundle_() == {
            "image/svg+xml": shown.svg(),
            "text/plain": shown.text(),
        }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"network": "vgg61"}, "unknown network 'vgg61'"),
        ({"layer": "conv3_9"}, "unknown convolution of VGG-16 'conv3_9'"),
        ({"layer": "fc6"}, "unknown convolution of VGG-16 'fc6'"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"algorithms": ("im2col",)}, "unknown algorithm 'im2col'"),
        pytest.param(
            {"algorithms": ()},
            "no such algorithm computes VGG-16 conv3_2",
            marks=pytest.mark.measures,
        ),
    ],
)
def test_bad_input_gives_one_sentence(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        views.algorithm_times(**arguments)


@pytest.mark.measures
def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(this_machine, "free_memory", lambda: 10**9)
    with pytest.raises(InputError, match="refused before anything was allocated: VGG-16 conv1_2"):
        views.algorithm_times(layer="conv1_2", batch=128)


# -- a plot of a benchmark ----------------------------------------------------------------------


def test_a_plot_divides_by_pytorch_where_it_took_part() -> None:
    rows, against = rows_of(PLOTS["rival"].groups[0], MACHINE)
    assert against == "time by that of PyTorch 2.13"
    assert {row.timing.name: row.ratio for row in rows} == {
        t.name: t.seconds / 0.038 for t in FALLING.timings
    }


def test_a_plot_divides_by_the_fastest_where_pytorch_did_not() -> None:
    for group in PLOTS["none"].groups:
        rows, against = rows_of(group, MACHINE)
        assert against == "time by that of the fastest"
        assert min(row.ratio for row in rows) == 1
    found = BenchmarkTimes(PLOTS["none"])
    assert found.sentences == ["a mean 0.9 x aim 1 x reached"]
    assert found.notes[0] == "BLAS of scipy, core B."


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_names_every_group_and_way_and_where_it_was_measured(name: str) -> None:
    found, labels = PLOTS[name], drawn(BenchmarkTimes(PLOTS[name]))
    assert {group.name for group in found.groups} <= {*labels}
    assert {t.name for group in found.groups for t in group.timings} - {RIVAL} <= {*labels}
    notes = " ".join(labels)
    for line in found.lines:
        assert line.name in notes
    assert "2026-01-31" in notes


@pytest.mark.parametrize("width", [500, 820])
@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_fits(name: str, width: int) -> None:
    svg = replace(BenchmarkTimes(PLOTS[name]).page(), width=width).svg()
    assert svg.collisions() == []
    assert svg.outside() == []


def test_bars_of_a_plot_are_as_long_as_their_figures() -> None:
    shown = charts(BenchmarkTimes(PLOTS["rival"]))
    for number, group in enumerate(PLOTS["rival"].groups):
        sizes, times = shown[2 * number : 2 * number + 2]
        planned = [each.workspace for each in group.timings if each.workspace]
        assert [mark.x1 for mark in sizes.marks if isinstance(mark, Rect)] == planned
        seconds = [each.seconds for each in group.timings]
        assert [mark.x1 for mark in times.marks if isinstance(mark, Rect)] == seconds


def test_no_two_marks_are_told_apart_by_colour_alone() -> None:
    assert len({(shape, filled) for shape, _, filled in theme.SYMBOLS}) == len(theme.SYMBOLS)
    assert len(theme.SYMBOLS) >= len(on("cpu"))


def test_a_result_without_groups_has_no_plot() -> None:
    with pytest.raises(InputError, match="convolution has no plot"):
        BenchmarkTimes(result())
