"""Pictures under the answers of lesson 10."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_10 import SSD
from memlab.pictures.path.view import DataPathView, path


@reveal("10.slowest")
def in_turn(turn: Attempt) -> DataPathView:
    """Parts of the path, one after the other."""
    return _jpeg(turn, 0, ("workers",))


@reveal("10.buffers")
def with_buffers(turn: Attempt) -> DataPathView:
    """The path with one buffer, to which more can be added."""
    return _jpeg(turn, 1, ("buffers", "workers", "augment"))


def _jpeg(turn: Attempt, buffers: int, only: tuple[str, ...]) -> DataPathView:
    n = turn.numbers
    return path(
        n["network"], n["batch"], buffers, disk=SSD, device=n["device"], files="jpeg",
        workers=n["workers"], only=only,
    )  # fmt: skip
