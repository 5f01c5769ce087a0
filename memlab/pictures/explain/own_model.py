"""A PyTorch model that is explained: its step is recorded, and so is the step of every change.

PyTorch is loaded when a model is recorded, not before.
"""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError, shorten, visible
from memlab.pictures.explain.explained_changes import PARTS, StepChange, text_of
from memlab.pictures.explain.recorded_model import TorchModel
from memlab.pictures.values.number_text import three_digits
from memlab.placement.cuda_cards import CARDS, USUAL, CudaCard
from memlab.progress_bar import progress_bar
from memlab.step.op import Phase
from memlab.step.step import Step

if TYPE_CHECKING:
    from memlab.frontends.torch.fitting.model_remedies import ModelRemedy
    from memlab.frontends.torch.fitting.optimizer_remedies import OptimizerRemedy
    from memlab.frontends.torch.recording import Recording

EXAMPLE = "explain(lambda: MyModel(), lambda B: (inputs(B), targets(B)), batch=32)"
"""Example of a call, for error sentences."""
WORTH = 0.01
"""Least share of the peak that a change saves which is not enough."""
TRACES = 3
"""Number of steps that are recorded of an unchanged model."""


class OwnModel(TorchModel):
    """A PyTorch model with its batches, its loss and its optimizer, recorded as a step.

    Args:
        build: the model, an ``nn.Module``, or a function that returns one.
        make_batch: function that returns an input and a target for a number of samples.
        loss_fn: function of output and target that returns the loss; left out, it is cross entropy,
            and the targets are whole numbers.
        optimizer: as in ``memlab.frontends.torch.record``.
        options: those of ``memlab.frontends.torch.observe``; the name of the output holds it until
            the step ends unless ``keep_output`` is False.
        progress: True for a progress bar.
        card: the card that the step runs on; None for a processor.
        batch: samples of the step that is explained. On a processor workspace is measured at this
            batch; at any other it is an upper bound from a few. A model whose bytes do not grow in
            a line with the batch is recorded at this one alone.

    Raises:
        InputError: as ``memlab.frontends.torch.record``, or ``make_batch`` is no function; and what
            the model itself raises.
    """

    def __init__(
        self,
        build: Any,
        make_batch: Callable[[int], Any],
        loss_fn: Callable[[Any, Any], Any] | None = None,
        optimizer: str | Callable[[Any], Any] = "adam",
        options: dict[str, Any] | None = None,
        progress: bool = True,
        card: CudaCard | None = USUAL,
        batch: int | None = None,
    ) -> None:
        if not callable(make_batch):
            raise InputError(
                f"make_batch must be a function, got {shorten(make_batch)}; try {EXAMPLE}."
            )
        self.build, self._make_batch = builder(build), make_batch
        self.loss_fn = loss_fn or usual_loss
        self.optimizer, self.progress, self.card = optimizer, progress, card
        runs_on = {"device": "cuda", "card": card} if card else {"device": "cpu"}
        self.options = {"keep_output": True, **runs_on, **(options or {})}
        self._steps: dict[str, Step] = {}
        self._batch = batch if isinstance(batch, int) else None
        self._exact = set() if self._batch is None else {self._batch}
        with self._progress_bar(text_of("recording"), TRACES):
            step = self._record_plain()
        classes = self.recording.modules.items()
        super().__init__(step, {visible(path): visible(name) for path, name in classes}, card)

    # -- recording --------------------------------------------------------------------------

    def _record(self, key: str, record: Callable[[], Recording]) -> Step:
        """Return the step of a recording; each key is recorded once."""
        if key not in self._steps:
            from memlab.frontends.torch.measured_workspace import lazy_step

            with self._warnings_above_the_bar():
                recording = record()
            self._steps[key] = lazy_step(recording, self._exact, self.progress)
        return self._steps[key]

    @contextmanager
    def _warnings_above_the_bar(self) -> Iterator[None]:
        """Write warnings above the progress bar, which they would cut in two."""
        with warnings.catch_warnings():
            show = warnings.showwarning

            def write(message: Warning | str, *about: Any, **more: Any) -> None:
                if self._progress.disable:
                    show(message, *about, **more)
                else:
                    self._progress.write(str(message), file=sys.stderr)

            warnings.showwarning = write
            yield

    @contextmanager
    def _progress_bar(self, description: str, total: int | None = None) -> Iterator[None]:
        """Show a progress bar that moves with every recorded step."""
        form = "{desc} {n_fmt} steps, {elapsed}" if total is None else None
        with progress_bar(total=total, desc=description, leave=False, disable=not self.progress,
                  bar_format=form) as self._progress:  # fmt: skip
            yield

    def make_batch(self, batch: int) -> Any:
        """Return an input and a target. Each recorded step calls this once, and the progress bar
        moves."""
        self._progress.update()
        return self._make_batch(batch)

    def _record_plain(self) -> Step:
        """Return the step of the unchanged model. The calls of all its modules are watched: any of
        them could be recomputed.

        Raises:
            InputError: PyTorch is not installed.
        """
        from memlab.frontends.torch import recording_request

        options = dict(self.options)
        real = options.pop("real", None)
        request = recording_request(
            self.build, self.make_batch, self.loss_fn, self.optimizer, **options
        )
        from memlab.frontends.torch.fitting.search import WatchedModel

        with self._warnings_above_the_bar():
            self._model = WatchedModel(request, self._batch, real)
        return self._record("plain", lambda: self.recording)

    @property
    def recording(self) -> Recording:
        """Recording of the unchanged model."""
        return self._model.recording

    def cause(self, batch: int) -> str:
        """Return a sentence on what holds much of the peak; empty where nothing special does."""
        return self._cause(self.recording, batch)

    # -- changes ----------------------------------------------------------------------------

    def call(self, batch: int, memory: str) -> str:
        """Return the line of Python that explains the model again."""
        optimizer = self.optimizer if isinstance(self.optimizer, str) else None
        argument = f", optimizer={optimizer!r}" if optimizer else ", optimizer=optimizer"
        card = "" if self.card else ", device='cpu'"
        if self.card and self.card.name in CARDS:
            card = f", card={self.card.name!r}"
        return (
            f"memlab.explain(build, make_batch, batch={batch}{argument}, memory={memory!r}{card})"
        )

    def _planned_changes(self, batch: int, nbytes: int) -> Iterator[StepChange]:
        """Yield the changes that save bytes: all that take a recording or two, then, where none of
        them is enough with the same numbers in a planned time, modules to recompute, whose search
        takes longer. On real tensors, where each takes a step, the first that is enough ends it."""
        makers = self._change_makers(batch, nbytes)
        enough = False
        for number, make_change in enumerate(makers, 1):
            if change := self._tried(number, batch, nbytes, make_change):
                fits = change.most(batch) <= nbytes
                enough |= fits and change.same and not change.copies
                yield change
                if fits and self.recording.real:
                    return
        if not enough and self._peak_phase(batch) is not Phase.UPDATE:
            search = partial(self._checkpoint_change, batch, nbytes)
            if change := self._tried(len(makers) + 1, batch, nbytes, search):
                yield change

    def _tried(
        self, number: int, batch: int, nbytes: int, make_change: Callable[[], StepChange | None]
    ) -> StepChange | None:
        """Return a change if the model runs with it and it saves bytes at the peak: enough of them,
        or a share that is worth a line."""
        plain = self.plain.peak(batch)
        try:
            with self._progress_bar(text_of("trying", number=number, peak=three_digits(plain))):
                change = make_change()
        except Exception:  # the model runs, but not with the change
            return None
        saved = self.saved(change, batch) if change else 0
        if change is None or saved <= 0:
            return None
        return change if saved >= WORTH * plain or change.most(batch) <= nbytes else None

    def _peak_phase(self, batch: int) -> Phase:
        """Return the phase in which the unchanged step has its peak."""
        return self.plain.ledger.peak_at(batch).row.phase

    def _change_makers(self, batch: int, nbytes: int) -> list[Callable[[], StepChange | None]]:
        """Return the functions that record a change in a recording or two: of the step, and of the
        optimizer where the peak lies in the update. Segments that grow need none."""
        from memlab.frontends.torch.fitting import model_remedies, optimizer_remedies

        late = self._peak_phase(batch) is Phase.UPDATE
        remedies = model_remedies.model_remedies(self._model.wish, self.recording)
        makers: list[Callable[[], StepChange | None]] = [
            partial(self._remedy_change, batch, remedy) for remedy in remedies
        ]
        if self.card:
            makers.insert(0, partial(self._segments_change, batch))
        updates = optimizer_remedies.optimizer_remedies(self.optimizer) if late else ()
        packed = optimizer_remedies.in_8_bits(self.optimizer) if self.card else ()
        makers += [partial(self._optimizer_change, batch, r) for r in (*updates, *packed)]
        if batch > 1 and not late:
            makers.append(partial(self._recorded_parts_change, batch, nbytes))
        return makers

    def _segments_change(self, batch: int) -> StepChange:
        """Return the step as it is, with segments that grow."""
        code = (
            "import os  # before PyTorch is imported",
            "os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'",
        )
        return self.change(self.step, batch, "segments", *code)

    def _remedy_change(self, batch: int, remedy: ModelRemedy) -> StepChange:
        """Record the model with a change of its step: for any batch, or for this one alone."""
        from memlab.frontends.torch.observed_model import ChangedModelError

        again = self._model.observed.again
        record = partial(again, remedy.change, may_run=False, **remedy.options)
        try:
            step = self._record(remedy.key, record)
        except ChangedModelError:
            raise
        except InputError:
            step = self._record(f"{remedy.key} {batch}", partial(record, batch=batch))
        return self.change(step, batch, remedy.key, *remedy.code, names=remedy.names,
                           same=remedy.same, alone=remedy.alone)  # fmt: skip

    def _checkpoint_change(self, batch: int, nbytes: int) -> StepChange | None:
        """Record the model with recomputed modules: the fastest choice that is enough, or the one
        with the least peak; None where no module helps."""
        from memlab.frontends.torch.fitting import wrapping
        from memlab.frontends.torch.fitting.search import Clocked, Search

        search = Search(self._model, Clocked(batch, self._exact, self.progress))
        fitted = search.fit(nbytes)
        step, names = fitted.step, fitted.least.names if fitted.least else ()
        if fitted.recipe is not None:
            step, names = fitted.recipe.step, fitted.recipe.modules
        if step is None or not names:
            return None
        return self.change(step, batch, "again", *wrapping.lines("model", names),
                           names=tuple(map(visible, names)),
                           alone=tuple(wrapping.code(names).splitlines()))  # fmt: skip

    def _recorded_parts_change(self, batch: int, nbytes: int) -> StepChange:
        """Record the model with the fewest micro-batches that fit."""
        step = self._record("parts", partial(self._model.observed.again, parts=2))
        parts = self._fewest_parts(step, batch, nbytes)
        code = (
            f"for x, y in zip(inputs.chunk({parts}), targets.chunk({parts})):",
            f"    (loss_fn(model(x), y) / {parts}).backward()",
            "optimizer.step()",
            "optimizer.zero_grad()",
        )
        return self.change(step, batch, "parts", *code, parts=parts, same=False)

    def _fewest_parts(self, step: Step, batch: int, nbytes: int) -> int:
        """Return the smallest number of micro-batches that fits, or the largest that is tried. For
        a batch that is measured, so are the micro-batches that fit without workspace."""
        few = [count for count in PARTS if count <= batch] or [1]
        for count in few:
            planned = self._planned(step, count)
            micro_batch = planned.micro_batch(batch)
            if planned.ledger.peak(micro_batch, workspace=False) <= nbytes:
                if batch in self._exact:
                    self._exact.add(micro_batch)
                if planned.most(batch) <= nbytes:
                    return int(count)
        return int(few[-1])

    def _optimizer_change(self, batch: int, remedy: OptimizerRemedy) -> StepChange:
        """Record the model with another optimizer."""
        from memlab.frontends.torch.observed_model import observe

        wish = replace(self._model.wish, optimizer=remedy.optimizer)
        observed = self._model.observed
        step = self._record(remedy.key, lambda: observe(wish, observed.batch, observed.real))
        return self.change(step, batch, remedy.key, *remedy.code, same=remedy.same)


