"""How far estimates of training memory are from the truth, on models small enough for a test."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchmarks import accuracy as recording
from memlab import InputError, bench, network, zoo
from memlab.bench import accuracy
from memlab.bench.accuracy.table import Accuracy, Compared, PredictorEstimate
from memlab.bench.accuracy.table import accuracy as result_of
from memlab.cli import main
from memlab.measure import recorded_figures
from memlab.measure.timing import BenchmarkLine, Machine
from memlab.networks.graph import Network
from memlab.pictures.explain.accuracy import AccuracyOfEstimates
from tests.oracles.requirement import torch_or_skip

MACHINE = Machine("a processor", 2, "Linux x86_64", "2026-01-31", {"torch": "2.13.0"})
SAID = (
    PredictorEstimate("memlab", 1_250_000, 4.0),
    PredictorEstimate("memlab without workspace", 1_000_000, 0.5),
    PredictorEstimate("MemTracker", why="failed: RuntimeError: no, not it: never"),
    PredictorEstimate("torchinfo", 2_500_000, 0.25),
    PredictorEstimate("accelerate", why="not installed"),
)
FOUND = (
    Compared("net, batch 2, adam", "PyTorch's allocator", 1_250_000, SAID),
    Compared("large, batch 9, sgd", "", 0, why="not run: it needs 9 GB, 8 GB are free"),
)
RESULT = result_of(FOUND, MACHINE)


# -- figures -----------------------------------------------------------------------------------


def test_every_figure_is_a_line_and_comes_back_from_it():
    assert RESULT.compared == FOUND
    found = {
        line.name.partition(": ")[2]: (round(line.value, 9), line.unit) for line in RESULT.lines
    }
    assert found["PyTorch's allocator"] == (1_250_000, "B")
    assert found["memlab without workspace, too low by"] == (20, "%")
    assert found["memlab, off by"] == (0, "%")
    assert found["torchinfo, too high by"] == (100, "%")
    assert found["torchinfo, took"] == (0.25, "s")
    assert found["accelerate, not installed"] == (0, "")
    json.dumps(RESULT.as_dict())


def test_the_table_says_how_far_each_is_off_and_why_there_is_no_figure():
    said = str(RESULT)
    for text in (
        "net, batch 2, adam: 1,250,000 B, by PyTorch's allocator", "20.00 % too low", "equal",
        "100.00 % too high", "failed: RuntimeError: no, not it: never", "not installed",
        "large, batch 9, sgd: not run: it needs 9 GB", str(MACHINE),
    ):  # fmt: skip
        assert text in said
    assert PredictorEstimate("a", 10**9 + 1).off(10**9) == "less than 0.01 % too high"


def test_the_plot_has_the_same_figures():
    view = AccuracyOfEstimates(RESULT)
    ET.fromstring(view.svg())
    for said in (view.svg(), view.text()):
        for text in ("20.00 % too low", "100.00 % too high", "no, not it", "large, batch 9",
                     "Not installed: accelerate", "torchinfo: up to 100.00 % off"):  # fmt: skip
            assert text in said
    view.figure()


def test_without_a_step_there_is_no_plot():
    with pytest.raises(InputError, match=r"nothing to plot: .* not run"):
        AccuracyOfEstimates(result_of(FOUND[1:], MACHINE))


def test_figures_are_recorded_and_sentences_are_not(tmp_path):
    path = recording.record(RESULT, tmp_path / "accuracy.json")
    assert path is not None
    found = accuracy.recorded(recorded_figures.load(path))
    assert found.compared[0].estimates == tuple(each for each in SAID if each.nbytes)
    assert recording.record(result_of(FOUND[1:], MACHINE), tmp_path / "none.json") is None
    on_gpu = Machine("NVIDIA T4, beside a core", 2, "Linux x86_64", "2026-01-31", {"a": "1"})
    path = recording.record(result_of(FOUND, on_gpu), tmp_path / "accuracy.json")
    assert path == tmp_path / "accuracy_nvidia_t4.json"


def test_the_recorded_figures_are_those_of_the_steps_that_they_name():
    found = recorded_figures.load(accuracy.FILE)
    assert found.command == accuracy.COMMAND
    compared = accuracy.recorded(found).compared
    assert [each.case for each in compared] == [
        f"{name}, batch {batch}, {optimizer}" for name, batch, optimizer in accuracy.STEPS
    ]
    for each in compared:
        said = {one.predictor: abs(one.percent(each.truth) or 0.0) for one in each.estimates}
        assert said["memlab"] <= 0.01
        assert said["memlab without workspace"] <= 2
        assert said["torchinfo"] > 0.1
        assert "torch" in found.result.machine.versions


# -- what is refused ---------------------------------------------------------------------------


def test_without_pytorch_there_is_one_line(monkeypatch):
    monkeypatch.setattr(accuracy, "allow_torch", lambda: False)
    assert accuracy.run().lines == (
        BenchmarkLine("PyTorch is not installed: no comparison", 0, ""),
    )


def test_a_model_is_of_accuracy_alone(capsys, monkeypatch):
    monkeypatch.setattr(bench, "BENCHMARKS", {"machine": lambda: pytest.fail("it ran")})
    assert main(["bench", "machine", "train:model"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "memlab: machine takes no model, got 'train:model'; leave it out, or try accuracy.\n"
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"accumulate": 4}, "compares a plain step and takes no 'accumulate'"),
        ({"optimizer": "adamm"}, "did you mean 'adam'"),
        ({"autocast": "fp8"}, "unknown format for autocast"),
        ({"batch": 0}, "batch"),
        ({}, r"build\(\) must give an nn.Module, got \[\]"),
    ],
)
def test_what_is_not_compared_is_refused(given, says):
    torch_or_skip()
    plain: dict[str, Any] = {"build": list, "make_batch": list, "loss_fn": list}
    with pytest.raises(InputError, match=says):
        accuracy.run(plain | given)


# -- with PyTorch ------------------------------------------------------------------------------

MODEL = """
import torch
from torch import nn


