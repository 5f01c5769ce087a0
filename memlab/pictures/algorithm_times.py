"""Algorithms for one convolution: workspace and time as bars, and time against workspace as a
curve.

The times are measured, the bytes of a workspace are planned. The workspace of a rival (PyTorch) is
not planned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from memlab import strings, units
from memlab.layers.layer import text
from memlab.measure import convolution, timing
from memlab.measure.convolution import RIVAL, Comparison
from memlab.measure.processor import PROCESSOR
from memlab.measure.timing import Machine, Timing
from memlab.networks.graph import Network
from memlab.pictures.draw.alternatives import LabelledBar, bars
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import Label
from memlab.pictures.draw.marks import Fact, Line, Mark, Points, Rule
from memlab.pictures.draw.page import Page, report
from memlab.pictures.draw.scale import (
    TIGHT,
    LogScale,
    Scale,
    bytes_over,
    ratios_around,
    seconds_over,
)
from memlab.pictures.draw.table import PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import SECONDS, duration, ratio
from memlab.pictures.values.recordable import Recordable
from memlab.pictures.values.timings import origin, workspace

ALGORITHMS = ("direct", "im2col-batch", "im2col-image", "im2col-tile", "offsets")
PATH = ("im2col-batch", "im2col-image", "im2col-tile", "offsets")
"""Algorithms that lower ever smaller pieces of the matrix, and none."""
PITCH = 40
"""Pixels from bar to bar."""
DROPS = sorted((*range(-8, -290, -14), *range(20, 290, 14)), key=lambda drop: abs(drop + 5))
"""Distances of a name below its point in pixels, the nearest first, above before below."""
ALIKE = 5
"""Percent of the least time within which no algorithm is called the fastest one."""
LONG = 10
"""Ratio of longest to least time up to which the axis of time begins at 0."""


@dataclass(frozen=True, repr=False)
class Algorithms(Recordable):
    """Measured times and planned workspaces of several algorithms for one convolution."""

    measured: Comparison

    @property
    def title(self) -> str:
        row = self.measured
        return strings.get(
            "speed.title",
            layer=row.case.name,
            settings=row.case.layer.describe(),
            shape=text(row.case.shape),
            batch=f"{row.batch:,}",
            threads=timings.on_threads(row.threads),
        )

    @property
    def lines(self) -> list[timing.BenchmarkLine]:
        return convolution.lines(self.measured)

    @property
    def threads(self) -> int:
        return self.measured.threads

    @property
    def own(self) -> list[Timing]:
        """Timings of memlab's algorithms, whose workspace is planned; a rival is left out."""
        return [timed for timed in self.measured.timings if timed.workspace is not None]

    @property
    def fastest(self) -> Timing:
        """Timing with the least time of memlab's algorithms."""
        return min(self.own, key=lambda timed: timed.seconds)

    @property
    def alike(self) -> list[Timing]:
        """Timings within ``ALIKE`` percent of the fastest, from the least time on: their order may
        change from run to run."""
        most = self.fastest.seconds * (1 + ALIKE / 100)
        return sorted(
            (timed for timed in self.own if timed.seconds <= most), key=lambda timed: timed.seconds
        )

    @property
    def joined(self) -> list[Timing]:
        """Timings of the algorithms that lower ever smaller pieces, from the whole batch to
        none."""
        named = {timed.name: timed for timed in self.measured.timings}
        return [named[name] for name in PATH if name in named]

    def name(self, timed: Timing) -> str:
        """Return the name of a timing's algorithm as code has it, or the rival's name with its
        version."""
        return timings.rival(self.measured.machine) if timed.name == RIVAL else timed.name

    def against(self, timed: Timing) -> str:
        """Return a time divided by that of the fastest algorithm: ``'25.2'``."""
        return ratio(timed.seconds / self.fastest.seconds)

    @property
    def sentences(self) -> list[str]:
        """Sentences on the fastest algorithms, and on the one with the largest workspace or else
        the slowest."""
        best, other = self.fastest, max(self.own, key=lambda timed: timed.workspace or 0)
        if len(self.alike) > 1:
            return [self._alike, *([] if other in self.alike else [self._amounts(other)])]
        first = strings.get("speed.least", **_figures(best))
        if other.workspace == best.workspace:
            other = max(self.own, key=lambda timed: timed.seconds)
        less, more = best.workspace or 0, other.workspace or 0
        if (other.seconds, more) == (best.seconds, less):
            return [first]
        if 0 < less < more:
            values = {"name": other.name, "ratio": self.against(other)}
            return [first, strings.get("speed.most", **values, bytes=ratio(more / less))]
        return [first, self._amounts(other)]

    @property
    def _alike(self) -> str:
        """Sentence on the fastest algorithms, where their times are alike."""
        *names, last = [strings.get("speed.alike_each", **_figures(each)) for each in self.alike]
        joined = strings.get("speed.alike_last", names=", ".join(names), last=last)
        return strings.get("speed.alike", percent=ALIKE, names=joined)

    def _amounts(self, timed: Timing) -> str:
        """Return a sentence on the time and the workspace of an algorithm."""
        return strings.get("speed.most_amount", **_figures(timed), ratio=self.against(timed))

    @property
    def along(self) -> list[str]:
        """Sentences on the change from the whole batch to no copy, and on the cache that each
        workspace fits."""
        fits = [self._fits(timed) for timed in self.joined if timed.workspace]
        if len(self.joined) < 2:
            return fits
        first, *_, last = self.joined
        values = {"first": first.name, "more": workspace(first), "before": duration(first.seconds)}
        values |= {"last": last.name, "less": workspace(last), "after": duration(last.seconds)}
        return [strings.get("speed.curve.along", **values), *fits]

    @property
    def caches(self) -> dict[str, int]:
        """Bytes of this processor's caches by display name: ``'L2 cache 1.0 MB'``."""
        return {
            strings.get("speed.curve.cache", level=level, size=units.short(size)): size
            for level, size in self.measured.caches.items()
        }

    def _fits(self, timed: Timing) -> str:
        """Return a sentence on the smallest cache that holds the workspace of an algorithm."""
        values = {"name": timed.name, "workspace": workspace(timed)}
        for level, size in self.measured.caches.items():
            if (timed.workspace or 0) <= size:
                return strings.get("speed.curve.fits", **values, level=level, size=_cache(size))
        return strings.get("speed.curve.too_large", **values)

    @property
    def notes(self) -> list[str]:
        row = self.measured
        left_out = ", ".join(row.left_out)
        by_processor = row.threads == 1 and row.clock == PROCESSOR
        return [
            *([strings.get("speed.left_out", names=left_out)] if left_out else []),
            *timings.taken((timed.samples for timed in row.timings), by_processor),
            timings.where(row.machine),
            *timings.products(row.blas),
        ]

    def _table(self) -> Table:
        """Return a table with a row for each algorithm, in the order that was asked for."""
        keys = "algorithm", "workspace", "time", "against"
        heads = [timings.said(k) if k == "time" else strings.get(f"speed.{k}") for k in keys]
        rows = [
            [
                self.name(timed),
                workspace(timed),
                duration(timed.seconds),
                f"{self.against(timed)} x",
                timings.way(timed),
            ]
            for timed in self.measured.timings
        ]
        return Table([*heads, ""], rows, "<>>><")


