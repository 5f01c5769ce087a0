"""Gain of a larger batch: time per sample, measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, prod

from memlab import strings, units
from memlab.layers.layer import text as dims
from memlab.measure import batch_times as experiment
from memlab.measure import recorded_figures
from memlab.measure.batch_times import BatchCurve, Sweep
from memlab.measure.processor import PROCESSOR
from memlab.measure.recorded_figures import RecordedFigures
from memlab.measure.timing import BenchmarkLine
from memlab.pictures.draw.alternatives import NamedLine, Names, drawn, with_names_below
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Mark, Rule
from memlab.pictures.draw.page import Page, report
from memlab.pictures.draw.scale import LogScale, powers_around
from memlab.pictures.draw.table import Paragraphs
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import columns, duration, ratio
from memlab.pictures.values.recordable import Recordable

WAYS = ("linear-4096", "samples", "pixels", "loop", "one-lane")
MOST = 5
"""Timed samples of each computation at each batch."""
FLAT = 1.25
"""Ratio of largest to least time up to which times count as equal."""
INSET = 0.028
"""Share of the axis of batches that is free before the first and after the last."""
ROOM = 11
"""Most doublings of the batch that are all labelled; of more, every other one is."""


@dataclass(frozen=True, repr=False)
class BatchTimes(Recordable):
    """Time per sample of several computations at growing batches, beside figures recorded on a GPU.

    A notebook shows the picture, ``print`` the text.
    """

    measured: Sweep
    gpu: RecordedFigures | None = None

    @property
    def lines(self) -> list[BenchmarkLine]:
        return [line for curve in self.measured.curves for line in experiment.lines(curve)]

    @property
    def title(self) -> str:
        head, case = strings.get("batch.title"), self.measured.case
        if all(curve.name.startswith("linear") for curve in self.measured.curves):
            return head
        settings, shape = case.layer.describe(), dims(case.shape)
        return strings.get("batch.convolution", title=head, settings=settings, shape=shape)

    @property
    def sentences(self) -> list[str]:
        """A sentence on the figures of each computation."""
        case = self.measured.case
        places = prod(case.layer.output(case.shape)[1:])
        return [reading(curve, self.measured.lanes, places) for curve in self.measured.curves]

    @property
    def notes(self) -> list[str]:
        row = self.measured
        samples = [sample for curve in row.curves for sample in curve.samples.values()]
        return [
            *timings.taken(samples, row.clock == PROCESSOR),
            timings.where(row.machine),
            *timings.products(row.blas),
            *on_gpu(self.gpu),
        ]

    def page(self) -> Page:
        axis = [(strings.get("batch.time"), True), (strings.get("batch.ratios"), False)]
        return report(self, Paragraphs([axis], told=False, gap=16), _per_sample(self), marked=True)


def way(curve: BatchCurve) -> str:
    """Return the display name of a computation; a recorded one has the name it was recorded by."""
    key = f"batch.way.{curve.name}"
    return strings.get(key) if strings.has(key) else curve.name


def time_per_sample(curve: BatchCurve, size: int) -> str:
    """Return the time per sample at a batch: ``'99.3 µs'``."""
    return duration(curve.at(size))


def against(curve: BatchCurve, size: int) -> str:
    """Return the time per sample at a batch, divided by the least of all batches: ``'13.6'``."""
    return ratio(curve.at(size) / curve.least)


def ends(curve: BatchCurve) -> str:
    """Return the time per sample at the first and at the best batch: ``'1.35 ms to 99.3 µs: 13.6
    ×'``."""
    first, last = curve.batches[0], _best(curve)
    times = {"first": time_per_sample(curve, first), "last": time_per_sample(curve, last)}
    return strings.get("batch.ends", **times, ratio=against(curve, first))


def reading(curve: BatchCurve, lanes: int = 0, places: int = 0) -> str:
    """Return a sentence on the figures of one computation.

    A computation that was chosen to show something has a text of its own, used only where the
    figures show it.

    Args:
        curve: time per sample at each batch.
        lanes: values of a vector of this processor; 0 where that is not known.
        places: output places of one sample of the convolution.
    """
    kind = "linear" if curve.name.startswith("linear-") else curve.name
    full = filling(curve, lanes) if kind == "samples" else None
    verdict = "full" if full else verdict_on(curve)
    first = curve.batches[0]
    last = curve.batches[-1] if verdict == "uneven" else _best(curve)
    own = f"batch.reading.{kind}_{verdict}"
    return strings.get(
        own if strings.has(own) else f"batch.reading.{verdict}",
        name=way(curve),
        ratio=against(curve, first),
        spread=ratio(_spread(curve, curve.batches)),
        percent=_percent(curve, [size for size in curve.batches if size >= (full or 0)]),
        first=f"{first:,}",
        last=f"{last:,}",
        weights=_weights(curve),
        lanes=lanes,
        full=full,
        places=places,
        room=ceil(places / max(1, lanes)) * lanes,
    )


def verdict_on(curve: BatchCurve) -> str:
    """Return the verdict on a curve: ``'flat'`` (equal time per sample at every batch), ``'falls'``
    or ``'uneven'``."""
    if _spread(curve, curve.batches) <= FLAT:
        return "flat"
    return "falls" if curve.fall > FLAT else "uneven"


def filling(curve: BatchCurve, lanes: int) -> int | None:
    """Return the first batch that fills the lanes, or None.

    The time per sample must fall up to that batch and be equal from there on.
    """
    onward = [size for size in curve.batches if size >= lanes]
    if len(onward) < 2 or onward[0] == curve.batches[0]:
        return None
    falls = curve.at(curve.batches[0]) > FLAT * curve.at(onward[0])
    return onward[0] if falls and _spread(curve, onward) <= FLAT else None


