"""The choice of algorithms: one for all convolutions, or each the fastest within a limit."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memlab
from memlab import InputError, free_memory, hardware
from memlab.clocks import measured_rates, roofline
from memlab.layers.algorithms import ALGORITHMS, on
from memlab.networks.graph import Network
from memlab.step.op import Op
from memlab.step.step import Step
from memlab.techniques.lowering import lowering
from tests.drawn import examples
from tests.networks_at_random import networks
from tests.rows import every_row

MIB = 2**20
RECORDED = roofline.by(roofline.machine("recorded"))


def small() -> Network:
    x = memlab.network("small", image=(3, 32, 32)).conv(8, 3, pad=1).relu()
    x = x.conv(16, 5, stride=2).relu().conv(8, 1).relu()
    return x.flatten().linear(5).cross_entropy()


def convolutions(step: Step) -> list[Op]:
    return [op for op in step.ops if op.kind.startswith("conv2d")]


def workspace(op: Op, batch: int) -> int:
    return sum(tensor.size.at(batch) for tensor in op.workspace.values())


def seconds(step: Step, batch: int) -> float:
    return sum(roofline.seconds(op, batch) for op in convolutions(step))


@cache
def known(name: str) -> tuple[Network, Step]:
    """A network of the zoo, and its step as it is by default."""
    net = memlab.zoo.build(name)
    return net, memlab.training_step(net)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", memlab.zoo.ZOO)
def test_an_algorithm_for_all_is_that_of_the_step_itself(name: str, algorithm: str) -> None:
    net, plain = known(name)
    expected = memlab.training_step(net, algorithm=algorithm)
    found = lowering(plain, algorithm)
    assert found == expected
    assert memlab.plan(found) == memlab.plan(expected)


@given(networks(), st.sampled_from(list(ALGORITHMS)), st.sampled_from(list(ALGORITHMS)),
       st.integers(1, 3))  # fmt: skip
@examples(40)
def test_the_last_algorithm_counts(net: Network, first: str, last: str, threads: int) -> None:
    for make in (memlab.training_step, memlab.inference_step):
        step = lowering(make(net, algorithm=first, threads=threads), last)
        assert step == make(net, algorithm=last, threads=threads)


@given(networks(), st.integers(1, 64), st.integers(0, 40_000), st.integers(0, 40_000))
@examples(40)
def test_a_larger_limit_is_never_slower(net: Network, batch: int, one: int, other: int) -> None:
    step = memlab.training_step(net)
    search = partial(lowering, step, batch=batch, device="recorded")
    tight, wide = (search(limit=limit) for limit in sorted((one, other)))
    free = search()
    assert seconds(free, batch) <= seconds(wide, batch) <= seconds(tight, batch)
    for limited, limit in ((tight, min(one, other)), (wide, max(one, other))):
        assert all(workspace(op, batch) <= limit for op in convolutions(limited))


@given(networks(), st.integers(1, 64))
@examples(30)
def test_without_a_limit_every_operation_takes_the_fastest(net: Network, batch: int) -> None:
    step = memlab.training_step(net)
    free = lowering(step, batch=batch, device="recorded")
    for name in on("cpu"):
        for best, op in zip(convolutions(free), convolutions(lowering(step, name)), strict=True):
            if roofline.knows(op):
                assert roofline.seconds(best, batch) <= roofline.seconds(op, batch)


def test_a_limit_of_0_leaves_no_workspace() -> None:
    step = lowering(memlab.training_step(small()), batch=4, limit=0)
    assert [workspace(op, 4) for op in convolutions(step)] == [0] * 6
    taken = {op.name: op.algorithm for op in convolutions(step)}
    pointwise = {"conv3", "backward of conv3"}  # its lowered matrix is its input
    assert {taken[name] for name in taken if name not in pointwise} == {"direct"}
    assert all(taken[name].startswith("im2col") for name in pointwise)


def test_a_step_says_what_is_unlike_the_default() -> None:
    step = memlab.training_step(small(), threads=2)
    assert lowering(step, "winograd").notes == ("winograd convolution", "2 threads")
    assert lowering(step, "im2col-image") == step
    limited = lowering(step, batch=4, limit="64 MiB")
    assert limited.notes == (
        f"convolutions within 64 MiB of workspace by {RECORDED}",
        "2 threads",
    )
    assert lowering(limited, batch=4).notes == (
        f"convolutions as they were: {RECORDED} are of another machine",
        "2 threads",
    )
    assert lowering(step, batch=4, limit=67_108_864, device="recorded").notes[0] == (
        f"fastest convolutions within 67.1 MB of workspace by {RECORDED}"
    )


def test_figures_of_another_machine_change_nothing_but_what_is_above_the_limit() -> None:
    """They call other algorithms faster than those of this step."""
    step = lowering(memlab.training_step(small()), "im2col-batch")
    assert lowering(step, batch=4, device="recorded").ops != step.ops
    for device in ("cpu", "cuda"):
        assert lowering(step, batch=4, device=device).ops == step.ops
    limit = max(workspace(op, 4) for op in convolutions(step))
    wide, tight = (lowering(step, batch=4, limit=most) for most in (limit, limit - 1))
    changed = {a.name for a, b in zip(step.ops, tight.ops, strict=True) if a != b}
    assert wide.ops == step.ops
    assert changed == {op.name for op in convolutions(step) if workspace(op, 4) == limit}
    assert max(workspace(op, 4) for op in convolutions(tight)) < limit


def test_figures_of_this_machine_decide_for_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Winograd's was measured 2 times as fast for 3 x 3, and no other one was measured."""
    shares = {"im2col-image": {"forward": 0.5, "backward": 0.5},
              "winograd": {"forward": 1.0, "backward": 0.52}}  # fmt: skip
    data = {
        "schema": measured_rates.SCHEMA,
        "machine": {"processor": free_memory.processor(), "date": "2026-01-02"},
        "command": measured_rates.COMMAND,
        "flops": 1e9,
        "bandwidth": 1e12,
        "spread": 0.05,
        "layers": [{"layer": [3, 1, 3, 8, 1024], "shares": shares}],
    }
    monkeypatch.setenv(measured_rates.PLACE, str(tmp_path / "machine.json"))
    measured_rates.save(data)
    step = memlab.training_step(small())
    found = lowering(step, batch=4)
    assert found.notes == ("fastest convolutions by rates measured here",)
    changed = {b.name: b.algorithm for a, b in zip(step.ops, found.ops, strict=True) if a != b}
    assert changed == {"conv1": "winograd"}  # backward is faster by less than the spread
    two = memlab.training_step(small(), threads=2)
    assert lowering(two, batch=4).ops == two.ops
    assert lowering(two, batch=4).notes[0] == (
        "convolutions as they were: rates measured here are of one thread"
    )
    assert lowering(step, batch=4, device="cuda").notes[0] == (
        "convolutions as they were: rates measured here are of a processor"
    )


