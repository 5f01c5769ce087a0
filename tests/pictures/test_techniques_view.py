"""The frontier in three stops: points, line and halves are those of plans, and so is the text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import memlab
from memlab.errors import InputError
from memlab.lesson.card_question import topics
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Glyph, Line, Mark, Path, Points
from memlab.pictures.draw.theme import FREE
from memlab.pictures.recompute import schedules, subject
from memlab.pictures.techniques import frontier as study
from memlab.pictures.techniques.compare import MeasuredTechnique
from memlab.pictures.techniques.frontier import CHEAP, EVERY, LINE, Frontier
from memlab.pictures.techniques.view import GUESSES, Techniques, Thumbnail, techniques
from memlab.techniques.recompute.order_memory import cost
from tests.pictures.shown import send
from tests.pictures.test_pages import FEW, numerals


@cache
def found(stop: int, budget: int | None = None) -> Frontier:
    return Frontier(schedules(subject("resnet50"), 32), stop, budget)


@cache
def deep() -> Any:
    body = memlab.network("deep", image=(4, 8, 8))
    for _ in range(6):
        body = body.conv(4, 3, pad=1).relu()
    return memlab.training_step(body.flatten().linear(3).cross_entropy())


def marks(view: Techniques, kind: type[Mark]) -> list[Any]:
    charts = [block for block in view.page().blocks if isinstance(block, Chart)]
    return [mark for mark in charts[0].marks if isinstance(mark, kind)]


# -- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [EVERY, CHEAP, LINE])
def test_each_point_is_what_its_call_gives(stop: int) -> None:
    step = found(stop).all.step
    for point in found(stop).points[:: 5 if stop == EVERY else 1]:
        made = eval(point.call, {"memlab": memlab, "step": step})
        assert point.wave.peak == memlab.plan(made).peak(32)
        assert point.wave.cost == cost(made.ops, 32)


@pytest.mark.parametrize(
    ("stop", "budget", "title"),
    [
        (EVERY, None, "Every k-th stage: 1.64 GB less at most, for 34 % more time"),
        (LINE, 1_500_000_000, "Within 1.50 GB: 1.50 GB for 12.5 % more time"),
    ],
)
def test_the_title_is_the_finding(stop: int, budget: int | None, title: str) -> None:
    assert found(stop, budget).title == title


def test_half_is_the_fastest_that_saves_at_least_half() -> None:
    shown = found(LINE)
    plain, least = shown.all.plain.peak, shown.least.peak
    saving = [wave for wave in shown.all.frontier if 2 * (plain - wave.peak) >= plain - least]
    assert shown.half.point == min(saving, key=lambda wave: wave.cost).point


def test_where_nothing_can_be_saved_the_title_says_so() -> None:
    shown = Frontier(schedules(subject("mnist_cnn"), 8), LINE)
    assert shown.title == "No schedule of whole stages saves a byte here"
    assert techniques("mnist_cnn", 8, stop=LINE).page().svg().collisions() == []


# -- the picture ----------------------------------------------------------------------------------


def test_the_dots_are_every_k_and_the_line_is_the_frontier() -> None:
    view = techniques("resnet50", stop=LINE)
    waves = view.rows.all.every
    *dots, ring = (mark.points[0] for mark in marks(view, Points))
    assert ring == (view.rows.half.peak, view.rows.extra(view.rows.half))
    assert dots == [(wave.peak, view.rows.extra(wave)) for wave in waves.values()]
    corners = max((mark.points for mark in marks(view, Line)), key=len)
    assert set(corners[::2]) == {(w.peak, view.rows.extra(w)) for w in view.rows.all.frontier}
    assert not marks(techniques("resnet50", stop=CHEAP), Line)


def test_named_points_carry_their_mountains() -> None:
    for stop, least in ((EVERY, 5), (CHEAP, 3), (LINE, 5)):
        shown = marks(techniques("resnet50", stop=stop), Thumbnail)
        assert len(shown) >= least
        assert all(each.all.longest == shown[0].all.longest for each in shown)


@pytest.mark.parametrize(
    ("guess", "upper", "price"),
    [("less", 0.45, "0.0–11.3"), (None, 0.5, None)],
)
def test_a_guess_stands_at_half_of_the_saving(
    guess: str | None, upper: float, price: str | None
) -> None:
    view = techniques(stop=LINE, guess=guess)
    glyph = next(mark for mark in marks(view, Glyph) if mark.look == "hollow pole")
    whole = view.rows.extra(view.rows.least)
    assert (glyph.x, glyph.y) == (view.rows.middle, pytest.approx(upper * whole))
    labels = {label.content for label in view.page().svg().labels}
    assert {"your guess", "half the time?"} & labels == {
        "your guess" if guess else "half the time?"
    }
    said = f"Your guess: half of the saving takes {price} % more time."
    assert (said in view.text()) == bool(guess)
    assert "Your guess" not in techniques(stop=CHEAP, guess=guess).text()
    little = techniques("resnet18", 16, stop=LINE, guess=guess)
    for each in (view, little):
        assert [each.page(width).svg().collisions() for width in (500, 820)] == [[], []]


def test_a_guess_is_an_option_of_the_card_of_lesson_08() -> None:
    assert set(GUESSES) == set(topics()["08.half"].options)
    view = techniques(stop=LINE, guess="less")
    assert "guess" not in view.code()
    assert "guess" not in {each.name for each in view.controls()}


@pytest.mark.parametrize("given", [{"stop": 1}, {"budget": "1.5 GB"}])
def test_a_first_level_has_few_numerals(given: dict[str, Any]) -> None:
    texts = [label.content for label in techniques(**given).page().svg().labels]
    assert len(numerals(texts)) <= FEW


def test_all_numbers_list_points_and_the_line_with_their_calls() -> None:
    view = techniques(stop=LINE)
    for wave in view.rows.all.frontier:
        assert f"{wave.peak:,} B" in view.text()
    assert 'memlab.recompute(step, "chain", batch=32)' in view.text()
    assert "1,070,845,156 B" not in [label.content for label in view.page().svg().labels]
    send(view, key="KeyN")
    assert "1,070,845,156 B" in [label.content for label in view.page().svg().labels]


# -- the widget -----------------------------------------------------------------------------------


def test_stops_are_chosen_by_select_and_by_key() -> None:
    view = techniques()
    assert view.stop == EVERY
    assert "budget" not in {each.name for each in view.controls()}
    assert send(view, key="Digit3")["state"].startswith("3|None|1985694948|")
    assert "budget" in {each.name for each in view.controls()}
    send(view, stop="2")
    assert view.stop == CHEAP


def test_a_budget_moves_along_the_line_from_the_least_possible_peak() -> None:
    view: Any = techniques(stop=LINE)
    slider = next(each for each in view.controls() if each.name == "budget")
    peaks = []
    for place in (slider.most, slider.most // 2, slider.least):
        shown = send(view, budget=place)
        peaks.append(view.rows.chosen.peak)
        assert shown["shown"] == place
        assert view.rows.chosen.peak <= view.budget
    assert peaks == sorted(peaks, reverse=True)
    assert len(set(peaks)) == 3
    assert view.budget == peaks[-1] == view.rows.least.peak
    with pytest.raises(InputError, match="no schedule of whole stages fits into 300,000,000 B"):
        view.budget = "300 MB"
    assert view.rows.chosen.peak == peaks[-1]


@pytest.mark.parametrize("name", ["resnet50", "vgg16"])
def test_every_stop_of_the_budget_can_be_had(name: str) -> None:
    view: Any = techniques(name, 8, stop=LINE, only=("budget",))
    (slider,) = (each for each in view.controls() if each.kind == "range")
    for place in range(slider.most + 1):
        assert send(view, budget=place)["error"] == ""
        assert view.rows.chosen.peak <= view.budget
    assert view.budget == view.rows.all.plain.peak == view.rows.chosen.peak


@pytest.mark.parametrize("batch", [8, 32])
def test_no_point_lies_inside_the_area_that_no_schedule_reaches(batch: int) -> None:
    """The single maps that cheap drops are faster than whole stages: the area ends there."""
    view = techniques("resnet50", batch, stop=LINE)
    (area,) = (mark for mark in marks(view, Path) if mark.look == FREE)
    corners = area.points[3:-1]
    frontier = view.rows
    for wave in (frontier.cheap, *frontier.all.frontier, *frontier.all.every.values()):
        lowest = min(y for x, y in corners if x <= wave.peak)
        assert frontier.extra(wave) >= lowest
    assert (frontier.cheap.peak, frontier.extra(frontier.cheap)) in corners


def test_the_point_below_the_line_and_the_large_mountain_have_their_names() -> None:
    said = [label.content for label in techniques(stop=LINE).page().svg().labels]
    assert {
        "cheap: single maps",
        "half of the saving",
        "kept",
        "recomputed",
        "gradient maps",
    } <= set(said)


@pytest.mark.parametrize(("network", "k"), [("resnet50", 1), ("resnet200", 5)])
def test_the_ring_and_the_large_mountain_are_of_one_schedule(network: str, k: int) -> None:
    view = techniques(network, stop=LINE)
    for budget, shown in ((None, "half"), (view.rows.all.plain.peak, "chosen")):
        view.budget = budget
        large = max(marks(view, Thumbnail), key=lambda mark: mark.size)
        ring = next(mark for mark in marks(view, Points) if mark.look == "ring")
        assert large.wave is getattr(view.rows, shown)
        assert ring.points == [(large.wave.peak, view.rows.extra(large.wave))]
        name = f"every k-th, k = {k}" if budget is None else "every k-th"
        assert name in [label.content for label in view.page().svg().labels]


def test_all_techniques_stand_behind_a_button() -> None:
    view: Any = techniques(deep(), 4, stop=LINE)
    assert "no reuse" not in view.text()
    send(view, all="")
    rows = view.rows.others.rows
    for row in rows:
        assert f"{row.peak:,}" in view.text()
        assert row.call in view.text()
    ran = [MeasuredTechnique(row.peak + 8, 8, 0.02, ("gradients",)) for row in rows]
    seen = tuple(replace(row, measured=each) for row, each in zip(rows, ran, strict=True))
    shown = Frontier(view.rows.all, LINE, None, replace(view.rows.others, rows=seen))
    view._kept.clear()
    view._kept.append((view.state, shown))
    labels = [label.content for label in view.page().svg().labels]
    assert labels.count("results that differ from plain: gradients") == len(rows)
    send(view, all="")
    assert "no reuse" not in view.text()


def test_its_code_makes_it_again() -> None:
    for view in (techniques(stop=2), techniques(budget="2 GB"), techniques("vgg16", 8)):
        assert eval(view.code(), {"memlab": memlab}).text() == view.text()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"network": memlab.inference_step(memlab.zoo.mnist_cnn())},
            "a step without backward keeps nothing that could be computed again; try "
            r"memlab\.training_step\(network\)\.",
        ),
        ({"guess": "third"}, "unknown guess 'third'. Known: all, more, half, less"),
        ({"stop": 4}, "stop must be 1, 2 or 3, got 4"),
    ],
)
def test_bad_input_is_one_sentence(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        techniques(**given)
    assert "\n" not in str(error.value)


def test_the_text_has_the_stop_and_the_figures_of_the_study() -> None:
    view = techniques(stop=CHEAP)
    assert study.text_of("cheap") in view.text()
    assert view.text().startswith(view.rows.title)
    assert view.text().count(view.rows.all.subject) == 1
    assert {point.name for point in view.rows.points} == {"plain", "k = 1", "cheap"}
