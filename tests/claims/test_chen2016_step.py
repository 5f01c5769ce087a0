"""The counting of 2016: its table by hand, and what techniques make of it."""

from __future__ import annotations

from math import prod

import pytest

import memlab
from memlab import InputError
from memlab.claims.chen2016_step import KEEPS, chen2016
from memlab.networks.builder import Handle, network
from memlab.networks.graph import Network
from memlab.step.step import Step
from memlab.step.tensor import Role
from tests.rows import every_row


def start() -> Handle:
    return network("small", image=(1, 4, 4))


def three_layers() -> Network:
    """Per sample: input 16 values, conv1 and relu1 32 each, fc1 and the softmax 3 each."""
    return start().conv(2, 3, pad="same").relu().flatten().linear(3).cross_entropy()


def block() -> Network:
    """A map that a convolution and a sum read."""
    x = start().conv(2, 3, pad="same")
    y = x.conv(2, 3, pad="same").batch_norm().add(x).relu()
    return y.max_pool(2).flatten().linear(3).cross_entropy()


def operands(step: Step) -> dict[str, list[list[str]]]:
    """What every operation reads, writes and updates, by the names of the storages."""
    return {
        op.name: [
            [tensor.storage.name for tensor in each.values()]
            for each in (op.reads, op.writes, op.updates)
        ]
        for op in step.ops
    }


def spelt_out(step: Step, batch: int) -> list[int]:
    """Bytes alive inside every operation: what is touched before and after it, or stays."""
    sizes = {each.storage.name: each.storage.size for op in step.ops for each in op.touched()}
    touched = [{each.storage.name for each in op.touched()} for op in step.ops]
    before = {each.storage.name for each in step.live_in}
    after = {each.storage.name for each in step.live_out}
    return [
        sum(
            sizes[name].at(batch)
            for name in before.union(*touched[: at + 1]) & after.union(*touched[at:])
        )
        for at in range(len(touched))
    ]


def test_the_operations_of_three_layers() -> None:
    assert operands(chen2016(three_layers())) == {
        "conv1": [["input"], ["conv1"], []],
        "relu1": [["conv1"], ["relu1"], []],
        "fc1": [["relu1"], ["fc1"], []],
        "loss": [["fc1"], ["loss"], []],
        "backward of loss": [["loss"], ["gradient of fc1"], []],
        "backward of fc1": [["gradient of fc1", "relu1"], ["gradient of relu1"], []],
        "backward of relu1": [["gradient of relu1", "relu1"], ["gradient of conv1"], []],
        "backward of conv1": [["gradient of conv1", "input"], [], []],
    }


@every_row(
    ("rewrite", "values"),
    [
        (lambda step: step, [48, 80, 51, 54, 54, 83, 112, 48]),
        (memlab.in_place, [48, 48, 51, 54, 54, 83, 80, 48]),
        (memlab.no_reuse, [48, 80, 83, 86, 89, 121, 153, 153]),
        (lambda step: memlab.no_reuse(memlab.in_place(step)), [48, 48, 51, 54, 57, 89, 89, 89]),
    ],
)
def test_the_timeline_of_three_layers_by_hand(rewrite, values: list[int]) -> None:
    ledger = memlab.plan(rewrite(chen2016(three_layers())))
    assert ledger.timeline(batch=5) == [5 * 4 * each for each in values]


def test_the_gradients_of_an_add_are_copies_that_others_add_to() -> None:
    found = operands(chen2016(block()))
    assert found["backward of add1"] == [
        ["gradient of add1"],
        ["gradient of norm1", "gradient of conv1"],
        [],
    ]
    assert found["backward of conv2"] == [
        ["gradient of conv2", "conv1"],
        [],
        ["gradient of conv1"],
    ]


def test_in_place_the_first_copy_lies_where_the_gradient_was() -> None:
    found = operands(memlab.in_place(chen2016(block())))
    there = "gradient of relu1"
    assert found["backward of relu1"] == [[there, "norm1"], [there], []]
    assert found["backward of add1"] == [[there], [there, "gradient of conv1"], []]
    assert found["backward of norm1"] == [[there, "conv2"], [there], []]


@every_row("make", [three_layers, block, lambda: memlab.zoo.resnet18(image=32)])
@every_row("rewrite", [lambda step: step, memlab.in_place, memlab.no_reuse])
def test_the_plan_equals_lifetimes_spelt_out(make, rewrite) -> None:
    step = rewrite(chen2016(make()))
    assert memlab.plan(step).timeline(batch=3) == spelt_out(step, batch=3)


@every_row("name", ["resnet18", "resnet50", "resnet101"])
def test_nothing_reused_is_every_output_and_its_gradient(name: str) -> None:
    """The gradient of the softmax is the one that no operation makes."""
    net = memlab.zoo.build(name, image=64)
    values = sum(prod(node.shape) for node in net.nodes if node.kind in KEEPS)
    roles = memlab.plan(memlab.no_reuse(chen2016(net))).roles(batch=2)
    assert roles[Role.FEATURE_MAP] == 2 * 4 * values
    assert roles[Role.GRADIENT_MAP] == 2 * 4 * (values - prod(net.loss.shape))


@pytest.mark.measures
def test_it_runs_nowhere() -> None:
    with pytest.raises(InputError, match=r"no kernel computes conv2d .* plan it instead"):
        memlab.run(chen2016(three_layers()), batch=2)


@every_row(
    ("given", "says"),
    [
        ("resnet50", "a step is built from a network, got 'resnet50'"),
        (start().dropout().flatten().linear(3).cross_entropy(), "has no dropout, which dropout1"),
        (start().flatten().linear(3).squared_error(), "has no squared_error, which loss is"),
    ],
)
def test_bad_input_is_one_sentence(given, says: str) -> None:
    with pytest.raises(InputError, match=says):
        chen2016(given)
