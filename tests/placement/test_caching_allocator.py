"""The simulated allocator of PyTorch on CUDA, against its rules worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

import memlab
from memlab.ledger.entries import Entry, LedgerRow
from memlab.ledger.ledger import Ledger
from memlab.placement.caching_allocator import MIB, _Cache, cublas, estimates, simulate
from memlab.placement.cuda_cards import CUBLAS
from memlab.step.op import Phase
from memlab.step.storage import Size
from memlab.step.tensor import Role
from tests.rows import every_row


def ledger(*blocks: tuple[int, int, int]) -> Ledger:
    """Blocks as bytes, birth and death."""
    last = max(death for *_, death in blocks)
    rows = [LedgerRow(f"op{n}", "op", Phase.FORWARD) for n in range(last + 1)]
    entries = [
        Entry(f"t{n}", Role.FEATURE_MAP, Size(nbytes), birth, death)
        for n, (nbytes, birth, death) in enumerate(blocks)
    ]
    return Ledger(rows, entries)


@every_row(
    ("nbytes", "reserved"),
    [(1, 2 * MIB), (MIB, 2 * MIB), (MIB + 1, 20 * MIB), (10 * MIB, 10 * MIB),
     (10 * MIB + 1, 12 * MIB)],
)  # fmt: skip
def test_a_segment_is_as_large_as_the_rules_say(nbytes, reserved):
    found = simulate(ledger((nbytes, 0, 0)), 1)
    assert found.live == nbytes
    assert found.rounded == -(-nbytes // 512) * 512
    assert found.reserved == reserved


def test_free_neighbours_are_one_block_again():
    cache = _Cache()
    blocks = [cache.take(5 * MIB) for _ in range(4)]
    assert cache.reserved == 20 * MIB
    for at in (1, 3, 2, 0):
        cache.give(blocks[at])
    assert cache.take(9 * MIB).size == 9 * MIB
    assert cache.reserved == 20 * MIB


def test_what_lies_between_blocks_is_held_and_used_by_nobody():
    """19 MiB fit neither into 12 free ones, twice, nor into the 18 beside 2 that are taken."""
    found = simulate(
        ledger((12 * MIB, 0, 1), (12 * MIB, 0, 1), (2 * MIB, 0, 2), (19 * MIB, 2, 2)), 1
    )
    assert found.live == 26 * MIB
    assert found.reserved == (12 + 12 + 20 + 20) * MIB


def test_the_rows_of_a_network_are_marked_and_add_up():
    plan = memlab.plan(memlab.training_step(memlab.zoo.resnet50()))
    found, rows = simulate(plan, 8), estimates(plan, 8)
    assert found.live == plan.peak(8)
    assert [row.name for row in rows] == ["rounding", "fragments", "cublas", "context"]
    assert {row.origin for row in rows} == {"simulated", "computed", "recorded"}
    assert rows[0].nbytes + rows[1].nbytes == found.reserved - plan.peak(8)
    assert all(row.nbytes >= 0 and row.source for row in rows)


@pytest.mark.parametrize(
    ("kinds", "count"),
    [(["convolution", "mm"], 1), (["addmm", "mm"], 2), (["convolution", "convolution_backward"], 0),
     (["nll_loss", "bmm"], 1), (["linear", "linear.backward"], 2)],
)  # fmt: skip
def test_cublas_has_a_workspace_for_each_thread_that_multiplies_matrices(kinds, count):
    phases = (Phase.FORWARD, Phase.BACKWARD)
    rows = [replace(ledger((1, 0, 0)).rows[0], kind=kind, phase=phase)
            for kind, phase in zip(kinds, phases, strict=True)]  # fmt: skip
    assert cublas(replace(ledger((1, 0, 0)), rows=rows)) == count * CUBLAS
