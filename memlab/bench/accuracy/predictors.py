"""Predictors of the memory of a training step: memlab, and other packages where they are installed.

Each is a function of a case and its own module, which is loaded before the clock starts. Import
this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from memlab.bench.accuracy.table import PredictorEstimate
from memlab.bench.accuracy.training import AccuracyCase, StartedTraining
from memlab.frontends.torch.observed_model import sentence
from memlab.frontends.torch.tensor_modes import quiet
from memlab.ledger.plan import plan
from memlab.step.paused_gc import paused


@dataclass(frozen=True)
class Predictor:
    """Predictor of training memory: its name, the module that has to be installed, and the function
    that estimates the bytes of a case at its peak."""

    name: str
    module: str
    says: Callable[[AccuracyCase, Any], int]

    @property
    def package(self) -> str:
        """Name of the package that has to be installed."""
        return self.module.partition(".")[0]

    def estimate(self, case: AccuracyCase) -> PredictorEstimate:
        """Estimate of this predictor for a case; the reason instead, where it is not installed or
        fails."""
        if find_spec(self.package) is None:
            return PredictorEstimate(self.name, why="not installed")
        try:
            module = import_module(self.module)
            with torch.random.fork_rng(devices=[]), quiet():
                start = perf_counter()
                nbytes = int(self.says(case, module))
                seconds = perf_counter() - start
        except Exception as error:
            return PredictorEstimate(self.name, why=f"failed: {sentence(error)}")
        return PredictorEstimate(self.name, nbytes, seconds)


# -- memlab ------------------------------------------------------------------------------------


def _plan(case: AccuracyCase, recorded: Any) -> int:
    """Return the peak of the plan of a recording, with the workspace of each distinct operation
    measured alone at the batch."""
    from memlab.frontends.torch.measured_workspace import lazy_step

    return plan(lazy_step(recorded.observe(case.wish()), progress=False)).peak(case.batch)


def _without_workspace(case: AccuracyCase, recorded: Any) -> int:
    """Return the peak of the plan of a recording without what kernels take inside themselves."""
    from memlab.frontends.torch.recording_to_step import step_of

    step = step_of(recorded.observe(case.wish()))
    return plan(step).peak(case.batch, workspace=False)


# -- others ------------------------------------------------------------------------------------


def _mem_tracker(case: AccuracyCase, module: Any) -> int:
    """Return the peak by PyTorch's own tracker of storages, on fake tensors; it
    knows no workspace."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    data, fake = case.data(), FakeTensorMode(allow_non_fake_inputs=True)
    with fake, paused():
        mine = tree_map(lambda t: fake.from_tensor(t) if isinstance(t, torch.Tensor) else t, data)
        training = StartedTraining(case, case.model(), mine)
        tracker = module.MemTracker()
        tensors = [leaf for leaf in tree_leaves(mine) if isinstance(leaf, torch.Tensor)]
        tracker.track_external(training.model, training.optimizer, *tensors)
        with tracker:
            training.step()
    peaks = tracker.get_tracker_snapshot("peak")
    return sum(int(peak["Total"]) for at, peak in peaks.items() if at.type == case.device)


def _torchinfo(case: AccuracyCase, module: Any) -> int:
    """Return torchinfo's "Estimated Total Size": input, parameters, and twice the outputs of layers
    that have parameters. It asks for no optimizer."""
    x, _ = case.data()
    summary = module.summary(
        case.model(), input_data=[x], device=case.device, mode="train", verbose=0
    )
    return int(summary.total_input + summary.total_output_bytes + summary.total_param_bytes)


def _accelerate(case: AccuracyCase, module: Any) -> int:
    """Bytes that ``accelerate estimate-memory`` predicts for training with Adam: 4 times the bytes
    of the model."""
    accelerate = import_module("accelerate")
    with accelerate.init_empty_weights():
        total, _ = import_module("accelerate.utils").calculate_maximum_sizes(case.build())
    return int(module.estimate_training_usage(total, "float32")["step"])


def _deepspeed(case: AccuracyCase, module: Any) -> int:
    """Return the estimate of DeepSpeed's ZeRO-2 estimator for one GPU without offload: parameters,
    gradients and Adam's states of mixed precision."""
    count = sum(parameter.numel() for parameter in case.build().parameters())
    _, nbytes = module.estimate_zero2_model_states_mem_needs(
        count, num_gpus_per_node=1, num_nodes=1, cpu_offload=False
    )
    return int(nbytes)


PLAN = Predictor(
    "memlab without workspace", "memlab.frontends.torch.observed_model", _without_workspace
)
OWN = (Predictor("memlab", "memlab.frontends.torch.observed_model", _plan), PLAN)
PREDICTORS = (
    *OWN,
    Predictor("MemTracker", "torch.distributed._tools.mem_tracker", _mem_tracker),
    Predictor("torchinfo", "torchinfo", _torchinfo),
    Predictor("accelerate", "accelerate.commands.estimate", _accelerate),
    Predictor("deepspeed", "deepspeed.runtime.zero.stage_1_and_2", _deepspeed),
)
"""In the order of the table."""


def versions(predictors: Sequence[Predictor] = PREDICTORS) -> dict[str, str]:
    """Versions of the packages of these predictors that are installed, by name."""
    return dict(_versions(predictors))


def _versions(predictors: Sequence[Predictor]) -> Iterator[tuple[str, str]]:
    for package in dict.fromkeys(predictor.package for predictor in predictors):
        try:
            yield package, metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
