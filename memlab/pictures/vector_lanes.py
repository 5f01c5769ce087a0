"""Gain of wider vectors, measured: operations per second by the lanes of a vector."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from memlab import strings
from memlab.measure import timing
from memlab.measure import vector_lanes as experiment
from memlab.measure.vector_lanes import LaneCurve, LaneMeasurement, LoopSamples
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import Label
from memlab.pictures.draw.marks import Fact, Line, Mark, Points
from memlab.pictures.draw.page import Page, report
from memlab.pictures.draw.scale import LinearScale, counts_over
from memlab.pictures.draw.table import Paragraphs, Table
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import billions, ratio, share
from memlab.pictures.values.recordable import Recordable

_SIDES = ("start", 10), ("end", -10)
LEAST = 16
"""Least number of lanes to which the chart reaches; where the gain ends later, it reaches twice as
far."""


@dataclass(frozen=True, repr=False)
class VectorLanes(Recordable):
    """Operations per second by the lanes of a vector, and the number of lanes above which more
    bring nothing."""

    measured: LaneMeasurement

    @property
    def lines(self) -> list[timing.BenchmarkLine]:
        return [
            timings.rate(f"{curve.format}, {loop.lanes} lanes", loop.operations, loop.samples)
            for curve in self.measured.curves
            for loop in curve.points
        ]

    @property
    def curve(self) -> LaneCurve:
        """The curve that is drawn: that of the first format."""
        return self.measured.curves[0]

    @property
    def points(self) -> list[LoopSamples]:
        """Loops that are drawn: up to 16 lanes, or to twice the lanes at which the gain ends."""
        last = max(LEAST, 2 * self.curve.knee.lanes)
        return [point for point in self.curve.points if point.lanes <= last]

    @property
    def title(self) -> str:
        measured = self.measured
        key = "lanes.title_forced" if measured.target else "lanes.title"
        values = {"format": self.curve.format, "processor": measured.machine.processor}
        return strings.get(key, **values, target=measured.target)

    @property
    def sentences(self) -> list[str]:
        """Sentences on the lanes up to which more bring more, and on the lanes of the registers and
        their source."""
        curve = self.curve
        key = "lanes.measured" if curve.ends else "lanes.unbroken"
        first = strings.get(key, lanes=curve.knee.lanes, bits=curve.width)
        return [first, f"{self._registers} {self._agreement}".strip()]

    @property
    def _registers(self) -> str:
        """Sentence on the bits and lanes of the registers."""
        measured = self.measured
        kind = "_forced" if measured.target else "" if measured.feature else "_plain"
        count = measured.bits // self.curve.bits
        return strings.get(f"lanes.registers{kind}", bits=measured.bits, lanes=count,
                           feature=measured.feature)  # fmt: skip

    @property
    def _agreement(self) -> str:
        """Sentence that compares the measured width with the width of the registers."""
        bits, width = self.measured.bits, self.curve.width
        if not self.curve.ends:
            return ""
        if width == bits:
            return strings.get("lanes.agree")
        if width < bits:
            return strings.get("lanes.parts", bits=bits, count=bits // width, part=width)
        return strings.get("lanes.wider", count=width // bits)

    @property
    def details(self) -> list[str]:
        """Sentences on the deviation of the curve from a straight line, and on the vectors that the
        compiler chooses by itself."""
        curve, measured = self.curve, self.measured
        values = {"deviation": share(curve.deviation), "gain": share(curve.gain)}
        lines = [strings.get("lanes.off" if curve.ends else "lanes.off_unbroken", **values)]
        if curve.falls:
            wider = (point for point in curve.points if point.lanes > curve.knee.lanes)
            low = min(wider, key=lambda loop: loop.rate)
            part = ratio(low.rate / curve.knee.rate)
            lines.append(strings.get("lanes.fall", lanes=low.lanes, part=part,
                                     registers=measured.registers))  # fmt: skip
        counts = [strings.get("lanes.register_count", kind=kind, count=count)
                  for kind, count in measured.chosen.items()]  # fmt: skip
        key = "lanes.chosen" if measured.chosen_bits else "lanes.chosen_none"
        lines.append(strings.get(key, bits=measured.chosen_bits, counts=", ".join(counts)))
        count, clock = len(curve.points[0].samples), strings.get(f"lanes.{measured.clock}")
        return [*lines, strings.get("lanes.samples", count=count, clock=clock)]

    @property
    def notes(self) -> list[str]:
        return [timings.where(self.measured.machine)]

    def page(self) -> Page:
        rows = [[str(loop.lanes), billions(loop.rate)] for loop in self.curve.points]
        heads = [strings.get("lanes.lanes"), strings.get("lanes.rate")]
        blocks = Table(heads, rows, drawn=False), Paragraphs(self.details, drawn=False)
        return report(self, _rates(self), *blocks)


def _rates(lanes: VectorLanes) -> Chart:
    """Return the chart: a point for each loop, and a ring where more lanes bring nothing more."""
    curve, points = lanes.curve, lanes.points
    last, first = points[-1].lanes, points[0]
    top = ceil(1.1 * max(point.rate for point in points) / 1e9)
    marks: list[Mark] = [*_linear_gain(lanes, counts_over(top).last)]
    marks.append(Line([(loop.lanes, loop.rate / 1e9) for loop in points], width=1.8))
    for loop in points:
        rate = strings.get("lanes.operations", rate=billions(loop.rate))
        fact = Fact(f"{loop.lanes} {strings.get('lanes.lanes')}", rate,
                    more=timings.origin(loop.samples, lanes.measured.machine))  # fmt: skip
        marks.append(Points([(loop.lanes, loop.rate / 1e9)], "dot", 8, fact))
    if curve.ends:
        place = curve.knee.lanes, curve.knee.rate / 1e9
        label = strings.get("lanes.ring", lanes=place[0])
        near = [(*place, side, dx, dy) for dy in (30, -16, 48) for side, dx in _SIDES]
        marks += [
            Points([place], "ring", 22),
            Label(label, near, 14, bold=True, chip=True, kept=True),
        ]
    ticks = [(loop.lanes, str(loop.lanes)) for loop in points if loop.lanes >= last / 16]
    return Chart(
        LinearScale(0, 1.04 * last, first.lanes), counts_over(top), marks, 250,
        Axis(strings.get("lanes.lanes"), ticks=ticks, grid=False),
        Axis(strings.get("lanes.rate")), gap=8,
    )  # fmt: skip


def _linear_gain(lanes: VectorLanes, top: float) -> list[Mark]:
    """Return a line, with its name, as if each lane brought as much as the first."""
    per_lane = lanes.curve.linear(1) / 1e9
    end = min(lanes.points[-1].lanes, top / per_lane)
    label = strings.get("lanes.linear")
    at = [(part * end, part * end * per_lane) for part in (0.55, 0.9, 0.7)]
    places = [
        (*place, side, dx, dy) for place in at for dy in (-4, 12) for side, dx in _SIDES[::-1]
    ]
    return [Line([(0, 0), (end, per_lane * end)], "rule faint"), Label(label, places, 11, dim=True)]


def vector_lanes(
    format: str = "fp32", target: str | None = None, *, progress: bool = True
) -> VectorLanes:
    """Time multiply-adds in vectors of 1 to 64 lanes on this machine, which takes some seconds.

    >>> view = memlab.views.vector_lanes(progress=False)
    >>> view.curve.format
    'fp32'

    Args:
        format: ``"fp64"``, ``"fp32"``, ``"bf16"`` or ``"int8"``; the last two where the processor
            has dot products for them.
        target: ``"avx2"`` or ``"sse2"`` compiles for an older x86-64 processor, in a new process.
        progress: True for a progress bar, where it takes more than a second.

    Raises:
        InputError: a value that is not allowed, or a format that this processor cannot compute.
    """
    if target is not None:
        return VectorLanes(experiment.forced(target, [format]))
    return VectorLanes(experiment.measure([format], progress=progress))
