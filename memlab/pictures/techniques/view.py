"""View of recompute schedules in three stops: bytes to the right, time upwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from memlab import units
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText, Label
from memlab.pictures.draw.marks import UP, Fact, Glyph, Line, Mark, Path, Pen, Points, Rule
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import TIGHT, LinearScale, Scale, Tick, bytes_over
from memlab.pictures.draw.svg import Box
from memlab.pictures.draw.table import Key, PageBlock, Paragraphs, Table
from memlab.pictures.draw.theme import FREE, PAINTS
from memlab.pictures.live.setting import Checkbox, NumberBox, Range, Select, State, never
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.mountain.picture import DrawnLayer, Mountain
from memlab.pictures.recompute import FLOOR, PAINT, Schedules, Wave, of_subjects, schedules, stops
from memlab.pictures.recompute import text_of as waves
from memlab.pictures.techniques.compare import RAN, SHORT, TechniqueStudy, compare_techniques
from memlab.pictures.techniques.frontier import CHEAP, EVERY, LINE, STOPS, Frontier, text_of
from memlab.pictures.techniques.plane import Place, percent_ticks, staircase
from memlab.pictures.values.number_text import three_digits
from memlab.step.tensor import Role

TALL, NARROW, SIDE = 300, 760, 236
"""Pixels: height of the chart, width of a page from which it has a side, width of the side."""
SMALL, LARGE = (78, 36), (210, 96)
"""Pixels of a mountain beside its point, and of the one at the side."""
AROUND = (
    (0, -34), (0, 34), (70, -30), (-70, -30), (70, 30), (-70, 30), (0, -62), (0, 66), (95, -50),
    (-95, -50), (95, 50), (-95, 50), (120, -70), (-120, -70), (0, 100), (0, -100),
    (50, -72), (-50, -72), (30, -88), (60, -96), (-30, -88), (-60, -96), (0, -130), (80, -130),
)  # fmt: skip
"""Places for the middle of a mountain, in pixels from its point."""
UPPER, SQUARE, DIAMOND = UP.replace("8l", "4l"), "M-4.5-4.5h9v9h-9Z", "M0-6L6 0L0 6L-6 0Z"
SHOWN = ("plain", "every", "cheap", "within", "chain")
"""Techniques that the three stops show."""
GUESSES = {"all": (1, 1), "more": (0.55, 1), "half": (0.45, 0.55), "less": (0, 0.45)}
"""Guesses of the lesson's card at the price of half of the saving, as parts of the price of
all of it."""


class Techniques(View[Frontier]):
    """Recompute by bytes and time: every k-th stage kept, cheap maps dropped, and the best line.

    >>> view = memlab.views.techniques("resnet50", batch=32)
    >>> view.rows.all.plain.peak, view.rows.all.best.peak
    (2942651620, 1299991780)
    """

    name, made_by, widest = "frontier", "techniques", 960
    positional = ("network", "batch")
    picture_keys = ("Digit1", "Digit2", "Digit3")

    network = of_subjects(fixed=True)
    batch = NumberBox(
        doc="the mini-batch size",
        default=32,
        place="more",
        code="always",
        brief=lambda now: text_of("batch", batch=f"{now.batch:,}"),
    )
    stop = Select(
        STOPS,
        doc="1: every k-th stage kept; 2: cheap beside it; 3: the line of the best schedules",
    )
    budget = Range(
        doc="the most bytes of the peak, or ``'2 GB'``, for a point on the line of the third stop",
        default=None,
        check=units.parse,
        stops=lambda now: stops(schedules(now.network, now.batch)),
        at=lambda now: Frontier(schedules(now.network, now.batch), LINE).middle,
        follows=["batch", "stop"],
        when=lambda now: now.stop == LINE,
    )
    measure = Checkbox(
        doc="also run every technique on this machine, and list what the runs used",
        fixed=True,
        when=never,
    )
    guess = Select(
        tuple(GUESSES),
        doc='a guess at the part of the added time that half of the saving takes: ``"all"``, '
        '``"more"`` than half of it, ``"half"`` or ``"less"``',
        default="",
        stays=True,
        when=never,
        code="never",
    )
    others = Checkbox(
        doc="list the other techniques too: in place, placed, all of them together",
        default=lambda now: now.measure,
        when=never,
    )
    numbers = Checkbox(doc="whether every point is listed", argument=False, stays=True, key="KeyN")

    @property
    def peak(self) -> int:
        """Bytes of the peak of the schedule that is marked: the chosen one, or the best of its
        stop."""
        return self._marked(self.state).peak

    def _marked(self, now: State) -> Wave:
        frontier = self.rows_of(now)
        return frontier.ringed or frontier.all.best

    def reconcile(self, new: State, was: State | None) -> State:
        """Move to the third stop where a budget is given."""
        return new.replace(stop=LINE) if new.budget is not None else new

    def study(self, now: State) -> Frontier:
        frontier = Frontier(schedules(now.network, now.batch), now.stop, now.budget)
        if not now.others:
            return frontier
        step, budget = now.network.step, now.budget
        all_ = compare_techniques(step, now.batch, budget, now.measure, progress=False)
        return Frontier(frontier.all, now.stop, budget, all_)

    def outline_key(self, now: State) -> object:
        return now.replace(numbers=False)

    def buttons(self, now: State) -> dict[str, str]:
        others = {} if now.only else {"all": "fewer" if now.others else "others"}
        return others | {"start": "start", "copy": "copy"}

    def on_action(self, now: State, name: str, value: object) -> State | None:
        if name == "all":
            return self.changed(now, others=not now.others)
        if name == "key" and str(value).startswith("Digit"):
            return self.changed(now, stop=int(str(value)[-1]))
        return None

    def test_state(self, now: State) -> str:
        wave = self._marked(now)
        return "|".join(map(str, (now.stop, now.budget, wave.peak, wave.cost)))

    def first_slider(self, now: State) -> int:
        return super().first_slider(now) if now.stop == LINE else now.stop

    def says(self, scene: PageState) -> str:
        frontier = self.rows_of(scene.now)
        return f"{frontier.all.subject}. {frontier.title}."

    def compose(self, scene: PageState) -> Page:
        frontier, listed = self.rows_of(scene.now), scene.now.numbers
        heads, *rows = frontier.rows()
        chart = FrontierChart(frontier, scene.width >= NARROW, scene.now.guess)
        blocks: list[PageBlock] = [
            Paragraphs(frontier.title, 20, bold=True, gap=3),
            Paragraphs(frontier.sentences, 13),
            chart.points(),
            *chart.halves(),
            Key([(paint, waves(name)) for name, paint in SHADES.items()], gap=6),
            Paragraphs(chart.guessed, drawn=False),
            Paragraphs(frontier.notes, 11, dim=True, drawn=listed, gap=8),
            Table(heads, rows, "<>><", drawn=listed, gap=8),
            *_all(frontier.others),
        ]
        return Page(frontier.title, blocks, scene.width, self.says(scene), titled=False)


techniques = maker(Techniques)


def _all(study: TechniqueStudy | None) -> Iterator[PageBlock]:
    """Yield the table of all techniques, with exact figures in words; nothing
    without a comparison."""
    if study is None:
        return
    yield Paragraphs(study.headline, 13, bold=True, gap=12)
    for keys in (SHORT, RAN) if study.measured else (SHORT,):
        heads, *rows = study.cells("technique", *keys)
        facts = [Fact(study.name(row), more=f"{study.about(row)}: {row.call}")
                 for row in study.rows]  # fmt: skip
        yield Table(heads, rows, "<" + ">" * (len(keys) - 1) + "<", lead=True, facts=facts, gap=8)
    for lines in (study.table(), study.distances(), study.calls()):
        yield Paragraphs(lines, drawn=False, gap=1)
    yield Paragraphs(study.notes(), 11, dim=True, gap=10)


# -- the chart ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FrontierChart:
    """Chart of the points of a frontier, and of its line.

    ``wide`` is True where the page has room for a mountain at the side; ``guess`` is the learner's
    guess, or empty.
    """

    frontier: Frontier
    wide: bool
    guess: str

    @cached_property
    def x(self) -> LinearScale:
        """Scale of bytes from 0, equal for every stop."""
        return bytes_over(self.frontier.all.plain.peak, TIGHT)

    @cached_property
    def ticks(self) -> list[Tick]:
        """Ticks of the axis of time: round percents from 0, the last one above everything drawn."""
        waves = [*self.frontier.all.every.values()]
        waves += self.frontier.all.frontier[:1] if self.frontier.stop == LINE else ()
        return percent_ticks(max(1.0, *map(self.frontier.extra, waves)))

    @property
    def top(self) -> float:
        """End of the axis of time, in percent."""
        return self.ticks[-1][0]

    def place(self, wave: Wave) -> Place:
        """Return the point of a schedule: peak in bytes, extra time in percent."""
        return wave.peak, self.frontier.extra(wave)

    def points(self) -> Chart:
        """Return the chart of bytes against time."""
        marks = [*self._line(), *self._dots(), *self._mountains(), *self._others(), *self._side()]
        return Chart(
            self.x, Scale(0, self.top), marks, TALL, Axis(text_of("bytes"), grid=False),
            Axis(text_of("time"), ticks=self.ticks), left=56, right=SIDE if self.wide else 40,
            gap=8,
        )  # fmt: skip

    # -- every k-th

    def _dots(self) -> Iterator[Mark]:
        """Yield marks for a dot for every k; the one of the least peak is larger and hollow."""
        best = self.frontier.all.best
        for k, wave in self.frontier.all.every.items():
            fact = self._fact(text_of("k", k=k), wave)
            look, size = ("hollow", 10) if wave is best else ("dot", 6.5)
            yield Points([self.place(wave)], look, size, fact=fact)

    def _fact(self, name: str, wave: Wave) -> Fact:
        """Return the fact of a schedule: name, peak, extra time."""
        return Fact(
            name, nbytes=wave.peak, more=text_of("more", percent=self.frontier.percent(wave, 1))
        )

    # -- names and mountains

    def _mountains(self) -> Iterator[Mark]:
        """Yield marks for the named schedules of this stop, each with its mountain."""
        frontier, all_ = self.frontier, self.frontier.all
        if frontier.stop == LINE:
            yield from self._ends()
        yield self._mountain(
            text_of("plain"), all_.plain, SQUARE, ((62, -34), (-60, -34), (-60, -60))
        )
        if frontier.stop == EVERY:
            kinds = {all_.best.k: text_of("k_least", k=all_.best.k)}
            for wave in (
                (all_.every[all_.rule], frontier.fastest) if all_.rule in all_.every else ()
            ):
                kinds.setdefault(wave.k, text_of("k", k=wave.k))
            for k, name in kinds.items():
                yield self._mountain(name, all_.every[k])
        else:
            best = self.place(all_.best)
            places = [(*best, "end", -9.0, 4.0), (*best, "middle", 0.0, -10.0),
                      (*best, "start", 34.0, -22.0)]  # fmt: skip
            name = text_of("every" if frontier.chosen else "every_k", k=all_.best.k)
            yield Label(name, places, 12, chip=True)
        if frontier.stop >= CHEAP:
            name = text_of("cheap_line" if frontier.stop == LINE and self.wide else "cheap")
            yield self._mountain(name, frontier.cheap, DIAMOND)

    def _mountain(
        self, name: str, wave: Wave, glyph: str = "", around: Sequence[Place] = AROUND
    ) -> Mark:
        """Return the thumbnail of a schedule beside its point, or its name alone where the best
        schedules are drawn: there is no room for small pictures then."""
        fact = self._fact(name, wave)
        around = () if self.frontier.stop == LINE else around
        return Thumbnail(wave, self.frontier.all, self.place(wave), name, glyph, around, fact=fact)

    # -- the line

    def _corners(self, *others: Wave) -> list[Place]:
        """Return the corners of the line, a staircase: with at most so many bytes, no less time.
        With others it also passes below these."""
        waves = (*self.frontier.all.frontier, *others)
        return staircase(self.place(wave) for wave in waves)

    def _line(self) -> Iterator[Mark]:
        """Yield marks for the line, and the area below it and below the cheap schedule, where no
        schedule lies."""
        if self.frontier.stop < LINE:
            return
        corners, below = self._corners(), self._corners(self.frontier.cheap)
        left, right = below[0][0], below[-1][0]
        yield Path([(0, 0), (0, self.top), (left, self.top), *below, (right, 0)], FREE)
        for index, line in enumerate(text_of("nobody").split("\n")):
            yield ChartText(left / 2, self.top / 3, line, 11, "middle", dy=15 * index, chip=True)
        if len(corners) > 1:
            yield Line(corners, width=2.6)

    def _ends(self) -> Iterator[Mark]:
        """Yield marks for the schedules of half the saving and of all of it, with the guess
        and the budget."""
        frontier = self.frontier
        if frontier.least.peak == frontier.all.plain.peak:
            return
        # where both are one schedule, it is drawn as the least
        named = {frontier.half: AROUND[1:], frontier.least: ((-70, 20), (-70, 50))}
        for wave, around in reversed(named.items()):
            x, y = self.place(wave)
            yield Glyph(x, y, UPPER, marker="^")
            text = text_of("more", percent=frontier.percent(wave, 1))
            places = [(x, y, "start", 9.0, 4.0), (x, y, "start", 9.0, -10.0)]
            yield Label(text, places, 13, bold=True, chip=True, kept=True)
            yield self._mountain("", wave, "", around)
        yield from self._guess()
        if frontier.chosen:
            yield Rule(x=frontier.budget, look="rule", width=1.4, crossed=True)
        if ringed := frontier.ringed:
            fact = self._fact(text_of("within" if frontier.chosen else "half"), ringed)
            yield Points([self.place(ringed)], "ring", 13, fact=fact)

    @property
    def span(self) -> tuple[float, float]:
        """Guessed price of half the saving, from and to, in percent of extra time.

        Without a guess both ends are half of the price of the whole saving.
        """
        low, high = GUESSES.get(self.guess, (0.5, 0.5))
        extra = self.frontier.extra(self.frontier.least)
        return low * extra, high * extra

    def _guess(self) -> Iterator[Mark]:
        """Yield marks for the guess at half of the saving: a triangle at its upper end, and a line
        to its lower end."""
        x, y = float(self.frontier.middle), self.span[1]
        yield Rule(x=x, span=self.span, look="rule", crossed=True)
        yield Glyph(x, y, "M0 5L-5-4H5Z", "hollow pole", marker="v")
        text = text_of("guessed" if self.guess else "guess")
        places = [(x, y, "middle", 0.0, -10.0), (x, y, "end", -9.0, 4.0), (x, y, "start", 9.0, 4.0),
                  *((x, y, "middle", 0.0, dy) for dy in (-24.0, -40.0, -56.0))]  # fmt: skip
        yield Label(text, places, 11, chip=True)

    @property
    def guessed(self) -> str:
        """Sentence on the guess; empty without one, or where its mark is not drawn."""
        if not self.guess or self.frontier.stop < LINE:
            return ""
        ends = dict.fromkeys(f"{end:.1f}" for end in self.span)
        return text_of("twin_guess", price="–".join(ends))

    def halves(self) -> Iterator[Chart]:
        """Yield a chart below the axis that names the two halves of what can be saved."""
        frontier = self.frontier
        if frontier.stop < LINE or frontier.least.peak == frontier.all.plain.peak:
            return
        ends = (frontier.all.plain.peak, frontier.middle, frontier.least.peak)
        names = text_of("half"), text_of("other_half")
        marks: list[Mark] = [Rule(x=at, look="rule", dashes="1.5 3", crossed=True) for at in ends]
        for (right, left), name in zip(pairwise(ends), names, strict=True):
            marks += [
                Rule(y=18, span=(left, right), width=1.4),
                Glyph(left, 18, "M2 0L9-3.5V3.5Z", marker="<"),
                Label(name, [((left + right) / 2, 3, "middle", 0.0, 0.0)], 12, bold=True),
            ]
        yield Chart(self.x, Scale(0, 24), marks, 24, left=56, right=SIDE if self.wide else 40,
                    told=[text_of("bytes")])  # fmt: skip

    # -- beside

    def _others(self) -> Iterator[Mark]:
        """Yield marks for the other techniques as hollow points; one beyond the edge is named
        there."""
        study = self.frontier.others
        rows = [] if study is None else study.rows
        for row in (row for row in rows if row.key not in SHOWN):
            assert study is not None
            name, y = study.name(row), study.extra(row.cost)
            if row.peak > self.x.last:
                text = text_of("beyond", name=name, bytes=three_digits(row.peak))
                yield ChartText(self.x.last, self.top, text, 11, "end", dy=-6)
                continue
            fact = Fact(name, nbytes=row.peak, more=f"{study.time(row)}; {study.distance(row)}")
            yield Points([(row.peak, y)], "hollow", 8, fact=fact)
            places = [(row.peak, y, side, dx, dy) for dy in (4.0, -9.0, 18.0, -24.0, 32.0)
                      for side, dx in (("start", 9.0), ("end", -9.0))]  # fmt: skip
            yield Label(name, places, 11, chip=True)

    def _side(self) -> Iterator[Mark]:
        """Yield words on how to read the chart, and the mountain of one schedule, at the side."""
        if not self.wide:
            return
        x, all_, ringed = self.x.last, self.frontier.all, self.frontier.ringed
        for index, key in enumerate(("left", "down")):
            yield ChartText(x, self.top, text_of(key), 12, dx=22, dy=10 + 17 * index)
        stop = self.frontier.stop
        own = all_.every.get(all_.rule, all_.best) if stop == EVERY else all_.best
        wave = ringed or own
        kept = "large" if wave.k == all_.rule else "large_k"
        key = "within" if self.frontier.chosen else "half" if ringed else kept
        name = text_of(key, k=wave.k)
        yield Thumbnail(wave, all_, (x, self.top), name, "", ((22 + LARGE[0] / 2, 110),), LARGE,
                       lead=False)  # fmt: skip
        for index, line in enumerate(_halved(text_of("each_one" if stop == LINE else "each"))):
            yield ChartText(x, self.top, line, 12, dx=22, dy=190 + 17 * index)


def _halved(sentence: str) -> tuple[str, str]:
    """Return a sentence on two lines of about as many words."""
    words = sentence.split()
    middle = len(words) // 2
    return " ".join(words[:middle]), " ".join(words[middle:])


# -- mountains ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Thumbnail(Mark):
    """Small mountain of a schedule's bytes over time, with the plain step dashed, beside its point.

    All thumbnails of a step have one scale. The thumbnail stands at the first of the places
    ``around`` that is free, with a line to its point; where none is free its name stands alone.
    """

    wave: Wave
    all: Schedules
    place: Place
    name: str = ""
    glyph: str = ""
    around: Sequence[Place] = AROUND
    size: tuple[int, int] = SMALL
    lead: bool = True
    fact: Fact | None = None
    late: ClassVar[bool] = True

    def draw(self, pen: Pen) -> None:
        x, y = pen.x(self.place[0]), pen.y(self.place[1])
        wide, tall = self.size[0] + 4, self.size[1] + 17 * bool(self.name)
        tries = [Box(x + dx - wide / 2, y + dy - tall / 2, x + dx + wide / 2, y + dy + tall / 2)
                 for dx, dy in self.around]  # fmt: skip
        inside = [box for box in tries if box.left >= 0 and box.right <= pen.svg.width
                  and (not self.lead or pen.box.top - 8 <= box.top)
                  and (not self.lead or box.bottom <= pen.box.bottom - 1)]  # fmt: skip
        box = pen.board.first(inside, 4)
        if box is not None:
            self._draw(pen, box, (x, y))
        elif self.name:
            places = [(*self.place, side, dx, dy) for dy in (-9.0, 4.0, -24.0, -40.0, 18.0, -56.0)
                      for side, dx in (("middle", 0.0), ("end", -9.0), ("start", 9.0))]  # fmt: skip
            Label(self.name, places, 12, bold=True, chip=True).draw(pen)
        if self.glyph:
            pen.svg.path(self.glyph, transform=f"translate({x:.1f} {y:.1f})")

    def _draw(self, pen: Pen, box: Box, point: Place) -> None:
        if self.lead:
            end = min(max(point[0], box.left), box.right), min(max(point[1], box.top), box.bottom)
            pen.svg.line(*point, *end, class_="rule faint")
        pen.svg.rect(box, class_="chip")
        foot = box.top + self.size[1]
        self._mountain(pen, Box(box.left + 2, box.top + 1, box.right - 2, foot))
        if self.name:
            middle = (box.left + box.right) / 2
            pen.svg.text(middle, foot + 13, self.name, 12, "middle", bold=True)

    def _mountain(self, pen: Pen, box: Box) -> None:
        small_mountain(self.wave, self.all, self.size[0] // 2).small(pen.svg, box)
        pen.svg.line(box.left, box.bottom, box.right, box.bottom, class_="rule faint")

    def on(self, axes: Any) -> None:
        axes.annotate(self.name, self.place, (8, 6), textcoords="offset points", fontsize=10)
        if self.lead:
            axes.scatter(*self.place, marker="s", s=18, color="0.3")


def small_mountain(wave: Wave, all_: Schedules, count: int) -> Mountain:
    """Return the mountain of a schedule over ``count`` columns, its floor as one part, the plain
    step dashed."""
    layers, plain = (schedule.layers(all_.longest, count) for schedule in (wave, all_.plain))
    ground = next(layer.high for layer in reversed(layers) if layer.part in FLOOR)
    slices = [DrawnLayer(layers[0].low, ground, SHADES["floor"], edge=0.4)]
    slices += [DrawnLayer(low, high, PAINT[part], edge=0.4) for part, low, high in layers
               if part not in FLOOR]  # fmt: skip
    before = None if wave is all_.plain else plain[-1].high
    return Mountain(slices, all_.plain.peak, before=before, time=True)


SHADES = {
    "floor": PAINTS[Role.PARAMETER], "kept": PAINT["kept"], "made": PAINT["again"],
    "gradients": PAINT["gradient_map"],
}  # fmt: skip
"""Looks of the parts of small mountains, by the names of their texts."""
