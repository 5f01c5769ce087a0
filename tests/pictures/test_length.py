"""Bytes by the length of a text: every figure is that of a plan, and curves go through plans."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import views
from memlab.errors import InputError
from memlab.layers.attention import TILE
from memlab.ledger.ledger import Ledger
from memlab.networks.language_models import find
from memlab.pictures.draw.marks import Area, Line, Points
from memlab.pictures.length import growth
from memlab.pictures.length.axis import FIRST, LAST, STOPS, doublings, length_after
from memlab.pictures.length.growth import TrainingRecipe, last_true
from memlab.pictures.length.text_length import law_of, share_text
from memlab.step.tensor import Role
from memlab.strings import get
from tests.pictures.shown import charts, drawn, send

RECIPES = {
    "plain": TrainingRecipe(find("gpt2")),
    "fused": TrainingRecipe(find("gpt2"), fused=True),
    "chunks": TrainingRecipe(find("gpt2"), fused=True, chunks=8),
    "matrices and chunks": TrainingRecipe(find("gpt2"), chunks=8),
    "small": TrainingRecipe(find("gpt_small")),
    "small, fused": TrainingRecipe(find("gpt_small"), fused=True, chunks=32),
}
BATCH, CARD = 8, 24 * 10**9


@cache
def planned(name: str, length: int) -> Ledger:
    """The ledger of a recipe, made without the module that is tested."""
    recipe = RECIPES[name]
    model = recipe.model
    make = memlab.zoo.gpt_small if model.name == "gpt_small" else memlab.zoo.gpt2
    network = make(length, attention="fused" if recipe.fused else "matrix")
    step = memlab.training_step(network, "adam")
    return memlab.plan(memlab.chunked_loss(step, recipe.chunks))


# -- one length ------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 100, 1024])
@pytest.mark.parametrize("name", RECIPES)
def test_parts_are_what_the_plan_has_at_its_peak(name: str, length: int) -> None:
    ledger, peak = planned(name, length), RECIPES[name].peak(length, BATCH)
    there = ledger.peak_at(BATCH)
    assert (peak.nbytes, peak.operation) == (there.nbytes, there.row.name)
    roles = ledger.roles(BATCH)
    maps = (growth.OTHERS, growth.LOGITS, growth.MATRICES)
    assert sum(peak.parts[part] for part in maps) == roles[Role.FEATURE_MAP]
    for role in (*growth.FLOOR, Role.GRADIENT_MAP):
        assert peak.parts[role] == roles[role]
    rest = (Role.INPUT, Role.BUFFER, Role.WORKSPACE)
    assert peak.parts[growth.REST] == sum(roles[role] for role in rest)


FIGURES = {
    "plain": (19_334_536_196, (719, 1188, 2517), 9_663_676_416, 3_293_642_752, 4_883_808_260),
    "fused": (9_675_578_372, (1314, 2814, 9814), 0, 3_293_642_752, 4_888_526_852),
    "chunks": (6_973_196_292, (1988, 4291, 15_040), 0, 411_705_344, 4_888_526_852),
}
"""GPT-2 small, 8 texts of 1,024 tokens, fp32, Adam: the peak, the longest texts on cards of 12,
24 and 80 GB, attention's matrices, logits with probabilities, and the other maps."""


@pytest.mark.parametrize("name", FIGURES)
def test_the_figures_of_gpt2(name: str) -> None:
    peak, longest, matrices, logits, others = FIGURES[name]
    recipe, at = RECIPES[name], RECIPES[name].peak(1024, BATCH)
    assert at.nbytes == peak
    parts = (growth.MATRICES, growth.LOGITS, growth.OTHERS)
    assert tuple(at.parts[part] for part in parts) == (matrices, logits, others)
    assert at.floor == 995_518_464 + 497_759_232 + (154_389_504 if recipe.chunks > 1 else 0)
    assert tuple(recipe.longest(gb * 10**9, BATCH) for gb in (12, 24, 80)) == longest


