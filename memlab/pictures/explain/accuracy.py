"""The picture of ``memlab bench accuracy``: estimates of training memory, and measured bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from memlab import strings, units
from memlab.bench.accuracy.table import LEAST, Accuracy, Compared, PredictorEstimate
from memlab.errors import InputError
from memlab.pictures.draw.alternatives import LabelledBar, bars
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.marks import Fact, Rule
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.scale import LinearScale, counts_over
from memlab.pictures.draw.table import PageBlock, Paragraphs, Table
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import duration
from memlab.pictures.values.study import Study

PITCH = 21
"""Pixels from one bar to the next."""
OWN = "memlab"
"""Prefix of the names of memlab's own estimates."""


@dataclass(frozen=True, repr=False)
class AccuracyOfEstimates(Still, Study):
    """Bars for each training step: every estimate in percent of the bytes that the step really has
    at its peak, with its error and its seconds. All steps share one scale.

    Raises:
        InputError: no step of the result was run.
    """

    result: Accuracy

    def __post_init__(self) -> None:
        if not self.steps:
            names = "; ".join(line.name for line in self.result.lines)
            raise InputError(f"there is nothing to plot: {names}.")

    @property
    def steps(self) -> list[Compared]:
        """The steps that were run."""
        return [step for step in self.result.compared if step.truth]

    @property
    def title(self) -> str:
        return text_of("title")

    @property
    def sentences(self) -> list[str]:
        """Sentences on the largest error of each predictor."""
        most: dict[str, float] = {}
        for step in self.steps:
            for estimate in step.estimates:
                percent = estimate.percent(step.truth)
                if percent is not None:
                    most[estimate.predictor] = max(most.get(estimate.predictor, 0.0), abs(percent))
        return [_largest_error_sentence(name, percent) for name, percent in most.items()]

    @property
    def lacking(self) -> list[str]:
        """Predictors without any estimate because they are not installed."""
        reasons: dict[str, set[str]] = {}
        for step in self.steps:
            for estimate in step.estimates:
                reasons.setdefault(estimate.predictor, set()).add(estimate.why)
        return [name for name, why in reasons.items() if why == {"not installed"}]

    @property
    def notes(self) -> list[str]:
        left_out = [f"{step.case}: {step.why}." for step in self.result.compared if step.why]
        names = ", ".join(self.lacking)
        lacking = [text_of("lacking", names=names)] if names else []
        return [*left_out, *lacking, text_of("note"), timings.where(self.result.machine)]

    def page(self) -> Page:
        steps = self.steps
        scale = _percent_scale(steps)
        charts = [self._bars(step, scale, at == len(steps)) for at, step in enumerate(steps, 1)]
        left, right = max(chart.left for chart in charts), max(chart.right for chart in charts)
        blocks: list[PageBlock] = []
        for step, chart in zip(steps, charts, strict=True):
            size = units.short(step.truth)
            heading = text_of("step", case=step.case, size=size, source=step.source)
            blocks += [
                Paragraphs(heading, 12, bold=True, gap=8),
                replace(chart, left=left, right=right),
            ]
        return report(self, *blocks, size=12, bold=0)

    def _estimates(self, step: Compared) -> Iterator[PredictorEstimate]:
        """Return the estimates of a step by the predictors that are installed."""
        return (estimate for estimate in step.estimates if estimate.predictor not in self.lacking)

    def _bars(self, step: Compared, scale: LinearScale, last: bool) -> Chart:
        """Return the chart of one step's estimates, with a line at the measured bytes."""
        labelled = [_bar(estimate, step) for estimate in self._estimates(step)]
        axis = Axis(note=text_of("axis") if last else "", rule=False, labels=last)
        chart = bars(labelled, scale, PITCH, axis=axis, told=self._table(step), gap=2)
        truth = Fact(step.source, nbytes=step.truth)
        return replace(chart, marks=[Rule(100, look="rule", fact=truth), *chart.marks])

    def _table(self, step: Compared) -> Table:
        """Return the text twin of a step's chart."""
        heads = [text_of(key) for key in ("predictor", "size", "off", "took")]
        return Table(heads, [_cells(estimate, step) for estimate in self._estimates(step)], "<><>")


def _largest_error_sentence(name: str, percent: float) -> str:
    """Return the sentence on the largest error of a predictor, in percent."""
    if not percent:
        return text_of("equal", name=name)
    text = f"{percent:.2f}" if percent >= LEAST else text_of("less", percent=LEAST)
    return text_of("most", name=name, percent=text)


def _bar(estimate: PredictorEstimate, step: Compared) -> LabelledBar:
    """Return the bar of an estimate in percent of the measured bytes; a failed one is 0 and has its
    reason as label."""
    _, _, off, took = _cells(estimate, step)
    percent = estimate.percent(step.truth)
    origin = "planned" if estimate.predictor.startswith(OWN) else "guess"
    name, more = estimate.predictor, ", ".join(filter(None, (off, took)))
    fact = Fact(name, nbytes=estimate.nbytes, more=more)
    label = [(off, True), (f"  {took}", False)] if took else [(off, True)]
    return LabelledBar(0 if percent is None else 100 + percent, origin, label, fact, name)


def _cells(estimate: PredictorEstimate, step: Compared) -> list[str]:
    """Return the table row of an estimate: predictor, bytes, error or reason of the failure,
    seconds."""
    if estimate.nbytes is None:
        return [estimate.predictor, "", estimate.why, ""]
    size = units.short(estimate.nbytes)
    return [estimate.predictor, size, estimate.off(step.truth), duration(estimate.seconds)]


def _percent_scale(steps: list[Compared]) -> LinearScale:
    """Return the scale from 0 to a round end above every estimate and the measured bytes."""
    percents = [100.0]
    for step in steps:
        percents += [100 + (estimate.percent(step.truth) or 0.0) for estimate in step.estimates]
    return counts_over(ceil(max(percents)), "%")


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture from the language files."""
    return strings.get(f"accuracy.{key}", **values)