def test_another_batch_is_refused() -> None:
    step = lowering(memlab.training_step(small()), batch=4, limit="1 MiB")
    assert memlab.plan(step).peak(4) > 0
    with pytest.raises(InputError, match="this plan holds for batch 4 to 4, got 5; plan again at"):
        memlab.plan(step).peak(5)
    with pytest.raises(InputError, match="this step holds for batch 4 to 4, got 5; start from"):
        lowering(step, batch=5)
    assert lowering(step, "direct").batches == range(4, 5)


def test_a_limit_counts_every_thread_and_the_whole_batch() -> None:
    times = {"conv1": {"im2col-batch": 1.0, "im2col-image": 2.0, "direct": 9.0}}
    one = 3 * 9 * 32 * 32 * 4
    cases = [
        (8, 1, "im2col-batch"),
        (7, 1, "im2col-image"),
        (1, 2, "direct"),
        (2, 2, "im2col-image"),
    ]
    for images, threads, expected in cases:
        step = memlab.training_step(small(), threads=threads)
        step = lowering(step, batch=8, limit=images * one, times=times)
        assert convolutions(step)[0].algorithm == expected, (images, threads)


def test_measured_times_decide() -> None:
    step = memlab.training_step(small())
    times = {
        "conv1": {"direct": 1.0, "im2col-batch": 2.0},
        "backward of conv2": {"im2col-batch": 1.0},
    }
    chosen = {op.name: op.algorithm for op in convolutions(lowering(step, batch=4, times=times))}
    assert chosen["conv1"] == "direct"
    assert chosen["backward of conv2"] == "im2col-batch"
    free = {op.name: op.algorithm for op in convolutions(lowering(step, batch=4))}
    assert {n: a for n, a in chosen.items() if n not in times}.items() <= free.items()
    # what was measured does not fit: the direct one always does
    tight = lowering(step, batch=4, limit=0, times={"conv1": {"im2col-batch": 1.0}})
    assert convolutions(tight)[0].algorithm == "direct"


