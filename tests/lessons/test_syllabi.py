"""Syllabi: their minutes are those of the lessons and their plans, and their order is possible."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from lessons import build, cost, cuts
from memlab.lesson.card_question import topics
from memlab.lesson.exercise_task import tasks

TEXT = cuts.PAGE.read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+)-(\d+) \|([^|]*)\| ([^|]+) \|([^|]*)\|$", re.MULTILINE)
PAGE = re.compile(r"\(\.\./lessons/instructor/(\w+)\.md\)")
NEEDS = re.compile(r"\[(\d\d) [^]]*\]\(\d\d_\w+\.ipynb\)")
MINUTES = {"One hour, with the k² demonstration": 60, "Three hours": 180}
SESSIONS, SESSION = [f"Session {number}" for number in range(1, 7)], 90


@dataclass(frozen=True)
class Row:
    """A line of a syllabus; ``lesson`` is empty in a break, and ``k2`` for the lecture."""

    begin: int
    end: int
    lesson: str
    plan: str
    text: str


def part(heading, text=TEXT):
    """What stands below a heading of the page, up to the next one."""
    return re.split(r"^#", text.partition(f"# {heading}\n")[2], flags=re.MULTILINE)[0]


def rows(heading, text=TEXT):
    found = ROW.findall(part(heading, text))
    return [Row(int(begin), int(end), "".join(PAGE.findall(lesson)), plan, told)
            for begin, end, lesson, plan, told in found]  # fmt: skip


def source(number):
    (path,) = (build.LESSONS / "source").glob(f"{number}_*.py")
    return path.read_text(encoding="utf-8")


def guide(name):
    return (build.LESSONS / "instructor" / f"{name}.md").read_text(encoding="utf-8")


def planned(row):
    """The minutes of the plan that a row names, or nothing where there is no such plan."""
    if row.plan == "whole":
        return int(cost.MINUTES.findall(source(row.lesson))[0])
    minutes = int(row.plan.removesuffix(" minutes"))
    marks = (f"\n**{minutes} minutes", f"\n## {minutes} minutes\n")
    return minutes if any(mark in guide(row.lesson) for mark in marks) else None


def needed(number):
    """The lessons that a lesson needs, by its head."""
    head = source(number).partition("# %%\n")[0]
    return set(NEEDS.findall(head.partition("Needs:")[2]))


def taught(row):
    """The cards and exercises of the plan of a row."""
    page = guide(row.lesson)
    plan = page.partition("## Minute plan\n")[2].partition("\n## ")[0]
    if row.plan != "whole":
        plan = page.partition(f"\n**{row.plan}")[2].partition("\n**")[0]
    return set(cuts.NAME.findall(plan))


def breaks(headings, minutes, text=TEXT):
    """What is wrong with a course of one or more sessions."""
    found: list[str] = []
    before: set[str] = set()
    for heading in headings:
        lines = rows(heading, text)
        times = [(row.begin, row.end) for row in lines]
        follows = [begin for begin, _ in times] == [0, *(end for _, end in times[:-1])]
        if not (follows and times and times[-1][1] == minutes):
            found.append(f"{heading}: its minutes break off")
        for row in lines:
            if row.lesson and row.end - row.begin != planned(row):
                found.append(f"{row.lesson} has no plan {row.plan} of {row.end - row.begin}")
            if row.lesson and row.lesson != "k2":
                found += [f"{row.lesson} needs {name}" for name in needed(row.lesson) - before]
            before.add(row.lesson)
    return found


def handed_in(heading):
    """The exercises that a session asks for."""
    asked = part(heading).partition("**Hand in:**")[2].partition("**Homework:**")[0]
    return set(cuts.NAME.findall(asked))


@pytest.mark.parametrize(
    ("headings", "minutes"),
    [*(([name], minutes) for name, minutes in MINUTES.items()), (SESSIONS, SESSION)],
    ids=["hour", "three hours", "six sessions"],
)
def test_a_syllabus_has_the_minutes_and_the_order_of_the_lessons(headings, minutes):
    assert breaks(headings, minutes) == []


@pytest.mark.parametrize("heading", [*MINUTES, *SESSIONS])
def test_what_is_handed_in_was_taught_and_is_an_exercise(heading):
    every = set().union(*(taught(row) for row in rows(heading) if row.lesson not in ("", "k2")))
    assert handed_in(heading) <= every & set(tasks())
    assert handed_in(heading) or heading in list(MINUTES)[:1]


def test_every_card_that_is_named_is_there():
    assert set(cuts.NAME.findall(TEXT)) <= {*topics(), *tasks()}


def test_the_minutes_of_homework_are_those_of_the_lessons():
    alone = re.search(r"lessons 00 and 01 alone, which take (\d+) minutes", TEXT)
    assert alone
    assert int(alone[1]) == sum(int(cost.MINUTES.findall(source(name))[0]) for name in ("00", "01"))


def test_what_to_cut_is_what_the_pages_for_instructors_say():
    assert cuts.page() == TEXT, "python -m lessons.cuts writes the table"
    assert TEXT.count("/instructor/13.md") == 2


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("| 25-50 |", "| 25-55 |", "Three hours: its minutes break off"),
        ("instructor/07.md) | 25", "instructor/09.md) | 25", "09 needs 08"),
        ("instructor/08.md) | 25 minutes", "instructor/08.md) | whole", "08 has no plan whole"),
        ("k2.md) | 20 minutes", "k2.md) | 25 minutes", "k2 has no plan 25 minutes"),
    ],
)
def test_a_planted_slip_is_seen(right, wrong, said):
    before, heading, after = TEXT.partition("## Three hours\n")
    assert right in after
    text = before + heading + after.replace(right, wrong, 1)
    assert any(said in line for line in breaks(["Three hours"], 180, text))
