"""The data path: what is said of it is true, no place holds two, and what is drawn where."""

from __future__ import annotations

import re
from itertools import pairwise, product
from typing import Any

import pytest

import memlab
from memlab import hardware, views
from memlab.errors import InputError
from memlab.pictures.draw.marks import OpenEdge, Rect
from memlab.pictures.path.data_path import (
    BUFFERS,
    CARD,
    PINNED,
    RAM,
    DataPath,
    data_path_of,
    images,
)
from memlab.pictures.path.stations import INPUT, LIGHT, PathLayout
from memlab.pictures.values.step_recipe import network_of
from memlab.step.storage import DEVICE, HOST
from tests.pictures.shown import charts, drawn

GB = 10**9
RATES = [
    (0.15, 12), (0.05, 12), (0.01, 12), (10, 0.5), (10, 0.05), (10, 450), (0.3, 1), (0.01, 0.05),
]  # fmt: skip
"""Of the disk and of the link, in GB/s."""


# -- figures and sentences ------------------------------------------------------------------------


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


@pytest.mark.parametrize("augment", ["host", "device"])
def test_its_sentence_is_true(augment: str) -> None:
    for rates, buffers in product(RATES, BUFFERS):
        here = found(buffers, augment, *rates)
        later = sum(end - start for batch, start, end in here.stalls if batch)
        if not buffers:
            assert here.title.startswith("Compute waits for every batch")
            assert len(here.stalls) == len(here.by_batch)
        elif "too slow" in here.title:
            assert later > 0
            assert max(here.path.parts.values()) > here.path.parts["compute"]
        elif "waits only for the first" in here.title:
            assert later / here.path.schedule.seconds < 0.001
        else:
            assert "still waits" in here.title
            assert here.path.waits > 0
            assert here.limit == ""
        if "would be enough" in here.sentences[0]:
            assert images(here.others[here.fewest]) == images(here.path)
            assert here.fewest < buffers


@pytest.mark.parametrize(("augment", "buffers"), [("host", 2), ("device", 0), ("device", 4)])
def test_a_place_holds_one_batch_and_compute_waits_as_planned(augment: str, buffers: int) -> None:
    here = found(buffers, augment, 0.05)
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
        "It would be as fast without a buffer, because compute takes much longer than the loader."
    ]


def test_decoding_is_named_where_it_is_too_slow() -> None:
    slow, fast = (views.path("resnet50", 128, 2, files="jpeg", workers=workers, disk=7,
                             device="rtx 4090") for workers in (1, 4))  # fmt: skip
    assert slow.rows.title.startswith("Decoding is too slow")
    assert fast.rows.title.startswith("Two buffers: compute waits only for the first batch")
    assert fast.rows.seconds["convert"] == slow.rows.seconds["convert"] / 4
    assert "2,000 images/s" in drawn(fast)
    assert {"JPEG files", "decode", "decoded, or computed"} <= set(drawn(fast))


def test_workers_share_the_conversion_of_raw_files() -> None:
    one, four = (views.path("resnet50", 128, workers=workers) for workers in (1, 4))
    assert four.rows.seconds["convert"] == pytest.approx(one.rows.seconds["convert"] / 4)
    assert four.rows.seconds["read"] == one.rows.seconds["read"]


# -- the view --------------------------------------------------------------------------------------


def test_a_rate_is_in_gigabytes_per_second_or_a_name() -> None:
    assert views.path(link="PCIe 4.0 x16").link == 25_000_000_000
    assert views.path(disk=0.15).disk == views.path(disk="150 MB/s").disk == 150_000_000
    for wrong in (0, -1, float("nan"), "fast", "0"):
        with pytest.raises(InputError):
            views.path(disk=wrong)


def test_its_code_makes_it_again() -> None:
    view = views.path("resnet18", 64, 4, disk=0.07, augment="device", image=128, moment=0.1)
    assert "host=" not in view.code()
    assert eval(view.code(), {"memlab": memlab}).text() == view.text()


def test_a_disk_has_a_name_too_and_images_of_ones_own_network_keep_their_size() -> None:
    assert views.path(disk="NVMe disk").disk > views.path(disk="SATA disk").disk
    body = memlab.network("mine", image=(3, 32, 32)).conv(4, 3).relu().flatten()
    view = views.path(body.linear(2).cross_entropy(), 64)
    with pytest.raises(InputError, match="the images of mine are 32 pixels wide"):
        view.image = 64


def test_a_box_takes_what_the_slider_has_no_stop_for() -> None:
    view: Any = views.path(buffers=2)
    view.on_event("disk_number", "0.123", False)
    assert view.disk == 123_000_000
    assert "0.123 GB/s" in drawn(view)
    view.on_event("buffers", "4", False)
    assert view.buffers == 4


