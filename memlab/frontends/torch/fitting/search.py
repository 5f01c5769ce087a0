"""From a model to its recipe: record it, measure its workspace, choose, and record what was chosen.

Import this module only where PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from memlab import strings, units
from memlab.clocks import roofline
from memlab.errors import InputError
from memlab.frontends.torch import observed_model
from memlab.frontends.torch.fitting import wrapping
from memlab.frontends.torch.fitting.checkpointed_peak import model_of
from memlab.frontends.torch.fitting.module_calls import CallSpan, Watched, candidates
from memlab.frontends.torch.fitting.module_milp import ModuleChoice, ModuleProgram
from memlab.frontends.torch.fitting.optimizer_remedies import OptimizerRemedy, optimizer_remedies
from memlab.frontends.torch.fitting.recipe import Recipe, RecipeFit
from memlab.frontends.torch.measured_workspace import (
    LazyMeasurement,
    MeasuredWorkspace,
    Tell,
    lazy_step,
    with_workspace,
    workspace,
)
from memlab.frontends.torch.recording import Recording
from memlab.frontends.torch.tensor_modes import RecordingRequest
from memlab.ledger.entries import Peak
from memlab.ledger.plan import plan
from memlab.placement.step_on_card import StepOnCard
from memlab.step.op import CALL, Phase
from memlab.step.step import Step

TRIES = 5
"""How often a choice is made with less room, where the recording of the wrapped model took more."""


@dataclass(frozen=True)
class Fitted:
    """Result of a search for a budget: the recipe, or ``None`` where nothing fits; then ``least``
    is the set of modules with the least peak, ``step`` its step, and ``peak`` its bytes."""

    recipe: RecipeFit | None
    least: ModuleChoice | None = None
    step: Step | None = None
    peak: Peak | None = None


@dataclass(frozen=True)
class Measured:
    """Account of a step at one batch with workspace and seconds measured: each distinct operation
    runs alone. ``tell`` is told how many have run, and of how many."""

    batch: int
    tell: Tell | None = None

    def step(self, recording: Recording) -> Step:
        """Return the step of a recording with its workspace."""
        return with_workspace(recording, self.workspace(recording))

    def workspace(self, recording: Recording) -> MeasuredWorkspace:
        """Return workspace and seconds of the calls of a recording."""
        return workspace(recording, self.batch, self.tell)


@dataclass(frozen=True)
class Clocked:
    """Account of a step with seconds planned by the clock: of a card, whose kernels cannot be
    measured on a processor, or of a processor, whose workspace is measured at the batches of
    ``exact`` and bounded at any other."""

    batch: int
    exact: Set[int] = frozenset()
    progress: bool = True

    def step(self, recording: Recording) -> Step:
        """Return the step of a recording; workspace is measured when a batch is asked for."""
        return lazy_step(recording, self.exact, self.progress)

    def workspace(self, recording: Recording) -> MeasuredWorkspace:
        """Return workspace and planned seconds of the calls of a recording."""
        step, machine = self.step(recording), roofline.rates()
        seconds = {
            op.attributes[CALL]: roofline.seconds(op, self.batch, machine) for op in step.ops
        }
        if isinstance(step.measurement, LazyMeasurement):
            return replace(step.measurement.measured(self.batch), seconds=seconds)
        return MeasuredWorkspace((self.batch,), {}, {}, seconds)


Account = Measured | Clocked


class WatchedModel:
    """Model that was recorded while the runs of its modules were watched, so that any of them can
    be wrapped. At a ``batch`` it is recorded for that one alone where it cannot be for any."""

    def __init__(
        self, wish: RecordingRequest, batch: int | None = None, real: bool | None = None
    ) -> None:
        self.wish, self.watched = wish, Watched()
        watched = replace(wish, build=self.watched.build(wish.build))
        try:
            self.observed = observed_model.Observed(watched, real=real)
        except InputError:
            if batch is None:
                raise
            self.observed = observed_model.Observed(watched, batch, real)
        self.recording = self.observed.recording
        self.watched.close()


class Search:
    """Search for modules to wrap, of a model at a batch: recorded once, for any budget. ``what``
    names the modules that are chosen; ``account`` says where workspace and seconds come from, for a
    card the planned ones."""

    what: ClassVar[str] = "that run again"

    def __init__(self, model: WatchedModel, account: Account) -> None:
        self.model, self.account, self.batch = model, account, account.batch
        self.wish, self.recording, self.watched = model.wish, model.recording, model.watched
        self.measured = account.workspace(self.recording)
        self.step = account.step(self.recording)
        self.before = self.on_card(self.step).peak_at(self.batch)

    def on_card(self, step: Step) -> StepOnCard:
        """Return a step with the bytes that the card adds, none on a processor."""
        return StepOnCard(step, self.wish.card)

    @cached_property
    def program(self) -> ModuleProgram:
        """The choices as a mixed-integer program."""
        norms: Mapping[str, int] = self.watched.norms
        return ModuleProgram(model_of(self.recording, self.measured, self.spans, norms, self.batch))

    @cached_property
    def spans(self) -> Mapping[str, Sequence[CallSpan]]:
        """The runs of the modules that can be wrapped, by their names."""
        return candidates(self.recording, self.watched)

    def fit(self, nbytes: int) -> Fitted:
        """The cheapest set of modules within so many bytes."""
        if self.before.nbytes <= nbytes:
            none = ModuleChoice((), self.before.nbytes, 0.0, 0.0, True)
            return Fitted(self.recipe(none, nbytes, self.step, self.before.nbytes))
        room = nbytes - self.on_card(self.step).beside(self.batch)
        for _ in range(TRIES):
            choice = self.program.cheapest(room) if room > 0 else None
            if choice is None:
                break
            wrapped = self._tried(choice.names)
            if wrapped is None:
                continue
            step, peak = wrapped
            if peak.nbytes <= nbytes:
                return Fitted(self.recipe(choice, nbytes, step, peak.nbytes))
            room -= max(peak.nbytes - nbytes, room - choice.nbytes + 1)
        while True:
            least = self.program.least()
            if (wrapped := self._tried(least.names)) is not None:
                return Fitted(None, least, *wrapped)

    def _tried(self, names: tuple[str, ...]) -> tuple[Step, Peak] | None:
        """Return the step in which these modules are wrapped and its peak; None where the model
        does not run so, and then modules of the classes that do not are left out from now on."""
        try:
            return self.wrapped(names)
        except observed_model.ChangedModelError:
            modules = self.recording.modules
            first = {modules[name]: name for name in reversed(names)}
            failing = {kind for kind, name in first.items() if not self._runs(name)} or {*first}
            self.spans = {n: spans for n, spans in self.spans.items() if modules[n] not in failing}
            del self.program
            return None

    def _runs(self, name: str) -> bool:
        """Return whether the model runs where one module is wrapped."""
        try:
            self._again((name,))
        except observed_model.ChangedModelError:
            return False
        return True

    def wrapped(self, names: tuple[str, ...]) -> tuple[Step, Peak]:
        """The step of the model in which these modules are wrapped, recorded, and its peak."""
        step = self.account.step(self._again(names))
        return step, self.on_card(step).peak_at(self.batch)

    def _again(self, names: tuple[str, ...]) -> Recording:
        """Record the model with these modules wrapped, for any batch, or where that fails for this
        one."""

        def change(model: Any) -> Any:
            return self.change(model, names)

        try:
            return self.model.observed.again(change, may_run=False)
        except observed_model.ChangedModelError:
            raise
        except InputError:
            wish = replace(self.wish, build=lambda: change(self.wish.build()))
            return observed_model.observe(wish, self.batch, self.recording.real)

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


# -- what helps where no module that is wrapped does: it follows from the phase of the peak -----


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
    tried: list[tuple[int, OptimizerRemedy]] = []
    for remedy in optimizer_remedies(search.wish.optimizer) if _late(search, nbytes, phase) else ():
        fitted = _with_optimizer(search, remedy).fit(nbytes)
        if fitted.recipe is not None:
            count = len(fitted.recipe.modules)
            again = f" and {count} module{'s' * (count != 1)} {search.what}" if count else ""
            takes = units.short(fitted.recipe.peak)
            return f"with {_title(remedy)} instead{again} it takes {takes}{_line(remedy)}"
        assert fitted.peak is not None
        tried.append((fitted.peak.nbytes, remedy))
    peak, best = min(tried, key=lambda pair: pair[0], default=(least, None))
    if best is not None and peak < least:
        takes = units.short(peak)
        return f"of the other optimizers {_title(best)} takes the least, {takes}{_line(best)}"
    if search.batch == 1:
        return "1 is the smallest batch: try a smaller model, or a larger memory"
    return "try a smaller batch with accumulate=, which keeps the gradients of the whole"


def _late(search: Search, nbytes: int, phase: Phase) -> bool:
    """Return whether the optimizer alone takes too much, or the peak lies in it."""
    return search.in_update > nbytes or phase is Phase.UPDATE


def _with_optimizer(search: Search, remedy: OptimizerRemedy) -> Search:
    """Return the search of the model with another optimizer."""
    model = WatchedModel(replace(search.wish, optimizer=remedy.optimizer), search.batch)
    return type(search)(model, search.account)


def _title(remedy: OptimizerRemedy) -> str:
    return strings.get(f"explain.change.{remedy.key}")


def _line(remedy: OptimizerRemedy) -> str:
    """Return the line to paste, after a colon; empty where there are several."""
    return f": {remedy.code[0]}" if len(remedy.code) == 1 else ""
