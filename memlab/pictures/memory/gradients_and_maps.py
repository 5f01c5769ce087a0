"""Bytes of parameter gradients and of feature maps at batch 1 and at a larger batch: two bars of
each, as multiples of the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memlab import strings, units
from memlab.pictures.draw import text as texts
from memlab.pictures.draw.chart import Axis, Chart
from memlab.pictures.draw.labels import ChartText
from memlab.pictures.draw.marks import Fact, Mark, Rect
from memlab.pictures.draw.page import Page, Still
from memlab.pictures.draw.scale import Scale
from memlab.pictures.draw.table import Paragraphs, Table
from memlab.pictures.draw.theme import PAINTS
from memlab.pictures.values.number_text import three_digits
from memlab.step.tensor import Role

NAMES = {Role.PARAMETER_GRADIENT: "stays", Role.FEATURE_MAP: "grows"}
"""Roles from top to bottom, with the key of their names."""
PITCH, TALL, LEFT, RIGHT, BATCH = 30, 18, 190, 80, 72
"""Pixels from bar to bar, of a bar, beside the bars for names and for bytes, and of those for the
batch."""


def text_of(key: str, **values: object) -> str:
    """Return a text of this picture by its key."""
    return strings.get(f"gradients.{key}", **values)


@dataclass(frozen=True, repr=False)
class GradientsAndMaps(Still):
    """Bytes of parameter gradients and of feature maps at batch 1 and at ``batch``; ``nbytes`` are
    those of each role at both."""

    batch: int
    nbytes: dict[Role, tuple[int, int]]

    @property
    def title(self) -> str:
        """Sentence on both roles; the gradients stand between asterisks."""
        gradients, maps = (self._growth(role) for role in NAMES)
        return text_of("title", batch=f"{self.batch:,}", maps=maps, gradients=gradients)

    def _growth(self, role: Role) -> str:
        one, many = self.nbytes[role]
        return text_of("same") if one == many else text_of("times", times=f"{many / one:.3g}")

    def rows(self) -> Iterator[tuple[Role, int, float, int]]:
        """Yield role, batch, multiple and bytes of each bar."""
        for role in NAMES:
            for batch, nbytes in zip((1, self.batch), self.nbytes[role], strict=True):
                yield role, batch, nbytes / self.nbytes[role][0], nbytes

    def page(self) -> Page:
        """Return the page: the title, and the bars."""
        head = Paragraphs([texts.emphasized(self.title)], 16)
        says = self.title.replace("*", "")
        return Page(says, [head, self._chart()], says=f"{says}.", titled=False)

    def _chart(self) -> Chart:
        rows = list(self.rows())
        last = max(multiple for _, _, multiple, _ in rows)
        table = Table([], [[_name(role), _batch(batch), units.exact(nbytes)]
                           for role, batch, _, nbytes in rows], "<<>")  # fmt: skip
        marks = [mark for index, row in enumerate(rows) for mark in _bar(index, *row)]
        axis = Axis(
            note=text_of("axis"), grid=False, ticks=[(n, f"{n:,}") for n in (0, 1, round(last))]
        )
        return Chart(Scale(0, last), Scale(len(rows), 0), marks, PITCH * len(rows), axis, None,
                     left=LEFT, right=RIGHT, told=table, name=text_of("axis"), gap=8)  # fmt: skip


def _bar(index: int, role: Role, batch: int, multiple: float, nbytes: int) -> Iterator[Mark]:
    """Yield the marks of a bar: its batch before it and its bytes behind it, and at the first bar
    of a role the name."""
    y, name = index + 0.5, f"{_name(role)}, {_batch(batch)}"
    yield Rect(0, multiple, y, y, PAINTS[role], thick=TALL, fact=Fact(name, nbytes=nbytes))
    yield ChartText(0, y, _batch(batch), 12, "end", -12, 4)
    yield ChartText(multiple, y, three_digits(nbytes), 12, "start", 8, 4, bold=True)
    if batch == 1:
        yield ChartText(0, y, _name(role), 12, "end", -BATCH, 4, bold=True)


def _name(role: Role) -> str:
    return strings.get(f"role.{role.value}.{NAMES[role]}")


def _batch(batch: int) -> str:
    return strings.get("memory.batch", batch=f"{batch:,}")
