"""A page of 1280 x 720 whose parts come and go with the steps of a scene.

A step of a scene is one press of a key. A part is there from a first to a last step; how it comes
is told to the browser by ``data-`` attributes: ``late`` (milliseconds after the others), ``fly``
(a print of the input slides from one place to another), ``fold`` (from how far), ``grow``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memlab import strings
from memlab.views.copies import pixels
from memlab.views.svg import Box, Label, Runs, Svg

WIDE, HIGH = 1280, 720
LEFT, RIGHT = 64, 1216
U = 8 * pixels.CELL
"""The side of the input. The page is 9 of them wide: 9 copies in a row fill it."""
INPUT = (LEFT, 244)
COPIES, APART = (800, 100), 16
MATRIX = (192, 544)
TEXT = 256
"""Where texts beside the input begin."""
TITLE, MOTTO = 64, 700
"""Baselines."""


class Spoken(NamedTuple):
    """A text, and the steps at which it is on the page."""

    label: Label
    first: int
    last: int


@dataclass
class Sheet(Svg):
    """One scene: ``steps`` pictures, one after the other."""

    width: float = WIDE
    height: float = HIGH
    key: str = "lecture"
    steps: int = 1
    spoken: list[Spoken] = field(default_factory=list)
    _span: tuple[int, int] | None = None

    @contextmanager
    def step(self, first: int, last: int | None = None, **how: Any) -> Iterator[None]:
        """What is written inside is there from step ``first`` to step ``last``, or to the end."""
        last = self.steps - 1 if last is None else last
        outer, self._span = self._span, (first, last)
        motion = {f"data_{name}": value for name, value in how.items() if value is not None}
        shown = "last" if last == self.steps - 1 else None
        with self.group(class_=shown, data_step=f"{first}-{last}", **motion):
            yield
        self._span = outer

    def say(
        self, x: float, y: float, key: str, size: float = 34, /, bold: bool = False,
        dim: bool = False, anchor: str = "start", **values: Any,
    ) -> Box:  # fmt: skip
        """A text of the strings file, with its values filled in."""
        return self.text(x, y, say(key, **values), size, anchor, bold, dim)

    def text(self, x: float, y: float, content: Runs, *how: Any, **named: Any) -> Box:
        box = super().text(x, y, content, *how, **named)
        self.spoken.append(Spoken(self.labels[-1], *(self._span or (0, self.steps - 1))))
        return box

    def title(self, key: str, /, **values: Any) -> None:
        """What the scene finds."""
        self.say(LEFT, TITLE, key, 42, bold=True, **values)

    def motto(self, key: str = "motto.planned", **values: Any) -> None:
        """How the picture is to be read, at the foot of the page."""
        self.say(LEFT, MOTTO, key, 28, dim=True, **values)

    def hero(self, number: str, key: str, y: float = 306, **values: Any) -> None:
        """The number of the scene, with what it counts below it."""
        digits, cross, rest = number.partition(" ×")
        box = self.text(TEXT, y, digits, 96, bold=True)
        if cross:
            box = self.text(box.right + 18, y - 1, "×", 72)
        if rest:
            self.text(box.right + 18, y, rest.strip(), 96, bold=True)
        self.say(TEXT, y + 50, key, 36, **values)

    def use(self, name: str, x: float, y: float, **how: Any) -> None:
        """A part that the page defines once."""
        self.add("use", href=f"#{name}", x=x, y=y, **how)

    def square(self, x: float, y: float, side: float, **how: Any) -> None:
        """A square."""
        self.rect(Box(x, y, x + side, y + side), **how)

    def label(self, x: float, y: float, key: str, **values: Any) -> None:
        """The name of a part of the picture."""
        self.say(x, y, key, 30, **values)

    def input(self, flat: bool = False) -> None:
        """The input in its place, as a picture or as an area."""
        x, y = INPUT
        self.label(x, y - 16, "label.input")
        if flat:
            self.square(x, y, U, class_="on")
        else:
            self.use("picture", x, y)
        self.square(x, y, U, class_="input")

    def boxes(
        self, left: float, top: float, side: float, columns: int, rows: int, **how: Any
    ) -> None:
        """An area in squares of the input's size."""
        right, bottom = left + columns * side, top + rows * side
        self.rect(Box(left, top, right, bottom), **{"class_": "on", **how})
        across = "".join(f"M{left} {top + i * side}H{right}" for i in range(1, rows))
        down = "".join(f"M{left + i * side} {top}V{bottom}" for i in range(1, columns))
        if across or down:
            self.path(across + down, class_="seam")

    def collisions(self) -> list[tuple[str, str]]:
        """Pairs of texts that overlap while both are on the page."""
        found = []
        for i, a in enumerate(self.spoken):
            for b in self.spoken[i + 1 :]:
                together = a.first <= b.last and b.first <= a.last
                if together and a.label.box.meets(b.label.box, -0.5):
                    found.append((a.label.content, b.label.content))
        return found

    def written(self) -> str:
        """What was drawn, without the frame of a picture."""
        return "".join(self.parts)


def slot(index: int, k: int = 3) -> tuple[int, int]:
    """Where copy ``index`` stands: at its place in the kernel."""
    row, column = divmod(index, k)
    return COPIES[0] + column * (U + APART), COPIES[1] + row * (U + APART)


def say(key: str, /, **values: Any) -> str:
    """A text of the lecture with its values filled in."""
    return strings.get(f"lecture.{key}", **values)
