"""Time against the batch: picture and text say the same, and a sentence only what is measured."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

import memlab
from memlab import InputError, views
from memlab.bench import batch, recorded
from memlab.bench.batch import Curve, Sweep
from memlab.bench.convolution import Case
from memlab.bench.recorded import Recorded
from memlab.bench.timing import Line, Machine, Result
from memlab.networks import zoo
from memlab.networks.layers import Conv2d
from memlab.views.batch import columns, picture, words
from memlab.views.batch.picture import PITCH, spread
from memlab.views.batch.view import BatchTimes
from memlab.views.svg import Box

MACHINE = Machine("a processor", 2, "Linux x86_64", "2026-01-31", {"numpy": "2.4"})
BLAS = ("BLAS of numpy, core A", "BLAS of scipy, core B")


def curve(name, times, weights=0):
    return Curve(name, {2**i: (t * 1e-6,) for i, t in enumerate(times)}, weights)


def sweep(*curves, lanes=8):
    return Sweep(batch.LAYER, curves, lanes, MACHINE, BLAS)


USUAL = sweep(
    curve("linear-4096", [640, 320, 160, 80, 50, 40, 30, 20], 2**26),
    curve("samples", [80, 40, 20, 10, 10.2, 10.5, 11, 11]),
    curve("pixels", [10, 9.8, 10, 10, 10, 10.5, 10, 10]),
    curve("loop", [4000, 2000, 1000, 500, 250, 200, 100, 100]),
    curve("one-lane", [4000, 2000, 1000, 800, 700, 600, 600, 600]),
)
ODD = sweep(
    curve("linear-1024", [10, 10, 10], 4096),
    curve("samples", [10, 5, 5]),
    curve("pixels", [30, 20, 10]),
    curve("one-lane", [10, 40, 10]),
    lanes=16,
)
TWO = sweep(curve("samples", [2_000_000, 5]), lanes=1)
EVERY = sweep(*(curve(name, [9, 3, 3]) for name in batch.WAYS))
CASES = {"usual": USUAL, "odd": ODD, "two": TWO, "every": EVERY}
GPU = Recorded(
    "NVIDIA X",
    "make gpu",
    Result(
        "gpu",
        replace(MACHINE, processor="NVIDIA X, beside a processor"),
        (
            Line("linear 4096x4096: per sample at batch 1", 5e-5, "s"),
            Line("linear 4096x4096: per sample at batch 128", 1e-6, "s"),
            Line("product of 4096x4096: fast", 1e-3, "s"),
        ),
    ),
)


def drawn(svg):
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11
    return [label.content for label in svg.labels]


# -- the same in picture and text ---------------------------------------------------------------


@pytest.mark.parametrize("gpu", [None, GPU], ids=["none", "recorded"])
@pytest.mark.parametrize("name", CASES)
def test_picture_and_text_say_the_same(name, gpu):
    found, view = CASES[name], BatchTimes(CASES[name], gpu)
    labels = drawn(picture.draw(found, gpu))
    shown, text = " ".join(labels), view.text()
    for each in found.curves:
        assert words.name(each) in labels
        assert words.ends(each) in labels
        for end in (each.batches[0], each.batches[-1]):
            assert f"{words.duration(each, end)} {words.relative(each, end):>5} x" in text
    for sentence in [words.title(found), *words.readings(found), *words.notes(found, gpu)]:
        assert sentence in text
        assert sentence in shown
    ET.fromstring(view.svg())


@pytest.mark.parametrize("name", CASES)
def test_a_point_stands_at_its_batch_and_ratio(name):
    found = CASES[name]
    field = picture._field(found, Box(0, 0, 128, 100))
    for each in found.curves:
        heights = [field.y(each.at(size) / each.least) for size in each.batches]
        assert max(heights) == 100  # the least of each way is 1
        assert min(heights) >= 0
        assert sorted(each.batches, key=field.x) == list(each.batches)
    steps = [field.x(2 * size) - field.x(size) for size in field.batches[:-1]]
    assert steps == pytest.approx([steps[0]] * len(steps))


def test_the_lanes_are_marked_where_samples_fill_them():
    mark = "8 samples fill 8 lanes"
    assert mark in drawn(picture.draw(USUAL, None))
    others = replace(USUAL, curves=USUAL.curves[2:])
    assert mark not in drawn(picture.draw(others, None))
    assert "16 samples fill 16 lanes" not in drawn(picture.draw(ODD, None))  # none is so large


def test_many_batches_keep_their_labels_apart():
    sizes = {size: (1e-3 / size,) for size in range(1, 130)}
    labels = drawn(picture.draw(sweep(Curve("loop", sizes)), None))
    assert {"1", "2", "3"} <= {*labels}


def test_names_are_near_their_points_and_apart():
    assert spread([50, 51, 200], 0, 300) == [50, 50 + PITCH, 200]
    assert spread([95, 99], 0, 100) == [100 - PITCH, 100]
    assert spread([-5], 0, 100) == [0]


# -- what is said -------------------------------------------------------------------------------


def test_each_way_is_read_from_its_figures():
    linear, samples, pixels, loop, one_lane = words.readings(USUAL)
    assert linear == (
        "Linear layer, 4096 to 4096: 32.0 times less time per sample at batch 128 than at batch 1: "
        "what a call does once is shared, and each weight that is read serves 128 samples. "
        "It reads 67.1 MB of weights per sample at batch 1 and 524 kB at batch 128."
    )
    assert samples == (
        "Lanes from samples: 8.00 times less time per sample at batch 8 than at batch 1. "
        "Batch 8 fills its 8 lanes: from there on the same, within 10 %."
    )
    assert pixels == (
        "Lanes from pixels: the same time per sample at every batch, within 8 %. "
        "At batch 1 its 196 output places fill 196 of 200 lanes, in vectors of 8."
    )
    falls = "times less time per sample at batch 128 than at batch 1"
    assert loop == f"Plain loop over samples: 40.0 {falls}."
    assert one_lane == (
        f"Plain loop, 1 lane: 6.67 {falls}, and no vector is filled: "
        "the fall of a plain loop is no evidence for lanes."
    )


def test_a_way_has_one_ratio_also_where_its_least_is_not_at_the_end():
    found = curve("samples", [80, 40, 20, 10, 8, 9, 9.5])
    assert words.ends(found) == "80.0 µs to 8.00 µs: 10.0 ×"
    assert words.relative(found, 1) == "10.0"
    assert words.reading(found, 8).startswith(
        "Lanes from samples: 10.0 times less time per sample at batch 16 than at batch 1. "
        "Batch 8 fills"
    )


def test_figures_that_show_something_else_are_said_as_they_are():
    linear, samples, pixels, one_lane = words.readings(ODD)
    assert linear == (
        "Linear layer, 1024 to 1024: the same time per sample at every batch, within 0 %."
    )
    assert (
        samples == "Lanes from samples: 2.00 times less time per sample at batch 4 than at batch 1."
    )
    assert (
        pixels == "Lanes from pixels: 3.00 times less time per sample at batch 4 than at batch 1."
    )
    assert one_lane == (
        "Plain loop, 1 lane: 4.00 times between the most and the least time per sample, "
        "and no fall from batch 1 to batch 4."
    )


@pytest.mark.parametrize(
    ("times", "lanes", "full"),
    [
        ([8, 4, 2, 2], 4, 4),
        ([8, 4, 2, 1], 4, None),  # it falls on
        ([2, 2, 2, 2], 4, None),  # it did not fall
        ([8, 4, 2, 2], 8, None),  # one batch is too few to be flat
        ([8, 8, 8, 8], 1, None),  # no batch is below the lanes
    ],
)
def test_lanes_are_full_where_the_fall_ends(times, lanes, full):
    assert words.filling(curve("samples", times), lanes) == full


def test_without_recorded_figures_one_sentence_says_so():
    for gpu in (None, replace(GPU, result=replace(GPU.result, lines=GPU.result.lines[2:]))):
        assert words.on_gpu(gpu) == [
            "No time per sample was recorded on a GPU yet: `make gpu` does it, "
            "on a machine with one."
        ]


def test_recorded_figures_say_where_and_how_far_they_fall():
    first, where = words.on_gpu(GPU)
    assert first == (
        "Recorded on a GPU: linear 4096x4096: 50.0 times less time per sample at batch 128 than at "
        "batch 1."
    )
    assert where.startswith("recorded with `make gpu`: NVIDIA X, beside a processor")


# -- a real measurement -------------------------------------------------------------------------


def test_a_view_measures_here(monkeypatch):
    monkeypatch.setattr(batch, "SHORTEST", 0.0)
    monkeypatch.setattr(batch, "LAYER", Case("small", (2, 5, 6), Conv2d(3, 3, pad=1, bias=False)))
    monkeypatch.setattr(recorded, "latest", lambda: GPU)
    view = views.batch_times(["samples", "pixels"], [1, 5], progress=False)
    assert [each.name for each in view.measured.curves] == ["samples", "pixels"]
    assert view.gpu is GPU
    assert "input 2x5x6" in view.text()
    assert str(view) == view.text() == repr(view)
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"ways": ("lanes",)}, "unknown way 'lanes'"),
        ({"batches": (8,)}, "two batches are compared at least, got [8]"),
    ],
)
def test_bad_input_gives_one_sentence(arguments, says):
    with pytest.raises(InputError, match=re.escape(says)):
        views.batch_times(**arguments)


# -- columns ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(zoo.ZOO))
@pytest.mark.parametrize(("size", "lanes"), [(1, 16), (3, 32), (1, 100_000)])
def test_columns_are_the_same_in_picture_and_text(name, size, lanes):
    view = views.lane_columns(name, size, lanes)
    labels, text = drawn(columns.draw(view)), view.text()
    for row in view.rows:
        vectors, left = divmod(row.columns, lanes)
        assert vectors * lanes + left == row.columns
        assert f"{columns._columns(row)}: {view.filled(row)}" in labels
        (line,) = (
            x for x in text.split("\n") if re.search(f" {row.columns:,}  .*{view.filled(row)}$", x)
        )
        assert line.split("   ")[0].strip() == "x".join(map(str, row.map))
    assert all(sentence in " ".join(labels) for sentence in view.sentences())
    assert all(sentence in text for sentence in view.sentences())
    ET.fromstring(view.svg())


def test_the_columns_of_resnet50():
    view = views.lane_columns("resnet50", lanes=16)
    assert view.sentences() == [
        "The smallest map of a convolution gives 49 columns at batch 1: "
        "3 vectors of 16 and 1 left.",
        "0 of 53 convolutions have fewer columns than a vector has lanes.",
        "A linear layer has a column for each sample: 1 column, 1 of 16 lanes.",
    ]
    assert [row.columns for row in view.rows] == [112**2, 56**2, 28**2, 14**2, 7**2, 1]
    assert sum(row.count for row in view.rows) == 54
    assert views.lane_columns("resnet50", lanes=64).below == 10
    assert views.lane_columns("resnet50", 2, lanes=64).below == 0


def test_a_view_of_columns_takes_a_network_and_the_lanes_of_this_machine():
    net = memlab.network("mine", image=(3, 4, 4)).conv(2, 3).squared_error()
    view = views.lane_columns(net)
    assert view.lanes in (4, 8, 16)
    assert [row.columns for row in view.rows] == [4]
    assert len(view.sentences()) == 2
    assert str(view) == view.text() == repr(view)
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"network": "resnet5"}, "unknown network 'resnet5'"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"lanes": 0}, "lanes must be at least 1"),
        ({"network": memlab.network("x", features=3).tanh().squared_error()}, "has no convolution"),
    ],
)
def test_columns_of_bad_input_give_one_sentence(arguments, says):
    with pytest.raises(InputError, match=says):
        views.lane_columns(**arguments)
