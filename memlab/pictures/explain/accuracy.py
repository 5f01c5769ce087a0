"""The still view of ``memlab bench accuracy``: estimates of training memory beside the truth."""

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
"""From bar to bar."""
OWN = "memlab"
"""Begin of the names of its own estimates."""


@dataclass(frozen=True, repr=False)
class AccuracyOfEstimates(Still, Study):
    """Bars for each training step: every estimate in percent of the bytes that the step
    really has at its peak, with its error and its seconds. All groups have one scale.

    Raises:
        InputError: a result without a step that was run.
    """

    result: Accuracy

    def __post_init__(self) -> None:
        if not self.steps:
            said = "; ".join(line.name for line in self.result.lines)
            raise InputError(f"there is nothing to plot: {said}.")

    @property
    def steps(self) -> list[Compared]:
        """Steps that were run."""
        return [each for each in self.result.compared if each.truth]

    @property
    def title(self) -> str:
        return text_of("title")

    @property
    def sentences(self) -> list[str]:
        """The largest error of each predictor."""
        most: dict[str, float] = {}
        for step in self.steps:
            for each in step.estimates:
                percent = each.percent(step.truth)
                if percent is not None:
                    most[each.predictor] = max(most.get(each.predictor, 0.0), abs(percent))
        return [_most(name, percent) for name, percent in most.items()]

    @property
    def lacking(self) -> list[str]:
        """Predictors that said nothing of any step because they are not installed."""
        found: dict[str, set[str]] = {}
        for step in self.steps:
            for each in step.estimates:
                found.setdefault(each.predictor, set()).add(each.why)
        return [name for name, whys in found.items() if whys == {"not installed"}]

    @property
    def notes(self) -> list[str]:
        left_out = [f"{each.case}: {each.why}." for each in self.result.compared if each.why]
        names = ", ".join(self.lacking)
        lacking = [text_of("lacking", names=names)] if names else []
        return [*left_out, *lacking, text_of("note"), timings.where(self.result.machine)]

    def page(self) -> Page:
        steps = self.steps
        scale = _percents(steps)
        charts = [self._bars(step, scale, at == len(steps)) for at, step in enumerate(steps, 1)]
        left, right = max(each.left for each in charts), max(each.right for each in charts)
        blocks: list[PageBlock] = []
        for step, chart in zip(steps, charts, strict=True):
            size = units.short(step.truth)
            said = text_of("step", case=step.case, size=size, source=step.source)
            blocks += [
                Paragraphs(said, 12, bold=True, gap=8),
                replace(chart, left=left, right=right),
            ]
        return report(self, *blocks, size=12, bold=0)

    def _shown(self, step: Compared) -> Iterator[PredictorEstimate]:
        return (each for each in step.estimates if each.predictor not in self.lacking)

    def _bars(self, step: Compared, scale: LinearScale, last: bool) -> Chart:
        """The estimates of one step, and a line at the truth."""
        shown = [_bar(each, step) for each in self._shown(step)]
        axis = Axis(note=text_of("axis") if last else "", rule=False, labels=last)
        chart = bars(shown, scale, PITCH, axis=axis, told=self._told(step), gap=2)
        truth = Fact(step.source, nbytes=step.truth)
        return replace(chart, marks=[Rule(100, look="rule", fact=truth), *chart.marks])

    def _told(self, step: Compared) -> Table:
        heads = [text_of(key) for key in ("predictor", "size", "off", "took")]
        return Table(heads, [_cells(each, step) for each in self._shown(step)], "<><>")


def _most(name: str, percent: float) -> str:
    if not percent:
        return text_of("equal", name=name)
    said = f"{percent:.2f}" if percent >= LEAST else text_of("less", percent=LEAST)
    return text_of("most", name=name, percent=said)


def _bar(each: PredictorEstimate, step: Compared) -> LabelledBar:
    """An estimate in percent of the truth; what failed has no bar, and says why."""
    _, _, off, took = _cells(each, step)
    percent = each.percent(step.truth)
    origin = "planned" if each.predictor.startswith(OWN) else "guess"
    fact = Fact(each.predictor, nbytes=each.nbytes, more=", ".join(filter(None, (off, took))))
    label = [(off, True), (f"  {took}", False)] if took else [(off, True)]
    return LabelledBar(0 if percent is None else 100 + percent, origin, label, fact, each.predictor)


def _cells(each: PredictorEstimate, step: Compared) -> list[str]:
    if each.nbytes is None:
        return [each.predictor, "", each.why, ""]
    size = units.short(each.nbytes)
    return [each.predictor, size, each.off(step.truth), duration(each.seconds)]


def _percents(steps: list[Compared]) -> LinearScale:
    """From 0 to a round end above every estimate and the truth."""
    found = [100.0]
    for step in steps:
        found += [100 + (each.percent(step.truth) or 0.0) for each in step.estimates]
    return counts_over(ceil(max(found)), "%")


def text_of(key: str, **values: object) -> str:
    """A text of this view."""
    return strings.get(f"accuracy.{key}", **values)
