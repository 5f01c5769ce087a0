"""``memlab path``: the way of images from a disk to a device."""

from __future__ import annotations

import pytest

import memlab
from memlab.pictures.offload.streams import plain_step

CARD = ("path", "googlenet", "--batch", 128, "--device", "titan x", "--link", "12 GB/s")


def test_it_says_what_the_plan_says(run, as_json):
    step = plain_step(memlab.zoo.googlenet(), "sgd")
    found = memlab.data_path(step, 128, 0, link="12 GB/s", device="titan x", disk="0.05 GB/s")
    words = (*CARD, "--optimizer", "sgd", "--buffers", 0, "--disk", "0.05")
    assert run(*words) == (0, f"{found}\n", "")
    facts = as_json(*words)
    assert facts["images_per_second"] == found.images_per_second
    assert [each["places"] for each in facts["stations"]] == [0, 1, 1, 1]


def test_rates_have_units_where_they_are_given(as_json):
    for disk in ("0.08", "80 MB/s", "80MB"):
        assert as_json(*CARD, "--disk", disk)["stations"][0]["rate"] == 80_000_000
    assert as_json(*CARD[:-1], "12") == as_json(*CARD)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--disk", "fast"), "disk is a rate in bytes per second, got 'fast'; try '0.15 GB/s'"),
        (("--buffers", "-1"), "buffers must be at least 0"),
        (("--augment", "disk"), "unknown side to augment on 'disk'"),
    ],
)
def test_what_is_refused(run, words, said):
    code, out, err = run("path", "mnist_cnn", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
