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
"""Lanes that are drawn at least; where the gain ends later, twice as many as up to there."""


@dataclass(frozen=True, repr=False)
class VectorLanes(Recordable):
    """Operations per second against the lanes of a vector, and from where on more bring nothing."""

    measured: LaneMeasurement

    @property
    def lines(self) -> list[timing.BenchmarkLine]:
        return [
            timings.rate(f"{curve.format}, {each.lanes} lanes", each.operations, each.samples)
            for curve in self.measured.curves
            for each in curve.points
        ]

    @property
    def curve(self) -> LaneCurve:
        """The format that is drawn: the first."""
        return self.measured.curves[0]

    @property
    def points(self) -> list[LoopSamples]:
        """The loops that are drawn: those around the end of the gain."""
        last = max(LEAST, 2 * self.curve.knee.lanes)
        return [point for point in self.curve.points if point.lanes <= last]

    @property
    def title(self) -> str:
        found = self.measured
        key = "lanes.title_forced" if found.target else "lanes.title"
        values = {"format": self.curve.format, "processor": found.machine.processor}
        return strings.get(key, **values, target=found.target)

    @property
    def sentences(self) -> list[str]:
        """How far more lanes bring more; what the registers hold, and how that is known."""
        curve = self.curve
        key = "lanes.measured" if curve.ends else "lanes.unbroken"
        first = strings.get(key, lanes=curve.knee.lanes, bits=curve.width)
        return [first, f"{self._registers} {self._agreement}".strip()]

    @property
    def _registers(self) -> str:
        found = self.measured
        kind = "_forced" if found.target else "" if found.feature else "_plain"
        count = found.bits // self.curve.bits
        return strings.get(f"lanes.registers{kind}", bits=found.bits, lanes=count,
                           feature=found.feature)  # fmt: skip

    @property
    def _agreement(self) -> str:
        """The measured width beside that of the registers."""
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
        """How exact the curve is, and what the compiler does by itself."""
        curve, found = self.curve, self.measured
        values = {"deviation": share(curve.deviation), "gain": share(curve.gain)}
        lines = [strings.get("lanes.off" if curve.ends else "lanes.off_unbroken", **values)]
        if curve.falls:
            wider = (point for point in curve.points if point.lanes > curve.knee.lanes)
            low = min(wider, key=lambda each: each.rate)
            part = ratio(low.rate / curve.knee.rate)
            lines.append(strings.get("lanes.fall", lanes=low.lanes, part=part,
                                     registers=found.registers))  # fmt: skip
        counts = [strings.get("lanes.register_count", kind=kind, count=count)
                  for kind, count in found.chosen.items()]  # fmt: skip
        key = "lanes.chosen" if found.chosen_bits else "lanes.chosen_none"
        lines.append(strings.get(key, bits=found.chosen_bits, counts=", ".join(counts)))
        count, clock = len(curve.points[0].samples), strings.get(f"lanes.{found.clock}")
        return [*lines, strings.get("lanes.samples", count=count, clock=clock)]

    @property
    def notes(self) -> list[str]:
        return [timings.where(self.measured.machine)]

    def page(self) -> Page:
        rows = [[str(each.lanes), billions(each.rate)] for each in self.curve.points]
        heads = [strings.get("lanes.lanes"), strings.get("lanes.rate")]
        told = Table(heads, rows, drawn=False), Paragraphs(self.details, drawn=False)
        return report(self, _rates(self), *told)


def _rates(found: VectorLanes) -> Chart:
    """A point for each loop, and a ring where more lanes stop to bring more."""
    curve, points = found.curve, found.points
    last, first = points[-1].lanes, points[0]
    top = ceil(1.1 * max(point.rate for point in points) / 1e9)
    marks: list[Mark] = [*_each_lane(found, counts_over(top).last)]
    marks.append(Line([(each.lanes, each.rate / 1e9) for each in points], width=1.8))
    for each in points:
        said = strings.get("lanes.operations", rate=billions(each.rate))
        fact = Fact(f"{each.lanes} {strings.get('lanes.lanes')}", said,
                    more=timings.origin(each.samples, found.measured.machine))  # fmt: skip
        marks.append(Points([(each.lanes, each.rate / 1e9)], "dot", 8, fact))
    if curve.ends:
        place = curve.knee.lanes, curve.knee.rate / 1e9
        label = strings.get("lanes.ring", lanes=place[0])
        near = [(*place, side, dx, dy) for dy in (30, -16, 48) for side, dx in _SIDES]
        marks += [
            Points([place], "ring", 22),
            Label(label, near, 14, bold=True, chip=True, kept=True),
        ]
    ticks = [(each.lanes, str(each.lanes)) for each in points if each.lanes >= last / 16]
    return Chart(
        LinearScale(0, 1.04 * last, first.lanes), counts_over(top), marks, 250,
        Axis(strings.get("lanes.lanes"), ticks=ticks, grid=False),
        Axis(strings.get("lanes.rate")), gap=8,
    )  # fmt: skip


def _each_lane(found: VectorLanes, top: float) -> list[Mark]:
    """A line as if each lane brought as much as the first."""
    each = found.curve.linear(1) / 1e9
    end = min(found.points[-1].lanes, top / each)
    label = strings.get("lanes.linear")
    at = [(part * end, part * end * each) for part in (0.55, 0.9, 0.7)]
    places = [
        (*place, side, dx, dy) for place in at for dy in (-4, 12) for side, dx in _SIDES[::-1]
    ]
    return [Line([(0, 0), (end, each * end)], "rule faint"), Label(label, places, 11, dim=True)]


def vector_lanes(
    format: str = "fp32", target: str | None = None, *, progress: bool = True
) -> VectorLanes:
    """Time multiply-adds in vectors of 1 to 64 lanes, here and now: some seconds.

    Args:
        format: ``"fp64"``, ``"fp32"``, ``"bf16"`` or ``"int8"``; the last two where the processor
            has dot products for them.
        target: ``"avx2"`` or ``"sse2"`` compiles for an older x86-64 processor, in a new process.
        progress: show what is timed, where it takes more than a second.

    Raises:
        InputError: a value that is not allowed, or nothing that this processor computes.
    """
    if target is not None:
        return VectorLanes(experiment.forced(target, [format]))
    return VectorLanes(experiment.measure([format], progress=progress))
