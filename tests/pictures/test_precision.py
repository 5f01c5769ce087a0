"""The view of formats by role: bars and cells as the study has them, its controls and its keys."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import memlab
from memlab import views
from memlab.errors import InputError
from memlab.networks import zoo
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import Text
from memlab.pictures.draw.marks import Glyph, Rect
from memlab.pictures.precision import Cells
from memlab.step.tensor import Role
from tests.pictures.shown import send
from tests.pictures.test_pages import FEW, flat, numerals


def halves(view: Any, width: int = 820) -> tuple[Chart, Chart]:
    """One parameter, and a whole step."""
    page = view.compose(view.scene(width))
    left, right = (each for each in flat(page.blocks) if isinstance(each, Chart))
    return left, right


def bars(chart: Chart, row: int) -> list[Cells]:
    return [each for each in chart.marks if isinstance(each, Cells) and each.y0 == row]


def dashed(chart: Chart) -> list[tuple[float, float, float]]:
    """Row and ends of what is gone."""
    return [(each.y0, each.x0, each.x1) for each in chart.marks
            if isinstance(each, Rect) and each.look == "before"]  # fmt: skip


# -- the picture -----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"optimizer_state": "8 bits", "feature_map": "fp8_e5m2"}])
@pytest.mark.parametrize("name", ["resnet50", "vgg16"])
def test_bars_are_as_long_as_their_bytes(name: str, given: dict[str, str]) -> None:
    view = views.precision(name, 8, **given)
    left, right = halves(view)
    for row, way in enumerate(view.rows.ways):
        cells = bars(left, row)
        assert [each.cells for each in cells] == [each.nbytes for each in way.arrays]
        assert [each.x1 - each.x0 for each in cells] == [each.nbytes for each in way.arrays]
        state, maps = way.totals
        stack = bars(right, row)
        assert [each.x1 - each.x0 for each in stack] == [
            nbytes for nbytes in (*way.state.values(), *way.maps.values()) if nbytes
        ]
        assert (stack[0].x0, stack[-1].x1) == (-state, maps)
        assert all(one.x1 == two.x0 for one, two in pairwise(stack))
    assert right.x.first == -max(way.totals[0] for way in view.rows.ways)
    assert right.x.last == 2 * max(way.totals[1] for way in view.rows.ways)


def test_only_what_is_gone_is_dashed() -> None:
    assert dashed(halves(views.precision())[0]) == []
    view = views.precision(optimizer_state="8 bits", feature_map="fp8_e5m2")
    left, right = halves(view)
    old, now = view.rows.origin, view.rows.now
    assert dashed(left) == [(3, float(now.per_parameter), float(old.per_parameter))]
    assert dashed(right) == [(3, -old.totals[0], -now.totals[0]),
                             (3, now.totals[1], old.totals[1])]  # fmt: skip
    more = views.precision(start_from="bf16", master="fp32")
    assert dashed(halves(more)[0]) == dashed(halves(more)[1]) == []


def test_the_amounts_stand_beside_ones_own_way_and_where_it_comes_from() -> None:
    start = " ".join(_texts(views.precision()))
    assert all(each in start for each in ("16 B", "8 B", "409 MB", "204 MB", "2.73 GB", "1.35 GB"))
    yours = _texts(views.precision(optimizer_state="8 bits"))
    assert {"16 B", "10 B", "409 MB", "256 MB", "1.35 GB"} <= {*yours}
    assert not {"8 B", "204 MB", "2.73 GB"} & {*yours}
    assert len(numerals(yours)) <= FEW
    everything = views.precision(optimizer_state="8 bits")
    everything.numbers = True
    assert {"8 B", "204 MB", "2.73 GB", "step's peak 1.59 GB"} <= {*_texts(everything)}


def _texts(view: Any) -> list[str]:
    return [label.content for half in [view.page().svg()] for label in half.labels if label.chart]


def test_a_guess_is_a_triangle_that_the_picture_has_only_when_it_is_given() -> None:
    def glyphs(view: Any) -> list[Glyph]:
        return [each for each in halves(view)[0].marks if isinstance(each, Glyph)]

    assert glyphs(views.precision()) == []
    (triangle,) = glyphs(views.precision(guess="8 B"))
    assert (triangle.x, triangle.y) == (8, 1.5)
    assert "your guess" in _texts(views.precision(guess=8))
    assert "your guess" not in views.precision().svg()
    assert views.precision(guess=10**6).page().svg().outside() == []


def test_a_wrong_figure_would_be_seen() -> None:
    view = views.precision("mnist_cnn", 4)
    found = view.rows
    way = found.ways[1]
    wrong = replace(way, maps={**way.maps, Role.FEATURE_MAP: 2 * way.maps[Role.FEATURE_MAP]})
    ways = (found.first, wrong, found.ways[2])
    shown = view.text()
    view._kept.clear()
    view._kept.append((view.state, replace(found, ways=ways)))
    assert view.text() != shown
    assert bars(halves(view)[1], 1)[-1].x1 == wrong.totals[1]


@pytest.mark.measures
@pytest.mark.parametrize("name", sorted(zoo.ZOO))
def test_every_network_is_drawn_without_collisions(name: str) -> None:
    view = views.precision(name, optimizer_state="8 bits")
    for batch, numbers in ((1, False), (32, True), (100_000, False)):
        view.batch, view.numbers = batch, numbers
        for width in (500, 820, 960):
            svg = view.page(width).svg()
            assert svg.collisions() == []
            assert svg.outside() == []


# -- controls and keys -----------------------------------------------------------------------------


def test_a_role_changes_the_bytes_and_a_start_sets_all_of_them() -> None:
    view = views.precision("mnist_cnn", 32)
    assert send(view, optimizer_state="8 bits")["state"].split("|")[2] == "yours"
    assert view.rows.now.per_parameter < 11
    assert send(view, feature_map="fp8_e5m2")["state"] == "|".join(
        ("mnist_cnn", "32", "yours", *map(str, view.rows.now.totals))
    )
    assert len(view.rows.changed) == 2
    send(view, start_from="bf16")
    assert (view.optimizer_state, view.feature_map, view.master) == ("bf16", "bf16", "none")
    assert not view.rows.changed
    assert view.rows.title.startswith("In bf16")


def test_what_memlab_refuses_is_one_sentence_and_the_control_stays() -> None:
    view = views.precision("mnist_cnn")
    before = view.text()
    shown = send(view, parameter="fp32")
    assert shown["error"] == (
        "a copy in fp32 is kept of parameters in fewer bits, got parameters in fp32; try no copy, "
        "or parameters in fp16."
    )
    assert (view.parameter, view.text()) == ("fp16", before)
    select = next(each for each in view.controls() if each.name == "parameter")
    assert select.value == "fp16"


def test_an_optimizer_without_a_state_has_no_format_for_it() -> None:
    view = views.precision("mnist_cnn", optimizer="sgd")
    names = {each.name for each in view.controls()}
    assert not {"optimizer_state", "surprise"} & names
    assert {"start_from", "parameter", "master", "network", "batch"} <= names


def test_a_network_and_a_batch_stay_when_one_starts_again() -> None:
    view = views.precision("mnist_cnn", 8)
    send(view, network="vgg11", batch_number="16", surprise=None)
    assert (view.network, view.batch, view.optimizer_state) == ("vgg11", 16, "8 bits")
    send(view, start=None)
    assert (view.network, view.batch, view.optimizer_state) == ("vgg11", 16, "fp32")


def test_the_scale_stands_still_until_there_is_more_room() -> None:
    view = views.precision("mnist_cnn", 32)
    before = halves(view)[1].x
    view._receive(view, {"events": [{"name": "batch", "value": 7, "dragging": True}]}, [])
    right = halves(view)[1]
    assert right.x == before
    assert bars(right, 0)[-1].x1 == before.last
    assert any(isinstance(each, Text) and "→" in str(each.content) for each in right.marks)
    view._receive(view, {"events": [{"name": "batch", "value": 7}]}, [])
    assert halves(view)[1].x == before
    send(view, more_room=None)
    assert halves(view)[1].x.last >= view.rows.first.totals[1] > before.last


def test_keys_walk_through_rows_and_roles_and_the_others_step_back() -> None:
    view = views.precision("mnist_cnn")
    assert send(view, key="ArrowRight")["fact"] == "choose:0:parameter"
    send(view, key="ArrowDown")
    assert send(view, key="ArrowRight")["fact"] == "choose:1:parameter_gradient"
    pale = {each.send: each.pale for chart in halves(view) for each in bars(chart, 1)}
    assert [where for where, is_pale in pale.items() if not is_pale] == [
        ("choose", "1:parameter_gradient")
    ]
    nbytes = view.rows.ways[1].state[Role.PARAMETER_GRADIENT]
    assert view.now_["shown"]["says"] == f"mixed fp16, gradients: {nbytes:,} B"
    assert send(view, choose="1:parameter_gradient")["fact"] == "choose:"
    assert view.now_["shown"]["says"].startswith("In mixed fp16 maps fall to 35 %")
    assert not any(each.pale for each in bars(halves(view)[0], 1))
    send(view, choose="2:input")
    send(view, key="Escape")
    assert view.chosen == ""
    send(view, key="KeyN")
    assert view.numbers
    send(view, key="KeyN")
    assert not view.numbers


def test_its_code_makes_it_again() -> None:
    view = views.precision("mnist_cnn", 8, "momentum", start_from="bf16", feature_map="fp8_e5m2")
    again = eval(view.code(), {"memlab": memlab})
    assert again.text() == view.text()


@pytest.mark.parametrize(
    "given", [{"what": "vgg61"}, {"what": 3}, {"start_from": "fp8"}, {"parameter": "int8"},
              {"master": "bf16"}, {"batch": 0}, {"optimizer": "lion"}, {"guess": "much"}],
)  # fmt: skip
def test_bad_input_gets_one_sentence(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"; try |did you mean|Known: |known") as error:
        views.precision(**{"what": "mnist_cnn"} | given)
    assert "\n" not in str(error.value)
