"""Measured gain of narrower number formats: values read from memory per second, by format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from memlab import strings, units
from memlab.measure import memory_bandwidth, timing
from memlab.measure.memory_bandwidth import ReadingByFormat, ReadingSamples
from memlab.pictures.draw.alternatives import LabelledBar, bars
from memlab.pictures.draw.chart import Axis
from memlab.pictures.draw.marks import Fact
from memlab.pictures.draw.page import Page, report
from memlab.pictures.draw.scale import counts_over
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import billions, ratio
from memlab.pictures.values.recordable import Recordable


@dataclass(frozen=True, repr=False)
class MemoryRate(Recordable):
    """Measured number of values read from memory per second, by number format."""

    measured: ReadingByFormat

    @property
    def lines(self) -> list[timing.BenchmarkLine]:
        rates = self.measured.rates
        return [
            timings.rate(rate.format, 8 * rate.nbytes // rate.bits, rate.samples) for rate in rates
        ]

    @property
    def narrow(self) -> ReadingSamples:
        """Reading of the format with the fewest bits."""
        return min(self.measured.rates, key=lambda sample: sample.bits)

    @property
    def wide(self) -> ReadingSamples:
        """Reading of the format with the most bits; the last one of several."""
        return sorted(self.measured.rates, key=lambda sample: sample.bits)[-1]

    @property
    def title(self) -> str:
        size, processor = units.short(self.measured.nbytes), self.measured.machine.processor
        key = "lanes.memory.title_cached" if self.measured.cached else "lanes.memory.title"
        return strings.get(key, size=size, processor=processor)

    @property
    def sentences(self) -> list[str]:
        """Sentences on the gain of the narrowest format, and on the bytes per second of all
        formats."""
        speeds = [rate.bandwidth for rate in self.measured.rates]
        narrow, wide = self.narrow, self.wide
        if len(speeds) == 1:
            rate = billions(speeds[0])
            return [strings.get("lanes.memory.one", format=wide.format, rate=rate)]
        more, less = ratio(narrow.values / wide.values), f"{narrow.bits / wide.bits:g}"
        values = {"format": narrow.format, "first": wide.format, "less": less, "more": more}
        least, most = billions(min(speeds)), billions(max(speeds))
        return [strings.get("lanes.memory.against", **values),
                strings.get("lanes.memory.head", least=least, most=most)]  # fmt: skip

    @property
    def notes(self) -> list[str]:
        row = self.measured
        known = "lanes.memory.cached" if row.cached else "lanes.memory.caches"
        key = known if row.largest else "lanes.memory.unknown"
        size, cache = units.short(row.nbytes), units.short(row.largest)
        times = ratio(row.nbytes / max(1, row.largest))
        count, clock = len(row.rates[0].samples), strings.get(f"lanes.{row.clock}")
        return [
            strings.get(key, times=times, size=size, cache=cache),
            strings.get("lanes.memory.samples", count=count, clock=clock),
            timings.where(row.machine),
        ]

    def page(self) -> Page:
        row, rows = self.measured, []
        for samples in row.rates:
            values, rate = billions(samples.values), billions(samples.bandwidth)
            label = [(strings.get("lanes.memory.values", values=values), True),
                     (strings.get("lanes.memory.bandwidth", rate=rate), False)]  # fmt: skip
            nbytes = strings.get("lanes.memory.bytes", count=samples.bits // 8)
            fact = Fact(samples.format, nbytes, more=timings.origin(samples.samples, row.machine))
            rows.append(
                LabelledBar(samples.values / 1e9, "measured", label, fact, samples.format, nbytes)
            )
        told_lines = [
            f"{row.name}: {row.below}, {row.label[0][0]}{row.label[1][0]}." for row in rows
        ]
        scale = counts_over(ceil(max(row.value for row in rows)))
        return report(self, bars(rows, scale, 40, axis=Axis(strings.get("lanes.memory.rate")),
                                 told=told_lines, gap=12))  # fmt: skip


def memory_rate(
    formats: Iterable[str] = memory_bandwidth.READ, *, progress: bool = True
) -> MemoryRate:
    """Time how fast values of several formats are read from memory on this machine: about a second.

    Args:
        formats: names of number formats of at least a byte.
        progress: show what is read, where it takes more than a second.

    Returns:
        A still picture; ``print`` shows its text.

    Raises:
        InputError: no such format, or too little free memory.

    >>> view = memlab.views.memory_rate(["fp32"], progress=False)
    >>> [reading.bits for reading in view.measured.rates]
    [32]
    """
    return MemoryRate(memory_bandwidth.measure(formats, progress=progress))
