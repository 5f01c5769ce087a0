"""Time beside bytes: bars, curve and text say the same, of a measurement and of made-up ones."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import memlab
from memlab import InputError, free_memory, views
from memlab.layers.algorithms import ALGORITHMS as KNOWN
from memlab.layers.algorithms import on
from memlab.measure.convolution import RIVAL
from memlab.measure.timing import Timing
from memlab.networks.graph import Network
from memlab.pictures.algorithm_times import PATH
from memlab.pictures.draw import theme
from memlab.pictures.draw.marks import Line, Points
from memlab.pictures.draw.scale import LogScale
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import duration
from memlab.views import AlgorithmTimes
from tests.pictures.measurements import ALGORITHMS, FALLING, LIBRARIES, compared
from tests.pictures.shown import charts, drawn


@cache
def measured() -> tuple[Network, AlgorithmTimes]:
    """A real measurement, of a layer that takes microseconds."""
    x = memlab.network("small", image=(8, 12, 12)).conv(4, 3, pad=1, name="first")
    net = x.conv(4, 3, stride=2).flatten().linear(3).cross_entropy()
    return net, views.algorithm_times(net, "first", batch=2, progress=False)


# -- the same figures in pictures and text ------------------------------------------------------


@pytest.mark.parametrize("name", ["falling", "every"])
def test_pictures_and_text_show_every_way_with_its_figures(name: str) -> None:
    found = view = AlgorithmTimes(ALGORITHMS[name])
    in_bars, in_curve = drawn(view), " | ".join(drawn(view.curve()))
    for each in found.measured.timings:
        shown, time = found.name(each), duration(each.seconds)
        assert {shown, timings.workspace(each), f"{time}  {found.against(each)} ×"} <= {*in_bars}
        assert shown in in_curve
        assert time in in_curve
        (line,) = (line for line in view.text().split("\n") if line.startswith(f"{shown}  "))
        for said in (time, timings.workspace(each), f"{found.against(each)} x", timings.way(each)):
            assert said in line


@pytest.mark.parametrize("name", ["falling", "every"])
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


# -- what is said -------------------------------------------------------------------------------


def test_the_fastest_is_named_and_the_largest_workspace_beside_it() -> None:
    assert AlgorithmTimes(FALLING).sentences == [
        "Fastest, within 5 %: im2col-tile (35.0 ms, 130 kB) and offsets (36.5 ms, 144 B).",
        "im2col-batch takes 44.0 ms, 1.26 times as long, with 116 MB of workspace.",
    ]
    assert AlgorithmTimes(ALGORITHMS["left edge"]).sentences[1] == (
        "im2col-batch takes 1.56 times as long and 523 times as much workspace."
    )
    assert AlgorithmTimes(ALGORITHMS["slow"]).sentences[1] == (
        "direct takes 972 ms, 25.2 times as long, with 0 B of workspace."
    )
    assert len(AlgorithmTimes(ALGORITHMS["same"]).sentences) == 1


def test_no_algorithm_is_the_fastest_where_two_are_within_5_percent() -> None:
    found = AlgorithmTimes(compared(("direct", 0, 1.0), ("im2col-tile", 9, 1.06)))
    assert found.sentences[0].startswith("Fastest: direct, ")
    found = AlgorithmTimes(compared(("direct", 0, 1.04), ("im2col-tile", 9, 1.0)))
    assert found.sentences == [
        "Fastest, within 5 %: im2col-tile (1.00 s, 9 B) and direct (1.04 s, 0 B)."
    ]


def test_a_rival_is_not_the_fastest_algorithm() -> None:
    found = AlgorithmTimes(compared(("direct", 0, 2.0), (RIVAL, None, 1.0)))
    assert found.fastest.name == "direct"


def test_what_changes_along_the_pieces_and_which_cache_is_enough() -> None:
    assert AlgorithmTimes(FALLING).along == [
        "From im2col-batch to offsets, the workspace falls from 116 MB to 144 B, "
        "and the time changes from 44.0 ms to 36.5 ms.",
        "im2col-batch: 116 MB fits into no cache of this processor.",
        "im2col-image: 28.9 MB fits into the L3 cache of 33.6 MB (32 MiB).",
        "im2col-tile: 130 kB fits into the L2 cache of 1.0 MB (1 MiB).",
        "offsets: 144 B fits into the L1 cache of 32.8 kB (32 KiB).",
    ]


def test_an_algorithm_that_cannot_compute_the_layer_is_named() -> None:
    assert AlgorithmTimes(ALGORITHMS["every"]).notes[0] == "Not available for this layer: winograd."


# -- axes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["falling", "left edge"])
def test_the_curve_has_a_point_for_every_way_that_says_its_figures(name: str) -> None:
    found = AlgorithmTimes(ALGORITHMS[name])
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
    assert [each.name for each in AlgorithmTimes(shuffled).joined] == [*PATH]
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
    assert isinstance(chart.y, LogScale)
    assert [label for _, label in chart.y.ticks] == [
        *("20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s", "2 s")
    ]
    note = "logarithmic: equal distances are equal ratios"
    assert note in drawn(AlgorithmTimes(FALLING).curve())
    assert note not in drawn(AlgorithmTimes(ALGORITHMS["one"]).curve())


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("falling", "0 B, 100 B, 1 kB, 10 kB, 100 kB, 1 MB, 10 MB, 100 MB, 1 GB"),
        ("nothing", "0 B, 1 B, 10 B"),
    ],
)
def test_every_amount_but_nothing_has_a_length(name: str, labels: str) -> None:
    (chart,) = charts(AlgorithmTimes(ALGORITHMS[name]).curve())
    assert ", ".join(label for _, label in chart.x.ticks) == labels
    for each in AlgorithmTimes(ALGORITHMS[name]).own:
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
    monkeypatch.setattr(free_memory, "free_memory", lambda: 10**9)
    with pytest.raises(InputError, match="refused before anything was allocated: VGG-16 conv1_2"):
        views.algorithm_times(layer="conv1_2", batch=128)


def test_no_two_marks_are_told_apart_by_colour_alone() -> None:
    assert len({(shape, filled) for shape, _, filled in theme.SYMBOLS}) == len(theme.SYMBOLS)
    assert len(theme.SYMBOLS) >= len(on("cpu"))
