"""A training step of the user's own that is explained: ``step(batch)``, with any models, optimizers
and closures.

PyTorch is loaded when a step is recorded, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError, visible
from memlab.pictures.explain.explained_changes import StepChange, text_of
from memlab.pictures.explain.recorded_model import TorchModel, untrained_text
from memlab.pictures.values.number_text import three_digits
from memlab.placement.cuda_cards import USUAL, CudaCard

if TYPE_CHECKING:
    from memlab.frontends.torch.any_step import WatchedStep
    from memlab.step.step import Step


def growth_text(nbytes: int, holders: Mapping[str, bool]) -> str:
    """Return sentences on memory that grows by so many bytes in each step; empty where it does not.
    ``holders`` are the variables that hold it, and whether each holds the graph of a loss."""
    if not nbytes:
        return ""
    graphs = [name for name, graph in holders.items() if graph]
    others = [name for name in holders if name not in graphs]
    by = [text_of("growth.graph", name=name) for name in graphs]
    by += [text_of("growth.values", name=name) for name in others]
    by = by or [text_of("growth.unknown")]
    return " ".join([text_of("growth.by", nbytes=three_digits(nbytes)), *by])


class OwnLoop(TorchModel):
    """A user's own training step, recorded for one batch, or for any with ``make_batch``.

    Args:
        step: the function that runs forward, backward and the update; it gets the batch.
        batch: the batch, or a number of samples where ``make_batch`` gives the batch for them.
        card: the card that the step runs on; None for a processor.
        real: run on real tensors (True), on fake ones (False), or on those that can.
        progress: True for a progress bar where workspace is measured.
        make_batch: function that returns the batch for a number of samples.

    Raises:
        InputError: PyTorch is not installed, or ``step`` is no function; and what the step raises.
    """

    def __init__(
        self,
        step: Callable[..., Any],
        batch: Any,
        card: CudaCard | None = USUAL,
        real: bool | None = None,
        progress: bool = True,
        make_batch: Callable[[int], Any] | None = None,
    ) -> None:
        from memlab.frontends.torch import require_torch

        require_torch()
        from memlab.frontends.torch.any_step import StepRequest, watched

        self.request = StepRequest(step, batch, make_batch, card, real)
        self.progress, self.samples = progress, self.request.samples
        self.watched = watched(self.request)
        classes = self.watched.recording.modules.items()
        modules = {visible(path): visible(name) for path, name in classes}
        super().__init__(self._step(self.watched), modules, card)
        self.plain = replace(self.plain, begins=_begins(self.step, self.watched))

    @property
    def growth(self) -> str:
        """Sentences on memory that grows from step to step; empty where it does not."""
        return growth_text(self.watched.growth, self.watched.holders)

    def cause(self, batch: int) -> str:
        """Return a sentence on what holds much of the peak; empty where memory grows, which
        ``growth`` says, or nothing special does."""
        if self.watched.growth:
            return ""
        if self.watched.untrained:
            return untrained_text(self.watched.untrained)
        return self._cause(self.watched.recording, batch)

    def call(self, batch: int, memory: str) -> str:
        """Return the line of Python that explains the step again."""
        device = "" if self.card else ", device='cpu'"
        name = getattr(self.request.step, "__name__", "step").strip("<>")
        return f"memlab.explain(step={name}, batch=batch, memory={memory!r}{device})"

    def _step(self, watched: WatchedStep) -> Step:
        from memlab.frontends.torch.measured_workspace import lazy_step

        return lazy_step(watched.recording, {self.samples}, self.progress)

    # -- changes ----------------------------------------------------------------------------

    def _change_makers(self, batch: int, nbytes: int) -> list[Callable[[], StepChange | None]]:
        """Return the functions that record the step with a change, the cheapest first."""
        from memlab.frontends.torch.fitting import loop_remedies

        remedies = loop_remedies.loop_remedies(self.watched)
        return [partial(self._recorded_change, batch, remedy) for remedy in remedies]

    def _recorded_change(self, batch: int, remedy: Any) -> StepChange | None:
        from memlab.frontends.torch.any_step import watched

        request = replace(
            self.request, change=remedy.change, detach=remedy.detach,
            several=bool(self.watched.growth), real=self.watched.recording.real,
        )  # fmt: skip
        try:
            changed = watched(request)
        except InputError:
            raise
        except Exception:  # the step runs, but not with the change
            return None
        recorded = self._step(changed)
        return self.change(
            recorded, batch, remedy.key, *remedy.code, names=remedy.names, same=remedy.same,
            begins=_begins(recorded, changed),
        )  # fmt: skip


def _begins(step: Step, watched: WatchedStep) -> tuple[int, ...]:
    """Return the operations with which the recorded steps begin, by their indices."""
    from memlab.frontends.torch.recording_to_step import first_operations

    return first_operations(step, watched.begins)
