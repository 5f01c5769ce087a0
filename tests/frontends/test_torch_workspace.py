"""With measured workspace a recorded plan has all bytes that PyTorch's allocator hands out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import memlab
from memlab import InputError
from memlab.step.storage import HOST, Size
from memlab.step.tensor import Role
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from memlab.frontends.torch import measured_workspace, observe, record, run_one_op
from memlab.frontends.torch.checkpoint_rng import nbytes, reruns
from memlab.frontends.torch.recording_to_step import step_of
from tests.oracles.torch_allocator import most
from tests.torch_models import SMALL, Case, of_images

BATCH = 7


def seen(case: Case, optimizer: str = "momentum") -> Any:
    return observe(case.build, case.make_batch, case.loss_fn, optimizer, autocast=case.autocast)


def truth(case: Case, batch: int, optimizer: str = "momentum") -> int:
    return most(case.build, case.make_batch, case.loss_fn, batch, optimizer, case.autocast)


def planned(found: Any, batch: int | None) -> Any:
    return memlab.plan(
        measured_workspace.with_workspace(found, measured_workspace.workspace(found, batch))
    )


def sum_of(count: int) -> dict[str, Any]:
    """An addition of so many values, as another process reads it."""
    tensors = [{"tensor": [n, count, [count], [1], 0, "float32", "cpu"]} for n in (0, 1)]
    return {"op": "aten::add", "overload": "Tensor", "grad": False, "args": tensors, "kwargs": {}}


@pytest.mark.parametrize(
    ("name", "optimizer"),
    [("unet", "adam"), ("lstm", "sgd"), ("checkpoint", "momentum"), ("autocast", "momentum")],
)
def test_the_peak_is_that_of_the_allocator(name, optimizer):
    case = SMALL[name]
    found = seen(case, optimizer)
    ledger, real = planned(found, BATCH), truth(case, BATCH, optimizer)
    assert ledger.peak(BATCH) == real
    assert memlab.plan(step_of(found)).peak(BATCH) < real  # workspace is part of it


class Added(torch.autograd.Function):
    """Identity whose backward adds a value to the gradient in Python."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient + x.cos()


def cancelled(x):
    return x + x.neg()


def squared(x):
    return x * x


def flattened(x):
    return x.flatten().neg().view_as(x) + x.flatten().sin().view_as(x)


def chosen(x):
    return x[torch.arange(255, -1, -1)] + x.index_select(0, torch.arange(256))


def gathered(x):
    return x.gather(0, torch.zeros(256, 4096, dtype=torch.int64)) + x.sort(0).values


