"""From a model to its recipe: record it, measure its workspace, choose, and record what was chosen.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from memlab import units
from memlab.errors import InputError
from memlab.frontends.torch import observed_model
from memlab.frontends.torch.fitting import wrapping
from memlab.frontends.torch.fitting.checkpointed_peak import model_of
from memlab.frontends.torch.fitting.module_calls import Watched, candidates
from memlab.frontends.torch.fitting.module_milp import ModuleChoice, ModuleProgram
from memlab.frontends.torch.fitting.recipe import Recipe, RecipeFit
from memlab.frontends.torch.measured_workspace import Tell, with_workspace, workspace
from memlab.frontends.torch.recording import Recording
from memlab.frontends.torch.tensor_modes import OPTIMIZERS, Optimizer, RecordingRequest
from memlab.ledger.entries import Peak
from memlab.ledger.plan import plan
from memlab.optimizers import title
from memlab.step.op import Phase
from memlab.step.step import Step

TRIES = 5
"""How often a choice is made with less room, where the recording of the wrapped model took more."""


@dataclass(frozen=True)
class Fitted:
    """Result of a search for a budget: the recipe, or ``None`` where nothing fits; then ``least``
    is the set of modules with the least peak, and ``peak`` its bytes."""

    recipe: RecipeFit | None
    least: ModuleChoice | None = None
    peak: Peak | None = None


class Search:
    """Search for modules to wrap, of a model at a batch: recorded once, for any budget. ``what``
    names the modules that are chosen."""

    what: ClassVar[str] = "that run again"

    def __init__(self, wish: RecordingRequest, batch: int, tell: Tell | None = None) -> None:
        self.wish, self.batch, self.tell = wish, batch, tell
        self.watched = Watched()
        self.model = _observed(replace(wish, build=self.watched.build(wish.build)), batch)
        self.recording = self.model.recording
        self.watched.close()
        self.measured = workspace(self.recording, batch, tell)
        self.step = with_workspace(self.recording, self.measured)
        self.before = plan(self.step).peak_at(batch)

    @cached_property
    def program(self) -> ModuleProgram:
        """The choices as a mixed-integer program."""
        spans = candidates(self.recording, self.watched)
        norms: Mapping[str, int] = self.watched.norms
        return ModuleProgram(model_of(self.recording, self.measured, spans, norms, self.batch))

    def fit(self, nbytes: int) -> Fitted:
        """The cheapest set of modules within so many bytes."""
        if self.before.nbytes <= nbytes:
            none = ModuleChoice((), self.before.nbytes, 0.0, 0.0, True)
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
        recorded_again = self._again(names)
        step = with_workspace(recorded_again, workspace(recorded_again, self.batch, self.tell))
        return step, plan(step).peak_at(self.batch)

    def _again(self, names: tuple[str, ...]) -> Recording:
        """Record the model with these modules wrapped, for any batch, or where that fails for this
        one."""

        def change(model: Any) -> Any:
            return self.change(model, names)

        try:
            return self.model.again(change)
        except InputError:
            wish = replace(self.wish, build=lambda: change(self.wish.build()))
            return observed_model.observe(wish, self.batch)

    def change(self, model: Any, names: tuple[str, ...]) -> Any:
        """The model with these modules wrapped, as it is recorded."""
        return wrapping.wrap(model, names)

    def recipe(self, choice: ModuleChoice, nbytes: int, step: Step, peak: int) -> RecipeFit:
        """Recipe of a choice of modules that run again."""
        total = sum(self.measured.seconds.values())
        return Recipe(
            **self.common(choice, nbytes, step, peak),
            proved=choice.proved,
            seconds=choice.seconds,
            share=choice.seconds / total,
            bound=choice.bound / total,
        )

    def common(self, choice: ModuleChoice, nbytes: int, step: Step, peak: int) -> dict[str, Any]:
        """Fields that every recipe has."""
        return {
            "model": self.recording.model,
            "optimizer": self.recording.optimizer,
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
        """Most bytes inside the optimizer, which no module that runs again makes fewer."""
        timeline = plan(self.step).timeline(self.batch)
        pairs = zip(timeline, self.step.ops, strict=True)
        return max((n for n, op in pairs if op.phase is Phase.UPDATE), default=0)


def _observed(wish: RecordingRequest, batch: int) -> observed_model.Observed:
    """Record a model for any batch, or where that fails for this one."""
    try:
        return observed_model.Observed(wish)
    except InputError:
        return observed_model.Observed(wish, batch)


# -- what helps where no module that is wrapped does: it follows from the phase of the peak -----


@dataclass(frozen=True, slots=True)
class OptimizerChange:
    """Another optimizer, its line of code, and the peak of its step in bytes; ``fits`` says that
    it is within the budget, with ``modules`` that are wrapped where it needs some."""

    what: str
    line: str
    peak: int
    fits: bool
    modules: tuple[str, ...] = ()


def failure(search: Search, fitted: Fitted, nbytes: int) -> InputError:
    """Return the error for a budget that no set of modules keeps."""
    assert fitted.least is not None
    assert fitted.peak is not None
    peak, batch = fitted.peak, search.batch
    phase = "in the optimizer" if peak.row.phase is Phase.UPDATE else f"in {peak.row.phase}"
    floor = units.short(int(fitted.least.bound))
    proof = "proved" if fitted.least.proved else f"none is below {floor}"
    text = (
        f"no set of modules {search.what} brings batch {batch} into {units.short(nbytes)}; the "
        f"least peak, of sets without one module inside another, is {units.short(peak.nbytes)} "
        f"({proof}), {phase}"
    )
    return InputError(f"{text}; {_remedy(search, nbytes, peak.row.phase, peak.nbytes)}.")


def _remedy(search: Search, nbytes: int, phase: Phase, least: int) -> str:
    """Return a sentence on a change to try, with its figures; ``least`` is the peak without one."""
    in_update = search.in_update > nbytes or phase is Phase.UPDATE
    tried = list(changes(search, nbytes)) if in_update else []
    fits = next((remedy for remedy in tried if remedy.fits), None)
    if fits is not None:
        count = len(fits.modules)
        again = f" and {count} module{'s' * (count != 1)} {search.what}" if count else ""
        return f"with {fits.what} instead{again} it takes {units.short(fits.peak)}: {fits.line}"
    best = min(tried, key=lambda remedy: remedy.peak, default=None)
    if best is not None and best.peak < least:
        takes = units.short(best.peak)
        return f"of the other optimizers {best.what} takes the least, {takes}: {best.line}"
    if search.batch == 1:
        return "1 is the smallest batch: try a smaller model, or a larger memory"
    return "try a smaller batch with accumulate=, which keeps the gradients of the whole"


def changes(search: Search, nbytes: int) -> Iterator[OptimizerChange]:
    """Optimizers that take less in their update, the mildest change first."""
    for what, line, optimizer in _optimizers(search.wish.optimizer):
        other = type(search)(replace(search.wish, optimizer=optimizer), search.batch, search.tell)
        recipe = other.fit(nbytes)
        if recipe.recipe is not None:
            yield OptimizerChange(what, line, recipe.recipe.peak, True, recipe.recipe.modules)
        else:
            assert recipe.peak is not None
            yield OptimizerChange(what, line, recipe.peak.nbytes, False)


def _optimizers(given: Optimizer) -> Iterator[tuple[str, str, Optimizer]]:
    make = given if callable(given) else OPTIMIZERS[given]
    name = title(given) if isinstance(given, str) else "the same optimizer"
    yield f"{name} with foreach=False", "pass foreach=False to the optimizer", _one_by_one(make)
    if given != "momentum" and given != "sgd":
        line = "torch.optim.SGD(model.parameters(), lr, momentum=0.9)"
        yield title("momentum"), line, "momentum"
    if given != "sgd":
        yield title("sgd"), "torch.optim.SGD(model.parameters(), lr)", "sgd"


def _one_by_one(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a maker of optimizers that update one parameter after another."""

    def made(parameters: Any) -> Any:
        optimizer = make(parameters)
        for group in optimizer.param_groups:
            group["foreach"] = False
        return optimizer

    return made
