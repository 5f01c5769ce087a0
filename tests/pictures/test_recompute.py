"""The view of recomputation: its picture shows the waves of the plan, and follows k and budget."""

from __future__ import annotations

from time import thread_time
from typing import Any

import pytest

import memlab
from memlab import views
from memlab.errors import InputError
from memlab.pictures.draw.labels import Text
from memlab.pictures.draw.marks import Area, Rect, Rects
from memlab.pictures.recompute import TIME, recompute
from tests.pictures.shown import charts, send
from tests.pictures.test_pages import FEW, numerals


def test_the_waves_reach_the_peak_at_its_time_and_end_with_the_step() -> None:
    view = recompute(k=5)
    areas = [mark for mark in charts(view)[0].marks if isinstance(mark, Area)]
    wave, top = view.rows.wave, areas[-1].high
    assert top.max() == wave.peak == 1_579_240_676
    ends = wave.lives.times.cumsum() / view.rows.all.longest * TIME
    assert ends[wave.at - 1] - 1 <= int(top.argmax()) <= ends[wave.at]
    assert not top[int(ends[-1]) + 1 :].any()
    plain = view.rows.all.plain
    assert wave.cost > plain.cost


def test_the_bars_are_the_peaks_of_all_k() -> None:
    chart = charts(recompute(k=5))[0]
    stacks = [mark.places for mark in chart.marks if isinstance(mark, Rects)]
    step = memlab.training_step(memlab.zoo.build("resnet50"))
    for k in (1, 7, 20):
        peak = memlab.plan(memlab.recompute(step, "every", k=k)).peak(32)
        assert stacks[-1][k - 1][3] == peak
    sends = [mark.send for mark in chart.marks if isinstance(mark, Rect) and mark.send]
    assert sends == [("k", k) for k in range(1, 21)]


def test_the_columns_where_operations_run_again_are_those_of_the_strip() -> None:
    waves, strip = charts(recompute(k=3))
    again = [mark.places for mark in strip.marks if isinstance(mark, Rects)][-1]
    shades = [mark for mark in waves.marks if isinstance(mark, Rect) and mark.fact]
    shades = [mark for mark in shades if not mark.send]
    assert [(mark.x0, mark.x1) for mark in shades] == [place[:2] for place in again]
    assert all("again" in str(mark.fact) for mark in shades)


def test_the_axes_stay_for_every_k() -> None:
    view = recompute()
    ends = set()
    for k in (1, 4, 20):
        view.k = k
        chart = charts(view)[0]
        ends.add((chart.x.last, chart.y.last))
    assert len(ends) == 1


@pytest.mark.parametrize("given", [{"what": "resnet200", "k": 5}, {"budget": "1.5 GB"}])
def test_a_first_level_has_few_numerals(given: dict[str, Any]) -> None:
    texts = [label.content for label in recompute(**given).page().svg().labels]
    assert len(numerals(texts)) <= FEW


# -- the widget ------------------------------------------------------------------------------------


def test_k_moves_bytes_and_time() -> None:
    view = recompute()
    shown = send(view, k=1)
    assert (view.k, shown["shown"]) == (1, 1)
    assert shown["state"] == f"1|None|1299991780|{view.rows.wave.cost}"
    assert "Here the smallest k is best" in shown["says"]
    with pytest.raises(InputError, match="k must be at most 20, got 21"):
        view.k = 21
    assert view.k == 1


@pytest.mark.parametrize("given", [{}, {"budget": "2 GB"}])
def test_a_press_on_a_bar_takes_it(given: dict[str, Any]) -> None:
    view = recompute(**given)
    bars = [m.send for m in charts(view)[0].marks if isinstance(m, Rect) and m.send]
    others = view.rows.others
    assert len(bars) == len(others)
    for (name, value), wave in list(zip(bars, others, strict=True))[::7]:
        assert send(view, **{name: value})["error"] == ""
        assert view.rows.wave is wave
    refused = send(view, take="nothing")["error"]
    assert "amount of memory" in refused
    assert view.rows.wave is wave


