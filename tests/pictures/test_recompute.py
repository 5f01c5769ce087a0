"""Recomputation: every schedule is the step that `memlab.recompute` makes, and so is its view."""

from __future__ import annotations

from functools import cache
from time import thread_time
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import views
from memlab.errors import InputError
from memlab.ledger.ledger import Entry, Ledger
from memlab.lesson import chains
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Area, Rect, Rects
from memlab.pictures.recompute import (
    PARTS,
    TIME,
    TRIED,
    Schedules,
    Wave,
    Waves,
    recompute,
    schedules,
    subject,
)
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.recompute.order_memory import cost
from memlab.techniques.recompute.repeated_operations import resequenced
from tests.pictures.shown import charts, send
from tests.pictures.test_pages import FEW, numerals


@cache
def step(name: str) -> Step:
    return memlab.training_step(memlab.zoo.build(name))


def found(name: str, batch: int = 32) -> Schedules:
    return schedules(subject(name), batch)


def compared(wave: Wave, made: Step, batch: int) -> Ledger:
    """A wave against the plan of a step."""
    ledger = memlab.plan(made)
    assert wave.lives.timeline.tolist() == ledger.timeline(batch)
    assert (wave.peak, wave.cost) == (ledger.peak(batch), cost(made.ops, batch))
    assert wave.operation == ledger.peak_at(batch).row.name
    return ledger


@pytest.mark.parametrize(
    ("name", "batch", "ks"),
    [("resnet50", 32, (1, 5, 20)), ("googlenet", 8, (3,))],
)
def test_every_kth_is_the_step_of_recompute(name: str, batch: int, ks: tuple[int, ...]) -> None:
    for k in ks:
        compared(found(name, batch).every[k], memlab.recompute(step(name), "every", k=k), batch)
    compared(found(name, batch).plain, step(name), batch)


@pytest.mark.parametrize("k", [1, 5])
def test_the_parts_are_what_the_plan_has_at_its_peak(k: int) -> None:
    wave, made = found("resnet50").every[k], memlab.recompute(step("resnet50"), "every", k=k)
    ledger = memlab.plan(made)
    at, begin = ledger.peak_at(32).index, _backward(made)
    parts = dict.fromkeys(("floor", "kept", "again", "gradient_map"), 0)
    for entry in ledger.entries:
        if entry.birth <= at <= entry.death:
            parts[_part(entry, begin)] += entry.size.at(32)
    assert {name: wave.parts[name] for name in PARTS[3:]} | {"floor": wave.floor} == parts
    assert sum(parts.values()) == wave.peak
    assert np.sum([*wave.lines.values()], axis=0).tolist() == ledger.timeline(32)


def _backward(made: Step) -> int:
    return next(i for i, op in enumerate(made.ops) if op.phase is Phase.BACKWARD)


def _part(entry: Entry, begin: int) -> str:
    if not entry.size.per_sample:
        return "floor"
    if entry.role is Role.GRADIENT_MAP:
        return "gradient_map"
    return "kept" if entry.birth < begin <= entry.death else "again"


def test_resnet_50_is_least_at_1_and_resnet_200_has_a_u() -> None:
    shallow, deep = found("resnet50"), found("resnet200")
    assert (shallow.best.k, shallow.best.peak) == (1, 1_299_991_780)
    assert shallow.every[shallow.rule].peak == 1_579_240_676
    peaks = [f"{deep.every[k].peak / 1e9:.2f}" for k in range(1, 7)]
    assert peaks == ["3.41", "2.17", "2.05", "2.05", "2.05", "2.27"]
    assert (deep.stages, deep.rule, deep.best.k) == (71, 8, 5)


def test_segments_run_again_one_after_the_other_and_make_their_maps() -> None:
    wave = found("resnet50").every[5]
    assert [each.stages for each in wave.segments] == [(16, 19), (11, 15), (6, 10), (1, 5)]
    ran = [i for each in wave.segments for i in range(each.first, each.last + 1)]
    assert ran == [i for i, again in enumerate(wave.lives.again) if again]
    assert max(each.nbytes for each in wave.segments) <= wave.parts["again"]


