"""Options of a recording that a loop on a card usually has: the loss scaled, gradients clipped, and
states that stay on the host."""

from __future__ import annotations

from typing import Any

import pytest

import memlab
from memlab import InputError
from memlab.step.step import Step
from memlab.step.storage import HOST
from memlab.step.tensor import Role
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from memlab.frontends.torch import record

nn = torch.nn


def recorded(optimizer: Any = "adam", **options: Any) -> Step:
    return record(
        lambda: nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),
        lambda batch: (torch.randn(batch, 64), torch.randint(10, (batch,))),
        nn.functional.cross_entropy,
        optimizer,
        **options,
    )


def kinds(step: Step) -> set[str]:
    return {op.kind for op in step.ops}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_gradients_are_unscaled_and_clipped_before_the_update(device: str) -> None:
    options = {"grad_scaler": True, "clip_grad_norm": 1.0}
    step = recorded(device=device, **options)
    order = [op.kind for op in step.ops]
    unscaled = order.index("_amp_foreach_non_finite_check_and_unscale_")
    norm = order.index("_foreach_norm" if device == "cuda" else "linalg_vector_norm")
    update = next(n for n, kind in enumerate(order) if kind.strip("_").endswith("addcdiv"))
    assert unscaled < norm < update
    assert "_amp_update_scale_" in order[update:]
    assert {"loss scaled", "gradients clipped"} <= set(step.notes)


def test_the_step_with_a_scaler_is_that_of_real_tensors() -> None:
    fake, real = (
        recorded(grad_scaler=True, clip_grad_norm=2.0, real=real) for real in (False, True)
    )
    assert [op.kind for op in fake.ops] == [op.kind for op in real.ops]
    assert memlab.plan(fake).timeline(7, workspace=False) == memlab.plan(real).timeline(
        7, workspace=False
    )


def test_an_optimizer_counts_its_steps_on_the_host_unless_it_is_fused() -> None:
    for optimizer, count in (("adam", 4), (lambda p: torch.optim.Adam(p, fused=True), 0)):
        step = recorded(optimizer, device="cuda")
        states = [t for t in step.live_in if t.role is Role.OPTIMIZER_STATE]
        assert [t.storage.memory for t in states].count(HOST) == count
        assert len(states) == 12
    assert memlab.plan(recorded(device="cpu")).peak(3, HOST, workspace=False) == 0


def test_a_card_takes_foreach_and_a_processor_does_not() -> None:
    assert "_foreach_addcdiv_" in kinds(recorded(device="cuda"))
    assert "_foreach_addcdiv_" not in kinds(recorded(device="cpu"))
    one_by_one = recorded(lambda p: torch.optim.Adam(p, foreach=False), device="cuda")
    assert "_foreach_addcdiv_" not in kinds(one_by_one)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"device": "gpu"}, "unknown device 'gpu'"),
     ({"device": "cuda", "card": "T5"}, "unknown card 't5'"),
     ({"card": "T4"}, "device='cpu' has no card, got 'T4'"),
     ({"clip_grad_norm": "1"}, "clip_grad_norm"),
     ({"grad_scaler": 1}, "grad_scaler")],
)  # fmt: skip
def test_bad_options_are_refused_in_one_sentence(options: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as error:
        recorded(**options)
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of its compiler
def test_compiled_code_is_planned_for_a_card_as_it_was_written() -> None:
    def build() -> Any:
        return torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 10)))

    def plain() -> Any:
        return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 10))

    def make_batch(batch: int) -> Any:
        return torch.randn(batch, 8), torch.randint(10, (batch,))

    compiled, written = (
        record(model, make_batch, nn.functional.cross_entropy, device="cuda")
        for model in (build, plain)
    )
    assert "compiled code planned as it was written" in compiled.notes
    assert memlab.plan(compiled).timeline(4) == memlab.plan(written).timeline(4)
