"""Time against the batch: picture and text say the same, and a sentence only what is measured."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from memlab import InputError, views
from memlab.layers import Conv2d
from memlab.measure import batch_times, recorded_figures
from memlab.measure.convolution import ConvolutionCase
from memlab.pictures import batch_times as batches
from memlab.views import BatchTimes
from tests.pictures.measurements import GPU, ODD, SWEEPS, USUAL, curve, sweep
from tests.pictures.shown import charts, drawn

# -- batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "gpu"), [("usual", GPU), ("two", None)])
def test_every_way_has_its_name_and_its_ends(name: str, gpu: Any) -> None:
    found, view = SWEEPS[name], BatchTimes(SWEEPS[name], gpu)
    labels, text = drawn(view), view.text()
    for each in found.curves:
        assert batches.way(each) in labels
        assert batches.ends(each) in labels
        for end in (each.batches[0], each.batches[-1]):
            time, ratio = batches.time_per_sample(each, end), batches.against(each, end)
            assert f"{time} {ratio:>5} x" in text
    for sentence in batches.on_gpu(gpu):
        assert sentence in text


@pytest.mark.parametrize("name", ["usual", "odd"])
def test_a_point_stands_at_its_batch_and_ratio(name: str) -> None:
    found, (shown,) = SWEEPS[name], charts(BatchTimes(SWEEPS[name]))
    for each in found.curves:
        heights = [shown.y.at(each.at(size) / each.least) for size in each.batches]
        assert min(heights) == 0  # the least of each way is 1
        assert max(heights) <= 1
        assert sorted(each.batches, key=shown.x.at) == list(each.batches)
    sizes = found.curves[0].batches
    steps = [shown.x.at(2 * size) - shown.x.at(size) for size in sizes[:-1]]
    assert steps == pytest.approx([steps[0]] * len(steps))


def test_the_lanes_are_marked_where_samples_fill_them() -> None:
    mark = "8 samples fill 8 lanes"
    assert mark in drawn(BatchTimes(USUAL))
    assert mark not in drawn(BatchTimes(replace(USUAL, curves=USUAL.curves[2:])))
    assert "16 samples fill 16 lanes" not in drawn(BatchTimes(ODD))  # none is so large


def test_many_batches_keep_their_labels_apart() -> None:
    many = batch_times.BatchCurve("loop", {size: (1e-3 / size,) for size in range(1, 130)})
    svg = BatchTimes(sweep(many)).page().svg()
    assert svg.collisions() == []
    assert {"1", "2", "129"} <= {label.content for label in svg.labels}


@pytest.mark.measures
def test_a_view_of_batches_measures_here(monkeypatch: Any) -> None:
    monkeypatch.setattr(batch_times, "SHORTEST", 0.0)
    monkeypatch.setattr(
        batch_times, "LAYER", ConvolutionCase("small", (2, 5, 6), Conv2d(3, 3, pad=1, bias=False))
    )
    monkeypatch.setattr(recorded_figures, "latest", lambda: GPU)
    view = views.batch_times(["samples", "pixels"], [1, 5], progress=False)
    assert [each.name for each in view.measured.curves] == ["samples", "pixels"]
    assert view.gpu is GPU
    assert "input 2x5x6" in view.text()


# -- what is said -------------------------------------------------------------------------------


def test_each_way_is_read_from_its_figures() -> None:
    linear, samples, pixels, loop, one_lane = BatchTimes(USUAL).sentences
    assert linear == (
        "Linear layer, 4096 to 4096: 32.0 times less time per sample at batch 128 than at batch 1. "
        "The fixed work of each call is shared, and each weight that is read serves 128 samples. "
        "Per sample, it reads 67.1 MB of weights at batch 1 and 524 kB at batch 128."
    )
    assert samples == (
        "Convolution by samples: 8.00 times less time per sample at batch 8 than at batch "
        "1. Batch 8 fills its 8 lanes. From there on the time is the same, within 10 %."
    )
    assert pixels == (
        "Convolution, lanes from pixels: the same time per sample at every batch, within 8 %. "
        "At batch 1, its 196 output positions already fill 196 of 200 lanes, in vectors of 8."
    )
    falls = "times less time per sample at batch 128 than at batch 1"
    assert loop == f"Plain loop over samples: 40.0 {falls}."
    assert one_lane == (
        f"Plain loop, 1 lane: 6.67 {falls}, and it fills no vector. "
        "So a plain loop that gets faster does not prove that lanes are filled."
    )


def test_a_way_has_one_ratio_also_where_its_least_is_not_at_the_end() -> None:
    found = curve("samples", [80, 40, 20, 10, 8, 9, 9.5])
    assert batches.ends(found) == "80.0 µs to 8.00 µs: 10.0 ×"
    assert batches.against(found, 1) == "10.0"
    assert batches.reading(found, 8).startswith(
        "Convolution by samples: 10.0 times less time per sample at batch 16 than at "
        "batch 1. Batch 8 fills"
    )


def test_figures_that_show_something_else_are_said_as_they_are() -> None:
    less = "times less time per sample at batch 4 than at batch 1."
    assert BatchTimes(ODD).sentences == [
        "Linear layer, 1024 to 1024: the same time per sample at every batch, within 0 %.",
        f"Convolution by samples: 2.00 {less}",
        f"Convolution, lanes from pixels: 3.00 {less}",
        "Plain loop, 1 lane: no less time per sample at batch 4 than at batch 1. "
        "The longest time per sample is 4.00 times the shortest.",
    ]


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
def test_lanes_are_full_where_the_fall_ends(times: list[int], lanes: int, full: int | None) -> None:
    assert batches.filling(curve("samples", times), lanes) == full


def test_without_recorded_figures_one_sentence_says_so() -> None:
    for gpu in (None, replace(GPU, result=replace(GPU.result, lines=GPU.result.lines[2:]))):
        assert batches.on_gpu(gpu) == [
            "No time per sample has been recorded on a GPU yet. "
            "`make gpu` does it on a machine with a GPU."
        ]


def test_recorded_figures_say_where_and_how_far_they_fall() -> None:
    first, where = batches.on_gpu(GPU)
    assert first == (
        "Recorded on a GPU: linear 4096x4096: 50.0 times less time per sample at batch 128 than at "
        "batch 1."
    )
    assert where.startswith("recorded with `make gpu`: NVIDIA X, beside a processor")


def test_a_notebook_gets_picture_and_text() -> None:
    view = BatchTimes(USUAL, GPU)
    assert str(view) == repr(view) == view.text()
    assert view._repr_mimebundle_() == {"image/svg+xml": view.svg(), "text/plain": view.text()}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"ways": ("lanes",)}, "unknown way 'lanes'"),
        ({"batches": (8,)}, "two batches are compared at least, got [8]"),
    ],
)
def test_batches_of_bad_input_give_one_sentence(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        views.batch_times(**arguments)
