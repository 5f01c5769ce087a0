"""Each block of a small step stands from its first writer to its last reader, in true bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import memlab
from memlab import zoo
from memlab.optimizers import OPTIMIZERS
from memlab.pictures.memory.lifetimes_values import Lifetimes, fits, lifetimes
from memlab.pictures.values.recipe import memory_of
from memlab.step.step import Step
from memlab.step.tensor import Role

ONE = memlab.training_step(zoo.linear1(), "sgd", "fp64")
TINY = memlab.training_step(
    memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error(), "sgd"
)
STEPS = {
    "one": ONE,
    "one, Adam": memlab.training_step(zoo.linear1(features=3, outputs=2), "adam"),
    "one, inference": memlab.inference_step(zoo.linear1()),
    "one, in place": memlab.in_place(ONE),
    "tiny": TINY,
    "tiny, in place": memlab.in_place(TINY),
    "tiny, again": memlab.recompute(TINY, "every", k=1),
    "one, gradients": ONE.keep("gradients"),
}


def found(step: Step, batch: int = 8) -> Lifetimes:
    return lifetimes(memory_of(step), batch)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("batch", [1, 8, 33])
def test_blocks_add_up_to_the_plan_inside_every_operation(name: str, batch: int) -> None:
    lives = found(STEPS[name], batch)
    plan = memlab.plan(STEPS[name])
    sums = [sum(block.nbytes for block in lives.alive(at)) for at in range(len(plan.rows))]
    assert sums == plan.timeline(batch) == [op.nbytes for op in lives.operations]
    assert (lives.most, lives.peak) == (plan.peak(batch), plan.peak_at(batch).index)


@pytest.mark.parametrize("name", STEPS)
def test_readers_and_writers_are_those_of_the_step(name: str) -> None:
    step, lives = STEPS[name], found(STEPS[name])
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
    plain, inside = found(TINY), found(memlab.in_place(TINY))
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


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_are_called_as_in_the_formula_of_the_update(name: str) -> None:
    lives = found(memlab.training_step(zoo.linear1(), name), 1)
    states = [each.symbol for each in lives.blocks if each.role is Role.OPTIMIZER_STATE]
    letters = [letter for letter in "msv" if letter in lives.operations[-1].formula]
    assert states == [f"{letter}({of})" for of in ("w1", "w2") for letter in letters]
    assert len(letters) == len(OPTIMIZERS[name].states)


TITLES: dict[str, tuple[Callable[[], tuple[Lifetimes, Lifetimes | None]], str]] = {
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
        lambda: (found(STEPS["tiny, in place"]), found(TINY)),
        "In place: 628 B, *now 564 B.* The peak has moved",
    ),
    "in place, the peak stays": (
        lambda: (found(STEPS["one, in place"], 1), found(ONE, 1)),
        "In place, and *the peak stays 56 B*",
    ),
    "back": (
        lambda: (found(TINY), found(STEPS["tiny, in place"])),
        "Not in place: 564 B, *now 628 B*",
    ),
    "format": (
        lambda: (found(memlab.training_step(zoo.linear1(), "sgd"), 1), found(ONE, 1)),
        "The peak was 56 B, *now 28 B*",
    ),
    "the same peak": (
        lambda: (found(STEPS["one, gradients"], 1), found(ONE, 1)),
        "The peak stays *56 B*",
    ),
}


@pytest.mark.parametrize("case", TITLES)
def test_a_title_is_what_the_bytes_say(case: str) -> None:
    make, title = TITLES[case]
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
    inside = found(memlab.in_place(TINY))
    _, said = inside.finding(found(TINY), inside.peak, None)
    assert said.startswith("2 blocks of 128 B go, and the peak is only 64 B lower")
    net = memlab.network("tiny", features=3).linear(4).relu().linear(2).squared_error()
    inference = found(memlab.inference_step(net))
    _, said = inference.finding(found(TINY), inference.peak, None)
    assert said == "Other operations run: 3 now, 10 before."  # and nothing is dashed


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("input", "x must stay: dE/dw has the factor x. h needs it. Then it waits through 4 "),
        ("h", "h is freed after y: nobody reads it again."),
        ("y", "y must stay: the slope in dE/dh is 1 − y². It never waits"),
        ("target", "t must stay: dE/dy reads it. It is there from the start, and waits through 2 "),
        ("h.bias", "w2 must stay: the update changes it, and the next step reads it."),
        ("loss", "E stays: it is the result of the step."),
    ],
)
def test_a_block_says_why_it_must_stay(name: str, why: str) -> None:
    assert found(ONE).says(0, name).startswith(why)


def test_the_text_has_every_block_and_every_sum() -> None:
    text = found(memlab.in_place(TINY)).text()
    assert "Peak 564 B in operation 6 of 10, backward of fc2: 11 blocks are alive." in text
    assert "fc1 → relu1" in text
    assert "changed by relu1, fc2, backward of fc2, backward of relu1" in text
    for nbytes in memlab.plan(memlab.in_place(TINY)).timeline(8):
        assert f" {nbytes:,}" in text
    assert found(ONE).as_dict()["blocks"][2]["symbol"] == "x"


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
