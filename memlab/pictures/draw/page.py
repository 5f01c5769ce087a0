"""A page: a title and blocks one below the other, and its lowerings to SVG, text and matplotlib."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from memlab.errors import visible
from memlab.pictures.draw import text as texts
from memlab.pictures.draw import theme
from memlab.pictures.draw.marks import Glyph
from memlab.pictures.draw.svg import MARGIN, DrawnText, Svg
from memlab.pictures.draw.table import PageBlock, Paragraphs, paragraph_lines
from memlab.pictures.draw.theme import Paint
from memlab.pictures.values.study import Study

WIDTH = 820
"""Width in pixels of a picture without controls."""


@dataclass(frozen=True)
class Page:
    """Content of one picture: a title and blocks, one below the other.

    The title is the first line of picture and text, unless ``titled`` is False. A screen reader
    hears ``says``, or else the title. ``width`` is in pixels.
    """

    title: str
    blocks: Sequence[PageBlock]
    width: float = WIDTH
    says: str = ""
    titled: bool = True

    def svg(self, key: str = "") -> Svg:
        """Return the drawn picture.

        The ids of its elements begin with ``key``, or with a checksum of the page's text, so that a
        stored picture is the same each time.
        """
        svg = Svg(self.width, 0, key or f"p{crc32(self.text().encode()):08x}")
        y = 0.0
        if self.titled:
            svg.text(0, 12, texts.shortened(self.title, self.width, 12), 12, dim=True)
            y = 19
        for block in self.blocks:
            y = block.draw(svg, 0, y + block.gap, self.width)
        svg.height = y + 2
        return svg

    def render(self, key: str = "", standalone: bool = True) -> str:
        """Return the picture as the text of an SVG element. ``standalone`` adds its size, a
        background and a margin."""
        return self.svg(key).render(self.says or self.title, standalone)

    def alone(self, key: str = "", standalone: bool = True) -> str:
        """Return the picture as SVG for a file: each mark's fact is an SVG ``<title>``, which a
        browser shows on hover without a script. ``standalone`` is as in ``render``."""
        return _FACT.sub(_fact_as_title, self.render(key, standalone))

    def text(self) -> str:
        """Return the text twin of the picture: the title and the text of every block."""
        lines = paragraph_lines(self.blocks)
        if self.titled:
            head = self.title if self.title[-1:] in ".!?:。" else f"{self.title}."
            apart = [""] if self.blocks and self.blocks[0].alone else []
            lines = [head, *apart, *lines]
        return visible("\n".join(lines), "\n")

    def figure(self) -> Any:
        """Return the page as a matplotlib ``Figure``: its charts are Axes in the values of their
        scales, its words and swatches stand at their places in the picture. A pixel is a point.

        Raises:
            InputError: matplotlib cannot be loaded.
        """
        theme.load_matplotlib()
        from matplotlib.figure import Figure

        svg = self.svg("figure")
        wide, tall = svg.width + 2 * MARGIN, svg.height + 2 * MARGIN
        figure = Figure(figsize=(wide / 72, tall / 72), dpi=72)
        sheet = figure.add_axes((0, 0, 1, 1), label="words", zorder=5)
        sheet.set_axis_off()
        sheet.set(xlim=(-MARGIN, wide - MARGIN), ylim=(tall - MARGIN, -MARGIN))
        for label in svg.words:
            _write_label(sheet, label)
        for look, x, base in svg.samples:
            _draw_sample(sheet, look, x, base)
        for chart, box in svg.charts:
            left, bottom = (box.left + MARGIN) / wide, (svg.height + MARGIN - box.bottom) / tall
            size = (box.right - box.left) / wide, (box.bottom - box.top) / tall
            axes = figure.add_axes((left, bottom, *size), label=chart.name or "chart")
            chart.on(axes)
            axes.set_title("", loc="left")  # the words of the page say it
        return figure


def _write_label(sheet: Any, label: DrawnText) -> None:
    """Write a text no wider than in the picture: matplotlib's own font is wider than Arial."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    weight = "bold" if label.bold else "normal"
    text = label.content.replace("$", r"\$")
    natural = TextPath((0, 0), text, label.size, FontProperties(weight=weight)).get_extents().width
    size = label.size * min(1.0, (label.box.right - label.box.left) / max(natural, 1))
    base = label.box.bottom - 0.22 * label.size
    sheet.text(label.box.left, base, text, fontsize=size, fontweight=weight, va="baseline")


def _draw_sample(sheet: Any, look: Any, x: float, base: float) -> None:
    """Draw the sample that stands beside a text, its left end at ``x`` and its baseline at
    ``base``."""
    from matplotlib.patches import Rectangle

    if isinstance(look, Paint):
        sheet.add_patch(Rectangle((x, base - 9.5), 14, 11, **theme.area_style(look)))
    elif isinstance(look, Glyph):
        sheet.scatter([x + 7], [base - 4], marker=look.marker, color=theme.ink())
    elif isinstance(look, int) or look in ("dot", "hollow", "ring"):
        sheet.scatter([x + 7], [base - 4], **theme.point_style(look, 7.2))
    else:
        sheet.plot([x, x + 15], [base - 4, base - 4], **theme.line_style(look))


# -- pictures without controls ------------------------------------------------------------------

_FACT = re.compile(r"""<g data-fact=(?:"([^"]*)"|'([^']*)')([^>]*)>""")


class Still:
    """Picture without controls: a notebook shows it, ``print`` gives its text, ``figure`` is for
    slides and papers. A subclass defines ``page``."""

    def page(self) -> Page:
        """Return the page that is shown."""
        raise NotImplementedError

    def svg(self) -> str:
        """Return the picture as SVG for a file."""
        return self.page().alone()

    def text(self) -> str:
        """Return the text twin of the picture."""
        return self.page().text()

    def figure(self) -> Any:
        """Return the picture as a matplotlib ``Figure``, whose Axes can be changed before it is
        saved.

        Raises:
            InputError: matplotlib cannot be loaded.
        """
        return self.page().figure()

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        page = self.page()
        return {"image/svg+xml": page.alone(), "text/plain": page.text()}


def _fact_as_title(group: re.Match[str]) -> str:
    """Replace the opening tag of a group that has a fact by a group with an SVG ``<title>``."""
    return f"<g{group[3]}><title>{group[1] or group[2]}</title>"


def report(
    study: Study, *blocks: PageBlock, size: int = 13, bold: int = 1, marked: bool = False
) -> Page:
    """Return the page of a study: its sentences, some blocks, and its notes.

    Args:
        study: title, sentences and notes.
        blocks: charts and tables between the sentences and the notes.
        size: size of the bold sentences in pixels; the others have at most 13.
        bold: number of sentences at the beginning that are bold.
        marked: True where sentence i belongs to alternative i, and its symbol stands before it.
    """
    first, others = study.sentences[:bold], study.sentences[bold:]
    sentences = [Paragraphs(first, size, bold=True), Paragraphs(others, min(size, 13))]
    if marked:
        sentences = [
            Paragraphs(sentence, 12, mark=index) for index, sentence in enumerate(study.sentences)
        ]
    notes = Paragraphs(study.notes, 11, dim=True, gap=8)
    says = " ".join([f"{study.title}.", *study.sentences])
    return Page(study.title, [*sentences, *blocks, notes], says=says)
