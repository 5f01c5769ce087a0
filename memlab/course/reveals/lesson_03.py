"""Pictures under the answers of lesson 03."""

from __future__ import annotations

from memlab.course.reveals import reveal, tell_progress
from memlab.lesson.card_question import Attempt
from memlab.measure import convolution
from memlab.pictures.algorithm_times import ALGORITHMS, TimeAndMemory
from memlab.pictures.lowered_layers import LoweredLayers, lowered_layers
from memlab.pictures.shifted_copies.view import ShiftedCopies, shifted_copies


@reveal("03.stride")
def thinned(turn: Attempt) -> ShiftedCopies:
    """Copies of the layer at the stride of the question, each a part of the input."""
    n = turn.numbers
    layer = n["network"], n["layer"], n["batch"]
    return shifted_copies(*layer, n["k"], n["stride"], only=("k", "stride"))


@reveal("03.whole")
def all_layers(turn: Attempt) -> LoweredLayers:
    """Inputs and matrices of all layers of the network."""
    return lowered_layers(turn.numbers["network"], turn.numbers["batch"], only=("batch", "numbers"))


@reveal("03.tile")
def five_ways(turn: Attempt) -> TimeAndMemory:
    """Time against workspace of five ways to convolve, measured on this machine."""
    n = turn.numbers
    case = convolution.find(n["network"], n["layer"])
    return TimeAndMemory(convolution.measure(case, n["batch"], ALGORITHMS, progress=tell_progress))
