"""The data path: its figures, its bytes, and its clock against a simulation of places."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab import InputError, Step, zoo
from memlab.clocks.data_path import JPEG, PARTS, SIDES, operations
from memlab.clocks.streams import slots
from memlab.hardware import Device, SourcedFigure, find
from memlab.lesson import digits
from memlab.step.storage import DEVICE, HOST
from memlab.step.tensor import Role

IMAGE = 3 * 224 * 224
RAW, FLOAT = 128 * IMAGE, 4 * 128 * IMAGE


@pytest.fixture(scope="module")
def googlenet() -> Step:
    step = memlab.training_step(zoo.googlenet(), algorithm="implicit-gemm", optimizer="sgd")
    return memlab.in_place(step)


@pytest.fixture(scope="module")
def small() -> Step:
    return memlab.training_step(digits.network())


def card(flops: int) -> Device:
    """A Titan X at another rate: at 6.1e12 operations per second a batch takes 0.249 s."""
    return replace(find("titan x"), flops={"fp32": SourcedFigure(flops, "stated")})


@pytest.mark.parametrize(
    ("disk", "wanted"),
    [("0.15 GB/s", (325, 501, 514, 514)), (0.05e9, (197, 319, 324, 324))],
)
def test_images_per_second(googlenet: Step, disk: str | float, wanted: tuple[int, ...]) -> None:
    found = [
        memlab.data_path(
            googlenet, 128, n, disk=disk, link="12 GB/s", device=card(6_100_000_000_000)
        )
        for n in (0, 1, 2, 4)
    ]
    assert tuple(round(path.images_per_second) for path in found) == wanted
    if disk == "0.15 GB/s":
        assert [round(100 * path.waits, 1) for path in found] == [36.7, 2.5, 0, 0]


def test_bytes_leave_their_place_on_the_device_once_they_are_converted(small: Step) -> None:
    """So the link brings the next ones while the step computes."""
    each = {"read": 0, "copy": 0, "convert": 1, "link": 4, "compute": 4}
    path = memlab.data_path(small, 4, 2, "device", seconds=each)
    assert path.seconds_each == 5
    assert memlab.data_path(small, 4, 0, "device", seconds=each).seconds_each == 9


def test_a_slow_disk_is_no_faster_with_more_buffers(googlenet: Step) -> None:
    slow = [
        memlab.data_path(googlenet, 128, n, disk=0.05e9, link="12 GB/s", device="titan x")
        for n in (2, 4, 16)
    ]
    assert len({round(path.images_per_second, 6) for path in slow}) == 1
    assert {path.parts["read"] for path in slow} == {RAW / 0.05e9}


@pytest.mark.parametrize(
    ("buffers", "augment", "on_host", "on_device"),
    [
        (0, "host", RAW + FLOAT, FLOAT),
        (1, "host", RAW + FLOAT, FLOAT),
        (2, "host", RAW + 2 * FLOAT, 2 * FLOAT),
        (4, "host", RAW + 4 * FLOAT, 2 * FLOAT),
        (2, "device", 3 * RAW, RAW + FLOAT),
    ],
)
def test_bytes(googlenet: Step, buffers: int, augment: str, on_host: int, on_device: int) -> None:
    path = memlab.data_path(googlenet, 128, buffers, augment, link="12 GB/s", device="titan x")
    ledger = memlab.plan(path.step)
    assert (ledger.peak(128, HOST), ledger.peak(128, DEVICE)) == (on_host, on_device)
    assert {entry.role for entry in ledger.entries} == {Role.INPUT}
    for memory, whole in ((HOST, on_host), (DEVICE, on_device)):
        assert sum(s.reserved for s in path.stations if s.memory == memory) == whole


def test_what_moves_is_of_every_batch(googlenet: Step) -> None:
    """A12: 32 images of 224x224 are 4.8 MB as bytes and 19.3 MB in fp32, for every batch."""
    path = memlab.data_path(googlenet, 32, link="12 GB/s", device="titan x")
    assert path.batch_moves() == (32 * IMAGE, 5 * 32 * IMAGE, 4 * 32 * IMAGE, 4 * 32 * IMAGE)
    assert path.epoch_moves(1_281_167).link == 1_281_167 * 4 * IMAGE
    late = memlab.data_path(googlenet, 32, augment="device", link="12 GB/s", device="titan x")
    assert late.batch_moves() == (32 * IMAGE, 2 * 32 * IMAGE, 32 * IMAGE, 5 * 32 * IMAGE)


def test_a_jpeg_is_small_on_the_disk_and_takes_time_to_decode(googlenet: Step) -> None:
    """A file of 115 kB for each image; what follows the decoding is as for raw files."""
    raw, jpeg = (
        memlab.data_path(googlenet, 100, link="12 GB/s", device="titan x", disk=1e9, decode=decode)
        for decode in (None, 400)
    )
    assert jpeg.parts["read"] == 100 * JPEG / 1e9
    assert jpeg.parts["convert"] == 100 / 400
    assert (jpeg.parts["link"], jpeg.parts["compute"]) == (raw.parts["link"], raw.parts["compute"])
    assert [(s.format, s.nbytes) for s in jpeg.stations[:2]] == 2 * [("JPEG", 100 * JPEG)]
    assert jpeg.stations[2:] == raw.stations[2:]
    assert memlab.plan(jpeg.step).of("RAM 0", 100).nbytes == 100 * JPEG


def test_the_host_decodes_and_the_device_converts(googlenet: Step) -> None:
    path = memlab.data_path(googlenet, 100, augment="device", link="12 GB/s", device="titan x",
                            decode=400)  # fmt: skip
    assert path.parts["copy"] == 100 / 400
    assert path.batch_moves() == (100 * JPEG, 100 * (JPEG + IMAGE), 100 * IMAGE, 500 * IMAGE)


@pytest.mark.parametrize("decode", [0, -1, float("nan"), True, "fast"])
def test_images_are_decoded_at_a_rate(googlenet: Step, decode: Any) -> None:
    with pytest.raises(
        InputError, match=r"decode, in images per second, must be above 0.* try 500"
    ):
        memlab.data_path(googlenet, 100, link="12 GB/s", device="titan x", decode=decode)


# -- against a simulation of places -------------------------------------------------------------


def simulated(seconds: list[dict[str, float]], buffers: int) -> list[float]:
    """When each step ends: a loader, a link and a device that pass batches on through places, by a
    walk over whole moments. It knows of no operations and of nobody who waits for another."""
    places, here = max(buffers, 1), 2 if buffers > 1 else 1
    read = sent = computed = 0  # batches that are in pinned memory, on the device, and done
    empty, free = places, here
    loader = link = device = None
    ends: list[float] = []
    for now in range(100_000):
        if loader == now:
            read, loader = read + 1, None
        if device == now:
            computed, free, device = computed + 1, free + 1, None
            ends.append(now)
        if link == now:
            sent, empty, link = sent + 1, empty + 1, None
        if len(ends) == len(seconds):
            return ends
        busy = not buffers and (link is not None or device is not None or read > computed)
        if loader is None and empty and read < len(seconds) and not busy:
            empty, loader = empty - 1, now + seconds[read]["read"] + seconds[read]["convert"]
        if link is None and read > sent and free:
            free, link = free - 1, now + seconds[sent]["link"]
        if device is None and sent > computed:
            device = now + seconds[computed]["compute"]
    raise AssertionError("the simulation stands still")


whole = st.integers(1, 9)
random_seconds = st.lists(
    st.fixed_dictionaries(dict.fromkeys(("read", "convert", "link", "compute"), whole)),
    min_size=2,
    max_size=9,
)


@given(random_seconds, st.integers(0, 4))
def test_it_equals_a_simulation_of_places(seconds: list[dict[str, float]], buffers: int) -> None:
    step = memlab.training_step(digits.network())
    ops = operations(step, 4, buffers, batches=len(seconds)).ops
    taken = [seconds[int(op.name.split()[1])][op.name.split()[0]] for op in ops]
    found = [slot.end for slot in slots(ops, taken) if slot.op.kind == "compute"]
    assert found == simulated(seconds, buffers)


@given(st.fixed_dictionaries(dict.fromkeys(("read", "convert", "link", "compute"), whole)),
       st.integers(0, 4))  # fmt: skip
def test_the_slowest_round_says_how_long_a_batch_takes(
    seconds: dict[str, float], buffers: int
) -> None:
    path = memlab.data_path(memlab.training_step(digits.network()), 4, buffers, seconds=seconds)
    load, link, compute = seconds["read"] + seconds["convert"], seconds["link"], seconds["compute"]
    rounds = {
        0: [load + link + compute],
        1: [load + link, link + compute],
    }.get(buffers, [load, link, compute])
    assert path.seconds_each == pytest.approx(max(rounds))
    assert path.waits == pytest.approx(1 - compute / max(rounds))


@pytest.mark.parametrize("augment", SIDES)
def test_a_place_is_filled_only_once_it_is_empty(small: Step, augment: str) -> None:
    path = memlab.data_path(small, 8, 2, augment, disk="0.1 GB/s", batches=9)
    for place in path.step.live_in:
        uses = [s for s in path.schedule.slots if place in s.op.touched()]
        assert all(one.end <= other.start for one, other in pairwise(uses))
        assert [place in s.op.writes.values() for s in uses] == [True, False] * (len(uses) // 2)


def test_a_kernel_that_converts_runs_on_the_device(small: Step) -> None:
    path = memlab.data_path(small, 8, augment="device")
    slot = path.schedule.slot("convert 3")
    assert (slot.op.stream, slot.end) == ("compute", path.schedule.slot("compute 3").start)
    assert list(path.parts) == ["read", "copy", "link", "convert", "compute"]


@pytest.mark.table
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"buffers": -1}, "buffers must be at least 0"),
        ({"augment": "disk"}, "unknown side to augment on 'disk'"),
        ({"disk": 0.15}, "disk"),
        ({"disk": "fast"}, "disk is a rate in bytes per second"),
        ({"batches": 1}, "batches must be at least 2"),
        ({"device": "titan x"}, "no source gives the link of titan x"),
        ({"seconds": {"load": 1.0}}, "unknown part of the data path 'load'"),
        ({"seconds": {"compute": 1e308}}, "below 1e\\+100"),
        ({"seconds": dict.fromkeys(PARTS, 0)}, "no time at all"),
    ],
)
def test_what_is_refused(small: Step, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        memlab.data_path(small, 8, **arguments)  # type: ignore[arg-type]  # that is the mistake


def test_a_step_without_images_is_refused() -> None:
    step = memlab.training_step(zoo.gpt_small())
    with pytest.raises(InputError, match="of images"):
        memlab.data_path(step, 8)


def test_it_says_what_it_plans(small: Step) -> None:
    path = memlab.data_path(small, 8, disk="1 MB/s")
    text, data = str(path), path.as_dict()
    assert "2 buffers" in text
    assert f"{path.images_per_second:,.0f} images/s" in text
    assert set(data["seconds"]) <= set(PARTS)
    assert data["waits"] == path.waits
