"""Rules of the contract for the text of a lesson: what stands where, and how much of it."""

import re
from statistics import median

from tests.lessons.parts import Lesson, minutes_line, prose, sections

FORBIDDEN = re.compile(r"\b(just|simply|obviously)\b", re.IGNORECASE)
WORDS, LINES, TYPICAL = 1200, 15, 4
LIMITS = re.compile(r"What (?:this|these) .+ leaves? out")
NO_BLOCK = re.compile(
    rf"Exercise|Key points|What is where|Appendix|The case so far|{LIMITS.pattern}"
)
ITEM = re.compile(r"^(?:[-*]|\d+\.) ", re.MULTILINE)

# -- its head -----------------------------------------------------------------------------------


def title(lesson: Lesson) -> list[str]:
    """`# 02 A whole network: where do the bytes go?`"""
    first = " ".join(lesson.head[:1])
    if re.fullmatch(rf"# {lesson.number} [^:]+: .+\?", first):
        return []
    return [f"the first line is no '# {lesson.number} Title: question?': {first!r}"]


def preparation(lesson: Lesson) -> list[str]:
    """`40 minutes. Needs: [00 Start](00_start.ipynb).`; in the first lesson `20 minutes. Click a
    cell and press **Shift+Enter** to run it.`, and more."""
    line = minutes_line(lesson)
    if line is None:
        return ["the head has no paragraph 'N minutes. Needs: ... .'"]
    if (line[2] is None) != (lesson.number == "00"):
        return ["the first lesson alone says how to begin, and the others what they need"]
    if line[2] is None:
        return []
    faults = []
    for need in line[2].split(", "):
        link = re.fullmatch(r"\[(\d\d) [^]]+\]\((\d\d)_\w+\.ipynb\)", need)
        if link is None or not link[1] == link[2] < lesson.number:
            faults.append(f"{need!r} is no link to an earlier lesson")
    return faults


def objectives(lesson: Lesson) -> list[str]:
    """`You will be able to`, and a list of at least 2."""
    text = "\n".join(lesson.head).partition("You will be able to\n")[2]
    return [] if len(ITEM.findall(text)) > 1 else ["no list follows 'You will be able to'"]


def glossary_words(lesson: Lesson) -> list[str]:
    """`Words: [feature map](glossary.md), [workspace](glossary.md).`"""
    lines = [" ".join(part.split()) for part in lesson.head if part.startswith("Words: ")]
    words = re.findall(r"\[([^]]+)\]\(glossary\.md\)", " ".join(lines))
    rest = re.sub(r"\[[^]]+\]\(glossary\.md\)", "", " ".join(lines))
    if not words or re.search(r"\w", rest.removeprefix("Words: ")):
        return ["the head has no paragraph 'Words: [term](glossary.md), ... .'"]
    return [f"{word!r} is no term of the glossary" for word in words if word not in lesson.terms]


# -- its sections -------------------------------------------------------------------------------


def limits(lesson: Lesson) -> list[str]:
    """A section `What this ... leaves out`."""
    matching = [part for part in sections(lesson) if LIMITS.match(part.heading)]
    full = any(part.prose.strip() for part in matching)
    return [] if full else ["no section is called 'What this ... leaves out' and says it"]


def key_points(lesson: Lesson) -> list[str]:
    """A section `Key points`, the last, with a list."""
    parts = sections(lesson)
    last = bool(parts) and parts[-1].heading == "Key points"
    if not last or not ITEM.search(parts[-1].prose):
        return ["the last section is no 'Key points' with a list"]
    return []


# -- its length and its words -------------------------------------------------------------------


def length(lesson: Lesson) -> list[str]:
    """At most 1,200 words."""
    count = len(words(prose(lesson)))
    return [f"{count:,} words are more than {WORDS:,}"] if count > WORDS else []


def words(markdown: str) -> list[str]:
    """Words of prose: no code blocks, no targets of links."""
    text = re.sub(r"```.*?```|\]\([^)]*\)", "", markdown, flags=re.DOTALL)
    return re.findall(r"\w[\w'-]*", text)


def cell_lines(lesson: Lesson) -> list[str]:
    """No code cell over 15 lines, and half of them at most 4."""
    lines = {cell.id: len(cell.source.splitlines()) for cell in lesson.of("code")}
    breaks = [f"cell {id} has {n} lines, over {LINES}" for id, n in lines.items() if n > LINES]
    if lines and median(lines.values()) > TYPICAL:
        breaks.append(f"more than half of the code cells have over {TYPICAL} lines")
    return breaks


def forbidden(lesson: Lesson) -> list[str]:
    """No word says that a thing is easy."""
    cells = lesson.of("markdown") + lesson.of("code")
    return [f"cell {cell.id} says {w!r}" for cell in cells for w in FORBIDDEN.findall(cell.source)]
