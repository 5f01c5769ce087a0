"""Rules of the contract for cards and exercises: how they stand, and what is kept from view."""

import ast
import re
from typing import Any

from lessons import build
from tests.lessons import truths
from tests.lessons.parts import CARD, Lesson, calls, functions, minutes_line, sections, tree

SUBGOALS, SHORT = ("shapes", "bytes", "lifetime", "peak"), 20
VIEWS = {"memory": ("network",), "shifted_copies": ("network", "layer")}
"""The live views, and what each is of: its first arguments, and keys of what a question is on."""


def stubs(lesson: Lesson) -> list[str]:
    """A stub leaves something to fill in, and its solution stands right below it."""
    breaks = []
    for cell, after in with_next(lesson):
        if build.STUB not in cell.metadata.tags:
            continue
        if not re.search(r"return None  # replace None|\.\.\.", cell.source):
            breaks.append(f"cell {cell.id} is a stub and leaves nothing to fill in")
        made, solved = functions(cell), functions(after) if is_solution(after) else set()
        if not made or not made <= solved:
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
    if line is not None and int(line[1]) < SHORT:
        return []
    inside = [part.prose for part in sections(lesson) if part.heading.startswith("Exercise")]
    text = " ".join(inside).lower()
    missing = [goal for goal in SUBGOALS if not re.search(rf"\b{goal}\b", text)]
    return [f"the exercise does not name {', '.join(missing)}"] if missing else []


def cards(lesson: Lesson) -> list[str]:
    """`output = lesson.predict("02.output")`, shown, and answered in the solutions."""
    breaks = []
    for cell, after in with_next(lesson):
        match = CARD.search(cell.source)
        if match is None:
            if "lesson.predict(" in cell.source:
                breaks.append(f"cell {cell.id} is no card: x = lesson.predict('NN.x'), then x")
            continue
        name = f"{match[2]}.{match[3]}"
        if (match[2], match[3]) != (lesson.number, match[1]) or name not in lesson.topics:
            breaks.append(f"cell {cell.id} asks {name!r}, which is no question of this lesson")
        answer = re.compile(rf"{match[1]}\.guess\([^\n]+\)\.reveal\(\)")
        if not is_solution(after) or not answer.fullmatch(after.source):
            breaks.append(f"no solution below cell {cell.id}: {match[1]}.guess(...).reveal()")
    return breaks


def gates(lesson: Lesson) -> list[str]:
    """What a card asks is shown under `if x.answered():`, below the card."""
    breaks, known = [], set()
    for cell in lesson.of("code"):
        if match := CARD.search(cell.source):
            known.add(match[1])
        asked = {ast.unparse(call.func).partition(".")[0] for call in calls(cell, "answered")}
        breaks += [f"cell {cell.id} waits for {x}, which no card above is" for x in asked - known]
        tests = [node.test for node in ast.walk(tree(cell)) if isinstance(node, ast.If | ast.IfExp)]
        gated = {ast.unparse(node) for test in tests for node in ast.walk(test)}
        if not {f"{name}.answered()" for name in asked} <= gated:
            breaks.append(f"cell {cell.id} asks x.answered() and not in an 'if'")
    return breaks


def first_view(lesson: Lesson) -> list[str]:
    """The first live view is open to everybody, on what no card asks about."""
    views = [(cell, c, of) for cell in lesson.of("code") for of in VIEWS for c in calls(cell, of)]
    if not views:
        return []
    cell, call, view = views[0]
    parts = [node for given in (*call.args, *call.keywords) for node in ast.walk(given)]
    named = {node.value for node in parts if isinstance(node, ast.Constant)}
    named |= {node.attr for node in parts if isinstance(node, ast.Attribute)}
    secrets = {tuple(str(t.first.get(key)) for key in VIEWS[view]) for t in lesson.asked.values()}
    breaks = [
        f"the first view shows {' '.join(secret)!r}, which a card asks about"
        for secret in secrets
        if named.issuperset(secret)
    ]
    if calls(cell, "answered") or build.SOLUTION in cell.metadata.tags:
        breaks.append(f"the first view, in cell {cell.id}, waits for a card")
    words = {word.arg for word in call.keywords}
    missing = [key for key in VIEWS[view][len(call.args) :] if key not in words]
    return breaks + [f"the first view, in cell {cell.id}, names no {key}" for key in missing]


def hidden(lesson: Lesson) -> list[str]:
    """Learners' notebooks hold nothing that a card asks."""
    secrets = {name: truths.forms(topic) for name, topic in lesson.topics.items()}
    return truths.found(lesson.learners, secrets)


def asking(lesson: Lesson) -> list[str]:
    """The stored output of a card is its question, and no reveal."""
    breaks = []
    for cell in lesson.learners["cells"]:
        match = CARD.search("".join(cell["source"])) if cell["cell_type"] == "code" else None
        topic = lesson.asked.get(match[1]) if match else None
        if topic is not None:
            text = "\n".join(build.text_of_output(output) for output in cell["outputs"])
            breaks += [f"cell {cell['id']} {fault}" for fault in truths.not_asking(text, topic)]
    return breaks


def with_next(lesson: Lesson) -> list[tuple[Any, Any]]:
    """The code cells, each with the one below it."""
    cells = lesson.of("code")
    return list(zip(cells, [*cells[1:], None], strict=True))


def is_solution(cell: Any) -> bool:
    return cell is not None and build.SOLUTION in cell.metadata.tags
