"""Formats by role: the plan holds in all of them, and what comes out is that of the formats."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import memlab
from memlab import InputError
from memlab.formats import FORMATS, STORED
from memlab.kernels.cpu.small_formats import fp32_tiles
from memlab.kernels.registry import Array, Kernel, KernelCall
from memlab.layers.algorithms import on
from memlab.ledger.ledger import Ledger
from memlab.networks.graph import Network
from memlab.runtime import program
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.fp32_tiles import SCALE, STEPS, TAKEN, operands
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.precision import MASTER, MODES, ROLES, ROUNDINGS, precision
from tests.drawn import examples
from tests.networks_at_random import networks
from tests.staged_networks import NETWORKS, OPTIMIZERS, TRAINED, WITH_STATE, pairwise, step

pytestmark = pytest.mark.measures

ZOO: dict[str, dict[str, Any]] = {
    "linear1": {},
    "mnist_cnn": {"image": 8},
    "alexnet": {"image": 79, "classes": 10},
    "vgg11": {"image": 32, "classes": 10},
    "googlenet_bn": {"image": 64, "classes": 10},
    "resnet18": {"image": 64, "classes": 10},
}
LEARNED = (Role.PARAMETER, Role.PARAMETER_GRADIENT, Role.OPTIMIZER_STATE)


@pytest.mark.parametrize(
    ("network", "optimizer", "batch", "mode", "rounding", "scaling"),
    pairwise(list(NETWORKS), OPTIMIZERS, (1, 3, 7), list(MODES), ROUNDINGS, (None, True, False)),
)
def test_the_plan_holds_in_every_mode(
    network: str, optimizer: str, batch: int, mode: str, rounding: str, scaling: bool | None
) -> None:
    scaled = None if optimizer == "inference" else scaling
    small = precision(step(network, optimizer), mode, rounding=rounding, scaling=scaled)
    run = memlab.run(small, batch)
    assert run.residual == 0
    assert run.measured.timeline(batch) == run.planned.timeline(batch)


def in_formats(plain: Step, roles: Mapping[Role, str], **options: Any) -> Step:
    """Every role in a format."""
    named: dict[str, Any] = {role.value: format for role, format in roles.items()}
    return precision(plain, **options, **named)


@pytest.mark.parametrize("format", STORED)
@pytest.mark.parametrize("role", ROLES)
def test_the_plan_holds_for_every_role_in_every_format(role: Role, format: str) -> None:
    for network, optimizer, batch in pairwise(list(NETWORKS), OPTIMIZERS, (1, 3)):
        small = in_formats(step(network, optimizer), {role: format})
        assert memlab.run(small, batch).residual == 0, (network, optimizer, batch)


@pytest.mark.parametrize(
    ("algorithm", "threads", "mode", "first"),
    pairwise(on("cpu"), (1, 2), list(MODES), (True, False)),
)
def test_algorithms_before_formats_or_after(
    algorithm: str, threads: int, mode: str, first: bool
) -> None:
    plain = step("branches", threads=threads)
    before = precision(memlab.lowering(plain, algorithm), mode)
    after = memlab.lowering(precision(plain, mode), algorithm)
    assert before.ops == after.ops
    assert memlab.run(before if first else after, 3).residual == 0


def test_a_search_for_algorithms_holds_in_mixed_precision() -> None:
    found = memlab.lowering(precision(step("branches"), "mixed fp16"), batch=2, limit="20 kB")
    assert memlab.run(found, 2).residual == 0


@pytest.mark.parametrize(("name", "mode"), list(zip(ZOO, [*MODES, *MODES], strict=False)))
def test_the_plan_holds_for_known_networks(name: str, mode: str) -> None:
    plain = memlab.training_step(memlab.zoo.build(name, **ZOO[name]), "adam")
    assert memlab.run(precision(plain, mode), 2).residual == 0


@given(networks(), st.sampled_from(list(MODES)), st.sampled_from(OPTIMIZERS), st.integers(1, 3))
@examples(40)
def test_the_plan_holds_for_random_networks(
    net: Network, mode: str, optimizer: str, batch: int
) -> None:
    inference = optimizer == "inference"
    plain = memlab.inference_step(net) if inference else memlab.training_step(net, optimizer)
    assume({op.kind for op in plain.ops} - {"concat"})
    assert memlab.run(precision(plain, mode), batch).residual == 0


def test_kept_gradients_are_in_the_plan_before_and_after() -> None:
    plain = step("branches", "adam")
    before = precision(plain.keep("gradients"), "mixed bf16")
    after = precision(plain, "mixed bf16").keep("gradients")
    assert before == after
    run = memlab.run(before, 3)
    assert run.residual == 0
    assert run.gradients["gradient of conv1.weight"].dtype == FORMATS["bf16"].dtype()


def per_role(ledger: Ledger) -> dict[Role, int]:
    """Bytes that a step takes for a role, alive at once or not."""
    total = dict.fromkeys(Role, 0)
    for entry in ledger.entries:
        total[entry.role] += entry.size.at(3)
    return total


@pytest.mark.parametrize("mode", [None, "mixed fp16", "mixed bf16"])
@pytest.mark.parametrize("network", NETWORKS)
def test_adam_takes_16_bytes_a_parameter_in_fp32_and_in_mixed_precision(
    network: str, mode: str | None
) -> None:
    """F1: 4 + 4 + 8, and 2 + 2 + (4 + 4 + 4). A loss scale is 4, 4, 4 and 1 bytes more."""
    plain = step(network, "adam")
    run = memlab.run(precision(plain, mode) if mode else plain, 3)
    scale = 13 if mode == "mixed fp16" else 0
    for ledger in (run.planned, run.measured):
        found = per_role(ledger)
        learned = sum(found[role] for role in LEARNED)
        assert learned == 16 * NETWORKS[network].parameters + scale


@pytest.mark.parametrize("mode", ["fp16", "bf16"])
def test_pure_half_precision_halves_every_role(mode: str) -> None:
    """But what has no format of its own: labels, indices of a pooling, and workspace; the loss,
    which is a result; and what batch norm keeps of the batch."""
    for network, optimizer in product(NETWORKS, OPTIMIZERS):
        plain = step(network, optimizer)
        for op, small in zip(plain.ops, precision(plain, mode).ops, strict=True):
            norm = op.kind.startswith("batch_norm")
            statistics = ("mean", "inverse_deviation") if norm else ()
            kept = [t for name, t in operands(op).items() if name in statistics]
            for old, new in zip(op.touched(), small.touched(), strict=True):
                halved = old.format is FORMATS["fp32"] and old.axes and old not in kept
                factor = 2 if halved else 1
                assert new.size * factor == old.size
                assert new.storage.size * factor == old.storage.size
                assert new.offset * factor == old.offset


def test_batch_norm_stays_in_fp32_in_mixed_precision() -> None:
    mixed = precision(step("branches"), "mixed fp16")
    for op in mixed.ops:
        for tensor in op.touched() if op.kind.startswith("batch_norm") else ():
            assert tensor.format.name == ("fp16" if tensor.size.per_sample else "fp32")
    assert not any(tensor.name.startswith("norm1.weight.") and MASTER in tensor.name
                   for tensor in mixed.live_in)  # fmt: skip


def test_a_plan_holds_for_every_batch_and_for_a_budget() -> None:
    small = memlab.eight_bit_states(precision(step("branches", "adam"), "mixed bf16"), 64)
    ledger = memlab.plan(small)
    peaks = [ledger.peak(batch) for batch in range(1, 9)]
    assert peaks[2] == memlab.run(small, 3).peak
    for batch, peak in enumerate(peaks, start=1):
        assert ledger.fit(peak).batch == batch
    assert ledger.fit(peaks[0] - 1).batch == 0


def test_a_saved_plan_has_the_same_bytes(tmp_path: Path) -> None:
    """Of formats in 1, 8, 16 and 32 bits."""
    small = memlab.relu_masks(step("slices", "adam"))
    small = precision(small, "mixed fp16", gradient_map="fp8_e5m2", buffer="tf32")
    ledger = memlab.plan(memlab.eight_bit_states(small, 64))
    memlab.save(ledger, tmp_path / "plan.json")
    again = memlab.load(tmp_path / "plan.json")
    assert again == ledger
    assert again.timeline(7) == ledger.timeline(7)


def test_formats_that_change_nothing_change_nothing() -> None:
    for network, optimizer in product(NETWORKS, OPTIMIZERS):
        plain = step(network, optimizer)
        same = in_formats(plain, dict.fromkeys(ROLES, "fp32"))
        assert same.ops == plain.ops
        assert memlab.plan(same).timeline(3) == memlab.plan(plain).timeline(3)


def apart(one: Mapping[str, Array], other: Mapping[str, Array]) -> float:
    """The norm of the difference of all arrays, by the norm of the first ones."""
    pairs = [(one[name].astype(np.float64), other[name].astype(np.float64)) for name in one]
    distance = sum(np.square(a - b).sum() for a, b in pairs)
    return float(np.sqrt(distance / sum(np.square(a).sum() for a, _ in pairs)))


@pytest.mark.parametrize("format", ["fp16", "bf16"])
@pytest.mark.parametrize("role", ROLES)
def test_a_role_in_half_precision_moves_values_by_rounding_errors(role: Role, format: str) -> None:
    """Whichever operands an operation has in other formats, it computes what it did."""
    epsilon = FORMATS[format].epsilon
    for network in NETWORKS:
        plain = step(network, "momentum")
        one = memlab.run(plain, 3, keep="gradients")
        other = memlab.run(in_formats(plain, {role: format}), 3, keep="gradients")
        assert other.loss == pytest.approx(one.loss, rel=epsilon), network
        assert apart(one.parameters, other.parameters) < epsilon, network
        assert apart(one.gradients, other.gradients) < 4 * epsilon, network


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("network", NETWORKS)
def test_an_inference_predicts_as_in_fp32(network: str, mode: str) -> None:
    plain = step(network, "inference")
    one, other = memlab.run(plain, 3).output, memlab.run(precision(plain, mode), 3).output
    assert one is not None
    assert other is not None
    assert apart({"y": one}, {"y": other}) < 4 * FORMATS[MODES[mode].half].epsilon


@pytest.mark.parametrize("format", STORED)
def test_an_input_in_a_format_is_the_rounded_input(format: str) -> None:
    """Also where it is copied beside a map of another format, and added to one."""
    plain = step("joins")
    x = np.random.default_rng(0).standard_normal((3, 3, 5, 7), np.float32)
    labels = np.array([0, 2, 1])
    held = memlab.rounding.rounded(x, format).astype(np.float32)
    expected = memlab.run(plain, 3, held, labels, keep="gradients")
    found = memlab.run(precision(plain, input=format), 3, x, labels, keep="gradients")
    assert found.loss == expected.loss
    # a bias adds up sample by sample, in another order
    assert apart(expected.gradients, found.gradients) < 4 * FORMATS["fp32"].epsilon


def whole_numbers() -> tuple[Step, dict[str, Any]]:
    """A step with SGD in which every value is a whole number or a half, of at most 4 bits."""
    net = memlab.network("whole", features=2).linear(2, name="a").relu().linear(1, name="b")
    given: dict[str, Any] = {
        "x": [[1.0, 2.0]],
        "labels": [[2.0]],
        "parameters": {"a.weight": [[1, 1], [2, -2]], "a.bias": [0, 1],
                       "b.weight": [[1, 1]], "b.bias": [1]},
        "settings": {"rate": 0.25},
    }  # fmt: skip
    return memlab.training_step(net.squared_error(), "sgd"), given


@pytest.mark.parametrize("scaling", [True, False])
@pytest.mark.parametrize("format", STORED)
def test_values_that_a_format_holds_are_those_of_fp32(format: str, scaling: bool) -> None:
    plain, values = whole_numbers()
    expected = memlab.run(plain, 1, keep="gradients", **values)
    assert expected.loss == 4  # 1 + 2 + 1 for 2
    values["settings"]["loss_scale"] = 2
    small = in_formats(plain, dict.fromkeys(ROLES, format), scaling=scaling)
    found = memlab.run(small, 1, keep="gradients", **values)
    assert found.residual == 0
    assert found.loss == 4
    for name, due in expected.parameters.items():
        np.testing.assert_array_equal(found.parameters[name].astype(np.float32), due)
    for name, due in expected.gradients.items():
        mine = found.gradients[name].astype(np.float32)
        np.testing.assert_array_equal(mine, due * (2 if scaling else 1))


def test_tf32_holds_10_bits_of_a_mantissa() -> None:
    with Session(Program(precision(step("sums"), input="tf32", parameter="tf32"), 3)) as held:
        held.step()
        for tensor in held.program.step.live_out:
            if tensor.role is Role.PARAMETER:
                bits = held.value(tensor).view(np.uint32)
                assert bits.any()
                assert not (bits & 0x1FFF).any()
    rough = memlab.run(precision(step("sums"), input="tf32"), 3)
    assert rough.loss != memlab.run(step("sums"), 3).loss


def states(held: Session, *roles: Role) -> dict[str, Array]:
    return {t.name: held.value(t).copy() for t in held.residents if not roles or t.role in roles}


@pytest.mark.parametrize("optimizer", TRAINED)
@pytest.mark.parametrize("network", NETWORKS)
def test_without_underflow_a_scale_changes_nothing(network: str, optimizer: str) -> None:
    """A power of two shifts exponents alone, and bf16 has as many of them as fp32."""
    plain = step(network, optimizer)
    expected = memlab.run(precision(plain, "mixed bf16"), 3, keep="gradients")
    scaled = precision(plain, "mixed bf16", scaling=True)
    found = memlab.run(scaled, 3, keep="gradients", settings={"loss_scale": 1024})
    assert found.residual == 0
    assert found.loss == expected.loss
    for name, due in expected.parameters.items():
        np.testing.assert_array_equal(found.parameters[name], due)
    for name, due in expected.gradients.items():
        mine = found.gradients[name].astype(np.float32)
        np.testing.assert_array_equal(mine, due.astype(np.float32) * 1024)


@pytest.mark.parametrize("optimizer", TRAINED)
@pytest.mark.parametrize("mode", ["fp16", "mixed fp16"])
def test_an_overflow_leaves_everything_and_halves_the_scale(mode: str, optimizer: str) -> None:
    small = precision(step("sums", optimizer), mode, scaling=True)
    with Session(Program(small, 3), settings={"loss_scale": 2**30, "scale_interval": 2}) as held:
        before = states(held, Role.PARAMETER, Role.OPTIMIZER_STATE)
        held.step()
        after = states(held, Role.PARAMETER, Role.OPTIMIZER_STATE)
    assert float(before.pop(SCALE)) == 2**30
    assert float(after.pop(SCALE)) == 2**29
    assert int(after[STEPS]) == int(after[TAKEN]) == 0
    for name, values in before.items():
        np.testing.assert_array_equal(after[name], values, err_msg=name)


def test_a_scale_doubles_after_its_interval_and_finds_its_size() -> None:
    small = precision(step("sums"), "mixed fp16")
    scale, steps = (next(t for t in small.live_in if t.name == name) for name in (SCALE, STEPS))
    with Session(Program(small, 3), settings={"loss_scale": 8, "scale_interval": 3}) as held:
        seen = []
        for _ in range(7):
            held.step()
            seen.append((float(held.value(scale)), int(held.value(steps))))
    assert seen == [(8, 1), (8, 2), (16, 0), (16, 1), (16, 2), (32, 0), (32, 1)]


def one_weight(optimizer: str = "adam") -> tuple[Step, dict[str, Any]]:
    """A weight of 1 on an input of 1: at first, its gradient is 2 times the loss scale, which
    overflows in fp16 from 2^15 on."""
    net = memlab.network("one weight", features=1).linear(1, bias=False, name="h").squared_error()
    given = {"h.weight": [[1.0]]}
    return precision(memlab.training_step(net, optimizer), "mixed fp16"), given


def left_after(overflows: int, updates: int, optimizer: str = "adam") -> dict[str, Array]:
    """What stays alive after some steps that overflow and some that do not."""
    small, given = one_weight(optimizer)
    settings = {"rate": 0.01, "loss_scale": 2.0 ** (14 + overflows)}
    with Session(Program(small, 1), parameters=given, settings=settings) as held:
        weight = next(t for t in small.live_in if t.name == "h.weight")
        for taken in range(overflows + updates):
            held.step([[1.0]], [[0.0]])
            assert (held.value(weight) == 1).all() == (taken < overflows)
        return states(held)


def differences(overflows: int, updates: int, optimizer: str = "adam") -> list[str]:
    """What is not that of a run without overflows, bit for bit."""
    due = left_after(0, updates, optimizer)
    found = left_after(overflows, updates, optimizer)
    return [name for name, values in due.items() if found[name].tobytes() != values.tobytes()]


@pytest.mark.parametrize("optimizer", TRAINED)
@pytest.mark.parametrize("updates", [1, 2, 5])
@pytest.mark.parametrize("overflows", [1, 6])
def test_a_step_that_overflows_does_not_count(overflows: int, updates: int, optimizer: str) -> None:
    """As with PyTorch's ``GradScaler``, which leaves the whole update out."""
    assert differences(overflows, updates, optimizer) == []