class AlgorithmTimes(Algorithms):
    """Workspace and time of each algorithm as bars; a notebook shows the picture, ``print`` the
    text."""

    def curve(self) -> TimeAndMemory:
        """Return the measured figures as time against workspace; nothing is measured again."""
        return TimeAndMemory(self.measured)

    def page(self) -> Page:
        rows = [AlgorithmRow(self.name(timed), timed, timed.seconds / self.fastest.seconds)
                for timed in self.measured.timings]  # fmt: skip
        note, machine = strings.get("speed.times"), self.measured.machine
        return report(self, workspace_and_time(rows, machine, note, self._table()), size=16)


class TimeAndMemory(Algorithms):
    """Time against workspace as a curve; a notebook shows the picture, ``print`` the text."""

    def page(self) -> Page:
        caches = [f"{', '.join(self.caches)}."] if self.caches else []
        along, names = Paragraphs(self.along, gap=8), Paragraphs(caches, drawn=False)
        return report(self, self._curve(), along, names, size=14)

    def _curve(self) -> Chart:
        """Return the chart: a point for each algorithm, joined from the whole batch to no copy."""
        across = _decades([timed.workspace or 0 for timed in self.own])
        seconds = [timed.seconds for timed in self.measured.timings]
        near = max(seconds) <= LONG * min(seconds)
        up = seconds_over(seconds) if near else ratios_around(seconds, _round)
        marks = [*self._caches(across, up), *self._rivals(across), *self._points(across)]
        note = "" if near else strings.get("speed.curve.ratios")
        return Chart(
            across,
            up,
            marks,
            290,
            Axis(strings.get("speed.workspace"), strings.get("speed.decades")),
            Axis(timings.said("time"), note),
            left=60,
            above=12,
            told=self._table(),
            gap=8,
        )

    def _caches(self, across: LogScale, up: Scale) -> list[Mark]:
        """Return the sizes of this processor's caches as vertical lines with their names."""
        marks: list[Mark] = []
        for name, size in self.caches.items():
            if across.marked and across.marked[-1] > size > across.first:
                places = [(size, up.last, *place) for place in (("middle", 0, -9), ("end", -4, -9))]
                marks += [
                    Rule(size, look="rule faint", above=4, crossed=True),
                    Label(name, places, 11),
                ]
        return marks

    def _points(self, across: LogScale) -> list[Mark]:
        """Return a dot for each joined algorithm and a hollow one for each other, named where there
        is room."""
        joined = self.joined
        marks: list[Mark] = []
        if len(joined) > 1:
            places = [(_amount(across, timed), timed.seconds) for timed in joined]
            marks.append(Line(places, width=1.8))
        for timed in self.own:
            place, time = (_amount(across, timed), timed.seconds), duration(timed.seconds)
            figures = f" {workspace(timed)}, {time}"
            near = [(*place, *side, dy) for dy in DROPS for side in (("start", 9), ("end", -9))]
            name = Label(
                [(timed.name, True), (figures, False)], near, chip=True, apart=2, leader=21
            )
            look = "dot" if timed in joined else "hollow"
            marks += [Points([place], look, 10, self._fact(timed)), name]
        return marks

    def _rivals(self, across: LogScale) -> list[Mark]:
        """Return a horizontal line at the time of each rival, whose workspace is not planned."""
        marks: list[Mark] = []
        for timed in self.measured.timings:
            if timed.workspace is not None:
                continue
            ends = [across.last * (across.first / across.last) ** (part / 8) for part in range(7)]
            places = [(x, timed.seconds, "end", -2, dy) for dy in (-6, 15) for x in ends]
            name = f"{self.name(timed)}: {duration(timed.seconds)}"
            label = Label(name, places, 11, chip=True, kept=True, apart=2)
            marks += [Rule(y=timed.seconds, look="rule faint", fact=self._fact(timed)), label]
        return marks

    def _fact(self, timed: Timing) -> Fact:
        """Return the fact of a timing: its time, its ratio to the fastest, and where it was
        measured."""
        text = f"{duration(timed.seconds)}, {self.against(timed)} ×"
        return Fact(self.name(timed), text, more=origin(timed.samples, self.measured.machine))


