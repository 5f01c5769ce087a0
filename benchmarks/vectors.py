"""What a wider vector buys, and a larger batch: the figures of lesson 05, on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memlab import units
from memlab.measure import batch_times, memory_bandwidth, vector_lanes
from memlab.measure.processor import MOST, blas, keep_freed_memory
from memlab.measure.timing import BenchmarkLine, Result, machine
from memlab.measure.vector_lanes import BEYOND, LaneCurve, LaneMeasurement, ratios

LINEAR = 10
"""Per cent: how far from linear up to the width, at most."""


def batch(most: int = MOST, batches: Iterable[int] = batch_times.BATCHES) -> Result:
    """Time a linear layer and a convolution per sample at growing batches, one thread."""
    keep_freed_memory()
    found = batch_times.measure(batches=batches, most=most)
    made = [line for curve in found.curves for line in batch_times.lines(curve)]
    lanes = BenchmarkLine(f"a vector here holds {found.lanes} fp32 values", found.lanes, "")
    return Result("batch", machine(), (*made, lanes, *blas()))


def lanes(repeats: int = vector_lanes.REPEATS) -> Result:
    """Time vectors of 1 to 64 lanes, and reading from memory, by number format."""
    here = vector_lanes.measure(repeats=repeats)
    found = [here]
    if here.feature == "avx512f":
        found.append(vector_lanes.forced("avx2", repeats=repeats))
    lines = [line for each in found for line in lines_of(each)]
    return Result("lanes", machine(), (*lines, *reading()))


def lines_of(found: LaneMeasurement) -> Iterator[BenchmarkLine]:
    """The figures of one target, beside what is aimed at."""
    where = f"forced {found.target}: " if found.target else ""
    yield BenchmarkLine(
        f"{where}bits in a vector, by {found.feature or 'default'}", found.bits, "bit"
    )
    yield BenchmarkLine(
        f"{where}bits the compiler chose for a plain loop", found.chosen_bits, "bit"
    )
    for curve in found.curves:
        yield from lines_of_curve(curve, f"{where}{curve.format}")
    first = found.curves[0].format
    for name, value in list(ratios(found).items())[1:]:
        yield BenchmarkLine(f"{where}{name} against {first}, operations", value, "x")
    for name in found.missing:
        yield BenchmarkLine(f"{where}{name} is not computed in vectors here", 0, "")


def lines_of_curve(curve: LaneCurve, name: str) -> Iterator[BenchmarkLine]:
    """The first loop of a format, the one at the knee, and what is gained beyond it."""
    first, knee = curve.points[0], curve.knee
    yield BenchmarkLine(f"{name}: {first.lanes} lanes, operations", first.rate / 1e9, "G/s")
    yield BenchmarkLine(f"{name}: {knee.lanes} lanes, operations", knee.rate / 1e9, "G/s")
    yield BenchmarkLine(f"{name}: width, measured", curve.width, "bit")
    yield BenchmarkLine(
        f"{name}: worst deviation from linear, to it", 100 * curve.deviation, "%", LINEAR
    )
    if curve.ends:
        yield BenchmarkLine(f"{name}: largest gain beyond it", 100 * curve.gain, "%", BEYOND)


def reading(repeats: int = memory_bandwidth.REPEATS) -> list[BenchmarkLine]:
    """How many bytes and values a second are read from memory, by number format."""
    found = memory_bandwidth.measure(repeats=repeats)
    size, source = units.short(found.nbytes), "memory and caches" if found.cached else "memory"
    return [
        line
        for each in found.rates
        for line in (
            BenchmarkLine(
                f"{each.format}: read {size} from {source}", each.bandwidth / 1e9, "GB/s"
            ),
            BenchmarkLine(f"{each.format}: values read", each.values / 1e9, "G/s"),
        )
    ]
