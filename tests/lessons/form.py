"""Rules of the contract for what a lesson asks: recall, cards, changes; and for its end."""

import ast
import re
from typing import Any

from lessons import stored
from memlab.lesson.card_question import Purpose
from tests.lessons.parts import ASKED, CODE, Lesson, sections, tree
from tests.lessons.structure import LIMITS, NO_BLOCK

RECALLS, CARDS, THENS = 2, (2, 4), 2
SHOWN_LINES, OPENING = 2, 2
"""Lines of code above a card, and paragraphs before the first thing that moves."""
FIRST = "00"
"""The lesson before all others: nothing is recalled, and its one card stands above its view."""
SHORT = (FIRST, "10")
"""Lessons of at most 30 minutes: one card beside that of the case is enough."""
HELD = re.compile(r"\*\*(?:Change it|Answer)\.\*\*")
LAST = r"This was the last lesson\. If you have not done \d\d(?: to \d\d)? yet:\s"
NEXT = re.compile(rf"(?:Next: |{LAST})(?:\[\d\d [^]]+\]\(\d\d_\w+\.ipynb\)|\d\d )")
FOOTNOTE = re.compile(r"<sup>([^<]+)</sup>")
SOURCES = re.compile(r"^Sources: (.+)\.\Z", re.MULTILINE)


# -- what asks, and how its cell looks ----------------------------------------------------------


def recalls(lesson: Lesson) -> list[str]:
    """Two questions on earlier lessons, before the first block; none in lesson 00."""
    due = 0 if lesson.number == FIRST else RECALLS
    counts = [
        sum(asks(cell) == Purpose.RECALL and not is_solution(cell) for cell in cells)
        for cells in (before_blocks(lesson), lesson.of("code"))
    ]
    if counts == [due, due]:
        return []
    return [
        f"{due} questions lesson.recall(...) do not stand before the first block, and no others"
    ]


def before_blocks(lesson: Lesson) -> list[Any]:
    """The cells above the first heading of a section."""
    for index, cell in enumerate(lesson.cells):
        if cell.cell_type == "markdown" and re.search(r"^## ", cell.source, re.MULTILINE):
            return lesson.cells[:index]
    return list(lesson.cells)


def cards(lesson: Lesson) -> list[str]:
    """A card is alone in its cell with what follows it, and is answered in the solutions."""
    breaks = []
    for cell, after in with_next(lesson):
        part = asks(cell)
        if not part or is_solution(cell):
            continue
        fault = single(cell, part)
        if fault and part == Purpose.PREDICT:
            fault = shape(cell)
        breaks += [f"cell {cell.id} {fault}"] if fault else []
        name = next(iter(ASKED.findall(cell.source)), "")
        topic = lesson.topics.get(name)
        if topic is None or topic.part != part:
            breaks.append(f"cell {cell.id} asks {name!r}, which is no {part} of this lesson")
        handle = f"lesson.{part}('{name}')" if not single(cell, part) else name.partition(".")[2]
        if not (is_solution(after) and answers(after, handle)):
            breaks.append(f"no solution below cell {cell.id}: {handle}.guess(...).reveal()")
    return breaks


def shape(cell: Any) -> str:
    """`lesson.predict("NN.x")`, or `x = lesson.predict("NN.x")`, functions under `@x.then`, `x`."""
    first, functions, last = parted(cell)
    begins = re.fullmatch(rf"{last} = lesson\.predict\('\d\d\.{last}'\)", first)
    follow = all(
        isinstance(node, ast.FunctionDef)
        and [ast.unparse(decorator) for decorator in node.decorator_list] == [f"{last}.then"]
        for node in functions
    )
    if not begins or not follow:
        return "is no card: lesson.predict('NN.x'), or x = ..., functions under @x.then, x"
    return f"has {len(functions)} functions under @x.then" if len(functions) > THENS else ""


def parted(cell: Any) -> tuple[str, list[ast.stmt], str]:
    """The first line of a cell, what stands between, and its last line."""
    lines = tree(cell).body
    if len(lines) < 2:
        return "", [], ""
    return ast.unparse(lines[0]), lines[1:-1], ast.unparse(lines[-1])


def single(cell: Any, part: str) -> str:
    """`lesson.recall("NN.x")`, below imports at most."""
    lines = tree(cell).body
    alone = all(isinstance(node, ast.Import | ast.ImportFrom) for node in lines[:-1])
    last = ast.unparse(lines[-1]) if lines else ""
    if alone and re.fullmatch(rf"lesson\.{part}\('[\d\w.]+'\)", last):
        return ""
    return f"is not lesson.{part}('NN.x') alone"


def answers(cell: Any, handle: str) -> bool:
    """True if a solution is `x.guess(...)`, perhaps `.revise(...)`, and `.reveal()`."""
    code = ast.unparse(tree(cell))
    form = rf"{re.escape(handle)}\.guess\(.+?\)(?:\.revise\(.+?\))?\.reveal\(\)"
    return re.fullmatch(form, code, re.DOTALL) is not None


def folded(lesson: Lesson) -> list[str]:
    """No cell of a card shows more than two lines of code: a longer one is folded."""
    return [
        f"cell {cell['id']} shows {len(lines)} lines of code above its card"
        for cell in lesson.learners["cells"]
        if len(lines := "".join(cell["source"]).splitlines()) > SHOWN_LINES
        and re.search(r"\blesson\.(?:predict|recall|change)\(", "\n".join(lines))
        and not cell["metadata"].get("jupyter", {}).get("source_hidden")
    ]