@pytest.mark.parametrize("overflows", [0, 6])
def test_adam_corrects_by_the_updates_taken(overflows: int) -> None:
    """By the formula (Kingma and Ba 2015), with gradients of a loss w^2 as fp16 holds them."""
    w, m, v = 1.0, 0.0, 0.0
    for k in range(1, 6):
        gradient = 2 * float(np.float16(w))
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        w -= 0.01 * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
        found = left_after(overflows, k)
        assert found["h.weight" + MASTER].item() == pytest.approx(w, rel=1e-6)
        assert int(found[TAKEN]) == k


def test_a_count_of_all_steps_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first update after 6 overflows would be 0.005 in place of 0.010."""
    monkeypatch.setattr(fp32_tiles, "_with_steps_taken", lambda call: call)
    assert "h.weight" + MASTER in differences(6, 1)
    moved = 1 - left_after(6, 1)["h.weight" + MASTER].item()
    assert moved == pytest.approx(0.005, rel=0.1)


def test_gradients_that_a_scale_saves_from_underflow() -> None:
    net = memlab.network("tiny gradients", features=1).linear(1, bias=False, name="h")
    plain = memlab.training_step(net.squared_error(), "sgd")
    small = 2.0**-13
    values: dict[str, Any] = {"x": [[small]], "labels": [[0.0]], "parameters": {"h.weight": [[1]]}}
    lost, kept = (
        memlab.run(precision(plain, "mixed fp16", scaling=scaling), 1, keep="gradients", **values)
        for scaling in (False, True)
    )
    assert lost.gradients["gradient of h.weight"] == 0  # 2^-25 is half of the smallest fp16
    assert kept.gradients["gradient of h.weight"] == 2 * small**2 * 2**16


def test_dropout_draws_as_in_fp32() -> None:
    """Every value that is kept adds 4 to the loss, in more than one tile."""
    net = memlab.network("drawn", features=6001).dropout(0.5)
    plain = memlab.training_step(net.squared_error(), "sgd")
    values: dict[str, Any] = {"x": np.ones((7, 6001)), "labels": np.zeros((7, 6001))}
    expected = memlab.run(plain, 7, **values)
    found = memlab.run(precision(plain, "mixed bf16"), 7, **values)
    assert found.loss == expected.loss
    assert expected.loss != memlab.run(plain, 7, seed=1, **values).loss


def at_1(rounding: str, mode: str = "bf16", seed: int = 0, steps: int = 1) -> Array:
    """4096 weights of 1 in bf16 whose gradient is 1, at a rate of a sixteenth of a step."""
    count = 4096
    net = memlab.network("still", features=1).linear(count, bias=False, name="h").squared_error()
    small = precision(memlab.training_step(net, "sgd"), mode, rounding=rounding)
    weights = {"h.weight": np.ones((count, 1))}
    with Session(Program(small, 1), seed, weights, {"rate": 2.0**-12}) as held:
        for _ in range(steps):
            held.step([[1.0]], np.full((1, count), 0.5))
        weight = next(t for t in small.live_in if t.name == "h.weight")
        return held.value(weight).astype(np.float64)


def test_a_small_update_is_lost_to_the_nearest_and_kept_on_average() -> None:
    """Below 1, the values of bf16 lie 2^-8 apart; 5 standard deviations around a sixteenth."""
    assert (at_1("nearest", steps=5) == 1).all()
    moved = at_1("stochastic")
    assert set(moved.flat) == {1.0, 1 - 2.0**-8}
    share = np.mean(moved < 1)
    assert abs(share - 1 / 16) < 5 * np.sqrt(1 / 16 * 15 / 16 / 4096)


def test_a_seed_decides_how_updates_are_rounded() -> None:
    first, again, other = (at_1("stochastic", seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_copy_of_a_master_is_rounded_as_asked() -> None:
    """The master moves by 2^-12 in every step; its copy is 1 until it is nearer to less."""
    assert (at_1("nearest", "mixed bf16", steps=7) == 1).all()
    assert (at_1("nearest", "mixed bf16", steps=9) == 1 - 2.0**-8).all()
    assert 0 < np.mean(at_1("stochastic", "mixed bf16") < 1) < 0.2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("optimizer", WITH_STATE)
def test_a_network_learns(mode: str, optimizer: str) -> None:
    """Seven samples by heart, in half precision too."""
    small = precision(step("branches", optimizer), mode)
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((7, 3, 9, 7)), np.arange(7) % 3
    loss = next(t for t in small.live_out if t.role is Role.FEATURE_MAP)
    losses = []
    with Session(Program(small, 7), settings={"epsilon": 1e-4}) as held:
        for _ in range(30):
            held.step(x, labels)
            losses.append(float(held.value(loss)))
        assert all(np.isfinite(np.float32(held.value(t))).all() for t in held.residents)
    assert np.mean(losses[-5:]) < 0.8 * np.mean(losses[:5])


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_run_frees_what_it_held(
    monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    def failing(call: KernelCall) -> None:
        raise failure

    real = program.kernels_of

    def kernels_of(step: Step, device: str) -> list[Kernel]:
        kernels = real(step, device)
        kernels[-3] = failing
        return kernels

    monkeypatch.setattr(program, "kernels_of", kernels_of)
    held = Session(Program(precision(step("branches"), "mixed fp16"), 2))
    with pytest.raises(failure):
        held.step()
    assert held.memory.blocks == {}


def test_a_view_of_the_input_has_the_format_of_the_input() -> None:
    net = memlab.network("flat", image=(3, 4, 4)).flatten().linear(2).cross_entropy()
    small = precision(memlab.training_step(net), input="fp16", feature_map="fp8_e5m2")
    x = next(op for op in small.ops if op.name == "fc1").reads["x"]
    assert x.format.name == "fp16"
    assert memlab.run(small, 2).residual == 0


def test_a_step_that_ends_up_in_fp32_runs_in_fp32() -> None:
    """Whatever the mode was, where every role has fp32 again; and a step of copies alone."""
    again: dict[str, Any] = {role.value: "fp32" for role in ROLES}
    plain = step("joins")
    one, other = memlab.run(plain, 2), memlab.run(precision(plain, "mixed bf16", **again), 2)
    assert (other.loss, other.residual) == (one.loss, 0)
    x = memlab.network("copies", image=(2, 3, 3))
    copies = memlab.inference_step(x.concat(x).squared_error())
    run = memlab.run(precision(copies, "fp16"), 2, np.ones((2, 2, 3, 3)))
    assert run.output is not None
    assert (run.output == 1).all()


def test_a_step_without_parameters_has_no_loss_scale() -> None:
    plain = memlab.training_step(memlab.network("n", features=4).relu().squared_error())
    small = precision(plain, "mixed fp16")
    assert "loss scaling" not in small.notes
    assert memlab.run(small, 2).residual == 0
    with pytest.raises(InputError, match="scaling needs a training step that updates parameters"):
        precision(plain, "mixed fp16", scaling=True)


def test_a_step_says_what_it_is() -> None:
    plain = step("branches", "adam")
    assert precision(plain, "fp16").describe() == "branches, fp16, Adam, training"
    mixed = precision(plain, "mixed fp16", rounding="stochastic", gradient_map="fp8_e5m2")
    assert mixed.notes == (
        "fp32 master weights", "loss scaling", "stochastic rounding", "gradient map in fp8_e5m2",
    )  # fmt: skip
    inference = precision(step("branches", "inference"), "mixed fp16", rounding="stochastic")
    assert inference.notes == ()


@pytest.mark.parametrize(
    ("mode", "options", "words"),
    [
        (None, {}, "precision needs a mode"),
        ("", {}, "unknown mode ''"),
        ("fp15", {}, "unknown mode 'fp15'; did you mean 'fp16'"),
        (8, {}, "unknown mode 8. Known: fp16, bf16"),
        ("fp16", {"rounding": "up"}, "unknown rounding 'up'. Known: nearest, stochastic"),
        (None, {"feature_maps": "fp16"}, "unknown role 'feature_maps'; did you mean 'feature_map'"),
        (None, {"workspace": "fp16"}, "unknown role 'workspace'"),
        (None, {"parameter": "int8"}, "unknown format of a role 'int8'. Known: fp32, tf32"),
        (None, {"parameter": 16}, "unknown format of a role 16; did you mean 'fp16'"),
    ],
)
def test_bad_options_are_one_sentence(mode: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        precision(step("sums"), mode, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (NETWORKS["sums"], "precision rewrites a step, got <sums: 7 layers"),
        (None, "precision rewrites a step, got None"),
        (step("sums", format="fp64"), "precision starts from a step in fp32, got fp64"),
        (step("sums", format="bf16"), "precision starts from a step in fp32, got bf16"),
        (precision(step("sums"), "fp16"), "this step has its formats already"),
        (precision(step("sums"), input="fp16"), "this step has its formats already"),
        (memlab.eight_bit_states(step("sums", "adam")), "this step has its formats already"),
    ],
)
def test_a_wrong_start_is_one_sentence(given: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        precision(given, "mixed fp16")


def test_inference_has_no_loss_to_scale() -> None:
    for mode in MODES:
        small = precision(step("sums", "inference"), mode, scaling=True)
        assert small == precision(step("sums", "inference"), mode, scaling=False)
        assert "loss scaling" not in small.notes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"device": "cuda"}, "in other formats than it is computed in runs on cpu, got cuda"),
        ({"settings": {"loss_scale": 0}}, "loss_scale must be at least 1.17549e-38 and below 3.4"),
        ({"settings": {"loss_scale": 1e-60}}, "loss_scale must be at least 1.17549e-38 and"),
        ({"settings": {"loss_scale": 1e-40}}, "loss_scale must be at least 1.17549e-38 and"),
        ({"settings": {"loss_scale": float("inf")}}, "loss_scale must be at least 1.17549e-38 and"),
        ({"settings": {"loss_scale": 2.0**128}}, "loss_scale must be at least 1.17549e-38 and"),
        ({"settings": {"loss_scale": "large"}}, "loss_scale must be at least 1.17549e-38 and"),
        ({"parameters": {"fc1.weight.master": 1.0}}, "unknown parameter 'fc1.weight.master'; did"),
        ({"x": np.full((2, 11), 1e6)}, "input holds 1e.06, and fp16 no value beyond 65504"),
        ({"x": np.full((2, 11), np.nan)}, "input holds NaN or infinity"),
    ],
)
def test_a_run_that_cannot_be_is_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        memlab.run(precision(step("sums"), "mixed fp16"), 2, **options)
