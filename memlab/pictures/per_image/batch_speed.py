"""Time per image of a linear layer and of a convolution at a batch, as lesson 05 recorded it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from memlab import strings
from memlab.errors import InputError
from memlab.measure import batch_times as experiment
from memlab.measure import recorded_figures
from memlab.measure.batch_times import BatchCurve
from memlab.measure.recorded_figures import RecordedFigures
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.table import Paragraphs, Table
from memlab.pictures.live.setting import Range, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.per_image.curves import BatchShares, curves_of
from memlab.pictures.values.number_text import figure

RECORDING = recorded_figures.FOLDER / "recorded" / "05-maps.json"
"""Times of the measured cell of lesson 05; ``make record ARGS=05`` writes them again."""
STOPS = experiment.BATCHES
EQUAL = 1.05
"""Ratio of two times up to which they count as equal."""
TALL, NAMES = 240, 230
"""Pixels: height of the chart, and the room for the names of the curves."""


@cache
def recording() -> RecordedFigures:
    """Return the recorded times, read once."""
    return recorded_figures.load(RECORDING)


@dataclass(frozen=True)
class BatchSpeed:
    """Times per image of some layers at a batch, compared with those at batch 1.

    Raises:
        InputError: a batch that was not recorded.
    """

    curves: tuple[BatchCurve, ...]
    batch: int
    where: str

    def __post_init__(self) -> None:
        batches = self.curves[0].batches
        if self.batch not in batches:
            known = ", ".join(map(str, batches))
            raise InputError(f"batch {self.batch} was not recorded; try one of {known}.")

    def gain(self, curve: BatchCurve, batch: int = 0) -> float:
        """Return by what factor an image takes less time than at batch 1."""
        return curve.at(1) / curve.at(batch or self.batch)

    @property
    def headline(self) -> str:
        """The finding in a sentence; its stressed part stands between asterisks."""
        if self.batch == 1:
            return text_of("headline.first")
        linear, convolution = (self._speed(curve) for curve in self.curves)
        values = {"linear": linear, "convolution": convolution}
        return text_of("headline.both", batch=self.batch, **values)

    def _speed(self, curve: BatchCurve) -> str:
        """Return the gain of a layer in words: ``'12 times faster'``."""
        gain = self.gain(curve)
        if 1 / EQUAL < gain < EQUAL:
            return text_of("speed.same")
        key = "faster" if gain > 1 else "slower"
        return text_of(f"speed.{key}", ratio=figure(max(gain, 1 / gain), 2))

    @property
    def sentence(self) -> str:
        """A hint what is drawn, and where it was measured."""
        return text_of("see", where=self.where)

    def table(self) -> Table:
        """Return the time per image of each layer, divided by the time at batch 1."""
        heads = [strings.get("per_image.batch"), *(name_of(curve) for curve in self.curves)]
        rows = [
            [str(batch), *(figure(1 / self.gain(curve, batch), 2) for curve in self.curves)]
            for batch in self.curves[0].batches
        ]
        return Table(heads, rows)


def name_of(curve: BatchCurve) -> str:
    """Return the display name of a layer: ``'linear layer'``."""
    return text_of(f"layer.{curve.name}")


def text_of(key: str, /, **values: object) -> str:
    """Return a text of this view."""
    return strings.get(f"batch_speed.{key}", **values)


class TimedBatch(View[BatchSpeed]):
    """Time per image of a linear layer and of a convolution at a batch, as it was recorded.

    >>> view = memlab.views.batch_speed(batch=64)
    >>> linear, convolution = view.rows.curves
    >>> view.rows.gain(linear) > 10 * view.rows.gain(convolution)
    True
    """

    name, made_by = "batch_speed", "batch_speed"
    positional = ("batch",)

    batch = Range(1, STOPS[-1], doc="the mini-batch size, a power of 2 up to 128", default=1,
                  stops=STOPS, code="plain")  # fmt: skip

    def study(self, now: State) -> BatchSpeed:
        recorded = recording()
        machine = recorded.result.machine
        where = text_of("where", processor=machine.processor, date=machine.date)
        curves = experiment.curves(recorded.result.lines)
        return BatchSpeed(tuple(curves), now.batch, where)

    def buttons(self, now: State) -> dict[str, str]:
        return {"copy": "copy"}

    def test_state(self, now: State) -> str:
        return str(now.batch)

    def says(self, scene: PageState) -> str:
        return self.rows_of(scene.now).headline.replace("*", "")

    def compose(self, scene: PageState) -> Page:
        speed = self.rows_of(scene.now)
        runs = [(part, bool(at % 2)) for at, part in enumerate(speed.headline.split("*")) if part]
        blocks = [Paragraphs([runs], 16, gap=3), Paragraphs(speed.sentence, 13), _chart(speed)]
        return Page(text_of("title"), blocks, scene.width, self.says(scene), titled=False)


batch_speed = maker(TimedBatch)


def _chart(speed: BatchSpeed) -> Chart:
    lines = [_line(speed, curve) for curve in speed.curves]
    return curves_of(lines, speed.batch, text_of("axis"), TALL, NAMES, speed.table())


def _line(speed: BatchSpeed, curve: BatchCurve) -> BatchShares:
    shares = {batch: 1 / speed.gain(curve, batch) for batch in curve.batches}
    words = {batch: text_of("point", layer=name_of(curve), batch=batch, share=figure(share, 2))
             for batch, share in shares.items()}  # fmt: skip
    return BatchShares([name_of(curve).capitalize(), text_of(f"size.{curve.name}")], shares, words)
