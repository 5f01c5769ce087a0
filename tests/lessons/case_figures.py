"""The rule that every figure of the running case is asked before it is shown."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from memlab.lesson.material.case_rows import LESSONS, OTHER, TECHNIQUES, row
from memlab.pictures.values.number_text import three_digits
from tests.lessons import truths
from tests.lessons.parts import Lesson


def foretold(lesson: Lesson) -> list[str]:
    """No cell shows the bytes of a row of the case that a later lesson asks for, or the lesson's
    own ones above its card; its learners' copy shows its own ones nowhere."""
    own = f'lesson.predict("{lesson.number}.case")'
    asked = lesson.topics.get(f"{lesson.number}.case") is not None
    places = [own in "".join(cell["source"]) for cell in lesson.solved["cells"]]
    above = lesson.solved["cells"][: places.index(True) if True in places else None]
    rows = [lesson.number] if asked else []
    later = [number for number in LESSONS if number > lesson.number]
    return [
        *_shown(lesson.solved["cells"], later, lesson.number),
        *_shown(above, rows, lesson.number),
        *_shown(lesson.learners["cells"], rows, lesson.number),
    ]


def _shown(cells: list[dict[str, Any]], rows: list[str], here: str) -> Iterator[str]:
    """Sentences on the cells that show a figure of some rows, which no earlier row has too."""
    for number in rows:
        earlier = (other for other in LESSONS if other <= here and other < number)
        known = {form for other in earlier for form in figures(other)}
        for form in sorted(figures(number) - known):
            for cell in cells:
                if truths.holds(truths.text_of(cell), form):
                    yield f"cell {cell['id']} shows {form}, which {number}.case asks for"


@cache
def figures(lesson: str) -> frozenset[str]:
    """The bytes of a row of the case, with three digits and with all. The step of another
    mini-batch has none: it is a step of its own, which other cards ask about."""
    if TECHNIQUES[lesson].result == OTHER:
        return frozenset()
    peak = row(lesson).peak
    return frozenset({three_digits(peak), f"{peak:,}"})
