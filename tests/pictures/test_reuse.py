"""Memory that is used again, in four ways: bytes are those of plans, and settings change them."""

from __future__ import annotations

import pytest

import memlab
from memlab import claims, views
from memlab.pictures.draw.marks import Rect
from memlab.step.step import Step
from memlab.step.tensor import Role
from tests.pictures.shown import charts, drawn, send


def steps(network: str, training: bool) -> list[Step]:
    """The step that frees nothing, in place, freed, and both."""
    built = memlab.zoo.build(network)
    step = memlab.training_step(built) if training else memlab.inference_step(built)
    inside = memlab.in_place(step)
    return [memlab.no_reuse(step), memlab.no_reuse(inside), step, inside]


@pytest.mark.parametrize("network", ["resnet18", "gpt_small"])
@pytest.mark.parametrize("training", [True, False])
def test_each_bar_is_what_its_plan_says(network: str, training: bool) -> None:
    ways = views.reuse(network, 8, training=training).rows.ways
    assert [way.nbytes for way in ways] == [claims.maps(s, 8) for s in steps(network, training)]
    for way, step in zip(ways, steps(network, training), strict=True):
        assert way.operation == memlab.plan(step).peak_at(8).row.name


def test_bars_end_at_the_bytes_and_have_no_empty_part() -> None:
    view = views.reuse("vgg16", 8, training=False)
    rects = [mark for chart in charts(view) for mark in chart.marks if isinstance(mark, Rect)]
    assert all(mark.x1 > mark.x0 for mark in rects)
    ends = {mark.y0: mark.x1 for mark in rects}
    assert list(ends.values()) == [way.nbytes for way in view.rows.ways]


def test_in_place_helps_in_inference_and_hardly_in_training() -> None:
    view = views.reuse("resnet50", 32)
    said = " ".join(drawn(view))
    assert "3.03 × smaller" in said
    assert "3.04 × smaller" in said
    _, _, freed, both = view.rows.ways
    assert both.nbytes > 0.99 * freed.nbytes
    shown = send(view, training=False)
    _, _, freed, both = view.rows.ways
    assert both.nbytes < 0.8 * freed.nbytes
    assert both.roles[Role.GRADIENT_MAP] == 0
    assert shown["state"].startswith("resnet50|")


def test_a_network_of_the_menu_or_of_ones_own() -> None:
    view = views.reuse()
    send(view, network="vgg16")
    assert view.rows.subject == "VGG-16, training, batch 32"
    own = memlab.network("own", features=4).linear(8).relu().linear(2).squared_error()
    assert views.reuse(own, 2).rows.ways[0].nbytes == claims.maps(steps_of(own)[0], 2)


def steps_of(network: memlab.Network) -> list[Step]:
    return [memlab.no_reuse(memlab.training_step(network))]
