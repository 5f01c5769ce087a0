"""Pictures under the answers of lessons 07 and 08: they show the answer, on any numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from memlab.assemble.step import training_step
from memlab.clocks import roofline
from memlab.course.reveals import picture_of
from memlab.lesson import chains, sentences
from memlab.lesson.card_question import Attempt, topics
from memlab.lesson.content.lesson_08 import SAMPLES
from memlab.pictures.memory.view import is_small
from memlab.pictures.recompute import Schedules
from memlab.pictures.values.number_text import three_digits
from memlab.strings import get
from tests.course.revealed import revealed
from tests.pictures.shown import drawn

SEEDS = (None, 1, 2, 3)


def shown(name: str, *seeds: int | None) -> list[tuple[Any, Any]]:
    """The question on its first numbers and on drawn ones, with its pictures."""
    return [revealed(name, seed=seed) for seed in seeds or SEEDS]


def test_the_readers_of_each_layer_are_drawn() -> None:
    for turn, view in shown("07.in_place"):
        assert is_small(view.state)
        assert view.state.training == turn.numbers["training"]
        before = view.text()
        view.in_place = True
        assert (view.text() == before) == (turn.truth.value == "none")


def test_four_bars_have_the_ratios_of_the_answer() -> None:
    for turn, view in shown("07.both"):
        assert not view.training
        _, _, freed, both = view.rows.ways
        for way, said in ((freed, "reused"), (both, "both")):
            assert f"{float(view.rows.smaller(way)):.2f}" == turn.truth.seen[said]


@pytest.mark.measures
def test_the_map_has_the_fault_of_the_question_and_what_came_of_it() -> None:
    for turn, view in shown("07.address"):
        assert bool(view.rows.packing.overlaps) == (turn.numbers["fault"] != "above")
        lines = [line[0] for line in view.now_["shown"]["lines"]]
        silent = get("addresses.run.silent")
        assert (silent in lines) == (turn.truth.value == "gradients")


@pytest.mark.measures
@pytest.mark.parametrize(
    ("fault", "at", "readers"),
    [
        ("backward", 12, "backward of conv2 (13) and backward of relu1 (14)"),
        ("forward", 3, "sum (5), backward of conv2 (13) and backward of relu1 (14)"),
    ],
)
def test_the_operations_of_a_fault_are_told(fault: str, at: int, readers: str) -> None:
    topic = topics()["07.address"]
    numbers = {**topic.first, "fault": fault}
    turn = Attempt(topic, numbers, truth=topic.truth(numbers), revealed=True)
    written = f"Operation {at} writes over 'relu1'. It is read afterwards by {readers}."
    assert written in sentences.finding(turn)[0]
    picture = picture_of("07.address")
    assert picture is not None
    view = picture(turn)
    assert f"both are in memory at operation {at}." in view.text()


@pytest.mark.measures
def test_the_block_can_be_moved_away_and_run_again() -> None:
    _, view = revealed("07.address")
    view.move("gradient of conv2", view.placement.arena)
    assert "gradients compared bit for bit: all the same." in " ".join(view.run().sentences())


@pytest.mark.measures
def test_the_valley_opens_at_its_lowest_point() -> None:
    for turn, view in shown("08.best", None, 1):
        assert view.k == turn.truth.seen["k"]
        assert view.peak == min(wave.peak for wave in view.rows.all.every.values())
        assert "least" in drawn(view)


def test_the_frontier_has_the_guess_and_the_percents_of_the_answer() -> None:
    for seed in SEEDS:
        turn, view = revealed("08.half", "more", seed)
        percents = (f"{turn.truth.seen[key]} %" for key in ("part", "whole"))
        assert all(percent in view.rows.title for percent in percents)
        assert view.guess == turn.guess


def test_the_stages_that_run_again_hold_more_bytes_for_their_work_than_the_others() -> None:
    for turn, view in shown("08.half"):
        every, again = view.rows.all, view.rows.half.again
        assert view.rows.ringed is view.rows.half
        assert str(again[0]) in turn.truth.seen["again"]
        bytes_for_work = [held(every, again), held(every, range(1, every.stages + 1))]
        assert bytes_for_work[0] > bytes_for_work[1]
        half = every.stages // 2
        early, late = range(1, half + 1), range(half + 1, every.stages + 1)
        assert held(every, early) > 1.2 * held(every, late)


def held(every: Schedules, stages: Iterable[int]) -> float:
    """Bytes of feature maps that some stages write for each second of their forward."""
    ops = [every.step.ops[i] for n in stages for i in every.cuts.parts[n - 1].forward]
    written = (tensor.storage for op in ops for tensor in op.writes.values())
    seconds = sum(roofline.seconds(op, every.batch) for op in ops)
    return sum(storage.size.at(every.batch) for storage in written) / seconds


def test_a_segment_as_long_as_the_chain_and_k_1_save_nothing_and_take_more_time() -> None:
    topic = topics()["08.hundred"]
    seen = topic.truth(topic.first).seen
    layers = topic.first["layers"]
    every = Schedules(training_step(chains.alike(layers)), SAMPLES)
    for k in (1, layers):
        wave = every.keeping(k)
        assert wave.peak == every.plain.peak
        assert (three_digits(wave.peak), every.more(wave)) == (seen["peak"], seen["more"])


def test_each_stage_is_recomputed() -> None:
    for turn, view in shown("08.stages"):
        ratio = view.rows.all.plain.peak / view.peak
        assert f"{ratio:.1f}" == turn.truth.seen["found"]
