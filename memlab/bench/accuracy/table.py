"""Accuracy of estimates of a training step's memory: figures, lines and a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from memlab import units
from memlab.measure.timing import BenchmarkLine, Machine, Result

NAME = "accuracy"
TOOK = "took"
LOW, HIGH = "too low", "too high"
LEAST = 0.01
"""The smallest difference in percent that is told as a number."""


@dataclass(frozen=True, slots=True)
class PredictorEstimate:
    """Estimate of one predictor for a step: bytes at the peak, or ``why`` there are none; and the
    seconds that it took."""

    predictor: str
    nbytes: int | None = None
    seconds: float = 0.0
    why: str = ""

    def percent(self, truth: int) -> float | None:
        """Difference between the estimate and the truth, in percent of the truth: below 0 where the
        estimate is too low."""
        return None if self.nbytes is None else 100 * (self.nbytes / truth - 1)

    def off(self, truth: int) -> str:
        """Return the error of an estimate in words: ``'0.77 % too low'``; ``'equal'`` where no byte
        differs."""
        if self.nbytes is None:
            return self.why
        if self.nbytes == truth:
            return "equal"
        off = abs(100 * (self.nbytes / truth - 1))
        said = f"{off:.2f}" if off >= LEAST else f"less than {LEAST}"
        return f"{said} % {_side(self.nbytes, truth)}"


@dataclass(frozen=True, slots=True)
class Compared:
    """A training step, the bytes that it really had at its peak by ``source``, and the estimates
    for it. ``truth`` is 0 where the step was not run: then ``why`` says so."""

    case: str
    source: str
    truth: int
    estimates: tuple[PredictorEstimate, ...] = ()
    why: str = ""

    @property
    def lines(self) -> Iterator[BenchmarkLine]:
        """Every figure as a line of its own; a sentence without a figure has no unit."""
        head = f"{self.case}: "
        if self.why:
            yield BenchmarkLine(head + self.why, 0, "")
            return
        yield BenchmarkLine(head + self.source, self.truth, "B")
        for estimate in self.estimates:
            name = head + estimate.predictor
            if estimate.nbytes is None:
                yield BenchmarkLine(f"{name}, {estimate.why}", 0, "")
                continue
            off, side = abs(estimate.percent(self.truth) or 0.0), _side(estimate.nbytes, self.truth)
            yield BenchmarkLine(name, estimate.nbytes, "B")
            yield BenchmarkLine(f"{name}, {side} by", off, "%")
            yield BenchmarkLine(f"{name}, {TOOK}", estimate.seconds, "s")

    def text(self) -> str:
        """Text with the true peak of a step, and below it a line for each estimate."""
        if self.why:
            return f"{self.case}: {self.why}"
        rows = [f"{self.case}: {units.exact(self.truth)}, by {self.source}"]
        width = max([24, *(len(estimate.predictor) for estimate in self.estimates)])
        for estimate in self.estimates:
            size, took = "", ""
            if estimate.nbytes is not None:
                size = units.exact(estimate.nbytes)
                took = f"{estimate.seconds:8.2f} s" if estimate.seconds else ""
            rows.append(
                f"  {estimate.predictor:{width}}{size:>18}{took:10}  {estimate.off(self.truth)}"
            )
        return "\n".join(rows)


@dataclass(frozen=True)
class Accuracy(Result):
    """Estimates and truths of some training steps; its lines have every figure. ``published`` are
    those of steps that were measured elsewhere."""

    published: tuple[Compared, ...] = ()

    @property
    def compared(self) -> tuple[Compared, ...]:
        """Comparisons of all steps, read from the lines, so that those of recorded figures are
        there as well."""
        cases: dict[str, list[BenchmarkLine]] = {}
        for line in self.lines:
            case, apart, name = line.name.partition(": ")
            if apart:
                cases.setdefault(case, []).append(BenchmarkLine(name, line.value, line.unit))
        return tuple(_read(case, lines) for case, lines in cases.items())

    def __str__(self) -> str:
        steps = self.compared
        texts = [super().__str__()] if not steps else [f"measured here: {self.machine}"]
        texts += [step.text() for step in steps]
        if self.published:
            texts += ["planned for cards, measured elsewhere:"]
            texts += [step.text() for step in self.published]
        return "\n\n".join(texts)

    def as_dict(self) -> dict[str, Any]:
        facts = super().as_dict()
        lines = [asdict(line) for step in self.published for line in step.lines]
        return facts | ({"published": lines} if lines else {})


def accuracy(comparisons: Iterable[Compared], machine: Machine) -> Accuracy:
    """Return the accuracy of estimates over some steps, with the machine."""
    return Accuracy(
        NAME, machine, tuple(line for compared in comparisons for line in compared.lines)
    )


def _side(nbytes: int, truth: int) -> str:
    return "off" if nbytes == truth else LOW if nbytes < truth else HIGH


def _read(case: str, lines: list[BenchmarkLine]) -> Compared:
    """Return the comparison of a step from its lines, of which the first one is the truth."""
    first, *others = lines
    if not first.unit:
        return Compared(case, "", 0, why=first.name)
    took = {line.name: line.value for line in others if line.unit == "s"}
    estimates = []
    for line in others:
        if line.unit == "B":
            seconds = took.get(f"{line.name}, {TOOK}", 0.0)
            estimates.append(PredictorEstimate(line.name, int(line.value), seconds))
        elif not line.unit:
            name, _, why = line.name.partition(", ")
            estimates.append(PredictorEstimate(name, why=why))
    return Compared(case, first.name, int(first.value), tuple(estimates))