def test_an_algorithm_is_kept_that_no_other_is_faster_than_beyond_the_spread() -> None:
    step, rates = memlab.training_step(small()), roofline.rates()
    for own in ("im2col-image", "im2col-batch"):
        as_is = lowering(step, own)
        alike = lowering(as_is, batch=4, device=replace(rates, spread=100.0))
        assert {op.algorithm for op in convolutions(alike)} == {own}
    apart = lowering(step, batch=4, device=replace(rates, spread=0.0))
    assert seconds(apart, 4) < seconds(step, 4)


def test_only_what_has_a_kernel_on_the_device_is_taken() -> None:
    step = memlab.training_step(small())
    times = {"conv1": {"direct": 3.0, "winograd": 1.0, "implicit-gemm": 2.0}}
    for device, expected in (("cpu", "winograd"), ("cuda", "implicit-gemm")):
        chosen = lowering(step, batch=4, times=times, device=device)
        assert convolutions(chosen)[0].algorithm == expected
        assert all(op.algorithm in on(device) for op in convolutions(chosen))


MINE = """
[[device]]
name = "my card"
memory = 8_000_000_000
bandwidth = 256e9
flops = { fp32 = 9.2e12 }
"""


def test_on_a_machine_by_its_figures_the_fewest_products_are_the_fastest(tmp_path: Path) -> None:
    step = memlab.training_step(memlab.zoo.build("vgg11", image=64))
    chosen = lowering(step, batch=4, device="titan x")
    assert chosen.notes[0] == "fastest convolutions by rates of titan x"
    assert "winograd" in {op.algorithm for op in convolutions(chosen)}
    file = tmp_path / "mine.toml"
    file.write_text(MINE)
    mine = lowering(step, batch=4, device=str(file))
    assert mine.notes[0] == "fastest convolutions by rates of my card"
    without = lowering(step, batch=4, limit=0, device=hardware.find("titan x"))
    assert {op.algorithm for op in convolutions(without)} & {"direct", "implicit-gemm"}
    assert max(workspace(op, 4) for op in convolutions(without)) == 0


def test_a_limit_decides_layer_by_layer() -> None:
    """VGG-16 at batch 128: within 64 MiB, layers of many maps and small images are transformed,
    and no layer takes the k k copy of the whole batch."""
    step = lowering(memlab.training_step(memlab.zoo.vgg16()), batch=128, limit="64 MiB")
    assert {op.algorithm for op in convolutions(step)} - {"im2col-batch"}
    assert max(workspace(op, 128) for op in convolutions(step)) <= 64 * MIB
    assert memlab.plan(step).peak(128) < memlab.plan(
        memlab.training_step(memlab.zoo.vgg16(), algorithm="im2col-batch")
    ).peak(128)


@every_row(
    ("options", "words"),
    [
        ({}, "lowering needs an algorithm, or a batch to search at; try lowering"),
        ({"limit": "1 MiB"}, "lowering needs an algorithm, or a batch to search at"),
        ({"algorithm": "winograd", "batch": 4}, "there is nothing to search for; leave out"),
        ({"algorithm": "direct", "limit": 0}, "there is nothing to search for"),
        ({"algorithm": "winnograd"}, "did you mean 'winograd'"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"batch": 4, "limit": "much"}, "'much' is no amount of memory"),
        ({"batch": 4, "limit": -1}, "'-1' is no amount of memory"),
        ({"batch": 4, "device": "tpu"}, "unknown device 'tpu'"),
        ({"batch": 4, "times": {"conv9": {}}}, "unknown convolution 'conv9'; did you mean"),
        ({"batch": 4, "times": {"conv1": {"fast": 1.0}}}, "unknown algorithm 'fast'"),
    ],
)
def test_bad_options_are_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        lowering(memlab.training_step(small()), **options)


def test_a_network_is_no_step() -> None:
    with pytest.raises(InputError, match="lowering rewrites a step, got <small: 9 layers"):
        lowering(small(), "direct")  # type: ignore[arg-type]  # wrong on purpose
