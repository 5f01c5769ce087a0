"""Axes never rescale by themselves: their range is chosen when a view is made, and by a button."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from memlab import views
from memlab.errors import InputError
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Area, OpenEdge, Path, Rect
from memlab.pictures.draw.svg import Box
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.live.fixed_axes import SteadyView, room_for
from memlab.pictures.live.setting import Range
from memlab.step.tensor import Role
from tests.pictures import pages

CASES: dict[str, Any] = {
    "memory": views.memory,
    "memory, a small step": lambda: views.memory("linear1"),
    "memory, nearly all floor": lambda: views.memory("vgg16", 8, "adam"),
    "memory, every number": lambda: views.memory("resnet50", detail="all"),
    "memory, k first": lambda: views.memory("resnet50", recompute="every", control="k"),
    "memory, the image first": lambda: views.memory("resnet50", 8, control=("image", "batch")),
    "explain": views.explain,
    "explain, every number": lambda: pages.CASES["explain"]["every number"](),
    "idle": views.idle,
    "offload": views.offload,
    "offload, a slow link": lambda: views.offload(link="3 GB/s"),
    "path": views.path,
    "precision": views.precision,
    "remedies": views.remedies,
    "recompute": views.recompute,
    "recompute, a budget": lambda: views.recompute("resnet50", budget="1.2 GB"),
    "techniques": lambda: views.techniques(stop=3),
    "vectors": views.vectors,
}
"""Views with axes of bytes or of seconds; of each kind of picture that they have one."""
PARAMETERS = PAINTS[Role.PARAMETER]
UNITS = ("B", " s", " ms", " µs")


def sliders(view: Any) -> list[Range]:
    """The sliders that the view offers, the first one first."""
    sliders_ = [setting for setting in view.settings.values()
             if isinstance(setting, Range) and view._offers(setting)]  # fmt: skip
    order = {name: at for at, name in enumerate(getattr(view.state, "control", ()))}
    return sorted(sliders_, key=lambda setting: order.get(setting.name, len(order)))


def places(view: Any, slider: Range) -> list[int]:
    """Where it can stand; of many places some."""
    least, most = slider.ends(view.state)
    return [*range(least, most, max((most - least) // 6, 1)), most]


def charts(view: Any) -> list[tuple[Chart, Box]]:
    """All charts of the page, each with its frame in pixels."""
    return list(view.page(820).svg().charts)


def labelled(view: Any) -> list[tuple[str, float, float]]:
    """The labels of all axes of bytes and seconds: the text, where it stands from 0 to 1, and how
    long the axis is in pixels."""
    places_ = []
    for chart, box in charts(view):
        for scale, axis, pixels in ((chart.x, chart.x_axis, box.right - box.left),
                                    (chart.y, chart.y_axis, box.bottom - box.top)):  # fmt: skip
            marks = axis.marks(scale) if axis is not None and axis.labels else ()
            if any(label.endswith(UNITS) for _, label in marks):
                places_ += [(label, round(float(scale.at(value)), 6), round(pixels, 3))
                          for value, label in marks]  # fmt: skip
    return places_


def floor(view: Any) -> set[float]:
    """How many pixels what has the same bytes at every batch, the parameters, takes: of an area
    its height, of a bar both sides."""
    heights: list[float] = []
    for chart, box in charts(view):
        wide, tall = box.right - box.left, box.bottom - box.top
        for mark in chart.marks:
            if isinstance(mark, Area) and mark.paint == PARAMETERS:
                edges = [float(edge.max()) for edge in (mark.low, mark.high)]
                heights.append(tall * (chart.y.at(edges[1]) - chart.y.at(edges[0])))
            elif isinstance(mark, Path) and mark.look == PARAMETERS:
                levels = [y for _, y in mark.points]
                heights.append(tall * (chart.y.at(max(levels)) - chart.y.at(min(levels))))
            elif isinstance(mark, Rect) and mark.look == PARAMETERS:
                heights.append(wide * (chart.x.at(mark.x1) - chart.x.at(mark.x0)))
                heights.append(mark.thick or tall * (chart.y.at(mark.y1) - chart.y.at(mark.y0)))
    return {round(pixels, 1) for pixels in heights}


@pytest.mark.parametrize("name", CASES)
def test_no_axis_moves_with_the_first_slider(name: str) -> None:
    view = CASES[name]()
    slider = sliders(view)[0]
    labels, height = labelled(view), floor(view)
    seen = set()
    for place in places(view, slider):
        with suppress(InputError):  # a k above the number of stages
            view.on_event(slider.name, place, False)
        assert labelled(view) == labels, place
        if slider.name == "batch":
            assert floor(view) == height, place
        seen.add(view.svg())
    assert len(seen) > 2


def test_every_view_whose_axis_would_follow_a_slider_is_among_these() -> None:
    made = {type(make()) for make in CASES.values()}
    for name in pages.FACTORIES:
        view = None if name in pages.COMPUTED or pages._needs(name) else getattr(views, name)
        if isinstance(view, type) and issubclass(view, SteadyView):
            assert view in made, name


@pytest.mark.parametrize("name", ["memory", "precision"])
def test_what_exceeds_an_axis_has_an_open_edge_until_there_is_more_room(name: str) -> None:
    view = CASES[name]()
    assert not edges(view)
    assert "more_room" not in buttons(view)
    view.batch = 4096
    assert edges(view)
    assert "more_room" in buttons(view)
    previous = view.previous
    view.on_event("more_room", None, False)
    assert not edges(view)
    assert "more_room" not in buttons(view)
    assert view.previous is previous
    view.on_event("start", None, False)
    assert view.state.room == CASES[name]().state.room


def edges(view: Any) -> list[OpenEdge]:
    return [mark for chart, _ in charts(view) for mark in chart.marks if isinstance(mark, OpenEdge)]


def buttons(view: Any) -> list[str]:
    return [control.name for control in view.controls() if control.kind == "button"]


def test_another_network_chooses_a_new_range() -> None:
    view = views.memory("resnet50")
    view.batch = 256
    view.network = "mnist_cnn"
    other = views.memory("mnist_cnn", 256)
    assert view.state.room == other.state.room


@pytest.mark.parametrize(
    ("given", "room"),
    [
        ((100, 500), 500),  # the whole range of the slider: a fifth is shown at first
        ((100, 501), 200),  # less than a fifth: the next stop of a slider has room
        ((100, 501, 400), 400),  # the card
        ((100, 501, 501), 200),  # less than a fifth of the card
        ((100, 501, 90), 200),  # the step does not fit the card
        ((100, 40), 100),
        ((100, None), 200),
    ],
)
def test_a_range_holds_the_slider_or_the_card_and_a_fifth_is_shown_at_first(
    given: tuple[int, ...], room: int
) -> None:
    assert room_for(*given) == room
