"""Rules of the contract for exercises, and for what learners' notebooks keep from view."""

import ast
import re

from lessons import build, stored
from tests.lessons import lock, truths
from tests.lessons.form import is_solution, with_next
from tests.lessons.parts import Lesson, calls, functions, minutes_line, sections

SUBGOALS, SHORT = ("shapes", "bytes", "lifetime", "peak"), 20


def stubs(lesson: Lesson) -> list[str]:
    """A stub leaves something to fill in, and its solution stands right below it."""
    breaks = []
    for cell, after in with_next(lesson):
        if build.STUB not in cell.metadata.tags:
            continue
        if not re.search(r"return None  # replace None|\.\.\.", cell.source):
            breaks.append(f"cell {cell.id} is a stub and leaves nothing to fill in")
        defined, solved = functions(cell), functions(after) if is_solution(after) else set()
        if not defined or not defined <= solved:
            breaks.append(f"cell {cell.id} is a stub whose solution does not stand below it")
    return breaks


def exercises(lesson: Lesson) -> list[str]:
    """At least one, in a section of its own, with a check of what a stub defines."""
    cells = lesson.of("code")
    inside = [part for part in sections(lesson) if part.heading.startswith("Exercise")]
    held = any("lesson.exercise(" in code for part in inside for code in part.code)
    breaks = [] if held else ["no section 'Exercise...' holds a lesson.exercise(...)"]
    given = [ast.unparse(arg) for c in cells for call in calls(c, "exercise") for arg in call.args]
    breaks += [
        f"exercise {name} is not of lesson {lesson.number}"
        for name in given
        if not name.startswith(f"'{lesson.number}.")
    ]
    stubbed = {name for c in cells if build.STUB in c.metadata.tags for name in functions(c)}
    checked = [ast.unparse(arg) for c in cells for call in calls(c, "check") for arg in call.args]
    breaks += [f"{name!r} is checked and is no stub" for name in checked if name not in stubbed]
    return breaks if checked else [*breaks, "no exercise is checked"]


def subgoals(lesson: Lesson) -> list[str]:
    """An exercise goes by shapes, bytes, lifetime, peak."""
    line = minutes_line(lesson)
    if line is not None and int(line[1]) <= SHORT:
        return []
    inside = [part.prose for part in sections(lesson) if part.heading.startswith("Exercise")]
    text = " ".join(inside).lower()
    missing = [goal for goal in SUBGOALS if not re.search(rf"\b{goal}\b", text)]
    return [f"the exercise does not name {', '.join(missing)}"] if missing else []


def hidden(lesson: Lesson) -> list[str]:
    """Learners' notebooks hold nothing that a card asks."""
    secrets = {name: truths.forms(topic) for name, topic in lesson.topics.items()}
    return truths.found(lesson.learners, secrets)


def asking(lesson: Lesson) -> list[str]:
    """The stored output of a card is its question, and no reveal."""
    breaks = []
    for cell in lesson.learners["cells"]:
        topic = lesson.topics.get(lock.asked(cell))
        if topic is not None:
            text = "\n".join(stored.text_of_output(output) for output in cell["outputs"])
            breaks += [f"cell {cell['id']} {fault}" for fault in truths.not_asking(text, topic)]
    return breaks