def usual_loss(output: Any, target: Any) -> Any:
    """Return the cross entropy of scores and targets of whole numbers, one target for each sample
    or for each word; without a target the loss that is part of the output.

    Raises:
        InputError: the target is not of whole numbers, or the output is no tensor.
    """
    import torch
    from torch.nn import functional

    if target is None:
        return _loss_in(output)
    if not isinstance(output, torch.Tensor):
        raise InputError(
            f"loss_fn is left out, and the output of the model is a {type(output).__name__}, not a "
            "tensor of scores; try loss_fn=lambda output, target: "
            "torch.nn.functional.cross_entropy(output[0], target)."
        )
    if not isinstance(target, torch.Tensor) or target.dtype.is_floating_point:
        what = target.dtype if isinstance(target, torch.Tensor) else shorten(target)
        raise InputError(
            "loss_fn is left out, and cross entropy needs an output of scores and a target of "
            f"whole numbers, got {what}; try loss_fn=torch.nn.functional.mse_loss."
        )
    if output.dim() == target.dim() + 1 and output.shape[:-1] == target.shape:
        output, target = output.flatten(0, -2), target.flatten()
    return functional.cross_entropy(output, target)


def samples_in(data: Mapping[str, Any]) -> int:
    """Return the number of samples of a batch: the first size of its first tensor, or 1."""
    sizes = (int(value.shape[0]) for value in data.values() if getattr(value, "shape", ()))
    return max(next(sizes, 1), 1)


