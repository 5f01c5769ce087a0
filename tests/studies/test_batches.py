"""Time per sample and columns: every sentence is chosen by the figures that it reads."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from memlab.studies import batches
from memlab.studies.batches import Batches
from memlab.studies.vectors import Lanes, Memory
from tests.views.measurements import GPU, LANES, ODD, READINGS, SWEEPS, USUAL, curve


def test_each_way_is_read_from_its_figures() -> None:
    linear, samples, pixels, loop, one_lane = Batches(USUAL).sentences
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


def test_a_way_has_one_ratio_also_where_its_least_is_not_at_the_end() -> None:
    found = curve("samples", [80, 40, 20, 10, 8, 9, 9.5])
    assert batches.ends(found) == "80.0 µs to 8.00 µs: 10.0 ×"
    assert batches.against(found, 1) == "10.0"
    assert batches.reading(found, 8).startswith(
        "Lanes from samples: 10.0 times less time per sample at batch 16 than at batch 1. "
        "Batch 8 fills"
    )


def test_figures_that_show_something_else_are_said_as_they_are() -> None:
    less = "times less time per sample at batch 4 than at batch 1."
    assert Batches(ODD).sentences == [
        "Linear layer, 1024 to 1024: the same time per sample at every batch, within 0 %.",
        f"Lanes from samples: 2.00 {less}",
        f"Lanes from pixels: 3.00 {less}",
        "Plain loop, 1 lane: 4.00 times between the most and the least time per sample, "
        "and no fall from batch 1 to batch 4.",
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
            "No time per sample was recorded on a GPU yet: `make gpu` does it, "
            "on a machine with one."
        ]


def test_recorded_figures_say_where_and_how_far_they_fall() -> None:
    first, where = batches.on_gpu(GPU)
    assert first == (
        "Recorded on a GPU: linear 4096x4096: 50.0 times less time per sample at batch 128 than at "
        "batch 1."
    )
    assert where.startswith("recorded with `make gpu`: NVIDIA X, beside a processor")


def test_the_columns_of_resnet50() -> None:
    found = batches.columns("resnet50", 1, 16)
    assert found.sentences == [
        "The smallest map of a convolution gives 49 columns at batch 1: "
        "3 vectors of 16 and 1 left.",
        "0 of 53 convolutions have fewer columns than a vector has lanes.",
        "A linear layer has a column for each sample: 1 column, 1 of 16 lanes.",
    ]
    assert [row.columns for row in found.rows] == [112**2, 56**2, 28**2, 14**2, 7**2, 1]
    assert sum(row.count for row in found.rows) == 54
    assert batches.columns("resnet50", 1, 64).below == 10
    assert batches.columns("resnet50", 2, 64).below == 0


STUDIES: dict[str, Any] = {
    **{f"lanes {name}": Lanes(found) for name, found in LANES.items()},
    **{f"memory {name}": Memory(found) for name, found in READINGS.items()},
    **{f"batches {name}": Batches(found, GPU) for name, found in SWEEPS.items()},
    "columns": batches.columns("vgg16", 3, 16),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_text_and_values(name: str) -> None:
    found = STUDIES[name]
    assert found.text().split("\n") == [f"{found.title}.", *found.sentences, *found.notes]
    values = json.loads(json.dumps(found.as_dict(), default=str))
    assert values["title"] == found.title
    assert values.keys() - {"title", "sentences", "notes"} == {*vars(found)}
