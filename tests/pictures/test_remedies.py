"""The ways out: every row is what its line of code makes, a refused one says why, and the bars."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import memlab
from memlab import hardware, views
from memlab.clocks.roofline import machine
from memlab.errors import InputError
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Line, Rect
from memlab.pictures.remedies import searches
from memlab.pictures.remedies.remedies import remedies
from tests.pictures.shown import charts, drawn

VGG = "vgg16", 256
CARD = 12_000_000_000


@pytest.fixture(scope="module")
def vgg() -> Any:
    return remedies(*VGG, budget="12 GB", link="12 GB/s")


@pytest.fixture(scope="module")
def resnet() -> Any:
    return remedies("resnet50", 256, budget="12 GB", link="12 GB/s")


@pytest.mark.parametrize("which", ["vgg", "resnet"])
def test_every_row_is_the_step_of_its_line_and_the_clock(
    which: str, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(which)
    known: dict[str, Any] = {"memlab": memlab, "rows": found}
    exec(found.plain.call, known)
    card = found.device
    plain = memlab.clock(known["step"], 256, card).seconds
    for row in found:
        if row.refused or ".fit(" in row.call or row is found.plain:
            continue
        step = eval(row.call, known)
        assert memlab.plan(step).peak(row.batch) == row.peak == sum(row.roles.values()), row.key
        assert memlab.plan(step).peak(row.batch, "host") == row.host
        seconds = memlab.clock(step, row.batch, card, found.link).seconds
        assert seconds == pytest.approx(row.seconds)
        assert row.extra == pytest.approx(seconds / plain - 1)


def test_the_smaller_batch_is_the_largest_that_fits(vgg: Any, resnet: Any) -> None:
    for found, batch in ((vgg, 174), (resnet, 140)):
        row = found["smaller_batch"]
        ledger = memlab.plan(row.step)
        assert row.batch == batch
        assert ledger.peak(batch) == row.peak <= CARD < ledger.peak(batch + 1)


def test_what_trains_on_a_card_of_12_gb(vgg: Any, resnet: Any) -> None:
    for found in (vgg, resnet):
        trains = {row.key for row in found if row.trains}
        assert trains >= {"larger_card", "accumulation", "smaller_batch", "recompute", "offload",
                          "precision", "leaner"}  # fmt: skip
        assert not found.plain.trains
        assert not found["in_place"].trains
        assert found["larger_card"].limit == 24 * 10**9
        assert found["larger_card"].peak > found.budget
        assert found["recompute"].extra < found["offload"].extra
    assert (resnet["chip"].batch, vgg["chip"].refused) == (9, True)
    assert "not enough for one image" in vgg["chip"].error


def test_the_order_depends_on_the_card_and_the_link(vgg: Any) -> None:
    last = [key for key in vgg.sorted() if vgg[key].trains][-1]
    slow: Any = remedies(*VGG, budget="12 GB", link="3 GB/s")
    assert last == "precision"
    assert [key for key in slow.sorted() if slow[key].trains][-1] == "offload"
    fast: Any = remedies(*VGG, device="v100", budget="12 GB")
    assert fast["precision"].extra < vgg["precision"].extra
    assert "a rate of its own for fp16" in fast.text()
    assert vgg.sorted("peak")[0] == "accumulation"


def test_parts_that_were_not_built_take_what_they_would() -> None:
    found: Any = remedies("mnist_cnn", 256, budget="75 MB")
    row = found["accumulation"]
    parts = 256 // row.batch
    assert parts > 3
    step = memlab.accumulate(memlab.in_place(found.plain.step), parts)
    assert memlab.plan(step).peak(row.batch) == row.peak
    assert memlab.clock(step, row.batch, found.device).seconds == pytest.approx(row.seconds)
    assert memlab.plan(step).peak(2 * row.batch) > found.budget


def test_a_card_that_holds_it_needs_no_way_out() -> None:
    found: Any = remedies("vgg16", 64, budget="12 GB")
    assert found.title == "The plain step fits the card"
    assert {found[key].extra for key in ("smaller_batch", "recompute", "offload")} == {0.0}
    assert found["smaller_batch"].batch == 64


def test_a_refused_way_says_why() -> None:
    found: Any = remedies("vgg16", 256, budget="1 GB")
    refused = {row.key: row.error for row in found if row.refused}
    assert {"accumulation", "smaller_batch", "recompute", "offload"} <= refused.keys()
    assert "Not even batch 1" in refused["smaller_batch"]
    assert found.title == "One of seven ways fits the card"
    one = remedies("linear1", 1, budget="1 GB")
    assert "has no parts" in one["accumulation"].error
    assert "keeps fewer bytes" in one["leaner"].error


BAD: list[tuple[dict[str, Any], str]] = [
    ({"network": 5}, "give a network"),
    ({"batch": 0}, "at least 1"),
    ({"device": "12 GB card"}, "no source gives"),
    ({"device": "recorded"}, "how much memory"),
    ({"link": "0 GB/s"}, "nothing moves"),
    ({"link": 0}, "nothing moves"),
    ({"optimizer": []}, "optimizer"),
]


@pytest.mark.parametrize(("given", "said"), BAD)
def test_what_nothing_can_be_planned_for_is_a_sentence(given: dict[str, Any], said: str) -> None:
    usual: dict[str, Any] = {"network": "linear1", "batch": 8}
    with pytest.raises(InputError, match=said):
        remedies(**(usual | given))


def test_a_cover_is_the_cheapest_of_all() -> None:
    items = [searches.Map(str(n), nbytes, float(cost)) for n, (nbytes, cost) in
             enumerate([(700, 9), (500, 4), (300, 3), (200, 1), (100, 5)])]  # fmt: skip
    assert searches.cover(items, 1000) == ("1", "2", "3")
    assert searches.cover(items, 100) == ("3",)
    assert searches.cover(items, 1801) is None


def test_no_map_fewer_would_do() -> None:
    step = memlab.training_step(memlab.zoo.vgg16(), "sgd", algorithm="implicit-gemm")
    names = searches.dropped(step, 256, CARD, machine("titan x"))
    for name in names:
        fewer = [each for each in names if each != name]
        again = memlab.in_place(memlab.recompute(step, "drop", layers=fewer))
        assert memlab.plan(again).peak(256) > CARD
    assert hardware.find("titan x").link is None


def names(view: Any) -> list[str]:
    """Of the rows from top to bottom."""
    marks = [each for each in charts(view)[0].marks if isinstance(each, ChartText)]
    known = {row.name for row in view.rows}
    return [str(each.content) for each in marks if each.content in known]


def test_the_line_bulges_in_the_row_of_the_larger_card_alone() -> None:
    view: Any = views.remedies()
    line = next(each for each in charts(view)[0].marks if isinstance(each, Line))
    at = names(view).index("larger card")
    out = [(x, y) for x, y in line.points if x != view.budget]
    assert {x for x, _ in out} == {view.rows["larger_card"].limit}
    assert all(at < y < at + 1 for _, y in out)
    assert "12,000,000,000 B" in str(line.fact)
    assert "11.176 GiB" in str(line.fact)


def test_a_bar_is_as_long_as_its_peak_and_what_is_beyond_the_line_is_framed() -> None:
    view: Any = views.remedies()
    bars = [each for each in charts(view)[0].marks if isinstance(each, Rect)]
    for at, name in enumerate(names(view)):
        row = next(each for each in view.rows if each.name == name)
        here = [each for each in bars if at < each.y0 < each.y1 < at + 1 and each.look != "rule"]
        assert any(one.x1 == other.x0 for one, other in pairwise(here))
        assert row.peak in {each.x1 for each in here}
        framed = [each for each in here if each.look == "rule chosen"]
        assert bool(framed) is not row.trains
        assert all((each.x0, each.x1) == (row.limit, row.peak) for each in framed)
        moved = [each for each in here if each.x1 - each.x0 == row.host and row.host]
        assert all(each.x0 > view.budget for each in moved)
        assert bool(moved) is bool(row.host)


def test_rows_keep_their_order_while_the_batch_is_dragged() -> None:
    view: Any = views.remedies(batch=128)
    before = names(view)
    view.on_event("batch", 8, True)
    assert names(view) == before
    view.on_event("batch", 8, False)
    assert names(view) != before
    assert names(view)[-1] == "in place alone"


def test_the_order_moves_with_the_link() -> None:
    view: Any = views.remedies()
    assert names(view).index("precision") > names(view).index("offload")
    view.on_event("break", None, False)
    assert names(view).index("precision") < names(view).index("offload")


def test_keys_walk_the_rows_and_sort_them() -> None:
    view: Any = views.remedies()
    for key, chosen in (
        ("ArrowDown", "plain"), ("ArrowDown", "larger_card"), ("Digit5", "recompute"),
        ("ArrowUp", "smaller_batch"), ("Digit8", "in_place"), ("ArrowDown", "in_place"),
    ):  # fmt: skip
        view.on_event("key", key, False)
        assert view.chosen == chosen
    assert "memlab.in_place(step)" in " ".join(drawn(view))
    assert view.draw(False).fact == "choose:in_place"
    view.on_event("key", "KeyS", False)
    assert (view.sort, names(view)[1]) == ("peak", "accumulation")
    view.on_event("key", "Escape", False)
    assert view.chosen == ""
    view.on_event("choose", "offload", False)
    assert view.chosen == "offload"
    view.on_event("choose", "chip", False)
    assert view.chosen == "offload"


def test_its_code_makes_it_again() -> None:
    view: Any = views.remedies("alexnet", 512, budget="1234567890", link="6 GB/s", sort="peak")
    assert eval(view.code(), {"memlab": memlab}).text() == view.text()
    assert "budget='12 GB'" in views.remedies().code()
