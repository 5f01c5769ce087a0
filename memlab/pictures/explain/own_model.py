"""A model of PyTorch that is explained: it is recorded, and so is every change that may help.

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
from memlab.step.op import CALL, Phase
from memlab.step.step import Step

if TYPE_CHECKING:
    from memlab.frontends.torch.fitting.module_milp import ModuleProgram
    from memlab.frontends.torch.observed_model import Observed
    from memlab.frontends.torch.recording import Recording

ASKED = "explain(lambda: MyModel(), lambda B: (inputs(B), targets(B)), batch=32)"
"""Example of a call, for sentences about what was given."""
LEANER = {"adam": ("momentum", "sgd"), "adamw": ("momentum", "sgd"), "momentum": ("sgd",)}
"""Optimizers that keep less, by the name of one."""
LINES = {
    "adam": "optimizer = torch.optim.Adam(model.parameters(), lr)",
    "adamw": "optimizer = torch.optim.AdamW(model.parameters(), lr)",
    "fused": "optimizer = torch.optim.{cls}(model.parameters(), fused=True)",
    "momentum": "optimizer = torch.optim.SGD(model.parameters(), lr, momentum=0.9)",
    "sgd": "optimizer = torch.optim.SGD(model.parameters(), lr)",
}
MARGIN = 200
"""Of the room this part is left free at first: a wrapped model takes a little more than planned."""
TRACES = 3
"""So many steps are recorded of a model as it is."""
TRIES = 4
"""How often modules are chosen with less room, where the recording of them took more."""
CLASSES = {"adam": "Adam", "adamw": "AdamW", "momentum": "SGD", "sgd": "SGD"}


class OwnModel(TorchModel):
    """A model with its batches, its loss and its optimizer.

    Args:
        build: gives the model, an ``nn.Module``; or the module itself.
        make_batch: gives an input and a target for so many samples.
        loss_fn: the loss of the output and the target; cross entropy where none is given and the
            targets are whole numbers.
        optimizer: as in ``memlab.frontends.torch.record``.
        options: those of ``memlab.frontends.torch.observe``.
        progress: whether a bar shows what is being recorded.

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
    ) -> None:
        if not callable(make_batch):
            raise InputError(
                f"make_batch must be a function, got {shorten(make_batch)}; try {ASKED}."
            )
        self.build, self._make_batch = builder(build), make_batch
        self.loss_fn = loss_fn or usual_loss
        self.optimizer, self.options, self.progress = optimizer, options or {}, progress
        self._steps: dict[str, Step] = {}
        with self._bar(text_of("recording"), TRACES):
            step = self._plain()
        classes = self.recording.modules.items()
        super().__init__(step, {visible(path): visible(name) for path, name in classes})

    # -- recording --------------------------------------------------------------------------

    def _record(self, key: str, record: Callable[[], Recording]) -> Step:
        """The step with something changed; each is recorded once."""
        if key not in self._steps:
            from memlab.frontends.torch.recording_to_step import step_of

            self._steps[key] = step_of(record())
        return self._steps[key]

    def _observed(self, build: Callable[[], Any], optimizer: Any) -> Observed:
        """The model, recorded from nothing."""
        from memlab.frontends.torch import observed

        return observed(build, self.make_batch, self.loss_fn, optimizer, **self.options)

    @contextmanager
    def _bar(self, said: str, total: int | None = None) -> Iterator[None]:
        """A bar that says what is being done, and moves with every step that is recorded."""
        form = "{desc} {n_fmt} steps, {elapsed}" if total is None else None
        with tqdm(total=total, desc=said, leave=False, disable=not self.progress,
                  bar_format=form) as self._tracing:  # fmt: skip
            yield

    def make_batch(self, batch: int) -> Any:
        """An input and a target; each step that is recorded asks for them once."""
        self._tracing.update()
        return self._make_batch(batch)

    def _plain(self) -> Step:
        """The step as it is, whose modules are watched: any of them could run again.

        Raises:
            InputError: PyTorch is not installed.
        """
        from memlab.frontends.torch import _installed

        _installed()
        from memlab.frontends.torch.fitting.module_calls import Watched

        self._watched = Watched()
        self._model = self._observed(self._watched.build(self.build), self.optimizer)
        self._watched.close()
        self.recording = self._model.recording
        return self._record("plain", lambda: self.recording)

    # -- what helps -------------------------------------------------------------------------

    def call(self, batch: int, memory: str) -> str:
        """The line that explains it again."""
        optimizer = self.optimizer if isinstance(self.optimizer, str) else None
        said = f", optimizer={optimizer!r}" if optimizer else ", optimizer=optimizer"
        return f"memlab.explain(build, make_batch, batch={batch}{said}, memory={memory!r})"

    def _made(self, batch: int, nbytes: int) -> Iterator[StepChange]:
        """One after the other until one is enough: each is a recording of its own."""
        plain = self.plain.peak(batch)
        for number, way in enumerate(self._ways(batch, nbytes)):
            try:
                with self._bar(text_of("trying", number=number + 1)):
                    found = way()
            except InputError:
                continue
            if found and found.peak(batch) < plain:
                yield found
                if found.total(batch) <= nbytes:
                    return

    def _ways(self, batch: int, nbytes: int) -> list[Callable[[], StepChange | None]]:
        """By the phase of the peak: an optimizer is not mended by what is done to maps."""
        if self.plain.ledger.peak_at(batch).row.phase is not Phase.UPDATE:
            parts = [partial(self._in_parts, batch, nbytes)] if batch > 1 else []
            return [partial(self._run_again, batch, nbytes), *parts]
        names = LEANER.get(self.optimizer, ()) if isinstance(self.optimizer, str) else ()
        return [
            partial(self._one_by_one, batch),
            partial(self._fused, batch),
            *(partial(self._updated, batch, name, name, LINES[name]) for name in names),
        ]

    def _run_again(self, batch: int, nbytes: int) -> StepChange | None:
        """The modules that take the least time of those that are enough, or those that leave the
        least; the model in which they run again is recorded."""
        from memlab.frontends.torch.fitting import wrapping

        room = nbytes - sum(row.nbytes for row in self.plain.beside(batch))
        room -= room // MARGIN
        program = self._program(batch)
        for _ in range(TRIES):
            choice = program.cheapest(room) if room > 0 else None
            names = (choice or program.least()).names
            if not names:
                return None
            wrap = partial(wrapping.wrap, names=names)
            step = self._record(f"again {names}", partial(self._model.again, wrap))
            found = self.change(step, batch, "again", *_wrapped(names),
                                names=tuple(map(visible, names)),
                                alone=tuple(wrapping.code(names).splitlines()))  # fmt: skip
            over = found.total(batch) - nbytes
            if over <= 0 or choice is None:
                return found
            room -= over
        return found

    def _program(self, batch: int) -> ModuleProgram:
        """The choice of modules as a mixed-integer program, without workspace: that is measured on
        a processor, and a card has kernels of its own."""
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

    def _in_parts(self, batch: int, nbytes: int) -> StepChange:
        """The fewest parts that fit."""
        step = self._record("parts", partial(self._model.again, parts=2))
        parts = self._fewest(step, batch, nbytes)
        code = (
            f"for x, y in zip(inputs.chunk({parts}), targets.chunk({parts})):",
            f"    (loss_fn(model(x), y) / {parts}).backward()",
            "optimizer.step()",
            "optimizer.zero_grad()",
        )
        return self.change(step, batch, "parts", *code, parts=parts, same=False)

    def _one_by_one(self, batch: int) -> StepChange | None:
        """Gradients are let go inside the update, the largest one last."""
        if not isinstance(self.optimizer, str):
            return None
        from memlab.frontends.torch.fitting.update_in_backward import CODE, OneByOne
        from memlab.frontends.torch.tensor_modes import OPTIMIZERS

        line = LINES[self.optimizer].partition("torch.optim.")[2]
        code = CODE.format(line=line.replace("model.parameters()", "[p]")).splitlines()
        make = partial(OneByOne, OPTIMIZERS[self.optimizer])
        return self._updated(batch, "one_by_one", make, *code, same=True)

    def _fused(self, batch: int) -> StepChange | None:
        """The optimizer in one kernel, without temporaries of its own."""
        if not isinstance(self.optimizer, str):
            return None
        import torch

        cls = CLASSES[self.optimizer]
        more = {"momentum": 0.9} if self.optimizer == "momentum" else {}
        make = partial(getattr(torch.optim, cls), lr=1e-3, fused=True, **more)
        code = LINES["fused"].format(cls=cls)
        return self._updated(batch, "fused", make, code)

    def _updated(
        self, batch: int, key: str, optimizer: Any, *code: str, same: bool = False
    ) -> StepChange:
        """Another optimizer for the same model."""
        step = self._record(key, lambda: self._observed(self.build, optimizer).recording)
        return self.change(step, batch, key, *code, same=same)