def test_now_walks_from_event_to_event_and_to_waits() -> None:
    view: Any = views.path()
    view.on_event("key", "Home", False)
    assert view.moment == 0
    view.on_event("key", "ArrowRight", False)
    first = view.moment
    assert first == pytest.approx(view.rows.by_batch[0]["read"].end)
    view.on_event("key", "ArrowLeft", False)
    assert view.moment == 0
    view.on_event("key", "KeyW", False)
    assert view.moment == pytest.approx(view.rows.stalls[1][1])
    assert any(line.startswith("Compute waits ") for line in drawn(view)[1:])
    view.on_event("key", "End", False)
    assert view.moment == pytest.approx(2.0, abs=0.2)
    view.on_event("moment", 500, False)
    assert view.moment == pytest.approx(1.0, abs=0.01)
    assert view.previous is None


def test_a_batch_has_one_outline_wherever_it_is() -> None:
    view: Any = views.path(buffers=2)
    view.on_event("choose", "E", False)
    assert any(line.startswith("Batch E: 128·3·224·224·4 B = 77,070,336 B") for line in drawn(view))
    stations, lanes = ([m for m in chart.marks if isinstance(m, Rect)] for chart in charts(view))
    assert len([m for m in stations if m.inset == -4]) == 1
    assert len([m for m in lanes if m.look == "limit"]) == 3  # read, converted, computed on
    view.on_event("key", "Escape", False)
    assert view.chosen == ""


def test_the_axis_stands_still_under_buffers_and_under_a_drag() -> None:
    view: Any = views.path()
    last = charts(view)[1].x.last
    for buffers in (1, 2, 4):
        view.buffers = buffers
        assert charts(view)[1].x.last == last
    view.on_event("disk", 0, True)
    assert charts(view)[1].x.last == last
    view.on_event("disk", 0, False)
    assert charts(view)[1].x.last == last
    view.on_event("more_room", None, False)
    assert charts(view)[1].x.last > last


def test_a_square_grows_with_its_bytes() -> None:
    view: Any = views.path(buffers=4)
    small = areas(view)
    view.batch = 256
    assert areas(view) == pytest.approx([2 * each for each in small], rel=1e-4)
    view.batch = 64
    assert areas(view) == pytest.approx([each / 2 for each in small], rel=1e-4)
    view.batch = 1024
    assert any(isinstance(mark, OpenEdge) for mark in charts(view)[0].marks)
    view.on_event("more_room", None, False)
    assert not any(isinstance(mark, OpenEdge) for mark in charts(view)[0].marks)


def areas(view: Any) -> list[float]:
    """In square pixels, of every size of a full square."""
    squares = [m for m in charts(view)[0].marks if isinstance(m, Rect) and m.look is INPUT
               and m.x1 - m.x0 == pytest.approx(m.y1 - m.y0)]  # fmt: skip
    return sorted({round((m.x1 - m.x0) ** 2, 3) for m in squares})


@pytest.mark.parametrize("augment", ["host", "device"])
def test_an_area_is_as_large_as_its_bytes(augment: str) -> None:
    view: Any = views.path(buffers=4, augment=augment)
    marks: list[Any] = [m for m in charts(view)[0].marks if isinstance(m, Rect)]
    full = [m for m in marks if m.look is INPUT and m.x1 - m.x0 == pytest.approx(m.y1 - m.y0)]
    areas = {round((m.x1 - m.x0) * (m.y1 - m.y0) / m.fact.nbytes, 12) for m in full}
    assert len(areas) == 1
    assert len({m.fact.nbytes for m in full}) == 2


@pytest.mark.parametrize("batch", [128, 64])
def test_with_a_smaller_batch_the_same_operation_runs_at_the_moment(batch: int) -> None:
    view: Any = views.path("resnet50", 256, 0, disk=7, device="rtx 4090")
    before = view.rows.at(view._path_layout(view.scene()).now).partition(": ")[2]
    view.batch = batch
    now = view._path_layout(view.scene()).now
    assert view.rows.at(now).partition(": ")[2] == before
    assert "C (99 % there)" in before


@pytest.mark.parametrize("files", ["raw", "jpeg"])
def test_while_the_times_are_asked_none_is_shown(files: str) -> None:
    view = views.path("resnet50", 128, disk=7, device="rtx 4090", files=files, asked=True)
    page = str(view.page(820).svg()) + view.page(820).text() + str(view)
    assert not re.search(r"\d (?:ms|s)\b|waits|\d %", page)
    here = view.rows.held(CARD, PathLayout(view.rows, view.state.room, None, None, None, 820,
                                           asked=True).now)  # fmt: skip
    assert [filling.used for filling in here] == [True]
    before = view.state
    view.on_event("key", "ArrowRight", False)
    assert view.state == before


def test_while_the_times_are_asked_all_pipes_are_alike() -> None:
    (stations,) = charts(views.path(files="jpeg", asked=True))
    pipes = [mark for mark in stations.marks if isinstance(mark, Rect) and mark.look == LIGHT]
    assert len(pipes) == 3
    assert len({round(mark.y1 - mark.y0, 6) for mark in pipes}) == 1
