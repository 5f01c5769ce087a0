"""Steps that keep what PyTorch keeps: an eager cross-entropy, and gated blocks."""

from __future__ import annotations

import pytest

import memlab
from memlab.claims.pytorch_steps import eager_cross_entropy, gated_block
from memlab.step.op import Phase
from tests.oracles import requirement

TEXTS, STEPS, VOCABULARY = 4, 24, 96
PLACE = 4
"""Bytes of a value."""


@pytest.mark.measures
@pytest.mark.parametrize("again", [False, True])
def test_an_eager_cross_entropy_holds_what_pytorch_holds(again: bool) -> None:
    """Storage by storage, in the first call and in the second one; PyTorch may have freed the
    weight of the loss, a number, or may hold it."""
    torch = requirement.torch_or_skip()
    from tests.oracles.torch_peak import Count

    scores = torch.randn(TEXTS * STEPS, VOCABULARY, requires_grad=True)
    targets = torch.randint(VOCABULARY, (TEXTS * STEPS,))
    loss = torch.nn.CrossEntropyLoss()
    if again:
        loss(scores, targets).backward()
    with Count() as count:
        held = [scores, targets, *([scores.grad] if again else [])]
        for each in held:
            count.enter(each)
        loss(scores, targets).backward()
    peak = memlab.plan(eager_cross_entropy(STEPS, VOCABULARY, again)).peak(TEXTS)
    assert 0 <= count.most - peak <= PLACE


@pytest.mark.parametrize("again", [False, True])
def test_scores_are_there_four_times_and_with_an_older_gradient_five_times(again: bool) -> None:
    ledger = memlab.plan(eager_cross_entropy(STEPS, VOCABULARY, again))
    scores = PLACE * TEXTS * STEPS * VOCABULARY
    assert ledger.peak(TEXTS) // scores == (5 if again else 4)
    assert ledger.peak_at(TEXTS).row.name == "log_softmax.backward"


def kept(features: int, heads: int, blocks: int = 1) -> int:
    """Bytes that are alive when backward begins."""
    step = gated_block(STEPS, features, heads, blocks)
    first = next(n for n, op in enumerate(step.ops) if op.phase is Phase.BACKWARD)
    return sum(entry.size.at(TEXTS) for entry in memlab.plan(step).alive(first))


@pytest.mark.parametrize(("features", "heads"), [(8, 1), (64, 4), (96, 8)])
def test_a_gated_block_keeps_20_widths_a_matrix_and_little_else(features: int, heads: int) -> None:
    tokens = TEXTS * STEPS
    widths, matrix = 20 * tokens * features, tokens * heads * STEPS
    rows, roots, tables = 2 * tokens * heads, 2 * tokens, 4 * STEPS * (features // heads // 2)
    assert kept(features, heads) == PLACE * (widths + matrix + rows + roots + tables)


def test_blocks_keep_as_much_each() -> None:
    assert kept(64, 4, blocks=3) == 3 * kept(64, 4)