def usual_loss(output: Any, target: Any) -> Any:
    """Cross entropy of scores, for every class or for every word, and whole numbers.

    Raises:
        InputError: the target is none of whole numbers, or the output no tensor of scores for it.
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
    """A function that gives the model; a module itself is built again with values of its own.

    Raises:
        InputError: neither a module nor a function.
    """
    if hasattr(given, "named_parameters") and not isinstance(given, type):
        return partial(_again, given)
    if not callable(given):
        raise InputError(
            f"build must be a model or a function that gives one, got {shorten(given)}; "
            f"try {ASKED}."
        )
    made: Callable[[], Any] = given
    return made


def _again(model: Any) -> Any:
    """The same module with parameters and buffers of the same shapes, on the processor: those of
    the model itself are not touched."""
    import torch

    memo: dict[int, Any] = {}
    for each in model.parameters():
        fresh = torch.empty(each.shape, dtype=each.dtype)
        memo[id(each)] = torch.nn.Parameter(fresh, requires_grad=each.requires_grad)
    for each in model.buffers():
        memo[id(each)] = torch.zeros(each.shape, dtype=each.dtype)
    return copy.deepcopy(model, memo)


def _wrapped(names: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that let modules run again."""
    listed = ", ".join(map(json.dumps, names))
    return (
        "from memlab.frontends.torch.fitting.wrapping import wrap",
        f"model = wrap(model, [{listed}])",
    )
