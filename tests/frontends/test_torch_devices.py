"""Calls of CUDA are answered by the processor inside the context, and by PyTorch after it."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from threading import Event
from typing import Any

import pytest

import memlab
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from memlab.frontends.torch import record
from memlab.frontends.torch.built_model import Born, on_meta
from memlab.frontends.torch.device_calls import cuda_means_here
from memlab.placement import cuda_cards
from tests.oracles.torch_peak import count
from tests.torch_models import SMALL, images

F = torch.nn.functional
nn = torch.nn
CALLS = {
    "factory": lambda: torch.zeros(2, device="cuda"),
    "factory with a number": lambda: torch.zeros(2, device=0),
    "factory of values": lambda: torch.tensor([1.0], device=torch.device("cuda:0")),
    "like another": lambda: torch.zeros_like(torch.ones(2), device="cuda"),
    "new": lambda: torch.ones(2).new_zeros(3, device="cuda"),
    "to": lambda: torch.ones(2).to("cuda:0", non_blocking=True),
    "to a device": lambda: torch.ones(2).to(torch.device("cuda"), torch.float16),
    "to by name": lambda: torch.ones(2).to(device="cuda", dtype=torch.bfloat16),
    "cuda": lambda: torch.ones(2).cuda(non_blocking=True),
    "cuda of a number": lambda: torch.ones(2).cuda(0),
    "pinned": lambda: torch.ones(2).pin_memory().cuda(),
    "made pinned": lambda: torch.empty(2, pin_memory=True).to("cuda"),
    "module": lambda: nn.Linear(2, 2).cuda().weight,
    "module to": lambda: nn.Linear(2, 2).to("cuda").weight,
    "module to a number": lambda: nn.Linear(2, 2).to(0).weight,
    "module to a dtype, too": lambda: nn.Linear(2, 2).to("cuda", torch.float16).weight,
    "module made there": lambda: nn.Linear(2, 2, device="cuda").weight,
}


def in_a_context() -> Any:
    with torch.device("cuda"):
        return torch.ones(2), nn.Linear(2, 2).weight


@pytest.mark.parametrize("name", list(CALLS))
def test_a_tensor_on_cuda_is_one_of_the_processor(name):
    with cuda_means_here():
        assert CALLS[name]().device.type == "cpu"


def test_so_it_is_in_a_context_of_a_device():
    with cuda_means_here():
        assert [tensor.device.type for tensor in in_a_context()] == ["cpu", "cpu"]
        torch.set_default_device("cuda")
        try:
            assert torch.ones(2).device.type == "cpu"
        finally:
            torch.set_default_device(None)
    assert torch.ones(2).device.type == "cpu"


@pytest.mark.parametrize("build", [
    lambda: nn.Linear(2, 2, device="cuda"), lambda: nn.Linear(2, 2).cuda(),
    lambda: nn.Linear(2, 2).to("cuda", torch.float16), lambda: nn.Linear(2, 2).to(0),
])  # fmt: skip
def test_a_model_for_a_card_is_built_without_memory(build):
    with cuda_means_here():
        model = on_meta(build, Born())
    assert model is not None
    assert model.weight.is_meta


def test_dtype_and_layout_are_changed_as_asked():
    with cuda_means_here():
        x = torch.ones(2, 3, 4, 4)
        assert x.to("cuda", torch.float16).dtype == torch.float16
        assert x.cuda(memory_format=torch.channels_last).stride() == (48, 1, 12, 3)
        assert torch.ones(2).to("cuda", copy=True).data_ptr()


@pytest.mark.parametrize(
    ("context", "dtype"),
    [
        (lambda: torch.autocast("cuda"), torch.float16),
        (lambda: torch.autocast(device_type="cuda", dtype=torch.bfloat16), torch.bfloat16),
        (lambda: torch.amp.autocast("cuda", torch.float16), torch.float16),
        (lambda: torch.autocast("cuda", enabled=False), torch.float32),
        (lambda: torch.autocast("cpu"), torch.bfloat16),
    ],
)
def test_autocast_is_on(context, dtype):
    layer, x = nn.Linear(4, 4), torch.ones(2, 4)
    with cuda_means_here(), context():
        assert layer(x).dtype == dtype
        assert torch.is_autocast_enabled() is (dtype != torch.float32)
        if dtype != torch.float32:
            assert torch.get_autocast_dtype("cuda") == dtype
    assert layer(x).dtype == torch.float32


class Scaled:
    """The update of a loop with a gradient scaler."""

    def __init__(self, parameters: Any) -> None:
        self.optimizer, self.scaler = torch.optim.Adam(parameters), torch.amp.GradScaler("cuda")
        self.scaler.scale(torch.ones(1))

    @property
    def state(self) -> Any:
        return self.optimizer.state

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optimizer.zero_grad(set_to_none)

    def step(self) -> None:
        self.scaler.unscale_(self.optimizer)
        self.scaler.step(self.optimizer)
        self.scaler.update()


def test_a_gradient_scaler_is_on_and_part_of_the_step():
    case = SMALL["alexnet"]
    with cuda_means_here():
        step = record(case.build, case.make_batch, case.loss_fn, Scaled)
    kinds = [op.kind for op in step.ops]
    assert "_amp_foreach_non_finite_check_and_unscale_" in kinds
    assert "_amp_update_scale_" in kinds
    assert not any("real tensors" in note for note in step.notes)


@pytest.mark.filterwarnings("ignore:.*GradScaler.*is deprecated")
def test_the_older_scaler_is_on_too():
    with cuda_means_here():
        scaler = torch.cuda.amp.GradScaler()
        assert scaler.is_enabled()
        assert scaler.get_scale() == 2.0**16


class OnACard(nn.Module):  # type: ignore[name-defined]
    """A model as people write it for a card."""

    def __init__(self) -> None:
        super().__init__()
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        assert device.type == "cuda"
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).to(device)
        self.head = nn.Linear(288, 10, device=device)

    def forward(self, x):
        x = self.body(x.cuda(non_blocking=True)).flatten(1)
        return self.head(x) + torch.zeros(10, device="cuda")


class OnAProcessor(nn.Module):  # type: ignore[name-defined]
    """The same model as it is written for a processor."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
        self.head = nn.Linear(288, 10)

    def forward(self, x):
        return self.head(self.body(x).flatten(1)) + torch.zeros(10)


