"""Pictures under the answers of lesson 10."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_10 import SSD
from memlab.pictures.path.view import DataPathView, path


@reveal("10.slowest")
def in_turn(turn: Attempt) -> DataPathView:
    """Parts of the path, one after the other; workers and buffers can be added."""
    return _path(turn, 0, ("workers", "buffers", "augment"))


@reveal("10.buffers")
def buffered(turn: Attempt) -> DataPathView:
    """Path with two buffers; their number and that of the workers can be changed."""
    return _path(turn, 2, ("workers", "buffers"))


def _path(turn: Attempt, buffers: int, only: tuple[str, ...]) -> DataPathView:
    """Path of the question's JPEG files from the SSD to its device."""
    n = turn.numbers
    return path(
        n["network"], n["batch"], buffers, disk=SSD, device=n["device"], files="jpeg",
        workers=n["workers"], only=only,
    )  # fmt: skip
