"""Recompute: every way gives the plain step's results, bit for bit, with the bytes it plans."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import memlab
from memlab.clocks import roofline
from memlab.errors import InputError
from memlab.hardware import Device, SourcedFigure
from memlab.networks.graph import Network
from memlab.networks.zoo import build
from memlab.runtime.run import Run
from memlab.step.lifetimes import BEFORE
from memlab.step.op import Phase
from memlab.step.step import Step
from memlab.step.storage import DEVICE
from memlab.step.tensor import Role
from memlab.techniques.application_order import AGAIN
from memlab.techniques.recompute import (
    chain_optimum,
    exact_order,
    repeated_operations,
    segments,
)
from memlab.techniques.recompute.chain import Schedule, simulate
from memlab.techniques.recompute.methods import tasks_of
from memlab.techniques.recompute.order_memory import Liveness, cost
from memlab.techniques.recompute.step_as_chain import Cuts, cuts
from tests.drawn import examples
from tests.networks_at_random import networks, tied
from tests.rows import every_row
from tests.staged_networks import NETWORKS, step
from tests.techniques.same import differences, ran

BATCH = 3
WAYS: dict[str, dict[str, Any]] = {
    "every": {},
    "every 2": {"k": 2},
    "cheap": {},
    "drop": {"layers": ["conv2d"]},
    "slots": {"k": 2},
    "greedy": {"batch": BATCH},
    "chain": {"batch": BATCH},
}


def plain(depth: int = 6) -> Step:
    """A chain in which each layer has as many bytes as the one before, and few parameters."""
    x = memlab.network("plain", image=(4, 16, 16))
    for i in range(depth):
        x = x.conv(4, 3, pad=1, name=f"conv{i}").batch_norm(name=f"norm{i}")
        x = x.relu(name=f"relu{i}").dropout(0.1, name=f"drop{i}")
    return memlab.training_step(x.avg_pool("all").flatten().linear(3).cross_entropy())


def rewritten(step: Step, way: str) -> Step:
    return memlab.recompute(step, way.split()[0], **WAYS[way])


@pytest.mark.measures
@pytest.mark.parametrize(("network", "way"), list(product(NETWORKS, WAYS)))
def test_results_are_the_same_bit_for_bit(network: str, way: str) -> None:
    before = step(network, "momentum")
    kinds = {op.kind for op in before.ops} & {"conv2d", "linear", "batch_norm", "gelu"}
    given = {"layers": kinds} if way == "drop" else WAYS[way]
    after = memlab.recompute(before, way.split()[0], **given)
    reference = ran(before, BATCH)
    assert not differences(reference, ran(after, BATCH))
    assert not differences(reference, ran(memlab.in_place(after), BATCH))


@pytest.mark.measures
@pytest.mark.parametrize("way", WAYS)
def test_less_memory_for_more_operations(way: str) -> None:
    before = plain()
    after = rewritten(before, way)
    assert memlab.plan(after).peak(BATCH) < memlab.plan(before).peak(BATCH)
    assert len(after.ops) > len(before.ops)
    assert after.notes == (f"recompute ({way.split()[0]})",)
    assert not differences(ran(before, BATCH), ran(after, BATCH))


@pytest.mark.parametrize("way", ["greedy", "chain"])
def test_what_seconds_decide_says_whose_they_are(way: str) -> None:
    before = plain(3)
    least = memlab.plan(memlab.recompute(before, way, batch=8)).peak(8)
    by = roofline.by(roofline.machine("recorded"))
    for device, said in ((None, f", by {by}"), ("recorded", f", by {by}"), ("titan x", "")):
        after = memlab.recompute(before, way, batch=8, budget=least, device=device)
        assert after.notes == (f"recompute ({way}{said})",)


def test_a_batch_norm_that_runs_again_moves_no_statistics_and_keeps_those_of_the_batch() -> None:
    after = memlab.recompute(plain(), "every")
    (first, second) = (op for op in after.ops if op.name.startswith("norm0"))
    assert second.name == "norm0 again"
    assert first.updates.keys() == {"running_mean", "running_var"}
    assert not second.updates
    assert second.reads["mean"] is first.writes["mean"]
    assert second.phase is Phase.BACKWARD


@pytest.mark.measures
def test_dropout_that_runs_again_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another key it would draw others, and the results would differ."""
    before, right = plain(2), repeated_operations._Versions.run

    def forgetful(self: repeated_operations._Versions, op: Any, index: int) -> Any:
        made = right(self, op, index)
        if op.kind == "dropout" and AGAIN in made.attributes:
            return made.__class__(**{f: getattr(made, f) for f in made.__slots__} | {
                "attributes": {**made.attributes, "draw": made.name}})  # fmt: skip
        return made

    monkeypatch.setattr(repeated_operations._Versions, "run", forgetful)
    wrong = memlab.recompute(before, "drop", layers=["dropout", "relu"])
    assert differences(ran(before, BATCH), ran(wrong, BATCH))


