"""Cache of keys and values: figures of the model, and lines that pass the parameters."""

from __future__ import annotations

from typing import Any

import pytest

from memlab import views
from memlab.errors import InputError
from memlab.networks.language_models import MODELS, find
from memlab.pictures.cache import TEXTS, TextCache
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.marks import Line, OpenEdge, Points, Rect
from memlab.pictures.draw.table import Below, SideBySide
from tests.pictures.shown import charts, drawn, send
from tests.rows import every_row


def lines(view: Any) -> list[Line]:
    """The lines of the caches, from one text up."""
    return [mark for mark in charts(view)[0].marks if isinstance(mark, Line) and mark.look == 2]


def test_lines_and_dots_stand_where_the_cache_passes_the_parameters() -> None:
    view = views.cache("gpt2")
    model = find("gpt2")
    for count, line in zip(TEXTS, lines(view), strict=True):
        assert line.points == [(n, count * n * model.cache_per_token()) for n in (128, 16_384)]
    dots = [mark for mark in charts(view)[0].marks if isinstance(mark, Points)]
    assert [dot.points[0] for dot in dots] == [(n, 497_759_232) for n in (6752, 1688, 422)]
    assert {"422", "1,688", "6,752"} <= {*drawn(view)}


def test_grouped_heads_shift_the_lines_and_leave_the_axes() -> None:
    view = views.cache("gpt2")
    before = charts(view)[0]
    view.kv_heads = 4
    after = charts(view)[0]
    assert (before.x, before.y) == (after.x, after.y)
    title = "Three heads share one key and value: a third of the cache, nearly three times the text"
    assert view.page().title == title
    assert len(after.previous) == 3
    assert {"1,170", "4,679"} <= {*drawn(view)}
    assert "One text: passes the parameters beyond this axis" in view.text()
    view.kv_heads = 1
    assert view.page().title.startswith("All heads share one key and value: a quarter of the cache")
    view.kv_heads = 12
    assert view.page().title == "More keys and values: twelve times the cache"


@every_row("name", MODELS)
def test_each_model_begins_with_its_own_heads_and_fits_its_axes(name: str) -> None:
    view = views.cache(name)
    assert (view.kv_heads, view.per_token) == (find(name).kv_heads, find(name).cache_per_token())
    chart = charts(view)[0]
    for heads in (view.kv_heads, find(name).heads):
        view.kv_heads = heads
        points = [point for line in lines(view) for point in line.points]
        assert all(chart.y.first <= y <= chart.y.last for _, y in points)
        assert chart.y.first <= view.rows.parameters <= chart.y.last


def test_both_are_in_one_format() -> None:
    view = views.cache("llama3_8b", format="bf16")
    assert view.per_token == 131_072
    assert view.rows.parameters == 2 * 8_030_261_248
    view.format = "fp32"
    assert (view.per_token, view.rows.passes(1)) == (262_144, 122_533)
    view.network = "gpt2"
    assert view.kv_heads == 12


def bars(view: Any) -> Chart:
    """The chart of the bars beside the lines."""
    beside = next(block for block in view.page().blocks if isinstance(block, SideBySide))
    below = beside.parts[1][0]
    assert isinstance(below, Below)
    chart = below.blocks[0]
    assert isinstance(chart, Chart)
    return chart


def test_bars_keep_their_scale_and_are_torn_beyond_it() -> None:
    view = views.cache("gpt2")
    before = bars(view)
    ends = [mark.x1 for mark in before.marks if isinstance(mark, Rect)]
    assert ends == [497_759_232, 75_497_472, 301_989_888, 1_207_959_552]
    assert not [mark for mark in before.marks if isinstance(mark, OpenEdge)]
    view.length = 16_384
    after = bars(view)
    assert after.x == before.x
    assert max(mark.x1 for mark in after.marks if isinstance(mark, Rect)) == before.x.last
    assert len([mark for mark in after.marks if isinstance(mark, OpenEdge)]) == 2
    assert "19.3 GB" in view.text()


def test_what_is_asked_is_not_shown() -> None:
    view = views.cache("gpt2", asked=True)
    shown = view.text() + view.svg() + view.test_state(view.state)
    assert view.text().startswith("At which length does the cache of one text")
    assert not [n for n in ("6,752", "6752", "1,688", "422") if n in shown]
    assert all(line.points[-1][0] == view.length for line in lines(view))


def test_keys() -> None:
    view = views.cache("gpt2")
    send(view, ("key", "PageUp"), ("key", "KeyG"), ("key", "KeyG"))
    assert (view.length, view.kv_heads) == (2048, 4)
    assert "cache, one text: 50,331,648 B" in send(view, ("key", "ArrowDown"))["says"]
    assert send(view, ("key", "ArrowDown"))["fact"] == "choose:4"
    send(view, ("key", "ArrowUp"), ("key", "ArrowUp"))
    assert view.state.chosen == "1"
    send(view, ("choose", "1"), ("choose", "5"))
    assert view.state.chosen == ""


def test_tables_have_the_exact_figures() -> None:
    study = TextCache(find("gpt2"), 1024, "fp32")
    assert study.rows()[1:] == [
        ["1", "73,728", "75,497,472", "6,752"],
        ["4", "294,912", "301,989,888", "1,688"],
        ["16", "1,179,648", "1,207,959,552", "422"],
    ]
    cards = {card: int(count.replace(",", "")) for card, count in study.batches()[1:]}
    assert cards["24 GB card"] == (24 * 10**9 - study.parameters) // study.cache(1)
    assert study.formula in views.cache("gpt2").text()


@pytest.mark.parametrize(
    ("given", "said"),
    [({"network": "gpt3"}, "unknown network 'gpt3'"), ({"kv_heads": 5}, "kv_heads"),
     ({"length": 10**6}, "length"), ({"format": "fp3"}, "format")],
)  # fmt: skip
def test_what_cannot_be_shown_is_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        views.cache(**given)
