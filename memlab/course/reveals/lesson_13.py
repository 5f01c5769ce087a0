"""Pictures under the answers of lesson 13."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.pictures.cache import CachedText, cache
from memlab.pictures.fine_tuning.view import FineTuningMemory, fine_tuning
from memlab.pictures.length.view import LengthOfText, length


@reveal("13.doubled")
def twice_the_text(turn: Attempt) -> LengthOfText:
    """The doubled texts, with the matrices of attention."""
    n = turn.numbers
    only = ("length", "fused", "chunks")
    return length(n["network"], n["batch"], 2 * n["length"], only=only)


@reveal("13.lora")
def adapters(turn: Attempt) -> FineTuningMemory:
    """Model state and maps of the whole model and with adapters."""
    n = turn.numbers
    only = ("length", "rank", "adapters")
    return fine_tuning(n["network"], n["batch"], n["length"], rank=n["rank"], only=only)


@reveal("13.cache")
def keys_and_values(turn: Attempt) -> CachedText:
    """The cache at the length of the question."""
    n = turn.numbers
    return cache(n["network"], n["length"], only=("length", "kv_heads"))
