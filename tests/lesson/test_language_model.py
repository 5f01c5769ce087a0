"""The truths of lesson 13, against formulas and plans of their own."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from random import Random
from typing import Any

import pytest

import memlab
from memlab import zoo
from memlab.ledger.ledger import Ledger
from memlab.lesson.card_question import Truth, topics
from memlab.lesson.content import lesson_13
from memlab.lesson.exercise_task import tasks
from memlab.step.tensor import Role
from tests.rows import every_row

LAYERS, HEADS, HEAD_SIZE, PLACE = 12, 12, 64, 4
"""Layers, heads and values of a head of GPT-2, and bytes of a value."""
TEXTS = 8


def truth(name: str, **other: Any) -> Truth:
    question = topics()[name]
    return question.truth({**question.first, **other})


def ledger(tokens: int) -> Ledger:
    return memlab.plan(memlab.training_step(zoo.gpt2(tokens), "adam"))


def sides(tokens: int) -> tuple[int, int]:
    """Bytes of the matrices at the peak, and of everything else."""
    planned = ledger(tokens)
    peak = planned.peak_at(TEXTS)
    matrices = lesson_13.matrices_at(planned, TEXTS, peak.index)
    return matrices, peak.nbytes - matrices


@every_row("tokens", [512, 1024, 2048])
def test_matrices_have_a_value_for_each_pair_of_tokens_twice(tokens: int) -> None:
    """After softmax, and after dropout."""
    assert sides(tokens)[0] == 2 * TEXTS * HEADS * tokens**2 * LAYERS * PLACE


def test_a_text_twice_as_long_grows_by_its_parts() -> None:
    told = truth("13.doubled")
    (few, rest), (many, others) = sides(1024), sides(2048)
    assert many == 4 * few
    assert told.value == Fraction(many + others, few + rest)
    assert (told.seen["few"], told.seen["others"]) == ("9.66 GB", "17.9 GB")


@every_row(
    ("length", "answer"), [(512, "less"), (1024, "less"), (4096, "twice"), (65_536, "twice")]
)
def test_without_matrices_a_text_twice_as_long_takes_at_most_twice_as_much(
    length: int, answer: str
) -> None:
    """The model state stays; in long texts it is little."""
    assert truth("13.fused", length=length).value == answer


def test_adapters_save_what_does_not_learn_and_what_only_learning_reads() -> None:
    """A norm and a GELU of each layer go, and the last norm; values between A and B are added."""
    told = truth("13.lora")
    network = memlab.zoo.gpt2(1024, attention="fused")
    whole, adapted = (memlab.plan(memlab.training_step(learner, "adam"))
                      for learner in (network, memlab.lora(network, 16)))  # fmt: skip
    assert told.value == Fraction(whole.peak(TEXTS), adapted.peak(TEXTS))
    before, after = whole.roles(TEXTS), adapted.roles(TEXTS)
    learning = LAYERS * 2 * 2 * HEADS * HEAD_SIZE * 16
    assert after[Role.OPTIMIZER_STATE] == 2 * learning * PLACE
    assert after[Role.PARAMETER] == before[Role.PARAMETER] + learning * PLACE
    tokens = TEXTS * 1024 * PLACE
    width, small = tokens * HEADS * HEAD_SIZE, tokens * LAYERS * 2 * 16
    first = width + 2 * tokens  # input of the first norm and statistics: nothing learns before it
    saved = before[Role.FEATURE_MAP] - after[Role.FEATURE_MAP]
    assert saved == (5 * LAYERS + 1) * width + first - small


@every_row(("texts", "tokens"), [(16, 2048), (4, 4096), (1, 1)])
def test_a_cache_has_a_key_and_a_value_of_each_head_in_each_layer(texts: int, tokens: int) -> None:
    told = truth("13.cache", texts=texts, length=tokens)
    nbytes = 2 * LAYERS * HEADS * HEAD_SIZE * PLACE * texts * tokens
    assert told.value == Fraction(nbytes, zoo.gpt2().parameters * PLACE)


def test_the_matrices_of_gpt2_pass_the_rest_where_the_exercise_says() -> None:
    square = sides(1000)[0] // 1000**2
    low, high = (sides(tokens)[1] for tokens in (1000, 2000))
    each = (high - low) // 1000
    tokens = lesson_13.passes(square, each, low - 1000 * each)
    for length, more in ((tokens - 1, False), (tokens, True)):
        matrices, rest = sides(length)
        assert (matrices > rest) is more


def test_the_length_is_the_first_at_which_the_matrices_are_more() -> None:
    for seed in range(100):
        case = tasks()["13.passes"].draw(Random(seed), 1 + seed % 6)
        square, each, fixed = case["square"], case["each"], case["fixed"]
        first = next(n for n in count(1) if square * n * n > each * n + fixed)
        assert lesson_13.passes(**case) == first


@pytest.mark.parametrize(("name", "answer"), [("13.reads", "input"), ("13.state", "sixteen")])
def test_what_earlier_lessons_said_is_planned(name: str, answer: str) -> None:
    assert truth(name).value == answer
