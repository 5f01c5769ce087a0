"""The view of the ways out: the line of the card, the order of the rows, keys and settings."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import memlab
from memlab import views
from memlab.pictures.draw.labels import Text
from memlab.pictures.draw.marks import Line, Rect
from tests.pictures.shown import charts, drawn


def names(view: Any) -> list[str]:
    """Of the rows from top to bottom."""
    marks = [each for each in charts(view)[0].marks if isinstance(each, Text)]
    known = {row.name for row in view.rows}
    return [str(each.content) for each in marks if each.content in known]


def test_the_line_bulges_in_the_row_of_the_larger_card_alone() -> None:
    view: Any = views.ways()
    line = next(each for each in charts(view)[0].marks if isinstance(each, Line))
    at = names(view).index("larger card")
    out = [(x, y) for x, y in line.points if x != view.budget]
    assert {x for x, _ in out} == {view.rows["larger_card"].limit}
    assert all(at < y < at + 1 for _, y in out)
    assert "12,000,000,000 B" in str(line.fact)
    assert "11.176 GiB" in str(line.fact)


def test_a_bar_is_as_long_as_its_peak_and_what_is_beyond_the_line_is_framed() -> None:
    view: Any = views.ways()
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
    view: Any = views.ways(batch=128)
    before = names(view)
    view.act("batch", 8, True)
    assert names(view) == before
    view.act("batch", 8, False)
    assert names(view) != before
    assert names(view)[-1] == "in place alone"


def test_the_order_moves_with_the_link() -> None:
    view: Any = views.ways()
    assert names(view).index("precision") > names(view).index("offload")
    view.act("break", None, False)
    assert names(view).index("precision") < names(view).index("offload")


def test_keys_walk_the_rows_and_sort_them() -> None:
    view: Any = views.ways()
    for key, chosen in (
        ("ArrowDown", "plain"), ("ArrowDown", "larger_card"), ("Digit5", "recompute"),
        ("ArrowUp", "smaller_batch"), ("Digit8", "in_place"), ("ArrowDown", "in_place"),
    ):  # fmt: skip
        view.act("key", key, False)
        assert view.chosen == chosen
    assert "memlab.in_place(step)" in " ".join(drawn(view))
    assert view.draw(False).fact == "choose:in_place"
    view.act("key", "KeyS", False)
    assert (view.sort, names(view)[1]) == ("peak", "accumulation")
    view.act("key", "Escape", False)
    assert view.chosen == ""
    view.act("choose", "offload", False)
    assert view.chosen == "offload"
    view.act("choose", "chip", False)
    assert view.chosen == "offload"


def test_its_code_makes_it_again() -> None:
    view: Any = views.ways("alexnet", 512, budget="1234567890", link="6 GB/s", sort="peak")
    assert eval(view.code(), {"memlab": memlab}).text() == view.text()
    assert "budget='12 GB'" in views.ways().code()
