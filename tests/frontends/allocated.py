"""How far a recorded plan with workspace is from what PyTorch's allocator on a processor hands out.

    python -m tests.frontends.allocated [--models resnet50,frozen] [--batches 2,3,8] [--bound 5]

At ``--batches`` each operation is measured; at ``--bound`` the plan takes the upper bound that it
has for any batch. Each line runs a real step; the largest take some GB and a minute.
"""

from __future__ import annotations

import argparse
from functools import partial
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

import memlab
from memlab.bench.accuracy import STEPS, _network
from memlab.bench.accuracy.training import AccuracyCase, peak
from memlab.bench.accuracy.zoo_models import zoo_case
from memlab.frontends.torch import observe
from memlab.frontends.torch.measured_workspace import lazy_step
from tests.torch_models import USUAL, images, of_images, resnet


class Frozen(nn.Module):
    """A convolutional backbone without gradients, and a head that is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.head = resnet((2, 2, 2, 2)), nn.Linear(1000, 10)
        self.backbone.requires_grad_(False)

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            y = self.backbone(x)
        return self.head(y)


class Distilled(nn.Module):
    """A small model and the scores of a large one, which has no gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.teacher, self.student = resnet((2, 2, 2, 2)), resnet((1, 1, 1, 1), 16)
        self.teacher.requires_grad_(False)

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            scores = self.teacher(x)
        return self.student(x), scores


def distillation(y: Any, target: Any) -> Any:
    student, teacher = (F.log_softmax(scores, 1) for scores in y)
    return F.cross_entropy(y[0], target) + F.kl_div(student, teacher, log_target=True)


def muon(parameters: Any) -> Any:
    return torch.optim.Muon([p for p in parameters if p.ndim == 2], lr=1e-3)


def matrices() -> Any:
    layers = [layer for _ in range(4) for layer in (nn.Linear(1024, 1024, bias=False), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(1024, 10, bias=False))


def vectors(batch: int) -> Any:
    return torch.randn(batch, 1024), torch.randint(10, (batch,))


def cases() -> dict[str, AccuracyCase]:
    """All models by name, each with an optimizer."""
    all_ = {
        name: AccuracyCase(name, case.build, case.make_batch, case.loss_fn, "adam", 8,
                           case.autocast)
        for name, case in USUAL.items()
    }  # fmt: skip
    for name, batch, optimizer in STEPS:
        all_[f"bench {name}"] = zoo_case(_network(name), batch, optimizer)
    pictures = partial(images, 224, 1000)
    all_["frozen"] = AccuracyCase("frozen", Frozen, partial(images, 224, 10), F.cross_entropy)
    all_["distilled"] = AccuracyCase("distilled", Distilled, pictures, distillation)
    if hasattr(torch.optim, "Muon"):
        all_["muon"] = AccuracyCase("muon", matrices, vectors, F.cross_entropy, muon)
    convolutions = of_images(partial(resnet, (2, 2, 2, 2)), 224, 1000)
    all_["resnet26 sgd"] = AccuracyCase(
        "resnet26", convolutions.build, convolutions.make_batch, F.cross_entropy, "sgd"
    )
    return all_


def line(name: str, case: AccuracyCase, recording: Any, batch: int, bound: bool) -> str:
    """A model at a batch: bytes of the allocator and of the plan, and the difference in percent."""
    begin = perf_counter()
    ledger = memlab.plan(lazy_step(recording, frozenset() if bound else None, progress=False))
    planned = ledger.peak(batch)
    seconds = perf_counter() - begin
    truth = peak(AccuracyCase(**{**vars(case), "batch": batch}))
    without = 100 * (ledger.peak(batch, workspace=False) / truth - 1)
    text = (
        f"{name:20}{batch:>4}{' bound' if bound else '':6}{truth:>15,}{planned:>15,}"
        f"{100 * (planned / truth - 1):>+10.4f} %{without:>+9.2f} %{seconds:>7.1f} s"
    )
    unlike = [note for note in ledger.at(batch).notes if "that of" in note]
    return "\n".join([text, *(f"    {note}" for note in unlike)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(cases()))
    parser.add_argument("--batches", default="2,3,8")
    parser.add_argument("--bound", default="5,24")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{'model':20}{'batch':>4}{'':6}{'allocator':>15}{'plan':>15}{'error':>12}{'without':>11}"
    )
    for name in given.models.split(","):
        case = cases()[name]
        recording = observe(case.build, case.make_batch, case.loss_fn, case.optimizer,
                            autocast=case.autocast)  # fmt: skip
        for batches, bound in ((given.batches, False), (given.bound, True)):
            for batch in map(int, filter(None, batches.split(","))):
                print(line(name, case, recording, batch, bound), flush=True)


if __name__ == "__main__":
    main()
