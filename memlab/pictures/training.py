"""The still views of training in few bits: losses, gradients that vanish, running sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, isfinite, log2

import numpy as np

from memlab import strings, units
from memlab.formats import Format
from memlab.measure import processor, timing
from memlab.pictures import training_values as training
from memlab.pictures.draw import theme
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import Text
from memlab.pictures.draw.marks import CROSS, Fact, Glyph, Mark, Rect, Rule
from memlab.pictures.draw.page import Page, Still, report
from memlab.pictures.draw.scale import Log, Scale, counts, counts_over, ratios_around
from memlab.pictures.draw.table import Beside, Table, Words
from memlab.pictures.draw.text import shortened, wrap
from memlab.pictures.draw.ways import Bar, Names, Way, bars, drawn
from memlab.pictures.training_values import (
    COUNTS,
    Given,
    Gradients,
    Losses,
    Sums,
    Tally,
    Training,
    total,
)
from memlab.pictures.values.number_text import figure, raised, share
from memlab.pictures.values.recordable import Recordable
from memlab.runtime.training import History
from memlab.step.tensor import Role

KEPT = theme.PAINTS[Role.PARAMETER_GRADIENT]
LEAST, PITCH, ROOM = 230, 44, 172
"""The height of the curves, and of the row of a training beside them, at least; the width of a
name there."""
POINTS = 256
"""Of the line of a sum."""
ROWS = 12
"""Of its table."""

# -- losses ---------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class TrainingCurves(Recordable):
    """Losses over the steps, and the test errors at the end."""

    rows: Losses

    @property
    def lines(self) -> list[timing.Line]:
        return [line for way in self.rows.ways for line in _figures(way)]

    @property
    def threads(self) -> int:
        return processor.threads()

    def page(self) -> Page:
        found = self.rows
        up = ratios_around((loss for way in found.ways for _, loss in way.points), figure)
        ways = [_way(way, up) for way in found.ways]
        high = max(LEAST, PITCH * len(ways))
        names = Names(ways, 32, high / len(ways), high / len(ways) / 2)
        broken = [at for way in found.ways if (at := _broken(way, up))]
        steps = [(n, f"{n:,}") for n in counts(found.steps)]
        losses = Chart(
            Scale(1, max(2, found.steps)),
            up,
            [*drawn(ways), *map(_cross, broken), names],
            high,
            Axis(_head("steps"), grid=False, ticks=steps),
            Axis(_head("loss")),
            left=52,
            right=222,
        )
        order = [found.ways[index] for index in names.order]
        return report(
            found,
            Words(found.broken, drawn=False),
            Beside([(losses, 610), (_errors(order, high), 190)], gap=8),
            _trainings(found),
            Words([_say("curves.each"), *_each(found, "each_error")], drawn=False, gap=1),
            Words([_say("curves.steps"), *_each(found, "step")], drawn=False, gap=1),
            size=14,
        )


def _figures(way: Training) -> list[timing.Line]:
    """Its errors and losses at the end, the steps without a loss, its peak and its seconds."""
    history = way.history
    found = {
        "test errors": (100 * history.error, "%"),
        "at the end": (way.level, "loss"),
        "without a loss": (len(history.broken), "steps"),
        "planned peak": (history.peak, "B"),
        "time": (history.seconds, "s"),
    }
    return [
        timing.Line(f"{way.name}: {name}", value, unit)
        for name, (value, unit) in found.items()
        if isfinite(value) and (value or unit != "steps")
    ]


def _say(key: str, **values: object) -> str:
    return strings.get(f"training.{key}", **values)


def _head(key: str) -> str:
    return _say(f"curves.head.{key}")


def _each(found: Losses, what: str) -> list[str]:
    """A line of each training."""
    return [f"{way.name}: {getattr(way.history, what)}" for way in found.ways]


def _cross(place: tuple[float, float]) -> Glyph:
    """Where a value was no number."""
    return Glyph(*place, CROSS, "limit", "x")


def _broken(way: Training, up: Log) -> tuple[float, float] | None:
    """Where the loss was no number for the first time."""
    if way.broken is None:
        return None
    step, loss = way.broken
    return step, loss if isfinite(loss) else up.last


def _way(way: Training, up: Log) -> Way:
    """A curve, its name where it ends, and how it ended."""
    broken = _broken(way, up)
    end = max([*way.points[-1:], *([broken] if broken else [])])
    name = [(shortened(way.name, ROOM, 12, bold=True), True)]
    return Way([name, *wrap(way.state, ROOM, 11)], way.points, [Fact(way.name, way.state)], end)


def _errors(ways: list[Training], high: float) -> Chart:
    """The test errors at the end, a bar beside the name of each training."""
    across = counts_over(round(1000 * max(way.history.error for way in ways)), "%", 10)
    rows = []
    for way in ways:
        error = share(way.history.error)
        fact = Fact(way.name, error, more=way.state)
        rows.append(Bar(1000 * way.history.error, "measured", [(error, True)], fact))
    return bars(rows, across, high / len(ways), _head("error"))


def _trainings(found: Losses) -> Table:
    heads = ("name", "batch", "first", "end", "error", "scale", "peak", "time")
    rows = []
    for way in found.ways:
        history, scales = way.history, way.history.scales
        rows.append([
            way.name,
            f"{history.batch:,}",
            figure(history.losses[0]),
            _say("nan") if history.broken else figure(way.level),
            share(history.error),
            f"{scales[0]:,g} → {scales[-1]:,g}" if scales else "–",
            units.exact(history.peak),
            _say("curves.seconds", seconds=history.seconds),
        ])  # fmt: skip
    return Table([_head(key) for key in heads], rows, drawn=False, gap=1)


def training_curves(histories: Mapping[str, History]) -> TrainingCurves:
    """Trainings by their names: ``{"fp32": memlab.train(network, data), ...}``.

    Raises:
        InputError: none, too many, or something else.
    """
    return TrainingCurves(training.losses(histories))


# -- gradients ------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class GradientHistogram(Still):
    """Gradients by their size, and the limits of a format."""

    rows: Gradients

    def page(self) -> Page:
        found = self.rows
        heads = ["", *(found.fate(name) for name in COUNTS)]
        counted = [[t.name, *(f"{t.counts[name]:,}" for name in COUNTS)] for t in found.tallies]
        limits = "; ".join(name for _, name in found.limits)
        said = _say("gradients.limits", format=found.format, limits=limits)
        return report(
            found,
            *(_panel(found, tally) for tally in found.tallies),
            Table(heads, counted, bold=range(len(counted)), wide=True, gap=6),
            Words(said, drawn=False, gap=1),
            *(_powers(tally) for tally in found.tallies),
            size=14,
            bold=len(found.sentences),
        )


def _span(found: Gradients) -> range:
    """The powers of 2 that are shown: those of the gradients and of the limits."""
    powers = [power for tally in found.tallies for power in tally.powers]
    powers += [floor(log2(value)) for value, _ in found.limits]
    return range(min(powers) - 1, max(powers) + 2)


def _panel(found: Gradients, tally: Tally) -> Chart:
    """Bars for the powers: filled where gradients are kept, hollow where they are not."""
    first, last = tally is found.tallies[0], tally is found.tallies[-1]
    span = _span(found)
    across = Scale(span.start, span.stop)
    up = counts_over(max((sum(bar) for t in found.tallies for bar in t.powers.values()), default=1))
    bars = [mark for power in tally.powers for mark in _bar(tally, power)]
    every = next(n for n in (1, 2, 4, 5, 10, 20, 40) if len(span) / n <= 16)
    ticks = [(power, raised(power)) for power in span if power % every == 0]
    note = _say("gradients.axis") if last else ""
    return Chart(
        across,
        up,
        [
            *bars,
            *_limits(found, across, up.last if first else None),
            Text(span.start, up.last, tally.name, 12, dy=-8, bold=True, chip=True),
        ],
        130,
        Axis(note=note, grid=False, labels=last, ticks=ticks),
        Axis(),
        left=62,
        right=8,
        above=24 + 15 * len(found.limits) * first,
        name=tally.name,
    )


def _bar(tally: Tally, power: int) -> list[Mark]:
    kept, lost = tally.powers[power]
    said = f"{_say('gradients.head.kept')} {kept:,}, {_say('gradients.head.lost')} {lost:,}"
    fact = Fact(f"{raised(power)} – {raised(power + 1)}", said)
    left, right = power + 0.02, power + 0.98
    marks: list[Mark] = [Rect(left, right, 0, kept, KEPT, fact=fact)] if kept else []
    if lost:
        marks.append(Rect(left, right, kept, kept + lost, "before thin", fact=fact))
    return marks


def _limits(found: Gradients, across: Scale, top: float | None) -> list[Mark]:
    """Lines at the smallest and the largest values of the format, named above the first panel."""
    marks: list[Mark] = []
    for index, (value, name) in enumerate(found.limits):
        x, dy = log2(value), -24 - 15 * (len(found.limits) - 1 - index)
        above = 24 if top is None else 9 - dy
        marks.append(Rule(x, look="rule", above=above, opacity=0.7))
        if top is not None:
            left = across.at(x) < 0.5
            anchor, dx = ("start", 6) if left else ("end", -6)
            marks.append(Text(x, top, name, 11, anchor, dx, dy))
    return marks


def _powers(tally: Tally) -> Table:
    """How many gradients of each size are kept, in words alone."""
    heads = [_say(f"gradients.head.{head}") for head in ("size", "kept", "lost")]
    counted = tally.powers.items()
    rows = [[raised(power), f"{kept:,}", f"{lost:,}"] for power, (kept, lost) in counted]
    return Table(heads, rows, title=f"{tally.name}:", drawn=False, gap=1)


def gradient_histogram(
    gradients: Given, format: str | Format = "fp16", scale: float = 1.0
) -> GradientHistogram:
    """How many gradients become 0 in a format, and how many do once they are multiplied.

    Args:
        gradients: a run in fp32 with ``keep="gradients"``, or arrays, also by name.
        format: a floating-point format of at most 32 bits.
        scale: of the loss, and so of every gradient; a second panel shows them times that. From
            2^-64 to 2^64.

    Raises:
        InputError: no gradients, NaN or infinity in them, or a value that is not allowed.
    """
    return GradientHistogram(training.gradients(gradients, format, scale))


# -- sums -----------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class RunningSum(Still):
    """Sums of equal values, added in several ways."""

    rows: Sums

    def page(self) -> Page:
        found = self.rows
        sums = np.concatenate([way.sums for way in found.ways])
        most = max(float(np.max(sums, initial=0, where=np.isfinite(sums))), found.exact)
        ways = [_summed(found, way) for way in found.ways]
        broken = [way.end for way, at in zip(ways, found.ways, strict=True) if not isfinite(at.end)]
        values = [(n, f"{n:,}") for n in counts(found.count)]
        chart = Chart(
            Scale(0, found.count),
            counts_over(ceil(most)),
            [*drawn(ways), *map(_cross, broken), Names(ways, 36, PITCH, 12)],
            260,
            Axis(_say("sums.axis"), grid=False, ticks=values),
            Axis(_say("sums.head.sum")),
            left=62,
            right=300,
            told=_ends(found),
            gap=8,
        )
        return report(found, chart, _running(found), size=14, bold=2)


def _summed(found: Sums, way: training.Way) -> Way:
    """Some of its sums, with the first and the last; those that are numbers."""
    numbers = np.unique(np.linspace(1, len(way.sums), POINTS).astype(int)).tolist()
    sums = [(count, float(way.sums[count - 1])) for count in numbers]
    points = [(0, 0.0), *((count, so_far) for count, so_far in sums if isfinite(so_far))]
    said = total(way.end)
    fact = Fact(way.name, said, more=f"{_say('sums.head.off')} {found.off(way)}")
    return Way([way.name, [(said, True)]], points, [fact], points[-1])


def _ends(found: Sums) -> Table:
    heads = [_say(f"sums.head.{head}") for head in ("way", "sum", "off")]
    rows = [[way.name, total(way.end), found.off(way)] for way in found.ways]
    return Table(heads, [*rows, [_say("sums.exact"), total(found.exact), "–"]])


def _running(found: Sums) -> Table:
    """The sums after 1, 2, 4, ... values, in words alone."""
    numbers = [found.count >> shift for shift in range(found.count.bit_length())][:ROWS]
    heads = [_say("sums.head.count"), *(way.name for way in found.ways)]
    rows = [
        [f"{count:,}", *(total(float(way.sums[count - 1])) for way in found.ways)]
        for count in reversed(numbers)
    ]
    return Table(heads, rows, ">", drawn=False, gap=1)


def running_sum(format: str | Format = "fp16", count: int = 4096, value: float = 1.0) -> RunningSum:
    """Add a value many times: one after the other in a format and in one of more bits, and in
    pairs.

    Args:
        format: of the values and of the sums, at most 32 bits.
        count: how many values, at most 65,536.
        value: each of them, above 0.

    Raises:
        InputError: a value that is not allowed.
    """
    return RunningSum(training.sums(format, count, value))
