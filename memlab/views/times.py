"""The still views of time beside bytes: ways to convolve as bars and as a curve, and benchmarks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from memlab import strings, units
from memlab.bench import convolution
from memlab.bench.convolution import RIVAL, Comparison
from memlab.bench.timing import Result, Timing
from memlab.errors import InputError
from memlab.networks.graph import Network
from memlab.studies import figures, timings
from memlab.studies.figures import SECONDS, Study, duration
from memlab.studies.timings import Algorithms, origin
from memlab.views.draw.chart import Axis, Chart
from memlab.views.draw.labels import Label, Text
from memlab.views.draw.marks import Fact, Line, Mark, Points, Rule
from memlab.views.draw.page import Page, Still, report
from memlab.views.draw.scale import (
    TIGHT,
    Log,
    Scale,
    bytes_over,
    powers_around,
    ratios_around,
    seconds_over,
)
from memlab.views.draw.table import Beside, Key, Table, Words
from memlab.views.draw.text import shortened
from memlab.views.draw.ways import Bar, bars

GROUPS = 190
"""Room for their names."""
DROPS = sorted((*range(-8, -290, -14), *range(20, 290, 14)), key=lambda drop: abs(drop + 5))
"""How far below its point a name may stand, in pixels: the nearest first, above before below."""
ALGORITHMS = ("direct", "im2col-batch", "im2col-image", "im2col-tile", "offsets")
LONG = 10
"""Points are drawn from 0 where the longest time is at most so many times the least."""


@dataclass(frozen=True, repr=False)
class AlgorithmTimes(Still):
    """Workspace and time of each algorithm as bars; a notebook shows the picture, ``print`` the
    text."""

    measured: Comparison

    def curve(self) -> TimeAndMemory:
        """The same figures as time against workspace; nothing is measured again."""
        return TimeAndMemory(self.measured)

    def page(self) -> Page:
        found = Algorithms(self.measured)
        return report(
            found, Beside([(_workspaces(found), 58), (_times(found), 42)], gap=10), size=16
        )


@dataclass(frozen=True, repr=False)
class TimeAndMemory(Still):
    """Time against workspace; a notebook shows the picture, ``print`` the text."""

    measured: Comparison

    def page(self) -> Page:
        found = Algorithms(self.measured)
        caches = [f"{', '.join(found.caches)}."] if found.caches else []
        along, names = Words(found.along, gap=8), Words(caches, drawn=False)
        return report(found, _curve(found), along, names, size=14)


def _table(found: Algorithms) -> Table:
    """A line for every way, in the order that was asked for."""
    heads = [strings.get(f"speed.{key}") for key in ("algorithm", "workspace", "time", "against")]
    rows = [
        [
            found.name(each),
            timings.workspace(each),
            duration(each.seconds),
            f"{found.against(each)} x",
            timings.way(each),
        ]
        for each in found.measured.timings
    ]
    return Table([*heads, ""], rows, "<>>><")


def _fact(found: Algorithms, each: Timing) -> Fact:
    """A time, also by the least, and where it was measured."""
    said = f"{duration(each.seconds)}, {found.against(each)} ×"
    return Fact(found.name(each), said, more=origin(each.samples, found.measured.machine))


def algorithm_times(
    network: str | Network = "vgg16",
    layer: str = "conv3_2",
    batch: int = 1,
    algorithms: Iterable[str] = ALGORITHMS,
    threads: int = 1,
    *,
    progress: bool = True,
) -> AlgorithmTimes:
    """Time the forward of one convolution with several algorithms, here and now.

    It takes some seconds, and longer for large layers. PyTorch takes part where it is installed.

    Args:
        network: a name of ``memlab.zoo``, or a network of yours.
        layer: the name of one of its convolutions.
        batch: the mini-batch size.
        algorithms: names of algorithms, in the order in which they are shown.
        threads: of each algorithm, BLAS and PyTorch; on one thread, processor time is taken.
        progress: show what is timed, where it takes more than a second.

    Raises:
        InputError: a value that is not allowed, or more bytes than are free.
    """
    case = convolution.find(network, layer)
    return AlgorithmTimes(convolution.measure(case, batch, algorithms, threads, progress=progress))


# -- bars -----------------------------------------------------------------------------------------


def _workspaces(found: Algorithms) -> Chart:
    """The planned bytes, with the name of each way and what it does."""
    title, rows = strings.get("speed.workspace"), []
    for each in found.measured.timings:
        name, label = found.name(each), [(timings.workspace(each), each.workspace is not None)]
        fact = Fact(f"{name}, {title}", nbytes=each.workspace)
        rows.append(Bar(each.workspace or 0, "planned", label, fact, name, timings.way(each)))
    return bars(rows, bytes_over(round(max(row.value for row in rows)), TIGHT), 40, title,
                told=_table(found))  # fmt: skip


def _times(found: Algorithms) -> Chart:
    """The measured times, each also by the least."""
    rows = []
    for each in found.measured.timings:
        label = [(duration(each.seconds), True), (f"  {found.against(each)} ×", False)]
        rows.append(Bar(each.seconds, "measured", label, _fact(found, each)))
    foot = Axis(note=strings.get("speed.times"), rule=False)
    scale = seconds_over(row.value for row in rows)
    return bars(rows, scale, 40, strings.get("speed.time"), axis=foot)


# -- the curve ------------------------------------------------------------------------------------


def _curve(found: Algorithms) -> Chart:
    """Time against workspace: a point for each way, joined from the whole batch to no copy."""
    across = _decades(each.workspace or 0 for each in found.own)
    up = _heights([each.seconds for each in found.measured.timings])
    ratios = isinstance(up, Log)
    marks = [*_caches(found, across, up), *_rivals(found, across), *_points(found, across)]
    note = strings.get("speed.curve.ratios") if ratios else ""
    return Chart(
        across,
        up,
        marks,
        290,
        Axis(strings.get("speed.workspace"), strings.get("speed.decades")),
        Axis(strings.get("speed.time"), note),
        left=60,
        above=12,
        told=_table(found),
        gap=8,
    )


def _caches(found: Algorithms, across: Log, up: Scale) -> list[Mark]:
    """The sizes of this processor's caches, as lines down to the axis."""
    marks: list[Mark] = []
    for name, size in found.caches.items():
        if across.marked and across.marked[-1] > size > across.first:
            places = [(size, up.last, *place) for place in (("middle", 0, -9), ("end", -4, -9))]
            marks += [
                Rule(size, look="before thin", above=4, crossed=True),
                Label(name, places, 11),
            ]
    return marks