def test_matrices_follow_their_formula_and_pass_the_rest() -> None:
    """Softmax and its dropout are kept: 2 B h n^2 4 B in each of L layers."""
    recipe = RECIPES["plain"]
    for length in (512, 1024):
        matrices = recipe.peak(length, BATCH).parts[growth.MATRICES]
        assert matrices == 2 * BATCH * 12 * length**2 * 4 * 12
    others = {n: recipe.peak(n, BATCH) for n in (517, 518, 1024, 1025)}
    more = {n: p.parts[growth.MATRICES] > p.parts[growth.OTHERS] for n, p in others.items()}
    assert (more[517], more[518]) == (False, True)
    half = {n: 2 * p.parts[growth.MATRICES] > p.nbytes for n, p in others.items()}
    assert (half[1024], half[1025]) == (False, True)


def test_a_chunk_is_a_whole_number_of_tokens() -> None:
    """4,292 / 8 tokens are 537 in the longest chunk: half a token more than 536.5, and too much."""
    recipe = RECIPES["chunks"]
    fits = [recipe.peak(n, BATCH).nbytes <= CARD for n in (4291, 4292)]
    assert fits == [True, False]
    lower = recipe.curves.peak(4292, BATCH)
    assert lower <= CARD < recipe.peak(4292, BATCH).nbytes


