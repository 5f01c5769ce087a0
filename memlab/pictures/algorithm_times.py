"""The still views of time beside bytes: ways to convolve as bars and as a curve, and benchmarks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from memlab import strings, units
from memlab.errors import InputError
from memlab.measure import convolution, timing
from memlab.measure.convolution import RIVAL, Comparison
from memlab.measure.timing import Group, Machine, Result, Timing
from memlab.networks.graph import Network
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import Label
from memlab.pictures.draw.marks import Fact, Line, Mark, Points, Rule
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.scale import TIGHT, Log, Scale, bytes_over, ratios_around, seconds_over
from memlab.pictures.draw.table import Beside, Block, Table, Words
from memlab.pictures.draw.ways import Bar, bars
from memlab.pictures.values import timings
from memlab.pictures.values.number_text import SECONDS, duration, ratio
from memlab.pictures.values.recordable import Recordable
from memlab.pictures.values.study import Study
from memlab.pictures.values.timings import Algorithms, origin

PITCH = 40
"""From bar to bar."""
DROPS = sorted((*range(-8, -290, -14), *range(20, 290, 14)), key=lambda drop: abs(drop + 5))
"""How far below its point a name may stand, in pixels: the nearest first, above before below."""
ALGORITHMS = ("direct", "im2col-batch", "im2col-image", "im2col-tile", "offsets")
LONG = 10
"""Points are drawn from 0 where the longest time is at most so many times the least."""


@dataclass(frozen=True, repr=False)
class _OfAlgorithms(Recordable):
    """What a picture of measured algorithms records."""

    measured: Comparison

    @property
    def lines(self) -> list[timing.Line]:
        return convolution.lines(self.measured)

    @property
    def threads(self) -> int:
        return self.measured.threads


@dataclass(frozen=True, repr=False)
class AlgorithmTimes(_OfAlgorithms):
    """Workspace and time of each algorithm as bars; a notebook shows the picture, ``print`` the
    text."""

    def curve(self) -> TimeAndMemory:
        """The same figures as time against workspace; nothing is measured again."""
        return TimeAndMemory(self.measured)

    def page(self) -> Page:
        found = Algorithms(self.measured)
        rows = [Row(found.name(each), each, each.seconds / found.fastest.seconds)
                for each in self.measured.timings]  # fmt: skip
        note = strings.get("speed.times")
        return report(found, _bars(rows, self.measured.machine, note, _table(found)), size=16)


@dataclass(frozen=True, repr=False)
class TimeAndMemory(_OfAlgorithms):
    """Time against workspace; a notebook shows the picture, ``print`` the text."""

    def page(self) -> Page:
        found = Algorithms(self.measured)
        caches = [f"{', '.join(found.caches)}."] if found.caches else []
        along, names = Words(found.along, gap=8), Words(caches, drawn=False)
        return report(found, _curve(found), along, names, size=14)


def _table(found: Algorithms) -> Table:
    """A line for every way, in the order that was asked for."""
    keys = "algorithm", "workspace", "time", "against"
    heads = [timings.said(key) if key == "time" else strings.get(f"speed.{key}") for key in keys]
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


class Row(NamedTuple):
    """A way to convolve by its name, its time, and that time by another one."""

    name: str
    timing: Timing
    ratio: float


def _bars(rows: list[Row], machine: Machine, note: str, told: Table) -> Block:
    """Planned bytes with the name of each way and what it does, and beside them the times."""
    sizes, times, title = [], [], strings.get("speed.workspace")
    for name, each, by in rows:
        planned = [(timings.workspace(each), each.workspace is not None)]
        fact = Fact(f"{name}, {title}", nbytes=each.workspace)
        sizes.append(Bar(each.workspace or 0, "planned", planned, fact, name, timings.way(each)))
        said = duration(each.seconds), f"{ratio(by)} ×"
        fact = Fact(name, ", ".join(said), more=origin(each.samples, machine))
        times.append(
            Bar(each.seconds, "measured", [(said[0], True), (f"  {said[1]}", False)], fact)
        )
    across = bytes_over(round(max(bar.value for bar in sizes)), TIGHT)
    seconds, foot = seconds_over(bar.value for bar in times), Axis(note=note, rule=False)
    left = bars(sizes, across, PITCH, title, told=told)
    right = bars(times, seconds, PITCH, timings.said("time"), axis=foot)
    return Beside([(left, 58), (right, 42)], gap=10)


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
        Axis(timings.said("time"), note),
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
                Rule(size, look="rule faint", above=4, crossed=True),
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
        marks += [Rule(y=each.seconds, look="rule faint", fact=_fact(found, each)), label]
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


@dataclass(frozen=True, repr=False)
class BenchmarkTimes(Still, Study):
    """The groups of a benchmark, each as ``AlgorithmTimes`` shows one: every time also by PyTorch's
    where that took part, else by the least of its group.

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

    @property
    def sentences(self) -> list[str]:
        """The figures that have an aim."""
        return [" ".join(str(line).split()) for line in self.result.lines if line.aim is not None]

    @property
    def notes(self) -> list[str]:
        notes = [f"{line.name}." for line in self.result.lines if not line.unit]
        return [*notes, timings.where(self.result.machine)]

    def page(self) -> Page:
        blocks: list[Block] = []
        for group in self.result.groups:
            blocks += [Words(group.name, 13, bold=True, gap=16), self._bars(group)]
        return report(self, *blocks, size=12, bold=0)

    def _bars(self, group: Group) -> Block:
        rows, against = rows_of(group, self.result.machine)
        heads = [strings.get(f"speed.{key}") for key in ("algorithm", "workspace")]
        heads.append(timings.said("time"))
        cells = [[name, timings.workspace(each), duration(each.seconds), ratio(by)]
                 for name, each, by in rows]  # fmt: skip
        told = Table([*heads, against], cells)
        return _bars(rows, self.result.machine, f"×: {against}", told)


def rows_of(group: Group, machine: Machine) -> tuple[list[Row], str]:
    """The ways of a group, and what their times are divided by, for people."""
    known = {RIVAL: timings.rival(machine)}
    times = {each.name: each.seconds for each in group.timings}
    under = times.get(RIVAL) or min(times.values())
    named = known[RIVAL] if RIVAL in times else strings.get("speed.plot.least")
    rows = [Row(known.get(each.name, each.name), each, each.seconds / under)
            for each in group.timings]  # fmt: skip
    return rows, strings.get("speed.plot.ratio", against=named)