def test_the_cuts_are_where_one_kept_map_is_handed_on() -> None:
    found = cuts(step("branches"))
    assert found.names[0] == "conv1"
    assert "concat1" in found.names
    inner = {"conv2", "conv3", "pool2", "norm2"}
    assert inner.isdisjoint(found.names)
    everything = [i for part in found.parts for i in (*part.forward, *part.backward)]
    assert sorted([*everything, *found.rest]) == list(range(len(found.step.ops)))


def exact(found: Cuts) -> bool:
    """Whether the chain is one to the byte: what goes before the end of the step is read by the
    backward of the first part that reads it, or by that part alone."""
    part = {
        index: (number, index in each.backward)
        for number, each in enumerate(found.parts)
        for index in (*each.forward, *each.backward)
    }
    for name, life in found.step.lifetimes.items():
        used = {part.get(n, (-1, True)) for n in found.step.lifetimes.uses[name].all}
        goes = life.birth == BEFORE and life.death < len(found.step.ops)
        if goes and len({number for number, _ in used}) > 1 and not min(used, key=last)[1]:
            return False
    return True


def handed_on(found: Cuts) -> bool:
    """Whether each part needs what the part before hands on, to make again what its backward
    reads. Where one does not, a step leaves out a run of that part which a chain counts."""
    ops = found.step.ops
    for before, part in pairwise(found.parts):
        read = {each.storage.name for n in part.backward for each in ops[n].reads.values()}
        for n in reversed(part.forward):
            if not read.isdisjoint(each.storage.name for each in ops[n].writes.values()):
                read |= {each.storage.name for each in ops[n].reads.values()}
        made = {each.name: each.storage.name for n in before.forward
                for each in ops[n].writes.values()}  # fmt: skip
        if made[before.output] not in read:
            return False
    return True


def last(use: tuple[int, bool]) -> tuple[int, bool]:
    """Of one part, its backward first."""
    return use[0], not use[1]


def agree(
    before: Step, batch: int, schedules: Iterable[Schedule], in_place: bool, timed: bool = True
) -> None:
    """The chain takes what the step takes that follows from a schedule, in bytes and, where it is
    ``timed``, in time; elsewhere it takes no less."""
    found = cuts(before)
    chain, beside = found.chain(batch, in_place), found.throughout(batch)
    lives, rest = Liveness(before, batch, in_place=in_place), [before.ops[n] for n in found.rest]
    for schedule in schedules:
        after = repeated_operations.resequenced(before, found.order(schedule))
        ledger = memlab.plan(memlab.in_place(after) if in_place else after)
        used = simulate(chain, schedule)
        if exact(found):
            assert used.peak + beside == ledger.peak(batch)
        assert used.peak + beside >= ledger.peak(batch)
        assert used.cost + cost(rest, batch) >= cost(after.ops, batch)
        if timed:
            assert used.cost + cost(rest, batch) == cost(after.ops, batch)
        assert lives.of(found.order(schedule)).timeline.tolist() == ledger.timeline(batch)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("name", ["resnet18", "vgg11", "googlenet", "lstm", "gpt_small"])