def make_batch(B):
    return torch.randn(B, 3, 16, 16), torch.randint(10, (B,))


def build():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))


def given():
    return {"build": build, "make_batch": make_batch, "batch": 4, "optimizer": "momentum"}
"""


def test_a_model_of_ones_own_is_compared(tmp_path, capsys, monkeypatch):
    torch = torch_or_skip()
    from tests.oracles.torch_allocator import most

    (tmp_path / "my_training.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    words = ["bench", "accuracy", "my_training:given", "--json", "--plot", "plot.svg"]
    assert main(words) == 0
    facts = json.loads(capsys.readouterr().out)
    ET.fromstring((tmp_path / "plot.svg").read_text())
    found = {line["name"]: line["value"] for line in facts["lines"]}
    head = "my_training:given, batch 4, momentum: "
    mine = sys.modules.pop("my_training")
    truth = most(mine.build, mine.make_batch, torch.nn.functional.cross_entropy, 4)
    assert found[f"{head}PyTorch's allocator"] == truth
    assert found[f"{head}memlab"] == truth
    assert found[f"{head}memlab without workspace"] == found[f"{head}MemTracker"] <= truth


def tokens() -> Compared:
    """Few tokens, compared by what needs no process of its own."""
    from memlab.bench.accuracy.predictors import PREDICTORS
    from memlab.bench.accuracy.zoo_models import zoo_case

    few = [each for each in PREDICTORS if each.name in ("memlab without workspace", "MemTracker")]
    return accuracy.compare(zoo_case(NETWORKS["tokens"](), 2, "adam"), few)


def side_by_side() -> Network:
    """Shortcuts, and maps along the channels."""
    x = network("ways", image=(3, 8, 8)).conv(4, 3, pad="same").batch_norm().relu()
    x = x.add(x.conv(4, 3, pad="same", groups=2)).relu().concat(x.max_pool(3, 1, pad=1))
    return x.local_response_norm().avg_pool(2).flatten().dropout().linear(5).cross_entropy()


NETWORKS = {
    "tokens": lambda: zoo.gpt_small(16, 2, 32, 4, 50, attention="fused"),
    "side by side": side_by_side,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_the_zoo_is_a_module_of_as_many_parameters(name):
    torch_or_skip()
    from memlab.bench.accuracy.zoo_models import ZooModel, zoo_case

    made = NETWORKS[name]()
    case = zoo_case(made, 2, "adam")
    model = ZooModel(made)
    assert sum(each.numel() for each in model.parameters()) == made.parameters
    x, target = case.data()
    scores = model(x)
    assert scores.shape == (2, *made.by_name[made.loss.inputs[0]].shape)
    assert case.loss_fn(scores, target).item() > 0


def test_plan_and_tracker_stay_below_the_allocator():
    torch_or_skip()
    found = tokens()
    plan, tracker = (each.nbytes or 0 for each in found.estimates)
    assert plan == tracker
    assert 0.9 * found.truth < plan <= found.truth


def test_what_has_no_module_is_refused():
    torch_or_skip()
    from memlab.bench.accuracy.zoo_models import ZooModel, zoo_case

    with pytest.raises(InputError, match="no module of PyTorch here"):
        ZooModel(zoo.gpt_small(16, 1, 32, 4, 50))
    with pytest.raises(InputError, match="ends in squared_error"):
        zoo_case(zoo.linear1(), 1, "sgd")


def test_a_step_that_does_not_fit_is_not_run(monkeypatch):
    torch_or_skip()
    from memlab.bench.accuracy import training

    monkeypatch.setattr(training, "free", lambda device: 1000)
    monkeypatch.setattr(training, "peak", lambda case: pytest.fail("it ran"))
    found = tokens()
    assert found.why.startswith("not run: it needs ")
    assert found.why.endswith("1.0 kB are free; try a smaller batch")


def test_who_fails_says_so():
    torch_or_skip()
    from memlab.bench.accuracy.predictors import Predictor

    case: Any = None

    def broken(case: Any, module: Any) -> int:
        raise ZeroDivisionError("twice\nover")

    assert Predictor("a", "json", broken).estimate(case) == PredictorEstimate(
        "a", why="failed: ZeroDivisionError: twice"
    )
    assert Predictor("a", "no_such_package", broken).estimate(case).why == "not installed"


def test_others_are_asked_as_their_own_users_ask_them(monkeypatch):
    torch = torch_or_skip()
    from memlab.bench.accuracy import predictors, training

    case = training.AccuracyCase("a", lambda: torch.nn.Linear(2, 3), nothing, min)
    summary = SimpleNamespace(total_input=1, total_output_bytes=20, total_param_bytes=300)
    theirs = SimpleNamespace(summary=lambda model, **given: summary)
    monkeypatch.setattr(training.AccuracyCase, "data", lambda self: (torch.ones(1, 2), None))
    assert predictors._torchinfo(case, theirs) == 321
    zero = SimpleNamespace(estimate_zero2_model_states_mem_needs=lambda n, **given: (0, 20 * n))
    assert predictors._deepspeed(case, zero) == 20 * 9
    package, utils = ModuleType("accelerate"), ModuleType("accelerate.utils")
    package.init_empty_weights = none  # type: ignore[attr-defined]
    utils.calculate_maximum_sizes = lambda model: (36, None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "accelerate", package)
    monkeypatch.setitem(sys.modules, "accelerate.utils", utils)
    theirs = SimpleNamespace(estimate_training_usage=lambda n, kind: {"step": 4 * n})
    assert predictors._accelerate(case, theirs) == 144


def nothing(batch: int) -> Any:
    """No data are asked for."""
    raise AssertionError(batch)


@contextmanager
def none() -> Iterator[None]:
    yield


def test_on_a_gpu_the_truth_is_what_its_allocator_had_at_most(monkeypatch):
    """There is none here: a stand-in says what was asked, and the model stays on the processor."""
    torch = torch_or_skip()
    from memlab.bench.accuracy import training

    asked = []
    stand_in = SimpleNamespace(
        synchronize=lambda device: asked.append("synchronize"),
        memory_allocated=lambda device: 7,
        reset_peak_memory_stats=lambda device: asked.append("reset"),
        max_memory_allocated=lambda device: 1007,
    )
    monkeypatch.setattr(torch, "cuda", stand_in)
    monkeypatch.setattr(
        training.AccuracyCase, "data", lambda self: (torch.ones(2, 2), torch.zeros(2, 3))
    )
    monkeypatch.setattr(training.AccuracyCase, "model", lambda self: self.build())
    case = training.AccuracyCase(
        "a", lambda: torch.nn.Linear(2, 3), nothing, torch.nn.functional.mse_loss, device="cuda"
    )
    assert training._on_gpu(case) == 1000
    assert asked == ["synchronize", "reset", "synchronize"]
    assert case.source == "torch.cuda.max_memory_allocated"


def test_on_a_gpu_the_card_is_named_and_the_model_is_there(monkeypatch):
    torch = torch_or_skip()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA T4")
    seen: list[Any] = []

    def compare(case: Any) -> Compared:
        seen.append(case)
        return FOUND[0]

    monkeypatch.setattr(accuracy, "compare", compare)
    found = accuracy.run(steps=[("mnist_cnn", 2, "adam")], tables=())
    assert isinstance(found, Accuracy)
    assert found.machine.processor.startswith("NVIDIA T4, beside ")
    assert [case.device for case in seen] == ["cuda"]
