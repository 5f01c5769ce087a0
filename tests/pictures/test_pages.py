"""What holds for every page: nothing collides, nothing is cut off, the text says what is shown."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from functools import cache
from html import unescape
from itertools import chain
from typing import Any

import pytest

from memlab import views
from memlab.pictures.draw.chart import Chart
from memlab.pictures.draw.labels import ChartText, Label, PhaseBracket
from memlab.pictures.draw.marks import Mark
from memlab.pictures.draw.page import Page
from memlab.pictures.draw.table import Below, Key, PageBlock, Paragraphs, SideBySide, Table
from memlab.pictures.draw.text import plain
from memlab.pictures.live.view import ROOM, View
from tests.pictures.pages import FACTORIES, every, page_of
from tests.quick import apart
from tests.raw_texts import raw
from tests.rows import every_row

WIDTHS = (View.narrowest, 500, 820, ROOM)
MADE = every()
NAMES = list(MADE)
PAGES = apart(NAMES, lambda name: name == ("prediction_card", "02.output"))  # it runs a step
NUMBER = re.compile(r"\d[\d,.]*\d|\d")

NUMERAL = re.compile(r"(?<![\w.-])(?<!lesson )\d[\d,.]*")
"""A figure, and no part of a name: neither the 50 of ResNet-50 nor the 09 of lesson 09."""
FEW = 12
PUBLIC = [getattr(views, name) for name in views.__all__]
CLASSES = [each for each in PUBLIC if isinstance(each, type)]
LIVE = [each.made_by for each in CLASSES if issubclass(each, View) and each is not View]
OF_DIGITS = {"number"}
"""A view whose digits are what it shows."""
COUNTS = {"shared_tile"}
"""A view of counts, one in each cell."""
TYPED = "1,000,000.0"
"""A guess of a case."""
EXACT = {*OF_DIGITS, "running_sum"}
"""Views of numbers that a format holds exactly, digit by digit."""


@cache
def made(factory: str, name: str) -> Any:
    """The view of a case, which keeps its study: for most, that takes longer than the picture."""
    return MADE[factory, name]()


@cache
def shown(factory: str, name: str, width: int = 820) -> Page:
    return page_of(made(factory, name), width)


def flat(blocks: Any) -> Iterator[PageBlock]:
    for block in blocks:
        if isinstance(block, SideBySide):
            yield from flat(part for part, _ in block.parts)
        elif isinstance(block, Below):
            yield from flat(block.blocks)
        else:
            yield block


@every_row("factory", FACTORIES)
def test_every_view_has_a_case(factory: str) -> None:
    assert factory in {each for each, _ in NAMES}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("factory", "name"), PAGES)
def test_nothing_collides_or_is_cut_off(factory: str, name: str, width: int) -> None:
    svg = shown(factory, name, width).svg()
    assert svg.collisions() == []
    assert svg.outside() == []
    assert min(label.size for label in svg.labels) >= 11


@pytest.mark.parametrize(("factory", "name"), PAGES)
def test_a_picture_is_one_valid_element_whose_texts_know_their_length(
    factory: str, name: str
) -> None:
    page = shown(factory, name)
    picture = page.render()
    root = ET.fromstring(picture)
    texts = [
        each for each in root.iter() if each.tag.endswith("}text") and "".join(each.itertext())
    ]
    assert texts
    assert all(float(each.get("textLength", 0)) > 0 for each in texts)
    ids = [each.get("id") for each in root.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    assert page.render() == picture


@pytest.mark.parametrize(("factory", "name"), PAGES)
def test_the_text_says_what_the_picture_says(factory: str, name: str) -> None:
    page = shown(factory, name)
    text = " ".join(page.text().split())
    for block in flat(page.blocks):
        for said in _said(block):
            assert " ".join(said.split()) in text


@pytest.mark.parametrize(("factory", "name"), PAGES)
def test_every_number_of_a_chart_is_in_the_text(factory: str, name: str) -> None:
    page = shown(factory, name)
    known = set(NUMBER.findall(page.text()))
    for block in flat(page.blocks):
        if isinstance(block, Chart):
            found = chain.from_iterable(NUMBER.findall(_label(mark)) for mark in block.marks)
            assert set(found) <= known, block.name


@pytest.mark.parametrize(("factory", "name"), PAGES)
def test_every_number_of_the_text_is_in_the_picture(factory: str, name: str) -> None:
    """In its words and charts, or in what a mark says on hover; exact figures may be in the text
    alone, in words that are not drawn."""
    page = shown(factory, name)
    quiet = [b for b in flat(page.blocks) if isinstance(b, Paragraphs | Table) and not b.drawn]
    alone = set(NUMBER.findall(" ".join(" ".join(block.text()) for block in quiet)))
    picture = page.render() + " ".join(_facts(page))
    drawn = set(NUMBER.findall(re.sub(r"<style>.*?</style>", "", picture)))
    missing = set(NUMBER.findall(page.text())) - drawn - alone
    assert not missing


@every_row("factory", sorted({*LIVE} - OF_DIGITS - COUNTS))
def test_a_first_level_has_few_numerals(factory: str) -> None:
    texts = [label.content for label in page_of(getattr(views, factory)()).svg().labels]
    assert len(numerals(texts)) <= FEW


@pytest.mark.parametrize(("factory", "name"), [e for e in PAGES if e.values[0] not in EXACT])
def test_no_text_is_as_python_writes_it(factory: str, name: str) -> None:
    """Save a guess, which is shown as it was typed."""
    page = shown(factory, name)
    facts = re.findall(r'data-fact="([^"]*)"', page.render())
    said = unescape("\n".join([page.text(), *facts]))
    assert not [place for place in raw(said) if not place.startswith(TYPED)]


def test_a_numeral_is_no_part_of_a_name() -> None:
    texts = [
        "ResNet-50, conv1, fp16, batch 32",
        "1,605,632 B (98.0 %)",
        "3x3",
        "2.1 conv2",
        "lesson 09",
    ]
    assert numerals(texts) == ["32", "1,605,632", "98.0", "3", "2.1"]


def numerals(texts: Iterable[str]) -> list[str]:
    return [found for text in texts for found in NUMERAL.findall(text)]


def _said(block: PageBlock) -> list[str]:
    if isinstance(block, Paragraphs) and block.told and block.drawn:
        return [plain(line) for line in block.lines(100_000)]
    if isinstance(block, Table) and block.told and block.drawn:
        return [cell for row in block.rows for cell in row]
    return []


def _label(mark: Mark) -> str:
    if isinstance(mark, ChartText | Label):
        return plain(mark.content)
    return mark.name if isinstance(mark, PhaseBracket) else ""


def _facts(page: Page) -> Iterator[str]:
    for block in flat(page.blocks):
        if isinstance(block, Chart):
            yield from (str(mark.fact) for mark in block.marks if mark.fact)
        if isinstance(block, Table):
            yield from map(str, block.facts)
        if isinstance(block, Key):
            yield from (name for _, name in block.entries)
