"""The README is short and true: its picture, its figures, its lessons, its folders. The page of the
lessons has their order, and every appendix once."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lessons import build
from memlab import cli
from memlab.course.hero.figures import HeroFigures
from memlab.course.hero.picture import FILES
from memlab.lesson.material import case_rows
from tests.lessons.parts import minutes_line, read
from tests.oracles import requirement
from tests.rows import every_row

ROOT = build.LESSONS.parent
README = (ROOT / "README.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "lessons.md").read_text("utf-8")
OWN = (ROOT / "docs" / "your_model.md").read_text("utf-8")
WORDS = 700
ROW = re.compile(
    r"^\| (?:\[(\d\d) ([^]]+)\]\(lessons/(\S+)\.ipynb\)|(\d\d) ([^|]+)) \|(.*)\|$", re.M
)
HEADING = re.compile(r"# (\d\d) ([^:]+): (.+)")
SOURCES = [s for s in build.sources(build.LESSONS) if s.parent.name != build.APPENDIX]
APPENDICES = [s for s in build.sources(build.LESSONS) if s.parent.name == build.APPENDIX]
COMMAND = re.compile(r"```\n\$ (memlab explain \S+:model .*)\n([\s\S]*?)```")


def rows() -> list[tuple[str, str, str, list[str]]]:
    """Number, name, file and the other cells of each row; no file where a lesson is to come."""
    return [
        (one or other, name or called, file, [cell.strip() for cell in rest.split("|")])
        for one, name, file, other, called, rest in ROW.findall(README)
    ]


# -- the README -----------------------------------------------------------------------------------


def test_it_is_short() -> None:
    assert len(README.split()) <= WORDS


def test_it_has_the_commands_of_make() -> None:
    targets = (ROOT / "Makefile").read_text("utf-8")
    for name in ("lab", "test"):
        assert re.search(rf"^make {name} +# ", README, re.M)
        assert f"\n{name}: " in targets


def test_its_picture_is_there_for_both_screens_and_in_words() -> None:
    assert sorted(re.findall(r'(?:src|srcset)="lessons/images/([^"]+)"', README)) == sorted(FILES)
    (alt,) = re.findall(r'alt="([^"]*)"', README)
    assert html.unescape(alt) == HeroFigures.kept().sentence("desc", caption="").strip()


def test_it_counts_the_lessons() -> None:
    (count, most) = re.findall(r"\[(\d+) lessons\]\S+ of at most (\d+) minutes", README)[0]
    minutes = [minutes_line(read(source)) for source in SOURCES]
    assert int(count) == len(SOURCES)
    assert int(most) == max(int(found[1]) for found in minutes if found)


def test_its_folders_are_there() -> None:
    (tree,) = re.findall(r"```\n(lessons/ [\s\S]*?)```", README)
    folders = re.findall(r"^(\w+)/ ", tree, re.M)
    assert {*folders} - {"my"} <= {path.name for path in ROOT.iterdir()}
    assert {*folders} >= {"lessons", "my", "memlab", "docs", "tests", "benchmarks"}
    assert "/my/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


@every_row("source", SOURCES)
def test_a_lesson_has_its_row_with_its_question_and_its_minutes(source: Path) -> None:
    lesson = read(source)
    heading, minutes = HEADING.match(lesson.head[0]), minutes_line(lesson)
    assert heading
    assert minutes
    ((_, name, file, cells),) = [row for row in rows() if row[0] == lesson.number]
    question = heading[3].splitlines()[0]
    assert (name, file) == (heading[2], source.stem)
    assert cells == [question[0].upper() + question[1:], minutes[1]]


def test_every_lesson_is_there_and_has_a_link() -> None:
    assert [number for number, _, file, _ in rows() if file] == sorted(s.stem[:2] for s in SOURCES)
    assert len(rows()) == len(SOURCES)
    assert "to come" not in README


# -- the answers of memlab explain ----------------------------------------------------------------


def lines(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The answers to the commands of the page, whose models lie in files as it says."""
    requirement.torch_or_skip()
    folder = tmp_path_factory.mktemp("models")
    for name, code in re.findall(r"^`(\w+\.py)`.*?```python\n(.*?)```", OWN, re.M | re.S):
        (folder / name).write_text(code, "utf-8")
    found = {}
    for command, _ in COMMAND.findall(OWN):
        words = [sys.executable, "-m", "memlab", *command.split()[1:]]
        found[command] = subprocess.run(
            words, cwd=folder, check=True, capture_output=True, text=True, encoding="utf-8"
        ).stdout
    return found