def test_a_model_for_a_card_is_recorded_without_one():
    def make_batch(batch):
        return tuple(part.pin_memory().cuda() for part in images(8, 10, batch))

    with cuda_means_here():
        step = record(lambda: OnACard().cuda(), make_batch, F.cross_entropy, "adam")
    assert not any("real tensors" in note for note in step.notes)
    truth = count(OnAProcessor, partial(images, 8, 10), F.cross_entropy, 7, "adam").most
    assert memlab.plan(step).peak(7, workspace=False) == truth


def state() -> Any:
    """Everything that the context replaces."""
    cuda = torch.cuda
    return (
        cuda.is_available, cuda.is_bf16_supported, cuda.device_count, cuda.current_device,
        cuda.synchronize, cuda.set_device, torch.autocast.__init__, torch.is_autocast_enabled,
        torch.get_autocast_dtype, torch.amp.GradScaler._maybe_opt_step, torch.load,
        nn.Module.to, torch._C._len_torch_function_stack(), torch.is_autocast_enabled("cpu"),
    )  # fmt: skip


@pytest.mark.parametrize("error", [None, KeyError, KeyboardInterrupt])
def test_afterwards_all_is_as_before(error):
    before = state()
    with contextlib.suppress(KeyError, KeyboardInterrupt), cuda_means_here():
        assert torch.cuda.is_available()
        assert torch.cuda.device_count() == 1
        torch.cuda.synchronize()
        assert state() != before
        if error is not None:
            raise error
    assert state() == before


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, which answers")
def test_afterwards_cuda_is_an_error_again():
    with cuda_means_here():
        torch.ones(2).cuda()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(2).cuda()


def test_a_file_of_a_card_is_read(tmp_path):
    torch.save(torch.ones(3), tmp_path / "x.pt")
    with cuda_means_here():
        assert torch.load(tmp_path / "x.pt", map_location="cuda").device.type == "cpu"
        assert torch.load(tmp_path / "x.pt", torch.device("cuda:0")).device.type == "cpu"


def test_two_threads_leave_pytorch_as_it_was():
    before, available = state(), torch.cuda.is_available()
    first, second = (ExitStack() for _ in range(2))
    entered, left = Event(), Event()

    def other():
        with second:
            second.enter_context(cuda_means_here())
            entered.set()
            assert left.wait(60)
            assert torch.zeros(2, device="cuda").device.type == "cpu"

    with ThreadPoolExecutor(1) as pool:
        with first:
            first.enter_context(cuda_means_here())
            result = pool.submit(other)
            assert entered.wait(60)
        assert torch.cuda.is_available() == available
        left.set()
        result.result(60)
    assert state() == before


def test_questions_about_the_device_are_answered_for_the_card():
    cuda = torch.cuda
    with cuda_means_here(cuda_cards.find("T4")):
        assert cuda.get_device_capability() == (7, 5)
        assert cuda.get_device_name(0) == cuda.get_device_properties(0).name == "T4"
        assert cuda.get_device_properties("cuda").total_memory == 16 * 10**9
        assert cuda.mem_get_info() == (16 * 10**9, 16 * 10**9)
        assert cuda.memory_allocated() == cuda.max_memory_allocated() == 0
