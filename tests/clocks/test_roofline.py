"""Seconds by the roofline: figures by hand, and what the recorded file must hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

import memlab
from memlab import InputError
from memlab.clocks import measured_rates, roofline
from memlab.hardware import DEVICES, Device, SourcedFigure
from memlab.layers import Conv2d
from memlab.layers.algorithms import ALGORITHMS
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.step.storage import Size

ROUND = Device(
    "round",
    "a machine of round figures",
    SourcedFigure(10**9, "stated"),
    "by hand",
    SourcedFigure(1000, "stated"),
    {"fp32": SourcedFigure(100, "stated"), "fp16": SourcedFigure(400, "stated")},
)
"""1,000 bytes and 100 operations per second, and 400 of these on 16 bits."""


def step(format: str = "fp32", algorithm: str = "im2col-image") -> Step:
    x = memlab.network("one layer", image=(4, 8, 8)).conv(6, 3, pad=1).relu()
    net = x.flatten().linear(3).cross_entropy()
    return memlab.training_step(net, format=format, algorithm=algorithm)


def named(step: Step, name: str) -> Op:
    return next(op for op in step.ops if op.name == name)


def test_the_slower_of_computing_and_moving_counts() -> None:
    op = named(step(), "relu1")
    assert roofline.seconds(op, 2, ROUND) == max(op.flops.at(2) / 100, op.bytes_moved.at(2) / 1000)
    busy = replace(op, flops=Size(5, 3 * 10**6))
    assert roofline.seconds(busy, 2, ROUND) == (5 + 6 * 10**6) / 100
    moving = replace(op, bytes_moved=Size(7, 10**9))
    assert roofline.seconds(moving, 2, ROUND) == (7 + 2 * 10**9) / 1000


def test_a_convolution_reaches_its_share_of_the_recorded_rate() -> None:
    op, rates = named(step(), "conv1"), roofline.rates()
    share = roofline.share(op)
    assert 0 < share < 2
    assert roofline.seconds(op, 3) == max(
        op.flops.at(3) / (rates.flops * share), op.bytes_moved.at(3) / rates.bandwidth
    )
    assert roofline.share(named(step(algorithm="direct"), "conv1")) < share / 5
    assert roofline.share(named(step(), "fc1")) == 1


def test_another_machine_computes_all_at_its_rate_and_winograd_with_fewer_products() -> None:
    plain, fewer = (named(step(algorithm=way), "conv1") for way in ("direct", "winograd"))
    assert fewer.algorithm == "winograd"
    assert roofline.seconds(plain, 3, ROUND) == plain.flops.at(3) / 100
    assert roofline.seconds(fewer, 3, ROUND) == fewer.flops.at(3) / 225
    half = named(step("fp16"), "conv1")
    assert roofline.seconds(half, 3, ROUND) == half.flops.at(3) / 400


def test_a_vector_holds_half_as_many_values_of_twice_the_bits() -> None:
    narrow, wide = (named(step(format), "conv1") for format in ("fp32", "fp64"))
    assert roofline.seconds(wide, 2, ROUND) == 2 * roofline.seconds(narrow, 2, ROUND)


def test_a_step_takes_the_sum_of_its_operations() -> None:
    whole = step()
    assert roofline.total(whole, 4, ROUND) == sum(
        roofline.seconds(op, 4, ROUND) for op in whole.ops
    )
    assert roofline.total(whole, 4) < roofline.total(whole, 8) <= 2 * roofline.total(whole, 4)


def test_the_layer_most_alike_is_looked_up() -> None:
    """A measured layer has its own share; the kernel decides before the stride and the sizes."""
    for key, row in roofline.rates().shares.items():
        kernel, stride, channels, out, places = key
        side = int(places**0.5) * stride
        layer = Conv2d(out, kernel, stride, kernel // 2)
        x = memlab.network("like", image=(channels, side, side)).conv(channels, 1)
        net = x.then(layer, name="layer").squared_error()
        for name, shares in row.items():
            like = memlab.training_step(net, algorithm=name)
            assert roofline.share(named(like, "layer")) == shares["forward"], (key, name)


def test_the_recorded_figures_name_their_machine() -> None:
    rates = roofline.rates()
    assert rates.machine["processor"]
    assert rates.machine["date"]
    assert {"python", "numpy", "numba"} <= set(rates.machine["versions"])
    assert rates.command.startswith("python -m benchmarks.rates")
    assert 1e9 < rates.flops < 1e13
    assert 1e9 < rates.bandwidth < 1e12
    assert len(rates.shares) > 5
    for row in rates.shares.values():
        assert {"direct", "im2col-image"} <= set(row) <= set(ALGORITHMS)
        for shares in row.values():
            assert set(shares) <= {"forward", "backward"}
            assert all(0 < share < 2.5 for share in shares.values())


def test_a_device_computes_at_the_rate_of_the_format_itself() -> None:
    """A chip for bf16 alone, and one that has no bf16 and computes it as fp32."""
    op = named(memlab.training_step(memlab.zoo.mnist_cnn(), format="bf16"), "conv2")
    bound = op.bytes_moved.at(1) / DEVICES["v100"].moves(), op.flops.at(1) / DEVICES["v100"].rate()
    assert roofline.seconds(op, 1, DEVICES["v100"]) == max(bound)
    tpu = DEVICES["tpu v4"]
    assert roofline.seconds(op, 1, tpu) == max(
        op.bytes_moved.at(1) / tpu.moves(), op.flops.at(1) / tpu.rate("bf16")
    )


def test_a_format_with_a_rate_is_read_and_written_as_it_is_stored() -> None:
    """Without that rate its tiles in fp32 are moved, too: batch norm is fp32 beside fp16 maps."""
    mixed = memlab.precision(memlab.training_step(memlab.zoo.resnet18(), "sgd"), "mixed fp16")
    norm = named(mixed, "conv1.norm")
    touched = sum(tensor.size.at(2) for tensor in norm.touched() if tensor.format.bits == 16)
    fast = replace(ROUND, bandwidth=SourcedFigure(1, "stated"))
    slow = replace(fast, flops={"fp32": ROUND.flops["fp32"]})
    assert roofline.seconds(norm, 2, slow) == norm.bytes_moved.at(2)
    assert roofline.seconds(norm, 2, fast) == norm.bytes_moved.at(2) - 4 * touched


def test_mixed_precision_is_faster_on_a_card_with_tensor_cores_alone() -> None:
    plain = memlab.training_step(memlab.zoo.resnet50(), "momentum")
    mixed = memlab.precision(plain, "mixed fp16")
    seconds = {
        name: [roofline.total(one, 256, DEVICES[name]) for one in (plain, mixed)]
        for name in ("rtx 4070", "titan x")
    }
    assert seconds["rtx 4070"][0] > seconds["rtx 4070"][1] > seconds["rtx 4070"][0] / 2
    assert seconds["titan x"][0] < seconds["titan x"][1]


def test_what_has_no_figures_is_refused() -> None:
    op = named(step(), "conv1")
    with pytest.raises(InputError, match="no source gives a rate of 12 GB card for fp32"):
        roofline.seconds(op, 1, DEVICES["12 GB card"])
    with pytest.raises(InputError, match="no rate is recorded for magic; measure it with"):
        roofline.seconds(replace(op, algorithm="magic"), 1)
    assert roofline.knows(op)
    assert not roofline.knows(replace(op, algorithm="magic"))
    assert roofline.knows(named(step(), "fc1"))


def test_conversions_of_mixed_precision_count() -> None:
    """Maps in 16 bits are half the bytes, and copies in fp32 are written and read beside them."""
    plain = step()
    mixed = memlab.precision(plain, "mixed fp16")
    before, after = (named(each, "conv1") for each in (plain, mixed))
    touched = sum(tensor.size.at(3) for tensor in before.touched() if tensor.format.bits == 32)
    assert {"x in fp32", "y in fp32"} <= set(after.workspace)
    assert after.bytes_moved.at(3) == before.bytes_moved.at(3) - touched // 2 + 2 * touched
    check = named(mixed, "check of the gradients")
    gradients = sum(tensor.size.at(3) for tensor in check.reads.values())
    assert check.bytes_moved.at(3) >= gradients > 0
    assert roofline.seconds(check, 3, ROUND) >= gradients / 1000


def test_algorithms_are_compared_on_the_same_layer() -> None:
    """The default was measured on this layer, and reached half of it; another one twice as much as
    the default, on another layer."""
    halves = {"im2col-image": {"forward": 0.5}}, {"im2col-image": {"forward": 0.2}}
    other = halves[1] | {"mec": {"forward": 0.4}}
    shares: dict[tuple[int, ...], dict[str, dict[str, float]]] = {
        (3, 1, 4, 6, 64): halves[0], (3, 1, 64, 64, 64): other
    }  # fmt: skip
    machine = measured_rates.Rates({}, "", 1e9, 1e9, shares)
    found = [roofline.share(named(step(algorithm=name), "conv1"), machine) for name in other]
    assert found == [0.5, pytest.approx(1.0)]
    alone = replace(machine, shares={(3, 1, 64, 64, 64): {"mec": {"forward": 0.4}}})
    assert roofline.share(named(step(algorithm="mec"), "conv1"), alone) == 0.4
