"""Minutes that a lesson takes somebody alone: estimated, not observed.

python -m tests.lessons.minutes        # a table: words, cards, views, minutes of each lesson
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from lessons import build, cost, stored
from memlab import strings
from memlab.course import reveals
from memlab.lesson import sentences
from memlab.lesson.card_question import AnswerKind, Attempt, Purpose, Question
from tests.lessons.form import FIRST, asks, is_solution
from tests.lessons.parts import ASKED as NAMED
from tests.lessons.parts import Lesson, minutes_line, read
from tests.lessons.structure import words

LONGEST = {FIRST: 20, "10": 30}
MOST = 45
"""Minutes of lessons 00 and 10, and of each other one."""
READ = 130
"""Words in a minute, for a reader in a second language."""
LINE, PRINTED = 5 / 60, 3 / 60
"""Minutes for a line of code, and for one that is printed."""
ASKED = {Purpose.PREDICT: 2.5 + 1, Purpose.RECALL: 1.0, Purpose.CHANGE: 2.0}
"""Minutes for a question; a prediction has a minute for its revision."""
VIEW, BOARD, EXERCISE = 1.5, 5.0, 7.0
"""Minutes for a cell with a view, for one with the board of a puzzle, and for an exercise to do."""
UNKNOWN = 100.0
"""Seconds of a lesson whose run was not timed: as long as one may take."""
LOOKED = re.compile(r"\bviews\.(?!budget\()\w+\(")
PLAYED = re.compile(r"\bviews\.budget\(")
QUIET = re.compile(r"\blesson\.(?:exercise|predict|recall|change)\(|\.(?:check|show|reveal)\(")
"""Cells whose text is read as a part of a question or an exercise."""


@dataclass(frozen=True)
class Estimate:
    """Parts of a lesson that take time."""

    prose: int
    told: int
    code: int
    printed: int
    parts: Counter[str]
    views: int
    boards: int
    exercises: int
    seconds: float

    @property
    def minutes(self) -> float:
        read = (self.prose + self.told) / READ + LINE * self.code + PRINTED * self.printed
        asked = sum(ASKED[Purpose(part)] * count for part, count in self.parts.items())
        done = VIEW * self.views + BOARD * self.boards + EXERCISE * self.exercises
        return read + asked + done + self.seconds / 60


def long_enough(lesson: Lesson) -> list[str]:
    """Its head says as many minutes as it takes, and not too many."""
    line, most = minutes_line(lesson), LONGEST.get(lesson.number, MOST)
    said, takes = int(line[1]) if line else 0, estimate(lesson).minutes
    breaks = [f"{said} minutes are over {most}"] if said > most else []
    return breaks if takes <= said else [*breaks, f"it takes {takes:.1f} minutes, not {said}"]


def has_picture(cell: Any) -> bool:
    """True if a cell asks a question whose answer has a picture."""
    return any(reveals.picture_of(name) for name in NAMED.findall(cell.source))


def estimate(lesson: Lesson) -> Estimate:
    """The parts of a lesson, as its learners meet them; its outputs are those of the solutions."""
    prose = [cell.source for cell in lesson.of("markdown") if not is_solution(cell)]
    code = [cell for cell in lesson.of("code") if not is_solution(cell)]
    lines = [line for cell in code for line in cell.source.splitlines() if line.strip()]
    return Estimate(
        prose=len(words("\n\n".join(prose))),
        told=sum(told(topic) for topic in lesson.topics.values() if topic.part == Purpose.PREDICT),
        code=len(lines),
        printed=sum(printed(cell) for cell in lesson.solved["cells"]),
        parts=Counter(part for cell in code if (part := asks(cell))),
        views=sum(bool(LOOKED.search(cell.source)) or has_picture(cell) for cell in code),
        boards=sum(bool(PLAYED.search(cell.source)) for cell in code),
        exercises=sum(build.STUB in cell.metadata.tags for cell in code),
        seconds=timed().get(lesson.name, UNKNOWN),
    )


def told(topic: Question) -> int:
    """Words that a prediction says: its finding, what was seen, the longest diagnosis."""
    truth = topic.truth(topic.first)
    turn = Attempt(topic, topic.first, truth=truth, revealed=True)
    said = [sentences.seen(turn), *sentences.finding(turn)]
    if topic.kind is AnswerKind.CHOICE:
        wrong = [text for text in topic.options if text != truth.value]
        turns = [Attempt(topic, topic.first, guess=text, truth=truth) for text in wrong]
        causes = [sentences.hint(text) for text in turns]
    else:
        causes = [strings.get(f"cause.{cause.name}", **cause.values) for cause in truth.causes]
    return len(words(" ".join(said))) + max((len(words(text)) for text in causes), default=0)


def printed(cell: dict[str, Any]) -> int:
    """The lines of text that a cell shows, beside cards, exercises and pictures."""
    source = "".join(cell["source"])
    quiet = QUIET.search(source)
    texts = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if output["output_type"] == "stream":
            texts.append("".join(output["text"]))
        elif not quiet and stored.SVG not in data:
            texts.append("".join(data.get("text/plain", "")))
    return len([line for text in texts for line in text.splitlines() if line.strip()])


def timed() -> dict[str, float]:
    """The processor seconds of each lesson once it is compiled, as `lessons.cost` recorded them."""
    lessons = cost.recorded()["lessons"]
    return {name: runs["again"]["seconds"] for name, runs in lessons.items()}


HEADS = ("lesson", "head", "minutes", "words", "told", "code", "printed", "predict", "recall",
         "change", "views", "boards", "to do", "seconds")  # fmt: skip


def main(names: list[str]) -> int:
    """Print the table."""
    print(*(f"{head:>8}" for head in HEADS), sep=" ")
    for source in build.sources(build.LESSONS, names):
        if source.parent.name == build.APPENDIX:
            continue
        lesson = read(source)
        estimated, line = estimate(lesson), minutes_line(lesson)
        asked = [estimated.parts[part] for part in Purpose]
        cells = [
            lesson.number,
            line[1] if line else "",
            f"{estimated.minutes:.1f}",
            estimated.prose,
        ]
        cells += [
            estimated.told,
            estimated.code,
            estimated.printed,
            *asked,
            estimated.views,
            estimated.boards,
            estimated.exercises,
        ]
        print(*(f"{cell!s:>8}" for cell in [*cells, f"{estimated.seconds:.0f}"]), sep=" ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
