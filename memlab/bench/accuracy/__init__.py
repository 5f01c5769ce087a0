"""Accuracy of estimates of training memory: memlab's, and those of other packages.

The second training step of each model is run, so the largest takes some GB. The figures of one
machine are recorded; ``python -m benchmarks.accuracy`` measures and records them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memlab import units
from memlab.bench.accuracy import published_tables
from memlab.bench.accuracy.table import NAME, Accuracy, Compared, accuracy
from memlab.errors import InputError, known, shorten, whole_number
from memlab.frontends.torch import AUTOCAST, OPTIMIZERS
from memlab.measure import recorded_figures
from memlab.measure.recorded_figures import FOLDER, RecordedFigures
from memlab.measure.timing import BenchmarkLine, Machine, Result, allow_torch, machine
from memlab.networks import zoo
from memlab.networks.graph import Network

if TYPE_CHECKING:
    from memlab.bench.accuracy.predictors import Predictor
    from memlab.bench.accuracy.training import AccuracyCase

COMMAND = f"memlab bench {NAME}"
FILE = FOLDER / f"{NAME}.json"
"""What was recorded on a processor."""
PUBLISHED = FOLDER / f"{NAME}_published.json"
"""Plans for cards, beside figures that were measured there."""
STEPS = (
    ("alexnet", 32, "adam"),
    ("vgg16", 4, "adam"),
    ("resnet50-v1", 8, "adam"),
    ("gpt_small", 8, "adam"),
)
"""A network of the zoo, its batch and its optimizer."""
TAKEN = ("build", "make_batch", "loss_fn", "optimizer", "batch", "autocast")
"""What can be given of a model."""
IGNORED = ("memory", "progress")
"""What ``memlab.explain`` takes, and no figure depends on."""


def run(
    given: Mapping[str, Any] | None = None, name: str = "model",
    steps: Sequence[tuple[str, int, str]] = STEPS, tables: Sequence[str] = published_tables.TABLES,
) -> Result:  # fmt: skip
    """Compare estimates of training memory with PyTorch's allocator: memlab's and others'.

    Without a model of the user's, published steps are planned for the cards that they were measured
    on, too; no card needs to be there.

    Args:
        given: the model of a user, by the arguments of ``memlab.explain``; without it networks of
            the zoo.
        name: that of the user's model.
        steps: the networks, their batches and optimizers.
        tables: names of the published tables.

    Raises:
        InputError: something is given that cannot be compared. What the user's model raises where
            it is run comes through.
    """
    if not allow_torch():
        missing = BenchmarkLine("PyTorch is not installed: no comparison", 0, "")
        return Result(NAME, machine(), (missing,))
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    cases = _of_zoo(steps, device) if given is None else [_own(given, name, device)]
    result = accuracy([compare(case) for case in cases], where(device))
    return result if given else replace(result, published=tuple(published(tables)))


def published(
    tables: Sequence[str] = published_tables.TABLES, peers: Sequence[Predictor] = ()
) -> Iterator[Compared]:
    """Yield plans of published steps for the cards that they were measured on, beside the figures
    from there: the recorded ones first, then table by table, after what is assumed of it.

    The table that tests check shows what each difference between a card and a processor
    contributes, and the estimates of ``peers``.
    """
    from memlab.bench.accuracy import card_plans

    for path in sorted(FOLDER.glob(f"{NAME}_nvidia*.json")) if tables else ():
        cases = _of_zoo(STEPS, "cpu")
        yield from card_plans.compare_recorded(recorded_figures.load(path), cases)
    for table in map(published_tables.load, tables):
        if table.assumed:
            yield Compared(f"{table.title}, assumed", "", 0, why="; ".join(table.assumed))
        for row in table.rows:
            if table is published_tables.load(published_tables.CHECKED):
                yield card_plans.compare_differences(table, row, peers)
                yield card_plans.compare_reserved(table, row)
            else:
                yield card_plans.compare(table, row)


def compare(case: AccuracyCase, predictors: Sequence[Predictor] | None = None) -> Compared:
    """Run the second step of a case and compare its peak with the estimate of each predictor.

    The plan comes first: a step that does not fit is not run.
    """
    from memlab.bench.accuracy.predictors import PLAN, PREDICTORS
    from memlab.bench.accuracy.training import free, peak

    planned = PLAN.estimate(case)
    room = free(case.device)
    if planned.nbytes is not None and planned.nbytes > room:
        need = f"needs {units.short(planned.nbytes)}, {units.short(room)} are free"
        return Compared(case.title, case.source, 0, why=f"not run: it {need}; try a smaller batch")
    truth = peak(case)
    others = PREDICTORS if predictors is None else predictors
    said = tuple(planned if other is PLAN else other.estimate(case) for other in others)
    return Compared(case.title, case.source, truth, said)


def recorded(recording: RecordedFigures) -> Accuracy:
    """The result that a file of recorded figures holds, as it was measured."""
    return Accuracy(recording.result.benchmark, recording.result.machine, recording.result.lines)


def _of_zoo(steps: Sequence[tuple[str, int, str]], device: str) -> list[AccuracyCase]:
    from memlab.bench.accuracy.zoo_models import zoo_case

    return [
        replace(zoo_case(_network(name), batch, optimizer, device), name=name)
        for name, batch, optimizer in steps
    ]


def _network(name: str) -> Network:
    return zoo.ZOO[name](attention="fused") if name in ("gpt_small", "gpt2") else zoo.build(name)


def _own(given: Mapping[str, Any], name: str, device: str) -> AccuracyCase:
    """Case of a user's model, given as ``package.module:function``.

    Raises:
        InputError: an argument that changes the step into one that is not compared here.
    """
    from memlab.bench.accuracy.training import AccuracyCase

    for key in given:
        if key not in (*TAKEN, *IGNORED):
            raise InputError(
                f"{COMMAND} compares a plain step and takes no {shorten(key)}; leave it out, or "
                f"give some of {', '.join(TAKEN)}."
            )
    case = AccuracyCase(name, device=device, **{key: given[key] for key in TAKEN if key in given})
    if case.autocast:
        known("format for autocast", case.autocast, AUTOCAST)
    if not callable(case.optimizer):
        known("optimizer", case.optimizer, OPTIMIZERS)
    return replace(case, batch=whole_number("batch", case.batch))


def where(device: str = "cpu") -> Machine:
    """This machine, with the versions of the installed predictors, and the GPU
    where there is one."""
    import torch

    from memlab.bench.accuracy.predictors import versions

    here = machine()
    packages = {**here.versions, **versions()}
    if device == "cuda":
        card = torch.cuda.get_device_name()
        packages["CUDA"] = str(torch.version.cuda)
        return replace(here, processor=f"{card}, beside {here.processor}", versions=packages)
    return replace(here, versions=packages)


__all__ = [
    "COMMAND",
    "FILE",
    "PUBLISHED",
    "STEPS",
    "Accuracy",
    "compare",
    "published",
    "recorded",
    "run",
    "where",
]
