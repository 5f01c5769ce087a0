"""The views of offload and of idle maps: settings, keys, and what is drawn."""

from __future__ import annotations

from typing import Any

import pytest

import memlab
from memlab import views
from memlab.errors import InputError
from memlab.views.draw.labels import Label, Text
from tests.views.shown import charts, drawn


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
    view.act("break", None, False)
    assert (view.rows.peak, view.rows.host) == (peak, host)
    assert view.rows.title == "It fits the card, but compute waits 48 % of the time"


def test_keys_walk_the_maps() -> None:
    view: Any = views.offload()
    view.act("key", "ArrowRight", False)
    assert view.chosen == "input"
    view.act("key", "ArrowRight", False)
    assert view.chosen == "conv1_1.relu"
    assert any("conv1_1.relu waits here" in line for line in drawn(view))
    view.act("key", "Escape", False)
    assert view.chosen == ""
    view.act("key", "KeyW", False)
    assert view.chosen == "conv1_1.relu"
    view.act("choose", "pool1", False)
    assert view.chosen == "pool1"
    assert "Leaves under conv2_1" in " ".join(drawn(view))
    view.act("choose", "nothing", False)
    assert view.chosen == "pool1"


def test_an_axis_is_held_while_the_link_is_dragged() -> None:
    view: Any = views.offload(link="3 GB/s")
    last = charts(view)[0].x.last
    view.act("link", 8, True)
    assert charts(view)[0].x.last == last
    view.act("link", 8, False)
    assert charts(view)[0].x.last < last


def test_a_budget_far_above_is_said_and_not_drawn() -> None:
    texts = [m.content for m in charts(views.offload("resnet50", 32))[1].marks
             if isinstance(m, Text | Label)]  # fmt: skip
    assert "↑ 12 GB card" in texts


def test_what_is_asked_is_not_shown() -> None:
    asked, seen = views.idle(asked=True, only=("batch",)), views.idle()
    assert not any("idle" in line for line in drawn(asked))
    assert "88 %" in drawn(seen)
    assert {each.name for each in asked.controls()} == {"batch", "batch_number", "start", "copy"}


def test_a_guess_is_a_share() -> None:
    assert "your guess" in drawn(views.idle(guess=0.5))
    with pytest.raises(InputError):
        views.idle(guess=50)
