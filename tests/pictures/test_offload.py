"""Offload and idle maps: every sum against the plan, and what settings and keys of the views do."""

from __future__ import annotations

from typing import Any

import pytest

import memlab
from memlab import hardware, views
from memlab.errors import InputError
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import OpenEdge, Rect
from memlab.pictures.idle import idle_maps
from memlab.pictures.offload.streams import OffloadTimeline, offloaded
from memlab.pictures.values.step_recipe import network_of
from memlab.step.storage import DEVICE, HOST
from tests.pictures.shown import charts, drawn

CARD = 12_000_000_000


def found(
    name: str = "vgg16", batch: int = 256, policy: str = "conv", link: int = 12, optimizer="sgd"
) -> OffloadTimeline:
    device = hardware.find("titan x")
    return offloaded(network_of(name), batch, policy, link * 10**9, device, optimizer, CARD)


def test_vgg_16_fits_with_sgd_by_687036_bytes_and_not_with_momentum() -> None:
    sgd, momentum = found(), found(optimizer="momentum")
    assert (sgd.fits, CARD - sgd.peak, sgd.host) == (True, 687_036, 9_299_820_544)
    assert (momentum.fits, round(momentum.peak / 1e9, 2)) == (False, 12.55)
    assert "687,036 B are left" in " ".join(sgd.lines())
    assert momentum.title.startswith("The step does not fit the card")


def test_all_layers_take_longer_and_save_nothing_more() -> None:
    conv, more = found(), found(policy="all")
    assert more.peak == conv.peak
    assert more.longer > 4 * conv.longer
    assert more.host > conv.host


def test_the_best_set_moves_fewer_maps_and_takes_less_time() -> None:
    conv, dynamic, best = (found(policy=policy, link=3) for policy in ("conv", "dynamic", "best"))
    assert (dynamic.peak, dynamic.host, dynamic.now.seconds) == (
        conv.peak,
        conv.host,
        conv.now.seconds,
    )
    assert best.fits
    assert best.longer < 0.7 * conv.longer
    assert best.host < conv.host


def test_nothing_moves_under_none() -> None:
    plain = found(policy="none")
    assert (plain.copies, plain.waits, plain.host, plain.longer) == ([], [], 0, 0)
    assert plain.title == "No feature map moves, and the step does not fit the card"


@pytest.mark.parametrize("link", [3, 450])
def test_a_copy_is_hidden_or_compute_waits_for_it(link: int) -> None:
    here = found(link=link)
    assert sum(copy.nbytes for copy in here.copies) == 2 * here.host
    for copy in here.copies:
        assert copy.seconds == pytest.approx(copy.nbytes / (link * 1e9))
        assert copy.hidden + copy.waits <= copy.seconds + 1e-9
    assert sum(copy.waits for copy in here.copies) >= here.now.stalled() - 1e-9
    slow = here.now.seconds - here.now.busy()
    assert slow == pytest.approx(here.now.stalled())


def test_the_largest_map_leaves_and_comes_back_as_the_rules_say() -> None:
    out, back = (copy for copy in found().copies if copy.name == "conv1_1")
    assert (out.under, back.under, back.needed) == (
        "conv1_2", "backward of conv2_1", "backward of conv1_2"
    )  # fmt: skip
    assert out.waits == pytest.approx(back.waits, abs=1e-3)
    assert "back during backward of conv2_1" in found().fact("conv1_1")


@pytest.mark.parametrize(("name", "batch"), [("vgg16", 256), ("googlenet", 128)])
def test_mountains_are_the_memory_of_the_clock(name: str, batch: int) -> None:
    here = found(name, batch, "all")
    for hill, memory in ((here.on_device, DEVICE), (here.on_host, HOST)):
        least = dict(here.now.memory(memory))
        ends = zip(hill.seconds.tolist()[:-1], hill.total.tolist(), strict=False)
        assert all(least.get(second, total) == total for second, total in ends)
        assert hill.total.max() <= here.now.peak(memory)


def test_slabs_are_nested_where_maps_come_back_in_reverse() -> None:
    vgg, forks = found(), found("googlenet", 128, "all")
    assert vgg.nested
    assert not forks.nested
    assert vgg.slabs[-1].low + vgg.slabs[-1].nbytes == vgg.host


