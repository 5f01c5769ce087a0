"""Feature maps and gradient maps at the peak of a step, in four ways: nothing is freed, in place
alone, freed after the last reader, and both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from memlab import strings, units
from memlab.assemble.step import inference_step, training_step
from memlab.ledger.plan import plan
from memlab.networks.graph import Network
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Mark, Rect
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.scale import Scale, bytes_over
from memlab.pictures.draw.svg import PHONE
from memlab.pictures.draw.table import Key, Paragraphs, Table
from memlab.pictures.draw.text import emphasized
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.live.setting import ByName, Checkbox, NumberBox, State
from memlab.pictures.live.view import PageState, View, maker
from memlab.pictures.values.network_setting import network_setting
from memlab.pictures.values.number_text import ratio, three_digits
from memlab.pictures.values.step_recipe import network_of
from memlab.pictures.values.study import Study
from memlab.step.step import Step
from memlab.step.tensor import Role
from memlab.techniques.in_place import in_place
from memlab.techniques.no_reuse import no_reuse

NETWORKS = ("resnet50", "resnet18", "vgg16", "googlenet", "gpt_small")
"""Networks of the menu."""
ROLES = (Role.FEATURE_MAP, Role.GRADIENT_MAP)
PITCH, BAR, NAMES, VALUES = 52, 26, 190, 250
"""Pixels: from bar to bar, height of a bar, room for the names and for the texts behind a bar."""
TALL = 84
"""Pixels from bar to bar on a phone, where the texts stand above a bar."""


class WayToReuse(NamedTuple):
    """A way to run a step: the bytes of feature maps and of gradient maps at its peak, and the
    operation of that peak."""

    name: str
    roles: dict[Role, int]
    operation: str

    @property
    def nbytes(self) -> int:
        """Bytes of both."""
        return sum(self.roles.values())

    @property
    def title(self) -> str:
        """Display name."""
        return text_of(f"way.{self.name}")


@dataclass(frozen=True, eq=False)
class FourWays(Study):
    """The maps of one step at a batch: plain, in place, freed, and both."""

    network: Network
    training: bool
    batch: int

    @cached_property
    def ways(self) -> tuple[WayToReuse, ...]:
        """The four ways, the plain one first (A9, D2)."""
        step = _step(self.network, self.training)
        inside = in_place(step)
        steps = {"none": no_reuse(step), "in_place": no_reuse(inside), "freed": step,
                 "both": inside}  # fmt: skip
        return tuple(self._way(*item) for item in steps.items())

    def _way(self, name: str, step: Step) -> WayToReuse:
        ledger = plan(step)
        roles = ledger.roles(self.batch)
        operation = ledger.peak_at(self.batch).row.name
        return WayToReuse(name, {role: roles.get(role, 0) for role in ROLES}, operation)

    def smaller(self, way: WayToReuse) -> Fraction:
        """Return the bytes of the plain way divided by those of another one."""
        return Fraction(self.ways[0].nbytes, way.nbytes)

    def times(self, way: WayToReuse) -> str:
        """Return that ratio as text: ``'3.03'``."""
        return ratio(float(self.smaller(way)))

    @property
    def title(self) -> str:
        _, _, freed, both = self.ways
        return text_of("title", freed=self.times(freed), both=self.times(both))

    @property
    def subject(self) -> str:
        """Network, kind of step and batch in words."""
        kind = strings.get(f"step.{'training' if self.training else 'inference'}")
        return text_of("subject", network=self.network.label, step=kind, batch=f"{self.batch:,}")

    @property
    def sentences(self) -> list[str]:
        return [text_of("see")]

    def rows(self) -> list[list[str]]:
        """Return a table of the ways in exact bytes, its heads in the first row."""
        columns = "way", "maps", "gradients", "both", "smaller", "at"
        rows = [
            [
                way.title,
                *(units.exact(way.roles[role]) for role in ROLES),
                three_digits(way.nbytes),
                f"{self.times(way)} ×",
                way.operation,
            ]
            for way in self.ways
        ]
        return [[text_of(f"head.{column}") for column in columns], *rows]


@lru_cache(maxsize=16)
def _step(network: Network, training: bool) -> Step:
    """Return the step of a network; the last ones are cached."""
    return training_step(network) if training else inference_step(network)


def text_of(key: str, /, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"reuse.{key}", **values)


class ReusedMemory(View[FourWays]):
    """Feature maps and gradient maps at the peak: nothing freed, in place, freed, and both.

    >>> view = memlab.views.reuse("resnet50", batch=32)
    >>> [way.nbytes for way in view.rows.ways] == sorted(
    ...     (way.nbytes for way in view.rows.ways), reverse=True)
    True
    """

    name, made_by = "reuse", "reuse"
    positional = ("network", "batch")

    network = network_setting(
        ByName,
        options=lambda now: {name: network_of(name).title for name in NETWORKS},
        default="resnet50",
    )
    training = Checkbox(doc="a training step; False shows inference", default=True)
    batch = NumberBox(doc="the mini-batch size", default=32, code="always")

    def study(self, now: State) -> FourWays:
        return FourWays(now.network, now.training, now.batch)

    def test_state(self, now: State) -> str:
        ways = self.rows_of(now).ways
        return "|".join([now.network.name, *(str(way.nbytes) for way in ways)])

    def says(self, scene: PageState) -> str:
        ways = self.rows_of(scene.now)
        return f"{ways.subject}. {ways.title.replace('*', '')}."

    def compose(self, scene: PageState) -> Page:
        ways = self.rows_of(scene.now)
        heads, *rows = ways.rows()
        blocks = [
            Paragraphs(ways.subject, 12, dim=True, gap=2),
            Paragraphs([emphasized(ways.title)], 20, gap=3),
            Paragraphs(ways.sentences, 13),
            _chart(ways, phone=scene.width < PHONE),
            Key([(PAINTS[role], strings.get(f"role.{role}.grows")) for role in ROLES], gap=8),
            Table(heads, rows, "<>>>><", drawn=False, gap=1),
        ]
        title = ways.title.replace("*", "")
        return Page(title, blocks, scene.width, self.says(scene), titled=False)


reuse = maker(ReusedMemory)


def _chart(ways: FourWays, phone: bool) -> Chart:
    """Return the chart with a bar for each way; on a phone its words stand above it."""
    scale = bytes_over(ways.ways[0].nbytes)
    marks = [mark for row, way in enumerate(ways.ways) for mark in _bar(ways, way, row, phone)]
    bare = Axis(rule=False, grid=False, labels=False)
    if phone:
        return Chart(scale, Scale(len(ways.ways), 0), marks, TALL * len(ways.ways), bare,
                     left=1, right=8)  # fmt: skip
    return Chart(scale, Scale(len(ways.ways), 0), marks, PITCH * len(ways.ways), bare,
                 left=NAMES, right=VALUES, gap=14)  # fmt: skip


def _bar(ways: FourWays, way: WayToReuse, row: int, phone: bool) -> Iterator[Mark]:
    """Yield the marks of a way: its name, its bar, its bytes and the operation of its peak."""
    start, middle = 0, row + 0.5
    if not phone:
        yield ChartText(0, middle, way.title, 13, "end", dx=-10, dy=4.5, bold=True)
    for role, nbytes in way.roles.items():
        if not nbytes:
            continue
        fact = Fact(strings.get(f"role.{role}.grows"), nbytes=nbytes, more=way.operation)
        top = row + 0.66 if phone else row
        yield Rect(start, start + nbytes, top, row + 1, PAINTS[role], thick=BAR, fact=fact)
        start += nbytes
    amount = three_digits(way.nbytes)
    if row:
        amount = text_of("less", bytes=amount, smaller=ways.times(way))
    at = text_of("at", operation=way.operation)
    if phone:
        yield ChartText(0, row, f"{way.title}: {amount}", 13, dy=32, bold=True)
        yield ChartText(0, row, at, 11, dy=48, dim=True)
        return
    yield ChartText(start, middle, amount, 13, dx=8, dy=-2, chip=True, bold=True)
    yield ChartText(start, middle, at, 11, dx=8, dy=13, chip=True, dim=True)
