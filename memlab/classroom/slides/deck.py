"""Slides of a notebook: its cells, cut so that one slide has one idea and fits a projector.

A heading begins a slide, and stands above those that go on with it. A long text is cut between its
paragraphs. A cell that asks is a slide with the question alone; its answer, its picture and each
further output follow on slides of their own.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import east_asian_width

from memlab.classroom.slides import card_text
from memlab.classroom.slides.card_text import ANSWERS, ASKS, CardText

Cell = Mapping[str, Any]
LINES, LETTERS = 13, 74
"""Lines of text on a slide, and letters in one."""
SHORT = 6
"""Lines of a text that may stand above what follows it."""
CODE_LINES, CODE_BESIDE = 20, 6
"""Lines of code and of its output on a slide, and lines of code above a picture."""
CODE, GAP, FRAME, ASKED, CHOICE = 0.65, 0.4, 1, 1.1, 1.45
"""Heights in lines of text: a line of code, the room between two parts, a frame, and below a text a
line of a question and an option."""
SVG, HTML, PLAIN = "image/svg+xml", "text/html", "text/plain"
PICTURES = (SVG, "image/png", "image/jpeg")
CHECKS = re.compile(r"\.check\(")
HEADING = re.compile(r"#+ +(?P<text>.*)")
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:)[^)]*\)")
"""A link to another file of the lessons, which is not beside the slides."""
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
NOTE = re.compile(r"Run this cell: what it shows depends on your machine\.")


@dataclass(frozen=True)
class Slide:
    """One slide. ``kind`` is its look; ``lead`` is Markdown above the rest; ``code``, ``card``,
    ``html``, ``picture`` and ``printed`` are what it shows, and ``words`` what its picture says.
    ``caption`` is the code of a card, and ``goes_on`` is True where the heading stood on the slide
    before."""

    heading: str
    kind: str = "text"
    lead: str = ""
    code: str = ""
    card: CardText | None = None
    html: str = ""
    picture: Mapping[str, Any] | None = None
    printed: str = ""
    words: str = ""
    caption: str = ""
    goes_on: bool = False


def deck(cells: list[Cell]) -> list[Slide]:
    """Return the slides of the cells of a notebook, with the outputs that are stored in it."""
    slides: list[Slide] = []
    for cell in cells:
        for slide in _of_cell(cell, slides[-1].heading if slides else ""):
            slides = _added(slides, slide)
    return slides


def _added(slides: list[Slide], slide: Slide) -> list[Slide]:
    """Return the slides with one more. A short text that leads to it is moved onto it."""
    if slides and _leads(slides[-1], slide):
        before = slides.pop()
        lead = "\n\n".join(filter(None, (before.lead, slide.lead)))
        return [*slides, replace(slide, lead=lead, goes_on=before.goes_on)]
    goes_on = bool(slides) and slides[-1].heading == slide.heading
    return [*slides, replace(slide, goes_on=goes_on)]


def _leads(slide: Slide, following: Slide) -> bool:
    """True if a slide has a heading alone, or a short text for which there is room on the next."""
    if slide.kind != "text" or slide.heading != following.heading:
        return False
    if not slide.lead or following.kind == "text":
        return not slide.lead
    short = _height(slide.lead) <= SHORT
    return short and _height(slide.lead) + height(following) <= LINES + slide.goes_on


def height(slide: Slide) -> float:
    """Return about how many lines of text a slide without a picture is high."""
    code = len(slide.code.splitlines())
    high = _height(slide.lead) + (CODE * code + FRAME if code else 0)
    if slide.picture:
        return high + CODE * (CODE_LINES - CODE_BESIDE)
    if slide.card:
        question = ASKED * -(-_width(slide.card.question) // (LETTERS - 8))
        said = sum(map(_height, slide.card.said))
        return high + question + FRAME + said + CHOICE * len(slide.card.options)
    return high + CODE * _lines(slide) if slide.printed else high


def _of_cell(cell: Cell, heading: str) -> Iterator[Slide]:
    source = _joined(cell["source"])
    if cell["cell_type"] == "markdown":
        yield from _of_text(source, heading)
    elif cell["cell_type"] == "code" and not CHECKS.search(source):
        hidden = cell.get("metadata", {}).get("jupyter", {}).get("source_hidden", False)
        yield from _of_code(source, cell.get("outputs", []), heading, hidden)


# -- texts ----------------------------------------------------------------------------------------


def _of_text(source: str, heading: str) -> Iterator[Slide]:
    blocks: list[str] = []
    kind = "text"
    for block in _blocks(LINK.sub(r"\1", FOLDED.sub("", source))):
        if found := HEADING.fullmatch(block):
            yield from _filled(blocks, heading, kind)
            heading, blocks = found["text"], []
            kind = "title" if block.startswith("# ") else "text"
            if kind == "text":
                yield Slide(heading)
        else:
            blocks.append(block)
    yield from _filled(blocks, heading, kind)


def _blocks(text: str) -> Iterator[str]:
    """Yield headings, paragraphs, tables, blocks of code and single items of lists."""
    block: list[str] = []
    fenced = False
    for line in [*text.splitlines(), ""]:
        alone = not fenced and bool(HEADING.fullmatch(line))
        if block and not fenced and (alone or not line.strip() or ITEM.match(line)):
            yield "\n".join(block)
            block = []
        fenced ^= line.lstrip().startswith("```")
        if alone:
            yield line
        elif line.strip() or fenced:
            block.append(line)
    if block:  # code that is not closed
        yield "\n".join(block)


def _filled(blocks: list[str], heading: str, kind: str) -> Iterator[Slide]:
    """Yield slides with as many blocks as fit on each; that of a title has the first one alone."""
    text = ""
    if kind == "title":
        yield Slide(heading, kind, lead=blocks.pop(0) if blocks else "")
    for block in blocks:
        joint = "\n" if _item(block) and _item(text) else "\n\n"
        longer = f"{text}{joint}{block}" if text else block
        if text and _height(longer) > LINES:
            yield Slide(heading, lead=text)
            text = block
        else:
            text = longer
    if text:
        yield Slide(heading, lead=text)


def _item(text: str) -> bool:
    """True if a text ends with a list."""
    return bool(ITEM.match(text.rpartition("\n\n")[2]))


def _height(text: str) -> float:
    """Return about how many lines a text takes."""
    parts = re.split(r"\n(?=[-*|]|\d+\. )|\n\n", text)
    return sum(-(-_width(" ".join(part.split())) // LETTERS) + GAP for part in parts if part)


def _width(text: str) -> int:
    """Return how many Latin letters are as wide as a text."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