@pytest.mark.parametrize(
    ("name", "batch", "share"),
    [("vgg16", 256, 88.1), ("resnet50", 32, 97)],
)
def test_most_of_the_area_is_idle(name: str, batch: int, share: float) -> None:
    here = idle_maps(network_of(name), batch, hardware.find("titan x"))
    assert 100 * here.share == pytest.approx(share, abs=1)
    area = sum(row.nbytes * row.alive for row in here.rows)
    unused = sum(row.nbytes * sum(end - start for start, end in row.gaps) for row in here.rows)
    assert unused / area == pytest.approx(here.share, abs=1e-6)


def test_a_network_of_one_layer_has_nothing_idle() -> None:
    here = idle_maps(network_of("linear1"), 256, hardware.find("titan x"))
    assert here.share < 0.1
    assert here.title == "The feature maps are in use nearly all the time"


def test_a_question_has_no_answer() -> None:
    asked = idle_maps(network_of("vgg16"), 256, hardware.find("titan x"), asked=True)
    said = " ".join([*asked.lines(), *map(str, asked.table()), *asked.notes])
    assert "idle" not in said
    assert "%" not in asked.title
    assert "88" not in said.replace("3.288", "").replace("3,288", "")


def test_a_device_without_a_rate_is_refused() -> None:
    with pytest.raises(memlab.InputError, match="no source gives"):
        idle_maps(network_of("vgg16"), 8, hardware.find("12 GB card"))


GB = 10**9


def test_a_link_is_a_speed_or_a_name() -> None:
    assert views.offload(link="PCIe 4.0 x16").link == 25_000_000_000
    assert views.offload(link=3e9).link == 3_000_000_000
    with pytest.raises(InputError, match="nothing moves over a link"):
        views.offload(link="0 GB/s")
    view = views.offload()
    label = next(each.label for each in view.controls() if each.name == "link")
    assert label == "Link: 12 GB/s"


def test_its_code_makes_it_again() -> None:
    view = views.offload("alexnet", 128, link="6 GB/s", device="v100", budget="2 GB")
    assert eval(view.code(), {"memlab": memlab}).text() == view.text()


def test_a_slow_link_makes_compute_wait_and_moves_no_byte() -> None:
    view: Any = views.offload()
    peak, host = view.rows.peak, view.rows.host
    view.on_event("break", None, False)
    assert (view.rows.peak, view.rows.host) == (peak, host)
    assert view.rows.title == "The step fits the card, but compute waits 48 % of the time"


def pressed(view: Any, *keys: str) -> str:
    for key in keys:
        view.on_event("key", key, False)
    return str(view.chosen)


def test_keys_walk_the_copies_in_time_and_the_maps_on_the_host() -> None:
    view: Any = views.offload()
    assert pressed(view, "ArrowRight", "ArrowRight") == "out:conv1_1"
    assert pressed(view, *["ArrowRight"] * 23) == "back:conv1_1"
    assert pressed(view, "ArrowDown") == "map:conv1_1"
    assert any("conv1_1 waits here" in line for line in drawn(view))
    assert pressed(view, "ArrowDown", "ArrowLeft", "ArrowLeft") == "out:conv1_1"
    assert pressed(view, "ArrowUp", "ArrowUp", "ArrowUp") == "map:input"
    assert pressed(view, "Escape") == ""


def test_keys_find_the_longest_waits_and_the_peak() -> None:
    view: Any = views.offload()
    assert pressed(view, "KeyW") == "wait:0"
    assert "Compute waits 130 ms for conv1_1 on its way" in " ".join(drawn(view))
    assert pressed(view, "KeyW", "KeyW", "KeyW", "KeyW") == "wait:0"
    pressed(view, "KeyP")
    said = "The peak of 12.0 GB is in backward of pool1. conv1_1 (3.29 GB) is already back then"
    assert said in " ".join(drawn(view))


def test_what_is_pinned_stays_beside_the_focus() -> None:
    view: Any = views.offload()
    view.on_event("choose", "out:pool1", False)
    assert "leaves during conv2_1" in " ".join(drawn(view))
    assert pressed(view, "Enter", "ArrowRight") == "out:conv2_1"
    assert {"pool1", "conv2_1"} <= {line.partition(",")[0] for line in drawn(view)}
    pressed(view, "Escape", "Escape")
    assert not any(line.startswith("pool1,") for line in drawn(view))
    view.on_event("choose", "map:nothing", False)
    assert view.chosen == ""