# -- all lengths -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECIPES)
def test_curves_go_through_the_plans(name: str) -> None:
    """Exactly at every multiple of a tile; without chunks at every length from one tile on."""
    recipe, drawn_at = RECIPES[name], Random(name)
    tiles = [TILE * n for n in drawn_at.sample(range(4, LAST // TILE + 1), 3)]
    others = drawn_at.sample(range(TILE, LAST), 3) if recipe.chunks == 1 else []
    for length in (TILE, *tiles, *others, LAST):
        peak = recipe.peak(length, BATCH)
        assert recipe.curves.peak(length, BATCH) == peak.nbytes
        parts = recipe.curves.parts(np.array([float(length)]), BATCH)
        assert {part: int(line[0]) for part, line in parts.items()} == dict(peak.parts)


@pytest.mark.parametrize("name", ["chunks", "small, fused"])
def test_a_length_between_multiples_lies_within_a_token_for_each_chunk(name: str) -> None:
    recipe = RECIPES[name]
    row = 2 * BATCH * recipe.model.vocabulary * 4
    for length in Random(name).sample(range(TILE, LAST), 4):
        over = recipe.peak(length, BATCH).nbytes - recipe.curves.peak(length, BATCH)
        assert 0 <= over <= row


@pytest.mark.parametrize("name", RECIPES)
def test_a_longer_text_never_needs_fewer_bytes(name: str) -> None:
    """On which the search for the longest text stands: also from one token to the next."""
    start = Random(name).randrange(200, 4000)
    lengths = [1, 2, 100, 127, 128, 129, *range(start, start + 20), 9000, 9001]
    peaks = [RECIPES[name].peak(length, BATCH).nbytes for length in sorted(lengths)]
    assert all(a <= b for a, b in pairwise(peaks))


@pytest.mark.parametrize("budget", [1, 2_200_000_000, 12 * 10**9, 80 * 10**9])
@pytest.mark.parametrize("name", ["fused", "chunks", "small"])
def test_the_longest_text_fits_and_one_token_more_does_not(name: str, budget: int) -> None:
    longest = RECIPES[name].longest(budget, 3)
    assert longest == 0 or planned(name, longest).peak(3) <= budget
    assert planned(name, longest + 1).peak(3) > budget


def test_one_token_more_is_too_much_by_so_many_bytes() -> None:
    rows = views.length("gpt2").rows
    assert rows.excess == planned("plain", 1189).peak(BATCH) - CARD == 18_909_956
    assert "1,189 tokens are 18,909,956 B too much" in views.length("gpt2").svg()


@pytest.mark.parametrize("end", [0, 1, 2, 57, 999, 1000])
def test_the_last_for_which_something_holds_is_found_from_anywhere(end: int) -> None:
    tried: list[int] = []

    def holds(number: int) -> bool:
        assert 1 <= number <= 1000
        tried.append(number)
        return number <= end

    for near in (0, 1, 56, 57, 58, 1000, 2000):
        assert last_true(holds, near, 1000) == end
    tried.clear()
    last_true(holds, end, 1000)
    assert len(tried) <= 2 + (end == 0)


# -- in words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "double", "key"),
    [(0, 5, "none"), (100, 104, "stays"), (100, 150, "less"), (100, 200, "twice"),
     (100, 290, "more"), (100, 400, "four"), (100, 900, "more")],
)  # fmt: skip
def test_a_law_of_growth(now: int, double: int, key: str) -> None:
    assert law_of(now, double) == key
    assert get(f"length.law.{key}")


def test_a_share_in_words() -> None:
    said = [share_text(part, 1000) for part in (250, 340, 499, 660, 750, 960, 570)]
    assert said == ["a quarter", "a third", "half", "two thirds", "three quarters", "nearly all",
                    "57 %"]  # fmt: skip


@pytest.mark.parametrize("chunks", [1, 8])
@pytest.mark.parametrize("length", [1000, 1024])
def test_a_product_is_the_bytes_of_its_part(length: int, chunks: int) -> None:
    rows = views.length("gpt2", length=length, chunks=chunks).rows
    for part in (growth.MATRICES, growth.LOGITS):
        formula = rows.formula(part).replace("²", "**2").replace(",", "").replace(" x ", " * ")
        assert eval(re.sub(r"[a-zA-Z]+", "", formula)) == rows.now.parts[part] > 0
    assert len(rows.products()) == 2
    assert views.length("gpt2", fused=True).rows.formula(growth.MATRICES) == ""


# -- the view --------------------------------------------------------------------------------------


def test_the_title_says_what_a_switch_has_changed() -> None:
    view = views.length("gpt2", batch=8)
    assert view.page().title == "Attention's matrices are half of the peak at this length"
    view.fused = True
    assert view.page().title == "Fused attention: the matrices are gone, 2.4 times the text fits"
    assert "(before: 19,334,536,196)" in view.text()
    assert "2,814 tokens (before: 1,188)" in view.text()
    view.chunks = 8
    title = "Loss in 8 chunks: the logits shrink to an eighth, half as much text again fits"
    assert view.page().title == title
    view.length = 512  # what has changed is compared at another length, too
    assert view.page().title == title
    view.length = 8192
    assert view.page().title == "At 8,192 tokens: 20.3 GB too much"


def test_what_twice_the_text_does() -> None:
    said = views.length("gpt2").text()
    assert ("the floor stays, other maps and logits double, the matrices take four times as much. "
            "That does not fit the card.") in said  # fmt: skip
    assert "That fits the card." in views.length("gpt2", length=256).text()


def test_axes_stay_while_the_length_and_the_batch_change() -> None:
    view = views.length("gpt2")
    before = charts(view)[0]
    view.change(length=4096, batch=64, fused=True, chunks=4)
    after = charts(view)[0]
    assert (before.x, before.y) == (after.x, after.y)
    view.card = "80 GB card"
    assert charts(view)[0].y != before.y


def test_the_stack_is_that_of_the_curves_and_ends_at_the_plot() -> None:
    view = views.length("gpt2", fused=True)
    areas = [mark for mark in charts(view)[0].marks if isinstance(mark, Area)]
    total = max(float(area.high.max()) for area in areas)
    end = view.rows.recipe.curves.peak(LAST, 8)
    assert 0.99 * end < total <= end
    assert all(float(area.high[-1] - area.low[-1]) == 0 for area in areas)
    told = {str(area.fact).partition(":")[0]: area.fact.nbytes for area in areas if area.fact}
    assert told == {get(f"length.part.{part}"): nbytes for part, nbytes
                    in view.rows.now.parts.items() if nbytes}  # fmt: skip


def test_the_curve_of_before_is_dashed_and_its_crossing_hollow() -> None:
    view = views.length("gpt2")
    assert not charts(view)[0].previous
    view.length = 2048  # the same curves
    assert not charts(view)[0].previous
    view.fused = True
    chart = charts(view)[0]
    assert [type(mark) for mark in chart.previous] == [Line]
    looks = [mark.look for mark in chart.marks if isinstance(mark, Points)]
    assert "hollow" in looks
    view.network = "gpt2_medium"  # another question
    assert not charts(view)[0].previous


def test_what_is_asked_is_not_shown() -> None:
    view = views.length("gpt2", asked=True, only=("batch",))
    text, state = view.text(), view.test_state(view.state)
    assert text.startswith("How long may a text be on this card?")
    assert "1,188" not in text + state + " ".join(drawn(view)) + view.svg()
    assert "four times" not in text
    after = [mark for mark in charts(view)[0].marks if isinstance(mark, Area)]
    assert all(float((area.high - area.low)[len(area.low) // 2 :].max()) == 0 for area in after)
    assert {control.name for control in view.controls() if control.kind != "button"} == {"batch"}


@pytest.mark.parametrize("length", STOPS)
def test_every_stop_can_be_asked_about(length: int) -> None:
    """At the shortest one no column of the plot is left of the length."""
    view = views.length("gpt2", fused=True, asked=True, only=("length",), height=200)
    view.length = length
    assert f"length {length:,}" in drawn(view)


def test_keys_move_along_the_lengths_and_through_the_parts() -> None:
    view = views.length("gpt2")
    for key, length in (("ArrowRight", 1117), ("ArrowLeft", 1024), ("PageUp", 2048),
                        ("PageDown", 1024), ("KeyP", 1188)):  # fmt: skip
        send(view, ("key", key))
        assert view.length == length
    shown = send(view, ("key", "ArrowDown"))
    assert view.state.chosen == growth.MATRICES
    assert "attention matrices: 13.0 GB" in shown["says"]
    assert shown["fact"] == f"choose:{growth.MATRICES}"
    send(view, ("key", "ArrowDown"), ("key", "ArrowUp"), ("key", "ArrowUp"))
    assert view.state.chosen == growth.MATRICES
    send(view, ("key", "Escape"), ("key", "KeyF"), ("key", "KeyC"), ("key", "KeyN"))
    assert (view.state.chosen, view.fused, view.chunks, view.numbers) == ("", True, 8, True)
    send(view, ("key", "KeyC"), ("choose", "parameter"))
    assert (view.chunks, view.state.chosen) == (1, "parameter")
    send(view, ("choose", "parameter"), ("choose", "nothing"))
    assert view.state.chosen == ""


def test_keys_change_nothing_that_has_no_control() -> None:
    view = views.length("gpt2", fused=True, asked=True, only=("length",))
    send(view, ("key", "KeyF"), ("key", "KeyC"))
    assert (view.fused, view.chunks) == (True, 1)
    send(view, ("key", "KeyN"), ("key", "PageUp"))
    assert (view.numbers, view.length) == (True, 2048)
    view = views.length("gpt2", only=("batch",))
    send(view, ("key", "PageUp"), ("key", "KeyP"))
    assert view.length == 1024
    cache = views.cache("gpt2", only=("length",))
    send(cache, ("key", "KeyG"))
    assert cache.kv_heads == 12


def test_the_slider_stops_eight_times_for_each_doubling() -> None:
    assert (STOPS[0], STOPS[-1], len(STOPS)) == (FIRST, LAST, 57)
    assert {*doublings()} <= {*STOPS}
    assert length_after(LAST, "ArrowRight") == length_after(LAST, "PageUp") == LAST
    assert length_after(FIRST, "ArrowLeft") == length_after(FIRST, "PageDown") == FIRST
    assert length_after(1000, "ArrowRight") == 1024
    view = views.length("gpt2")
    send(view, ("length", 0))
    assert view.length == FIRST
    send(view, ("length_number", 1500))
    assert view.length == 1500
    assert "2,000" in send(view, ("length_number", 2000))["svg"]


def test_every_length_or_none_may_fit() -> None:
    view = views.length("gpt_small", batch=1, fused=True, card="80 GB card")
    assert "every length here fits" in drawn(view)
    view.change(network="gpt2", batch=1024, fused=False, length=128)
    assert "no length here fits" in drawn(view)
    assert "Not even one token fits" in views.length("gpt2_xl", batch=8, card="12 GB card").text()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"network": "llama3_8b"}, "unknown network 'llama3_8b'"),
        ({"length": 64}, "length .* at least 128|length must"),
        ({"chunks": 3}, "chunks"),
        ({"card": "a card"}, "unknown device 'a card'"),
        ({"batch": 0}, "batch"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        views.length(**given)
