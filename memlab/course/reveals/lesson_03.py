"""Pictures under the answers of lesson 03."""

from __future__ import annotations

from memlab.course.reveals import reveal
from memlab.lesson.card_question import Attempt
from memlab.pictures.algorithm_times import ALGORITHMS, TimeAndMemory, algorithm_times
from memlab.pictures.lowered_layers import LoweredLayers, lowered_layers
from memlab.pictures.shifted_copies.view import ShiftedCopies, shifted_copies

MEASURED = ("resnet50", "1.1.conv2", 8)
"""Network, layer and batch of the curve: seconds on two cores, and a copy larger than a cache."""


@reveal("03.stride")
def thinned(turn: Attempt) -> ShiftedCopies:
    """Copies of the layer at the stride of the question, each a part of the input."""
    n = turn.numbers
    layer = n["network"], n["layer"], n["batch"]
    return shifted_copies(*layer, n["k"], n["stride"], only=("k", "stride"))


@reveal("03.whole")
def all_layers(turn: Attempt) -> LoweredLayers:
    """Inputs and matrices of all layers of the network."""
    return lowered_layers(turn.numbers["network"], turn.numbers["batch"])


@reveal("03.tile")
def five_ways(turn: Attempt) -> TimeAndMemory:
    """Time against workspace of five ways to convolve, measured on this machine."""
    return algorithm_times(*MEASURED, ALGORITHMS).curve()
