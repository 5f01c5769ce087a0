"""The view of the data path: settings, keys, the axis, and what is drawn where."""

from __future__ import annotations

from typing import Any

import pytest

import memlab
from memlab import views
from memlab.errors import InputError
from memlab.pictures.draw.marks import OpenEdge, Rect
from memlab.pictures.path.stations import INPUT
from tests.pictures.shown import charts, drawn


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
    view.act("disk_number", "0.123", False)
    assert view.disk == 123_000_000
    assert "0.123 GB/s" in drawn(view)
    view.act("buffers", "4", False)
    assert view.buffers == 4


def test_now_walks_from_event_to_event_and_to_waits() -> None:
    view: Any = views.path()
    view.act("key", "Home", False)
    assert view.moment == 0
    view.act("key", "ArrowRight", False)
    first = view.moment
    assert first == pytest.approx(view.rows.by_batch[0]["read"].end)
    view.act("key", "ArrowLeft", False)
    assert view.moment == 0
    view.act("key", "KeyW", False)
    assert view.moment == pytest.approx(view.rows.stalls[1][1])
    assert any(line.startswith("Compute waits ") for line in drawn(view)[1:])
    view.act("key", "End", False)
    assert view.moment == pytest.approx(2.0, abs=0.2)
    view.act("moment", 500, False)
    assert view.moment == pytest.approx(1.0, abs=0.01)
    assert view.previous is None


def test_a_batch_has_one_outline_wherever_it_is() -> None:
    view: Any = views.path(buffers=2)
    view.act("choose", "E", False)
    assert any(line.startswith("Batch E: 128·3·224·224·4 B = 77,070,336 B") for line in drawn(view))
    stations, lanes = ([m for m in chart.marks if isinstance(m, Rect)] for chart in charts(view))
    assert len([m for m in stations if m.inset == -4]) == 1
    assert len([m for m in lanes if m.look == "limit"]) == 3  # read, converted, computed on
    view.act("key", "Escape", False)
    assert view.chosen == ""


def test_the_axis_stands_still_under_buffers_and_under_a_drag() -> None:
    view: Any = views.path()
    last = charts(view)[1].x.last
    for buffers in (1, 2, 4):
        view.buffers = buffers
        assert charts(view)[1].x.last == last
    view.act("disk", 0, True)
    assert charts(view)[1].x.last == last
    view.act("disk", 0, False)
    assert charts(view)[1].x.last == last
    view.act("more_room", None, False)
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
    view.act("more_room", None, False)
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