def algorithm_times(
    network: str | Network = "vgg16",
    layer: str = "conv3_2",
    batch: int = 1,
    algorithms: Iterable[str] = ALGORITHMS,
    threads: int = 1,
    *,
    progress: bool = True,
) -> AlgorithmTimes:
    """Time the forward pass of one convolution with several algorithms, on this machine.

    It takes some seconds, and longer for large layers. PyTorch takes part where it is installed.

    Args:
        network: a name of ``memlab.zoo``, or a network of yours.
        layer: the name of one of its convolutions.
        batch: images of the mini-batch.
        algorithms: names of algorithms, in the order in which they are shown.
        threads: threads of each algorithm, of BLAS and of PyTorch; with one, processor time is
            taken.
        progress: show what is timed, where it takes more than a second.

    Returns:
        A picture of bars; its ``curve()`` draws time against workspace.

    Raises:
        InputError: a value that is not allowed, or more bytes than are free.

    >>> view = memlab.views.algorithm_times("alexnet", "conv3", 1, ["offsets"], progress=False)
    >>> [timing.workspace for timing in view.own]
    [144]
    """
    case = convolution.find(network, layer)
    return AlgorithmTimes(convolution.measure(case, batch, algorithms, threads, progress=progress))


# -- bars -----------------------------------------------------------------------------------------


