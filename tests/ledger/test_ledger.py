"""The ledger against brute force, and the questions it answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import memlab
from memlab import InputError, Ledger
from memlab.ledger.entries import BEFORE, Entry
from memlab.networks.builder import network
from memlab.networks.graph import Network
from memlab.optimizers import OPTIMIZERS
from memlab.step.step import Step
from memlab.step.storage import Size
from memlab.step.tensor import Role, Tensor
from tests.drawn import examples
from tests.networks_at_random import networks
from tests.rows import every_row

BATCHES = st.integers(1, 1000)


def bytes_at(tensor: Tensor, batch: int) -> int:
    """Bytes from the shape at a batch, not from ``Size``."""
    count = 1
    for extent in tensor.shape(batch):
        count *= extent
    return count * tensor.format.bits // 8


def brute_timeline(step: Step, *batches: int) -> list[list[int]]:
    """The plan built anew at each batch: a storage is alive at an operation if it was there or
    written by then, and is touched then or later, or stays."""
    first: dict[str, Tensor] = {}
    touched: dict[str, list[int]] = {}
    for tensor in step.live_in:
        first.setdefault(tensor.storage.name, tensor)
        touched.setdefault(tensor.storage.name, []).append(0)
    for index, op in enumerate(step.ops):
        for tensor in op.touched():
            first.setdefault(tensor.storage.name, tensor)
            touched.setdefault(tensor.storage.name, []).append(index)
    for tensor in step.live_out:
        touched[tensor.storage.name].append(len(step.ops))
    spans = {name: (min(seen), max(seen)) for name, seen in touched.items()}
    sizes = {name: [bytes_at(tensor, b) for b in batches] for name, tensor in first.items()}
    result: list[list[int]] = [[] for _ in batches]
    for index, op in enumerate(step.ops):
        alive = [sizes[name] for name, (birth, end) in spans.items() if birth <= index <= end]
        extra = [[bytes_at(t, b) for b in batches] for t in op.workspace.values()]
        for found, each in zip(result, zip(*alive, *extra, strict=True), strict=True):
            found.append(sum(each))
    return result


@given(networks(), BATCHES, st.sampled_from([*OPTIMIZERS, None]))
@examples(150)
def test_timeline_equals_brute_force(net: Network, batch: int, optimizer: str | None) -> None:
    step = memlab.training_step(net, optimizer) if optimizer else memlab.inference_step(net)
    assume(step.ops)  # inference of nothing but views has none
    ledger = memlab.plan(step)
    (brute,) = brute_timeline(step, batch)
    assert ledger.timeline(batch) == brute
    assert ledger.peak(batch) == max(brute)
    assert brute[ledger.peak_at(batch).index] == max(brute)


@pytest.mark.measures
@pytest.mark.parametrize("name", sorted(memlab.zoo.ZOO))
def test_timeline_of_every_zoo_network_equals_brute_force(name: str) -> None:
    step = memlab.training_step(memlab.zoo.build(name), "adam")
    ledger = memlab.plan(step)
    assert [ledger.timeline(batch) for batch in (1, 3, 32)] == brute_timeline(step, 1, 3, 32)


@given(networks(), BATCHES)
@examples(60)
def test_events_before_and_after_agree_with_the_timeline(net: Network, batch: int) -> None:
    ledger = memlab.plan(memlab.training_step(net))
    inside, start, end = [0] * len(ledger.rows), [], []
    live = 0
    for index in range(-1, len(ledger.rows)):
        events = [event for event in ledger.events(batch) if event.op == index]
        if index >= 0:
            start.append(live)
            inside[index] = max([live, *(event.live for event in events)])
        live = events[-1].live if events else live
        if index >= 0:
            end.append(live)
    assert inside == ledger.timeline(batch)
    assert start == ledger.before(batch)
    assert end == ledger.after(batch)
    reserved = [event.reserved for event in ledger.events(batch)]
    assert reserved == sorted(reserved)
    assert reserved[-1] == ledger.peak(batch) == ledger.reserved(batch)[-1]


@given(networks(), BATCHES, st.data())
@examples(60)
def test_roles_and_blocks_add_up_at_every_operation(
    net: Network, batch: int, data: st.DataObject
) -> None:
    ledger = memlab.plan(memlab.training_step(net))
    index = data.draw(st.integers(0, len(ledger.rows) - 1))
    total = ledger.timeline(batch)[index]
    assert sum(ledger.roles(batch, index).values()) == total
    assert sum(entry.size.at(batch) for entry in ledger.alive(index)) == total


@given(networks(), st.integers(0, 10**6))
@examples(100)
def test_fit_agrees_with_a_search(net: Network, budget: int) -> None:
    ledger = memlab.plan(memlab.training_step(net))
    fit = ledger.fit(budget)
    batch = 0
    while ledger.peak(batch + 1) <= budget:
        batch += 1
    assert fit.batch == batch
    assert fit.fits == (batch > 0)
    assert fit.needs == (ledger.peak(batch) if batch else 0)
    assert fit.peak == ledger.peak_at(batch + 1)
    assert fit.peak.nbytes == fit.fixed + (batch + 1) * fit.per_sample > budget


@every_row("name", ["resnet50", "vgg16", "googlenet_bn", "linear1"])
def test_fit_is_sharp_for_the_zoo(name: str) -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.build(name), "adam"))
    for budget in (10**6, 3 * 10**9, 12 * 10**9):
        batch = ledger.fit(budget).batch
        assert batch is not None
        assert batch == 0 or ledger.peak(batch) <= budget
        assert ledger.peak(batch + 1) > budget


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_memory_below_the_floor_holds_0_images_and_says_so(optimizer: str) -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.build("vgg16"), optimizer))
    floor = max(ledger.line()[0].tolist())
    for budget in (0, 1, floor - 1):
        fit = ledger.fit(budget)
        assert (fit.batch, fit.needs, fit.fits) == (0, 0, False)
        assert str(fit).endswith("at any batch, so it holds 0 images.")
    assert (ledger.fit(floor).batch, "holds 0" in str(ledger.fit(floor))) == (0, False)


def test_fit_names_the_block_that_grows_most_at_the_peak_that_does_not_fit() -> None:
    net = network("hand", features=20).linear(10, name="wide").linear(1).squared_error()
    ledger = memlab.plan(memlab.training_step(net, "sgd"))
    assert ledger.peak_at(1000).row.name == "backward of fc1"
    growing = {e.name: e.size.per_sample for e in ledger.alive(4) if e.size.per_sample}
    assert growing == {"input": 80, "wide": 40, "gradient of fc1": 4, "gradient of wide": 40}
    fit = ledger.fit(ledger.peak(1000))
    assert (fit.batch, fit.per_sample) == (1000, 164)
    assert fit.binds is not None
    assert fit.binds.name == "input"


def test_residents_belong_to_the_layer_and_the_stage_that_own_them() -> None:
    x = network("stages", image=(3, 8, 8)).conv(4, 3, name="stem")
    with x.stage("one"):
        x = x.conv(4, 1, name="one.conv").batch_norm(name="one.conv.norm")
    ledger = memlab.plan(memlab.training_step(x.flatten().linear(2).cross_entropy(), "adam"))
    found = {e.name: (e.layer, e.stage) for e in ledger.entries if e.birth < 0}
    for name, layer, stage in [
        ("stem.weight", "stem", ""),
        ("one.conv.weight", "one.conv", "one"),
        ("one.conv.bias.second_moment", "one.conv", "one"),
        ("one.conv.norm.weight.first_moment", "one.conv.norm", "one"),
        ("one.conv.norm.running_var", "one.conv.norm", "one"),
        ("input", "", ""),
        ("labels", "", ""),
    ]:
        assert found[name] == (layer, stage)
    owners = {layer for layer, _ in found.values()}
    assert owners == {"stem", "one.conv", "one.conv.norm", "fc1", ""}


def test_workspace_can_be_left_out() -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.vgg16(), "adam"))
    assert ledger.peak(4, workspace=False) < ledger.peak(4)
    assert ledger.peak(4, memory="host") == 0


def test_huge_batches_do_not_overflow() -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.resnet50()))
    small, large = ledger.timeline(1), ledger.timeline(10**15)
    each = [(b - a) % (10**15 - 1) for a, b in zip(small, large, strict=True)]
    assert each == [0] * len(each)
    assert max(large) > 2**63


def test_huge_networks_do_not_overflow() -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.resnet50(classes=10**15)))
    assert ledger.peak(1) == sum(ledger.roles(1).values()) > 2**63
    assert ledger.timeline(3) == brute_timeline_of(ledger, 3)


@every_row("near", range(-3, 4))
@every_row("power", [53, 63, 64])
def test_figures_beside_the_limits_of_64_bits_are_exact(power: int, near: int) -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.linear1()))
    large = Entry("large", Role.PARAMETER, Size(2**power + near, 3), BEFORE, len(ledger.rows))
    ledger = replace(ledger, entries=(*ledger.entries, large))
    for batch in (1, 10**13):
        timeline = brute_timeline_of(ledger, batch)
        assert ledger.timeline(batch) == timeline
        assert ledger.reserved(batch) == list(accumulate(timeline, max))
        assert ledger.peak(batch) == max(timeline) == sum(ledger.roles(batch).values())
        assert ledger.fit(max(timeline)).batch == batch


def brute_timeline_of(ledger: Ledger, batch: int) -> list[int]:
    indices = range(len(ledger.rows))
    return [sum(e.size.at(batch) for e in ledger.alive(index)) for index in indices]


def test_why_names_maker_and_waiter() -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.resnet50()))
    why = ledger.why(32)
    assert why.nbytes == why.peak.nbytes == ledger.peak(32)
    first = next(block for block in why.blocks if block.entry.name == "conv1.relu")
    assert (first.made_by, first.needed_by) == ("conv1.relu", "backward of conv1.relu")
    assert "32·64·112·112·4 B = 102,760,448 B" in str(why)


def test_the_input_dies_at_its_last_reader() -> None:
    net = network("n", image=(3, 8, 8)).conv(4, 3).relu().flatten().linear(2).cross_entropy()
    ledger = memlab.plan(memlab.training_step(net))
    entry = next(e for e in ledger.entries if e.name == "input")
    assert ledger.needed_by(entry) == "backward of conv1"
    labels = next(e for e in ledger.entries if e.name == "labels")
    assert (labels.size, ledger.needed_by(labels)) == (Size(0, 8), "backward of loss")


def test_a_limited_plan_refuses_other_batches() -> None:
    full = memlab.plan(memlab.training_step(memlab.zoo.mnist_cnn()))
    limited = Ledger(full.rows, full.entries, batches=range(8, 9))
    assert limited.peak(8) == full.peak(8)
    with pytest.raises(InputError, match="plan again at that batch"):
        limited.peak(9)


def test_fit_of_a_limited_plan_stays_inside_it() -> None:
    full = memlab.plan(memlab.training_step(memlab.zoo.mnist_cnn()))
    limited = Ledger(full.rows, full.entries, batches=range(8, 17))
    assert limited.fit("1 GB").batch == 16
    assert "for which this plan holds" in str(limited.fit("1 GB"))
    assert limited.fit(full.peak(9)).batch == 9
    assert limited.fit(full.peak(7)).batch == 0
    assert "Not even batch 8" in str(limited.fit(full.peak(7)))
    for batches in (range(3, 3), range(1, 9, 2)):
        with pytest.raises(InputError, match="batches in a row"):
            Ledger(full.rows, full.entries, batches=batches)


@every_row("budget", ["12 apples", -1, 1.5, True, float("nan"), None])
def test_a_budget_that_is_none_is_one_sentence(budget: object) -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.linear1()))
    with pytest.raises(InputError, match=r"is no amount of memory|has no unit"):
        ledger.fit(budget)  # type: ignore[arg-type]  # wrong on purpose


def test_an_unknown_memory_is_one_sentence() -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.linear1()))
    for ask in (ledger.peak, ledger.roles, ledger.fit):
        with pytest.raises(InputError, match="unknown memory 'gpu'"):
            ask(8, memory="gpu")
    assert ledger.fit(10, memory="host").batch is None


@every_row("given", ["resnet50", None, memlab.network("x", features=3)])
def test_what_is_no_step_is_one_sentence(given: object) -> None:
    with pytest.raises(InputError, match="a step is built from a network"):
        memlab.training_step(given)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InputError, match="a plan is made of a step"):
        memlab.plan(given)  # type: ignore[arg-type]  # wrong on purpose


@every_row("batch", [0, -3, 1.5, "8", None, True])
def test_bad_batches_give_one_sentence(batch: object) -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.linear1()))
    with pytest.raises(InputError, match="batch must be"):
        ledger.peak(batch)  # type: ignore[arg-type]  # wrong on purpose


def test_a_plan_of_a_small_network_by_hand() -> None:
    """One linear layer, two inputs and one output, SGD: every byte counted on paper."""
    net = network("hand", features=2).linear(1).squared_error()
    ledger = memlab.plan(memlab.training_step(net, "sgd"))
    # weight 8, bias 4; input 8 B, target 4 B; y 4 B; loss 4; dy 4 B; gradients 8 + 4
    assert [row.name for row in ledger.rows] == [
        "fc1",
        "loss",
        "backward of loss",
        "backward of fc1",
        "update of fc1",
    ]
    b = 10
    assert ledger.timeline(b) == [
        12 + 8 * b + 4 * b + 4 * b,
        12 + 8 * b + 4 * b + 4 * b + 4,
        12 + 8 * b + 4 * b + 4 * b + 4 + 4 * b,
        12 + 8 * b + 4 + 4 * b + 12,
        12 + 4 + 12,
    ]
    assert ledger.roles(b)[Role.GRADIENT_MAP] == 4 * b


def test_a_layer_lists_what_it_makes_and_owns() -> None:
    ledger = memlab.plan(memlab.training_step(memlab.zoo.mnist_cnn()))
    blocks = {block.entry.name: block for block in ledger.of("conv1", 32).blocks}
    assert blocks["conv1"].nbytes == 32 * 64 * 28 * 28 * 4
    assert (blocks["conv1"].made_by, blocks["conv1"].needed_by) == ("conv1", "conv1.relu")
    assert set(blocks) >= {"conv1.weight", "gradient of conv1.weight", "conv1.weight.momentum"}
    with pytest.raises(InputError, match="unknown layer or block 'conv9'"):
        ledger.of("conv9", 32)
