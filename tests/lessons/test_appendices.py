"""An appendix is a short page of its own, and keeps the rules that hold for any page. It asks no
card; it may have an exercise of its lesson."""

import ast
import json
import re

import pytest

from lessons import build
from tests.lessons import asked, form, outputs, structure
from tests.lessons.parts import CODE, Lesson, calls, minutes_line, prose
from tests.lessons.structure import words

SOURCES = [s for s in build.sources(build.LESSONS) if s.parent.name == build.APPENDIX]
LONGEST = 600
RULES = (asked.stubs, outputs.figures, outputs.notes, outputs.numbers, structure.forbidden)
HEAD = re.compile(r"# Appendix: [^\n]+\?\n\nBelongs to: \[\d\d [^]]+\]\((\.\./\d\d_\w+\.ipynb)\)\.")
pages = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)


def read(source):
    """A page as the rules of a lesson see it."""
    stored = [json.loads(target.read_text("utf-8")) for target in build.targets(source)]
    return Lesson(source.stem, build.cells(source), stored[0], stored[-1], frozenset())


@pytest.mark.table
@pages
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_it_keeps_the_rules_of_every_page(source, rule):
    assert rule(read(source)) == []


@pytest.mark.table
@pages
def test_its_head_says_where_it_belongs_and_the_lesson_leads_to_it(source):
    head = HEAD.match(prose(read(source)))
    assert head
    lesson = build.LESSONS / head[1].removeprefix("../")
    assert f"(appendix/{source.stem}.ipynb)" in lesson.read_text("utf-8")


@pytest.mark.table
@pages
def test_it_is_short_and_asks_no_card(source):
    page = read(source)
    assert len(words(prose(page))) <= LONGEST
    code = "\n".join(cell.source for cell in page.of("code"))
    assert not re.search(r"\blesson\.(?:predict|recall|change)\(", code)
    assert minutes_line(page) is None


@pytest.mark.table
@pages
def test_its_exercises_are_of_its_lesson_and_are_checked(source):
    page = read(source)
    head = HEAD.match(prose(page))
    assert head
    asked_of = [ast.unparse(c.args[0]) for cell in page.of("code") for c in calls(cell, "exercise")]
    number = head[1].removeprefix("../")[:2]
    assert all(name.startswith(f"'{number}.") for name in asked_of)
    checked = [ast.unparse(c.args[0]) for cell in page.of("code") for c in calls(cell, "check")]
    assert checked == [name.strip("'").partition(".")[2] for name in asked_of]
    assert bool(asked_of) == (build.lesson_of(source) == number)


@pytest.mark.table
@pages
def test_a_claim_is_a_footnote(source):
    text = form.FOOTNOTE.sub("", re.sub(r"`[^`]*`", "", prose(read(source))))
    assert CODE.findall(form.SOURCES.sub("", text)) == []
