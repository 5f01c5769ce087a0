"""Training loops as people write them have the bytes of all live storages in a plan."""

from __future__ import annotations

from typing import Any

import pytest

from memlab import InputError
from memlab.pictures.explain.own_loop import OwnLoop
from memlab.pictures.explain.own_model import builder
from tests.oracles.requirement import torch_or_skip

torch = torch_or_skip()

from tests.frontends.loops import plain, truths  # noqa: F401 - it registers the loops
from tests.frontends.loops.cases import CASES

LOOPS = (
    "wgan_gp", "grad_scaler", "retain_graph", "truncated_backward", "vae", "teacher_student",
    "momentum_contrast", "sharpness_aware", "in_gradient_hooks",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::memlab.frontends.torch.observed_model.RealTensorsWarning")
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_has_the_bytes_of_all_live_storages(name):
    torch.manual_seed(0)
    truth = truths.live_bytes(CASES[name].make)
    step, batch = CASES[name].make()
    subject = OwnLoop(step, batch, None, progress=False)
    planned = subject.plain.ledger.peak(subject.samples, workspace=False)
    assert abs(planned - truth) <= 8  # a number that a scaler holds a moment longer


@pytest.mark.parametrize("name", ["retain_graph", "truncated_backward"])
def test_whole_numbers_that_are_computed_need_no_real_tensors(name):
    step, batch = CASES[name].make()
    assert not OwnLoop(step, batch, None, real=False, progress=False).watched.recording.real


@pytest.mark.parametrize("real", [True, False])
def test_outputs_whose_size_depends_on_values_keep_it_where_workspace_is_measured(real):
    model = torch.nn.Linear(64, 64)

    def step(batch):
        x, labels = batch
        chosen = (labels > 3).nonzero().squeeze(1)
        model(x[chosen]).sum().backward()
        model.zero_grad()

    batch = torch.randn(512, 64), torch.arange(512)
    subject = OwnLoop(step, batch, None, real=real, progress=False)
    ledger = subject.plain.ledger
    assert len(ledger.timeline(512)) == len(subject.plain.step.ops)
    assert ledger.peak(512) >= ledger.peak(512, workspace=False)


def test_one_of_several_processes_is_refused_before_the_others_wait(monkeypatch):
    ran: list[Any] = []
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    with pytest.raises(InputError, match=r"2 in all, .* world_size=1\.$"):
        OwnLoop(ran.append, torch.ones(3), None, progress=False)
    assert not ran


def test_a_copied_model_has_its_values_where_they_may_decide_about_bytes():
    model = torch.nn.BatchNorm1d(3)
    model.running_mean += 5
    copied = builder(model)()
    for tensor, own in zip(copied.state_dict().values(), model.state_dict().values(), strict=True):
        assert tensor.equal(own)
        assert tensor.data_ptr() != own.data_ptr()
