"""Liveness: the bytes and the time of an order are those of its step, without making it."""

from __future__ import annotations

from itertools import product

import numpy as np

import memlab
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.application_order import AGAIN
from memlab.techniques.recompute.methods import WAYS, RecomputeRequest
from memlab.techniques.recompute.order_memory import Liveness, Lives, cost
from memlab.techniques.recompute.repeated_operations import resequenced
from tests.rows import every_row
from tests.staged_networks import NETWORKS, step

BATCH = 3
TRIED = ("every", "cheap", "slots", "greedy")


def compared(before: Step, order: list[int], batch: int) -> tuple[Lives, Step]:
    """Both ways, held against each other."""
    lives, after = Liveness(before, batch).of(order), resequenced(before, order)
    assert lives.timeline.tolist() == memlab.plan(after).timeline(batch)
    assert lives.again.tolist() == [AGAIN in op.attributes for op in after.ops]
    assert lives.times.tolist() == [cost([op], batch) for op in after.ops]
    return lives, after


@every_row(("network", "way"), list(product(NETWORKS, TRIED)))
def test_an_order_takes_the_bytes_and_the_time_of_its_step(network: str, way: str) -> None:
    before = step(network, "momentum")
    order = WAYS[way].order(
        RecomputeRequest(before, 2 if way in ("every", "slots") else None, (), BATCH, None)
    )
    lives, after = compared(before, order, BATCH)
    assert (lives.peak, lives.cost) == (memlab.plan(after).peak(BATCH), cost(after.ops, BATCH))


@every_row("how", ["inference", "adam", "kept gradients", "in place"])
def test_steps_of_any_kind_in_their_own_order(how: str) -> None:
    before = step("branches", how if how in ("inference", "adam") else "momentum")
    if how == "kept gradients":
        before = before.keep("gradients")
    elif how == "in place":
        before = memlab.in_place(before)
    compared(before, [*range(len(before.ops))], BATCH)


def test_a_residual_network_every_fifth_stage_at_batch_32() -> None:
    before = memlab.training_step(memlab.zoo.build("resnet50"))
    order = WAYS["every"].order(RecomputeRequest(before, 5, (), 32, None))
    lives, after = compared(before, order, 32)
    maps = np.array([each.role is Role.FEATURE_MAP for each in Liveness(before, 32).tensors])
    planned = memlab.plan(after).role_lines["device:0", Role.FEATURE_MAP]
    assert lives.line(maps[lives.tensor]).tolist() == (planned[0] + 32 * planned[1]).tolist()