def test_a_focus_that_is_gone_is_none() -> None:
    view: Any = views.offload("googlenet", 64, "all")
    for key in ("ArrowRight", "ArrowDown", "KeyW", "KeyP", "Enter"):
        pressed(view, key)
        view.page()
    assert view.pinned == "peak"
    pressed(view, "ArrowLeft")
    view.policy = "none"
    assert view.page().title == view.rows.title
    assert pressed(view, "KeyW") == ""


def test_an_axis_of_seconds_stays_until_there_is_more_room() -> None:
    view: Any = views.offload()
    last = charts(view)[0].x.last
    for place in (8, 0):
        view.on_event("link", place, True)
        view.on_event("link", place, False)
        assert charts(view)[0].x.last == last
    assert view.rows.now.seconds > last
    edges = [mark for mark in charts(view)[1].marks if isinstance(mark, OpenEdge)]
    assert [edge.side for edge in edges] == ["right"]
    view.on_event("more_room", None, False)
    assert charts(view)[0].x.last >= view.rows.now.seconds


def test_a_budget_far_above_is_said_and_not_drawn() -> None:
    texts = [m.content for m in charts(views.offload("resnet50", 32))[1].marks
             if isinstance(m, ChartText | Label)]  # fmt: skip
    assert "↑ above this axis: 12 GB card" in texts


def test_what_is_asked_is_not_shown() -> None:
    asked, seen = views.idle(asked=True, only=("batch",)), views.idle()
    assert not {"88 %", "of the area is idle:", "idle", "in use"} & set(drawn(asked))
    assert "88 %" in drawn(seen)
    assert {each.name for each in asked.controls()} == {"batch", "batch_number", "start", "copy"}


def test_a_guess_is_a_share() -> None:
    assert "your guess" in drawn(views.idle(guess=0.5))
    with pytest.raises(InputError):
        views.idle(guess=50)


@pytest.mark.parametrize("name", ["offload", "remedies", "path"])
def test_memory_and_link_follow_the_device_unless_they_were_chosen(name: str) -> None:
    view: Any = getattr(views, name)()
    sized = name != "path"
    assert (view.link, view.budget if sized else None) == (12 * GB, 12 * GB if sized else None)
    view.device = "h100"
    assert view.link == 52_800_000_000
    assert not sized or view.budget == 80 * GB
    view.device = "a100"
    assert view.link == 25 * GB
    view.link = "3 GB/s"
    if sized:
        view.budget = "16 GB"
    view.device = "h100"
    assert view.link == 3 * GB
    assert not sized or view.budget == 16 * GB


def test_a_larger_device_has_its_memory_and_its_link_in_the_picture() -> None:
    view: Any = views.offload("vgg16", 256, link="3 GB/s", only=("link", "device"))
    assert "12 GB card" in view.svg()
    view.device = "h100"
    assert "80 GB card" in view.svg()
    assert "12 GB card" not in view.svg()
    assert view.link == 52_800_000_000


def test_a_link_that_is_given_with_the_device_is_taken() -> None:
    view: Any = views.offload(device="h100", link="3 GB/s", budget="16 GB")
    assert (view.link, view.budget) == (3 * GB, 16 * GB)


def test_bars_of_idle_maps_shrink_in_both_directions() -> None:
    view: Any = views.idle("vgg16", 256)
    wide, tall = first_bar(view)
    view.batch = 128
    assert first_bar(view) == pytest.approx((wide / 2, tall / 2), rel=0.05)
    assert not any(isinstance(mark, OpenEdge) for mark in charts(view)[1].marks)
    view.batch = 1024
    assert {m.side for m in charts(view)[1].marks if isinstance(m, OpenEdge)} == {"top", "right"}


def first_bar(view: Any) -> tuple[float, float]:
    """Seconds and bytes of the lowest bar, as shares of their axes."""
    chart = charts(view)[1]
    bar = next(m for m in chart.marks if isinstance(m, Rect) and m.fact)
    return (bar.x1 - bar.x0) / chart.x.last, (bar.y1 - bar.y0) / chart.y.last


def test_the_axis_ends_just_after_the_step_unless_the_link_may_become_slower() -> None:
    """The next round end; with a link that is slow already too."""
    here: Any = views.offload(only=("batch",))
    slow: Any = views.offload(link="3 GB/s", only=("link",))
    assert [view.state.room[0] / 1e9 for view in (here, slow)] == [
        pytest.approx(view.rows.now.seconds) for view in (here, slow)
    ]
    assert views.offload().state.room[0] == 2 * here.state.room[0]