# -- code and what it shows -----------------------------------------------------------------------


def _of_code(source: str, outputs: list[Cell], heading: str, hidden: bool) -> Iterator[Slide]:
    shown = list(filter(None, (_of_output(output) for output in outputs)))
    if ANSWERS.search(source):
        yield from map(_answer, shown[:1], [heading])
        yield from (replace(one, heading=heading) for one in shown[1:])
        return
    if ASKS.search(source) and shown:
        card, *others = shown
        asked = card_text.read(card.words or card.printed)
        yield Slide(heading, "question", card=asked, caption=source.splitlines()[-1])
        yield from (replace(one, heading=heading) for one in others)
        return
    yield from _run("" if hidden else source, shown, heading)


def _answer(shown: Slide, heading: str) -> Slide:
    """Return the slide with the answer of a card; where no answer is read, its picture."""
    card = card_text.read(shown.words)
    if not card.figures or shown.picture is None:
        return replace(shown, heading=heading)
    return Slide(heading, "answer", card=card)


def _run(source: str, shown: list[Slide], heading: str) -> Iterator[Slide]:
    """Yield code with its first output, where both fit on a slide, and the other outputs."""
    code = source.splitlines()
    for begin in range(0, len(code) - CODE_LINES, CODE_LINES):
        yield Slide(heading, "code", code="\n".join(code[begin : begin + CODE_LINES]))
    last = code[(len(code) - 1) // CODE_LINES * CODE_LINES :]
    slide = Slide(heading, "code", code="\n".join(last))
    if shown and len(last) + _lines(shown[0]) <= CODE_LINES:
        slide = replace(shown.pop(0), heading=heading, code=slide.code)
    if source.strip():
        yield slide
    yield from (replace(one, heading=heading) for one in shown)


def _lines(shown: Slide) -> int:
    """Return how many lines of code an output takes."""
    if shown.picture:
        return CODE_LINES - CODE_BESIDE
    wrapped = (textwrap.wrap(line, 100) or [""] for line in shown.printed.splitlines())
    return 1 + sum(map(len, wrapped))


def _of_output(output: Cell) -> Slide | None:
    """Return an output as a slide without a heading; None for a note or an empty one."""
    if output["output_type"] == "error":
        return Slide("", "code", printed=f"{output['ename']}: {output['evalue']}")
    data = output.get("data", {})
    words = _joined(data.get(PLAIN, ""))
    if kind := next((kind for kind in PICTURES if kind in data), ""):
        return Slide("", "picture", picture={kind: _joined(data[kind])}, words=words)
    if HTML in data:
        return Slide("", "table", html=_joined(data[HTML]))
    printed = _joined(output.get("text", "")) or words
    return Slide("", "code", printed=printed) if printed and not NOTE.match(printed) else None


def _joined(lines: str | list[str]) -> str:
    """Return a text that a notebook keeps whole or line by line."""
    return lines if isinstance(lines, str) else "".join(lines)
