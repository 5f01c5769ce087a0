"""Batches and layers that no machine holds: every figure is that of Python's whole numbers."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab import InputError
from memlab.ledger.diff import diff
from memlab.ledger.ledger import Ledger
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.placement.placement import HOWS, place
from memlab.step.storage import DEVICE, HOST
from memlab.techniques.recompute.chain import Chain, Stage, simulate
from tests.drawn import examples
from tests.networks_at_random import networks
from tests.rows import every_row
from tests.strange import said

BATCHES = (10**6, 10**13, 2**31, 2**63 - 1, 2**63, 10**18, 10**30, 10**40)


def wide(features: int = 10**13) -> Network:
    """Its maps have more bytes at a batch of 1,000,000 than 64 bits count."""
    x = network("wide", features=features).linear(3, name="narrow").relu()
    return x.linear(features, name="wide").tanh().squared_error()


def timeline(ledger: Ledger, batch: int, memory: str = DEVICE) -> list[int]:
    """Byte by byte, without an array."""
    blocks = [entry for entry in ledger.entries if entry.memory == memory]
    return [
        sum(e.size.fixed + batch * e.size.per_sample for e in blocks if e.birth <= at <= e.death)
        for at in range(len(ledger.rows))
    ]


def check(ledger: Ledger, batch: int) -> None:
    """Every question to a ledger, beside the same by hand."""
    for memory in (DEVICE, HOST):
        inside = timeline(ledger, batch, memory)
        assert ledger.timeline(batch, memory) == inside
        assert ledger.reserved(batch, memory) == list(accumulate(inside, max))
        peak = ledger.peak_at(batch, memory)
        assert (peak.nbytes, peak.index) == (max(inside), inside.index(max(inside)))
        assert sum(ledger.roles(batch, None, memory).values()) == max(inside)
        for at in (0, len(ledger.rows) - 1):
            assert sum(ledger.roles(batch, at, memory).values()) == inside[at]
            assert sum(e.size.at(batch) for e in ledger.alive(at, memory)) == inside[at]
    events = list(ledger.events(batch))
    ends = {event.op: event.live for event in events}
    assert events[-1].reserved == max(timeline(ledger, batch))
    after = ledger.after(batch)
    assert all(after[op] == live for op, live in ends.items() if op >= 0)
    born = dict.fromkeys(range(len(ledger.rows)), 0)
    for entry in ledger.entries:
        if entry.birth >= 0 and entry.memory == DEVICE:
            born[entry.birth] += entry.size.at(batch)
    inside = timeline(ledger, batch)
    assert ledger.before(batch) == [nbytes - born[at] for at, nbytes in enumerate(inside)]
    why = ledger.why(batch)
    assert why.nbytes == max(inside)
    sizes = [block.nbytes for block in why.blocks]
    assert sizes == sorted(sizes, reverse=True)
    fit = ledger.fit(min(max(inside), 10**29))
    assert fit.batch is not None
    assert fit.batch == 0 or ledger.peak(fit.batch) <= fit.budget < ledger.peak(fit.batch + 1)
    change = diff(ledger, ledger, batch, batch - 1).change
    assert change == max(timeline(ledger, batch - 1)) - max(inside)
    assert all(map(str, (why, fit, ledger.of(ledger.rows[0].layer, batch))))


@given(networks(), st.sampled_from(BATCHES) | st.integers(10**9, 10**40))
@examples(20)
def test_every_question_to_a_ledger_at_a_large_batch(net: Network, batch: int) -> None:
    check(memlab.plan(memlab.training_step(net)), batch)


@every_row("batch", BATCHES)
@every_row("features", [1, 2**40, 10**13, 2**61])
def test_every_question_to_a_ledger_of_a_wide_network(features: int, batch: int) -> None:
    check(memlab.plan(memlab.training_step(wide(features), "adam")), batch)


@every_row("how", HOWS)
@every_row("batch", [10**6, 10**13, 10**20])
def test_addresses_at_a_large_batch(how: str, batch: int) -> None:
    step = memlab.training_step(wide(10**6), "sgd")
    if refused := said(lambda: place(step, batch, how)):
        assert how == "exact"
        assert "no proof" in refused
        return
    found = place(step, batch, how)
    assert not found.overlaps()
    rounded = {b.name: -(-b.nbytes // 64) * 64 for b in found.blocks}
    alive = [
        sum(rounded[b.name] for b in found.blocks if b.birth <= at <= b.death)
        for at in range(len(step.ops))
    ]
    assert found.lower_bound == max(alive)
    tops = [at + rounded[b.name] for b, at in zip(found.blocks, found.addresses, strict=True)]
    assert found.arena == max(tops) >= max(alive)
    assert str(found)
    assert found.text()


def test_figures_of_a_stage_are_whole_numbers_of_python() -> None:
    large: Any = np.int64(2**62)
    chain = Chain((Stage(*[large] * 10),) * 8, large)
    assert simulate(chain, (*range(1, 9), *range(-8, 0))).cost == 16 * 2**62


@pytest.mark.parametrize("batch", [10**13, 10**30])
def test_what_is_refused_at_a_large_batch_is_one_sentence(batch: int) -> None:
    step = memlab.training_step(memlab.zoo.mnist_cnn(), "sgd")
    for call in (
        lambda: memlab.run(step, batch),
        lambda: memlab.recompute(step, "chain", batch=batch),
        lambda: memlab.recompute(step, "exact", batch=batch),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert len(str(caught.value).splitlines()) >= 1