@pytest.mark.measures  # two models, for some seconds each
@pytest.mark.parametrize("page", [README, OWN], ids=["README", "your_model"])
def test_the_answers_are_those_of_memlab(explained: dict[str, str], page: str) -> None:
    shown = COMMAND.findall(page)
    assert shown
    for command, answer in shown:
        rest = lines(explained[command])
        for part in filter(None, map(lines, re.split(r"^\.\.\.$", answer, flags=re.M))):
            assert part in rest
            rest = rest.partition(part)[2]


def test_the_model_is_as_large_as_the_readme_says() -> None:
    (millions, batch, memory) = re.findall(
        r"of (\d+) million parameters, batch (\d+), on a card of (\d+) GB:", README
    )[0]
    command, answer = next(row for row in COMMAND.findall(OWN) if "words:model" in row[0])
    (nbytes,) = re.findall(r"^parameters +([\d,]+) ", answer, re.M)
    assert int(millions) == round(int(nbytes.replace(",", "")) / 4 / 10**6)
    assert command.endswith(f"--memory {memory}GB")
    assert answer.startswith(f"Words, batch {batch}, ")


# -- the page of the lessons ----------------------------------------------------------------------


def needed(source: Path) -> set[str]:
    """The numbers of the lessons that a lesson needs."""
    minutes = minutes_line(read(source))
    assert minutes, source
    return set(re.findall(r"\[(\d\d) ", minutes[2]))


def test_the_spine_is_in_the_order_of_its_needs() -> None:
    (said,) = re.findall(r"The spine is ([\d, and]+)\. It asks", PAGE)
    spine = re.findall(r"\d\d", said)
    assert spine == ["00", "01", "02", "07", "08", "09", "11"]
    by_number = {source.stem[:2]: source for source in SOURCES}
    for number in spine[1:]:
        assert needed(by_number[number]) <= {*spine[: spine.index(number)]}


def test_the_case_comes_onto_one_card_in_the_lesson_that_is_said() -> None:
    (number, half) = re.findall(
        r"lesson (\d\d) brings the case onto one card, and lesson\s(\d\d) into half of it, in less",
        PAGE,
    )[0]
    spine = [case_rows.row(lesson) for lesson in ("00", "02", "07", "08", "09", "11")]
    card = case_rows.CARDS[0] * 10**9
    assert next(row.lesson for row in spine if row.peak <= card) == number
    assert [row.lesson for row in spine if 2 * row.peak <= card and row.extra < 0] == [half]


def test_the_others_need_what_is_said() -> None:
    _, _, said = PAGE.partition("The other lessons leave the spine and come back to it: ")
    told = {
        number: need
        for several, need in re.findall(r"([\d, and]+) needs? (\d\d)[;.]", said)
        for number in re.findall(r"\d\d", several)
    }
    others = {s.stem[:2]: needed(s) for s in SOURCES if s.stem[:2] not in "00 01 02 07 08 09 11"}
    assert {number: {need} for number, need in told.items()} == others


@every_row("source", APPENDICES)
def test_an_appendix_is_listed_once_with_its_lesson(source: Path) -> None:
    link = f"(../lessons/appendix/{source.stem}.ipynb)"
    assert PAGE.count(link) == 1
    (row,) = (line for line in PAGE.splitlines() if link in line)
    (lesson,) = re.findall(r"Belongs to: \[(\d\d) ", source.read_text("utf-8"))
    assert row.startswith(f"| {lesson} |")


# -- the page of the commands ---------------------------------------------------------------------


def test_every_command_has_its_line() -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    listed = set(re.findall(r"^memlab (\w+)", page, re.M))
    assert {command.__name__ for command in cli.EXAMPLES} == listed
