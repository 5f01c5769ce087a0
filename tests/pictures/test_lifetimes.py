"""Each block of a small step stands from its first writer to its last reader, in true bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import memlab
from memlab import zoo
from memlab.optimizers import OPTIMIZERS
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Mark, Points, Rect, Rects, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.text import plain
from memlab.pictures.draw.theme import PAINTS, STATISTICS
from memlab.pictures.memory import lifetimes as view
from memlab.pictures.memory.lifetimes import LifetimeTable, fits, lifetimes
from memlab.pictures.values.step_recipe import memory_of
from memlab.step.step import Step
from memlab.step.tensor import Role
from tests.pictures.test_pages import FEW, numerals

ONE = memlab.training_step(zoo.linear1(), "sgd", "fp64")
TINY = memlab.training_step(
    memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error(), "sgd"
)
MAPS = memlab.network("conv", image=(1, 8, 8)).conv(2, 3, pad="same").flatten()
CONV = MAPS.linear(3).cross_entropy()
NAMED = memlab.network("long", features=4).linear(3, name="a_very_long_name_of_one_layer").relu()
LONG = NAMED.linear(2).squared_error()


@cache
def of(name: str, batch: int = 8) -> LifetimeTable:
    steps = {"one": ONE, "tiny": TINY, "inside": memlab.in_place(TINY),
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


@pytest.mark.parametrize("width", [480, 820])
def test_nothing_collides_or_is_cut_off(width: int) -> None:
    for name in PAGES:
        svg = made(name, width).svg()
        assert svg.collisions() == [], name
        assert svg.outside() == [], name
        assert min(label.size for label in svg.labels) >= 11
        assert width < 820 or svg.height <= 480  # on a laptop


@pytest.mark.parametrize("name", ["focus in place", "rmsprop"])
def test_a_first_level_has_few_numerals_all_in_the_text(name: str) -> None:
    now, page = PAGES[name]["now"], made(name)
    assert isinstance(now, LifetimeTable)
    formulas = {op.formula for op in now.operations}  # their digits are no figures
    texts = [label.content for label in page.svg().labels]
    shown = numerals(text for text in texts if text not in formulas)
    assert len(shown) <= FEW
    known = re.sub(r"[^\d.,]", " ", page.text()).split()
    symbols = {"0", "1", "2"}  # of max(h, 0), of 1 − y², and of 2 (y − t)
    assert {each.strip(".,") for each in shown} - symbols <= {each.strip(".,") for each in known}


@pytest.mark.parametrize("name", ["in place", "adam", "a workspace in the first operation"])
def test_bars_and_piles_have_one_scale(name: str) -> None:
    """A byte is as high in each of them; what would be too thin to see is drawn all the same."""
    page, now = made(name), PAGES[name]["now"]
    assert isinstance(now, LifetimeTable)
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
    texts = [m for m in marks(made("start")) if isinstance(m, ChartText) and m.x == 3.5]
    sizes = [text for mark in texts if re.fullmatch(r"\d+ B", text := plain(mark.content))]
    assert sorted(sizes) == ["56 B", *["8 B"] * 7]


@pytest.mark.parametrize(("name", "width"), [("tiny", 600), ("another operation", 936)])
def test_no_name_stands_in_the_frame(name: str, width: int) -> None:
    """There it would count as alive."""
    page, now = made(name, width), PAGES[name]["now"]
    assert isinstance(now, LifetimeTable)
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


INSIDE = memlab.in_place(TINY)


def found(step: Step, batch: int = 8) -> LifetimeTable:
    return lifetimes(memory_of(step), batch)


@pytest.mark.parametrize("step", [INSIDE, memlab.recompute(TINY, "every", k=1)])
def test_blocks_add_up_to_the_plan_inside_every_operation(step: Step) -> None:
    lives, plan = found(step, 33), memlab.plan(step)
    sums = [sum(block.nbytes for block in lives.alive(at)) for at in range(len(plan.rows))]
    assert sums == plan.timeline(33) == [op.nbytes for op in lives.operations]
    assert (lives.most, lives.peak) == (plan.peak(33), plan.peak_at(33).index)


@pytest.mark.parametrize("step", [INSIDE, ONE.keep("gradients")])
def test_readers_and_writers_are_those_of_the_step(step: Step) -> None:
    lives = found(step)
    storages = {
        tensor.name: tensor.storage.name
        for op in step.ops
        for tensor in (*op.touched(), *op.workspace.values())
    }
    for block in lives.blocks:
        mine = storages[block.name]
        for at, op in enumerate(step.ops):
            made = (*op.writes.values(), *op.updates.values(), *op.workspace.values())
            read = (*op.reads.values(), *op.updates.values())
            assert (at in block.writes) == any(each.storage.name == mine for each in made)
            assert (at in block.reads) == any(each.storage.name == mine for each in read)


def test_the_single_layer_block_by_block() -> None:
    lives = found(ONE, 1)
    assert [(b.symbol, b.birth, b.death) for b in lives.blocks] == [
        ("w1", -1, 7), ("w2", -1, 7), ("x", -1, 5), ("t", -1, 3), ("h", 0, 1), ("y", 1, 4),
        ("E", 2, 7), ("dE/dy", 3, 4), ("dE/dh", 4, 5), ("dE/dw1", 5, 6), ("dE/dw2", 5, 6),
    ]  # fmt: skip
    assert [op.head for op in lives.operations] == ["h", "y", "E", "dE/dy", "dE/dh", "dE/dw", "w"]
    assert lives.operations[3].formula == "2 (y − t) / B"
    assert {b.nbytes for b in lives.blocks} == {8}
    assert (lives.most, len(lives.alive(lives.peak))) == (56, 7)
    assert found(ONE, 8).most == 280 == 3 * 8 + 8 * 4 * 8


def test_in_place_a_block_has_another_tensor_later() -> None:
    plain, inside = found(TINY), found(INSIDE)
    assert (plain.most, inside.most) == (628, 564)
    assert [block.symbol for block in inside.gone(plain)] == ["relu1", "dE/dfc1"]
    block = inside.block("fc1")
    assert block
    assert [(each.operation, each.symbol) for each in block.followers] == [(1, "relu1")]
    assert block.touches == [0, 1, 2, 5, 6]
    assert inside.gone(inside) == plain.gone(plain) == []


def test_what_is_gone_without_a_host_is_not_in_place() -> None:
    sgd, momentum = (
        found(memlab.training_step(zoo.linear1(), name)) for name in ("sgd", "momentum")
    )
    assert sgd.alike(momentum)
    assert sgd.gone(momentum) == []
    assert sgd.finding(momentum, sgd.peak, None)[0].startswith("The peak was")


def test_a_title_counts_the_blocks_that_the_operation_needs() -> None:
    x = memlab.network("deep", features=4)
    for _ in range(3):
        x = x.linear(4).relu()
    step = memlab.training_step(x.linear(2).squared_error(), "sgd")
    lives, op = found(step), step.ops[memlab.plan(step).peak_at(8).index]
    needed = {tensor.name for tensor in (*op.reads.values(), *op.writes.values())}
    largest = [block for block in lives.alive(lives.peak) if block.nbytes == 8 * 4 * 4]
    count = sum(block.name in needed for block in largest)
    assert 1 < count < len(largest)
    assert f"needs *{count} blocks of 128 B*" in lives.finding(None, lives.peak, None)[0]


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_states_are_called_as_in_the_formula_of_the_update(name: str) -> None:
    lives = found(memlab.training_step(zoo.linear1(), name), 1)
    states = [each.symbol for each in lives.blocks if each.role is Role.OPTIMIZER_STATE]
    letters = [letter for letter in "msv" if letter in lives.operations[-1].formula]
    assert states == [f"{letter}({of})" for of in ("w1", "w2") for letter in letters]
    assert len(letters) == len(OPTIMIZERS[name].states)


TITLES: dict[str, tuple[Callable[[], tuple[LifetimeTable, LifetimeTable | None]], str]] = {
    "alike": (lambda: (found(ONE, 1), None), "7 blocks are alive at once: *the peak, 56 B*"),
    "largest": (
        lambda: (found(TINY), None),
        "Backward of relu1 needs *3 blocks of 128 B* at once: the peak, 628 B",
    ),
    "batch": (
        lambda: (found(ONE, 8), found(ONE, 1)),
        "8 times the batch, *5 times the peak:* 56 B, now 280 B",
    ),
    "smaller": (
        lambda: (found(ONE, 1), found(ONE, 8)),
        "The peak is *5 times smaller:* 280 B, now 56 B",
    ),
    "in place": (
        lambda: (found(INSIDE), found(TINY)),
        "In place: 628 B, *now 564 B.* The peak has moved",
    ),
    "in place, the peak stays": (
        lambda: (found(memlab.in_place(ONE), 1), found(ONE, 1)),
        "In place, and *the peak stays at 56 B*",
    ),
    "back": (
        lambda: (found(TINY), found(INSIDE)),
        "Not in place: 564 B, *now 628 B*",
    ),
    "format": (
        lambda: (found(memlab.training_step(zoo.linear1(), "sgd"), 1), found(ONE, 1)),
        "The peak was 56 B, *now 28 B*",
    ),
    "the same peak": (
        lambda: (found(ONE.keep("gradients"), 1), found(ONE, 1)),
        "The peak stays at *56 B*",
    ),
}


def test_a_title_is_what_the_bytes_say() -> None:
    for make, title in TITLES.values():
        now, before = make()
        assert now.finding(before, now.peak, None)[0] == title


def test_a_sentence_says_what_grows_and_what_went() -> None:
    now = found(ONE, 8)
    _, said = now.finding(found(ONE, 1), now.peak, None)
    assert said == "x, t, y and dE/dy are larger; w1, w2 and E stay as they are."
    _, said = found(ONE, 1).finding(now, 3, None)
    assert said == "x, t, y and dE/dy are smaller; w1, w2 and E stay as they are."
    _, said = found(memlab.training_step(zoo.linear1(), "sgd"), 1).finding(found(ONE, 1), 3, None)
    assert said == "Each block of the peak is smaller than before."
    inside = found(INSIDE)
    _, said = inside.finding(found(TINY), inside.peak, None)
    assert said.startswith("2 blocks of 128 B are gone, and the peak is only 64 B lower")
    net = memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error()
    inference = found(memlab.inference_step(net))
    _, said = inference.finding(found(TINY), inference.peak, None)
    assert said == "The step now has 3 operations instead of 10."  # and nothing is dashed


WHY = {
    "input": "x must stay: dE/dw multiplies by x. h needs it. Then it waits for 4 ",
    "h": "h is freed after y: no operation reads it again.",
    "y": "y must stay: the slope in dE/dh is 1 − y². It never waits",
    "target": "t must stay: dE/dy reads it. It is there from the start, and waits for 2 ",
    "h.bias": "w2 must stay: the update changes it, and the next step reads it.",
    "loss": "E stays: it is the result of the step.",
}


def test_a_block_says_why_it_must_stay() -> None:
    assert all(found(ONE).says(0, name).startswith(why) for name, why in WHY.items())


def test_the_text_has_every_block_and_every_sum() -> None:
    text = view.page(found(INSIDE)).text()
    assert "Peak 564 B in operation 6 of 10, backward of fc2: 11 blocks are alive." in text
    assert "fc1 → relu1" in text
    assert "changed by relu1, fc2, backward of fc2, backward of relu1" in text
    for nbytes in memlab.plan(INSIDE).timeline(8):
        assert f" {nbytes:,}" in text


def test_a_ledger_alone_knows_the_maker_and_the_last_reader() -> None:
    lives = lifetimes(memory_of(memlab.plan(ONE)), 1)
    block = lives.block("y")
    assert block
    assert (block.writes, block.reads) == ((1,), (4,))
    assert lives.operations[3].head == "loss"


def test_what_is_too_large_does_not_fit() -> None:
    assert all(fits(memory_of(step)) for step in (ONE, TINY))
    assert not fits(memory_of(memlab.training_step(zoo.mnist_cnn())))
    assert not fits(memory_of(memlab.precision(TINY, "mixed fp16")))


def test_a_bad_batch_gets_one_sentence() -> None:
    with pytest.raises(memlab.InputError, match="batch must be at least 1, got 0"):
        found(ONE, 0)