# -- the frontier ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "batch"), [("resnet18", 8), ("resnet50", 32)])
def test_a_budget_is_kept_and_no_slower_than_recompute_finds(name: str, batch: int) -> None:
    all_ = found(name, batch)
    assert len(all_.frontier) > 2
    for wave in all_.frontier[:: max(1, len(all_.frontier) // 4)]:
        made = memlab.recompute(step(name), "chain", batch=batch, budget=wave.peak)
        assert all_.within(wave.peak) is wave
        assert memlab.plan(made).peak(batch) <= wave.peak
        assert 0 <= cost(made.ops, batch) - wave.cost < 0.005 * all_.plain.cost
    compared(wave, resequenced(step(name), wave.lives.order.tolist()), batch)


def test_the_frontier_of_resnet_50_is_complete_and_falls() -> None:
    all_ = found("resnet50")
    assert all_.points <= TRIED
    peaks, costs = zip(*(wave.point for wave in all_.frontier), strict=True)
    assert list(peaks) == sorted(set(peaks))
    assert list(costs) == sorted(set(costs), reverse=True)
    assert all_.frontier[-1].point == all_.plain.point
    least, half = all_.frontier[0], all_.within((peaks[0] + all_.plain.peak) // 2)
    made = memlab.recompute(step("resnet50"), "chain", batch=32)
    compared(least, made, 32)
    slower = [100 * (wave.cost / all_.plain.cost - 1) for wave in (half, least)]
    assert [f"{more:.1f}" for more in slower] == ["6.7", "25.1"]


def test_less_than_the_least_is_refused_with_the_least() -> None:
    least = found("resnet18", 8).frontier[0].peak
    with pytest.raises(InputError, match=f"the least takes {least:,} B; try") as error:
        found("resnet18", 8).within(least - 1)
    assert "\n" not in str(error.value)
    assert found("resnet18", 8).within(least).peak == least


# -- in words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "k", "state", "says"),
    [
        ("resnet50", 20, "few", "k is too large: 2.94 GB"),
        ("resnet200", 1, "many", "kept feature maps take 2.69 GB of 3.41 GB"),
        ("resnet200", 5, "best", "The best k: 2.05 GB"),
    ],
)
def test_the_title_is_the_finding(name: str, k: int, state: str, says: str) -> None:
    shown = Waves(found(name), found(name).every[k])
    assert shown.state == state
    assert says in shown.title


@pytest.mark.parametrize(
    ("k", "state"), [(1, "all"), (2, "many"), (10, "best"), (20, "other"), (49, "other")]
)
def test_a_chain_of_equal_layers_saves_nothing_with_k_1(k: int, state: str) -> None:
    every = Schedules(memlab.training_step(chains.alike(100)), 2500)
    shown = Waves(every, every.keeping(k))
    assert shown.state == state
    title = f"k = 1 saves hardly anything here: 10.4 MB, for {every.more(shown.wave)} more time"
    assert (shown.title == title) == (k == 1)


def test_a_k_that_saves_nothing_is_too_large_only_beyond_the_best() -> None:
    every = Schedules(memlab.training_step(chains.alike(100)), 2500)
    assert Waves(every, every.keeping(100)).state == "few"
    assert Waves(every, every.keeping(1)).state != "few"


def test_a_study_has_every_byte_of_every_k() -> None:
    shown = Waves(found("resnet50"), found("resnet50").every[5])
    _, *rows = shown.rows()
    for (k, wave), row in zip(found("resnet50").every.items(), rows, strict=True):
        peak, *parts = (int(cell.replace(",", "")) for cell in row[1:6])
        assert (row[0], peak, sum(parts)) == (str(k), wave.peak, wave.peak)
    assert "Peak 1,579,240,676 B in 2.4.add again, plain 2,942,651,620 B" in shown.text()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (3, "give a network, its name or a step, got 3"),
        ("resnet5", "did you mean"),
        (memlab.in_place(memlab.offload(step("mnist_cnn"))), "offloads and is in place already"),
    ],
)
def test_bad_subjects_get_one_sentence(given: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        subject(given)


def test_a_step_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="without backward keeps nothing"):
        Schedules(memlab.inference_step(memlab.zoo.mnist_cnn()), 4)


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
    assert "2.3 times smaller: 2.94 GB become 1.30 GB" in shown["says"]
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
        ("surprise", "ResNet-50 v1.5", "first", "2.3 times smaller: 2.94 GB"),
        ("break", "ResNet-200 v1.5", "many", "k is too small: kept feature maps take"),
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
    texts = [mark.content for mark in charts(view)[0].marks if isinstance(mark, ChartText)]
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
