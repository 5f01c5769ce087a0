"""Updates say by value what belongs to each parameter: names and kinds say nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import memlab
from memlab import InputError
from memlab.kernels import registry
from memlab.kernels.registry import Array
from memlab.optimizers import OPTIMIZERS
from memlab.runtime.program import Program
from memlab.runtime.session import Session
from memlab.step.fp32_tiles import SCALE
from memlab.step.op import Phase, UpdateSlot
from memlab.step.step import Step
from memlab.step.tensor import Role, Tensor
from tests.staged_networks import TRAINED, step

STRANGE = {"fc1.weight": "gradient of x.master.scales", "fc2.bias": "gradient of fc2.weight.master"}
"""Names that a gradient, a copy or a scale would have."""


def strangely(old: Step) -> Step:
    """Two parameters, and everything named after them, under strange names."""

    def name(known: str) -> str:
        for plain, strange in STRANGE.items():
            known = known.replace(plain, strange)
        return known

    def tensor(each: Tensor) -> Tensor:
        storage = replace(each.storage, name=name(each.storage.name))
        return replace(each, name=name(each.name), storage=storage)

    def operands(some: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name(key): tensor(each) for key, each in some.items()}

    def slot(each: UpdateSlot) -> UpdateSlot:
        states = {state: name(key) for state, key in each.states.items()}
        return UpdateSlot(name(each.parameter), name(each.gradient), states)

    ops = [
        replace(op, reads=operands(op.reads), writes=operands(op.writes),
                updates=operands(op.updates), slots=tuple(map(slot, op.slots)))
        for op in old.ops
    ]  # fmt: skip
    live_in, live_out = (tuple(map(tensor, each)) for each in (old.live_in, old.live_out))
    return replace(old, ops=tuple(ops), live_in=live_in, live_out=live_out)


def opened(step: Step, given: Mapping[str, Array] | None = None) -> Session:
    return Session(Program(step, 3), parameters=given)


def after(step: Step) -> list[Array]:
    """What three steps leave, from the parameters of any other."""
    drawn = np.random.default_rng(0)
    learned = [tensor for tensor in step.live_in if tensor.role is Role.PARAMETER]
    given = {tensor.name: drawn.standard_normal(tensor.shape(3)) for tensor in learned}
    with opened(step, given) as held:
        for _ in range(3):
            held.step(np.ones((3, 11)), np.ones((3, 4)))
        return [held.value(tensor).copy() for tensor in held.residents]


def same(ones: list[Array], others: list[Array]) -> None:
    for one, other in zip(ones, others, strict=True):
        assert one.tobytes() == other.tobytes()


MODES: dict[str, Callable[[Step], Step]] = {
    "fp32": lambda step: step,
    "fp16": partial(memlab.precision, mode="fp16"),
    "mixed fp16": partial(memlab.precision, mode="mixed fp16"),
}


@pytest.mark.measures
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("optimizer", TRAINED)
def test_strange_names_train_as_any_others(optimizer: str, mode: str) -> None:
    plain = step("sums", optimizer)
    odd = strangely(plain)
    same(after(MODES[mode](odd)), after(MODES[mode](plain)))
    if OPTIMIZERS[optimizer].states and mode != "fp16":
        # they are rounded by what is drawn for a name
        assert memlab.run(memlab.eight_bit_states(MODES[mode](odd)), 3).residual == 0


def test_strange_names_are_of_the_layers_of_any_others() -> None:
    steps = step("sums", "adam"), strangely(step("sums", "adam"))
    plain, odd = (memlab.plan(MODES["mixed fp16"](each)).entries for each in steps)
    assert [each.layer for each in odd] == [each.layer for each in plain]
    assert {each.layer for each in odd if "scales" in each.name} == {"fc1"}


@pytest.mark.measures
def test_strange_names_begin_as_any_others() -> None:
    """Weights are drawn, biases 0, and a master copy is its parameter before that is rounded."""
    small = MODES["mixed fp16"](strangely(step("sums", "adam")))
    weight, bias = STRANGE.values()
    with opened(small) as held:
        found = {tensor.name: held.value(tensor).copy() for tensor in held.residents}
    assert found[weight].std() == pytest.approx(np.sqrt(2 / 11), rel=0.2)
    assert not found[bias].any()
    np.testing.assert_array_equal(found[f"{weight}.master"].astype(np.float16), found[weight])
    given = np.full_like(found[f"{weight}.master"], 0.1)
    with opened(small, {weight: given}) as held:
        (master,) = (t for t in held.residents if t.start.of == weight)
        np.testing.assert_array_equal(held.value(master), given)
    with pytest.raises(InputError, match=re.escape(f"unknown parameter '{weight}.master'")):
        opened(small, {f"{weight}.master": given})


@pytest.mark.measures
@pytest.mark.parametrize("optimizer", [name for name, row in OPTIMIZERS.items() if row.squares])
def test_squares_below_0_are_refused(optimizer: str) -> None:
    (state,) = OPTIMIZERS[optimizer].squares
    given = {f"fc2.bias.{state}": -np.ones(9, np.float32)}
    with pytest.raises(InputError, match=r"holds -1\.0, and a mean or sum of squares is"):
        opened(step("sums", optimizer), given)


@pytest.mark.measures
@pytest.mark.parametrize("optimizer", TRAINED)
def test_an_update_of_an_unknown_kind_is_rewritten_as_any_other(
    optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kernel stands beside it; a rewrite looks at the kind of none."""
    monkeypatch.setitem(registry.KERNELS, ("mine", "", "cpu", "fp32"), registry.find(optimizer))
    plain = step("sums", optimizer)
    mine = changed(plain, kind="mine")
    assert all(np.isfinite(each).all() for each in after(replace(mine, optimizer="mine")))
    small = partial(memlab.precision, mode="mixed bf16", scaling=True, rounding="stochastic")
    for known, unknown in ((plain, mine), (small(plain), small(mine))):
        same(after(unknown), after(known))
        if OPTIMIZERS[optimizer].states:
            same(*(after(memlab.eight_bit_states(each, 64)) for each in (unknown, known)))


def changed(step: Step, **fields: Any) -> Step:
    """With other updates."""
    ops = [replace(op, **fields) if op.phase is Phase.UPDATE else op for op in step.ops]
    return replace(step, ops=tuple(ops))


def test_the_gradients_of_an_unknown_loss_begin_scaled() -> None:
    """Whatever its operands are called: it makes a gradient from no other."""
    plain = step("sums", "sgd")
    (loss,) = (op for op in plain.ops if op.name == "backward of loss")
    unknown = replace(loss, kind="blame", reads={f"in {n}": t for n, t in loss.reads.items()})
    ops = tuple(unknown if op is loss else op for op in plain.ops)
    small = MODES["mixed fp16"](replace(plain, ops=ops))
    scaled = [op.name for op in small.ops if SCALE in op.reads]
    assert scaled == ["backward of loss", *(f"update of fc{number}" for number in (1, 2, 3))]


def test_an_update_that_says_nothing_of_its_parameter_is_refused_in_one_sentence() -> None:
    silent = changed(step("sums", "adam"), slots=())
    words = "update of fc1 changes fc1.weight and does not say which gradient and states belong"
    drawn = partial(memlab.precision, mode="fp16", rounding="stochastic")
    for rewrite in (MODES["mixed fp16"], drawn, memlab.eight_bit_states):
        with pytest.raises(InputError, match=words):
            rewrite(silent)
    assert memlab.plan(MODES["fp16"](silent)).peak(3) > 0  # of which it needs nothing