def _points(found: Algorithms, across: Log) -> list[Mark]:
    """A dot for each that is joined, a hollow one for each that is not; names where it is free."""
    joined = found.joined
    marks: list[Mark] = []
    if len(joined) > 1:
        places = [(_amount(across, each), each.seconds) for each in joined]
        marks.append(Line(places, width=1.8))
    for each in found.own:
        place, time = (_amount(across, each), each.seconds), duration(each.seconds)
        figures = f" {timings.workspace(each)}, {time}"
        near = [(*place, *side, dy) for dy in DROPS for side in (("start", 9), ("end", -9))]
        name = Label([(each.name, True), (figures, False)], near, chip=True, apart=2, leader=21)
        look = "dot" if each in joined else "hollow"
        marks += [Points([place], look, 10, _fact(found, each)), name]
    return marks


def _rivals(found: Algorithms, across: Log) -> list[Mark]:
    """A rival's time is a line across: nobody planned its workspace."""
    marks: list[Mark] = []
    for each in found.rivals:
        ends = [across.last * (across.first / across.last) ** (part / 8) for part in range(7)]
        places = [(x, each.seconds, "end", -2, dy) for dy in (-6, 15) for x in ends]
        name = f"{found.name(each)}: {duration(each.seconds)}"
        label = Label(name, places, 11, chip=True, kept=True, apart=2)
        marks += [Rule(y=each.seconds, look="before", fact=_fact(found, each)), label]
    return marks


def _decades(sizes: Iterable[int]) -> Log:
    """The powers of 10 around some bytes, each as far from the one before; the least amount that is
    not 0 has a length, and 0 B, where it is among them, has a place of its own before them."""
    found = list(sizes)
    some = [size for size in found if size] or [1]
    first, last = len(str(min(some))) - 1, len(str(max(some) - 1))
    first = max(first - (10**first == min(some)), 0)
    powers = [10.0**power for power in range(first, max(last, first + 1) + 1)]
    nothing = [powers[0] / 4] if 0 in found else []

    def label(value: float) -> str:
        unit = next((u for u in reversed(units.DECIMAL) if value >= units.DECIMAL[u]), "B")
        return "0 B" if value in nothing else units.in_unit(round(value), unit, 0)

    return Log(powers[0] / (8 if nothing else 1), powers[-1], 10, label, (*nothing, *powers))


def _amount(across: Log, each: Timing) -> float:
    """Where its workspace stands."""
    return each.workspace or across.values[0]


def _heights(seconds: list[float]) -> Scale:
    """An axis that holds every time: from 0, or of ratios where they are far apart."""
    if max(seconds) <= LONG * min(seconds):
        return seconds_over(seconds)
    return ratios_around(seconds, _round)


def _round(seconds: float) -> str:
    """``'20 ms'``."""
    unit = next(unit for unit, size in SECONDS.items() if seconds >= 0.9995 * size)
    return f"{seconds / SECONDS[unit]:g} {unit}"


# -- benchmarks -----------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A way of a group, with the number and the name of that, and its ratio."""

    row: int
    group: str
    timing: Timing
    ratio: float


