"""Pictures under the answers of lesson 09."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_09 import CARD
from memlab.pictures.idle import IdleMaps
from memlab.pictures.idle import idle as idle_maps
from memlab.pictures.offload.view import Offloaded, offload


@reveal("09.idle")
def in_use_and_idle(turn: Attempt) -> IdleMaps:
    """Feature maps as bars of bytes and seconds, idle where no operation uses them."""
    n = turn.numbers
    return idle_maps(n["network"], n["batch"], CARD, only=("batch",))


@reveal("09.host")
def both_memories(turn: Attempt) -> Offloaded:
    """Both memories of the step over time."""
    n = turn.numbers
    return offload(n["network"], n["batch"], n["policy"], device=CARD, only=("batch",))


@reveal("09.link")
def slow_link(turn: Attempt) -> Offloaded:
    """The step over the slow link, whose copies stick out behind their operations."""
    n = turn.numbers
    return offload(
        n["network"], n["batch"], "conv", link=f"{n['slow']} GB/s", device=CARD,
        only=("link",),
    )  # fmt: skip
