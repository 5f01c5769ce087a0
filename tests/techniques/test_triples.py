"""Three and four techniques at once, drawn at random, on small networks of every shape.

The plan holds to the byte, and a technique that keeps every bit alone keeps it in company: loss,
gradients and parameters are those of the step with the others. ``python -m tests.cross --of 3``
runs all triples; ``MEMLAB_FUZZ_SECONDS=3600`` draws for an hour.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab.errors import InputError
from memlab.networks.graph import Network
from memlab.runtime.run import Run
from memlab.step.step import Step
from memlab.techniques import registry
from tests.cross import BATCH, PLACED, Technique, techniques
from tests.fuzzing import ROUND, search
from tests.networks_at_random import networks, tied
from tests.staged_networks import NETWORKS
from tests.techniques.same import differences, ran

pytestmark = pytest.mark.measures

DRAWS = 20
"""Combinations of each network that are always the same."""
SECONDS = 4.0
"""How long networks and techniques are drawn afresh."""


def with_arguments(name: str, exact: bool = True, **given: Any) -> Technique:
    """A technique with arguments that ``tests.cross`` does not give it."""
    label = " ".join((name, *(f"{key}={value}" for key, value in given.items())))
    return Technique(label, name, registry.applied(name, **given), exact)


MORE = (
    with_arguments("precision", exact=False, mode="mixed bf16", rounding="stochastic"),
    with_arguments("precision", exact=False, mode="mixed bf16", scaling=True),
    with_arguments("precision", exact=False, feature_map="fp8_e4m3fn", input="bf16"),
    with_arguments("precision", exact=False, gradient_map="bf16", parameter_gradient="fp16"),
    with_arguments("offload", policy="all", prefetch="needed"),
    with_arguments("accumulate", exact=False, parts=3),
)


def usable(net: Network) -> dict[str, list[Technique]]:
    """The techniques that this network has a use for, by family and in their order."""
    found: dict[str, list[Technique]] = {}
    for each in (*techniques(memlab.training_step(net, "sgd")), *MORE):
        if composed(net, [each]):
            found.setdefault(each.family, []).append(each)
    order = [*registry.techniques(), PLACED.family]
    return {family: found[family] for family in sorted(found, key=order.index)}


def drawn(usable: dict[str, list[Technique]], rng: Random) -> list[Technique]:
    """Three or four techniques of different families, in their order."""
    families = rng.sample([*usable], min(len(usable), rng.choice((3, 4))))
    return [rng.choice(usable[family]) for family in usable if family in families]


def composed(net: Network, chosen: Iterable[Technique], optimizer: str = "") -> Step | None:
    """The step with these techniques one after another; None where one is refused."""
    chosen = list(chosen)
    try:
        step = memlab.training_step(net, optimizer or optimizer_of(chosen))
        for each in chosen:
            step = each.rewrite(step)
    except InputError:
        return None
    return step


def optimizer_of(chosen: Iterable[Technique]) -> str:
    """The one that a technique asks for, else plain SGD."""
    return next((each.optimizer for each in chosen if each.optimizer != "sgd"), "sgd")


def run(step: Step, chosen: Iterable[Technique]) -> Run:
    return ran(step, BATCH, placement="best" if PLACED in chosen else None)


def wrong(net: Network, chosen: list[Technique]) -> list[str]:
    """What is not as planned, or not as in the step without the techniques that keep every bit;
    nothing where one of them is refused."""
    step = composed(net, chosen)
    if step is None:
        return []
    inexact = [each for each in chosen if not each.exact]
    plain = composed(net, inexact, optimizer_of(chosen))
    assert plain is not None
    after = run(step, chosen)
    return [*differences(run(plain, inexact), after), *after.nan]


def names(chosen: Iterable[Technique]) -> str:
    return " + ".join(each.name for each in chosen)


@pytest.mark.parametrize("name", NETWORKS)
def test_three_or_four_at_once(name: str) -> None:
    net, rng = NETWORKS[name], Random(name)
    there = usable(net)
    draws = [drawn(there, rng) for _ in range(DRAWS)]
    assert {names(each): found for each in draws if (found := wrong(net, each))} == {}
    assert sum(composed(net, each) is not None for each in draws) > DRAWS // 2


def test_three_or_four_at_once_on_networks_at_random() -> None:
    @ROUND
    @given(st.one_of(networks(6), tied(5)), st.integers(0, 10**6))
    def holds(net: Network, seed: int) -> None:
        rng = Random(seed)
        chosen = drawn(usable(net), rng)
        assert not wrong(net, chosen), names(chosen)
        shuffled = rng.sample(chosen, len(chosen))  # refused, or as good
        assert not wrong(net, shuffled), names(shuffled)

    search(holds, SECONDS)
