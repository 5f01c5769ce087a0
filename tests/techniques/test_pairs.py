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
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab.networks.graph import Network
from memlab.runtime import arena
from memlab.runtime.program import Program
from memlab.runtime.run import Run
from memlab.runtime.session import Session
from memlab.step.op import Phase
from memlab.step.step import Step
from tests.drawn import examples
from tests.networks_at_random import networks, tied
from tests.runtime.test_run import SMALL, SMALLEST
from tests.staged_networks import NETWORKS, TRAINED, WITH_STATE, step
from tests.techniques.same import differences, ran

pytestmark = pytest.mark.measures

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


ZOO = list(zip(SMALLEST, cycle(ways(BATCH)), strict=False))


def rewritten(before: Step, chosen: tuple[str, ...], again: Rewrite) -> Step:
    """The step with those of the chosen techniques that rewrite one."""
    after = again(before) if "recompute" in chosen else before
    return memlab.in_place(after) if "in place" in chosen else after


def wrong(before: Step, again: Rewrite, batch: int, **options: Any) -> dict[str, list[str]]:
    """What is not as in the plain step, by the techniques that were applied."""
    plain = ran(before, batch, **options)
    recomputed, made, found = again(before), {}, {}
    for chosen in TOGETHER:
        rewrites = tuple(name for name in chosen if name != "placed")
        if rewrites not in made:
            made[rewrites] = rewritten(before, rewrites, lambda _: recomputed)
        placement = "best" if "placed" in chosen else None
        run = ran(made[rewrites], batch, placement=placement, **options)
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
    image = {"image": 32 if name.startswith(("vgg", "resnet")) else 64, "classes": 10}
    net = memlab.zoo.ZOO[name](**SMALL.get(name, image))
    assert not wrong(memlab.training_step(net, "sgd"), ways(BATCH)[way], BATCH)


@given(st.one_of(networks(8), tied(6)), st.sampled_from(TRAINED), st.integers(1, 4),
       st.sampled_from(["fp32", "fp64"]), st.sampled_from(list(ways(1))))  # fmt: skip
@examples(25)
def test_random_networks(net: Network, optimizer: str, batch: int, format: str, way: str) -> None:
    before = memlab.training_step(net, optimizer, format)
    assert not wrong(before, ways(batch)[way], batch)


STORED: dict[str, Rewrite] = {
    "fp32": lambda before: before,
    "bf16": partial(memlab.precision, mode="bf16"),
    "maps in 8 bits": partial(memlab.precision, feature_map="fp8_e4m3fn"),
    "mixed fp16": partial(memlab.precision, mode="mixed fp16"),
    "stochastic": partial(memlab.precision, mode="mixed bf16", rounding="stochastic"),
    "gradients in bf16": partial(memlab.precision, gradient_map="bf16", parameter_gradient="fp16"),
    "states in 8 bits": memlab.eight_bit_states,
    "masks": memlab.relu_masks,
    "direct": partial(memlab.lowering, algorithm="direct"),
    "winograd": partial(memlab.lowering, algorithm="winograd"),
    "fft": partial(memlab.lowering, algorithm="fft"),
    "threads": lambda before: memlab.training_step(NETWORKS["branches"], "adam", threads=2),
}
OVERFLOWS = {"loss_scale": 2.0**40}
"""A scale with which the first steps overflow: they change no parameter, and halve it."""


@pytest.mark.parametrize(
    ("stored", "way", "optimizer"),
    list(zip(STORED, cycle(ways(BATCH)), cycle(WITH_STATE), strict=False)),
)
def test_three_steps_of_one_session(stored: str, way: str, optimizer: str) -> None:
    """States and running statistics move once a step, dropout draws anew, a loss scale halves."""
    before = STORED[stored](step("branches", optimizer))
    values = OVERFLOWS if stored == "mixed fp16" else {}
    plain = steps(before, values)
    assert len(set(plain)) == 3
    for chosen in TOGETHER:
        after = rewritten(before, chosen, ways(BATCH)[way])
        assert steps(after, values, "placed" in chosen) == plain, chosen


def steps(of: Step, values: dict[str, float], placed: bool = False) -> list[bytes]:
    """All that outlives each of three steps, as bytes."""
    kept = of.keep("gradients")
    placement = memlab.place(kept, BATCH) if placed else None
    found = []
    program = Program(kept, BATCH, placement=placement)
    with Session(program, 0, settings=values, poison=placed) as session:
        for _ in range(3):
            session.step()
            alive = sorted(kept.live_out, key=lambda tensor: tensor.name)
            found.append(b"".join(session.value(tensor).tobytes() for tensor in alive))
    return found


def test_an_inference_predicts_the_same_in_an_arena() -> None:
    for name in NETWORKS:
        before = step(name, "inference")
        plain = memlab.run(before, BATCH).output
        run = memlab.run(memlab.in_place(before), BATCH, placement="best")
        assert run.output is not None
        assert plain is not None
        assert run.output.tobytes() == plain.tobytes()
        assert run.residual == 0
        assert not unplanned(run)


class Data:
    """Sixteen small images of three classes."""

    x = np.random.default_rng(1).normal(size=(16, 3, 9, 7)).astype(np.float32)
    y = np.arange(16) % 3
    x_test, y_test = x[:5], y[:5]


def test_a_training_goes_the_same_way() -> None:
    plain = memlab.train(NETWORKS["branches"], Data(), batch=4, epochs=2)
    for chosen in TOGETHER[:2] + TOGETHER[3:4]:
        rewrite = partial(rewritten, chosen=chosen, again=memlab.recompute)
        other = memlab.train(NETWORKS["branches"], Data(), batch=4, epochs=2, rewrite=rewrite)
        assert (other.losses, other.errors) == (plain.losses, plain.errors)
        assert other.peak <= plain.peak


def test_a_wrong_address_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail: what lies below a block dies with it."""
    free = arena.Arena.free

    def early(self: arena.Arena, name: str) -> None:
        free(self, name)
        if name in self.addresses:
            self._wipe(0, self.addresses[name][0])

    monkeypatch.setattr(arena.Arena, "free", early)
    found = wrong(step("sums"), memlab.recompute, BATCH)
    assert {name for name in found if "placed" in name} == set(found) != set()
