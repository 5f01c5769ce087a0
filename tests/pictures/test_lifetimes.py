"""Bars and piles are as high as their bytes; what stands in the frame is a sum that can be read."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

import memlab
from memlab import zoo
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import Text
from memlab.pictures.draw.marks import Mark, Points, Rect, Rects, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.text import plain
from memlab.pictures.draw.theme import PAINTS, STATISTICS
from memlab.pictures.memory import lifetimes as view
from memlab.pictures.memory.lifetimes_values import Lifetimes, lifetimes
from memlab.pictures.values.recipe import memory_of
from memlab.step.tensor import Role
from tests.pictures.test_pages import FEW, numerals

SINGLE = memlab.training_step(zoo.linear1(), "sgd", "fp64")
TINY = memlab.training_step(
    memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error(), "sgd"
)
MAPS = memlab.network("conv", image=(1, 8, 8)).conv(2, 3, pad="same").flatten()
CONV = MAPS.linear(3).cross_entropy()
NAMED = memlab.network("long", features=4).linear(3, name="a_very_long_name_of_one_layer").relu()
LONG = NAMED.linear(2).squared_error()


@cache
def of(name: str, batch: int = 8) -> Lifetimes:
    steps = {"one": SINGLE, "tiny": TINY, "inside": memlab.in_place(TINY),
             "rmsprop": memlab.training_step(zoo.linear1(), "rmsprop", "fp64"),
             "adam": memlab.training_step(zoo.linear1(features=5, outputs=3), "adam"),
             "inference": memlab.inference_step(zoo.linear1()),
             "conv": memlab.training_step(CONV), "long": memlab.inference_step(LONG),
             "again": memlab.recompute(TINY, "every", k=1)}  # fmt: skip
    return lifetimes(memory_of(steps[name]), batch)


PAGES: dict[str, dict[str, Any]] = {
    "start": {"now": of("one", 1)},
    "batch 8": {"now": of("one"), "before": of("one", 1)},
    "back to 1": {"now": of("one", 1), "before": of("one")},
    "batch 6": {"now": of("one", 6), "before": of("one")},
    "focus": {"now": of("one", 1), "focus": "input"},
    "tiny": {"now": of("tiny")},
    "in place": {"now": of("inside"), "before": of("tiny")},
    "not in place": {"now": of("tiny"), "before": of("inside"), "numbers": True},
    "focus in place": {"now": of("inside"), "before": of("tiny"), "focus": "fc1"},
    "another operation": {"now": of("tiny"), "at": 1},
    "the last operation": {"now": of("tiny"), "at": 9, "numbers": True},
    "another step": {"now": of("inside"), "before": of("one")},
    "rmsprop": {"now": of("rmsprop"), "at": 6},
    "adam": {"now": of("adam", 1000), "numbers": True},
    "inference": {"now": of("inference", 1)},
    "again": {"now": of("again", 64)},
    "a workspace in the first operation": {"now": of("conv")},
    "a long name": {"now": of("long")},
    "a ledger": {"now": lifetimes(memory_of(memlab.plan(TINY)), 8)},
}


def made(name: str, width: float = 936) -> Page:
    return view.page(**PAGES[name], width=width)


def chart(page: Page) -> Chart:
    return next(block for block in page.blocks if isinstance(block, Chart))


def marks(page: Page) -> list[Mark]:
    found: list[Mark] = []
    for mark in chart(page).marks:
        found += mark.marks if isinstance(mark, view.Faint) else [mark]
    return found


@pytest.mark.parametrize("width", [480, 500, 820, 960, 1200])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_collides_or_is_cut_off(name: str, width: int) -> None:
    svg = made(name, width).svg()
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_stands_on_a_laptop(name: str) -> None:
    assert all(made(name, width).svg().height <= 480 for width in (820, 936))


@pytest.mark.parametrize("name", [name for name in PAGES if "numbers" not in PAGES[name]])
def test_a_first_level_has_few_numerals(name: str) -> None:
    now = PAGES[name]["now"]
    assert isinstance(now, Lifetimes)
    formulas = {op.formula for op in now.operations}  # their digits are no figures
    texts = [label.content for label in made(name).svg().labels]
    assert len(numerals(text for text in texts if text not in formulas)) <= FEW


@pytest.mark.parametrize("name", PAGES)
def test_every_numeral_is_in_the_text(name: str) -> None:
    known = re.sub(r"[^\d.,]", " ", made(name).text()).split()
    shown = numerals(label.content for label in made(name).svg().labels)
    formulas = {"0", "1", "2"}  # of max(h, 0), of 1 − y², and of 2 (y − t)
    assert {each.strip(".,") for each in shown} - formulas <= {each.strip(".,") for each in known}


@pytest.mark.parametrize("name", PAGES)
def test_bars_and_piles_have_one_scale(name: str) -> None:
    """A byte is as high in each of them; what would be too thin to see is drawn all the same."""
    page, now = made(name), PAGES[name]["now"]
    assert isinstance(now, Lifetimes)
    paints = {*PAINTS.values(), STATISTICS}
    bars = [mark for mark in marks(page) if isinstance(mark, Rect) and mark.look in paints]
    assert len(bars) == len(now.blocks)
    most = max(zip(bars, now.blocks, strict=True), key=lambda pair: pair[1].nbytes)
    scale = (most[0].y1 - most[0].y0) / most[1].nbytes
    for bar, block in zip(bars, now.blocks, strict=True):
        assert bar.y1 - bar.y0 == pytest.approx(max(scale * block.nbytes, view.LEAST))
        assert (bar.x0 <= 0) == (block.birth <= 0)
        if block.birth >= 0 and block.death < len(now.operations):
            assert (bar.x0, bar.x1) == (block.birth, block.death + 1)
    bricks = [place for mark in marks(page) if isinstance(mark, Rects) for place in mark.places]
    for at, op in enumerate(now.operations):
        mine = [y1 - y0 for x0, _, y0, y1 in bricks if int(x0) == at]
        assert len(mine) == len(now.alive(at))
        assert sum(mine) == pytest.approx(scale * op.nbytes)


def test_beads_say_who_writes_and_who_reads() -> None:
    page, now = made("in place"), of("inside")
    points = [mark for mark in marks(page) if isinstance(mark, Points)]
    heads = [block for block in now.blocks for _ in block.touches]
    for mark, block in zip(points, heads, strict=True):
        ((x, _),) = mark.points
        assert (mark.look == "dot") == (int(x) in block.writes)


def test_the_frame_holds_the_bytes_of_its_blocks_and_their_sum() -> None:
    texts = [m for m in marks(made("start")) if isinstance(m, Text) and m.x == 3.5]
    sizes = [text for mark in texts if re.fullmatch(r"\d+ B", text := plain(mark.content))]
    assert sorted(sizes) == ["56 B", *["8 B"] * 7]


@pytest.mark.parametrize("width", [600, 820, 936])
@pytest.mark.parametrize("name", PAGES)
def test_no_name_stands_in_the_frame(name: str, width: int) -> None:
    """There it would count as alive."""
    page, now = made(name, width), PAGES[name]["now"]
    assert isinstance(now, Lifetimes)
    at = PAGES[name].get("at", now.peak)
    drawn = chart(page)
    box = drawn.frame(0, 0, width)
    left, right = (box.left + (box.right - box.left) * drawn.x.at(x) for x in (at, at + 1))
    names = {block.symbol for block in now.blocks if block.death < len(now.operations)}
    for label in page.svg().labels:
        if label.chart and label.size == 12 and label.content.split(" ")[-1] in names:
            assert label.box.right < left + 1 or label.box.left > right - 1


def test_before_is_dashed_where_it_was_another_level() -> None:
    page = made("batch 8")
    dashed = [m for m in marks(page) if isinstance(m, Rule) and m.look == "before"]
    grown = [block for block in of("one").blocks if block.nbytes != 8]
    assert len(dashed) == len(grown) + 6  # the update has the same bytes at any batch
    assert not [m for m in marks(made("start")) if getattr(m, "look", "") == "before"]
    ghosts = [m for m in marks(made("in place")) if isinstance(m, Rect) and m.look == "before"]
    assert [(ghost.x0, ghost.x1) for ghost in ghosts] == [(1, 7), (6, 8)]


def test_a_focus_leaves_its_own_bar_and_bricks_in_full_colour() -> None:
    full = [mark for mark in chart(made("focus")).marks if not isinstance(mark, view.Faint)]
    painted = [mark for mark in full if getattr(mark, "look", None) in PAINTS.values()]
    assert {getattr(mark, "look", None) for mark in painted} == {PAINTS[Role.INPUT]}
    assert [len(mark.places) for mark in painted if isinstance(mark, Rects)] == [6]


def test_a_press_on_a_bar_sends_its_block_and_one_below_it_the_operation() -> None:
    picture = made("tiny").render()
    assert re.findall(r'data-value="(block:[^"]+)"', picture) == [
        f"block:{name}" for name in view.blocks(of("tiny"))
    ]
    assert picture.count('data-send="operation" data-steps="10"') == 2


def test_a_mark_says_name_bytes_maker_and_last_reader() -> None:
    picture = made("tiny").render()
    assert (
        "dE/dw2 (gradient of fc2.weight): 2·4·4 B = 32 B; made by backward of fc2; last" in picture
    )


def test_a_figure_has_the_bars(tmp_path: object) -> None:
    pytest.importorskip("matplotlib")
    figure = made("in place").figure()
    assert len(figure.axes[1].patches) > 17
