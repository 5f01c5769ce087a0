"""Pictures under the answers of lessons 07 and 08: they show the answer, on any numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pytest

from memlab.course.reveals import picture_of
from memlab.lesson.card_question import Attempt, Purpose, topics
from memlab.pictures.memory.view import is_small
from memlab.strings import get
from tests.pictures.shown import drawn

WIDE = 850
"""Pixels beside a finding."""
NAMES = [name for name, topic in topics().items()
         if name[:2] in ("07", "08") and topic.part is Purpose.PREDICT
         and not name.endswith(".case")]  # fmt: skip
pytestmark = pytest.mark.measures  # some truths run a step


def turns(name: str, more: int = 3) -> Iterator[Attempt]:
    """The question on its first numbers and on drawn ones, revealed after a guess."""
    topic, chance = topics()[name], Random(name)
    draw = topic.draw
    assert draw is not None
    for numbers in [topic.first, *(draw(chance) for _ in range(more))]:
        guess = topic.options[0] if topic.options else topic.read("3")
        yield Attempt(topic, numbers, guess=guess, truth=topic.truth(numbers), revealed=True)


@cache
def shown(name: str) -> list[tuple[Attempt, Any]]:
    picture = picture_of(name)
    assert picture is not None
    return [(turn, picture(turn)) for turn in turns(name, 1 if name == "08.best" else 3)]


@pytest.mark.parametrize("name", NAMES)
def test_each_answer_has_one_picture_without_collisions(name: str) -> None:
    for _, view in shown(name):
        svg = view.page(WIDE).svg()
        assert (svg.collisions(), svg.outside()) == ([], [])


@pytest.mark.parametrize("name", NAMES)
def test_at_most_four_controls_stand_in_front(name: str) -> None:
    for _, view in shown(name):
        front = {c.name.removesuffix("_number") for c in view.controls() if c.place != "more"}
        assert len(front - {"start", "copy"}) <= 4


def test_the_readers_of_each_layer_are_drawn() -> None:
    for turn, view in shown("07.in_place"):
        assert is_small(view.state)
        assert view.state.training == turn.numbers["training"]
        before = view.text()
        view.in_place = True
        assert turn.truth is not None
        assert (view.text() == before) == (turn.truth.value == "none")


def test_four_bars_have_the_ratios_of_the_answer() -> None:
    for turn, view in shown("07.both"):
        assert turn.truth is not None
        _, _, freed, both = view.rows.ways
        for way, said in ((freed, "reused"), (both, "both")):
            assert f"{float(view.rows.smaller(way)):.2f}" == turn.truth.seen[said]


def test_the_map_has_the_fault_of_the_question_and_what_came_of_it() -> None:
    for turn, view in shown("07.address"):
        assert turn.truth is not None
        assert bool(view.rows.packing.overlaps) == (turn.numbers["fault"] != "above")
        lines = [line[0] for line in view.now_["shown"]["lines"]]
        silent = get("addresses.run.silent")
        assert (silent in lines) == (turn.truth.value == "gradients")


def test_the_block_can_be_moved_away_and_run_again() -> None:
    _, view = shown("07.address")[0]
    view.move("gradient of conv2", view.placement.arena)
    assert "gradients compared bit for bit: all the same." in " ".join(view.run().sentences())


def test_the_valley_opens_at_its_lowest_point() -> None:
    for turn, view in shown("08.best"):
        assert turn.truth is not None
        assert view.k == turn.truth.seen["k"]
        assert view.peak == min(wave.peak for wave in view.rows.all.every.values())
        assert "least" in drawn(view)


def test_the_frontier_has_the_guess_and_the_percents_of_the_answer() -> None:
    for turn, view in shown("08.half"):
        assert turn.truth is not None
        percents = (f"{turn.truth.seen[key]} %" for key in ("part", "whole"))
        assert all(percent in view.rows.title for percent in percents)
        assert view.guess == turn.guess


def test_each_stage_is_recomputed() -> None:
    for turn, view in shown("08.stages"):
        assert turn.truth is not None
        ratio = view.rows.all.plain.peak / view.peak
        assert f"{ratio:.1f}" == turn.truth.seen["found"]