def revised(lesson: Lesson) -> list[str]:
    """One solution at least is wrong first, gives a reason and is revised."""
    solved = [cell.source for cell in lesson.of("code") if is_solution(cell)]
    if any("because=" in text and ".revise(" in text for text in solved):
        return []
    return ["no solution has a guess with because=..., a .revise(...) and .reveal()"]


def gates(lesson: Lesson) -> list[str]:
    """A question that is asked has a field for its answer."""
    return [
        f"cell {cell.id} says {text!r}; ask it with lesson.change(...)"
        for cell in lesson.of("markdown")
        for text in HELD.findall(cell.source)
    ]


def blocks(lesson: Lesson) -> list[str]:
    """At most 3, each under a question with a card; 2 to 4 cards in all, beside the case."""
    asking = [part for part in sections(lesson) if not NO_BLOCK.match(part.heading)]
    breaks = [
        f"the block {part.heading!r} has no card"
        for part in asking
        if not any("lesson.predict(" in code for code in part.code)
    ]
    breaks += [
        f"the heading {part.heading!r} is no question"
        for part in asking
        if not part.heading.endswith("?")
    ]
    if not 1 <= len(asking) <= 3:
        breaks.append(f"there are {len(asking)} blocks, and 1 to 3 are allowed")
    count = sum(
        asks(cell) == Purpose.PREDICT and f'"{lesson.number}.case"' not in cell.source
        for cell in lesson.of("code")
        if not is_solution(cell)
    )
    least, most = (1, CARDS[1]) if lesson.number in SHORT else CARDS
    return (
        breaks if least <= count <= most else [*breaks, f"{count} cards are not {least} to {most}"]
    )


def opening(lesson: Lesson) -> list[str]:
    """Title and minutes, then what moves or the case as a card, before all other words."""
    breaks = []
    head = lesson.of("markdown")[0].source.split("\n\n") if lesson.of("markdown") else []
    if len(head) > OPENING:
        breaks.append(f"its first cell has {len(head)} paragraphs, not title and minutes alone")
    first = lesson.cells[1].source if len(lesson.cells) > 1 else ""
    if not re.search(rf'\bviews\.\w+\(|\blesson\.predict\("{lesson.number}\.case"\)', first):
        breaks.append("its second cell is no live view and no card of the case")
    return breaks


# -- its end, and its sources -------------------------------------------------------------------


def unasked(lesson: Lesson) -> list[str]:
    """Every question of the lesson is asked in it."""
    asked = {name for cell in lesson.of("code") for name in ASKED.findall(cell.source)}
    return [
        f"{name} is a question that no cell asks" for name in lesson.topics if name not in asked
    ]


def case(lesson: Lesson) -> list[str]:
    """`## The case so far`, between what is left out and the key points, with the card that asks
    for the lesson's row; lesson 00 begins with it. The picture stands under the answer alone."""
    breaks = [
        f"cell {cell.id} draws the case, which a card {lesson.number}.case shows"
        for cell in lesson.of("code")
        if re.search(r"\bviews\.case\(", cell.source)
    ]
    if lesson.number == FIRST or f"{lesson.number}.case" not in lesson.topics:
        return breaks
    before = [part for part in sections(lesson)[-2:-1] if part.heading == "The case so far"]
    card = f'lesson.predict("{lesson.number}.case")'
    if any(code.strip() == card for part in before for code in part.code):
        return breaks
    return [*breaks, f"no '## The case so far' with {card} stands before the key points"]


def onward(lesson: Lesson) -> list[str]:
    """The key points end with the next lesson, or say that this was the last one."""
    last = sections(lesson)[-1:]
    paragraphs = last[0].prose.strip().split("\n\n") if last else [""]
    good = NEXT.match(paragraphs[-1])
    return [] if good else ["the key points do not end with 'Next: [NN Title](NN_name.ipynb).'"]


def codes(lesson: Lesson) -> list[str]:
    """The id of a claim is a footnote, once, and is told again under what is left out."""
    prose = [cell.source for cell in lesson.of("markdown")]
    notes = [
        claim_id
        for text in prose
        for note in FOOTNOTE.findall(text)
        for claim_id in note.split(", ")
    ]
    breaks = [
        f"the footnote {n} stands {notes.count(n)} times" for n in set(notes) if notes.count(n) > 1
    ]
    for cell in lesson.of("markdown"):
        text = re.sub(r"`[^`]*`", "", SOURCES.sub("", FOOTNOTE.sub("", cell.source)))
        breaks += [
            f"cell {cell.id} says {code} in its text; write <sup>{code}</sup>"
            for code in CODE.findall(text)
        ]
    ends = [part.prose.strip() for part in sections(lesson) if LIMITS.match(part.heading)]
    told = [match[1].split(", ") for text in ends if (match := SOURCES.search(text))]
    if sorted(set(notes)) != sorted(claim_id for line in told for claim_id in line):
        due = ", ".join(sorted(set(notes)))
        breaks.append(f"'What this ... leaves out' does not end with 'Sources: {due}.'")
    return breaks


# -- cells --------------------------------------------------------------------------------------


def with_next(lesson: Lesson) -> list[tuple[Any, Any]]:
    """The code cells, each with the one below it."""
    cells = lesson.of("code")
    return list(zip(cells, [*cells[1:], None], strict=True))


def is_solution(cell: Any) -> bool:
    return cell is not None and stored.SOLUTION in cell.metadata.tags


def asks(cell: Any) -> str:
    """The part of what a cell asks: predict, recall or change; empty where it asks nothing."""
    match = re.search(r"\blesson\.(predict|recall|change)\(", cell.source)
    return match[1] if match else ""