def test_a_network_is_chosen_and_k_is_by_the_rule_again() -> None:
    view = recompute(k=2)
    send(view, network="resnet200")
    assert (view.k, view.rows.all.label) == (8, "ResNet-200 v1.5")
    assert "network" not in {each.name for each in recompute("mnist_cnn").controls()}


@pytest.mark.parametrize(
    ("button", "label", "state", "title"),
    [
        ("surprise", "ResNet-50 v1.5", "first", "Here the smallest k is best, not the rule"),
        ("break", "ResNet-200 v1.5", "many", "k too small: what is kept takes"),
    ],
)
def test_a_button_shows_a_rule_that_fails_and_a_k_that_is_too_small(
    button: str, label: str, state: str, title: str
) -> None:
    view: Any = recompute(budget="2 GB", batch=16)
    assert send(view, **{button: ""})["error"] == ""
    assert (view.k, view.budget, view.batch) == (1, None, 32)
    assert (view.rows.all.label, view.rows.state) == (label, state)
    assert view.rows.title.startswith(title)
    send(view, start="")
    assert (view.budget, view.batch) == (2_000_000_000, 16)


def test_a_network_of_ones_own_stays() -> None:
    offered = {each.name for each in recompute("mnist_cnn").controls() if each.kind == "button"}
    assert offered == {"mode", "start", "copy"}


def test_a_budget_takes_the_place_of_k() -> None:
    view = recompute("resnet18", batch=8)
    assert {"k", "budget"} & {each.name for each in view.controls()} == {"k"}
    send(view, mode="")
    assert {"k", "budget"} & {each.name for each in view.controls()} == {"budget"}
    assert view.budget is not None
    assert view.rows.wave.peak <= view.budget
    was = view.text()
    send(view, budget=0)
    assert view.budget == view.rows.wave.peak == view.rows.all.frontier[0].peak
    with pytest.raises(InputError, match=r"no schedule of whole stages fits .* the least takes"):
        view.budget = "1 MB"
    assert view.text() != was
    send(view, mode="")
    assert view.budget is None
    assert view.rows.wave.k == view.k


def test_a_budget_is_an_amount_from_python() -> None:
    view = recompute(budget="1.5 GB")
    assert view.budget == 1_500_000_000
    step = memlab.training_step(memlab.zoo.build("resnet50"))
    made = memlab.recompute(step, "chain", batch=32, budget="1.5 GB")
    assert view.rows.wave.peak == memlab.plan(made).peak(32)
    texts = [mark.content for mark in charts(view)[0].marks if isinstance(mark, Text)]
    assert "1.50 GB" in texts


def test_all_numbers_are_listed_by_a_key() -> None:
    view = recompute()
    assert "1,299,991,780" in view.text()
    for shown in (False, True, False):
        labels = [label.content for label in view.page().svg().labels]
        assert ("1,299,991,780" in labels) == shown
        send(view, key="KeyN")


def test_the_text_says_the_finding_first_and_nothing_twice() -> None:
    for given in ({"k": 5}, {"budget": "1.5 GB"}):
        view = recompute(**given)
        lines = view.text().split("\n")
        assert lines[0] == view.rows.title
        said = [line for line in lines if line]
        assert len(said) == len(set(said))


def test_its_code_makes_it_again() -> None:
    for view in (recompute(k=3), recompute(budget="2 GB"), recompute("vgg16", batch=8)):
        assert eval(view.code(), {"memlab": memlab}).text() == view.text()
    assert recompute(k=3).code() == "memlab.views.recompute('resnet50', k=3, batch=32)"


def test_a_step_of_ones_own() -> None:
    step = memlab.training_step(memlab.zoo.mnist_cnn(), "adam")
    view = views.recompute(step, batch=8)
    peak = memlab.plan(memlab.recompute(step, "every", k=view.k)).peak(8)
    assert view.rows.wave.peak == peak
    with pytest.raises(InputError, match="give a network"):
        views.recompute(3)


@pytest.mark.measures
def test_a_redraw_is_quick() -> None:
    """10 ms of a processor, five times over."""
    view = recompute("resnet50", k=1, batch=24)
    seconds = []
    for k in range(2, 12):
        start = thread_time()
        send(view, k=k)
        seconds.append(thread_time() - start)
    assert sorted(seconds)[5] < 0.05