def enlarged(data: Mapping[str, Any], batch: int) -> tuple[dict[str, Any], None]:
    """Return a batch with so many samples, from those of a given one over and over, and no target:
    the loss is part of the output."""
    import torch

    count = samples_in(data)
    rows = torch.arange(batch) % count

    def taken(value: Any) -> Any:
        grows = isinstance(value, torch.Tensor) and value.dim() and len(value) == count
        return value[rows.to(value.device)] if grows else value

    return {name: taken(value) for name, value in data.items()}, None


def _loss_in(output: Any) -> Any:
    """Return the loss that is part of a model's output: its attribute ``loss``, or a single number.

    Raises:
        InputError: there is none.
    """
    parts = [getattr(output, "loss", None)]
    parts += list(output) if isinstance(output, list | tuple) else [output]
    for part in parts:
        if part is not None and getattr(part, "shape", None) == () and part.requires_grad:
            return part
    scores = "output" if hasattr(output, "shape") else "output.logits"
    raise InputError(
        "the batch has no target and the output of the model no loss; give the labels in the batch "
        f"(batch['labels']), or loss_fn=lambda output, _: {scores}.mean()."
    )


def builder(given: Any) -> Callable[[], Any]:
    """Return a function that returns the model; a module is copied.

    Raises:
        InputError: neither a module nor a function.
    """
    if hasattr(given, "named_parameters") and not isinstance(given, type):
        return partial(_fresh_copy, given)
    if not callable(given):
        raise InputError(
            f"build must be a model or a function that gives one, got {shorten(given)}; "
            f"try {EXAMPLE}."
        )
    build: Callable[[], Any] = given
    return build


def _fresh_copy(model: Any) -> Any:
    """Return a copy of a module with new parameters and buffers of the same shapes, on the
    processor; the model itself is not touched. Real ones have the values of the module, which may
    decide about the bytes of a step: the experts that tokens go to."""
    import torch

    memo: dict[int, Any] = {}
    for tensor in model.parameters():
        fresh = _with_values(torch.empty(tensor.shape, dtype=tensor.dtype), tensor)
        memo[id(tensor)] = torch.nn.Parameter(fresh, requires_grad=tensor.requires_grad)
    for tensor in model.buffers():
        memo[id(tensor)] = _with_values(torch.zeros(tensor.shape, dtype=tensor.dtype), tensor)
    return copy.deepcopy(model, memo)


def _with_values(fresh: Any, tensor: Any) -> Any:
    """Return a new tensor, with the values of another if both are real."""
    import torch

    plain = (torch.Tensor, torch.nn.Parameter)
    real = type(fresh) in plain and type(tensor) in plain
    if real and not fresh.is_meta and not tensor.is_meta:
        with torch.no_grad():
            fresh.copy_(tensor)
    return fresh
