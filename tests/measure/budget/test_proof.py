"""Choices of the board that run: the plan holds to the byte, and results change as is said."""

from __future__ import annotations

import numpy as np
import pytest

import memlab
from memlab.measure.budget import rounding
from memlab.measure.budget.board import Choice, Switch
from memlab.measure.budget.levels import search_of
from memlab.measure.budget.proof import prove, small
from tests.measure.budget.boards import LEVELS, board, drawn_choice


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_a_drawn_choice_takes_what_was_planned(name: str, seed: int) -> None:
    choice = drawn_choice(board(name), ("run", seed))
    assert memlab.run(board(name).step_of(choice), 2).residual == 0


@pytest.mark.parametrize("number", [1, 3])
def test_the_optimum_of_images_runs_on_a_small_version(number: int) -> None:
    read = search_of(number)
    choice = read.within(read.board.level.budget).rated.choice
    proof = prove(read.board, choice)
    assert proof.residual == 0
    assert not proof.whole
    assert "residual 0 B" in proof.text()
    assert proof.ran.level.batch < read.board.level.batch


def test_a_small_version_has_the_same_blocks() -> None:
    for number in (1, 2):
        of = search_of(number).board
        names = [block.name for block in type(of)(small(of.level)).blocks]
        assert names == [block.name for block in of.blocks]


def test_what_is_exact_changes_no_bit_of_a_gradient() -> None:
    of = board("two stages")
    plain = memlab.run(of.step.keep("gradients"), 4).gradients
    choice = of.read("cheap place AHK")
    made = memlab.run(of.step_of(choice).keep("gradients"), 4).gradients
    assert all(np.array_equal(made[name], value) for name, value in plain.items())


@pytest.mark.parametrize(("of", "technique"), rounding.ROWS)
def test_the_stored_rounding_is_what_is_measured_here(of: str, technique: str) -> None:
    """Another machine adds up in another order: the figure stays within a factor of 4."""
    stored = rounding.recorded(of, technique)
    assert stored is not None
    assert stored / 4 < rounding.measured(of, technique) < 4 * stored


def test_a_technique_that_rounds_nothing_has_no_figure() -> None:
    assert rounding.recorded(rounding.IMAGES, Switch.PLACE) is None
    assert rounding.distance({"a": np.array([1.0, 2.5])}, {"a": np.array([1.0, 2.0])}) == 0.25
    assert Choice().techniques == []
