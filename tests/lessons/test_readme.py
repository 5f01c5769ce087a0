"""The README lists the lessons that are there, with their minutes, and every appendix once."""

import re

from lessons import build
from tests.lessons.parts import minutes_line, read
from tests.rows import every_row

README = (build.LESSONS.parent / "README.md").read_text("utf-8")
ROW = re.compile(
    r"^\| (?:\[(\d\d) ([^]]+)\]\(lessons/(\S+)\.ipynb\)|(\d\d) ([^|]+)) \|(.*)\|$", re.M
)
SPINE = ["00", "01", "02", "07", "08", "09", "11"]
SOURCES = [s for s in build.sources(build.LESSONS) if s.parent.name != build.APPENDIX]
APPENDICES = [s for s in build.sources(build.LESSONS) if s.parent.name == build.APPENDIX]


def rows():
    """Number, name, file and the other cells of each row; no file where a lesson is to come."""
    return [
        (one or other, name or called, file, [cell.strip() for cell in rest.split("|")])
        for one, name, file, other, called, rest in ROW.findall(README)
    ]


def test_the_spine_comes_first():
    assert [number for number, *_ in rows()][: len(SPINE)] == SPINE


@every_row("source", SOURCES)
def test_a_lesson_has_its_row_with_its_minutes(source):
    lesson = read(source)
    title = re.match(r"# (\d\d) ([^:]+):", lesson.head[0])
    minutes = minutes_line(lesson)
    assert title
    assert minutes
    ((_, name, file, cells),) = [row for row in rows() if row[0] == lesson.number]
    assert (name, file) == (title[2], source.stem)
    assert cells[-2:] == [minutes[1], "**here**"]


def test_a_lesson_to_come_is_named_without_a_link():
    there = {source.stem[:2] for source in SOURCES}
    waiting = {number: cells[-1] for number, _, file, cells in rows() if not file}
    assert waiting == {"11": "to come"}
    assert not there & waiting.keys()


@every_row("source", APPENDICES)
def test_an_appendix_is_listed_once(source):
    assert README.count(f"(lessons/appendix/{source.stem}.ipynb)") == 1