class AlgorithmRow(NamedTuple):
    """A row of the bars: an algorithm's display name, its timing, and its time by a
    reference time."""

    name: str
    timing: Timing
    ratio: float


def workspace_and_time(
    rows: list[AlgorithmRow], machine: Machine, note: str, told: Table
) -> PageBlock:
    """Return bars of planned workspace with the name of each algorithm, and bars of its time beside
    them.

    Args:
        rows: algorithms from top to bottom.
        machine: machine that the times were measured on.
        note: words below the axis of time.
        told: table that stands for the bars in the text of the picture.
    """
    sizes, times, title = [], [], strings.get("speed.workspace")
    for name, timed, by in rows:
        planned = [(workspace(timed), timed.workspace is not None)]
        fact = Fact(f"{name}, {title}", nbytes=timed.workspace)
        sizes.append(
            LabelledBar(timed.workspace or 0, "planned", planned, fact, name, timings.way(timed))
        )
        words = duration(timed.seconds), f"{ratio(by)} ×"
        fact = Fact(name, ", ".join(words), more=origin(timed.samples, machine))
        label = [(words[0], True), (f"  {words[1]}", False)]
        times.append(LabelledBar(timed.seconds, "measured", label, fact, named_beside=name))
    across = bytes_over(round(max(bar.value for bar in sizes)), TIGHT)
    seconds, foot = seconds_over(bar.value for bar in times), Axis(note=note, rule=False)
    left = bars(sizes, across, PITCH, title, told=told)
    right = bars(times, seconds, PITCH, timings.said("time"), axis=foot)
    return SideBySide([(left, 58), (right, 42)], gap=10)


# -- the curve -------------------------------------------------------------------------------------


def _decades(sizes: list[int]) -> LogScale:
    """Return a logarithmic axis over the powers of 10 around some sizes in bytes.

    The least size that is not 0 gets some length; 0 B, where it is among the sizes, has a place of
    its own left of the others.
    """
    some = [size for size in sizes if size] or [1]
    first, last = len(str(min(some))) - 1, len(str(max(some) - 1))
    first = max(first - (10**first == min(some)), 0)
    powers = [10.0**power for power in range(first, max(last, first + 1) + 1)]
    nothing = [powers[0] / 4] if 0 in sizes else []

    def label(value: float) -> str:
        unit = next((u for u in reversed(units.DECIMAL) if value >= units.DECIMAL[u]), "B")
        return "0 B" if value in nothing else units.in_unit(round(value), unit, 0)

    return LogScale(powers[0] / (8 if nothing else 1), powers[-1], 10, label, (*nothing, *powers))


def _amount(across: LogScale, timed: Timing) -> float:
    """Return the place of a timing's workspace on the axis of bytes."""
    return timed.workspace or across.values[0]


def _figures(timed: Timing) -> dict[str, str]:
    """Return name, time and workspace of a timing in words."""
    return {"name": timed.name, "time": duration(timed.seconds), "workspace": workspace(timed)}


def _round(seconds: float) -> str:
    """Return seconds in the largest unit below them: ``'20 ms'``."""
    unit = next(unit for unit, size in SECONDS.items() if seconds >= 0.9995 * size)
    return f"{seconds / SECONDS[unit]:g} {unit}"


def _cache(nbytes: int) -> str:
    """Return the size of a cache in decimal units and as its makers write it: ``'32.8 kB (32
    KiB)'``."""
    unit = "MiB" if nbytes >= units.BINARY["MiB"] else "KiB"
    return f"{units.short(nbytes)} ({nbytes / units.BINARY[unit]:,g} {unit})"
