"""Plans of published training steps for a card that need not be there.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

from memlab.bench.accuracy import image_models, language_models, zoo_models
from memlab.bench.accuracy.predictors import Predictor
from memlab.bench.accuracy.published_tables import (
    CARD,
    LEAST,
    MOST,
    PROCESSOR,
    RESERVED,
    WITHOUT,
    PublishedRow,
    PublishedTable,
)
from memlab.bench.accuracy.table import Compared, PredictorEstimate
from memlab.bench.accuracy.training import SOURCES, AccuracyCase
from memlab.frontends.torch import record
from memlab.measure.recorded_figures import RecordedFigures
from memlab.networks import zoo
from memlab.placement import caching_allocator
from memlab.placement.cuda_cards import CARDS, USUAL, CudaCard, find
from memlab.placement.step_on_card import StepOnCard
from memlab.step.step import Step

# -- models --------------------------------------------------------------------------------------

_Batch = tuple[Any, Any]
_Parts = tuple[Callable[[], Any], Callable[[int], _Batch], Callable[[Any, Any], Any]]


class LogitsParameter(nn.Module):
    """Module whose output is its one parameter: logits that a loss is measured with."""

    def __init__(self, rows: int, words: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.empty(rows, words))

    def forward(self, x: Any) -> Any:
        """Return the logits, whatever x is."""
        return self.logits


def _images(size: int, classes: int, batch: int) -> _Batch:
    return torch.randn(batch, 3, size, size), torch.randint(classes, (batch,))


def _of_images(build: Callable[[], Any], size: int = 224, classes: int = 1000) -> _Parts:
    return build, partial(_images, size, classes), F.cross_entropy


def _network(name: str) -> _Parts:
    return _of_images(lambda: zoo_models.ZooModel(zoo.build(name)))


def _tokens(words: int, row: PublishedRow, batch: int) -> _Batch:
    return torch.randint(words, (batch, row.tokens)), torch.zeros(1)


def _labelled(words: int, row: PublishedRow, batch: int) -> _Batch:
    return torch.randint(words, (batch, row.tokens)), torch.randint(2, (batch,))


def _logits(row: PublishedRow) -> _Parts:
    rows = row.batch * row.tokens
    return (
        partial(LogitsParameter, rows, row.words),
        lambda batch: (torch.zeros(1), torch.randint(row.words, (batch * row.tokens,))),
        F.cross_entropy,
    )


def _one_neuron(batch: int) -> _Batch:
    return torch.randn(batch, 1), torch.randn(batch, 1)


MODELS: Mapping[str, Callable[[PublishedRow], _Parts]] = {
    "resnet50": lambda row: _network("resnet50"),
    "vgg16": lambda row: _network("vgg16"),
    "mobilenet-v2": lambda row: _of_images(image_models.mobilenet_v2),
    "efficientnet-b0": lambda row: _of_images(image_models.efficientnet_b0),
    "inception-v3": lambda row: (
        image_models.InceptionV3, partial(_images, 299, 1000), image_models.both_losses
    ),
    "densenet-bc": lambda row: _of_images(image_models.densenet_bc, 32, 10),
    "densenet-bc-efficient": lambda row: _of_images(
        partial(image_models.densenet_bc, efficient=True), 32, 10
    ),
    "gpt2": lambda row: (
        language_models.Gpt2, partial(_tokens, 50257, row), language_models.language_loss
    ),
    "bert": lambda row: (
        language_models.Bert, partial(_tokens, 30522, row), language_models.square_loss
    ),
    "distilbert": lambda row: (
        language_models.distilbert, partial(_tokens, 30522, row), language_models.square_loss
    ),
    "bert-large": lambda row: (
        language_models.BertLargeClassifier, partial(_labelled, 30522, row), F.cross_entropy
    ),
    "cross-entropy": _logits,
    "one-neuron": lambda row: (partial(nn.Linear, 1, 1), _one_neuron, F.mse_loss),
}  # fmt: skip
"""Module, batches and loss of each model of a published table, by its name there."""


def nesterov(parameters: Any) -> Any:
    """Return SGD with Nesterov's momentum for some parameters."""
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)


