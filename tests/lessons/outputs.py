"""Rules of the contract for what a lesson stores and states: pictures, notes, numbers."""

import re
from collections import Counter
from fractions import Fraction
from typing import Any

from lessons import recordings, stored
from tests.lessons import numerals
from tests.lessons.parts import Lesson

SVG, TITLED = "image/svg+xml", re.compile(r"<svg[^>]*>\s*<title>\s*\w")


def figures(lesson: Lesson) -> list[str]:
    """Every figure has its content in words."""
    breaks = [
        f"a figure in cell {cell.id} has no alt text: {figure}"
        for cell in lesson.of("markdown")
        for figure in re.findall(r"!\[\s*\]\([^)]*\)", cell.source) + untold(cell.source)
    ]
    for cell, output in shown(lesson.learners) + shown(lesson.solved):
        data, told = output.get("data", {}), output.get("metadata", {})
        bare = [kind for kind in data if re.fullmatch(r"image/(png|jpeg|gif)", kind)]
        bare = [kind for kind in bare if not told.get(kind, {}).get("alt", "").strip()]
        bare += untold("".join(data.get("text/html", "")))
        svg = "".join(data.get(SVG, ""))
        bare += [SVG] if svg and not TITLED.search(svg) else []
        breaks += [f"the output of cell {cell['id']} has no alt text: {what}" for what in bare]
    return breaks


def untold(html: str) -> list[str]:
    """Pictures in HTML without a text."""
    return [tag for tag in re.findall(r"<img\b[^>]*>", html) if not re.search(r"alt=.\s*\w", tag)]


def shown(notebook: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The outputs of a notebook, each with its cell."""
    cells = notebook["cells"]
    return [(cell, output) for cell in cells for output in cell.get("outputs", [])]


def notes(lesson: Lesson) -> list[str]:
    """A note stands for what differs from machine to machine, in a solution for that alone; below
    it, the solutions and an appendix have what was recorded."""
    breaks = []
    appendix = not lesson.number.isdigit()  # it asks no card
    books = ((lesson.learners, appendix), (lesson.solved, True))
    for cell, solved in ((cell, solved) for book, solved in books for cell in book["cells"]):
        tags, outputs = cell["metadata"].get("tags", []), cell.get("outputs", [])
        if solved:
            outputs = [item for item in outputs if not recordings.is_recorded(item)]
        texts = [stored.text_of_output(output).strip() for output in outputs]
        others = [text for text in texts if not told(text, solved)]
        rest, bare = "\n".join(others), len(others) == len(texts)
        bare = bare or (bool(rest) and stored.SOLUTION not in tags)
        if stored.DIFFERS in tags and bare:
            breaks.append(f"cell {cell['id']} is tagged {stored.DIFFERS} and stores an output")
        elif note := stored.varying(tags, rest):
            breaks.append(f"cell {cell['id']} stores {note[0]!r}")
    return breaks


def told(text: str, solved: bool) -> bool:
    """True for the note; in a solution it may say when the picture below was recorded."""
    note, _, more = text.partition("\n")
    return note == stored.NOTE.strip() and (not more or (solved and more.startswith("Recorded on")))


def numbers(lesson: Lesson) -> list[str]:
    """Every number in prose is computed or checked."""
    tables = {cell.id: numerals.table(cell.source) for cell in lesson.numbers}
    breaks = [
        f"cell {id} is no dict of numerals and expressions" for id, t in tables.items() if not t
    ]
    breaks += [f"cell {id}: {fault}" for id, t in tables.items() for fault in numerals.faults(t)]
    texts = Counter(text for table in tables.values() for text in table)
    breaks += [f"{text!r} is checked twice" for text, count in texts.items() if count > 1]
    checked = {numeral.key: text for text in texts for numeral in numerals.find(text)}
    stated = [
        (cell.id, numeral)
        for cell in lesson.of("markdown")
        for numeral in numerals.find(numerals.prose(cell.source))
    ]
    known = computed(lesson) | set(checked)
    breaks += [
        f"cell {id}: {numeral.text!r} is not computed and not checked"
        for id, numeral in stated
        if numeral.counts and numeral.key not in known
    ]
    used = {numeral.key for _, numeral in stated}
    unused = [text for key, text in checked.items() if key not in used]
    return breaks + [f"{text!r} is checked and stands in no prose" for text in unused]


def computed(lesson: Lesson) -> set[tuple[Fraction, str]]:
    """The numbers in its code, and in what the solutions show everywhere."""
    texts = [cell.source for cell in lesson.of("code")]
    shows = [output for _, output in shown(lesson.solved) if not recordings.is_recorded(output)]
    texts += [stored.text_of_output(output) for output in shows]
    return {key for text in texts for key in numerals.keys(text)}