class First(torch.nn.Module):
    """A function of the input, so that the peak is in its backward."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function, self.scale = function, torch.nn.Parameter(torch.ones(4096))
        self.last = torch.nn.Linear(4096, 512)  # its gradient puts the peak into backward

    def forward(self, x):
        return self.last(self.function(x * self.scale))


@pytest.mark.parametrize("function", [chosen, gathered])
def test_zeros_are_filled_in_place_where_autograd_fills_them(function):
    case = Case(
        lambda: First(function),
        lambda batch: (torch.randn(batch, 4096), torch.randint(8, (batch,))),
        torch.nn.functional.cross_entropy,
    )
    found = observe(case.build, case.make_batch, case.loss_fn, "sgd", batch=256)
    assert planned(found, 256).peak(256) == truth(case, 256, "sgd")


@pytest.mark.parametrize("function", [cancelled, squared, flattened, Added.apply])
def test_gradients_are_added_in_place_where_autograd_adds_them(function):
    case = Case(
        lambda: First(function),
        lambda batch: (torch.randn(batch, 4096), torch.randint(512, (batch,))),
        torch.nn.functional.cross_entropy,
    )
    found = observe(case.build, case.make_batch, case.loss_fn, "sgd")
    assert planned(found, 64).peak(64) == truth(case, 64, "sgd")


def test_from_other_batches_it_is_an_upper_bound_within_a_hundredth():
    case = SMALL["resnet"]
    found = seen(case)
    *_, first, second, last = measured_workspace.near(found)
    ledger = memlab.plan(measured_workspace.lazy_step(found, exact=frozenset()))
    for batch in (second + 1, 2 * last):
        real = truth(case, batch)
        assert real <= ledger.peak(batch) <= 1.01 * real
    assert f"workspace an upper bound from batches {first}, {second} and {last}" in (
        ledger.at(last).notes
    )
    for batch in measured_workspace.near(found):
        assert ledger.at().peak(batch) >= truth(case, batch)


def test_no_measured_value_lies_above_the_line():
    line = measured_workspace.upper_line({2: 900, 8: 100, 16: 340, 32: 800})
    assert line == Size(842, 29)  # as steep as from 16 to 32
    assert measured_workspace.upper_line({4: 10, 8: 30, 16: 30}) == Size(14, 2)  # from 4 to 16
    assert measured_workspace.upper_line({8: 5, 16: 5}) == Size(5)
    assert measured_workspace.upper_line({7: 5}) == Size(5)


# -- a step that is recorded -----------------------------------------------------------------------


def frozen() -> Any:
    """Convolutions without gradients, inside which the peak lies, and a head that is trained."""
    backbone = torch.nn.Sequential(
        *[torch.nn.Conv2d(a, b, 3, padding=1) for a, b in ((3, 64), (64, 64), (64, 3))],
        torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(),
    ).requires_grad_(False)  # fmt: skip
    return torch.nn.Sequential(backbone, torch.nn.Linear(12, 10))


FROZEN = of_images(frozen, 32, 10)


def lazy(case: Case, **options: Any) -> Any:
    return record(case.build, case.make_batch, case.loss_fn, "sgd", **options)


@pytest.fixture(scope="module")
def ledger() -> Any:
    return memlab.plan(lazy(FROZEN))


@pytest.mark.parametrize("batch", [1, 2, 3, 8])
def test_a_recorded_step_has_workspace_at_every_batch(ledger, batch):
    real = truth(FROZEN, batch, "sgd")
    assert ledger.peak(batch) == real
    assert ledger.peak(batch, workspace=False) < 0.9 * real


def test_every_answer_has_the_same_peak(ledger):
    peak = ledger.peak(8)
    assert max(ledger.timeline(8)) == ledger.peak_at(8).nbytes == ledger.reserved(8)[-1] == peak
    assert sum(ledger.roles(8).values()) == ledger.why(8).nbytes == peak
    assert max(event.live for event in ledger.events(8)) == peak
    assert ledger.roles(8)[Role.WORKSPACE] > 0 == ledger.roles(8, workspace=False)[Role.WORKSPACE]
    assert "workspace measured at batch 8" in ledger.why(8).heading
    assert memlab.diff(ledger, ledger, 8).change == 0


def test_without_workspace_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(measured_workspace, "_measured_alone", None)
    ledger = memlab.plan(lazy(FROZEN))
    plain = memlab.plan(step_of(observe(FROZEN.build, FROZEN.make_batch, FROZEN.loss_fn, "sgd")))
    for batch in (2, 8):
        assert ledger.timeline(batch, workspace=False) == plain.timeline(batch)
        assert ledger.roles(batch, workspace=False) == plain.roles(batch)
    assert ledger.peak(2, HOST) == 0
    with pytest.raises(InputError, match="batch must be at least 1"):
        ledger.peak(0)


def test_the_largest_batch_is_that_of_the_allocator(ledger):
    fit = ledger.fit(ledger.peak(6) + 1000)
    assert (fit.batch, fit.needs) == (6, truth(FROZEN, 6, "sgd"))
    assert fit.peak is not None
    assert fit.peak.nbytes == truth(FROZEN, 7, "sgd")
    assert ledger.fit(100_000).batch == 0


def test_what_has_no_batch_is_an_upper_bound(ledger):
    fixed, per_sample = ledger.line()
    assert all(ledger.peak(batch) <= max(fixed + batch * per_sample) for batch in (2, 3, 8))
    at = ledger.peak_at(8).index
    assert any(entry.role is Role.WORKSPACE for entry in ledger.alive(at))
    assert "an upper bound from batches 2, " in ledger.at().describe()


def test_a_rewritten_step_has_workspace_too():
    step = lazy(SMALL["unet"])
    for rewritten in (memlab.recompute(step, k=4), memlab.accumulate(step, 2)):
        ledger = memlab.plan(rewritten)
        assert ledger.peak(BATCH) > ledger.peak(BATCH, workspace=False)
        assert ledger.roles(BATCH)[Role.WORKSPACE] > 0


def test_a_budget_of_recompute_is_for_workspace_too():
    step = lazy(SMALL["unet"])
    budget = memlab.plan(step).peak(BATCH) - 10_000
    again = memlab.plan(memlab.recompute(step, "chain", batch=BATCH, budget=budget))
    assert again.peak(BATCH, workspace=False) < again.peak(BATCH) <= budget
    with pytest.raises(InputError, match="the least that one takes"):
        memlab.recompute(step, "chain", batch=BATCH, budget=budget // 2)


def test_an_operation_that_is_too_large_has_a_bound_that_is_marked(monkeypatch):
    found = seen(FROZEN, "sgd")
    real = truth(FROZEN, 16, "sgd")
    most = max(block.nbytes.at(16) for block in found.blocks)
    monkeypatch.setattr(measured_workspace, "room", lambda: most * 3 // 2)
    ledger = planned(found, 16)
    assert real <= ledger.peak(16) <= 1.01 * real
    (note,) = [note for note in ledger.notes if note.startswith("that of")]
    assert note == "that of 0.1.convolution an upper bound from batches 2, 4 and 8"


def test_an_operation_that_is_not_measured_is_named(monkeypatch):
    found = seen(FROZEN, "sgd")
    monkeypatch.setattr(measured_workspace, "room", lambda: 10)
    (note,) = [note for note in planned(found, 3).notes if note.startswith("that of")]
    assert "operations (0.0.convolution, " in note
    assert note.endswith(
        "not measured (its tensors need more than a quarter of the free memory, 10 B)"
    )


def test_so_is_one_that_fails_alone(monkeypatch):
    """As an operator does that only the notebook knows, or one that ends its process."""

    def run(jobs: Any, tell: Any) -> Any:
        return {text: {"error": "no such operator"} for text in jobs}

    monkeypatch.setattr(measured_workspace, "run", run)
    ledger = memlab.plan(lazy(FROZEN))
    (note,) = [note for note in ledger.at(3).notes if note.startswith("that of")]
    assert "operations (0.0.convolution, " in note
    assert note.endswith("not measured (no such operator)")
    assert note in ledger.why(3).heading


def test_a_process_that_waited_too_long_is_followed_by_another():
    key = os.getpid(), json.dumps(run_one_op.settings())
    gone = subprocess.Popen(
        [sys.executable, "-c", "pass"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    gone.wait()
    measured_workspace._end_all()
    measured_workspace._CHILDREN[key] = gone
    job = json.dumps(sum_of(11))
    assert measured_workspace.run([job])[job]["peak"] == 44


def test_a_saved_plan_has_the_bound(ledger, tmp_path):
    memlab.save(ledger, tmp_path / "plan.json")
    assert memlab.load(tmp_path / "plan.json") == ledger.at()


def test_workspace_has_its_own_role_and_is_no_part_of_what_is_alive_between_operations():
    found = seen(SMALL["unet"])
    ledger = planned(found, BATCH)
    assert ledger.roles(BATCH)[Role.WORKSPACE] > 0
    assert ledger.peak(BATCH, workspace=False) == memlab.plan(step_of(found)).peak(BATCH)
    with pytest.raises(InputError, match="holds for batch 7"):
        ledger.peak(BATCH + 1)


def test_an_operation_that_crashes_ends_nothing_else():
    """No bytes in the place of what oneDNN keeps for its backward: a segmentation fault."""
    found = seen(SMALL["lstm"])
    call = next(each for each in found.calls if each.kind == "mkldnn_rnn_layer_backward")
    job = measured_workspace.Jobs(found).job(call, 5)
    kept = [isinstance(each, dict) and "made" in each for each in job["args"]]
    empty = {"tensor": [99, 0, [0], [1], 0, "uint8", "cpu"]}
    args = [empty if made else each for each, made in zip(job["args"], kept, strict=True)]
    crash, add = json.dumps({**job, "args": args, "first": {}}), json.dumps(sum_of(3))
    assert any(kept)
    results = measured_workspace.run([crash, add])
    assert results[crash] == {"error": "it ends the process that it runs in"}
    assert results[add]["peak"] == 12


def test_equal_operations_are_measured_once_and_an_error_is_told():
    job = sum_of(6)
    add, wrong = json.dumps(job), json.dumps({**job, "args": job["args"][:1]})
    told: list[tuple[int, int]] = []
    found = measured_workspace.run([add, wrong, add], lambda *pair: told.append(pair))
    assert told == [(1, 2), (2, 2)]
    assert found[add]["peak"] == 24
    assert found[add]["outputs"] == [[0, 24]]
    assert "missing value for argument" in found[wrong]["error"]
    measured_workspace.run([add], lambda *pair: told.append(pair))
    assert len(told) == 2


def test_a_process_that_does_not_start_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(run_one_op, "__file__", str(tmp_path / "none.py"))
    monkeypatch.setattr(measured_workspace, "_CHILDREN", {})
    with pytest.raises(InputError, match="did not start"):
        measured_workspace.run(["{}"])


def test_what_checkpoints_keep_of_random_numbers_is_found():
    found = seen(SMALL["checkpoint"])
    again = reruns(found)
    assert [found.calls[each.begin].path for each in again] == [
        "2.0.conv1",
        "1.1.conv1",
        "1.0.conv1",
    ]
    assert all(each.begin < each.first <= each.last < each.end for each in again)
    assert nbytes() == torch.get_rng_state().nbytes
    assert not reruns(seen(SMALL["resnet"]))


def test_a_recording_of_one_batch_is_measured_at_that_one():
    case = SMALL["mse_loss"]
    found = observe(case.build, case.make_batch, case.loss_fn, batch=3)
    assert planned(found, None).peak(3) == truth(case, 3)
    with pytest.raises(InputError, match="of batch 3 alone"):
        measured_workspace.workspace(found, 4)