def case_of(table: PublishedTable, row: PublishedRow, device: str = "cpu") -> AccuracyCase:
    """Return the step of a published row."""
    build, make_batch, loss_fn = MODELS[row.model](row)
    optimizer = nesterov if table.optimizer == "nesterov" else table.optimizer
    name = f"{row.model}, {row.tokens} tokens" if row.tokens else row.model
    return AccuracyCase(name, build, make_batch, loss_fn, optimizer, row.batch, table.autocast,
                        device, table.keep_output)  # fmt: skip


# -- plans ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlannedCard:
    """Step as it is planned for a card, at one batch."""

    step: Step
    batch: int
    card: CudaCard

    @property
    def on_card(self) -> StepOnCard:
        """The step with the bytes that the card adds."""
        return StepOnCard(self.step, self.card)

    @property
    def allocated(self) -> int:
        """Bytes of ``torch.cuda.max_memory_allocated``, without workspace of cuDNN."""
        return caching_allocator.allocated(self.on_card.ledger, self.batch, self.card)

    def shown(self, context: int | None = None) -> range:
        """Bytes that ``nvidia-smi`` shows: the least, and the most that it may be; with the bytes
        of the context where they are known."""
        return self.on_card.shown(self.batch, context)


def planned(
    case: AccuracyCase, card: CudaCard | None, options: Mapping[str, Any] | None = None
) -> PlannedCard:
    """Return the plan of a case for a card, for a processor where that is None.

    Raises:
        InputError: as ``memlab.record``.
    """
    given: dict[str, Any] = {"autocast": case.autocast, "keep_output": case.keep_output}
    given |= options or {}
    if card is not None:
        given |= {"device": "cuda", "card": card}
    step = record(case.build, case.make_batch, case.loss_fn, case.optimizer,
                  batch=case.batch, **given)  # fmt: skip
    return PlannedCard(step, case.batch, card or USUAL)


def card_of(table: PublishedTable) -> CudaCard:
    """Return the card that a table was measured on, the usual one where it is not named."""
    return find(table.card) if table.card else USUAL


def compare(table: PublishedTable, row: PublishedRow) -> Compared:
    """Return the plan of a row beside the published figure."""
    if row.why:
        return Compared(table.name(row), "", 0, why=f"not planned: {row.why}")
    step = planned(case_of(table, row), card_of(table), table.options)
    if table.counts == "allocated":
        said = [PredictorEstimate(CARD, step.allocated)]
    else:
        shown = step.shown(row.context or table.context or None)
        said = [PredictorEstimate(LEAST, shown.start), PredictorEstimate(MOST, shown.stop)]
    return Compared(table.name(row), source_of(table), row.nbytes, tuple(said))


def compare_differences(
    table: PublishedTable, row: PublishedRow, peers: Sequence[Predictor] = ()
) -> Compared:
    """Return the plan of a row beside the published figure, with each of the differences between a
    card and a processor left out, and with the estimates of others."""
    case = case_of(table, row)
    said = (*differences(table, row), *(peer.estimate(case) for peer in peers))
    return Compared(table.name(row), source_of(table), row.nbytes, said)


def compare_reserved(table: PublishedTable, row: PublishedRow) -> Compared:
    """Return what the card shows for a row by its plan beside the published sum of reserved bytes
    and context; the context is the published one."""
    shown = planned(case_of(table, row), card_of(table), table.options).shown(row.context or None)
    said = PredictorEstimate(LEAST, shown.start), PredictorEstimate(MOST, shown.stop)
    return Compared(f"{table.name(row)}{RESERVED}", f"its allocator and context ({table.source})",
                    row.reserved + row.context, said)  # fmt: skip


