"""Pictures under the answers of lesson 11."""

from __future__ import annotations

from typing import Any

from memlab.course.reveals import BARE, reveal
from memlab.lesson.card_question import Attempt
from memlab.pictures.memory.view import Memory, memory

HEIGHT = 240
"""Pixels of the mountain, so that both memories stand on the screen of a laptop."""
SETTINGS: dict[str, dict[str, Any]] = {
    "chain": {"recompute": "chain"},
    "every": {"recompute": "every", "k": 1},
    "cheap": {"recompute": "cheap"},
    "half": {"format": "mixed fp16"},
    "offload": {"offload": "all"},
    "in_place": {"in_place": True},
}
"""Settings of the memory view for the techniques of the cards."""


def under(turn: Attempt, *names: str) -> Memory:
    """Return the memory of the step of a question under some techniques; their switches stay, so
    that each can be taken away again."""
    settings: dict[str, Any] = {}
    for name in names:
        settings |= SETTINGS[name]
    offered = tuple(name for name in settings if name != "k")
    n = turn.numbers
    return memory(n["network"], n["batch"], **settings, height=HEIGHT, only=offered, **BARE)


@reveal("11.both")
def both_techniques(turn: Attempt) -> Memory:
    """Memory of the step under both techniques, with a switch for each."""
    return under(turn, turn.numbers["how"], turn.numbers["other"])


@reveal("11.in_place")
def overwritten_again(turn: Attempt) -> Memory:
    """Memory of the recomputed step in place, with a switch for each."""
    return under(turn, "chain", "in_place")
