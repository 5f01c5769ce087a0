"""A loss in chunks of tokens, planned and run, against the step with all scores at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab.errors import InputError
from memlab.networks.graph import Network
from memlab.step.op import Phase
from memlab.step.step import Step
from tests.drawn import examples
from tests.staged_networks import NETWORKS, step

BATCH = 3
CLOSE = 3e-6
"""Largest difference of a gradient, as a share of its largest value: the order of sums in fp32."""


def model(tokens: int = 6, vocabulary: int = 40, bias: bool = False) -> Network:
    x = memlab.network("model", tokens=tokens, vocabulary=vocabulary).embedding(8, name="table")
    return x.linear(vocabulary, bias=bias, name="fc").cross_entropy()


def chunked(parts: int, optimizer: str = "adam", **sizes: Any) -> Step:
    return memlab.chunked_loss(memlab.training_step(model(**sizes), optimizer), parts)


def apart(before: Step, after: Step, batch: int = BATCH) -> float:
    """Largest difference of a gradient between two steps, as a share of its largest value."""
    one, other = (memlab.run(each.keep("gradients"), batch) for each in (before, after))
    assert (one.residual, other.residual) == (0, 0)
    assert other.loss == pytest.approx(one.loss, rel=1e-6)
    assert one.gradients.keys() == other.gradients.keys()
    return max(
        float(np.abs(one.gradients[name] - other.gradients[name]).max() / np.abs(value).max())
        for name, value in one.gradients.items()
    )


def test_three_blocks_exist_for_a_chunk_alone():
    before, after = memlab.training_step(model(), "sgd"), chunked(3, "sgd")
    made = {life.tensor.name: life.size.at(BATCH) for life in after.lifetimes.values()}
    whole = BATCH * 6 * 40 * 4
    for name in ("gradient of fc", "loss.probabilities"):
        assert before.lifetimes[name].size.at(BATCH) == whole
        for number in (1, 2, 3):
            assert made[f"{name} in chunk {number}"] == whole // 3
    assert memlab.plan(after).peak(BATCH) < memlab.plan(before).peak(BATCH)


def test_scores_probabilities_and_their_gradient_are_alive_once():
    """At the peak of a large vocabulary: the scores of one chunk, and the probabilities."""
    sizes = {"tokens": 8, "vocabulary": 4000}
    ledger = memlab.plan(chunked(4, "sgd", **sizes))
    alive = ledger.alive(ledger.peak_at(BATCH).index)
    scores = BATCH * 8 * 4000 * 4 // 4
    assert sum(e.size.at(BATCH) for e in alive if " in chunk " in e.name) == 2 * scores


def test_the_gradient_of_the_input_is_one_block_filled_piece_by_piece():
    after = chunked(3)
    life = after.lifetimes["gradient of table"]
    assert life.tensor.axes == (("B", 0), ("T", 6), ("F", 8))
    assert life.followers == ()
    first = next(n for n, op in enumerate(after.ops) if op.name == "backward of fc in chunk 1")
    assert life.birth == first


def test_the_weights_are_read_and_their_gradient_is_added_to_in_each_chunk():
    ops = [op for op in chunked(3, bias=True).ops if op.kind == "linear.backward"]
    assert [sorted(op.writes) for op in ops] == [["dbias", "dweight", "dx"], ["dx"], ["dx"]]
    assert [sorted(op.updates) for op in ops] == [[], *[["dbias", "dweight"]] * 2]
    assert all(op.reads["weight"].name == "fc.weight" for op in ops)


def test_the_operations_of_a_chunk_follow_each_other():
    names = [op.name for op in chunked(2).ops if op.phase is not Phase.UPDATE]
    assert names == [
        "table",
        *(f"{name} in chunk {number}" for number in (1, 2)
          for name in ("fc", "loss", "backward of loss", "backward of fc")),
        "backward of table",
    ]  # fmt: skip


@pytest.mark.measures
@given(st.integers(2, 9), st.integers(1, 9), st.integers(2, 12), st.booleans(), st.integers(1, 4))
@examples(25)
def test_any_lengths_give_the_loss_and_the_gradients(tokens, parts, vocabulary, bias, batch):
    sizes = {"tokens": tokens, "vocabulary": vocabulary, "bias": bias}
    before = memlab.training_step(model(**sizes), "sgd")
    assert apart(before, memlab.chunked_loss(before, parts), batch) <= CLOSE


LATER = {
    "in place": memlab.in_place,
    "every stage again": lambda s: memlab.recompute(s, "every"),
    "chain": lambda s: memlab.recompute(s, "chain", batch=BATCH),
    "offload": memlab.offload,
    "no reuse": memlab.no_reuse,
    "again, away, in place": lambda s: memlab.in_place(
        memlab.offload(memlab.recompute(s, "every"))
    ),
}


@pytest.mark.measures
@pytest.mark.parametrize("name", LATER)
def test_later_techniques_run_as_planned(name):
    before = step("tokens", "adam")
    assert apart(before, LATER[name](memlab.chunked_loss(before, 2))) <= CLOSE


@pytest.mark.measures
@pytest.mark.parametrize("mode", ["mixed fp16", "mixed bf16", "bf16"])
def test_small_formats_come_before(mode):
    stored = memlab.precision(step("tokens", "adam"), mode)
    whole, parts = (memlab.run(each, BATCH) for each in (stored, memlab.chunked_loss(stored, 2)))
    assert (whole.residual, parts.residual) == (0, 0)
    assert parts.loss == pytest.approx(whole.loss, rel=1e-6)


@pytest.mark.measures
def test_accumulated_parts_are_those_of_the_plain_loss():
    plain, after = (
        memlab.accumulate(each, 2)
        for each in (step("tokens", "sgd"), memlab.chunked_loss(step("tokens", "sgd"), 2))
    )
    assert apart(plain, after) <= CLOSE


@pytest.mark.measures
@pytest.mark.parametrize("parts", [2, 5])
def test_a_frozen_output_layer_has_chunks_too(parts):
    """Backward of that layer computes the gradient of the input alone."""
    net = memlab.freeze(NETWORKS["tokens"], "scores")
    before = memlab.training_step(net, "adam")
    after = memlab.chunked_loss(before, parts)
    backward = [op for op in after.ops if op.name.startswith("backward of scores")]
    assert [sorted({**op.writes, **op.updates}) for op in backward] == [["dx"]] * parts
    assert apart(before, after) <= CLOSE


@pytest.mark.measures
def test_states_in_8_bits_learn_as_before():
    before = memlab.eight_bit_states(step("tokens", "adam"))
    assert apart(before, memlab.chunked_loss(before, 2)) <= CLOSE


def test_one_part_and_an_inference_stay_as_they_are():
    for before in (step("tokens"), step("tokens", "inference")):
        assert memlab.chunked_loss(before, 1) is before
    assert memlab.chunked_loss(step("tokens", "inference")).ops == step("tokens", "inference").ops


def test_a_text_of_few_tokens_has_a_chunk_for_each():
    after = memlab.chunked_loss(step("tokens"), 64)
    assert after.notes[-1] == "loss in 5 chunks"
    assert sum(op.kind == "softmax_cross_entropy" for op in after.ops) == 5


NO_END = (
    "chunked_loss needs a network that ends in a linear layer on tokens and a cross-entropy loss; "
    "try memlab.training_step(memlab.zoo.gpt_small())."
)
REFUSED = {
    "images": (lambda: memlab.chunked_loss(step("branches")), NO_END),
    "squares": (lambda: memlab.chunked_loss(step("sums")), NO_END),
    "twice": (
        lambda: memlab.chunked_loss(chunked(2)),
        "this step computes its loss in chunks already; start from the step before that, and ask "
        "for more parts.",
    ),
    "kept": (
        lambda: memlab.chunked_loss(memlab.no_reuse(step("tokens"))),
        "scores outlives this step, and of chunks only one exists at a time",
    ),
    "later": (
        lambda: memlab.chunked_loss(memlab.accumulate(step("tokens"), 2)),
        "chunked_loss comes before accumulate, and this step has accumulate already; try "
        "memlab.accumulate(memlab.chunked_loss(step, ...)).",
    ),
    "none": (lambda: memlab.chunked_loss(step("tokens"), 0), "parts must be at least 1, got 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_chunks_gets_one_sentence(name):
    made, sentence = REFUSED[name]
    with pytest.raises(InputError) as refused:
        made()
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
