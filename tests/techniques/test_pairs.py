"""In place, recompute and placement: alone, in pairs and all together, on networks of every shape.

Loss, gradients, parameters and buffers are the plain step's, bit for bit; the plan holds to the
byte; and in an arena whose free bytes are NaN nobody reads one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, combinations, cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import memlab
from memlab.networks.graph import Network
from memlab.runtime.run import Run
from memlab.runtime.session import Session
from memlab.step.op import Phase
from memlab.step.step import Step
from tests.networks_at_random import networks, tied
from tests.runtime.test_run import SMALL
from tests.staged_networks import NETWORKS, step
from tests.techniques.same import differences, ran

BATCH = 2
TECHNIQUES = ("recompute", "in place", "placed")
TOGETHER = tuple(chain.from_iterable(combinations(TECHNIQUES, n) for n in (1, 2, 3)))
Rewrite = Callable[[Step], Step]


def drop(before: Step) -> Step:
    """Everything that runs again does."""
    names = [op.name for op in before.ops if op.phase is Phase.FORWARD]
    return memlab.recompute(before, "drop", layers=names)


def ways(batch: int) -> dict[str, Rewrite]:
    """The ways to recompute, ready to be applied."""
    by_name: dict[str, dict[str, Any]] = {
        "every": {},
        "every stage": {"k": 1},
        "cheap": {},
        "slots": {"k": 2},
        "greedy": {"batch": batch},
        "chain": {"batch": batch},
    }
    rewrites = {
        name: partial(memlab.recompute, how=name.split()[0], **given)
        for name, given in by_name.items()
    }
    return {**rewrites, "drop": drop}


ZOO = list(zip(memlab.zoo.ZOO, cycle(ways(BATCH)), strict=False))


def rewritten(before: Step, chosen: tuple[str, ...], again: Rewrite) -> Step:
    """The step with those of the chosen techniques that rewrite one."""
    after = again(before) if "recompute" in chosen else before
    return memlab.in_place(after) if "in place" in chosen else after


def wrong(before: Step, again: Rewrite, batch: int, **options: Any) -> dict[str, list[str]]:
    """What is not as in the plain step, by the techniques that were applied."""
    plain = ran(before, batch, **options)
    found = {}
    for chosen in TOGETHER:
        after = rewritten(before, chosen, again)
        placement = "best" if "placed" in chosen else None
        run = ran(after, batch, placement=placement, **options)
        found[" + ".join(chosen)] = differences(plain, run) + unplanned(run)
    return {name: each for name, each in found.items() if each}


def unplanned(run: Run) -> list[str]:
    """What an arena should not show: another size than planned, blocks that overlap, NaN."""
    if run.placement is None:
        return []
    found = list(run.nan)
    found += [] if run.arena == run.placement.arena else ["arena"]
    return found + [str(pair) for pair in run.placement.overlaps()]


@pytest.mark.parametrize(("name", "way"), ZOO)
def test_the_zoo(name: str, way: str) -> None:
    image = {"image": 32 if name.startswith("vgg") else 64, "classes": 10}
    before = memlab.training_step(memlab.zoo.ZOO[name](**SMALL.get(name, image)))
    assert not wrong(before, ways(BATCH)[way], BATCH)
