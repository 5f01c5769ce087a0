"""Pictures under the answers of lesson 08."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson import chains
from memlab.lesson.card_question import Attempt
from memlab.lesson.content.lesson_08 import SAMPLES, least
from memlab.pictures.recompute import Recompute, recompute
from memlab.pictures.techniques.view import Techniques, techniques


@reveal("08.best")
def valley(turn: Attempt) -> Recompute:
    """Waves of the chain with the best k, beside the peak for each k."""
    layers = turn.numbers["layers"]
    _, k = least(layers)
    return recompute(chains.alike(layers), k, SAMPLES, only=("k",))


@reveal("08.half")
def price_of_a_saving(turn: Attempt) -> Techniques:
    """Bytes against time of the best schedules, with the guess."""
    n = turn.numbers
    guess = turn.guess if isinstance(turn.guess, str) else ""
    return techniques(n["network"], n["batch"], stop=3, guess=guess, only=("budget",))


@reveal("08.stages")
def every_stage_recomputed(turn: Attempt) -> Recompute:
    """Waves of the network with the output of each stage kept."""
    n = turn.numbers
    return recompute(n["network"], 1, n["batch"], only=("k",))
