"""Choices of a board, and the step of each."""

from __future__ import annotations

import pytest

import memlab
from memlab.errors import InputError
from memlab.measure.budget.board import BlockState, Board, Choice, Level, Switch, block_of
from memlab.measure.budget.levels import MACHINE, level, search_of
from memlab.step.op import Phase
from memlab.techniques import application_order
from tests.measure.budget.boards import LEVELS, board, drawn_choice

AGAIN, HOST, KEPT = BlockState.AGAIN, BlockState.HOST, BlockState.KEPT


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_a_choice_comes_back_from_its_line(name: str, seed: int) -> None:
    choice = drawn_choice(board(name), seed)
    assert board(name).read(board(name).line(choice)) == choice
    assert board(name).read(str(choice)) == choice


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("eight KKK", "this board has no switch 'eight'; it has half, cheap, place"),
        ("half KK", "the 3 blocks of this board have a letter each, one of K, A, H"),
        ("half KKX", "the 3 blocks of this board have a letter each, one of K, A, H"),
        ("parts=2 KKK", "this board offers parts=1, got '2'; try parts=1"),
        (3, "a choice is a line of text, got 3; try 'KK-K'"),
    ],
)
def test_a_line_that_the_board_cannot_read_is_refused(line: str, says: str) -> None:
    with pytest.raises(InputError, match=f"^{says}"):
        board("two stages").read(line)


def test_a_network_without_blocks_is_refused() -> None:
    with pytest.raises(InputError, match="has no blocks"):
        Board(Level(memlab.zoo.mnist_cnn(), 8, 10**9, MACHINE))


def test_blocks_are_what_their_names_say() -> None:
    names = [block.name for block in search_of(1).board.blocks]
    assert names[:4] == ["1.1", "1.2", "1.3", "2.1"]
    assert len(names) == 16
    assert [block.name for block in search_of(2).board.blocks] == list("123456")
    assert block_of("conv1.norm") == ""


def test_a_block_that_is_made_again_keeps_its_output_alone() -> None:
    of = board("two stages")
    step = of.step_of(Choice(states=(KEPT, AGAIN, KEPT)))
    again = {op.layer for op in step.ops if application_order.AGAIN in op.attributes}
    assert again == {op.layer for op in of.blocks[1].inner} - {"1.2.norm2", "1.2.add"}
    assert not application_order.offloads(step)


def test_a_block_on_the_host_moves_the_inputs_of_its_convolutions() -> None:
    of = board("bottlenecks")
    step = of.step_of(Choice(states=(HOST, KEPT, KEPT, KEPT)))
    copies = [op.name for op in step.ops if op.phase is Phase.COPY]
    assert sorted(copies) == sorted(
        f"{way} {name}" for way in ("copy in", "copy out") for name in ("1.1.relu1", "1.1.relu2")
    )


def test_all_techniques_of_a_choice_are_noted() -> None:
    of = board("text")
    choice = of.read("half eight cheap place parts=2 AKK")
    notes = " ".join(of.step_of(choice).notes)
    for part in (
        "fp32 master weights",
        "8-bit states",
        "recompute",
        "in place",
        "accumulated over 2 parts",
    ):
        assert part in notes
    assert choice.techniques == ["half", "eight", "cheap", "place", "parts", "again"]


def test_nothing_chosen_is_the_plain_step() -> None:
    of = board("two stages")
    assert of.step_of(of.plain) is of.step
    assert of.rated(of.plain).peak == memlab.plan(of.step).peak(64)


@pytest.mark.parametrize("number", [1, 2])
def test_the_optimum_of_a_level_takes_at_least_three_techniques(number: int) -> None:
    read = search_of(number)
    optimum = read.within(read.board.level.budget)
    assert optimum.exact
    assert len(optimum.rated.choice.techniques) >= 3
    assert read.board.rated(read.board.plain).peak > read.board.level.budget


@pytest.mark.parametrize("seed", range(24))
def test_a_drawn_level_needs_more_than_16_bits_in_place(seed: int) -> None:
    """So that its optimum takes at least three techniques; that of a seed is always the same."""
    of = search_of(3, seed).board
    two = Choice(frozenset({Switch.HALF, Switch.PLACE}), 1, of.plain.states)
    assert of.rated(two).peak > of.level.budget
    again = level(3, seed)
    assert (again.network.label, again.batch, again.budget) == (
        of.level.network.label, of.level.batch, of.level.budget
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(0, 24, 4))
def test_the_optimum_of_a_drawn_level_takes_at_least_three_techniques(seed: int) -> None:
    read = search_of(3, seed)
    assert len(read.within(read.board.level.budget).rated.choice.techniques) >= 3


@pytest.mark.parametrize(("number", "seed"), [(0, 0), (4, 0), (3, -1), ("1", 0)])
def test_a_level_that_is_not_there_is_refused(number: int, seed: int) -> None:
    with pytest.raises(InputError, match=r"must be (a whole number|at (least|most))"):
        level(number, seed)
