"""The data path in seconds: what is said of it is true in every state, and no place holds two."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

import memlab
from memlab import hardware
from memlab.pictures.path.values import BUFFERS, CARD, PINNED, RAM, DataPath, data_path_of, images
from memlab.pictures.values.recipe import network_of
from memlab.step.storage import DEVICE, HOST

GB = 10**9
RATES = [
    (0.15, 12), (0.05, 12), (0.01, 12), (10, 0.5), (10, 0.05), (10, 450), (0.3, 1), (0.01, 0.05),
]  # fmt: skip
"""Of the disk and of the link, in GB/s."""
STATES = list(product(("host", "device"), RATES, BUFFERS))


def found(
    buffers: int = 2, augment: str = "host", disk: float = 0.15, link: float = 12,
    network: str = "googlenet", batch: int = 128, host: float = 10,
) -> DataPath:  # fmt: skip
    return data_path_of(
        network_of(network), batch, buffers, augment, round(disk * GB), round(host * GB),
        round(link * GB), hardware.find("titan x"),
    )  # fmt: skip


def test_its_figures_are_those_of_the_plan() -> None:
    step = memlab.in_place(memlab.training_step(network_of("googlenet"), "sgd",
                                                algorithm="implicit-gemm"))  # fmt: skip
    for buffers in BUFFERS:
        plan = memlab.data_path(step, 128, buffers, link="12 GB/s", device="titan x", batches=26)
        assert found(buffers).path.images_per_second == pytest.approx(plan.images_per_second)


@pytest.mark.parametrize(("augment", "rates", "buffers"), STATES)
def test_its_sentence_is_true(augment: str, rates: tuple[float, float], buffers: int) -> None:
    here = found(buffers, augment, *rates)
    later = sum(end - start for batch, start, end in here.stalls if batch)
    work = here.path.parts["compute"]
    if not buffers:
        assert here.title.startswith("Compute waits for every batch")
        assert len(here.stalls) == len(here.by_batch)
    elif "too slow" in here.title:
        assert later > 0
        assert max(here.path.parts.values()) > work
    elif "never waits again" in here.title:
        assert later / here.path.schedule.seconds < 0.001
    else:
        assert "still waits" in here.title
        assert here.path.waits > 0
        assert here.limit == ""
    if "would do" in here.sentences[0]:
        assert images(here.others[here.fewest]) == images(here.path)
        assert here.fewest < buffers


@pytest.mark.parametrize(("augment", "rates", "buffers"), STATES)
def test_a_place_holds_one_batch_and_compute_waits_as_planned(
    augment: str, rates: tuple[float, float], buffers: int
) -> None:
    here = found(buffers, augment, *rates)
    for visits in here.visits.values():
        assert all(one.end <= other.start + 1e-12 for one, other in pairwise(visits))
    first = here.by_batch[0]["compute"].end
    share = sum(end - start for batch, start, end in here.stalls if batch)
    share /= here.path.schedule.seconds - first
    assert share == pytest.approx(here.path.waits, abs=1e-9)


@pytest.mark.parametrize("augment", ["host", "device"])
def test_what_is_reserved_is_what_the_plan_reserves(augment: str) -> None:
    here = found(4, augment)
    plan = memlab.plan(here.path.step)
    assert here.reserved(RAM) + here.reserved(PINNED) == plan.peak(128, memory=HOST)
    assert here.reserved(CARD) == plan.peak(128, memory=DEVICE)


def test_a_moment_has_each_batch_where_it_is() -> None:
    here = found(2)
    said = here.at(0.84)
    assert "RAM holds nothing" in said
    assert "pinned memory holds E, F" in said
    assert "the device holds C (in use), D" in said
    assert here.waiting_on_disk(0.84)[0] == 6
    assert here.waiting(0.05) == "Compute waits 145 ms for batch A."
    assert here.waiting(0.84) == ""


def test_a_network_that_computes_long_needs_no_buffer() -> None:
    here = found(1, network="vgg16", batch=256, disk=1000, link=450, host=1000)
    assert here.sentences == [
        "Without a buffer it would be as fast: compute takes so long that it hides the loader."
    ]