@dataclass(frozen=True, repr=False)
class BenchmarkTimes(Still, Study):
    """The groups of a benchmark: every time divided by PyTorch's where it took part everywhere,
    else by the least of its group; and the workspace beside it.

    Raises:
        InputError: a result without groups of timings.
    """

    result: Result

    def __post_init__(self) -> None:
        name = self.result.benchmark
        if not self.result.groups:
            raise InputError(f"{name} has no plot; leave it out, or try convolution.")

    @property
    def title(self) -> str:
        return strings.get("speed.plot.title", name=self.result.benchmark)

    @cached_property
    def rival(self) -> str:
        """The name of what the times are divided by; empty for the least."""
        names = [{each.name for each in group.timings} for group in self.result.groups]
        return RIVAL if all(RIVAL in each for each in names) else ""

    @property
    def against(self) -> str:
        """By what the times are divided, for people."""
        known = (
            timings.rival(self.result.machine) if self.rival else strings.get("speed.plot.least")
        )
        return strings.get("speed.plot.ratio", against=known)

    @cached_property
    def entries(self) -> list[Entry]:
        """Every way of every group but the rival."""
        found = []
        for row, group in enumerate(self.result.groups):
            times = {each.name: each.seconds for each in group.timings}
            under = times[self.rival] if self.rival else min(times.values())
            others = (each for each in group.timings if each.name != self.rival)
            found += [Entry(row, group.name, each, each.seconds / under) for each in others]
        return found

    @cached_property
    def ways(self) -> list[str]:
        """The names of all ways, each once."""
        return list(dict.fromkeys(entry.timing.name for entry in self.entries))

    @property
    def sentences(self) -> list[str]:
        """The figures that have an aim."""
        return [" ".join(str(line).split()) for line in self.result.lines if line.aim is not None]

    @property
    def notes(self) -> list[str]:
        notes = [f"{line.name}." for line in self.result.lines if not line.unit]
        return [*notes, timings.where(self.result.machine)]

    def page(self) -> Page:
        ratios, sizes = _ratios(self), _bytes(self)
        both = Beside([(ratios, 66), (sizes, 34)], gap=16) if sizes else replace(ratios, gap=16)
        key = Key(list(enumerate(self.ways)), gap=4)
        return report(self, key, both, size=12, bold=0)


def _ratios(found: BenchmarkTimes) -> Chart:
    """Each time by PyTorch's, or by the least of its group, below the name of that."""
    across = powers_around([*(entry.ratio for entry in found.entries), 0.5, 2])
    places = [(entry, entry.ratio) for entry in found.entries]
    chart = _dots(found, across, places, found.against, strings.get("speed.plot.doublings"))
    names: list[Mark] = [Rule(1, look="rule")]
    for row, group in enumerate(found.result.groups):
        name = shortened(group.name, GROUPS - 10, 12, bold=True)
        names.append(Text(across.first, row + 0.5, name, 12, dx=-GROUPS, dy=4, bold=True))
    heads = ["", strings.get("speed.algorithm"), strings.get("speed.workspace"), found.against]
    rows = [
        [e.group, e.timing.name, timings.workspace(e.timing), figures.ratio(e.ratio)]
        for e in found.entries
    ]
    told = Table(heads, rows, "<<>>")
    return replace(chart, marks=[*names, *chart.marks], left=GROUPS, told=told)


def _bytes(found: BenchmarkTimes) -> Chart | None:
    """Planned workspaces, at the same heights."""
    planned = [entry for entry in found.entries if entry.timing.workspace is not None]
    if not planned:
        return None
    across = _decades(entry.timing.workspace or 0 for entry in planned)
    places = [(entry, _amount(across, entry.timing)) for entry in planned]
    title, note = strings.get("speed.workspace"), strings.get("speed.decades")
    return _dots(found, across, places, title, note)


def _dots(
    found: BenchmarkTimes, across: Scale, places: list[tuple[Entry, float]], title: str, note: str
) -> Chart:
    """A mark for each way at its own height, one group below the other."""
    count, ways = len(found.result.groups), found.ways
    marks: list[Mark] = [Rule(y=row, look="grid", below=GROUPS) for row in range(count)]
    for (row, group, each, ratio), x in places:
        look = ways.index(each.name)
        said = f"{figures.ratio(ratio)} ×, {timings.workspace(each)}"
        more = origin(each.samples, found.result.machine)
        place = x, row + 0.1 + 0.8 * (look + 0.5) / len(ways)
        marks.append(Points([place], look, fact=Fact(f"{group}, {each.name}", said, more=more)))
    head = Axis(title, side="right", grid=False, labels=False)
    high, foot = (7 * len(ways) + 16) * count, Axis(note=note, rule=False)
    return Chart(across, Scale(count, 0), marks, high, foot, head, left=0, right=20)