def compare_recorded(recording: RecordedFigures, cases: Iterable[AccuracyCase]) -> list[Compared]:
    """Return plans beside the peaks that were recorded on a card, step by step.

    The process of the recording held cuBLAS's workspace after its first step, and left it out of
    later figures.
    """
    card = recorded_card(recording.device)
    source = f"{SOURCES['cuda']} ({recording.device}, {recording.result.machine.date})"
    truths = {line.name: int(line.value) for line in recording.result.lines}
    compared = []
    for number, case in enumerate(cases):
        step = planned(case, card)
        held = caching_allocator.cublas(step.on_card.ledger, card) if number else 0
        truth = truths[f"{case.title}: {SOURCES['cuda']}"]
        said = PredictorEstimate(CARD, step.allocated - held)
        compared.append(Compared(f"{case.title}, on {recording.device}", source, truth, (said,)))
    return compared


def recorded_card(device: str) -> CudaCard:
    """Return the card of a device's full name, the longest name that is in it.

    Raises:
        InputError: none is.
    """
    names = [name for name in CARDS if name in device]
    return find(max(names, key=len) if names else device)


def source_of(table: PublishedTable) -> str:
    """Return the function that was asked for the bytes of a table, and who asked it."""
    return f"{table.counted} ({table.source})"


# -- the differences between a card and a processor ----------------------------------------------


@contextmanager
def _unregistered(*names: str, key: str = "AutogradCPU") -> Iterator[None]:
    """Let recordings put in no kernel for these operators, for none of the key where no name is
    given: PyTorch's own for a processor stay."""
    put = torch.library.Library.impl

    def impl(library: Any, name: Any, kernel: Any, dispatch_key: str = "", **more: Any) -> Any:
        if dispatch_key == key and (not names or name in names):
            return None
        return put(library, name, kernel, dispatch_key, **more)

    with mock.patch.object(torch.library.Library, "impl", impl):
        yield


def _state_from_the_start() -> AbstractContextManager[Any]:
    """Let the simulated allocator place the optimizer's state before the first step."""
    return mock.patch.object(caching_allocator, "_first_step", lambda ledger, events: events)


OPERATORS: Mapping[str, Callable[[], AbstractContextManager[Any]]] = {
    "the mask of dropout": partial(_unregistered, "dropout"),
    "autocast's lists": partial(_unregistered, key="AutocastCPU"),
    "the kernel of attention": partial(_unregistered, "scaled_dot_product_attention"),
    "cuDNN's batch norm": partial(_unregistered, "_batch_norm_impl_index"),
}
"""Differences in operators, each with a context in which it is left out of a recording."""
FOREACH, BLOCKS, LATE, CUBLAS = (
    "foreach optimizers", "blocks of the allocator", "late optimizer state", "workspace of cuBLAS"
)  # fmt: skip


def _one_by_one(parameters: Any) -> Any:
    return torch.optim.AdamW(parameters, lr=1e-3, foreach=False)


def differences(table: PublishedTable, row: PublishedRow) -> Iterator[PredictorEstimate]:
    """Yield the plan of a row of AdamW for its card, and again with each of the differences
    between a card and a processor left out; at last the plan for a processor, without workspace.

    Raises:
        InputError: as ``memlab.record``.
    """
    case, card = case_of(table, row), card_of(table)
    whole = planned(case, card, table.options)
    yield PredictorEstimate(CARD, whole.allocated)
    singly = replace(case, optimizer=_one_by_one)
    yield _without(FOREACH, planned(singly, card, table.options).allocated)
    for name, left_out in OPERATORS.items():
        with left_out():
            yield _without(name, planned(case, card, table.options).allocated)
    held = caching_allocator.simulate(whole.on_card.ledger, row.batch)
    yield _without(BLOCKS, whole.allocated - (held.rounded - held.live))
    with _state_from_the_start():
        yield _without(LATE, whole.allocated)
    yield _without(CUBLAS, held.rounded)
    plain = planned(case, None, table.options).on_card.ledger
    processor = plain.peak(row.batch, workspace=False)
    yield PredictorEstimate(PROCESSOR, processor)


def _without(name: str, nbytes: int) -> PredictorEstimate:
    return PredictorEstimate(f"{WITHOUT}{name}", nbytes)
