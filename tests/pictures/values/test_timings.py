"""Time beside bytes in values and sentences."""

from __future__ import annotations

import json

import pytest

from memlab.measure.convolution import RIVAL
from memlab.pictures.values.timings import Algorithms
from tests.pictures.measurements import ALGORITHMS, FALLING, compared


def test_the_fastest_is_named_and_the_largest_workspace_beside_it() -> None:
    assert Algorithms(FALLING).sentences == [
        "Least of memlab's ways: im2col-tile, 35.0 ms, with 130 kB of workspace.",
        "im2col-batch takes 1.26 times the time and 892 times the workspace.",
    ]
    assert Algorithms(ALGORITHMS["pointwise"]).sentences == [
        "Least of memlab's ways: im2col-batch, 2.00 ms, with 0 B of workspace.",
        "im2col-tile: 2.00 ms, 1.00 times as much, with 12.3 kB of workspace.",
    ]
    assert Algorithms(ALGORITHMS["slow"]).sentences[1] == (
        "direct: 972 ms, 25.2 times as much, with 0 B of workspace."
    )
    assert len(Algorithms(ALGORITHMS["same"]).sentences) == 1


def test_a_rival_is_not_the_fastest_algorithm() -> None:
    found = Algorithms(compared(("direct", 0, 2.0), (RIVAL, None, 1.0)))
    assert found.fastest.name == "direct"


def test_what_changes_along_the_pieces_and_which_cache_is_enough() -> None:
    assert Algorithms(FALLING).along == [
        "From im2col-batch to offsets: workspace 116 MB to 144 B, time 44.0 ms to 36.5 ms.",
        "im2col-batch: 116 MB fits no cache of this processor.",
        "im2col-image: 28.9 MB fits the L3 cache, 33.6 MB (32 MiB).",
        "im2col-tile: 130 kB fits the L2 cache, 1.0 MB (1 MiB).",
        "offsets: 144 B fits the L1 cache, 32.8 kB (32 KiB).",
    ]


def test_an_algorithm_that_cannot_compute_the_layer_is_named() -> None:
    assert Algorithms(ALGORITHMS["every"]).notes[0] == "Not for this layer: winograd."


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_study_is_text_and_values(name: str) -> None:
    found = Algorithms(ALGORITHMS[name])
    assert found.text().split("\n") == [f"{found.title}.", *found.sentences, *found.notes]
    values = json.loads(json.dumps(found.as_dict(), default=str))
    assert values["sentences"] == found.sentences
    assert found.measured.timings[0].name in json.dumps(values["measured"])