def test_a_chain_takes_what_its_step_takes(name: str, in_place: bool) -> None:
    small: dict[str, Any] = {"image": 64, "classes": 10} if name[0] in "rv" else {}
    before = memlab.training_step(build(name, **small))
    found = cuts(before)
    chain = found.chain(8, in_place)
    points = chain_optimum.frontier(chain)
    assert exact(found)
    tried = [chain_optimum.least_time(chain, points[i][0]) for i in (0, len(points) // 2, -1)]
    agree(before, 8, [*tried, segments.sqrt(chain), segments.greedy_search(chain)], in_place)


@st.composite
def persistent(draw: st.DrawFn, first: int, last: int) -> list[int]:
    """A schedule of some stages in which what is stored stays until its last backward."""
    if first > last:
        return []
    split = draw(st.integers(first, last))
    if split == first:
        return [first, *draw(persistent(first + 1, last)), -first]
    inner = draw(persistent(split, last)), draw(persistent(first, split - 1))
    return [*range(first, split), *inner[0], *inner[1]]


@given(st.one_of(networks(12), tied(10)), st.integers(1, 4), st.booleans(), st.data())
@examples(40)
def test_any_chain_takes_what_its_step_takes(
    net: Network, batch: int, in_place: bool, data: st.DataObject
) -> None:
    before = memlab.training_step(net, "sgd")
    assume(any(op.phase is Phase.BACKWARD for op in before.ops))
    found = cuts(before)
    chain, count = found.chain(batch, in_place), len(found.parts)
    points = chain_optimum.frontier(chain)
    drawn = [data.draw(persistent(1, count)) for _ in range(3)]
    kth = segments.every_kth(chain, data.draw(st.integers(1, count)))
    best = chain_optimum.least_time(chain, data.draw(st.sampled_from(points))[0])
    agree(before, batch, [*map(tuple, drawn), kth, best], in_place, handed_on(found))


@pytest.mark.parametrize("way", ["greedy", "chain"])
def test_a_budget_is_kept_and_the_minimum_is_named(way: str) -> None:
    before = plain()
    least = memlab.plan(memlab.recompute(before, way, batch=8)).peak(8)
    most = memlab.plan(before).peak(8)
    costs = []
    for budget in range(least, most + 1, max(1, (most - least) // 6)):
        after = memlab.recompute(before, way, batch=8, budget=budget)
        assert memlab.plan(after).peak(8) <= budget
        costs.append(len(after.ops))
    assert costs[0] > costs[-1]
    with pytest.raises(InputError, match=f"the least that one takes is {least:,} B"):
        memlab.recompute(before, way, batch=8, budget=least - 1)


def after_in_place(step: Step, batch: int) -> int:
    return memlab.plan(memlab.in_place(step)).peak(batch)


@pytest.mark.measures
@pytest.mark.parametrize("way", ["greedy", "chain"])
def test_a_budget_that_in_place_keeps_is_planned_for(way: str) -> None:
    before = memlab.training_step(build("resnet18", image=64, classes=10))
    least = memlab.plan(memlab.recompute(before, way, batch=8)).peak(8)
    smallest = memlab.recompute(before, way, batch=8, in_place=True)
    lower, most = after_in_place(smallest, 8), after_in_place(before, 8)
    assert lower < least
    also = re.escape(f"{lower:,} B with in place after it (in_place=True, --in-place); try one of")
    with pytest.raises(InputError, match=f"takes is {least:,} B, or {also} these budgets, or a"):
        memlab.recompute(before, way, batch=8, budget=lower)
    with pytest.raises(InputError, match=f"takes is {lower:,} B; try that, or a smaller batch"):
        memlab.recompute(before, way, batch=8, budget=lower - 1, in_place=True)
    counts = []
    for budget in range(lower, most + 1, max(1, (most - lower) // 4)):
        after = memlab.recompute(before, way, batch=8, budget=budget, in_place=True)
        assert after_in_place(after, 8) <= budget
        counts.append(cost(after.ops, 8))
        if budget >= least:
            alone = memlab.recompute(before, way, batch=8, budget=budget)
            assert counts[-1] <= cost(alone.ops, 8)
    assert counts[0] > counts[-1]
    assert not differences(ran(before, 8), ran(memlab.in_place(after), 8))


def test_an_exact_order_for_a_step_in_place() -> None:
    before = branch()
    smallest = memlab.recompute(before, "exact", batch=8)
    other = memlab.recompute(before, "exact", batch=8, in_place=True)
    assert after_in_place(other, 8) <= after_in_place(smallest, 8)
    budget = after_in_place(other, 8)
    within = memlab.recompute(before, "exact", batch=8, budget=budget, in_place=True)
    assert after_in_place(within, 8) <= budget


@given(st.one_of(networks(10), tied(8)), st.integers(1, 3), st.sampled_from(["greedy", "chain"]))
@examples(15)
def test_a_budget_in_place_is_kept_and_its_minimum_is_named(
    net: Network, batch: int, way: str
) -> None:
    before = memlab.training_step(net, "sgd")
    assume(any(op.phase is Phase.BACKWARD for op in before.ops))
    small = memlab.recompute(before, way, batch=batch, in_place=True)
    least = after_in_place(small, batch)
    assert least <= after_in_place(memlab.recompute(before, way, batch=batch), batch)
    for budget in (least, (least + after_in_place(before, batch)) // 2):
        within = memlab.recompute(before, way, batch=batch, budget=budget, in_place=True)
        assert after_in_place(within, batch) <= budget
    if least:
        with pytest.raises(InputError, match=f"the least that one takes is {least:,} B; try that"):
            memlab.recompute(before, way, batch=batch, budget=least - 1, in_place=True)


def test_at_any_budget_the_chain_takes_no_longer_than_the_greedy_search() -> None:
    before = memlab.training_step(build("resnet18", image=64, classes=10))
    least = memlab.plan(memlab.recompute(before, "greedy", batch=16)).peak(16)
    for budget in (least, 21 * least // 20, 11 * least // 10, 2 * least):
        costs = {
            way: cost(memlab.recompute(before, way, batch=16, budget=budget).ops, 16)
            for way in ("greedy", "chain")
        }
        assert costs["chain"] <= costs["greedy"]


def test_only_what_is_kept_is_not_run_again() -> None:
    after = memlab.recompute(plain(3), "keep", layers=["drop0"])
    names = [op.name for op in after.ops if op.name.endswith("again")]
    assert names == ["conv0 again", "norm0 again", "relu0 again"]


def test_what_was_made_for_one_batch_holds_for_no_other() -> None:
    after = memlab.recompute(plain(), "chain", batch=4)
    memlab.plan(after).peak(4)
    with pytest.raises(InputError, match="this plan holds for batch 4 to 4, got 5"):
        memlab.plan(after).peak(5)


def one_layer() -> Network:
    return memlab.network("one", features=4).linear(3).cross_entropy()


@every_row("way", ["every", "cheap", "greedy", "chain", "exact"])
def test_a_network_of_one_layer_has_nothing_to_run_again(way: str) -> None:
    before = memlab.training_step(one_layer())
    given: dict[str, Any] = {"batch": 2} if way in ("greedy", "chain", "exact") else {}
    assert memlab.recompute(before, way, **given) == before


def test_what_has_no_backward_stays_as_it_is() -> None:
    fixed = memlab.network("fixed", features=4).tanh().relu().squared_error()
    for before in (step("branches", "inference"), memlab.training_step(fixed)):
        assert memlab.recompute(before, "every") == before
        assert memlab.recompute(before, "chain", batch=2) == before


@pytest.mark.measures
@given(networks(5), st.integers(1, 3))
@examples(10)
def test_the_exact_order_is_no_worse_than_any_other(net: Network, batch: int) -> None:
    """In bytes without a budget, in time with one."""
    before = memlab.training_step(net, "sgd")
    assume(any(op.phase is Phase.BACKWARD for op in before.ops))
    others = [memlab.recompute(before, way, batch=batch) for way in ("chain", "greedy")]
    others += [memlab.recompute(before, way) for way in ("every", "cheap")]
    others += [memlab.recompute(before, "every", k=1), before]
    exact = memlab.recompute(before, "exact", batch=batch)
    assert memlab.plan(exact).peak(batch) <= min(memlab.plan(each).peak(batch) for each in others)
    for each in others:
        budget = memlab.plan(each).peak(batch)
        within = memlab.recompute(before, "exact", batch=batch, budget=budget)
        assert memlab.plan(within).peak(batch) <= budget
        assert cost(within.ops, batch) <= cost(each.ops, batch)


@given(st.one_of(networks(12), tied(10)), st.integers(1, 4), st.data())
@examples(40)
def test_tasks_take_what_their_step_takes(net: Network, batch: int, data: st.DataObject) -> None:
    before = memlab.training_step(net, "sgd")
    assume(any(op.phase is Phase.BACKWARD for op in before.ops))
    inputs, tasks, fixed = tasks_of(before, batch)
    order = list[int]()
    for number in range(len(before.ops)):
        earlier = [n for n in range(min(number, len(tasks))) if tasks[n].again]
        if earlier and number < len(tasks):
            order += data.draw(st.lists(st.sampled_from(earlier), max_size=3))
        order.append(number)
    made, read = (
        [*map(each, before.ops)] for each in (repeated_operations.made, repeated_operations.read)
    )
    order = repeated_operations.without_idle(order, made, read)
    after = repeated_operations.resequenced(before, order)
    ran = [number for number in order if number < len(tasks)]
    numbers = [*range(len(inputs)), *(number + len(inputs) for number in ran)]
    used = exact_order.simulate([*inputs, *tasks], numbers, fixed)
    assert used.peak == max(memlab.plan(after).timeline(batch)[: len(ran)])
    assert used.cost == cost(after.ops[: len(ran)], batch)


def test_a_loss_counts_from_where_it_is_born() -> None:
    """Its 4 B are the difference between the best order within a budget and the next."""
    x = memlab.network("two", image=(1, 3, 3))
    first, pooled = x.conv(1, 1, pad=1, bias=False), x.avg_pool(1, 1)
    second = first.conv(1, 1, pad=1, bias=False)
    net = pooled.flatten().concat(second.flatten()).squared_error()
    before = memlab.training_step(net, "sgd")
    every = memlab.recompute(before, "every")
    budget = memlab.plan(every).peak(1)
    within = memlab.recompute(before, "exact", batch=1, budget=budget)
    assert cost(within.ops, 1) <= cost(every.ops, 1)


@given(st.one_of(networks(12), tied(10)), st.integers(1, 4), st.floats(0, 1))
@examples(40)
def test_the_chain_keeps_any_budget_and_recomputes_only_below_the_plain_peak(
    net: Network, batch: int, part: float
) -> None:
    before = memlab.training_step(net, "sgd")
    assume(any(op.phase is Phase.BACKWARD for op in before.ops))
    smallest = memlab.recompute(before, "chain", batch=batch)
    least, most = (memlab.plan(each).peak(batch) for each in (smallest, before))
    assert least <= most
    assert memlab.recompute(before, "chain", batch=batch, budget=most) == before
    budget = least + int(part * (most - least))
    for way in ("chain", "greedy"):
        try:
            after = memlab.recompute(before, way, batch=batch, budget=budget)
        except InputError:
            assert way == "greedy"  # its own least may be more
            continue
        assert memlab.plan(after).peak(batch) <= budget
    with pytest.raises(InputError, match=f"the least that one takes is {least:,} B"):
        memlab.recompute(before, "chain", batch=batch, budget=least - 1)


@every_row(
    ("given", "sentence"),
    [
        ({"how": "sqrt"}, "unknown way to recompute 'sqrt'"),
        ({"how": "slots"}, "recompute 'slots' needs k; try memlab.recompute"),
        ({"how": "cheap", "k": 2}, "recompute 'cheap' takes no k"),
        ({"how": "every", "budget": 3}, "recompute 'every' takes no budget"),
        ({"how": "every", "in_place": True}, "recompute 'every' takes no in_place"),
        ({"how": "chain", "batch": 2, "in_place": "yes"}, "in_place must be True or False, got 'y"),
        ({"how": "every", "k": 0}, "k must be at least 1, got 0"),
        ({"how": "every", "k": 99}, "k must be at most the"),
        ({"how": "chain"}, "recompute 'chain' needs batch"),
        ({"how": "chain", "batch": 2, "budget": 0}, "the least that one takes is"),
        ({"how": "chain", "batch": 2, "budget": "lots"}, "lots"),
        ({"how": "keep", "layers": ["conv9"]}, "unknown place to cut 'conv9'"),
        ({"how": "drop", "layers": ["conv9"]}, "unknown operation or kind 'conv9'"),
        ({"how": "drop", "layers": "rel"}, "unknown operation or kind 'rel'; did you mean 'relu'"),
        ({"how": "drop", "layers": 5}, r"layers must be a list, got 5; try \['relu1'\]"),
        ({"how": "keep", "layers": [["conv1"]]}, r"layers are several names, got \[\['conv1'\]\]"),
    ],
)
def test_bad_input_gives_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        memlab.recompute(plain(), **given)
    assert "\n" not in str(caught.value)


def test_a_layer_named_as_what_is_made_again_gives_one_sentence() -> None:
    x = memlab.network("again", sequence=(1, 4)).layer_norm(name="n").linear(1, name="n.mean again")
    before = memlab.training_step(x.flatten().linear(3).cross_entropy())
    with pytest.raises(InputError, match=r"two blocks of memory are named 'n.mean again'"):
        memlab.recompute(before, k=1)


def test_it_runs_once_and_before_in_place() -> None:
    with pytest.raises(InputError, match="recompute comes before in_place, and this step has in_"):
        memlab.recompute(memlab.in_place(plain()))
    with pytest.raises(InputError, match="this step recomputes already; start from the step"):
        memlab.recompute(memlab.recompute(plain()))


@pytest.mark.measures
@pytest.mark.parametrize("mode", ["bf16", "mixed fp16"])
@pytest.mark.parametrize("network", NETWORKS)
def test_it_comes_after_precision(network: str, mode: str) -> None:
    before = memlab.precision(step(network, "sgd"), mode)
    after = memlab.recompute(before, "every", k=1)
    assert not differences(ran(before, 2), ran(memlab.in_place(after), 2))
    with pytest.raises(InputError, match="precision comes before recompute"):
        memlab.precision(memlab.recompute(step(network), "slots", k=1), mode)


def activations(run: Run) -> int:
    """The most bytes of maps and their gradients inside one operation, measured."""
    roles = (Role.FEATURE_MAP, Role.GRADIENT_MAP)
    lines = [run.measured.role_lines[DEVICE, role] for role in roles]
    fixed, each = (sum(columns) for columns in zip(*lines, strict=True))
    return int((fixed + run.batch * each).max())


@pytest.mark.measures
def test_an_rnn_of_1000_steps_takes_a_20th_of_the_activations() -> None:
    before = memlab.training_step(memlab.zoo.rnn(steps=1000, features=4, hidden=32, classes=3))
    after = memlab.in_place(memlab.recompute(before, "slots", k=47))
    one, other = ran(before, 2), ran(after, 2)
    assert not differences(one, other)
    assert 20 * activations(other) <= activations(one)


def branch() -> Step:
    """A small step that is no chain: nowhere between its ends is one map alone handed on."""
    first = x = memlab.network("branch", image=(2, 8, 8)).conv(6, 3, pad=1, name="first")
    for _ in range(3):
        x = x.relu().conv(6, 3, pad=1)
    return memlab.training_step(x.add(first).avg_pool("all").flatten().cross_entropy(), "sgd")


@pytest.mark.measures
def test_the_exact_order_is_least_where_there_are_no_stages() -> None:
    before = branch()
    exact = memlab.recompute(before, "exact", batch=8)
    others = [memlab.recompute(before, way, batch=8) for way in ("chain", "greedy")]
    least = memlab.plan(exact).peak(8)
    assert least < min(memlab.plan(each).peak(8) for each in (before, *others))
    assert not differences(ran(before, 8), ran(exact, 8))
    faster = memlab.recompute(before, "exact", batch=8, budget=memlab.plan(before).peak(8))
    assert faster == before
    with pytest.raises(InputError, match=f"the least that one takes is {least:,} B"):
        memlab.recompute(before, "exact", batch=8, budget=least - 1)


def test_a_step_too_large_for_the_exact_order_gives_one_sentence() -> None:
    with pytest.raises(InputError, match="an exact order is found for 1 to 24 tasks, got"):
        memlab.recompute(plain(), "exact", batch=2)


@given(st.one_of(networks(12), tied(10)), st.integers(1, 3))
@examples(25)
def test_the_chain_is_never_worse_than_segments(net: Network, batch: int) -> None:
    """In bytes without a budget; within the bytes of each of them, in time."""
    before = memlab.training_step(net, "sgd")
    assume(any(op.phase is Phase.BACKWARD for op in before.ops) and exact(cuts(before)))
    least = memlab.plan(memlab.recompute(before, "chain", batch=batch)).peak(batch)
    for other in (memlab.recompute(before), memlab.recompute(before, "greedy", batch=batch)):
        peak = memlab.plan(other).peak(batch)
        assert least <= peak
        within = memlab.recompute(before, "chain", batch=batch, budget=peak)
        assert memlab.plan(within).peak(batch) <= peak
        assert cost(within.ops, batch) <= cost(other.ops, batch)


def test_seconds_are_of_the_machine_that_is_named() -> None:
    """Where bytes are slow, as on this one, what moves few of them runs again."""
    slow = Device("slow", "a machine of slow memory", SourcedFigure(10**9, "stated"), "by hand",
                  SourcedFigure(10**6, "stated"), {"fp32": SourcedFigure(10**15,
                      "stated")})  # fmt: skip
    before = memlab.training_step(memlab.zoo.build("vgg11", image=32))
    own = cost(before.ops, 8, slow)
    assert own == pytest.approx(1e9 * roofline.total(before, 8, slow), rel=1e-6)
    assert own > 100 * cost(before.ops, 8)
    least, most = (memlab.plan(each).peak(8) for each in (
        memlab.recompute(before, "chain", batch=8), before))  # fmt: skip
    budget = (least + most) // 2
    found = {
        name: memlab.recompute(before, "chain", batch=8, budget=budget, device=machine)
        for name, machine in (("slow", slow), ("recorded", None))
    }
    assert cost(found["slow"].ops, 8, slow) <= cost(found["recorded"].ops, 8, slow)
    assert cost(found["recorded"].ops, 8) <= cost(found["slow"].ops, 8)
    with pytest.raises(InputError, match="recompute 'every' takes no device"):
        memlab.recompute(before, device="titan x")
