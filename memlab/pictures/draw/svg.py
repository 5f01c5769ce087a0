"""A small SVG writer that records the place of every text, so that a test can see texts collide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from memlab.errors import visible
from memlab.pictures.draw import text as texts
from memlab.pictures.draw import theme
from memlab.pictures.draw.text import Runs
from memlab.pictures.draw.theme import Paint

_SHIFT = {"start": 0.0, "middle": 0.5, "end": 1.0}
_SPECIAL = re.compile(r"""[&<>"\n\r\t]""")
_ENTITIES = {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
MARGIN = 12
"""Pixels around a picture in a file."""
PHONE = 480
"""Width in pixels of a picture that is narrower only on a phone: there blocks stand one below the
other, and words have more lines."""
NARROWEST = 358
"""Width in pixels of the narrowest picture: a phone of 390 pixels, less the page's two margins."""


class Box(NamedTuple):
    """A rectangle in pixels; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box, margin: float = 0) -> bool:
        """True if the two rectangles overlap, or come closer than ``margin`` pixels."""
        return (
            self.left < other.right + margin
            and other.left < self.right + margin
            and self.top < other.bottom + margin
            and other.top < self.bottom + margin
        )


class DrawnText(NamedTuple):
    """A text in a picture and the rectangle that it fills. ``chart`` is True for a text at a value
    of a chart."""

    content: str
    box: Box
    size: float
    bold: bool = False
    chart: bool = False


def text_box(
    x: float, y: float, content: Runs, size: float, anchor: str = "start", bold: bool = False
) -> Box:
    """Return the rectangle of a line of text with the baseline ``y``; its height is that of digits
    and capitals.

    Args:
        x: the text's left end, middle or right end, in pixels.
        y: baseline in pixels.
        content: the text.
        size: size of the type in pixels.
        anchor: ``"start"``, ``"middle"`` or ``"end"``: the part of the text that stands at ``x``.
        bold: True for bold type; of pieces, each has its own weight.
    """
    wide = texts.measure(content, size, bold)
    left = x - wide * _SHIFT[anchor]
    return Box(left, y - 0.75 * size, left + wide, y + 0.22 * size)


@dataclass
class Svg:
    """A picture under construction, ``width`` by ``height`` pixels. The ids of its elements begin
    with ``key``, which keeps several pictures on a page apart."""

    width: float
    height: float
    key: str
    parts: list[str] = field(default_factory=list)
    labels: list[DrawnText] = field(default_factory=list)
    charts: list[tuple[Any, Box]] = field(default_factory=list)
    """Charts of the page, each with its frame."""
    samples: list[tuple[Any, float, float]] = field(default_factory=list)
    """Samples beside texts: look, left end and baseline of each."""
    charting: bool = False
    """True while a chart is drawn, whose texts stand at values."""
    patterns: dict[Paint, str] = field(default_factory=dict)
    shapes: int = 0

    def add(self, tag: str, body: str | None = None, /, **attributes: Any) -> None:
        """Write an element. An attribute ``stroke_width=2`` becomes ``stroke-width="2"``; None is
        left out."""
        closing = "/>" if body is None else f">{body}</{tag}>"
        self.parts.append(f"<{tag}{_attributes(attributes)}{closing}")

    @contextmanager
    def group(self, **attributes: Any) -> Iterator[None]:
        """Put the elements that are written inside the ``with`` block into one group."""
        self.parts.append(f"<g{_attributes(attributes)}>")
        yield
        self.parts.append("</g>")

    def line(self, x1: float, y1: float, x2: float, y2: float, **attributes: Any) -> None:
        """Write a straight line between two points."""
        ends = f'x1="{_value(x1)}" y1="{_value(y1)}" x2="{_value(x2)}" y2="{_value(y2)}"'
        self.parts.append(f"<line {ends}{_attributes(attributes)}/>")

    def rect(self, box: Box, **attributes: Any) -> None:
        """Write a rectangle."""
        left, top, right, bottom = box
        self.add("rect", x=left, y=top, width=right - left, height=bottom - top, **attributes)

    def path(self, d: str, **attributes: Any) -> None:
        """Write a path; ``d`` is its data in the syntax of SVG."""
        self.parts.append(f'<path d="{d}"{_attributes(attributes)}/>')

    def text(
        self,
        x: float,
        y: float,
        content: Runs,
        size: float = 12,
        anchor: str = "start",
        bold: bool = False,
        dim: bool = False,
        chip: bool = False,
    ) -> Box:
        """Write one line of text on the baseline ``y`` and return the rectangle that it fills.
        ``chip`` puts the page's colour behind it.

        The width that the layout counts on is written as ``textLength``: in another font the text
        fits too.
        """
        if not isinstance(content, str) and len(content) == 1:
            ((content, bold),) = content
        left, top, right, bottom = box = text_box(x, y, content, size, anchor, bold)
        if chip:
            self.rect(Box(left - 3, top - 2, right + 3, bottom + 2), rx=2.5, class_="chip")
        if isinstance(content, str):
            body = _safe(content)
        else:
            bold = False
            body = "".join(f"<tspan class='b'>{_safe(piece)}</tspan>" if heavy else _safe(piece)
                           for piece, heavy in content)  # fmt: skip
        kinds = f"s{size:g}{' b' if bold else ''}{' dim' if dim else ''}"
        end = "" if anchor == "start" else f' text-anchor="{anchor}"'
        fit = f'textLength="{right - left:.1f}" lengthAdjust="spacingAndGlyphs"'
        place = f'x="{_value(x)}" y="{_value(y)}" class="{kinds}"{end}'
        self.parts.append(f"<text {place} {fit if body else ''}>{body}</text>")
        self.labels.append(DrawnText(texts.plain(content), box, size, bold, self.charting))
        return box

    def fill(self, d: str, paint: Paint, edge: float = 0.8) -> None:
        """Write a closed path in the colour, opacity and pattern of a paint, its edge ``edge``
        pixels wide."""
        look: dict[str, Any] = {"fill": paint.colour, "fill_opacity": paint.tint}
        if edge:
            look |= {"stroke": paint.colour, "stroke_width": edge}
        if not paint.pattern:
            self.path(d, **look)
            return
        self.shapes += 1
        name = f"{self.key}-{self.shapes}"
        self.add("defs", f'<path id="{name}" d="{d}"/>')
        self.add("use", href=f"#{name}", **look)
        self.add("use", href=f"#{name}", fill=f"url(#{self._pattern(paint)})")

    def style(self, look: Paint | str, d: str) -> None:
        """Write a closed path, filled by a paint, or with the CSS class ``look``, such as
        ``"before"``."""
        if isinstance(look, Paint):
            self.fill(d, look)
        else:
            self.path(d, class_=look)

    @contextmanager
    def told(self, fact: str, send: tuple[str, object] | None = None) -> Iterator[None]:
        """Put the elements that are written inside the ``with`` block into a group that shows
        ``fact`` on hover and focus, and sends ``send``, a name and a value, to Python when it is
        pressed."""
        if not fact and send is None:
            yield
            return
        name, value = send or (None, None)
        sent = {"data_fact": fact or None, "data_send": name, "data_value": value}
        self.parts.append(f"<g{_attributes(sent)}>")
        yield
        self.parts.append("</g>")

    def swatch(self, x: float, y: float, paint: Paint) -> None:
        """Write a small sample of a paint, as tall as a line of text with the baseline ``y``."""
        self.fill(box_path(Box(x, y - 9.5, x + 14, y + 1.5)), paint)

    def _pattern(self, paint: Paint) -> str:
        """Return the id of a paint's pattern, which is added to the picture at the first use."""
        return self.patterns.setdefault(paint, f"{self.key}-p{len(self.patterns)}")

    def collisions(self) -> list[tuple[str, str]]:
        """Return the pairs of texts that overlap."""
        pairs = combinations(self.labels, 2)
        return [(a.content, b.content) for a, b in pairs if a.box.meets(b.box, -0.5)]

    def outside(self) -> list[str]:
        """Return the texts that reach over an edge of the picture."""
        return [
            label.content
            for label in self.labels
            if label.box.left < 0
            or label.box.top < 0
            or label.box.right > self.width
            or label.box.bottom > self.height
        ]

    @property
    def words(self) -> list[DrawnText]:
        """Texts that stand at no fixed value of a chart: words of the page, and labels that took a
        free place. A matplotlib figure writes them at their place in the picture."""
        return [label for label in self.labels if not label.chart]

    def render(self, title: str = "", standalone: bool = True) -> str:
        """Return the whole picture as SVG text. ``standalone`` adds its size, a background and a
        margin."""
        margin = MARGIN if standalone else 0
        width, height = self.width + 2 * margin, self.height + 2 * margin
        size = f' width="{width:g}" height="{height:g}"' if standalone else ""
        sheet = f'x="-{margin}" y="-{margin}" width="{width:g}" height="{height:g}"'
        page = f'<rect class="page" {sheet}/>' if standalone else ""
        hatches = "".join(
            theme.pattern_element(name, paint) for paint, name in self.patterns.items()
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="memlab-svg" role="img"{size} '
            f'viewBox="{-margin} {-margin} {width:g} {height:g}"><title>{_safe(title)}</title>'
            f"<style>{theme.STYLE}</style><defs>{hatches}</defs>{page}{''.join(self.parts)}</svg>"
        )


def box_path(box: Box) -> str:
    """Return a rectangle as the data of a closed SVG path."""
    left, top, right, bottom = (_value(value) for value in box)
    return f"M{left} {top}H{right}V{bottom}H{left}Z"


def _attributes(attributes: dict[str, Any]) -> str:
    """Return attributes as they are written in an element, with a space before each."""
    return _attribute_text(tuple(attributes.items()))


@lru_cache(maxsize=1 << 14)
def _attribute_text(attributes: tuple[tuple[str, Any], ...]) -> str:
    """Return attributes as text; cached, since most attributes are the same in the next picture."""
    return "".join(
        [
            f' {_attribute(name)}="{_escaped(value) if isinstance(value, str) else _value(value)}"'
            for name, value in attributes
            if value is not None
        ]
    )


@cache
def _attribute(name: str) -> str:
    """Return the SVG name of a keyword: ``class_`` is ``class``, ``stroke_width`` is
    ``stroke-width``."""
    return name.rstrip("_").replace("_", "-")


@lru_cache(maxsize=1 << 12)
def _safe(text: str) -> str:
    """Return a text escaped for the content of an element."""
    return escape(visible(text))


def _escaped(value: str) -> str:
    """Return a text escaped for the value of an attribute."""
    value = visible(value, "\n\r\t")
    return escape(value, _ENTITIES) if _SPECIAL.search(value) else value


def _value(value: object) -> str:
    """Return a value as text; a float has at most two decimals."""
    return _number(value) if isinstance(value, float) else str(value)


@lru_cache(maxsize=1 << 14)
def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
