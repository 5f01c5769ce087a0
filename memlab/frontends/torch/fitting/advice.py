"""What helps where no module that is wrapped does: it follows from the phase of the peak.

Every figure is that of a step that was recorded with the change. Import this module only where
PyTorch is installed: memlab does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from memlab import units
from memlab.errors import InputError
from memlab.frontends.torch.fitting.search import Fitted, Search
from memlab.frontends.torch.worlds import OPTIMIZERS, Optimizer
from memlab.optimizers import title
from memlab.step.op import Phase


@dataclass(frozen=True, slots=True)
class Change:
    """Another optimizer, its line of code, and the peak of its step in bytes; ``fits`` says that
    it is within the budget, with ``modules`` that are wrapped where it needs some."""

    what: str
    line: str
    peak: int
    fits: bool
    modules: tuple[str, ...] = ()


def failure(search: Search, found: Fitted, nbytes: int) -> InputError:
    """The sentences for a budget that no set of modules keeps."""
    assert found.least is not None
    assert found.peak is not None
    peak, batch = found.peak, search.batch
    phase = "in the optimizer" if peak.row.phase is Phase.UPDATE else f"in {peak.row.phase}"
    floor = units.short(int(found.least.bound))
    proof = "proved" if found.least.proved else f"none is below {floor}"
    text = (
        f"no set of modules {search.what} brings batch {batch} into {units.short(nbytes)}; the "
        f"least peak, of sets without one module inside another, is {units.short(peak.nbytes)} "
        f"({proof}), {phase}"
    )
    return InputError(f"{text}; {_remedy(search, nbytes, peak.row.phase, peak.nbytes)}.")


def _remedy(search: Search, nbytes: int, phase: Phase, least: int) -> str:
    """A change to try, with its figures; ``least`` is the peak without one."""
    in_update = search.in_update > nbytes or phase is Phase.UPDATE
    tried = list(changes(search, nbytes)) if in_update else []
    fits = next((each for each in tried if each.fits), None)
    if fits is not None:
        count = len(fits.modules)
        again = f" and {count} module{'s' * (count != 1)} {search.what}" if count else ""
        return f"with {fits.what} instead{again} it takes {units.short(fits.peak)}: {fits.line}"
    best = min(tried, key=lambda each: each.peak, default=None)
    if best is not None and best.peak < least:
        takes = units.short(best.peak)
        return f"of the other optimizers {best.what} takes the least, {takes}: {best.line}"
    if search.batch == 1:
        return "1 is the smallest batch: try a smaller model, or a larger memory"
    return "try a smaller batch with accumulate=, which keeps the gradients of the whole"


def changes(search: Search, nbytes: int) -> Iterator[Change]:
    """Optimizers that take less in their update, the mildest change first."""
    for what, line, optimizer in _optimizers(search.wish.optimizer):
        other = type(search)(replace(search.wish, optimizer=optimizer), search.batch, search.tell)
        found = other.fit(nbytes)
        if found.recipe is not None:
            yield Change(what, line, found.recipe.peak, True, found.recipe.modules)
        else:
            assert found.peak is not None
            yield Change(what, line, found.peak.nbytes, False)


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
    """An optimizer that updates a parameter after another."""

    def made(parameters: Any) -> Any:
        optimizer = make(parameters)
        for group in optimizer.param_groups:
            group["foreach"] = False
        return optimizer

    return made
