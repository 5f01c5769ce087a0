"""How far a plan with workspace is from PyTorch's allocator, and if recipes keep their promise.

    python -m tests.frontends.fitting workspace [--models resnet50,lstm] [--batch 3] [--far]
    python -m tests.frontends.fitting recipes [--models unet,gpt] [--batch 3] [--shares 0.9,0.8]
                                               [--by offload]

Each line runs real steps; those of the usual sizes take some GB and minutes. ``--far`` measures
workspace at others, and says what follows for a larger one. ``--shares`` are budgets, as
parts of the plain peak.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import nn

import memlab
from memlab.frontends.torch import observe
from memlab.frontends.torch.fitting import BY
from memlab.frontends.torch.fitting.offload_search import OffloadFit, OffloadSearch
from memlab.frontends.torch.fitting.recipe import Recipe, RecipeFit
from memlab.frontends.torch.fitting.search import Measured, Search, WatchedModel
from memlab.frontends.torch.measured_workspace import lazy_step
from memlab.frontends.torch.tensor_modes import OPTIMIZERS, RecordingRequest
from memlab.measure.timing import interleave
from memlab.step.storage import DEVICE, HOST
from tests.oracles.torch_allocator import most
from tests.torch_models import SMALL, USUAL, Case, of_images


def dropped(width: int = 32) -> nn.Module:
    """Convolutions with batch norm and dropout."""

    def unit(before: int, after: int, stride: int = 1) -> nn.Module:
        conv = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        return nn.Sequential(conv, nn.BatchNorm2d(after), nn.ReLU(inplace=True), nn.Dropout(0.2))

    stages = [
        nn.Sequential(unit(a, b, 1 + bool(n)), unit(b, b), unit(b, b))
        for n, (a, b) in enumerate(((3, width), (width, 2 * width), (2 * width, 4 * width)))
    ]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 10)]
    return nn.Sequential(*stages, *head)


DROPPED = {"dropped": of_images(dropped, 64, 10)}


def of_workspace(name: str, case: Case, given: argparse.Namespace) -> Iterator[str]:
    """A model's line: the allocator's bytes, and what the plan is off by."""
    batch, data = given.batch, (case.build, case.make_batch, case.loss_fn)
    found = observe(*data, given.optimizer, autocast=case.autocast)
    ledger = memlab.plan(lazy_step(found, frozenset() if given.far else None))
    peak, note = ledger.peak(batch), ", ".join(ledger.at(batch).notes[len(ledger.notes) :])
    real = most(*data, batch, given.optimizer, case.autocast)
    yield f"{name:14}{batch:>4} {given.optimizer:9}{real:>15,} B{_off(peak, real)}  {note}"


def of_recipes(name: str, case: Case, given: argparse.Namespace) -> Iterator[str]:
    """A model's lines, one for each budget."""
    data = (case.build, case.make_batch, case.loss_fn)
    make = OffloadSearch if given.by == "offload" else Search
    model = WatchedModel(RecordingRequest(*data, given.optimizer, case.autocast), given.batch)
    search = make(model, Measured(given.batch))
    for share in map(float, given.shares.split(",")):
        start, nbytes = time.perf_counter(), int(search.before.nbytes * share)
        found = search.fit(nbytes)
        head = f"{name:14}{given.batch:>4} {given.optimizer:9}{nbytes:>15,} B"
        if found.recipe is None:
            assert found.peak is not None
            yield f"{head}  nothing fits, the least is {found.peak.nbytes:,} B"
            continue
        recipe, seconds = found.recipe, time.perf_counter() - start
        wrapped = partial(_applied, recipe, case)
        real = most(wrapped, *data[1:], given.batch, given.optimizer, case.autocast)
        differ = recipe.differences()
        yield (
            f"{head}{recipe.peak:>15,} B promised{_off(_both(recipe), real)}  "
            f"{'within' if recipe.peak <= nbytes else 'ABOVE'}, {len(recipe.modules)} modules, "
            f"{_takes(recipe)}, {_slower(recipe, case):+.1f} % measured, "
            f"{'proved' if recipe.proved else 'not proved'}, "
            f"{'bits equal' if not differ else f'{len(differ)} DIFFER'}, {seconds:.0f} s"
        )


def _both(recipe: RecipeFit) -> int:
    """The peak of device and host, which are one memory on a processor."""
    device, host = (recipe.plan().timeline(recipe.batch, memory) for memory in (DEVICE, HOST))
    return max(a + b for a, b in zip(device, host, strict=True))


def _takes(recipe: RecipeFit) -> str:
    if isinstance(recipe, OffloadFit):
        return (
            f"{recipe.to_host:,} B to the host, {recipe.to_device:,} B back, {recipe.host:,} B wait"
        )
    assert isinstance(recipe, Recipe)
    return f"{100 * recipe.share:+.1f} % time"


def _slower(recipe: RecipeFit, case: Case) -> float:
    """How much longer a step takes with the recipe, in percent: medians of steps in turn."""
    models: dict[str, Callable[[], Any]] = {
        "plain": case.build,
        "wrapped": partial(_applied, recipe, case),
    }
    steps = {name: _stepping(build, recipe, case) for name, build in models.items()}
    cases = {name: (lambda _, step=step: step()) for name, step in steps.items()}
    found = {name: median(seconds) for name, seconds in interleave(cases).items()}
    return 100 * (found["wrapped"] / found["plain"] - 1)


def _stepping(build: Callable[[], Any], recipe: RecipeFit, case: Case) -> Callable[[], None]:
    """A training step of a model, to be taken again and again."""
    model, (x, target) = build().train(), case.make_batch(recipe.batch)
    optimizer = recipe.wish.optimizer
    make = optimizer if callable(optimizer) else OPTIMIZERS[optimizer]
    optimize = make(model.parameters())

    def step() -> None:
        optimize.zero_grad()
        case.loss_fn(model(x), target).backward()
        optimize.step()

    return step


def _applied(recipe: RecipeFit, case: Case) -> Any:
    return recipe.apply(case.build())


def _off(planned: int, real: int) -> str:
    return f"{planned - real:>+12,} ({100 * (planned / real - 1):+.4f} %)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("workspace", "recipes"))
    parser.add_argument("--models", default="dropped,unet,gpt,resnet50,lstm")
    parser.add_argument("--batch", type=int, default=3)
    parser.add_argument("--optimizer", default="momentum")
    parser.add_argument("--shares", default="0.9,0.8,0.7")
    parser.add_argument("--by", choices=BY, default=BY[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--far", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    cases = (SMALL if given.small else USUAL) | DROPPED
    lines = of_workspace if given.what == "workspace" else of_recipes
    for name in given.models.split(","):
        for line in lines(name, cases[name], given):
            print(line, flush=True)


if __name__ == "__main__":
    main()
