"""The chains of lesson 08: maps of the bytes that are asked for, held as planned and measured."""

import random

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.lesson import chains
from memlab.lesson.content import lesson_08
from tests.rows import every_row


@every_row(("count", "k"), [(12, 4), (20, 5), (30, 3)])
def test_every_kth_map_of_a_chain_takes_k_and_n_over_k(count, k):
    step = memlab.training_step(chains.alike(count), "sgd")
    assert chains.held(memlab.plan(step), source=True) == (count + 1) * chains.ALIKE
    some = memlab.recompute(step, "every", k=k)
    assert chains.held(memlab.plan(some), source=True) == (k + count // k) * chains.ALIKE


@pytest.mark.measures
def test_what_is_held_is_measured():
    step = memlab.recompute(memlab.training_step(chains.layers([3000, 2000, 5000]), "sgd"))
    done = memlab.run(step, chains.BATCH)
    assert chains.held(done.measured) == chains.held(done.planned)
    assert done.residual == 0


def test_the_maps_have_the_bytes_that_are_asked_for():
    ledger = memlab.plan(memlab.training_step(chains.layers([7000, 2000]), "sgd"))
    sizes = {entry.name: entry.size.at(chains.BATCH) for entry in ledger.entries}
    assert (sizes["fc1"], sizes["fc2"]) == (7000, 2000)


def test_the_sums_of_segments_are_the_plan():
    chance = random.Random(8)
    for count in (1, 2, 4, 6):
        maps = tuple(1000 * chance.randint(1, 50) for _ in range(count))
        for kept in lesson_08.choices(count):
            assert lesson_08.counted(maps, kept) == lesson_08.most_held(maps, kept)


@every_row("maps", [[], [1500], [0], [2000, "a"]])
def test_other_maps_are_refused_in_one_sentence(maps):
    with pytest.raises(InputError):
        chains.layers(maps)


@every_row("given", [[2], [-1], 0, {0}, [[0]], ["0"], [True], [0.5], "0"])
def test_what_is_no_choice_of_checkpoints_is_refused(given):
    with pytest.raises(InputError, match="Of 3 maps a choice is a list of numbers from 0 to 1"):
        lesson_08._score(given, {"maps": [1000, 2000, 3000]})


def test_of_2_maps_the_first_alone_can_be_kept():
    with pytest.raises(InputError, match=r"\[0\] or \[\]; the last .*, got \[1\]"):
        lesson_08._score([1], {"maps": [1000, 2000]})


def test_a_chain_is_called_what_it_is():
    assert chains.alike(100).label == "100 equal layers"


@every_row("given", [[1, 0, 1], (0, 1), [0.0, 1.0], np.array([0, 1])])
def test_a_choice_of_checkpoints_is_planned(given):
    nbytes = lesson_08._score(given, {"maps": [1000, 2000, 3000]})
    assert nbytes == lesson_08.most_held((1000, 2000, 3000), (0, 1))
