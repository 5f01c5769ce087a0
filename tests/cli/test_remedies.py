"""``memlab compare --device``: the ways out of a card, after the techniques."""

from __future__ import annotations

import pytest

import memlab

VGG = ("compare", "vgg16", "--batch", 256, "--device", "titan x")


def test_a_comparison_on_a_card_says_of_each_way_out_whether_it_trains(run, as_json):
    found = memlab.remedies("vgg16", 256, device="titan x", optimizer="momentum")
    code, out, err = run(*VGG)
    assert (code, err) == (0, "")
    assert out.endswith(f"{found}\n")
    facts = as_json(*VGG)["ways"]
    assert facts["budget"] == 12_884_901_888
    assert [row["way"] for row in facts["rows"]] == [row.key for row in found]
    assert [row["peak_bytes"] for row in facts["rows"] if row["trains"]] == [
        row.peak for row in found if row.trains
    ]
    assert all(row["refused"] or row["asks"] for row in facts["rows"])


def test_the_card_and_the_link_are_those_asked_for(as_json):
    asked = (*VGG, "--card", "12GB", "--link", "3 GB/s", "--optimizer", "sgd")
    facts = as_json(*asked)["ways"]
    assert (facts["budget"], facts["link"], facts["optimizer"]) == (12 * 10**9, 3 * 10**9, "sgd")


@pytest.mark.parametrize("words", [(), ("--device", "recorded"), ("--inference",)])
def test_a_card_without_a_device_is_refused(run, as_json, words):
    code, out, err = run("compare", "linear1", *words, "--card", "1MB")
    assert (code, out) == (2, "")
    assert err.startswith("memlab: ways out are planned for a training step in fp32 on a card")
    assert as_json("compare", "linear1", *words)["ways"] is None
