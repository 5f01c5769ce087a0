"""Every view at figures that 64 bits do not count: each is that of Python's whole numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memlab
from memlab import views
from memlab.networks.graph import Network
from memlab.pictures.memory.step_memory import BlockColumns
from memlab.step.storage import Size
from tests.ledger.test_large import wide
from tests.networks_at_random import networks
from tests.strange import said


def drawn(view: views.View[Any]) -> str:
    """Its picture and its text, neither with a number that is none."""
    shown = view.svg() + view.text()
    assert not re.search(r"\b(nan|inf|NaN)\b", shown)
    return shown


@given(networks(), st.integers(0, 10**25), st.integers(1, 10**13))
@settings(max_examples=30, deadline=None)
def test_the_largest_blocks_are_those_of_exact_sizes(net: Network, fixed: int, batch: int) -> None:
    ledger = memlab.plan(memlab.training_step(net))
    more = replace(ledger.entries[0], name="one more", size=Size(fixed, fixed // 3))
    entries = [*ledger.entries, more]
    for at in range(0, len(ledger.rows), 5):
        alive = [e for e in entries if e.birth <= at <= e.death]
        wanted = sorted(alive, key=lambda e: (-e.size.at(batch), e.birth))[:5]
        blocks = BlockColumns(entries, len(ledger.rows))
        assert blocks.largest(at, batch, 5) == wanted
        assert blocks.per_sample(at) == sum(e.size.per_sample for e in alive)
        assert blocks.line.tolist()[at] == sum(e.size.per_sample for e in alive)


@pytest.mark.parametrize("features", [1, 2**61])
def test_the_picture_of_a_network(features: int) -> None:
    view = views.memory(wide(features), free=False, guess=10**25)
    for batch in (1, 512, 10**6):
        view.batch = batch
        ledger, rows = view.rows.memory.ledger, view.rows
        timeline = [
            sum(e.size.at(batch) for e in ledger.alive(at)) for at in range(len(ledger.rows))
        ]
        assert rows.peak.nbytes == max(timeline)
        for at in range(len(timeline)):
            view.cursor = at + 1
            rows = view.rows
            assert sum(row.nbytes for row in rows.roles) == timeline[at] == rows.here
            alive = sorted((e.size.at(batch) for e in ledger.alive(at)), reverse=True)
            assert [block.nbytes for block in rows.blocks] == alive[:5]
            assert rows.others == sum(alive[5:])
            grows = sum(e.size.per_sample for e in ledger.alive(at))
            assert sum(row.nbytes for row in rows.slices) == batch * grows
        assert f"{max(timeline):,}" in drawn(view)


@pytest.mark.parametrize("features", [1, 2**61])
def test_the_map_of_addresses(features: int) -> None:
    view = views.addresses(wide(features), batch=4096)
    for how in ("no reuse", "birth", "biggest", "best fit", "best"):
        view.how = how
        packed = view.rows.packing
        alive = [sum(p.size for p in packed.at(at)) for at in range(packed.subject.operations)]
        bound, arena = packed.placement.lower_bound, packed.placement.arena
        assert bound == max(alive) <= arena == max(p.top for p in packed.blocks)
        assert drawn(view)


@pytest.mark.parametrize("batch", [10**6, 10**30])
def test_pictures_that_stand_still(batch: int) -> None:
    step = memlab.training_step(memlab.zoo.mnist_cnn(), "sgd")
    if not said(lambda: views.techniques(step, batch, stop=3)):
        shown = views.techniques(step, batch, stop=3)
        assert shown.rows.all.plain.peak == memlab.plan(step).peak(batch)
        assert str(shown)
        assert shown.svg()


def test_the_shifted_copies_of_a_large_batch() -> None:
    view = views.shifted_copies("vgg16", "conv1_2", batch=10**6, free=False)
    assert f"{10**6 * 64 * 9 * 224 * 224 * 4:,}" in drawn(view)
    assert said(lambda: setattr(view, "batch", 10**13)) == (
        "batch must be at most 1,000,000, got 10,000,000,000,000; try 1,000,000."
    )


def test_a_run_keeps_the_largest_so_far() -> None:
    ledger = memlab.plan(memlab.training_step(wide()))
    timeline = ledger.timeline(10**13)
    assert ledger.reserved(10**13) == list(accumulate(timeline, max))
