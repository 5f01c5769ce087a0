"""From a model to its recipe: record it, measure its workspace, choose, and record what was chosen.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from memlab.errors import InputError
from memlab.frontends.torch import recorded
from memlab.frontends.torch.fitting import wrapping
from memlab.frontends.torch.fitting.choosing import Choice, Program
from memlab.frontends.torch.fitting.model import model_of
from memlab.frontends.torch.fitting.recipe import Fit, Recipe
from memlab.frontends.torch.fitting.spans import Watched, candidates
from memlab.frontends.torch.measure import Tell, with_workspace, workspace
from memlab.frontends.torch.recording import Recording
from memlab.frontends.torch.worlds import Wish
from memlab.ledger.entries import Peak
from memlab.ledger.plan import plan
from memlab.step.op import Phase
from memlab.step.step import Step

TRIES = 5
"""How often a choice is made with less room, where the recording of the wrapped model took more."""


@dataclass(frozen=True)
class Fitted:
    """What was found for a budget: the recipe, or ``None`` where nothing fits; then ``least`` is
    the set with the least peak, and ``peak`` what it takes."""

    recipe: Fit | None
    least: Choice | None = None
    peak: Peak | None = None


class Search:
    """A model at a batch: recorded once, its choices made for any budget. ``what`` is said of the
    modules that are chosen."""

    what: ClassVar[str] = "that run again"

    def __init__(self, wish: Wish, batch: int, tell: Tell | None = None) -> None:
        self.wish, self.batch, self.tell = wish, batch, tell
        self.watched = Watched()
        self.model = _observed(replace(wish, build=self.watched.build(wish.build)), batch)
        self.found = self.model.recording
        self.watched.close()
        self.measured = workspace(self.found, batch, tell)
        self.step = with_workspace(self.found, self.measured)
        self.before = plan(self.step).peak_at(batch)

    @cached_property
    def program(self) -> Program:
        """The choices as a mixed-integer program."""
        spans = candidates(self.found, self.watched)
        norms: Mapping[str, int] = self.watched.norms
        return Program(model_of(self.found, self.measured, spans, norms, self.batch))

    def fit(self, nbytes: int) -> Fitted:
        """The cheapest set of modules within so many bytes."""
        if self.before.nbytes <= nbytes:
            none = Choice((), self.before.nbytes, 0.0, 0.0, True)
            return Fitted(self.recipe(none, nbytes, self.step, self.before.nbytes))
        room = nbytes
        for _ in range(TRIES):
            choice = self.program.cheapest(room)
            if choice is None:
                break
            step, peak = self.wrapped(choice.names)
            if peak.nbytes <= nbytes:
                return Fitted(self.recipe(choice, nbytes, step, peak.nbytes))
            room -= max(peak.nbytes - nbytes, room - choice.nbytes + 1)
        least = self.program.least()
        return Fitted(None, least, self.wrapped(least.names)[1])

    def wrapped(self, names: tuple[str, ...]) -> tuple[Step, Peak]:
        """The step of the model in which these modules are wrapped, recorded, and its peak."""
        found = self._again(names)
        step = with_workspace(found, workspace(found, self.batch, self.tell))
        return step, plan(step).peak_at(self.batch)

    def _again(self, names: tuple[str, ...]) -> Recording:
        """For any batch, or where there is none for this one."""

        def change(model: Any) -> Any:
            return self.change(model, names)

        try:
            return self.model.again(change)
        except InputError:
            wish = replace(self.wish, build=lambda: change(self.wish.build()))
            return recorded.observe(wish, self.batch)

    def change(self, model: Any, names: tuple[str, ...]) -> Any:
        """The model with these modules wrapped, as it is recorded."""
        return wrapping.wrap(model, names)

    def recipe(self, choice: Choice, nbytes: int, step: Step, peak: int) -> Fit:
        """What is found, as the recipe for it."""
        total = sum(self.measured.seconds.values())
        return Recipe(
            **self.common(choice, nbytes, step, peak),
            proved=choice.proved,
            seconds=choice.seconds,
            share=choice.seconds / total,
            bound=choice.bound / total,
        )

    def common(self, choice: Choice, nbytes: int, step: Step, peak: int) -> dict[str, Any]:
        """What every recipe has."""
        return {
            "model": self.found.model,
            "optimizer": self.found.optimizer,
            "batch": self.batch,
            "memory": nbytes,
            "peak": peak,
            "before": self.before.nbytes,
            "modules": choice.names,
            "step": step,
            "wish": self.wish,
        }

    @property
    def in_update(self) -> int:
        """The most bytes inside the optimizer, which no module that runs again makes fewer."""
        timeline = plan(self.step).timeline(self.batch)
        pairs = zip(timeline, self.step.ops, strict=True)
        return max((n for n, op in pairs if op.phase is Phase.UPDATE), default=0)


def _observed(wish: Wish, batch: int) -> recorded.Observed:
    """The model recorded for any batch, or where it cannot be for this one."""
    try:
        return recorded.Observed(wish)
    except InputError:
        return recorded.Observed(wish, batch)
