"""The one case of the course at the size of a lesson: its techniques, run and compared with their
plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memlab import units
from memlab.build.step import training_step
from memlab.lesson.one_case import OTHER, TECHNIQUES, say
from memlab.networks import zoo

if TYPE_CHECKING:
    from memlab.runtime.run import Run

PIXELS, FEW = 64, 16
"""Of the small step: height and width of an image, and images."""


@dataclass(frozen=True)
class SmallRun:
    """A technique on the small step: planned and measured bytes, the largest residual, and
    whether loss and parameters are those of the plain step bit for bit."""

    lesson: str
    planned: int
    measured: int
    residual: int
    same: bool


@dataclass(frozen=True)
class Measured:
    """What the same techniques used where they ran."""

    network: str
    runs: tuple[SmallRun, ...]

    @property
    def held(self) -> bool:
        """Whether all used what was planned."""
        return all(not each.residual and each.planned == each.measured for each in self.runs)

    def lines(self) -> list[str]:
        """A sentence, and a line for each."""
        key = "held" if self.held else "missed"
        head = say(f"small.{key}", network=self.network, pixels=PIXELS, images=FEW)
        return [head, *(_line(each) for each in self.runs)]


def _line(found: SmallRun) -> str:
    result = say(f"small.{'same' if found.same else 'unlike'}")
    planned, used = units.exact(found.planned), units.exact(found.measured)
    name = say(f"technique.{found.lesson}")
    return say("small.line", name=name, planned=planned, measured=used, result=result)


def measured(lessons: tuple[str, ...]) -> Measured:
    """Run the techniques of some lessons on a small ResNet, and compare with their plans.

    Raises:
        DoesNotFitError: 250 MB are not free.
    """
    from memlab.runtime.run import run  # compiled code: who runs nothing needs none

    net = zoo.resnet((1, 1, 1, 1), image=PIXELS, classes=10)
    step = training_step(net, "momentum")
    chosen = [TECHNIQUES[lesson] for lesson in lessons if TECHNIQUES[lesson].runs]
    batches = {each.lesson: FEW // (8 if each.result == OTHER else each.parts) for each in chosen}
    made = {each.lesson: each.make(step, batches[each.lesson]) for each in chosen}
    done = {each: run(made[each], batches[each], progress=False) for each in made}
    expected = _results(done.get("02") or run(step, FEW, progress=False))
    return Measured(net.label, tuple(_small(each, done[each], expected) for each in done))


def _small(lesson: str, found: Run, expected: tuple[bytes, ...]) -> SmallRun:
    planned = found.planned.peak(found.batch)
    return SmallRun(lesson, planned, found.peak, found.residual, _results(found) == expected)


def _results(done: Run) -> tuple[bytes, ...]:
    return tuple(each.tobytes() for each in done.parameters.values())
