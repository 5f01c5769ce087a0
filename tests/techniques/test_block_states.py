"""An optimizer's state in 8 bits: the bytes, the first update, and that training goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.kernels.registry import Array
from memlab.ledger.ledger import Ledger
from memlab.optimizers import OPTIMIZERS
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.precision import MASTER, MODES, precision
from memlab.techniques.precision.eight_bit_states import BLOCK, SCALES, eight_bit_states
from memlab.techniques.relu_masks import relu_masks
from tests.rows import every_row
from tests.staged_networks import NETWORKS, WITH_RELU, WITH_STATE, pairwise, step


@pytest.mark.measures
@pytest.mark.parametrize(
    ("network", "optimizer", "batch", "mode", "masks", "block"),
    pairwise(
        list(NETWORKS), WITH_STATE, (1, 3, 7), (None, "mixed fp16", "mixed bf16"),
        ("before", "after", "none"), (64, 2048, 16384),
    ),
)  # fmt: skip
def test_the_plan_holds_beside_other_techniques(
    network: str, optimizer: str, batch: int, mode: str | None, masks: str, block: int
) -> None:
    small = step(network, optimizer)
    masks = masks if network in WITH_RELU else "none"
    if masks == "before":
        small = relu_masks(small)
    small = eight_bit_states(precision(small, mode) if mode else small, block)
    if masks == "after":
        small = relu_masks(small)
    run = memlab.run(small, batch)
    assert run.residual == 0
    assert run.measured.timeline(batch) == run.planned.timeline(batch)


def state_bytes(ledger: Ledger) -> int:
    return sum(e.size.fixed for e in ledger.entries if e.role is Role.OPTIMIZER_STATE)


@pytest.mark.measures
@pytest.mark.parametrize("block", [64, 2048])
@pytest.mark.parametrize("optimizer", WITH_STATE)
def test_a_state_takes_a_byte_and_its_part_of_a_scale(optimizer: str, block: int) -> None:
    """F3: two states of Adam take 2 bytes per parameter, and 8 for every block."""
    features = 4099
    net = memlab.network("one", features=features).linear(3).cross_entropy()
    plain = memlab.training_step(net, optimizer)
    run = memlab.run(eight_bit_states(plain, block), 2)
    states = len(OPTIMIZERS[optimizer].states)
    sizes = 3 * features, 3
    expected = sum(states * (size + 4 * -(-size // block)) for size in sizes)
    assert state_bytes(memlab.plan(plain)) == states * 4 * sum(sizes)
    assert state_bytes(run.planned) == state_bytes(run.measured) == expected


def test_masters_stay_in_fp32() -> None:
    small = eight_bit_states(precision(step("sums", "adam"), "mixed fp16"))
    masters = [t for t in small.live_in if t.name.endswith(MASTER)]
    states = [t for t in small.live_in if t.name.endswith("_moment")]
    assert len(masters) == 5
    assert {t.format.name for t in masters} == {"fp32"}
    assert {t.format.name for t in states} == {"fp8_e4m3fn", "fp8_e5m2"}
    assert small.live_in[-2:] == precision(step("sums", "adam"), "mixed fp16").live_in[-2:]


def residents(held: Session) -> dict[str, Array]:
    return {tensor.name: held.value(tensor).copy() for tensor in held.residents}


def after_a_step(step: Step) -> dict[str, Array]:
    with Session(Program(step, 3)) as held:
        held.step()
        return residents(held)


@pytest.mark.measures
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("mode", [None, *MODES][::3])
@pytest.mark.parametrize("optimizer", WITH_STATE)
def test_the_first_update_is_that_of_fp32(optimizer: str, mode: str | None, network: str) -> None:
    """A state of 0 has no error. What is kept of the new one lies within a step of its format."""
    plain = step(network, optimizer)
    plain = precision(plain, mode) if mode else plain
    expected, found = after_a_step(plain), after_a_step(eight_bit_states(plain, 64))
    roots = {tensor.name for tensor in plain.live_in if tensor.start.squares}
    for name, due in expected.items():
        if name + SCALES not in found:
            np.testing.assert_array_equal(found[name], due, err_msg=name)
            continue
        codes, blocks = found[name].astype(np.float64), range(0, due.size, 64)
        squares = name in roots
        largest = 57344 if squares else 448
        scales = [np.abs(due.reshape(-1)[first : first + 64]).max() / largest for first in blocks]
        np.testing.assert_allclose(found[name + SCALES], scales, rtol=1e-6)
        scale = np.repeat(scales, 64)[: codes.size].reshape(codes.shape)
        relative, smallest = (2**-2, 2**-16) if squares else (2**-3, 2**-9)
        least = np.maximum(np.abs(due) * relative, smallest * scale)
        assert (np.abs(codes * scale - due) <= least * (1 + 1e-6)).all(), name


@pytest.mark.measures
@pytest.mark.parametrize("optimizer", WITH_STATE)
def test_training_goes_on_as_in_fp32(optimizer: str) -> None:
    plain = step("branches", optimizer)
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((7, 3, 9, 7)), np.arange(7) % 3
    ends = []
    for small in (plain, eight_bit_states(plain, 64)):
        loss = next(t for t in small.live_out if t.role is Role.FEATURE_MAP)
        losses = []
        with Session(Program(small, 7)) as held:
            for _ in range(30):
                held.step(x, labels)
                losses.append(float(held.value(loss)))
            assert all(np.isfinite(np.float32(v)).all() for v in residents(held).values())
        ends.append(np.mean(losses[-5:]))
        assert ends[-1] < 0.8 * np.mean(losses[:5])
    assert ends[1] < 2 * ends[0] + 0.2


@pytest.mark.measures
def test_a_seed_decides_how_states_are_rounded() -> None:
    """From the second step on, the parameters show it."""

    small = eight_bit_states(step("sums", "adam"))
    with Session(Program(small, 1)) as held:
        given = {n: v for n, v in residents(held).items() if n.count(".") == 1}

    def trained(seed: int) -> Array:
        with Session(Program(small, 3), seed, given) as held:
            for _ in range(3):
                held.step(np.ones((3, 11)), np.ones((3, 4)))
            return residents(held)["fc3.bias"]

    np.testing.assert_array_equal(trained(5), trained(5))
    assert (trained(5) != trained(6)).any()


def test_a_step_says_what_it_is() -> None:
    small = eight_bit_states(step("sums", "adam"))
    assert BLOCK == 2048
    assert small.describe() == "sums, fp32, Adam, training, 8-bit states in blocks of 2,048"


def test_an_inference_has_no_states_and_stays() -> None:
    for plain in (step("sums", "inference"), precision(step("sums", "inference"), "mixed fp16")):
        assert eight_bit_states(plain) is plain


NO_STATE = r"the optimizer of this step \(.*\) has no state in fp32; call eight_bit_states once"


@every_row(
    ("given", "block", "words"),
    [
        (NETWORKS["sums"], 64, "eight_bit_states rewrites a step, got <sums: 7 layers"),
        (step("sums", "sgd"), 64, NO_STATE),
        (step("sums", "adam", format="fp64"), 64, NO_STATE),
        (precision(step("sums", "adam"), "fp16"), 64, NO_STATE),
        (eight_bit_states(step("sums", "adam")), 64, NO_STATE),
        (step("sums", "adam"), 100, "block must be a power of two from 64 to 16,384, got 100"),
        (step("sums", "adam"), 32768, "block must be a power of two from 64 to 16,384, got 32,768"),
        (step("sums", "adam"), 32, "block must be at least 64, got 32"),
        (step("sums", "inference"), 100, "block must be a power of two from 64 to 16,384, got 100"),
        (step("sums", "adam"), 64.5, "block must be a whole number, got 64.5"),
    ],
)
def test_bad_input_is_one_sentence(given: Any, block: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        eight_bit_states(given, block)
    assert "\n" not in str(caught.value)


@pytest.mark.measures
def test_a_mean_of_squares_that_was_rounded_to_0_does_not_divide() -> None:
    """A small square beside a large one of its block has the code 0, and Adam divides by its
    root: without a least value the step would be of the order of rate / epsilon, a million."""
    net = memlab.network("one", features=64).linear(1, bias=False).squared_error()
    small = eight_bit_states(memlab.training_step(net, "adam"), 64)
    x = np.zeros((1, 64), np.float32)
    with Session(Program(small, 1), settings={"rate": 0.01}) as held:
        values = {tensor.name: held.value(tensor) for tensor in held.residents}
        values["fc1.weight.first_moment"][0, 1:] = 448
        values["fc1.weight.first_moment.scales"][:] = 1e-3
        values["fc1.weight.second_moment.scales"][:] = 1e-3
        before = values["fc1.weight"].copy()
        held.step(x, np.zeros((1, 1), np.float32))
        moved = np.abs(values["fc1.weight"] - before)[0, 1:]
    # by the formula, with the least mean of squares of the block
    mean, squares = 0.9 * 448e-3, 0.999 * 2.0**-16 * 1e-3
    due = 0.01 * (mean / (1 - 0.9)) / np.sqrt(squares / (1 - 0.999))
    np.testing.assert_allclose(moved, due, rtol=1e-3)
