"""Time beside bytes: bars, curve and text say the same, of a measurement and of made-up ones."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import memlab
from memlab import InputError, devices, views
from memlab.bench.convolution import RIVAL, Case, Comparison
from memlab.bench.timing import Group, Line, Machine, Result, Timing
from memlab.networks.layers import Conv2d
from memlab.step.algorithms import ALGORITHMS, on
from memlab.views.speed import bars, curve, marks, plot, scales, words
from memlab.views.speed.plot import Plot
from memlab.views.speed.view import AlgorithmTimes
from memlab.views.svg import Box

MACHINE = Machine("a processor", 2, "Linux x86_64", "2026-01-31", {"torch": "2.13.0+cpu"})
CACHES = {"L1": 2**15, "L2": 2**20, "L3": 2**25}
LAYER = Case("Net conv1", (8, 12, 12), Conv2d(4, 3, pad=1))


def made_up(*timings: Any, **others: Any) -> Comparison:
    given: dict[str, Any] = {"batch": 4, "threads": 1, "left_out": (), "caches": CACHES} | others
    libraries = ("BLAS of numpy, core A", "BLAS of scipy, core B")
    found = tuple(Timing(name, size, (seconds,)) for name, size, seconds in timings)
    return Comparison(LAYER, timings=found, machine=MACHINE, blas=libraries, **given)


FALLING = made_up(
    ("direct", 0, 1.9),
    ("im2col-batch", 115_605_504, 0.044),
    ("im2col-image", 28_901_376, 0.043),
    ("im2col-tile", 129_600, 0.035),
    ("offsets", 144, 0.0365),
    (RIVAL, None, 0.038),
)
CASES = {
    "falling": FALLING,
    "one": made_up(("im2col-image", 28_901_376, 0.043)),
    "nothing": made_up(("im2col-image", 0, 2e-7), ("direct", 0, 2.2e-7)),
    "pointwise": made_up(
        ("im2col-batch", 0, 0.002),
        ("im2col-image", 0, 0.002),
        ("im2col-tile", 12_288, 0.002),
        ("offsets", 16, 0.00201),
        ("direct", 0, 0.0021),
        (RIVAL, None, 0.0021),
    ),
    "every": made_up(
        *((name, 10**index, 0.01 + index / 1000) for index, name in enumerate(on("cpu"))),
        (RIVAL, None, 9.0),
        left_out=("winograd",),
        threads=2,
        caches={},
    ),
    "same": made_up(*((name, 4096, 0.0123) for name in on("cpu"))),
    "slow": made_up(
        ("direct", 0, 0.972), ("im2col-batch", 57_802_752, 0.0386), (RIVAL, None, 0.0198)
    ),
    "left edge": made_up(
        ("im2col-tile", 28_224, 0.00578),
        ("im2col-batch", 14_751_744, 0.00904),
        ("im2col-image", 7_375_872, 0.00752),
        ("mec", 4_365_312, 0.00942),
        (RIVAL, None, 0.0119),
    ),
}


@cache
def measured():
    """A real measurement, of a layer that takes microseconds."""
    x = memlab.network("small", image=(8, 12, 12)).conv(4, 3, pad=1, name="first")
    net = x.conv(4, 3, stride=2).flatten().linear(3).cross_entropy()
    return net, views.algorithm_times(net, "first", batch=2, progress=False)


def drawn(svg):
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    return [label.content for label in svg.labels]


# -- the same figures in pictures and text ------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_pictures_and_text_show_every_way_with_its_figures(name):
    found = CASES[name]
    view = AlgorithmTimes(found)
    in_bars, in_curve = drawn(bars.draw(found)), " | ".join(drawn(curve.draw(found)))
    for each in found.timings:
        shown, time = words.name(each, found), words.duration(each.seconds)
        assert {shown, time, words.workspace(each)} <= {*in_bars}
        assert shown in in_curve
        assert time in in_curve
        (line,) = (line for line in view.text().split("\n") if line.startswith(f"{shown}  "))
        assert time in line
        assert words.workspace(each) in line
        assert f"{words.against(each, found)} ×" in in_bars
        assert f"{words.against(each, found)} x" in line
    for sentence in words.headline(found):
        assert sentence in in_bars
        assert sentence in view.text()
    for picture in (view.svg(), view.curve().svg()):
        ET.fromstring(picture)
        assert words.title(found) in picture


@pytest.mark.parametrize("name", CASES)
def test_machine_date_core_and_clock_are_in_both(name):
    view = AlgorithmTimes(CASES[name])
    clock = "processor time" if CASES[name].threads == 1 else "time on the wall"
    for shown in (view.svg(), view.text(), view.curve().svg(), view.curve().text()):
        for said in ("a processor", "2026-01-31", "core B", clock):
            assert said in shown
        assert "core A" not in shown


def test_every_library_is_named_where_none_is_known_to_multiply():
    found = replace(FALLING, blas=("BLAS of one", "BLAS of another"))
    assert "BLAS of one" in AlgorithmTimes(found).text()
    assert "BLAS of another" in AlgorithmTimes(found).text()


def test_an_algorithm_that_cannot_compute_the_layer_is_named():
    assert "Not for this layer: winograd." in AlgorithmTimes(CASES["every"]).text()
    assert "Not for this layer: winograd." in drawn(bars.draw(CASES["every"]))


def test_every_algorithm_has_words_for_what_it_does():
    assert all(words.way(Timing(name, 0, (1.0,))) for name in ALGORITHMS)
    assert words.way(Timing(RIVAL, None, (1.0,))) == ""


# -- what is said -------------------------------------------------------------------------------


def test_the_fastest_is_named_and_the_largest_workspace_beside_it():
    assert words.headline(FALLING) == [
        "Least of memlab's ways: im2col-tile, 35.0 ms, with 130 kB of workspace.",
        "im2col-batch takes 1.26 times the time and 892 times the workspace.",
    ]
    assert words.headline(CASES["pointwise"]) == [
        "Least of memlab's ways: im2col-batch, 2.00 ms, with 0 B of workspace.",
        "im2col-tile: 2.00 ms, 1.00 times as much, with 12.3 kB of workspace.",
    ]
    assert words.headline(CASES["slow"])[1] == (
        "direct: 972 ms, 25.2 times as much, with 0 B of workspace."
    )
    assert len(words.headline(CASES["same"])) == 1


def test_a_rival_is_not_the_fastest_algorithm():
    assert words.fastest(made_up(("direct", 0, 2.0), (RIVAL, None, 1.0))).name == "direct"


def test_the_curve_says_what_changes_and_which_cache_is_enough():
    said = curve.sentences(FALLING)
    assert said[0] == (
        "From im2col-batch to offsets: workspace 116 MB to 144 B, time 44.0 ms to 36.5 ms."
    )
    assert "im2col-batch: 116 MB fits no cache of this processor." in said
    assert "im2col-image: 28.9 MB fits the L3 cache, 33.6 MB (32 MiB)." in said
    assert "im2col-tile: 130 kB fits the L2 cache, 1.0 MB (1 MiB)." in said
    assert "offsets: 144 B fits the L1 cache, 32.8 kB (32 KiB)." in said
    assert all(line in AlgorithmTimes(FALLING).curve().text() for line in said)
    assert "L2 cache 1.0 MB" in drawn(curve.draw(FALLING))


def test_the_curve_is_joined_in_the_order_of_the_pieces():
    shuffled = replace(FALLING, timings=tuple(reversed(FALLING.timings)))
    assert [each.name for each in curve.path(shuffled)] == [*curve.PATH]
    field = curve._field(FALLING, Box(0, 0, 100, 100))
    xs = [field.place(each)[0] for each in curve.path(FALLING)]
    assert xs == sorted(xs, reverse=True)


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(1.834, "1.83 s"), (0.99951, "1.00 s"), (0.0342, "34.2 ms"), (0.00052, "520 µs")],
)
def test_a_duration_has_three_digits(seconds, says):
    assert words.duration(seconds) == says


# -- axes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_the_curve_has_a_point_for_every_way(name):
    found = CASES[name]
    field = curve._field(found, Box(0, 0, 100, 100))
    points = [part for part in curve.draw(found).parts if "<circle" in part]
    assert len(points) == len(words.own(found))
    for each in found.timings:
        assert 0 <= field.y(each.seconds) < 100
        assert 0 <= field.place(each)[0] <= 100


def test_a_bar_is_as_long_as_its_time():
    found = scales.times([0.04, 1.9])
    assert found.place(1.9) <= 1
    assert found.place(1.9) / found.place(0.04) == pytest.approx(1.9 / 0.04)
    assert [label for _, label in found.ticks] == ["0", "0.5", "1", "1.5", "2 s"]


def test_times_far_apart_stand_by_their_ratios():
    assert scales.heights([0.04, 0.4]) == scales.times([0.4])
    found = scales.heights([0.04, 1.9])
    assert [label for _, label in found.ticks] == [
        *("20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s", "2 s")
    ]
    assert found.place(0.4) - found.place(0.04) == pytest.approx(found.place(1) - found.place(0.1))
    assert "not from 0: equal distances are equal ratios" in drawn(curve.draw(FALLING))
    assert not any("not from 0" in each for each in drawn(curve.draw(CASES["one"])))


@pytest.mark.parametrize(
    ("sizes", "ends"),
    [([0], (0, 1)), ([144, 28_901_376], (2, 8)), ([1000, 10**6], (2, 6)), ([1], (0, 1))],
)
def test_every_amount_but_nothing_has_a_length(sizes, ends):
    found = scales.decades(sizes)
    assert (found.first, found.last) == ends
    for size in sizes:
        assert 0 <= found.place(size) <= 1
        assert (found.place(size) > 0) == (size > 1)


def test_powers_of_ten_have_round_labels():
    labels = [label for _, label in scales.Decades(2, 9).ticks]
    assert labels == ["100 B", "1 kB", "10 kB", "100 kB", "1 MB", "10 MB", "100 MB", "1 GB"]


# -- a real measurement -------------------------------------------------------------------------


def test_the_figures_are_those_of_the_plan():
    net, view = measured()
    step = memlab.inference_step(net, algorithm="im2col-batch")
    planned = next(op for op in step.ops if op.layer == "first").workspace["workspace"].size.at(2)
    sizes = {each.name: each.workspace for each in view.measured.timings}
    assert sizes["im2col-batch"] == planned == 2 * 8 * 9 * 12 * 12 * 4
    assert sizes["im2col-image"] == planned // 2
    assert sizes["direct"] == 0
    assert all(each.seconds > 0 for each in view.measured.timings)
    assert str(view) == view.text() == repr(view)
    assert view.curve().measured is view.measured


def test_several_threads_have_a_workspace_each_and_are_said():
    net, one = measured()
    two = views.algorithm_times(net, "first", 2, "im2col-tile", threads=2, progress=False)
    size = next(t.workspace for t in one.measured.timings if t.name == "im2col-tile")
    assert two.measured.timings[0].workspace == 2 * size > 0
    assert "fp32, 2 threads" in two.text()
    assert "time on the wall" in two.text()


def test_a_notebook_gets_picture_and_text():
    view = measured()[1]
    for shown in (view, view.curve()):
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
        ({"algorithms": ()}, "no such algorithm computes VGG-16 conv3_2"),
    ],
)
def test_bad_input_gives_one_sentence(arguments, says):
    with pytest.raises(InputError, match=re.escape(says)):
        views.algorithm_times(**arguments)


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(devices, "free_memory", lambda: 10**9)
    with pytest.raises(InputError, match="refused before anything was allocated: VGG-16 conv1_2"):
        views.algorithm_times(layer="conv1_2", batch=128)


# -- a plot of a benchmark ----------------------------------------------------------------------


def result(*groups, lines=()):
    return Result("convolution", MACHINE, lines, groups)


def layers(rival):
    return result(
        Group("one", tuple(t for t in FALLING.timings if rival or t.name != RIVAL)),
        Group("two", tuple(t for t in CASES["pointwise"].timings if rival or t.name != RIVAL)),
        lines=(Line("a mean", 0.9, "x", 1.0), Line("BLAS of scipy, core B", 2, "")),
    )


def test_a_plot_divides_by_pytorch_where_it_took_part_everywhere():
    found = Plot(layers(rival=True))
    assert found.rival == RIVAL
    assert {t.name: ratio for t, ratio in found.ratios(found.result.groups[0])} == {
        t.name: t.seconds / 0.038 for t in FALLING.timings if t.name != RIVAL
    }
    assert "time by that of PyTorch 2.13" in drawn(plot.draw(found.result))


def test_a_plot_divides_by_the_fastest_where_pytorch_did_not():
    found = Plot(layers(rival=False))
    assert found.rival == ""
    for group in found.result.groups:
        assert min(ratio for _, ratio in found.ratios(group)) == 1
    assert "time by that of the fastest" in drawn(plot.draw(found.result))


@pytest.mark.parametrize("rival", [True, False])
def test_a_plot_names_every_layer_and_way_and_where_it_was_measured(rival):
    labels = drawn(plot.draw(layers(rival)))
    assert {"one", "two", "workspace, planned", "0 B"} <= {*labels}
    assert {t.name for t in FALLING.timings if t.name != RIVAL} <= {*labels}
    for said in ("a mean 0.9 x aim 1 x reached", "BLAS of scipy, core B.", "2026-01-31"):
        assert any(said in label for label in labels)


def test_marks_stand_where_their_figures_are():
    found = Plot(layers(rival=True))
    assert found.x(0.5) < found.x(1) < found.x(2)
    assert found.x_bytes(0) < found.x_bytes(16) < found.x_bytes(115_605_504) <= plot.BYTES[1]
    shapes = [part for part in plot.draw(found.result).parts if "translate" in part]
    ratios = sum(len(found.ratios(group)) for group in found.result.groups)
    assert len(shapes) == len(found.ways) + 2 * ratios


def test_a_plot_without_workspace_has_one_axis():
    group = Group("small", (Timing("im2col", None, (1.0,)), Timing("a copy", None, (0.5,))))
    labels = drawn(plot.draw(result(group)))
    assert "workspace, planned" not in labels
    assert Plot(result(group)).ends[1] > Plot(layers(rival=True)).ends[1]


def test_no_two_marks_are_told_apart_by_colour_alone():
    assert len({(shape, filled) for shape, _, filled in marks.LOOKS}) == len(marks.LOOKS)
    assert len(marks.LOOKS) >= len(on("cpu"))


def test_a_result_without_groups_has_no_plot():
    with pytest.raises(InputError, match="convolution has no plot"):
        plot.draw(result())
