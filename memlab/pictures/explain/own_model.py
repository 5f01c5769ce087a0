"""A PyTorch model that is explained: its step is recorded, and so is the step of every change.

PyTorch is loaded when a model is recorded, not before.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from memlab.errors import InputError, shorten, visible
from memlab.pictures.explain.explained_changes import StepChange, text_of
from memlab.pictures.explain.recorded_model import TorchModel
from memlab.placement.cuda_cards import CARDS, USUAL, CudaCard
from memlab.step.op import CALL, Phase
from memlab.step.step import Step

if TYPE_CHECKING:
    from memlab.frontends.torch.fitting.module_milp import ModuleProgram
    from memlab.frontends.torch.observed_model import Observed
    from memlab.frontends.torch.recording import Recording

EXAMPLE = "explain(lambda: MyModel(), lambda B: (inputs(B), targets(B)), batch=32)"
"""Example of a call, for error sentences."""
LEANER = {"adam": ("momentum", "sgd"), "adamw": ("momentum", "sgd"), "momentum": ("sgd",)}
"""Optimizers that keep less state, by the name of the optimizer in use."""
LINES = {
    "adam": "optimizer = torch.optim.Adam(model.parameters(), lr)",
    "adamw": "optimizer = torch.optim.AdamW(model.parameters(), lr)",
    "fused": "optimizer = torch.optim.{cls}(model.parameters(), fused=True)",
    "momentum": "optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9)",
    "sgd": "optimizer = torch.optim.SGD(model.parameters(), lr)",
}
MARGIN = 200
"""One part in so many of the room is left free at first: a wrapped model takes a little more
bytes than planned."""
TRACES = 3
"""Number of steps that are recorded of an unchanged model."""
TRIES = 4
"""Number of times that modules are chosen, each with less room, until the recorded step fits."""
CLASSES = {"adam": "Adam", "adamw": "AdamW", "momentum": "SGD", "sgd": "SGD"}


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
        with self._progress_bar(text_of("recording"), TRACES):
            step = self._record_plain()
        classes = self.recording.modules.items()
        super().__init__(step, {visible(path): visible(name) for path, name in classes}, card)

    # -- recording --------------------------------------------------------------------------

    def _record(self, key: str, record: Callable[[], Recording]) -> Step:
        """Return the step of a recording; each key is recorded once."""
        if key not in self._steps:
            from memlab.frontends.torch.recording_to_step import step_of

            self._steps[key] = step_of(record())
        return self._steps[key]

    def _observe(self, build: Callable[[], Any], optimizer: Any) -> Observed:
        """Return a new recording of a model with an optimizer."""
        from memlab.frontends.torch import observed

        return observed(build, self.make_batch, self.loss_fn, optimizer, **self.options)

    @contextmanager
    def _progress_bar(self, description: str, total: int | None = None) -> Iterator[None]:
        """Show a progress bar that moves with every recorded step."""
        form = "{desc} {n_fmt} steps, {elapsed}" if total is None else None
        with tqdm(total=total, desc=description, leave=False, disable=not self.progress,
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
        from memlab.frontends.torch import _installed

        _installed()
        from memlab.frontends.torch.fitting.module_calls import Watched

        self._watched = Watched()
        self._model = self._observe(self._watched.build(self.build), self.optimizer)
        self._watched.close()
        self.recording = self._model.recording
        return self._record("plain", lambda: self.recording)

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
        """Yield the changes that save bytes at the peak, until one is enough: each needs a
        recording."""
        plain = self.plain.peak(batch)
        for number, make_change in enumerate(self._change_makers(batch, nbytes)):
            try:
                with self._progress_bar(text_of("trying", number=number + 1)):
                    change = make_change()
            except InputError:
                continue
            if change and change.peak(batch) < plain:
                yield change
                if change.most(batch) <= nbytes:
                    return

    def _change_makers(self, batch: int, nbytes: int) -> list[Callable[[], StepChange | None]]:
        """Return the functions that record a change: of the optimizer for a peak in the update,
        else recompute and micro-batches."""
        if self.plain.ledger.peak_at(batch).row.phase is not Phase.UPDATE:
            parts = [partial(self._recorded_parts_change, batch, nbytes)] if batch > 1 else []
            return [partial(self._checkpoint_change, batch, nbytes), *parts]
        names = LEANER.get(self.optimizer, ()) if isinstance(self.optimizer, str) else ()
        return [
            partial(self._update_in_backward_change, batch),
            partial(self._fused_change, batch),
            *(partial(self._optimizer_change, batch, name, name, LINES[name]) for name in names),
        ]

    def _checkpoint_change(self, batch: int, nbytes: int) -> StepChange | None:
        """Record the model with recomputed modules: the fastest choice that is enough, or the one
        with the least peak; None where no module helps."""
        from memlab.frontends.torch.fitting import wrapping

        room = nbytes - self.plain.beside(batch)
        room -= room // MARGIN
        program = self._program(batch)
        for _ in range(TRIES):
            choice = program.cheapest(room) if room > 0 else None
            names = (choice or program.least()).names
            if not names:
                return None
            wrap = partial(wrapping.wrap, names=names)
            step = self._record(f"again {names}", partial(self._model.again, wrap))
            change = self.change(step, batch, "again", *_wrap_lines(names),
                                names=tuple(map(visible, names)),
                                alone=tuple(wrapping.code(names).splitlines()))  # fmt: skip
            over = change.most(batch) - nbytes
            if over <= 0 or choice is None:
                return change
            room -= over
        return change

    def _program(self, batch: int) -> ModuleProgram:
        """Return the choice of modules as a mixed-integer program, without workspace: that is
        measured on a processor, and a card has other kernels."""
        from memlab.frontends.torch.fitting.checkpointed_peak import model_of
        from memlab.frontends.torch.fitting.module_calls import candidates
        from memlab.frontends.torch.fitting.module_milp import ModuleProgram
        from memlab.frontends.torch.measured_workspace import MeasuredWorkspace

        recording, watched = self.recording, self._watched
        pairs = zip(self.step.ops, self.plain.times(batch), strict=True)
        times = {op.attributes[CALL]: seconds for op, seconds in pairs}
        nothing = MeasuredWorkspace((batch,), {}, {}, times)
        spans = candidates(recording, watched)
        return ModuleProgram(model_of(recording, nothing, spans, watched.norms, batch))

    def _recorded_parts_change(self, batch: int, nbytes: int) -> StepChange:
        """Record the model with the fewest micro-batches that fit."""
        step = self._record("parts", partial(self._model.again, parts=2))
        parts = self._fewest_parts(step, batch, nbytes)
        code = (
            f"for x, y in zip(inputs.chunk({parts}), targets.chunk({parts})):",
            f"    (loss_fn(model(x), y) / {parts}).backward()",
            "optimizer.step()",
            "optimizer.zero_grad()",
        )
        return self.change(step, batch, "parts", *code, parts=parts, same=False)

    def _update_in_backward_change(self, batch: int) -> StepChange | None:
        """Record an update of each parameter during backward, which frees its gradient at once;
        None for an optimizer that is a function."""
        if not isinstance(self.optimizer, str):
            return None
        from memlab.frontends.torch.fitting.update_in_backward import CODE, OneByOne
        from memlab.frontends.torch.tensor_modes import OPTIMIZERS

        line = LINES[self.optimizer].partition("torch.optim.")[2]
        code = CODE.format(line=line.replace("model.parameters()", "[p]")).splitlines()
        make = partial(OneByOne, OPTIMIZERS[self.optimizer])
        return self._optimizer_change(batch, "one_by_one", make, *code, same=True)

    def _fused_change(self, batch: int) -> StepChange | None:
        """Record the optimizer as one fused kernel, without temporaries; None for an optimizer that
        is a function."""
        if not isinstance(self.optimizer, str):
            return None
        import torch

        cls = CLASSES[self.optimizer]
        more = {"momentum": 0.9} if self.optimizer == "momentum" else {}
        make = partial(getattr(torch.optim, cls), lr=1e-3, fused=True, **more)
        code = LINES["fused"].format(cls=cls)
        return self._optimizer_change(batch, "fused", make, code)

    def _optimizer_change(
        self, batch: int, key: str, optimizer: Any, *code: str, same: bool = False
    ) -> StepChange:
        """Record the model with another optimizer."""
        step = self._record(key, lambda: self._observe(self.build, optimizer).recording)
        return self.change(step, batch, key, *code, same=same)


def usual_loss(output: Any, target: Any) -> Any:
    """Return the cross entropy of scores and targets of whole numbers, one target for each sample
    or for each word.

    Raises:
        InputError: the target is not of whole numbers, or the output is no tensor.
    """
    import torch
    from torch.nn import functional

    whole_numbers = isinstance(target, torch.Tensor) and not target.dtype.is_floating_point
    if not isinstance(output, torch.Tensor) or not whole_numbers:
        what = target.dtype if isinstance(target, torch.Tensor) else shorten(target)
        raise InputError(
            "loss_fn is left out, and cross entropy needs an output of scores and a target of "
            f"whole numbers, got {what}; try loss_fn=torch.nn.functional.mse_loss."
        )
    if output.dim() == target.dim() + 1 and output.shape[:-1] == target.shape:
        output, target = output.flatten(0, -2), target.flatten()
    return functional.cross_entropy(output, target)


def builder(given: Any) -> Callable[[], Any]:
    """Return a function that returns the model; a module is copied with new values.

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
    processor; the model itself is not touched."""
    import torch

    memo: dict[int, Any] = {}
    for tensor in model.parameters():
        fresh = torch.empty(tensor.shape, dtype=tensor.dtype)
        memo[id(tensor)] = torch.nn.Parameter(fresh, requires_grad=tensor.requires_grad)
    for tensor in model.buffers():
        memo[id(tensor)] = torch.zeros(tensor.shape, dtype=tensor.dtype)
    return copy.deepcopy(model, memo)


def _wrap_lines(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines of code that let some modules be recomputed."""
    listed = ", ".join(map(json.dumps, names))
    return (
        "from memlab.frontends.torch.fitting.wrapping import wrap",
        f"model = wrap(model, [{listed}])",
    )
