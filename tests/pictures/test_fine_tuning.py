"""Fine-tuning: figures of plans by hand, cells of one layer, the axis, what is asked, keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

import memlab
from memlab import views
from memlab.errors import InputError
from memlab.ledger.ledger import Ledger
from memlab.networks.language_models import find
from memlab.pictures.draw.bars import CellBar
from memlab.pictures.draw.marks import Mark, Rect
from memlab.pictures.fine_tuning.ways import (
    ADAPTED,
    FULL,
    LORA,
    MAPS,
    SMALL,
    STATE,
    WAYS,
    TuningRecipe,
)
from memlab.step.tensor import Role
from tests.pictures.shown import charts, send

BATCH = 8
RECIPES = {
    "gpt2": TuningRecipe(find("gpt2")),
    "matrices": TuningRecipe(find("gpt2"), fused=False),
    "small": TuningRecipe(find("gpt_small"), 4, "all"),
    "three parts": TuningRecipe(find("gpt_small"), 2, "q, k and v"),
}


@cache
def planned(name: str, way: str, length: int) -> Ledger:
    """The ledger of a way, made without the module that is tested."""
    recipe = RECIPES[name]
    make = memlab.zoo.gpt_small if recipe.model.name == "gpt_small" else memlab.zoo.gpt2
    net = make(length, attention="fused" if recipe.fused else "matrix")
    if way != FULL:
        net = memlab.lora(net, recipe.rank, layers=ADAPTED[recipe.adapters])
    return memlab.plan(memlab.training_step(net, "adam", eight_bit_base=way == SMALL))


# -- figures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [7, 300, 1024])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RECIPES)
def test_every_amount_is_that_of_a_plan_by_hand(name: str, way: str, length: int) -> None:
    ledger, found = planned(name, way, length), RECIPES[name].figures(way, length, BATCH)
    peak = ledger.peak_at(BATCH)
    assert (found.peak, found.operation) == (peak.nbytes, peak.row.name)
    by_role = [ledger.roles(BATCH, at) for at in range(len(ledger.rows))]
    state = max(sum(roles[role] for role in STATE) for roles in by_role)
    maps = max(roles[Role.FEATURE_MAP] + roles[Role.GRADIENT_MAP] for roles in by_role)
    assert found.totals == (state, maps)
    assert {*found.state} == {*map(str, STATE)}
    assert {*found.maps} == {*MAPS}


def test_the_figures_that_the_lesson_shows() -> None:
    view = views.fine_tuning("gpt2", batch=8)
    full, lora, small = view.rows.ways
    assert [way.totals for way in (full, lora, small)] == [
        (1_991_036_928, 8_182_169_604),
        (507_196_416, 6_634_405_892),
        (252_724_224, 6_634_405_892),
    ]
    assert lora.learning == small.learning == 589_824
    assert view.rows.title == "LoRA frees 75 % of the model state, 81 % of the maps stay"


@pytest.mark.parametrize("name", RECIPES)
def test_pytorch_keeps_the_same_maps_of_these_models(name: str) -> None:
    """As the note says: no layer of theirs keeps what its backward does not read."""
    for way in (FULL, LORA):
        net = RECIPES[name].network(way, 16)
        kept = memlab.training_step(net, "adam", autograd=True)
        assert kept.ops == memlab.training_step(net, "adam").ops


# -- one layer -----------------------------------------------------------------------------------


def test_the_cells_of_a_layer_are_those_of_the_drawing() -> None:
    rows = views.fine_tuning("gpt2", batch=8).rows
    cells = {map_.name: map_.nbytes // rows.unit for map_ in rows.maps}
    assert cells == {"norm1": 1, "qkv": 3, "attention": 1, "add1": 1, "norm2": 1, "fc1": 4,
                     "gelu": 4, "add2": 1}  # fmt: skip
    assert [map_.name for map_ in rows.maps if not map_.kept] == ["norm2", "gelu"]
    read = {map_.name: (map_.read_by(False), map_.read_by(True)) for map_ in rows.maps}
    assert read["norm1"] == ("qkv", "adapter")
    assert read["gelu"] == ("fc2", "not kept")
    assert read["attention"] == ("project and itself", "itself")


def test_what_leaves_all_layers_is_what_the_maps_lose() -> None:
    """Beside them: the last norm, the input of the first one with its statistics, less A x."""
    recipe, length = RECIPES["gpt2"], 256
    full, lora = (recipe.figures(way, length, 1).totals[1] for way in (FULL, LORA))
    gone = sum(map_.nbytes for map_ in recipe.maps(length) if not map_.kept)
    small = 12 * length * 2 * 16 * 4
    assert full - lora == 12 * gone + 2 * (4 * length * 768) + 2 * 4 * length - small


def test_adapters_on_every_layer_keep_every_map() -> None:
    for recipe in (RECIPES["small"], TuningRecipe(find("gpt2"), adapters="all")):
        assert all(map_.kept for map_ in recipe.maps(64))


# -- the picture ---------------------------------------------------------------------------------


def marks_of(view: Any, name: str) -> Sequence[Mark]:
    return next(chart.marks for chart in charts(view) if chart.name == name)


def drawn_bars(view: Any, name: str) -> list[CellBar]:
    return [mark for mark in marks_of(view, name) if isinstance(mark, CellBar)]


def test_matrices_are_told_by_their_axes() -> None:
    """At 256 tokens, fc1 and GELU of GPT-2 have as many bytes as a matrix of attention."""
    maps = views.fine_tuning("gpt2", 1, 256, fused=False).rows.maps
    matrices = [map_.name for map_ in maps if map_.part == "matrices"]
    assert matrices == ["softmax", "softmax.drop"]
    assert len({map_.nbytes for map_ in maps if map_.name in (*matrices, "fc1", "gelu")}) == 1


def test_bars_are_as_long_as_their_bytes() -> None:
    view = views.fine_tuning("gpt_small", batch=4, length=512)
    bars = drawn_bars(view, "Model state")
    for row, way in enumerate(view.rows.ways):
        own = [bar for bar in bars if bar.y0 == row]
        state, maps = way.totals
        assert min(bar.x0 for bar in own) == -state
        assert max(bar.x1 for bar in own) == maps
        assert sum(bar.x1 - bar.x0 for bar in own) == state + maps
    marks = marks_of(view, "Model state")
    dashed = [mark for mark in marks if isinstance(mark, Rect) and mark.look == "before"]
    assert len(dashed) == 4


def test_the_axis_stays_while_the_length_changes() -> None:
    view = views.fine_tuning("gpt_small", batch=8, length=512)
    room = view.state.room
    view.length = 2048
    assert view.state.room == room
    assert view.exceeds(view.state)
    send(view, more_room=True)
    assert view.state.room != room
    assert not view.exceeds(view.state)


def test_what_is_asked_is_not_told() -> None:
    asked, told = (views.fine_tuning("gpt2", asked=ask) for ask in (True, False))
    page = f"{asked.text()} {asked.svg()} {asked.test_state(asked.state)}"
    assert "Which memory shrinks when only adapters learn?" in page
    answers = [f"{way.peak}" for way in told.rows.ways[1:]]
    answers += ["507 MB", "253 MB", "6.63 GB", "81 %", "75 %", "not kept", "Dashed"]
    assert not [answer for answer in answers if answer in page]
    assert all(answer in f"{told.text()} {told.test_state(told.state)}" for answer in answers)


def test_only_what_is_named_has_a_control() -> None:
    view = views.fine_tuning("gpt2", only=("batch", "length"))
    names = {control.name for control in view.controls() if control.place != "buttons"}
    assert names == {"batch", "length", "length_number"}


def test_keys_go_over_the_parts_and_turn_settings() -> None:
    view = views.fine_tuning("gpt_small", batch=2, length=128)
    send(view, key="ArrowRight")
    assert view.state.chosen == "0:parameter"
    send(view, key="ArrowDown")
    assert view.state.chosen == "1:parameter"
    assert view.says(view.scene()) == "LoRA, parameters: 20.5 MB"
    assert [bar.pale for bar in drawn_bars(view, "Model state")].count(False) == 1
    send(view, choose="1:parameter")
    assert view.state.chosen == ""
    send(view, key="KeyF")
    assert not view.fused
    send(view, key="Escape")
    assert view.state.chosen == ""


def test_the_line_of_code_makes_the_view_again() -> None:
    view = views.fine_tuning("gpt_small", 2, rank=4, adapters="all")
    assert view.code() == ("memlab.views.fine_tuning('gpt_small', batch=2, rank=4, adapters='all')")
    again = eval(view.code(), {"memlab": memlab})
    assert again.rows.ways == view.rows.ways


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"network": "llama3_8b"}, "unknown network 'llama3_8b'"),
        ({"rank": 3}, "rank must be"),
        ({"adapters": "k"}, "unknown adapters 'k'"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"asked": "yes"}, "asked must be True or False, got 'yes'"),
    ],
)
def test_a_setting_that_is_none_gets_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        views.fine_tuning(**given)
    assert sentence in str(refused.value)
