"""With measured workspace a recorded plan has all bytes that PyTorch's allocator hands out."""

from __future__ import annotations

import json
from typing import Any

import pytest

import memlab
from memlab import InputError
from memlab.step.tensor import Role
from tests.oracles.requirement import torch_or_skip

torch: Any = torch_or_skip()

from memlab.frontends.torch import measured_workspace, observe, run_one_op
from memlab.frontends.torch.checkpoint_rng import nbytes, reruns
from memlab.frontends.torch.recording_to_step import step_of
from tests.oracles.torch_allocator import most
from tests.torch_models import SMALL, Case

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


def test_from_other_batches_it_is_within_a_hundredth():
    case = SMALL["resnet"]
    found = seen(case)
    ledger, (first, *_, last) = planned(found, None), measured_workspace.near(found)
    for batch in (last // 2 + 1, 2 * last):
        assert ledger.peak(batch) == pytest.approx(truth(case, batch), rel=0.01)
    assert any(f"measured at batch {first} and" in note for note in ledger.notes)
    with pytest.raises(InputError, match=f"holds for batch {first} to"):
        ledger.peak(first - 1)


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
    job = measured_workspace.Jobs(found, 5).job(call)
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