def on_gpu(figures: RecordedFigures | None) -> list[str]:
    """Return sentences on the figures recorded on a GPU, or one that says that there are none."""
    lines = experiment.curves(figures.result.lines) if figures else []
    if figures is None or not lines:
        return [strings.get("batch.unrecorded", command=recorded_figures.COMMAND)]
    where = strings.get("recorded.where", command=figures.command, where=figures.where)
    return [*(strings.get("batch.recorded", reading=reading(c)) for c in lines), f"{where}."]


def _weights(curve: BatchCurve) -> str:
    """Return words on the bytes of weights that are read per sample, at the first and the last
    batch."""
    least, most = curve.batches[0], curve.batches[-1]
    first, last = (units.short(curve.weights // size) for size in (least, most))
    values = {"first": first, "last": last, "least": f"{least:,}", "most": f"{most:,}"}
    return strings.get("batch.weights", **values)


def _best(curve: BatchCurve) -> int:
    """Return the last batch with the least time per sample."""
    return min(reversed(curve.batches), key=curve.at)


def _spread(curve: BatchCurve, sizes: Iterable[int]) -> float:
    """Return the largest time per sample of some batches, divided by the least."""
    times = [curve.at(size) for size in sizes]
    return max(times) / min(times)


def _percent(curve: BatchCurve, sizes: Sequence[int]) -> int:
    """Return by how many percent the times of some batches differ, rounded up."""
    return ceil(round(100 * _spread(curve, sizes) - 100, 6))


def _per_sample(times: BatchTimes) -> Chart:
    """Return the chart of time per sample, as multiples of each computation's least."""
    curves = times.measured.curves
    sizes = sorted({size for curve in curves for size in curve.batches})
    most = max(curve.at(size) / curve.least for curve in curves for size in curve.batches)
    edge = (sizes[-1] / sizes[0]) ** INSET
    up = powers_around([1, most], label="{:,g} ×".format)
    ways = [_way(times, curve) for curve in curves]
    chart = Chart(
        LogScale(sizes[0] / edge, sizes[-1] * edge, label="{:,g}".format, marked=tuple(sizes)),
        up,
        [*_filled(times, sizes, up.last), *drawn(ways), Names(ways, -40, 34)],
        max(270, 34 * len(curves)),
        Axis(strings.get("batch.batch")),
        Axis(side="right"),
        left=236,
        right=64,
        above=16,
        told=_by_batch(times),
        gap=6,
    )
    return with_names_below(chart)


def _filled(times: BatchTimes, sizes: list[int], top: float) -> list[Mark]:
    """Return a line at the batch that fills a vector of this processor, where samples are the
    lanes."""
    full = times.measured.lanes
    if all(curve.name != "samples" for curve in times.measured.curves):
        return []
    if not sizes[0] <= full <= sizes[-1]:
        return []
    label = strings.get("batch.full", lanes=full)
    rule = Rule(full, look="rule faint", above=4)
    return [rule, ChartText(full, top, label, 11, "middle", dy=-10, held=True)]


def _way(times: BatchTimes, curve: BatchCurve) -> NamedLine:
    """Return the line of one computation, with its name and ends beside its first point."""
    points, facts = [(size, curve.at(size) / curve.least) for size in curve.batches], []
    for size in curve.batches:
        name = f"{way(curve)}, {strings.get('batch.batch')} {size:,}"
        value = f"{time_per_sample(curve, size)}, {against(curve, size)} ×"
        facts.append(
            Fact(name, value, more=timings.origin(curve.samples[size], times.measured.machine))
        )
    label = [(way(curve), True)]
    return NamedLine([label, ends(curve)], points, facts, points[0])


def _by_batch(times: BatchTimes) -> list[str]:
    """Return text lines: each computation's name, then time per sample and its ratio for every
    batch."""
    curves = times.measured.curves
    cells = [[strings.get("batch.batch"), *(curve.name for curve in curves)]]
    for size in curves[0].batches:
        pairs = ((time_per_sample(c, size), against(c, size)) for c in curves)
        cells.append([f"{size:,}", *(f"{time} {ratio:>5} x" for time, ratio in pairs)])
    names = [f"{curve.name}: {way(curve)}" for curve in curves]
    return [*names, "", *columns(cells, left=0)]


def batch_times(
    ways: Iterable[str] = WAYS,
    batches: Iterable[int] = experiment.BATCHES,
    *,
    progress: bool = True,
) -> BatchTimes:
    """Time linear layers and convolutions at growing batches, on this machine.

    It takes about 10 s, by processor time of one thread. Figures that ``make gpu`` recorded on a
    GPU stand beside them.

    Args:
        ways: ``linear-1024`` and ``linear-4096`` are linear layers by BLAS; ``samples`` and
            ``pixels`` are a convolution whose lanes are samples, or places of one sample; ``loop``
            and ``one-lane`` are plain loops over the samples.
        batches: at least two batch sizes.
        progress: show what is timed, where it takes more than a second.

    Returns:
        A still picture; ``print`` shows its text.

    Raises:
        InputError: a value that is not allowed, or more bytes than are free.

    >>> view = memlab.views.batch_times(["samples"], [1, 16], progress=False)
    >>> [curve.batches for curve in view.measured.curves]
    [(1, 16)]
    """
    sweep = experiment.measure(ways, batches, MOST, progress)
    return BatchTimes(sweep, recorded_figures.latest())
