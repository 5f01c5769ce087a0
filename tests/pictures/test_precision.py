"""Formats by role: figures of steps made by hand, bars as long as they are, controls and keys."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

import memlab
from memlab import views
from memlab.errors import InputError
from memlab.networks import zoo
from memlab.pictures.draw.bars import CellBar
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Rect
from memlab.pictures.precision import (
    EIGHT,
    MAPS,
    NONE,
    STARTS,
    STATE,
    Precision,
    precision_of,
    recipe,
    states_of,
)
from memlab.pictures.values.step_recipe import StepRecipe, network_of
from memlab.step.tensor import Role
from tests.pictures.shown import send
from tests.pictures.test_pages import FEW, flat, numerals


@cache
def study(
    name: str = "resnet50", optimizer: str = "adam", batch: int = 32, start: str = "mixed fp16",
    chosen: tuple[tuple[str, str], ...] = (),
) -> Precision:  # fmt: skip
    return precision_of(network_of(name), optimizer, batch, start, dict(chosen))


def by_hand(name: str, optimizer: str) -> dict[str, Any]:
    step = memlab.training_step(network_of(name), optimizer)
    return {"fp32": step, "mixed fp16": memlab.precision(step, "mixed fp16"),
            "bf16": memlab.precision(step, "bf16")}  # fmt: skip


# -- figures ---------------------------------------------------------------------------------------


def test_the_figures_that_the_lesson_shows() -> None:
    totals = [tuple(round(each / 1e6, 1) for each in way.totals) for way in study().ways]
    assert totals == [(408.9, 2729.8), (408.9, 1348.9), (204.5, 1348.9)]
    assert [way.per_parameter for way in study().ways] == [16, 16, 8]
    cells = [[each.nbytes for each in way.arrays] for way in study().ways]
    assert cells == [[4, 4, 4, 4], [2, 2, 4, 4, 4], [2, 2, 2, 2]]
    assert [each.copy for each in study().ways[1].arrays] == [False, False, True, False, False]
    yours = study(chosen=(("optimizer_state", EIGHT),)).now
    assert yours.per_parameter == 10 + 2 * Fraction(4, 2048)
    assert [each.nbytes for each in yours.arrays] == [2, 2, 4, 1, 1]


CASES = [("resnet18", "adam", 8), ("gpt2", "adam", 2)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_amount_is_that_of_a_plan_by_hand(case: tuple[str, str, int]) -> None:
    name, optimizer, batch = case
    found = study(name, optimizer, batch)
    for way, step in zip(found.ways, by_hand(name, optimizer).values(), strict=True):
        ledger = memlab.plan(step)
        peak = ledger.peak_at(batch)
        alive = ledger.roles(batch, peak.index)
        assert (way.peak, way.operation) == (peak.nbytes, peak.row.name)
        assert way.maps == {role: alive.get(role, 0) for role in MAPS}
        learned = [entry for entry in ledger.entries if entry.role in STATE]
        assert way.totals[0] == sum(entry.size.at(batch) for entry in learned)
        assert sum((*way.maps.values(), *way.others.values())) <= way.peak


def test_a_parameter_times_their_number_is_the_model_state() -> None:
    for name, optimizer in (("resnet50", "adam"), ("vgg16", "momentum"), ("mnist_cnn", "sgd")):
        found = study(name, optimizer)
        for way in found.ways:
            scale = 13 if way.name == "mixed fp16" else 0  # the loss scale and its counts
            assert way.totals[0] == way.per_parameter * found.parameters + scale
            states = [each for each in way.arrays if each.role is STATE[2] and not each.copy]
            assert len(states) == states_of(optimizer)


CHOSEN: dict[str, tuple[str, dict[str, str], Any]] = {
    "maps in fp8": ("mixed fp16", {"feature_map": "fp8_e5m2"}, lambda step: memlab.precision(
        step, "mixed fp16", feature_map="fp8_e5m2")),
    "states in 8 bits": ("mixed fp16", {"optimizer_state": EIGHT}, lambda step:
                         memlab.eight_bit_states(memlab.precision(step, "mixed fp16"))),
    "one role of fp32": ("fp32", {"gradient_map": "bf16"}, lambda step: memlab.precision(
        step, gradient_map="bf16")),
    "bf16 with a copy": ("bf16", {"master": "fp32"}, lambda step: memlab.precision(
        step, "mixed bf16", optimizer_state="bf16", buffer="bf16")),
    "no copy": ("mixed fp16", {"master": NONE}, lambda step: memlab.precision(
        step, "fp16", buffer="fp32", optimizer_state="fp32")),
    "bf16": ("bf16", {}, lambda step: memlab.precision(step, "bf16")),
}  # fmt: skip


@pytest.mark.parametrize(("start", "chosen", "made"), CHOSEN.values(), ids=CHOSEN)
def test_a_choice_is_the_step_that_the_techniques_make(start: str, chosen: Any, made: Any) -> None:
    network = network_of("mnist_cnn")
    found = recipe(network, "adam", start, chosen).step()
    expected = made(memlab.training_step(network, "adam"))
    assert memlab.plan(found).entries == memlab.plan(expected).entries


def test_another_batch_builds_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    before = study("mnist_cnn", "adam", 4, chosen=(("feature_map", "bf16"),))
    monkeypatch.setattr(StepRecipe, "step", lambda self: pytest.fail("a step was built"))
    after = precision_of(network_of("mnist_cnn"), "adam", 8, "mixed fp16", {"feature_map": "bf16"})
    assert after.now.totals[0] == before.now.totals[0]
    assert after.now.totals[1] > before.now.totals[1]


# -- what is said ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ({}, "In mixed fp16 activations halve, and the model state does not"),
        ({"start": "bf16"}, "In bf16 activations halve, and so does the model state"),
        ({"start": "fp32"}, "In fp32 a parameter takes 16 B"),
        ({"name": "vgg16", "batch": 8},
         "In mixed fp16 activations fall to 31 %, and the model state stays the same"),
        ({"name": "alexnet", "batch": 2},
         "In mixed fp16 activations fall to 66 %, and the model state stays the same"),
        ({"chosen": (("optimizer_state", EIGHT),)},
         "With states in 8 bits a parameter takes 10 B, not 16 B"),
        ({"chosen": (("feature_map", "fp8_e5m2"),)},
         "With feature maps in fp8_e5m2 activations are a quarter of those in fp32, and the model "
         "state stays the same"),
        ({"start": "fp32", "chosen": (("feature_map", "fp16"),)},
         "With feature maps in fp16 activations halve, and the model state stays the same"),
        ({"start": "bf16", "chosen": (("master", "fp32"),)},
         "With a copy in fp32 a parameter takes 12 B, not 8 B"),
        ({"chosen": (("optimizer_state", EIGHT), ("feature_map", "bf16"),
                     ("gradient_map", "fp32"))},
         "With 3 changes a parameter takes 10 B, not 16 B, and activations are half of those "
         "in fp32"),
    ],
)  # fmt: skip
def test_the_title_follows_from_the_figures(given: dict[str, Any], title: str) -> None:
    assert study(**given).title == title


def test_the_sentence_says_what_is_gone_and_what_stays() -> None:
    fewer = study(chosen=(("optimizer_state", EIGHT),))
    assert fewer.sentences == [
        "The dashed part is what mixed fp16 needs and this choice does not. "
        "The activations are the same."
    ]
    more = study(start="bf16", chosen=(("master", "fp32"),))
    assert more.sentences[0].startswith("This choice needs more than bf16")
    assert study(name="vgg16", batch=8).sentences[0] == (
        "The peak of mixed fp16 is in backward of conv1_2, and the peak of fp32 is in backward of "
        "conv4_3. Other activations are in memory there."
    )


def test_what_is_chosen_as_the_start_has_it_is_no_change() -> None:
    found = study(chosen=(("feature_map", "fp16"), ("master", "fp32")))
    assert found.changed == ()
    assert len(found.ways) == len(STARTS)


def test_only_the_start_has_a_row_beside_ones_own() -> None:
    view = views.precision(start_from="bf16", others=False)
    assert [way.name for way in view.rows.ways] == ["fp32", "bf16"]
    view = views.precision(start_from="fp32", others=False)
    assert [way.name for way in view.rows.ways] == ["fp32"]
    view.feature_map = "fp16"
    assert [way.name for way in view.rows.ways] == ["fp32", "yours"]
    assert (
        view.rows.now.totals
        == views.precision(start_from="fp32", feature_map="fp16").rows.now.totals
    )


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimizer", "start", "chosen", "says"),
    [
        ("adam", "fp32", {"master": "fp32"}, "got parameters in fp32; try no copy, or"),
        ("adam", "mixed fp16", {"parameter": "fp32"}, "got parameters in fp32; try no copy, or"),
        ("sgd", "fp32", {"optimizer_state": EIGHT}, "has no state in fp32"),
    ],
)
def test_what_goes_together_with_nothing_is_refused_in_one_sentence(
    optimizer: str, start: str, chosen: dict[str, str], says: str
) -> None:
    with pytest.raises(memlab.InputError, match=says) as error:
        precision_of(network_of("mnist_cnn"), optimizer, 4, start, chosen)
    assert "\n" not in str(error.value)


# -- the picture ---------------------------------------------------------------------------------


def halves(view: Any, width: int = 820) -> tuple[Chart, Chart]:
    """One parameter, and a whole step."""
    page = view.compose(view.scene(width))
    left, right = (each for each in flat(page.blocks) if isinstance(each, Chart))
    return left, right


def bars(chart: Chart, row: int) -> list[CellBar]:
    return [each for each in chart.marks if isinstance(each, CellBar) and each.y0 == row]


def dashed(chart: Chart) -> list[tuple[float, float, float]]:
    """Row and ends of what is gone."""
    return [(each.y0, each.x0, each.x1) for each in chart.marks
            if isinstance(each, Rect) and each.look == "before"]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given"),
    [("resnet50", {}), ("vgg16", {"optimizer_state": "8 bits", "feature_map": "fp8_e5m2"})],
)
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
    assert {"8 B", "204 MB", "2.73 GB", "peak of the step 1.59 GB"} <= {*_texts(everything)}


def _texts(view: Any) -> list[str]:
    return [label.content for half in [view.page().svg()] for label in half.labels if label.chart]


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
@pytest.mark.parametrize("name", sorted(zoo.ZOO)[::4])
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
    assert any(isinstance(each, ChartText) and "→" in str(each.content) for each in right.marks)
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
    assert view.now_["shown"]["says"].startswith("In mixed fp16 activations fall to 35 %")
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
              {"master": "bf16"}, {"batch": 0}, {"optimizer": "lion"}],
)  # fmt: skip
def test_bad_input_gets_one_sentence(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"; try |did you mean|Known: |known") as error:
        views.precision(**{"what": "mnist_cnn"} | given)
    assert "\n" not in str(error.value)
